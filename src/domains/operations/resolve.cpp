// After a live call that failed: who has the guest? Exactly one copy stays, and none is destroyed or resumed without
// proof. Specification: vm-domains.md 8.7.
#include "operations/migration.hpp"
#include "operations/others.hpp"
#include "operations/power.hpp"

#include "pvcnoded/base/planted.hpp"
#include "pvcnoded/model/domain_payloads.hpp"

#include <algorithm>

namespace pvc::domains {

using namespace std::chrono_literals;
using model::guest_class;
using model::vm_state;

namespace {

constexpr duration look_at_sides_again = 2s;
constexpr duration halted_patience = 10s;
constexpr duration ask_sides_again = 5s;
constexpr duration unknown_patience = 10s;
constexpr duration own_patience = 60s;
constexpr duration locks_patience = 60s;  // to list the locks of all its disks
constexpr duration locks_held_limit = 15s;
constexpr duration resume_limit = 30s;

async::awaitable<remote_answer> ask_target(operation& op, const std::string& target, time_point until) {
    if (is_planted(defect::target_not_asked)) {
        co_return remote_answer::absent;
    }
    auto daemon = co_await op.s.zk.get(op.s.limit(), model::node_path(target, model::node_key::daemon_state));
    if (daemon && model::daemon_state_or_fallback(daemon->data) == model::daemon_state::fenced) {
        co_return remote_answer::absent;
    }
    const remote_answer answer = co_await ask(op, target, until);
    // A hypervisor that is not there says nothing about guests that outlive it.
    co_return answer == remote_answer::refused ? remote_answer::silent : answer;
}

// The guarded read before a copy is resumed: still this migration of the domain that both sides were asked about, or
// ours again.
async::awaitable<std::optional<boot_time>> may_resume(operation& op, const std::string& target, std::int64_t created) {
    auto read = co_await op.table.read(op.row);
    if (!read || !op.s.zk.is_connected() || op.row.created != created) {
        co_return std::nullopt;
    }
    const bool is_this_migration =
        policy::is_migration(op.row.state) && op.row.node != nullptr && *op.row.node == target;
    const bool is_ours = op.row.is_owner && op.row.state == vm_state::start;
    co_return is_this_migration || is_ours ? std::optional(*read) : std::nullopt;
}

// Proven to be stale: that outlives this operation, whatever becomes of its keys.
async::awaitable<power_result> destroy_half(operation& op, time_point last) {
    op.here.is_stale_half = true;
    co_return co_await destroy(op, last);
}

// What one look at both sides was, for whoever acts on two of them only.
struct look {
    policy::second_look& before;
    policy::second_look::finding now;
    time_point asked;
    std::int64_t created;  // the incarnation of the domain that was asked about

