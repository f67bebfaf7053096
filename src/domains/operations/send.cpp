// The sending side of a migration: locks, the receiver, live tries or a shutdown, release; or back as it was.
// Specification: vm-domains.md 8.1 to 8.3, 8.6.
#include "operations/live.hpp"
#include "operations/migration.hpp"
#include "operations/others.hpp"
#include "operations/power.hpp"
#include "pvcnoded/model/domain_payloads.hpp"

#include <algorithm>

namespace pvc::domains {

using namespace std::chrono_literals;
using model::guest_class;
using model::vm_state;

namespace {

constexpr duration sender_lock_limit = 30s;
constexpr duration pause_between_tries = 500ms;
constexpr duration busy_patience = 30s;
constexpr duration pause_between_reads = 500ms;
constexpr duration look_for_turn_every = 1s;
constexpr int live_tries_max = 3;
constexpr duration leave_patience = 10s;
constexpr duration downtime_limit = 5s;

// Table 8.1.
struct migration_mode {
    bool live = true;
    bool offline = true;
};
migration_mode mode_of(vm_state state, model::migration_method method) {
    const bool is_enforced = state == vm_state::migrate_live;
    migration_mode mode;
    mode.live = method != model::migration_method::shutdown;
    mode.offline = !is_enforced && method != model::migration_method::live;
    return mode;
}

class sender {
public:
    sender(operation& op, std::string target) : op_(op), target_(std::move(target)), created_(op.row.created) {}

    async::awaitable<void> run() {
        // The children use these, and may end after the group's body: they are of the frame that waits for both.
        const time_point deadline = op_.now() + sender_lock_limit;
        std::optional<result<void>> done;
        std::string back;  // written when no lock is held any more: nothing of it rests on one that is only half had
        co_await async::with_task_group("send", [&](async::task_group& group) -> async::awaitable<void> {
            group.spawn("sync lock", [&] { return take_sync_lock(op_, sync_, deadline); });
            group.spawn("locks", [&]() -> async::awaitable<void> {
                auto end = co_await with_migration_locks(op_, deadline, [&] { return after_locks(); });
                done.emplace(std::move(end));
                step_.notify();
                op_.here.changed.notify();
            });
            // Nobody waits for locks that he no longer needs. Until they are had, this is the one that hears of
            // changes.
            while (!done && !has_locks_ && is_on_its_way() && !op_.must_end()) {
                co_await op_.wait(deadline + sender_lock_limit, "the locks of the virtual machine");
            }
            if (has_locks_) {
                go_on_.notify();
                while (!done) {
                    co_await step_.wait(async::wait_note::work("the end of the migration"));
                }
            }
            if (!done && op_.must_end()) {
                back = "the daemon stops";
            } else if (done && !*done && done->error().code() == errc::timed_out) {
                back = "the locks of the machine were not had within 30 s";
            } else if (done && !*done && done->error().code() != errc::not_found) {
                op_.warning(message::migration_locks, "migrating it: " + done->error().text());
                op_.pause(1s);
            }
            group.cancel();
        });
        if (!back.empty()) {
            co_await roll_back(std::move(back));
        }
        if (!is_let_go_) {
            remove_journal(op_);
        }
        if (is_handed_over_) {
            co_await see_it_start(op_, target_);
        }
        // It stays here, by whoever's word: who adopts it once more clears what its receiver left.
        op_.here.is_adopted = op_.here.is_adopted && !(op_.row.is_present && op_.row.is_owner);
    }

private:
    async::awaitable<void> after_locks() {
        has_locks_ = true;
        op_.here.changed.notify();
        co_await go_on_.wait_until(op_.clock(), op_.now() + sender_lock_limit, "whoever heard of changes before");
        co_await with_locks();
    }

    [[nodiscard]] bool is_on_its_way() const {
        return op_.row.is_present && !op_.row.is_owner && policy::is_migration(op_.row.state) &&
               op_.row.node != nullptr && *op_.row.node == target_;
    }
    // The same placement once more is no other wish: nothing begins anew for it. Whether it must move live is asked
    // when that is to be decided.
    [[nodiscard]] bool is_unchanged() const { return is_on_its_way() && op_.row.created == created_; }
    [[nodiscard]] migration_mode mode() const { return mode_of(op_.row.state, method_); }

