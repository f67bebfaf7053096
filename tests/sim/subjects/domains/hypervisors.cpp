// What befalls hypervisors, single calls to them, and the guests that they run.
#include "sim/subjects/domains/domains.hpp"
#include "sim/world/chaos.hpp"

#include <algorithm>
#include <array>

namespace pvc::sim {

using namespace std::chrono_literals;

namespace {

// A daemon that is starting, or is started meanwhile, has to wait.
bool disturb_hypervisor(cluster& world, const action& what, member& target) {
    if (what.lasts) {
        target.starts_well_from = std::max(target.starts_well_from, world.now() + *what.lasts);
    }
    disturb_hypervisors(world, what.lasts);
    return target.node.is_running() && !target.node.is_ready();
}

using deed_on_member = void (*)(cluster&, const action&, member&);

// For nodes that have hypervisors.
template <deed_on_member deed>
void of_hypervisor(cluster& world, const action& what, member& target) {
    if (target.node.settings.hypervisor) {
        deed(world, what, target);
    }
}

void stop_libvirtd(cluster& world, const action& what, member& target) {
    const bool starts = disturb_hypervisor(world, what, target);
    if (target.node.guests().is_powered()) {
        target.node.guests().stop_libvirtd();
        world.lasting(what, &target, starts, [&target] { target.node.guests().continue_libvirtd(); });
    }
}

void kill_libvirtd(cluster& world, const action& what, member& target) {
    const bool starts = disturb_hypervisor(world, what, target);
    if (target.node.guests().is_powered()) {
        target.node.guests().kill_libvirtd();
        world.lasting(what, &target, starts, [&target] { target.node.guests().start_libvirtd(); });
    }
}

void join_all(cluster& world, member& target) {
    for (const auto& other : world.members) {
        world.hardware.centre.join(target.name(), other->name());
    }
}

void cut_hypervisor(cluster& world, const action& what, member& target) {
    static_cast<void>(disturb_hypervisor(world, what, target));
    for (const auto& other : world.members) {
        if (other.get() != &target) {
            world.hardware.centre.cut(target.name(), other->name());
        }
    }
    world.lasting(what, &target, false, [&world, &target] { join_all(world, target); });
}

void break_storage(cluster& world, const action& what, member& target) {
    static_cast<void>(disturb_hypervisor(world, what, target));
    world.hardware.rbd.cut_off.insert(target.name());
    world.lasting(what, &target, false, [&world, &target] { world.hardware.rbd.cut_off.erase(target.name()); });
}

void break_names(cluster& world, const action& what, member& target) {
    static_cast<void>(disturb_hypervisor(world, what, target));
    target.node.guests().resolves_names = false;
    world.lasting(what, &target, false, [&target] { target.node.guests().resolves_names = true; });
}

void few_threads(cluster& world, const action& what, member& target) {
    static_cast<void>(disturb_hypervisor(world, what, target));
    target.node.guests().threads_for_others = static_cast<std::size_t>(what.number);
    world.lasting(what, &target, false, [&target] { target.node.guests().threads_for_others = 0; });
}

void refuse_guest(cluster& world, const action& what, member& target) {
    static_cast<void>(disturb_hypervisor(world, what, target));
    const uuid id = guest_id(what.number);
    target.node.guests().refuses.insert(id);
    world.lasting(what, &target, false, [&target, id] { target.node.guests().refuses.erase(id); });
}

// A call may wait for its deadline, and be made again.
sim_machine_guests& next_call(cluster& world, member& target) {
    constexpr duration noticed = 5min;
    disturb_hypervisors(world, noticed);
    return target.node.guests();
}

void fail_call(cluster& world, const action& what, member& target) {
    next_call(world, target)
        .fail_next(what.value, {hypervisor::call_error::other, "internal error: an injected failure"});
}

void hang_call(cluster& world, const action& what, member& target) {
    next_call(world, target).hang_next(what.value);
    guests_of(world).hung.insert(target.number);
}

std::vector<sim_machine_guests*> machines_of(cluster& world) {
    std::vector<sim_machine_guests*> machines = world.foreign_machines();
    for (const auto& one : world.members) {
        if (one->node.settings.hypervisor) {
            machines.push_back(&one->node.guests());
        }
    }
    return machines;
}

// What happens to the guest wherever it executes.
template <class Deed>
void befall_guest(cluster& world, std::int64_t number, Deed deed) {
    const uuid id = guest_id(number);
    for (auto* machine : machines_of(world)) {
        if (machine->executes(id)) {
            deed(machine->guest(id));
        }
    }
}

void calm_guest(cluster& world, std::int64_t number) {
    for (auto* machine : machines_of(world)) {
        machine->guest(guest_id(number)).kind_of_xml();
    }
    guests_of(world).troubled.erase(number);
}

// That disturbs nobody: a daemon is well whatever its guests do.
void trouble_guest(cluster& world, const action& what) {
    guests_of(world).troubled.insert(what.number);
    befall_guest(world, what.number, [&](sim_guest& guest) {
        guest.set_kind(what.value == "reset" ? guest_kind::reset : guest_kind::errs);
    });
    world.lasting(what, nullptr, false, [&world, number = what.number] { calm_guest(world, number); });
}

void power_off_guest(cluster& world, const action& what) {
    befall_guest(world, what.number, [](sim_guest& guest) { guest.power_off(); });
}

void crash_guest(cluster& world, const action& what) {
    befall_guest(world, what.number, [&](sim_guest& guest) {
        guests_of(world).crashed.insert(what.number);
        guest.crash();
    });
}

void fail_migration(cluster& world, const action& what) {
    befall_guest(world, what.number, [&](sim_guest& guest) {
        static constexpr std::array steps{
            std::pair("connect", migration_step::connect), std::pair("prepare", migration_step::prepare),
            std::pair("copy", migration_step::copy), std::pair("reply", migration_step::reply),
            std::pair("reply-gone", migration_step::reply)};
        const auto* const step =
            std::ranges::find_if(steps, [&](const auto& pair) { return what.value == pair.first; });
        const auto at = step == steps.end() ? migration_step::copy : step->second;
        const bool is_reached = at != migration_step::connect;
        guest.fail_migration(
            at, {is_reached ? hypervisor::call_error::other : hypervisor::call_error::no_target, "an injected failure"},
            what.value == "reply-gone" ? source_copy::gone : source_copy::incoming);
    });
}

void draw_migration_failure(drawing& from, action& out) {
    static constexpr std::array steps{"connect", "prepare", "copy", "reply", "reply-gone"};
    out.number = some_guest(from);
    out.value = from.one_of(steps);
}

constexpr drawn on_hypervisors{.eighths = 6, .favour = with_guests};
constexpr drawn on_calls{.eighths = 6, .favour = with_guests, .arguments = draw_call};
constexpr drawn on_guests{.eighths = 6, .favour = with_guests, .arguments = [](drawing& from, action& out) {
                              out.number = some_guest(from);
                          }};
constexpr std::pair<std::int64_t, std::int64_t> small_numbers{1, 99};
constexpr drawn on_refusals = on_guests;
constexpr drawn on_troubles{.eighths = 6, .favour = with_guests, .arguments = [](drawing& from, action& out) {
                                static constexpr std::array kinds{"reset", "errs"};
                                out.number = some_guest(from);
                                out.value = from.one_of(kinds);
                            }};

constexpr action_kind actions_on_hypervisors[] = {
    {.name = "stop-libvirtd",
     .takes = "n",
     .meaning = "SIGSTOP of libvirtd: its calls hang",
     .can_last = true,
     .on_member = of_hypervisor<stop_libvirtd>,
     .chance = on_hypervisors},
    {.name = "kill-libvirtd",
     .takes = "n",
     .meaning = "libvirtd ends; guests go on",
     .can_last = true,
     .on_member = of_hypervisor<kill_libvirtd>,
     .chance = on_hypervisors},
    {.name = "cut-hypervisor",
     .takes = "n",
     .meaning = "no migration and no question passes between it and others",
     .can_last = true,
     .on_member = of_hypervisor<cut_hypervisor>,
     .chance = on_hypervisors},
    {.name = "break-storage",
     .takes = "n",
     .meaning = "locks of disks can be neither listed nor broken from there",
     .can_last = true,
     .on_member = of_hypervisor<break_storage>,
     .chance = on_hypervisors},
    {.name = "break-names",
     .takes = "n",
     .meaning = "names of other machines cannot be resolved: no migration, no question",
     .can_last = true,
     .on_member = of_hypervisor<break_names>,
     .chance = on_hypervisors},
    {.name = "few-threads",
     .takes = "ni",
     .meaning = "so many questions to other hypervisors at a time, the rest wait",
     .can_last = true,
     .on_member = of_hypervisor<few_threads>,
     .numbers = small_numbers,
     .chance =
         drawn{.eighths = 6,
               .favour = with_guests,
               .arguments = [](drawing& from,
                               action& out) { out.number = 1 + static_cast<std::int64_t>(from.random.below(3)); }}},
    {.name = "refuse-guest",
     .takes = "ni",
     .meaning = "its libvirtd refuses each live migration of machine N to it: a CPU that lacks something",
     .can_last = true,
     .on_member = of_hypervisor<refuse_guest>,
     .numbers = small_numbers,
     .chance = on_refusals},
    {.name = "trouble-guest",
     .takes = "iv",
     .meaning = "the guest of machine N resets each second (reset), or writes to a disk that fails (errs)",
     .can_last = true,
     .on_cluster = of_defined<trouble_guest>,
     .numbers = small_numbers,
     .chance = on_troubles},
    {.name = "power-off-guest",
     .takes = "i",
     .meaning = "the guest of machine N powers off by itself",
     .on_cluster = of_defined<power_off_guest>,
     .numbers = small_numbers,
     .chance = on_guests},
    {.name = "crash-guest",
     .takes = "i",
     .meaning = "the process of machine N is killed",
     .on_cluster = of_defined<crash_guest>,
     .numbers = small_numbers,
     .chance = on_guests},
    {.name = "fail-call",
     .takes = "nv",
     .meaning = "the next call of this name to the node's libvirtd fails (create, destroy)",
     .on_member = of_hypervisor<fail_call>,
     .chance = on_calls},
    {.name = "hang-call",
     .takes = "nv",
     .meaning = "the next call of this name does nothing and is never answered",
     .on_member = of_hypervisor<hang_call>,
     .chance = on_calls},
    {.name = "delay-call",
     .takes = "ndv",
     .meaning = "the next call of this name takes so long",
     .on_member = of_hypervisor<[](cluster& world, const action& what, member& target) {
         next_call(world, target).delay_next(what.value, what.amount);
     }>,
     .chance = on_calls},
    {.name = "late-call",
     .takes = "ndv",
     .meaning = "the next call of this name is answered so late, with what was so before",
     .on_member = of_hypervisor<[](cluster& world, const action& what, member& target) {
         next_call(world, target).answer_next_late(what.value, what.amount);
     }>,
     .chance = on_calls},
    {.name = "fail-migration",
     .takes = "iv",
     .meaning = "the next migration of machine N fails at connect, prepare, copy, reply or reply-gone",
     .on_cluster = of_defined<fail_migration>,
     .numbers = small_numbers,
     .chance = drawn{.eighths = 6, .favour = with_guests, .arguments = draw_migration_failure}},
};

constexpr sweep_fault hypervisor_faults[] = {
    {"stop-libvirtd @ for 5s"},
    {"stop-libvirtd @ for 40s"},
    {"kill-libvirtd @ for 3s"},
    {"cut-hypervisor @ for 5s"},
    {"cut-hypervisor @ for 40s"},
    {"break-storage @ for 20s"},
    {"break-names @ for 20s"},
    {"few-threads @ 1 for 40s"},
    {"refuse-guest @ 1 for 60s", 8},
    {"trouble-guest 1 reset for 20s", 8},
    {"fail-call @ create", 8},
    {"fail-call @ destroy", 8},
    {"fail-call @ shutdown", 8},
    {"fail-call @ resume", 8},
    {"fail-call @ list", 8},
    {"fail-call @ status", 8},
    {"fail-call @ abort_migration", 8},
    {"fail-call @ ask", 8},
    {"fail-call @ live_xml", 8},
    {"hang-call @ create", 8},
    {"hang-call @ destroy", 8},
    {"hang-call @ shutdown", 8},
    {"hang-call @ list", 8},
    {"hang-call @ status", 8},
    {"hang-call @ migrate", 8},
    {"hang-call @ ask", 8},
    {"late-call @ 3s create", 8},
    {"late-call @ 3s destroy", 8},
    {"late-call @ 3s list", 8},
    {"late-call @ 3s status", 8},
    {"late-call @ 3s migrate", 8},
    {"late-call @ 3s ask", 8},
    {"power-off-guest 1"},
    {"crash-guest 1"},
    {"fail-migration 1 connect", 8},
    {"fail-migration 1 prepare", 8},
    {"fail-migration 1 copy", 8},
    {"fail-migration 1 reply", 8},
    {"fail-migration 1 reply-gone", 8},
};

}  // namespace

void heal_hypervisor(cluster& world, member& one) {
    if (!one.node.settings.hypervisor) {
        return;
    }
    sim_machine_guests& machine = one.node.guests();
    guests_of(world).hypervisors_calm_from = world.now() + cluster::settle;
    machine.clear_faults();
    machine.resolves_names = true;
    machine.refuses.clear();
    for (const auto number : std::set(guests_of(world).troubled)) {
        calm_guest(world, number);
    }
    machine.threads_for_others = 0;
    world.hardware.rbd.cut_off.erase(one.name());
    if (guests_of(world).hung.erase(one.number) > 0 && machine.is_powered()) {
        machine.break_connection();  // what hangs would go on hanging to its deadline
    }
    if (machine.is_powered()) {
        if (machine.libvirtd() == libvirtd_state::stopped) {
            machine.continue_libvirtd();
        } else if (machine.libvirtd() == libvirtd_state::down) {
            machine.start_libvirtd();
        }
    }
    join_all(world, one);
}

void add_hypervisors(registry& to) {
    to.add(actions_on_hypervisors);
    to.add(hypervisor_faults);
}

}  // namespace pvc::sim