    [[nodiscard]] bool is_confirmed(const operation& op) const { return before.confirms(now, asked, op.now()); }
};

// The local half stands, the target does not have it. It may have run there and ended: then this memory is stale, and
// a lock that somebody else was seen to hold says so. Empty: not known yet. All of it ends by `last`.
async::awaitable<std::optional<resolution>> resume_local(operation& op, const std::string& target, look at,
                                                         time_point last) {
    auto volumes = co_await stored_volumes(op);
    if (!volumes) {
        co_return std::nullopt;
    }
    if (!volumes->empty()) {
        const auto locks = co_await op.rbd_locks().judge(*volumes, std::min(op.now() + locks_patience, last));
        if (locks.verdict == policy::lock_verdict::unreadable) {
            at.before.forget();
            op.warning(message::migration_locks_unread,
                       "what is left of a broken migration can be neither resumed nor ended yet: " + locks.reason);
            co_return std::nullopt;
        }
        if (locks.verdict == policy::lock_verdict::foreign && !at.is_confirmed(op)) {
            co_return std::nullopt;
        }
        if (locks.verdict == policy::lock_verdict::foreign) {
            op.error(message::migration_lock_foreign,
                     "a disk of it is locked by another host: what is left of it here is stale, destroying it");
            const auto gone = co_await destroy_half(op, last);
            co_return gone == power_result::off ? std::optional(resolution::ended) : std::nullopt;
        }
    }
    at.before.forget();
    const auto proof = co_await may_resume(op, target, at.created);
    if (!proof) {
        co_return std::nullopt;  // looked at again, with the view as it is now
    }
    auto resumed =
        co_await op.hv.resume(op.id, *proof + zookeeper::guard_validity, std::min(op.now() + resume_limit, last));
    if (!resumed) {
        op.warning(message::migration_resume, "resuming it after a broken migration: " + resumed.error().text);
    }
    const auto local = co_await op.ask_class();
    co_return resumed&& local == guest_class::alive ? std::optional(resolution::clean_failure) : std::nullopt;
}

bool is_still_wanted(const operation& op, const std::string& target) {
    const bool is_this = policy::is_migration(op.row.state) && op.row.node != nullptr && *op.row.node == target;
    const bool is_done = op.row.state == vm_state::start && op.row.node != nullptr && *op.row.node == target;
    const bool is_ours = op.row.is_owner && op.row.state == vm_state::start;
    return op.row.is_present && (is_this || is_done || is_ours);
}

async::awaitable<resolution> destroyed_local(operation& op, std::string why, time_point last) {
    op.info(std::move(why));
    const bool is_half = op.is_guest(guest_class::incoming);
    const auto gone = is_half ? co_await destroy_half(op, last) : co_await destroy(op, last);
    co_return gone == power_result::off ? resolution::moved : resolution::let_go;
}

}  // namespace

async::awaitable<result<std::vector<std::string>>> stored_volumes(operation& op) {
    PVC_CO_TRY(auto xml, co_await op.s.zk.get(op.s.limit(), op.key(model::domain_key::xml)));
    auto rbdlist = co_await op.s.zk.get(op.s.limit(), op.key(model::domain_key::rbd_list));
    if (!rbdlist && rbdlist.error().code() != errc::not_found) {
        co_return rbdlist.error();
    }
    auto parsed = model::parse_domain_xml(xml.data);
    co_return model::rbd_volumes(rbdlist ? rbdlist->data : std::string(), parsed ? *parsed : model::domain_xml{});
}

async::awaitable<resolution> resolve(operation& op, std::string target) {
    using policy::resolve_step;
    const time_point began = op.now();
    const std::int64_t created = op.row.created;
    // Clients wait behind the locks of a sender: who cannot decide gives them back, and comes again through the table.
    const time_point last = op.locks.empty() ? time_point::max() : began + locks_held_limit;
    policy::second_look before;
    bool told = false;
    for (;;) {
        auto fresh = co_await op.table.read(op.row);
        const operation::view seen = op.present();
        const auto local = co_await op.ask_class();
        if (op.now() >= last) {
            op.warning(message::migration_unclear, "who has it is not clear yet: its locks are given back meanwhile");
            co_return resolution::let_go;
        }
        if (op.must_end() && op.now() - began > unknown_patience) {
            co_return resolution::let_go;
        }
        if (!fresh && fresh.error().code() != errc::not_found) {
            co_await op.wait_news(seen, std::min(look_at_sides_again, last - op.now()),
                                  "ZooKeeper, to resolve a migration");
            continue;
        }
        if (!local) {
            co_await op.wait_news(seen, std::min(look_at_sides_again, last - op.now()),
                                  "libvirt, to resolve a migration");
            continue;
        }
        // Without its keys only the other side can say that a half is stale.
        const bool is_keyless = !op.row.is_present;
        const bool is_another = !is_keyless && op.row.created != created;  // defined again meanwhile
        const bool is_over = is_another || !is_still_wanted(op, target);
        if (is_keyless ? *local != guest_class::incoming : is_over) {
            if (*local == guest_class::incoming && !is_nobodys(op.row)) {
                op.warning(message::migration_recovered,
                           "it was recovered elsewhere meanwhile: destroying what is left of it here");
                co_await destroy_half(op, last);
            }
            co_return resolution::overtaken;
        }
        const time_point asked = op.now();
        const remote_answer remote = co_await ask_target(op, target, last);
        const auto again = co_await op.ask_class();
        if (again != local) {
            before.forget();
            continue;  // it moved while the target was asked
        }
        if (remote == remote_answer::alive) {
            op.here.seen_there = op.row.state_changed;
        } else if (!policy::is_no_answer(remote)) {
            op.here.seen_there = 0;
        }
        const bool is_done_there = op.row.state == vm_state::start && !op.row.is_owner;
        const resolve_step step = policy::decide_resolve(*local, remote, is_done_there);
        const look at{before, {*local, remote}, asked, created};
        const bool may_destroy = step == resolve_step::destroy_copy || step == resolve_step::destroy_half;
        if (!may_destroy && step != resolve_step::resume) {
            before.forget();
        }
        duration pause = may_destroy ? policy::second_look::apart : look_at_sides_again;
        switch (step) {
            case resolve_step::moved: co_return resolution::moved;
            case resolve_step::failed: co_return resolution::clean_failure;
            case resolve_step::unanswered:
                if (op.here.seen_there != op.row.state_changed) {
                    co_return resolution::unanswered;
                }
                break;  // it was heard to run there: a silence takes nothing back, the limit of the locks ends this
            case resolve_step::ended: co_return resolution::ended;
            case resolve_step::destroy_copy:
                if (at.is_confirmed(op)) {
                    co_return co_await destroyed_local(
                        op, "it runs on node " + shown(target) + ": destroying the copy here", last);
                }
                break;
            case resolve_step::destroy_half:
                if (at.is_confirmed(op)) {
                    co_return co_await destroyed_local(op,
                                                       "it had arrived on node " + shown(target) +
                                                           " and ended there: what is left of it here is stale",
                                                       last);
                }
                break;
            case resolve_step::resume: {
                if (is_keyless) {
                    co_return resolution::overtaken;
                }
                const auto end = co_await resume_local(op, target, at, last);
                if (end) {
                    co_return *end;
                }
                break;
            }
            case resolve_step::halted_there:
                if (op.now() - began >= halted_patience) {
                    op.error(message::migration_remains,
                             "a copy that does not run is left on node " + shown(target) + "; this one goes on");
                    co_return resolution::kept_without_proof;
                }
                break;
            case resolve_step::unknown_end:
                if (op.now() - began >= unknown_patience) {
                    co_return resolution::let_go;
                }
                break;
            case resolve_step::look_again:
                if (const auto limit = policy::ending_limit({op.row.state, op.row.is_owner, *local});
                    limit && op.now() >= op.here.class_since + *limit) {
                    op.warning(message::migration_process_stays,
                               "its guest is off, and its process does not go: destroying it");
                    co_await destroy(op, last);
                }
                break;
            case resolve_step::ask_again:
                pause = ask_sides_again;
                if (!std::exchange(told, true)) {
                    op.error(message::migration_between, "it stands between here and node " + shown(target) +
                                                             ", which does not answer: nothing is done until it does");
                }
                if (op.must_end()) {
                    co_return resolution::let_go;
                }
                break;
        }
        co_await op.wait_news(seen, std::max(std::min(pause, last - op.now()), duration::zero()),
                              "another look at both sides of a migration");
    }
}

async::awaitable<void> await_receiver(operation& op, std::string target, operation::view handed) {
    constexpr duration receiver_patience = 10s;
    constexpr duration last_patience = 3s;  // of a daemon that stops: the receiver may be reading just now
    const time_point begun = op.now();
    const auto until = [&] { return begun + (op.must_end() ? last_patience : receiver_patience); };
    const auto stands = [&op, &handed, &target] {
        return op.row.is_present && op.row.node != nullptr && *op.row.node == target && op.present() == handed &&
               (policy::is_migration(op.row.state) || op.row.state == vm_state::stop);
    };
    while (stands() && op.now() < until()) {
        co_await op.wait(until(), "the receiver to take over");
    }
    if (!stands()) {
        co_return;
    }
    op.warning(message::migration_taken_for,
               "its new node did not take over within " +
                   std::to_string(std::chrono::duration_cast<std::chrono::seconds>(until() - begun).count()) +
                   " s, doing it in its place");
    co_await write_taken_over(op);
}

// A node that is not there is no place to start it: better back than off.
async::awaitable<bool> target_runs(operation& op, std::string target) {
    auto daemon = co_await op.s.zk.get(op.s.limit(), model::node_path(target, model::node_key::daemon_state));
    co_return daemon&& model::parse_daemon_state(daemon->data) == model::daemon_state::run;
}

// A reference receiver that is still busy with the hand-over drops its own `start`, and nothing would start the
// domain: the same state once more makes it look again (vm-domains.md 0, fact 1; hazard H02).
async::awaitable<void> see_it_start(operation& op, std::string target) {
    constexpr duration start_patience = 10s;
    auto list = op.s.watches.add(model::node_path(target, model::node_key::running_domains),
                                 zookeeper::watch_kind::data, op.here.changed);
    const time_point until = op.now() + start_patience;
    const auto is_pending = [&] {
        const bool is_there = list->known() && list->present() && model::lists_domain(list->data(), op.id);
        return !op.must_end() && op.row.is_present && op.row.state == vm_state::start && !op.row.is_owner &&
               op.row.node != nullptr && *op.row.node == target && !is_there;
    };
    auto fresh = co_await op.table.read(op.row);
    while (fresh && is_pending() && op.now() < until) {
        co_await op.wait(until, "its new node to start it");
    }
    if (!fresh || !is_pending()) {
        co_return;
    }
    const bool is_running = co_await target_runs(op, target);
    if (!is_running) {
        co_return;
    }
    op.info("node " + shown(target) + " has not started it yet, asking once more");
    co_await op.write_state(vm_state::start);
}

async::awaitable<void> hand_over(operation& op) {
    std::string target;
    // A receiver of the reference starts what it is handed without a look at who else has it.
    const operation::view began_with = op.present();
    release_rules rules;
    rules.ask_after = 15s;
    rules.receiver = op.row.node != nullptr ? *op.row.node : std::string();
    const auto elsewhere = co_await wait_released(
        op, rules, [&] { return !op.must_end() && op.row.is_present && op.present() == began_with; });
    if (elsewhere.what != release_outcome::kind::clear) {
        co_return;  // changed: the tables look again
    }
    auto done = co_await with_migration_locks(op, op.now() + 30s, [&op, &target]() -> async::awaitable<void> {
        auto fresh = co_await op.table.read(op.row);
        if (!fresh || op.row.is_owner || !policy::is_migration(op.row.state) || op.row.node == nullptr) {
            co_return;
        }
        // A libvirt that has fallen silent has not told of what came since: its own word, now.
        const auto here = co_await op.ask_class();
        if (here != guest_class::absent) {
            op.pause(1s);
            co_return;
        }
        write_journal(op, "sender", *op.row.node, "offline");
        const write_result written = co_await write_hand_over(op);
        if (written == write_result::written) {
            op.state("it ended on its way: handed over to be started there");
            target = *op.row.node;
            co_await await_receiver(op, target, op.present());
        }
    });
    if (!done && done.error().code() != errc::not_found) {
        op.warning(message::migration_hand_over, "handing it over: " + done.error().text());
        op.pause(1s);
    }
    if (!target.empty() || !policy::is_migration(op.row.state)) {
        remove_journal(op);
    }
    if (!target.empty()) {
        co_await see_it_start(op, target);
    }
}

async::awaitable<void> resolve_sent(operation& op) {
    if (op.row.node == nullptr) {
        co_return;
    }
    const std::string target = *op.row.node;
    op.warning(message::migration_broke, "a migration to node " + shown(target) + " broke, looking who has it");
    const resolution end = co_await resolve(op, target);
    switch (end) {
        case resolution::moved:
            op.here.is_adopted = false;
            co_await op.set_listed(false);
            co_await end_console(op);
            if (policy::is_migration(op.row.state)) {
                co_await await_receiver(op, target, op.present());
            }
            break;
        case resolution::ended:
            op.here.is_sent_by_us = false;  // proven to be nowhere
            op.here.was_going_off = true;   // whatever becomes of the write, the tables hand it over
            co_await op.set_listed(false);
            co_await end_console(op);
            co_await hand_over(op);
            break;
        default: break;  // the tables see what is there now
    }
    if (end != resolution::let_go && end != resolution::ended) {
        remove_journal(op);
    }
    op.here.is_sent_by_us = op.here.is_sent_by_us && op.row.is_present;  // without its keys it is asked for once
}

namespace {

// What all other nodes say. One that has nothing to say about it is not waited for (README ruling 29).
struct everybody {
    bool is_nowhere = false;  // all who must answer did, and nobody has it
    std::string runs_on;
};
async::awaitable<everybody> ask_everybody(operation& op, const std::vector<other_node>& others) {
    std::vector<std::string> names;
    for (const auto& one : others) {
        if (one.daemon != model::daemon_state::fenced) {
            names.push_back(one.name);
        }
    }
    const auto answers = co_await ask_all(op, names);
    everybody out;
    out.is_nowhere = true;
    for (const auto& one : others) {
        const auto found = answers.find(one.name);
        if (found == answers.end()) {
            continue;
        }
        const remote_answer answer = found->second;
        if (answer == remote_answer::alive) {
            out.runs_on = one.name;
        }
        const bool had_it = one.name == op.here.last_node ||
                            (op.row.stable.node != nullptr && one.name == *op.row.stable.node) ||
                            (op.row.came_from != nullptr && one.name == *op.row.came_from);
        const bool is_absent = answer == remote_answer::absent || answer == remote_answer::shut_off;
        const bool is_excused =
            policy::is_no_answer(answer) && policy::may_be_silent({one.daemon, one.lists_it, had_it}, answer);
        out.is_nowhere = out.is_nowhere && (is_absent || is_excused);
    }
    co_return out;
}

}  // namespace

async::awaitable<void> resolve_own(operation& op) {
    const time_point until = op.here.class_since + own_patience;
    const auto stands = [&op] {
        return !op.must_end() && op.row.is_present && op.row.is_owner && op.row.state == vm_state::start &&
               op.is_guest(guest_class::incoming);
    };
    while (stands() && op.now() < until) {
        co_await op.wait(until, "the end of a migration that began before");
    }
    bool told = false;
    policy::second_look before;
    policy::second_look locks_before;
    std::string runs_on;
    while (stands()) {
        const time_point asked = op.now();
        const std::int64_t created = op.row.created;
        duration pause = ask_sides_again;
        auto others = co_await read_others(op);
        if (others) {
            const auto seen = co_await ask_everybody(op, *others);
            if (!stands()) {
                co_return;
            }
            if (seen.runs_on.empty() || std::exchange(runs_on, seen.runs_on) != seen.runs_on) {
                before.forget();
            }
            if (!seen.runs_on.empty()) {
                const look at{before, {guest_class::incoming, remote_answer::alive}, asked, created};
                if (at.is_confirmed(op)) {
                    op.error(message::migration_half_here, "it stands here between two nodes and runs on node " +
                                                               shown(seen.runs_on) + ": destroying what is left here");
                    co_await destroy_half(op, time_point::max());
                    co_return;
                }
                pause = policy::second_look::apart;
            } else if (seen.is_nowhere) {
                const look at{locks_before, {guest_class::incoming, remote_answer::absent}, asked, created};
                const auto end = co_await resume_local(op, op.node.self(), at, time_point::max());
                if (end) {
                    co_return;
                }
            } else if (!std::exchange(told, true)) {
                op.error(message::migration_half_waits,
                         "it stands here between two nodes, and not every other node says that it does not have it");
            }
        }
        co_await op.wait_news(op.present(), pause, "another question to all other nodes");
    }
}

}  // namespace pvc::domains