    // What is read of a domain that is to be sent, beside its row. A key that is missing counts as empty.
    struct wishes {
        bool is_target_known = true;
        std::string method;
        std::string max_downtime;
    };
    // None: not all of it could be read, although it was tried for as long as for the locks, or it does not matter any
    // more.
    async::awaitable<std::optional<wishes>> read_wishes() {
        const time_point until = op_.now() + sender_lock_limit;
        while (is_unchanged() && !op_.must_end() && op_.now() < until) {
            const auto read = co_await op_.s.zk.read_together(
                op_.s.limit(), {{.path = model::node_path(target_), .with_data = false},
                                {.path = op_.key(model::domain_key::migration_method)},
                                {.path = op_.key(model::domain_key::migration_max_downtime)}});
            const bool is_all_known = std::ranges::all_of(read, [](const auto& one) {
                return one || one.error().code() == errc::not_found || one.error().code() == errc::invalid;
            });
            if (is_all_known) {
                co_return wishes{read[0].has_value(), read[1] ? read[1]->data : "", read[2] ? read[2]->data : ""};
            }
            co_await async::sleep_for(op_.clock(), pause_between_reads, "another attempt to read a key");
        }
        co_return std::nullopt;
    }

    // S2: what was asked for is still wanted. The view that the rest rests on.
    async::awaitable<bool> look_again() {
        auto fresh = co_await op_.table.read(op_.row);
        if (!fresh || !is_on_its_way()) {
            co_return false;
        }
        created_ = op_.row.created;
        if (op_.here.last_node == target_) {
            // Moved home although it counts as being there: from here on it is at home.
            zookeeper::transaction what;
            const auto of_last = what.set(op_.key(model::domain_key::last_node), "", op_.here.last_node_version);
            what.check(op_.key(model::domain_key::state), op_.row.state_version);
            what.check(op_.key(model::domain_key::node), op_.row.node_version);
            for (const auto* lock : op_.locks) {
                lock->add_check(what);
            }
            auto done = co_await op_.s.zk.commit(op_.s.limit(), std::move(what));
            if (!done) {
                op_.table.mark(op_.row);
                co_return false;
            }
            op_.here.last_node.clear();
            op_.here.last_node_version = done->of(of_last).version;
        }
        co_return true;
    }

    async::awaitable<void> with_locks() {
        const bool was_granted = sync_.granted;
        const bool is_wanted = co_await look_again();
        if (!is_wanted) {
            co_return;
        }
        state_children_ =
            op_.s.watches.add(op_.key(model::domain_key::state), zookeeper::watch_kind::children, op_.here.changed);
        const auto read = may_be_a_node(target_) ? co_await read_wishes() : std::optional(wishes{false, {}, {}});
        if (!read) {
            if (op_.must_end() || is_unchanged()) {
                co_await roll_back(op_.must_end() ? "the daemon stops" : "its migration method could not be read");
            }
            co_return;
        }
        if (!read->is_target_known) {
            co_await roll_back("there is no node " + shown(target_));
            co_return;
        }
        max_downtime_ = read->max_downtime;
        method_ = model::parse_migration_method(read->method);
        if (!mode().live && !mode().offline) {
            co_await roll_back("it must move live, and its migration method is `shutdown`");
            co_return;
        }
        while (!sync_.granted && !sync_.failed && is_unchanged() && !op_.must_end()) {
            if (op_.is_guest(guest_class::absent)) {
                co_await finish_ended();  // nothing of it was sent yet: this was its end
                co_return;
            }
            co_await op_.wait(op_.now() + sender_lock_limit, "the receiver's turn in the hand-shake");
        }
        if (op_.must_end()) {
            co_await roll_back("the daemon stops");
            co_return;
        }
        if (!sync_.granted) {
            if (is_unchanged()) {
                co_await roll_back("node " + shown(target_) + " did not prepare to receive it within 30 s");
            }
            co_return;
        }
        if (!was_granted) {  // what was read while the receiver was awaited may be old
            const auto fresh = co_await op_.table.read(op_.row);
            if (!fresh || !is_unchanged()) {
                co_return;
            }
        }
        if (sync_.alone) {
            op_.info("node " + shown(target_) + " has gone on without it, migrating without its help");
        }
        if (mode().live) {
            co_await move_live();
        } else if (sync_.alone) {
            co_await roll_back("node " + shown(target_) + " has gone on without it");
        } else {
            co_await move_offline();
        }
    }

