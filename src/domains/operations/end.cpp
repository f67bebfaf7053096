// Shutdown, stop, terminate, restart, clean-up. Specification: vm-domains.md 6.2 to 6.5, 6.7.
#include "operations/others.hpp"
#include "operations/power.hpp"

#include "pvcnoded/async/task_group.hpp"

namespace pvc::domains {

using namespace std::chrono_literals;
using model::guest_class;
using model::vm_state;

namespace {

constexpr duration settle_question = 10s;
constexpr duration look_for_its_node_every = 30s;

void guest_is_gone(operation& op) {
    op.here.is_adopted = false;
    op.here.live.reset();
    op.here.live_is_stale = true;
}

}  // namespace

async::awaitable<void> shut_down(operation& op) {
    op.state("shutting down");
    const auto ended =
        co_await power_down(op, [&op] { return op.row.state == vm_state::shutdown && op.row.is_present; });
    if (ended != power_result::off) {
        co_return;
    }
    guest_is_gone(op);
    co_await op.set_listed(false);
    if (op.row.state == vm_state::shutdown && op.row.is_present) {
        const write_result done = co_await op.write_state(vm_state::stop);
        if (done == write_result::written) {
            op.state("stopped");
        }
    }
    co_await end_console(op);
    if (op.row.is_present && op.row.state != vm_state::deleted && op.row.is_owner) {
        co_await op.write_own(model::domain_key::vnc, "");
    }
}

async::awaitable<void> shut_down_quietly(operation& op) {
    op.state(std::string("shutting down: its state is ") + std::string(to_text(op.row.state)));
    const auto ended = co_await power_down(op, [&op] {
        return op.row.is_present && (op.row.state == vm_state::disable || op.row.state == vm_state::mirror);
    });
    if (ended == power_result::off) {
        guest_is_gone(op);
        co_await clean_up(op, true);
    }
}

async::awaitable<void> stop(operation& op) {
    op.state("stopping");
    const auto ended = co_await destroy(op);
    if (ended == power_result::off) {
        guest_is_gone(op);
        co_await clean_up(op, true);
        op.state("stopped");
    }
}

namespace {

// Whether the cluster has the node that `node` names. Empty: that could not be read.
async::awaitable<std::optional<bool>> has_a_node(operation& op) {
    const std::string name = op.row.node != nullptr ? *op.row.node : std::string();
    if (!may_be_a_node(name)) {
        co_return false;
    }
    auto found = co_await op.s.zk.exists(op.s.limit(), model::node_path(name));
    if (!found && found.error().code() != errc::not_found && found.error().code() != errc::invalid) {
        co_return std::nullopt;
    }
    co_return found.has_value();
}

// What is to run must have somewhere to run: a slip of the pen in `node` ends no guest.
async::awaitable<bool> may_terminate(operation& op) {
    if (!is_to_run(op.row.state)) {
        co_return true;
    }
    const operation::view seen = op.present();
    const auto found = co_await has_a_node(op);
    if (op.present() != seen) {
        co_return false;  // the tables look again
    }
    if (!found) {
        op.pause(1s);
        co_return false;
    }
    if (!*found) {
        if (std::exchange(op.here.nowhere, op.row.node_changed) != op.row.node_changed) {
            op.error(message::domain_node_unknown, "it belongs to node `" +
                                                       shown(op.row.node != nullptr ? *op.row.node : std::string()) +
                                                       "`, which the cluster does not have: it is left running here");
        }
        op.here.nowhere_until = op.now() + look_for_its_node_every;
    }
    co_return *found;
}

}  // namespace

async::awaitable<void> remove_local(operation& op) {
    const bool may_end = co_await may_terminate(op);
    if (!may_end) {
        co_return;
    }
    op.state(op.row.state == vm_state::deleted ? "destroying: it is being deleted"
             : op.row.node != nullptr          ? "terminating: it belongs to node " + shown(*op.row.node)
                                               : std::string("terminating"));
    const auto ended = co_await destroy(op);
    if (ended == power_result::off) {
        guest_is_gone(op);
        co_await clean_up(op, false);
    }
}

async::awaitable<void> restart(operation& op) {
    op.state("restarting");
    const auto goes_on = [&op] { return op.row.state == vm_state::restart && op.row.is_present && op.row.is_owner; };
    const auto ended = op.is_guest(guest_class::paused) ? co_await destroy(op) : co_await power_down(op, goes_on);
    if (ended == power_result::off) {
        guest_is_gone(op);
        co_await op.set_listed(false);  // the table goes on with the start
    }
}

async::awaitable<void> clean_up(operation& op, bool with_keys) {
    op.here.is_adopted = false;
    op.here.power_down.reset();
    co_await op.set_listed(false);
    co_await end_console(op);
    if (with_keys && op.row.is_present && op.row.is_owner && op.row.state != vm_state::deleted) {
        co_await op.write_own(model::domain_key::vnc, "");
        co_await op.write_own(model::domain_key::migrate_sync_lock, "");  // of a migration that ended with its session
    }
}

async::awaitable<void> settle_shutdown(operation& op) {
    co_await op.set_listed(false);
    co_await end_console(op);
    const auto goes_on = [&op] {
        return !op.must_end() && op.row.is_present && op.row.is_owner && op.row.state == vm_state::shutdown &&
               op.is_guest(guest_class::absent);
    };
    release_rules rules;
    rules.includes_stopped = true;
    rules.ask_after = settle_question;
    const auto released = co_await wait_released(op, rules, goes_on);
    if (released.what != release_outcome::kind::clear) {
        co_return;
    }
    const write_result done = co_await op.write_state(vm_state::stop);
    if (done == write_result::written) {
        op.state("stopped");
        co_await op.write_own(model::domain_key::vnc, "");
    }
}

async::awaitable<void> drop_incoming(operation& op) {
    const time_point until = op.here.class_since + 10s;
    const auto goes_on = [&op] {
        const bool is_asked_for = policy::decide({op.row.state, op.row.is_owner, guest_class::incoming}) ==
                                  policy::domain_action::drop_incoming;
        return !op.must_end() && op.row.is_present && !is_nobodys(op.row) && is_asked_for &&
               op.is_guest(guest_class::incoming);
    };
    while (goes_on() && op.now() < until) {
        co_await op.wait(until, "the end of a migration that nobody needs");
    }
    if (goes_on()) {
        op.warning(message::domain_half_left,
                   "half of a broken migration is left here and nobody needs it, destroying it");
        op.here.is_stale_half = true;
        const auto ended = co_await destroy(op);
        if (ended == power_result::off) {
            guest_is_gone(op);
            co_await clean_up(op, false);
        }
    }
}

async::awaitable<void> end_hung(operation& op) {
    const auto since = std::chrono::duration_cast<std::chrono::seconds>(op.now() - op.here.class_since).count();
    op.warning(message::domain_process_stays,
               "its guest is off, and its process has not gone for " + std::to_string(since) + " s: destroying it");
    co_await destroy(op);  // the tables go on with a guest that is not there
}

async::awaitable<void> hand_over_ended(operation& op) {
    op.here.is_adopted = false;
    co_await op.set_listed(false);
    co_await end_console(op);
    co_await hand_over(op);
}

namespace {

// What an earlier failure said is over, unless somebody has written since.
async::awaitable<void> clear_reason(operation& op) {
    auto stored = co_await op.s.zk.get(op.s.limit(), op.key(model::domain_key::failed_reason));
    if (!stored || stored->data.empty() || op.row.state == vm_state::deleted) {
        co_return;
    }
    zookeeper::transaction what;
    what.set(op.key(model::domain_key::failed_reason), "", stored->stat.version);
    what.check(op.key(model::domain_key::state), op.row.state_version);
    auto done = co_await op.s.zk.commit(op.s.limit(), std::move(what));
    op.here.owes_reason = !done && done.error().code() == errc::version_conflict;
}

}  // namespace

async::awaitable<void> adopt(operation& op, bool with_state) {
    const bool is_paused = op.is_guest(guest_class::paused);
    if (is_paused && !op.here.told_pause) {
        const auto status = op.observed.status_of(op.id);
        const bool sleeps = status && status->state == model::run_state::suspended;
        const auto why = sleeps ? "the guest sleeps" : to_text(status ? status->cause : model::pause_cause::none);
        op.warning(message::domain_paused, "it is paused (" + std::string(why) + ") and left as it is");
        op.here.told_pause = true;
    }
    co_await op.set_listed(true);
    if (with_state) {
        const write_result done = co_await op.write_state(vm_state::start);
        if (done != write_result::written) {
            co_return;
        }
        op.state("it runs here now");
    }
    op.here.is_adopted = true;
    op.row.came_from = nullptr;
    op.here.adopted_state = op.row.state_changed;
    op.here.spacing.started(op.now());
    op.here.power_down.reset();
    follow_console(op);
    if (std::exchange(op.here.owes_reason, false)) {
        co_await clear_reason(op);
    }
    co_await publish_vnc(op);
    if (!with_state) {
        co_await op.write_own(model::domain_key::migrate_sync_lock, "");  // of a migration that ended with its session
    }
}

async::awaitable<void> keep(operation& op) {
    co_await op.set_listed(true);
    op.here.is_adopted = true;
    op.here.adopted_state = op.row.state_changed;
    if (op.row.is_owner) {
        follow_console(op);
        co_await publish_vnc(op);
    } else {
        co_await read_live_xml(op);
        op.here.owes_vnc = true;  // should it become ours again: console and VNC were not seen to
    }
}

}  // namespace pvc::domains
