// What befalls the process of a daemon, and the power of its machine.
#include "sim/subjects/machine/machine.hpp"
#include "sim/world/chaos.hpp"
#include "sim/world/cluster.hpp"

#include <utility>

namespace pvc::sim {

using namespace std::chrono_literals;

namespace {

void end_process(cluster& world, const action& what, member& target, bool with_power) {
    ++target.life;
    world.disturb(target, what.lasts);
    if (with_power) {
        world.before_power_loss(target.name());
        target.node.lose_power();
        target.is_powered = false;
    } else {
        target.node.kill();
    }
    target.is_wanted = what.lasts.has_value();
    if (what.lasts) {
        world.later.after(*what.lasts, [&world, &target, life = target.life] {
            if (target.life == life && !target.node.is_running()) {
                world.start(target);
            }
        });
    }
}

void end_reference(cluster& world, const action& what, foreign_node& target, bool with_power) {
    if (with_power) {
        target.lose_power();
    } else {
        target.kill();
    }
    if (with_power) {
        world.before_power_loss(target.settings.name);
    }
    if (with_power && target.settings.machines != nullptr) {
        world.hardware.centre.machine(target.settings.name).lose_power();
    }
    if (what.lasts) {
        world.later.after(*what.lasts, [&world, &target] { world.start_foreign(target); });
    }
}

void pause(cluster& world, const action& what, member& target) {
    if (target.node.is_paused()) {
        return;  // it stands still already, or its machine sleeps: whoever did that ends it
    }
    target.node.pause();
    world.lasting(what, &target, true, [&target] { target.node.resume(); });
}

// The answer is on its way, and arrives while nobody reads.
void pause_with_answer(cluster& world, const action& what, member& target) {
    target.node.connector.link().on_request = [&world, &target, lasts = what.lasts,
                                               done = false](const zookeeper::request&) mutable {
        if (!std::exchange(done, true)) {
            world.later.after(500us, [&world, &target, lasts] {
                action stop("pause", target.name());
                stop.lasts = lasts;
                pause(world, stop, target);
            });
        }
        return verdict::answer;
    };
}

constexpr action_kind actions_on_processes[] = {
    {.name = "start",
     .takes = "n",
     .meaning = "the machine and its daemon start",
     .on_member =
         [](cluster& world, const action& /*what*/, member& target) {
             if (!target.node.is_running()) {
                 world.start(target);
             }
         },
     .on_reference = [](cluster& world, const action& /*what*/, foreign_node& target) { world.start_foreign(target); }},
    {.name = "terminate",
     .takes = "n",
     .meaning = "SIGTERM: the daemon stops in order",
     .on_member =
         [](cluster& world, const action& /*what*/, member& target) {
             target.is_wanted = false;
             if (target.node.is_running()) {
                 world.terminate(target);
             }
         },
     .on_reference =
         [](cluster& /*world*/, const action& /*what*/, foreign_node& target) {
             if (target.is_running()) {
                 target.terminate();
             }
         },
     .chance =
         drawn{.arguments = [](drawing& from,
                               action& out) { from.follow_up(from.some_time(1s, 120s), "start").node = out.node; }}},
    {.name = "kill",
     .takes = "n",
     .meaning = "SIGKILL; with `for`: it is started again then",
     .can_last = true,
     .on_member = [](cluster& world, const action& what, member& target) { end_process(world, what, target, false); },
     .on_reference = [](cluster& world, const action& what,
                        foreign_node& target) { end_reference(world, what, target, false); },
     .chance = drawn{}},
    {.name = "power-off",
     .takes = "n",
     .meaning = "the power fails; what was not on the disk is lost",
     .can_last = true,
     .on_member = [](cluster& world, const action& what, member& target) { end_process(world, what, target, true); },
     .on_reference = [](cluster& world, const action& what,
                        foreign_node& target) { end_reference(world, what, target, true); },
     .chance = drawn{}},
    {.name = "pause",
     .takes = "n",
     .meaning = "SIGSTOP of the process",
     .can_last = true,
     .on_member = pause,
     .chance = drawn{}},
    {.name = "pause-with-answer",
     .takes = "n",
     .meaning = "SIGSTOP while the answer to its next request lies in the socket",
     .can_last = true,
     .on_member = pause_with_answer,
     .chance = drawn{}},
    {.name = "resume",
     .takes = "n",
     .meaning = "SIGCONT",
     .on_member =
         [](cluster& world, const action& /*what*/, member& target) {
             ++target.applied["suspend"];
             target.node.resume();
             world.end_fault(&target);
         },
     .is_end = true},
    {.name = "heal",
     .meaning = "every fault ends, every machine is on",
     .on_cluster = [](cluster& world, const action& /*what*/) { world.heal(); }},
};

constexpr sweep_fault process_faults[] = {
    {"kill @ for 3s"},   {"power-off @ for 20s"},         {"pause @ for 3s"},
    {"pause @ for 25s"}, {"pause-with-answer @ for 25s"}, {"terminate @"},
};

constexpr std::string_view expected_ends[] = {"exit 0", "exit 1"};

}  // namespace

void add_processes(registry& to) {
    to.add(actions_on_processes);
    to.add(process_faults);
    to.expect(expected_ends);
}

}  // namespace pvc::sim