    async::awaitable<void> set_downtime() {
        if (op_.s.table.version() < 13 && max_downtime_.empty()) {
            co_return;
        }
        auto set = co_await op_.hv.set_maximum_downtime(op_.id, model::maximum_downtime_ms(max_downtime_),
                                                        op_.now() + downtime_limit);
        if (!set) {
            op_.warning(message::migration_downtime, "its maximum downtime could not be set: " + set.error().text);
        }
    }

    // S6 begins when one of the places for live calls is free. False: it is not to move any more.
    async::awaitable<bool> take_turn() {
        turn_.emplace(op_.migrations, op_.id, op_.here.changed);
        time_point nobody_waited = op_.now();
        bool told = false;
        while (is_unchanged() && !turn_->take()) {
            if (op_.must_end()) {
                co_await roll_back("the daemon stops");
                co_return false;
            }
            if (op_.is_guest(guest_class::absent)) {
                if (!op_.here.is_sent_by_us) {  // nothing of it was sent yet: this was its end
                    co_await finish_ended();
                }
                co_return false;
            }
            nobody_waited = somebody_waits(op_, *state_children_) ? nobody_waited : op_.now();
            if (op_.now() - nobody_waited >= policy::stall_limit_with_waiter) {
                co_await roll_back("other machines move before it, and somebody waits for it");
                co_return false;
            }
            if (!std::exchange(told, true)) {
                op_.info("it moves when others have: as many as may migrate at once do so");
            }
            co_await op_.wait(op_.now() + look_for_turn_every, "its turn to migrate");
        }
        co_return is_unchanged();
    }

    async::awaitable<void> move_live() {
        const bool has_turn = co_await take_turn();
        if (!has_turn) {
            co_return;
        }
        co_await set_downtime();
        op_.here.is_sent_by_us = true;
        write_journal(op_, "sender", target_, "live");
        bool may_fall_back = !sync_.alone;
        std::string why = "live migration failed";
        std::optional<time_point> busy_until;
        for (int attempt = 1; attempt <= live_tries_max; ++attempt) {
            if (attempt == 1) {
                op_.state("migrating to node " + shown(target_));
            }
            const auto tried = co_await migrate_live(op_, target_, *state_children_);
            if (tried.end == live_end::moved) {
                co_await op_.wait_absent(op_.now() + leave_patience);
                co_await finish_moved();
                co_return;
            }
            op_.warning(message::migration_attempt,
                        tried.text.empty() ? "the live migration ended early" : "live migration: " + tried.text);
            why = "live migration failed: " + tried.text;
            const auto found = co_await resolve(op_, target_);
            bool may_try_again = tried.end != live_end::hopeless;
            switch (found) {
                case resolution::moved: co_await finish_moved(); co_return;
                case resolution::ended: co_await finish_ended(); co_return;
                case resolution::let_go: is_let_go_ = !op_.is_guest(guest_class::absent); co_return;
                case resolution::overtaken: co_return;
                case resolution::unanswered:
                    // What could not even begin may be tried again (8.6), what broke on its way may not (8.3).
                    may_fall_back = false;
                    may_try_again = may_try_again && tried.was_short;
                    break;
                case resolution::kept_without_proof:
                    may_fall_back = false;
                    may_try_again = false;
                    break;
                case resolution::clean_failure: may_fall_back = !sync_.alone; break;
            }
            if (tried.end == live_end::must_end || op_.must_end()) {
                co_await roll_back("the daemon stops");
                co_return;
            }
            if (!is_unchanged()) {
                co_return;
            }
            if (tried.end == live_end::target_dead || tried.end == live_end::somebody_waits) {
                may_fall_back = false;
                why = tried.end == live_end::target_dead ? "node " + shown(target_) + " died"
                                                         : "it did not converge, and somebody waits for the machine";
                break;
            }
            if (tried.end == live_end::no_progress) {
                why = "live migration made no progress for " +
                      std::to_string(op_.node.config->hypervisor.stall_limit.count()) + " s";
                break;
            }
            // The job of an earlier session, or somebody else's, takes a moment to go.
            busy_until = tried.was_busy ? busy_until.value_or(op_.now() + busy_patience) : busy_until;
            if (tried.was_busy && found == resolution::clean_failure && op_.now() < *busy_until) {
                --attempt;
                co_await async::sleep_for(op_.clock(), pause_between_tries, "an earlier job of libvirt to end");
                continue;
            }
            if (!may_try_again) {
                break;
            }
            if (attempt < live_tries_max) {
                co_await async::sleep_for(op_.clock(), pause_between_tries, "the next try of a live migration");
            }
        }
        if (!may_fall_back || !mode().offline || !co_await target_runs(op_, target_)) {
            co_await roll_back(why);
            co_return;
        }
        op_.warning(message::migration_offline, why + ": moving it through a shutdown");
        co_await move_offline();
    }

