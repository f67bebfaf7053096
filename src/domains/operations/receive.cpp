// The receiving side of a migration. Specification: vm-domains.md 8.4.
#include "operations/migration.hpp"
#include "operations/others.hpp"
#include "stranded.hpp"

#include "pvcnoded/base/planted.hpp"

#include <algorithm>
#include <map>

namespace pvc::domains {

using namespace std::chrono_literals;
using model::guest_class;
using model::vm_state;

namespace {

constexpr duration question_every = 10s;
constexpr duration earliest_cold_start = 60s;
constexpr duration complain_of_waiting_every = 60s;
constexpr duration release_patience = 10s;
constexpr duration fenced_settle = 60s;          // the recovery of a fenced node goes first
constexpr duration fenced_settle_listed = 600s;  // while that recovery is being retried

// A state that ends the wait through the tables.
bool is_waiting_state(const operation& op) {
    return op.row.is_present && op.row.is_owner &&
           (policy::is_migration(op.row.state) || op.row.state == vm_state::stop || op.row.state == vm_state::start);
}

// Nobody came so far: does anybody have it?
class search {
public:
    explicit search(operation& op)
        : op_(op), next_(op.now() + question_every), complain_(op.now() + complain_of_waiting_every), stranded_(op) {}

    [[nodiscard]] time_point next() const { return next_; }
    [[nodiscard]] bool is_due() const { return op_.now() >= next_; }

    enum class finding : std::uint8_t { nowhere, somewhere, unclear, taken_back };
    async::awaitable<finding> ask_everybody() {
        next_ = op_.now() + question_every;
        auto others = co_await read_others(op_);
        if (!others) {
            co_return finding::unclear;
        }
        std::vector<std::string> names;
        bool is_unclear = false;
        for (const auto& one : *others) {
            if (one.daemon == model::daemon_state::fenced) {
                const time_point since = fenced_since_.try_emplace(one.name, op_.now()).first->second;
                is_unclear = is_unclear || op_.now() - since < (one.lists_it ? fenced_settle_listed : fenced_settle);
                continue;
            }
            fenced_since_.erase(one.name);
            names.push_back(one.name);
        }
        const auto answers = co_await ask_all(op_, names);
        std::vector<policy::holding_node> holders;
        bool is_somewhere = false;
        for (const auto& one : *others) {
            const auto found = answers.find(one.name);
            if (found == answers.end()) {
                continue;
            }
            switch (found->second) {
                case remote_answer::alive:
                case remote_answer::halted:
                case remote_answer::being_made:
                case remote_answer::ending:
                case remote_answer::shut_off:  // a creation in progress may show so
                case remote_answer::incoming: {
                    const bool runs = found->second == remote_answer::alive;
                    holders.push_back({one.name, one.daemon, runs ? policy::holding::runs : policy::holding::other});
                    is_somewhere = true;
                    break;
                }
                case remote_answer::absent: break;
                case remote_answer::refused:
                case remote_answer::silent: {
                    const bool may_be_silent =
                        found->second == remote_answer::refused || one.daemon == model::daemon_state::stop;
                    const bool had_it = one.lists_it || one.name == op_.here.last_node ||
                                        (op_.row.stable.node != nullptr && one.name == *op_.row.stable.node);
                    if (!may_be_silent || had_it) {
                        is_unclear = true;
                        silent_ = one.name;
                        holders.push_back({one.name, one.daemon, policy::holding::unknown});
                    }
                    break;
                }
            }
        }
        const bool is_taken_back = co_await stranded_.look(std::move(holders));
        if (is_taken_back) {
            co_return finding::taken_back;
        }
        if (is_somewhere) {
            co_return finding::somewhere;
        }
        co_return is_unclear ? finding::unclear : finding::nowhere;
    }

