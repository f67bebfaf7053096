#include "owner.hpp"

#include "pvcnoded/base/guard.hpp"
#include "pvcnoded/base/planted.hpp"
#include "pvcnoded/policy/role/coordinator_rules.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace pvc::role {

using namespace std::chrono_literals;

namespace {
constexpr duration isolation_check = 1s;
constexpr std::string_view another_walk = "another walk through the phases of the role";

async::awaitable<void> give_up_backwards(core::role_part& part, std::size_t taken, core::session* s) {
    while (taken > 0) {
        --taken;
        co_await part.give_up(policy::role_phases.at(taken), s);
    }
}
}  // namespace

owner::owner(core::node_context& node, std::vector<core::role_part*> parts) : node_(node), parts_(std::move(parts)) {
    // A daemon that begins has no role, whatever the one before it had.
    become(node.mode == model::daemon_mode::coordinator ? model::router_state::secondary : model::router_state::client,
           {});
}

owner::transition_mark::~transition_mark() {
    of_.in_transition_ = false;
    const auto role = of_.now();
    if (role == model::router_state::takeover || role == model::router_state::relinquish) {
        of_.give_up_locally("a transition was cut short");
    }
}

async::awaitable<void> owner::take_up(policy::role_phase which, core::session& s) {
    const auto turn = co_await walking_.lock(another_walk);
    taken_ = static_cast<std::size_t>(which) + 1;
    co_await ask_parts([which, &s](core::role_part& part) { return part.take_up(which, s); });
}

async::awaitable<void> owner::ask_parts(std::function<async::awaitable<void>(core::role_part&)> what) {
    if (parts_.size() == 1) {
        co_await what(*parts_.front());
        co_return;
    }
    co_await async::with_task_group("parts", [&](async::task_group& group) -> async::awaitable<void> {
        for (auto* part : parts_) {
            group.spawn("part", [&what, part] { return what(*part); });
        }
        co_return;
    });
}

async::awaitable<void> owner::give_up(policy::role_phase which, core::session* s) {
    const auto turn = co_await walking_.lock(another_walk);
    co_await ask_parts([which, s](core::role_part& part) { return part.give_up(which, s); });
    if (which == policy::role_phases.back()) {
        taken_ = 0;
    }
}

async::awaitable<void> owner::undo(core::session* s) {
    const auto turn = co_await walking_.lock(another_walk);
    if (taken_ == 0) {
        co_return;
    }
    co_await ask_parts([taken = taken_, s](core::role_part& part) { return give_up_backwards(part, taken, s); });
    taken_ = 0;
}

async::awaitable<void> owner::undo_phase(policy::role_phase which, core::session* s) {
    const auto turn = co_await walking_.lock(another_walk);
    co_await ask_parts([which, s](core::role_part& part) { return part.give_up(which, s); });
    taken_ = std::min(taken_, static_cast<std::size_t>(which));
}

void owner::give_up_locally(std::string why) {
    become(model::router_state::secondary, std::move(why));
    must_undo_ = has_taken();
    changed_.notify();
}

async::awaitable<void> owner::undo_locally() {
    struct undoing {
        owner& of;
        ~undoing() { of.is_undoing_ = false; }
    };
    must_undo_ = false;
    is_undoing_ = true;
    {
        const undoing guard{*this};
        co_await undo(nullptr);
    }
    undone_.set(undone_.value() + 1);
}

// Also on the way there and back, which may take a minute.
bool owner::may_hold() const {
    const auto role = now();
    return role == model::router_state::primary ||
           (has_taken() && (role == model::router_state::takeover || role == model::router_state::relinquish));
}

// An isolated primary: nobody hears its heartbeats, and a fencer may soon hand the role over.
async::awaitable<void> owner::run() {
    const async::latest<model::router_state>::observer watch(node_.role.changes(), changed_);
    for (;;) {
        if (must_undo_) {
            co_await undo_locally();
            continue;
        }
        if (!may_hold()) {
            co_await changed_.wait(async::wait_note::work("the primary role"));
            continue;
        }
        co_await changed_.wait_until(node_.clock(), node_.clock().now() + isolation_check,
                                     "the next look at the heartbeat's age");
        const auto isolated = policy::isolation_reason(node_.heartbeat_age(), node_.times);
        if (isolated && guarded(may_hold()) && !is_planted(defect::isolation_unnoticed)) {
            give_up_locally(*isolated);
            node_.log.error(message::role_isolated, *isolated + ": gave up the primary role");
        }
    }
}

}  // namespace pvc::role