    async::awaitable<void> move_offline() {
        turn_.reset();
        op_.state("moving to node " + shown(target_) + " through a shutdown");
        op_.here.is_sent_by_us = false;  // it is here and nowhere else: when it has ended, that was its end
        write_journal(op_, "sender", target_, "offline");
        const auto ended = co_await power_down(op_, [&] { return is_unchanged() && mode().offline; });
        if (ended == power_result::off) {
            co_await finish_ended();
        } else if (op_.must_end() && is_unchanged()) {
            co_await roll_back("the daemon stops");
        }
    }

    async::awaitable<void> leave_it() {
        op_.here.is_adopted = false;
        op_.here.live.reset();
        co_await op_.set_listed(false);
        co_await end_console(op_);
    }

    async::awaitable<void> finish_moved() {
        turn_.reset();
        co_await leave_it();
        op_.state("moved to node " + shown(target_));
        co_await sync_.release(op_.clock());
        if (is_on_its_way()) {
            co_await await_receiver(op_, target_, op_.present());
        }
    }

    // It is off here: the receiver starts it.
    async::awaitable<void> finish_ended() {
        turn_.reset();
        op_.here.is_adopted = false;
        op_.here.is_sent_by_us = false;  // proven to be nowhere: the tables may say so too
        op_.here.was_going_off = true;   // and whatever becomes of the write, they hand it over
        write_journal(op_, "sender", target_, "offline");
        co_await op_.set_listed(false);
        const write_result done = is_on_its_way() ? co_await write_hand_over(op_) : write_result::overtaken;
        const operation::view handed = op_.present();
        co_await leave_it();
        co_await sync_.release(op_.clock());
        is_let_go_ = done != write_result::written && is_on_its_way();
        if (done == write_result::written) {
            is_handed_over_ = true;
            co_await await_receiver(op_, target_, handed);
        }
    }

    async::awaitable<void> roll_back(std::string why) {
        turn_.reset();
        const bool is_stopping = op_.must_end();
        if (!is_on_its_way()) {
            co_await sync_.release(op_.clock());  // somebody has decided otherwise: nothing is taken back
            co_return;
        }
        op_.here.is_sent_by_us = false;
        const std::string last = previous_last_node(op_);
        const write_result done = co_await op_.write_placement(vm_state::start, op_.node.self(), last);
        if (done == write_result::written) {
            op_.here.is_adopted = op_.here.is_adopted || is_stopping;
            op_.error(message::migration_rolled_back,
                      "it was not moved to node " + shown(target_) + " and stays here: " + why);
            co_await clear_sync_value(op_);
        } else {
            op_.warning(message::migration_ended, "it was not moved to node " + shown(target_) + ": " + why);
        }
        co_await sync_.release(op_.clock());
    }

    operation& op_;
    std::string target_;
    std::int64_t created_;  // the incarnation that was asked to move
    model::migration_method method_ = model::migration_method::none;
    std::string max_downtime_;  // as it is stored
    sender_lock sync_;
    bool is_handed_over_ = false;
    bool is_let_go_ = false;  // not known who has it: the table comes back to it, or the daemon after this one
    bool has_locks_ = false;
    async::wakeup go_on_;  // once the locks are had and `here.changed` is the body's
    async::wakeup step_;
    std::unique_ptr<zookeeper::watched> state_children_;
    std::optional<turns::place> turn_;
};

}  // namespace

async::awaitable<void> send(operation& op) {
    if (op.row.node == nullptr || op.must_end()) {
        co_return;
    }
    sender one(op, *op.row.node);
    co_await one.run();
}

async::awaitable<void> see_taken_over(operation& op) {
    const bool is_ours_to_see =
        op.row.node != nullptr && !op.row.is_owner && op.row.state == vm_state::stop && op.here.is_handed_over;
    if (!is_ours_to_see || op.must_end()) {
        co_return;
    }
    const std::string target = *op.row.node;
    const operation::view handed = op.present();
    co_await op.set_listed(false);
    co_await await_receiver(op, target, handed);
    remove_journal(op);
    co_await see_it_start(op, target);
}

}  // namespace pvc::domains