    void complain(finding what) {
        if (op_.now() < complain_) {
            return;
        }
        complain_ = op_.now() + complain_of_waiting_every;
        if (what == finding::somewhere) {
            op_.warning(message::migration_awaited,
                        "it should come here, and has not come yet: another node still has it");
            return;
        }
        const std::string why = silent_.empty() ? "the other nodes could not all be asked"
                                                : "node " + silent_ + " does not say whether it runs there";
        op_.error(message::migration_no_sender, "it should come here, but nobody sends it: " + why);
    }

private:
    operation& op_;
    time_point next_;
    time_point complain_;
    std::map<std::string, time_point> fenced_since_;
    std::string silent_;
    stranded_search stranded_;
};

async::awaitable<bool> decide_after_search(operation& op, search::finding found) {
    if (found != search::finding::nowhere || !policy::is_migration(op.row.state) || !op.row.is_owner ||
        !op.is_guest(guest_class::absent)) {
        co_return false;
    }
    // What was seen last is what it was moved from only if nothing was written between: changes may come as one.
    const bool is_latest = op.row.stable.known() && op.row.state_version == op.row.stable.version + 1;
    if (is_latest && policy::is_off_state(op.row.stable.state)) {
        op.info("it was off before it was moved: it stays off");
        co_return co_await op.write_state(op.row.stable.state) == write_result::written;
    }
    if (op.now() - op.here.state_since < earliest_cold_start) {
        co_return false;
    }
    op.warning(message::migration_started_here, "it runs nowhere and nobody sends it: starting it here");
    co_return co_await op.write_state(vm_state::start) == write_result::written;
}

// Whoever empties this node wants to know.
void note_arrival(operation& op) {
    if (op.here.is_adopted) {
        op.arrived_here.add(op.id);
    }
}

// Until the domain is here, or is no longer to come.
async::awaitable<void> wait_for_it(operation& op, receiver_lock& lock) {
    search others(op);
    reference_sender sender(op);
    std::optional<time_point> handed_over;
    std::int64_t judged = 0;  // the `stop` that `is_offline` is about
    bool is_offline = false;
    while (!op.must_end() && is_waiting_state(op)) {
        co_await sender.look();
        if (op.must_end() || !is_waiting_state(op)) {
            continue;
        }
        if (op.row.state == vm_state::stop && judged != op.row.state_changed) {
            const std::int64_t asked = op.row.state_changed;
            std::optional<bool> is_the_senders = true;
            if (!op.here.is_handed_over) {
                is_the_senders = co_await sender.wrote_stop();
            }
            if (!is_the_senders) {
                co_await op.wait(op.now() + 1s, "whose word a `stop` is");
                continue;
            }
            judged = asked;
            is_offline = *is_the_senders;
            continue;
        }
        if (op.row.state == vm_state::stop && !is_offline) {
            co_return;  // a client's: the tables see to it
        }
        const auto guest = op.guest();
        const bool is_early = guest == guest_class::incoming && is_planted(defect::arrived_too_early);
        if (guest == guest_class::alive || (guest == guest_class::paused && !op.observed.is_half_made(op.id)) ||
            is_early) {
            if (op.row.state == vm_state::stop) {
                co_return;  // a client's: the tables destroy it
            }
            co_await adopt(op, policy::is_migration(op.row.state));
            note_arrival(op);
            co_return;
        }
        if (guest == guest_class::absent) {
            if (op.row.state == vm_state::start) {
                co_return;  // the tables start it
            }
            if (op.row.state == vm_state::stop) {
                // The sender is done when it has given the lock back: a reference node that still has it would drop
                // our `start`, and with it the copy that it has not ended yet.
                handed_over = handed_over.value_or(op.now());
                if (is_offline && !lock.is_held && op.now() < *handed_over + release_patience) {
                    co_await op.wait(*handed_over + release_patience, "the sender to give the migration lock back");
                    continue;
                }
                if (is_offline && op.row.state == vm_state::stop && op.row.is_owner) {
                    const write_result taken = co_await write_taken_over(op);
                    if (taken == write_result::written) {
                        op.state("it was shut down to be moved here");
                        op.arrived_here.add(op.id);
                    } else if (taken == write_result::overtaken) {
                        auto fresh = co_await op.table.read(op.row);  // `node` rewritten as it was changes nothing
                        if (fresh) {
                            continue;
                        }
                    } else if (taken == write_result::failed) {
                        // Whose word it was is known here only, if the sender is a reference node.
                        auto is_back = co_await op.s.zk.wait_connected(op.now() + 30s);
                        auto fresh = co_await op.table.read(op.row);
                        if (is_back && fresh) {
                            continue;
                        }
                    }
                }
                co_return;
            }
            if (others.is_due()) {
                const auto found = co_await others.ask_everybody();
                const bool is_decided = co_await decide_after_search(op, found);
                if (is_decided || found == search::finding::taken_back) {
                    co_return;
                }
                if (found != search::finding::nowhere) {
                    others.complain(found);
                }
                continue;
            }
        }
        const bool cold_start_is_next =
            guest == guest_class::absent && op.here.state_since + earliest_cold_start > op.now();
        const time_point next =
            cold_start_is_next ? std::min(others.next(), op.here.state_since + earliest_cold_start) : others.next();
        co_await op.wait(std::max(next, op.now() + 1s), "the virtual machine to arrive");
    }
}

// A copy that libvirt did not finish to set up (its daemon died meanwhile) leaves no room for another: the sender is
// told to begin once it is gone, or has become more. False: nothing is to be received any more.
async::awaitable<bool> wait_for_room(operation& op) {
    constexpr duration usual = 30s;
    const auto is_to_come = [&op] {
        return !op.must_end() && op.row.is_present && op.row.is_owner && policy::is_migration(op.row.state);
    };
    time_point complain = op.here.class_since + usual;
    while (is_to_come() && op.observed.is_half_made(op.id)) {
        if (op.now() >= complain) {
            complain = op.now() + complain_of_waiting_every;
            op.error(message::migration_no_room,
                     "it cannot come here: libvirt has a copy of it that it did not finish to set up (paused, starting "
                     "up); end that one with `virsh destroy`, and restart libvirtd if that does not help");
        }
        co_await op.wait(std::max(complain, op.now() + 1s), "an unfinished copy to go");
    }
    co_return is_to_come();
}

// A connection that breaks just now comes back, and with it the last write is made after all. Whatever it is that the
// domain should do meanwhile needs the connection too.
async::awaitable<void> leave_no_trace(operation& op) {
    constexpr int tries_max = 3;
    constexpr duration patience = 30s;
    for (int tries = 0; tries < tries_max; ++tries) {
        const bool is_of_another =
            !op.row.is_owner && policy::is_migration(op.row.state);  // on its way to a third node
        // What the sender handed over is still to be taken.
        const bool is_handed_over = op.row.state == vm_state::stop && op.here.is_handed_over;
        const bool is_ours_to_clear = op.row.is_present && op.row.state != vm_state::deleted && !is_of_another &&
                                      !is_handed_over && !is_planted(defect::sync_word_left);
        const bool is_clear = !is_ours_to_clear || co_await op.write_own(model::domain_key::migrate_sync_lock, "");
        if (is_clear) {
            remove_journal(op);
            co_return;
        }
        auto is_back = co_await op.s.zk.wait_connected(op.now() + patience);
        auto fresh = co_await op.table.read(op.row);
        if (op.must_end() || !is_back || (!fresh && fresh.error().code() != errc::not_found)) {
            co_return;  // the record stays: the next session sees to it
        }
    }
}

}  // namespace

async::awaitable<void> receive(operation& op) {
    op.state(op.row.stable.node != nullptr ? "receiving it from node " + shown(*op.row.stable.node) : "receiving it");
    write_journal(op, "receiver", op.here.last_node, "waiting");
    const bool has_room = co_await wait_for_room(op);
    if (!has_room) {
        remove_journal(op);
        co_return;
    }
    co_await op.write_own(model::domain_key::migrate_sync_lock, to_text(op.id));
    receiver_lock lock;
    co_await async::with_task_group("receive", [&](async::task_group& group) -> async::awaitable<void> {
        group.spawn("sync lock", [&] { return offer_sync_lock(op, lock); });
        co_await wait_for_it(op, lock);
        group.cancel();
    });
    co_await leave_no_trace(op);
}

async::awaitable<void> take_over(operation& op) {
    const bool is_to_start = op.row.is_owner && op.row.state == vm_state::stop && op.here.is_handed_over &&
                             op.is_guest(guest_class::absent) && !op.must_end();
    if (is_to_start) {
        op.state("it was shut down to be moved here");
        const write_result taken = co_await write_taken_over(op);
        if (taken == write_result::written) {
            op.arrived_here.add(op.id);
        }
    }
    remove_journal(op);
}

async::awaitable<void> arrived(operation& op) {
    co_await adopt(op, true);
    note_arrival(op);
    co_await leave_no_trace(op);
}

}  // namespace pvc::domains
