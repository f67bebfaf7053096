// What befalls the machine of a node: its clock, its disk, its service manager. A running daemon must not mind most of
// it.
#include "sim/subjects/machine/machine.hpp"
#include "sim/world/chaos.hpp"
#include "sim/world/cluster.hpp"

namespace pvc::sim {

using namespace std::chrono_literals;

namespace {

constexpr duration never = 1h;
constexpr duration disk_time = 1ms;
constexpr duration services_time = 2ms;

// A running daemon must not mind; one that is starting, or is started meanwhile, has to wait.
bool minds(cluster& world, const action& what, member& target) {
    if (what.lasts) {
        target.starts_well_from = std::max(target.starts_well_from, world.now() + *what.lasts);
    }
    return target.node.is_running() && !target.node.is_ready();
}

void suspend(cluster& world, const action& what, member& target) {
    sim_node& node = target.node;
    if (!node.is_running() || node.is_paused()) {
        return;
    }
    node.pause();
    node.clock.fall_asleep();
    auto& sleeps = target.applied["suspend"];
    world.later.after(what.amount, [&node, life = target.life, &target, &sleeps, mine = ++sleeps] {
        // Somebody may have woken it, and put it to sleep again.
        if (sleeps == mine && node.is_paused() && target.life == life) {
            node.resume();
        }
    });
    world.disturb(target, what.amount);
}

void end_log_faults(sim_node& node) {
    node.standard_output->fails = node.log_file->fails = {};
}

void restore_figures(sim_node& node) {
    node.host.meminfo_text = std::string("MemTotal: 16384000 kB\nMemFree: 8192000 kB\nMemAvailable: 12288000 kB\n");
    node.host.loadavg_text = std::string("0.10 0.20 0.30 1/200 4711\n");
}

void slow_services(cluster& world, const action& what, member& target, duration time) {
    target.node.services.set_answer_time(time);
    world.lasting(what, &target, minds(world, what, target),
                  [&target] { target.node.services.set_answer_time(services_time); });
}

constexpr action_kind actions_on_machines[] = {
    {.name = "step-clock",
     .takes = "nd",
     .meaning = "the wall clock jumps",
     .on_member =
         [](cluster& world, const action& what, member& target) {
             target.node.clock.step_wall(what.amount);
             target.clock_stepped = world.now();
         },
     .may_go_back = true,
     .chance = drawn{.arguments =
                         [](drawing& from, action& out) {
                             const duration by = from.some_time(1s, 24h);
                             out.amount = from.random.below(2) == 0 ? by : -by;
                         }}},
    {.name = "drift",
     .takes = "ni",
     .meaning = "the machine's clock runs so many ppm too fast",
     .can_last = true,
     .on_member =
         [](cluster& world, const action& what, member& target) {
             target.node.clock.set_rate(1.0 + static_cast<double>(what.number) / 1e6);
             static_cast<void>(minds(world, what, target));
             world.lasting(what, &target, false, [&target] { target.node.clock.set_rate(1.0); });
         },
     .numbers = std::pair{-500'000, 500'000},
     .chance = drawn{.arguments =
                         [](drawing& from, action& out) {
                             out.number = static_cast<std::int64_t>(from.random.below(20'001)) - 10'000;
                         }}},
    {.name = "suspend",
     .takes = "nd",
     .meaning = "the machine sleeps so long: only boot time and wall clock go on",
     .on_member = suspend,
     .chance = drawn{.arguments = [](drawing& from, action& out) { out.amount = from.some_time(1s, 300s); }}},
    {.name = "hang-disk",
     .takes = "n",
     .meaning = "writes to the disk do not come back",
     .can_last = true,
     .on_member =
         [](cluster& world, const action& what, member& target) {
             target.node.host.disk_time = never;
             world.lasting(what, &target, minds(world, what, target),
                           [&target] { target.node.host.disk_time = disk_time; });
         },
     .chance = drawn{}},
    {.name = "break-disk",
     .takes = "n",
     .meaning = "the disk is full: writes fail",
     .can_last = true,
     .on_member =
         [](cluster& world, const action& what, member& target) {
             target.node.host.is_full = true;
             world.lasting(what, &target, minds(world, what, target), [&target] { target.node.host.is_full = false; });
         },
     .chance = drawn{}},
    {.name = "break-log",
     .takes = "n",
     .meaning = "log outputs fail",
     .can_last = true,
     .on_member =
         [](cluster& world, const action& what, member& target) {
             target.node.standard_output->fails = target.node.log_file->fails =
                 failure(errc::io, "pvc.log", "Input/output error");
             world.lasting(what, &target, minds(world, what, target), [&target] { end_log_faults(target.node); });
         },
     .chance = drawn{}},
    {.name = "fill-pool",
     .takes = "n",
     .meaning = "the offload pool takes nothing more",
     .can_last = true,
     .on_member =
         [](cluster& world, const action& what, member& target) {
             target.node.pool.set_full(true);
             world.lasting(what, &target, minds(world, what, target), [&target] { target.node.pool.set_full(false); });
         },
     .chance = drawn{}},
    {.name = "break-services",
     .takes = "n",
     .meaning = "the service manager does not answer",
     .can_last = true,
     .on_member = [](cluster& world, const action& what, member& target) { slow_services(world, what, target, never); },
     .chance = drawn{}},
    {.name = "slow-services",
     .takes = "nd",
     .meaning = "every answer of the service manager takes so long",
     .can_last = true,
     .on_member = [](cluster& world, const action& what,
                     member& target) { slow_services(world, what, target, what.amount); },
     .chance = drawn{.arguments = [](drawing& from, action& out) { out.amount = from.some_time(10ms, 10s); }}},
    {.name = "break-figures",
     .takes = "n",
     .meaning = "memory and load cannot be read",
     .can_last = true,
     .on_member =
         [](cluster& world, const action& what, member& target) {
             target.node.host.meminfo_text = failure(errc::io, "/proc/meminfo");
             target.node.host.loadavg_text = std::string("garbage");
             static_cast<void>(minds(world, what, target));
             world.lasting(what, &target, false, [&target] { restore_figures(target.node); });
         },
     .chance = drawn{}},
};

constexpr sweep_fault host_faults[] = {
    {"suspend @ 30s"},
    {"hang-disk @ for 40s"},
    {"fill-pool @ for 5s"},
};

void heal_host(cluster& /*world*/, member& one) {
    sim_node& node = one.node;
    node.clock.set_rate(1.0);
    node.host.disk_time = disk_time;
    node.host.is_full = false;
    end_log_faults(node);
    node.pool.set_full(false);
    node.services.set_answer_time(services_time);
    restore_figures(node);
}

}  // namespace

void add_machine(registry& to);
void add_machine(registry& to) {
    add_processes(to);
    to.add(actions_on_machines);
    to.add(host_faults);
    to.add(subject_part{.heal_member = heal_host});
}

}  // namespace pvc::sim
