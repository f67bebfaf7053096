// An operator who cancels tasks, at any moment: what is cancelled holds nothing afterwards, and everything comes right.
#include "pvcnoded/base/text.hpp"
#include "pvcnoded/control/answers.hpp"
#include "sim/subjects/core/core.hpp"
#include "sim/subjects/domains/domains.hpp"
#include "sim/world/chaos.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <stdexcept>

namespace pvc::sim {

using namespace std::chrono_literals;

namespace {

constexpr duration end_limit = 20s;    // a lock is given back within 3 s, libvirt is not waited for
constexpr duration reread_limit = 1s;  // how late a rule looks

struct cancelled_task {
    member* of = nullptr;
    std::uint64_t life = 0;
    std::uint64_t id = 0;
    std::string name;
    time_point at{};
    std::vector<std::string> locks;  // children that it and what is below it had
    std::optional<time_point> ended{};
};
struct cancelled_tasks {
    std::vector<cancelled_task> all;
};

// Of those that may be cancelled: the first whose name begins so.
const async::task* find_cancellable(const async::task& from, std::string_view name) {
    if (from.can_be_cancelled() && (name == "any" || from.name().starts_with(name))) {
        return &from;
    }
    for (const async::task* child : from.children()) {
        if (const auto* found = find_cancellable(*child, name)) {
            return found;
        }
    }
    return nullptr;
}

void cancel_task(cluster& world, const action& what, member& target) {
    sim_node& node = target.node;
    if (!node.is_running() || node.is_paused() || node.tasks() == nullptr || !node.daemon().can_be_asked().value()) {
        return;
    }
    const async::task* found = find_cancellable(*node.tasks()->root(), what.value);
    if (found == nullptr) {
        return;
    }
    cancelled_task noted{&target, target.life, found->id(), found->path(), world.now(), {}};
    std::vector<async::task_view> below;
    found->view(below, 100);
    for (const auto& one : below) {
        noted.locks.insert(noted.locks.end(), one.locks.begin(), one.locks.end());
    }
    protocol::request asked;
    asked.name = "tasks cancel";
    asked.parameters["id"] = static_cast<std::int64_t>(noted.id);
    const control::reply got = control::answers(node.daemon(), node.host).to(asked, {0, 1, true});
    if (!got.later) {
        throw std::logic_error(target.name() + " does not cancel " + noted.name);
    }
    world.state<cancelled_tasks>().all.push_back(std::move(noted));
    disturb_hypervisors(world, 1s);  // what it was about takes longer
}

bool is_there(cluster& world, const std::string& lock) {
    return world.ensemble.exists(lock).has_value();
}

// True: there is nothing more to be seen of it.
bool look_at_cancelled(judge& of, cancelled_task& one) {
    cluster& world = of.world;
    if (!one.of->node.is_running() || one.of->life != one.life) {
        return true;
    }
    const bool is_calm = world.is_calm(*one.of) && !one.of->node.is_paused();
    if (one.of->node.daemon().find_task(one.id) != nullptr) {
        if (is_calm && world.now() - one.at > end_limit) {
            of.say("cancelled_tasks_end", fmt::format("{} was cancelled {:.0f} s ago and has not ended", one.name,
                                                      seconds(world.now() - one.at)));
        }
        return false;
    }
    const auto kept = std::ranges::find_if(one.locks, [&](const auto& lock) { return is_there(world, lock); });
    if (kept == one.locks.end()) {
        return true;
    }
    one.ended = one.ended.value_or(world.now());
    if (is_calm && world.now() - *one.ended > reread_limit) {
        of.say("cancelled_tasks_end",
               fmt::format("{} was cancelled and has ended, and {} is still there", one.name, *kept));
    }
    return false;
}

void cancelled_tasks_end(judge& of) {
    std::erase_if(of.world.state<cancelled_tasks>().all, [&of](auto& one) { return look_at_cancelled(of, one); });
}

// Something to cancel is begun first; it strikes in the middle of that, on either side.
void draw_cancelling(drawing& from, action& out) {
    static constexpr std::array ways{"migrate", "migrate", "move", "migrate-live"};
    static constexpr std::array states{"start", "restart", "shutdown", "stop"};
    out.node = from.some_member();
    out.value = "any";
    const std::int64_t number = some_guest(from);
    if (from.random.below(3) > 0) {
        action& begun = from.follow_up(1ms, "place-guest");
        begun.node = some_host(from);
        begun.number = number;
        begun.value = from.one_of(ways);
    } else {
        action& begun = from.follow_up(1ms, "set-guest");
        begun.number = number;
        begun.value = from.one_of(states);
        action& back = from.follow_up(from.some_time(5s, 120s), "set-guest");
        back.number = number;
        back.value = "start";
    }
    const std::uint64_t times = 1 + from.random.below(4);
    for (std::uint64_t i = 0; i < times; ++i) {
        action& again = from.follow_up(from.some_time(50ms, 8s), "cancel-task");
        again.node = from.some_member();
        again.value = "any";
        again.after_steps = from.random.below(200);
    }
}

constexpr action_kind actions_of_operators[] = {
    {.name = "cancel-task",
     .takes = "nv",
     .meaning = "an operator cancels the first task of the node whose name begins so (any: the first that may be)",
     .on_member = cancel_task,
     .chance = drawn{.eighths = 6, .favour = with_guests, .arguments = draw_cancelling}},
};

constexpr rule rules_of_cancelling[] = {
    {.name = "cancelled_tasks_end",
     .meaning = "what an operator cancels ends, and holds no lock",
     .on_second = cancelled_tasks_end},
};

constexpr sweep_fault cancellings[] = {
    {"cancel-task @ any"},
};

constexpr std::pair<std::string_view, std::string_view> marks_of_cancelling[] = {
    {"cancel", ") is cancelled, by user"},
};

}  // namespace

void add_cancelling(registry& to) {
    to.add(actions_of_operators);
    to.add(rules_of_cancelling);
    to.add(cancellings);
    to.expect_logged(marks_of_cancelling);
}

}  // namespace pvc::sim
