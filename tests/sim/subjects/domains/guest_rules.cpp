// Where virtual machines execute, what is written of them, and that what must run does.
#include "sim/subjects/domains/guest_rules.hpp"
#include "sim/subjects/fencing/fence_rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace pvc::sim {

namespace {

// "/domains/<uuid>/state" → the uuid, if that is the key.
std::optional<uuid> machine_of(std::string_view path, std::string_view suffix) {
    if (!path.starts_with(domains_prefix) || !path.ends_with(suffix)) {
        return std::nullopt;
    }
    return parse_uuid(path.substr(domains_prefix.size(), path.size() - domains_prefix.size() - suffix.size()));
}

// Nothing keeps any daemon or hypervisor from its work, and all are there.
bool is_all_calm(const judge& of) {
    return are_hypervisors_calm(of.world) && std::ranges::all_of(of.world.members, [&](const auto& one) {
               return one->node.is_running() && one->node.is_ready() && of.world.is_calm(*one) &&
                      !of.of(*one).asked_to_stop;
           });
}

// How long a machine may be in a state although it could leave it: what the daemon grants others, and a little.
duration longest_stay(std::string_view state) {
    if (state.starts_with("migrate")) {
        return 420s;  // one that does not converge is given up after 300 s
    }
    return state == "start" ? 200s : 120s;
}

bool runs_on(const judge& of, const uuid& id, std::string_view node) {
    const auto found = std::ranges::find_if(of.world.members, [&](const auto& one) { return one->name() == node; });
    return found != of.world.members.end() && (*found)->node.settings.hypervisor &&
           (*found)->node.guests().executes(id);
}

void nothing_runs_twice(judge& of) {
    const auto& told = of.world.hardware.centre.double_run_texts();
    if (told.size() > of.state<machines_seen>().double_runs) {
        of.state<machines_seen>().double_runs = told.size();
        // The reference looks at the locks of the disks before a start, not at who else lists the machine.
        const bool is_excused = std::ranges::any_of(of.state<machines_seen>().rash_starts, [&](const uuid& id) {
            return told.back().find("run " + of.world.hardware.centre.name_of(id) + " at") != std::string::npos;
        });
        if (only_one_can_write(of, told.back())) {
            ++of.transitions["excused: a copy that Ceph refuses"];
        } else if (is_excused) {  // wherever its copy has moved to since
            ++of.transitions["a reference node started what another listed"];
        } else {
            of.say("one_copy", told.back());
        }
    }
}

// `start` says that the guest has arrived, and `stop` that it is off: where the writer has it, it knows.
void what_is_written_is_so(judge& of, const seen_change& seen) {
    if (!of.world.foreign_machines().empty() && seen.what.what == recorded_kind::set && seen.what.data == "start") {
        if (const auto id = machine_of(seen.what.path, "/state")) {
            of.state<machines_seen>().start_is_ours[pvc::to_text(*id)] = seen.writer != nullptr;
        }
    }
    if (seen.writer == nullptr || seen.what.what != recorded_kind::set || !seen.writer->node.settings.hypervisor) {
        return;
    }
    const auto id = machine_of(seen.what.path, "/state");
    if (!id) {
        return;
    }
    const sim_guest& here = seen.writer->node.guests().guest(*id);
    // What an unflush takes back of a flush that had it shut down is a wish: with it the other half comes, or it is
    // started.
    const auto locks = of.world.ensemble.children(seen.what.path);
    const bool is_taken_back = std::ranges::any_of(locks, [&](const std::string& name) {
        return value_of(of, seen.what.path + '/' + name).find(":unflush:placing") != std::string::npos;
    });
    // Who writes it in the place of the node that is named says nothing of a half that it has itself.
    const auto key = seen.what.path.substr(0, seen.what.path.rfind('/')) + "/node";
    const bool is_named = value_of(of, key) == seen.writer->name();
    if (seen.what.data == "start" && is_named && here.is_there() && here.what() == model::guest_class::incoming &&
        !is_taken_back) {
        of.say("states_are_true", fmt::format("{} wrote `start` of {}, which has not arrived there",
                                              seen.writer->name(), of.world.hardware.centre.name_of(*id)));
    }
    if (seen.what.data == "stop" && here.executes()) {
        of.say("states_are_true", fmt::format("{} wrote `stop` of {}, which it executes", seen.writer->name(),
                                              of.world.hardware.centre.name_of(*id)));
    }
}

void removed_machines_stay_removed(judge& of, const seen_change& seen) {
    if (seen.writer != nullptr && seen.what.what == recorded_kind::create && machine_of(seen.what.path, "")) {
        of.say("removed_stays_removed", fmt::format("{} made {}", seen.writer->name(), seen.what.path));
    }
}

bool lists(const judge& of, const std::string& node, const uuid& id) {
    const auto list = of.world.ensemble.get("/nodes/" + node + "/runningdomains").value_or("");
    return list.find(pvc::to_text(id)) != std::string::npos;
}

bool may_break(judge& of, const member& one, const std::string& image, const storage::rbd_lock& which) {
    const std::string& network = one.node.settings.storage_address;
    return which.address.starts_with(network.substr(0, network.find('/')) + ":") ||
           may_break_for_fence(of, one, image, which.address);
}

duration slept(const member& one) {
    return one.node.clock.boot_now().time_since_epoch() - one.node.clock.now().time_since_epoch();
}

// What has begun is carried out, also where the host sleeps in the midst of it: nobody can call it back. The lock is of
// the client that it was of.
void listen_to_lock_breaks(judge& of) {
    of.world.hardware.rbd.on_break_begun = [&of](const std::string& by, const std::string& image,
                                                 const storage::rbd_lock& which) {
        const member* one = of.world.find(by);
        auto& begun = of.state<machines_seen>().breaks_begun;
        begun.erase({by, image, which.client});
        if (one != nullptr && may_break(of, *one, image, which)) {
            begun[{by, image, which.client}] = slept(*one);
        }
    };
    of.world.hardware.rbd.on_break = [&of](const std::string& by, const std::string& image,
                                           const storage::rbd_lock& which) {
        for (const auto& told : of.world.on_lock_broken) {
            told(by, image, which);
        }
        const member* one = of.world.find(by);
        if (one == nullptr) {
            return;
        }
        const auto& begun = of.state<machines_seen>().breaks_begun;
        const auto mine = begun.find({by, image, which.client});
        const bool has_slept_since = mine != begun.end() && slept(*one) > mine->second;
        if (!has_slept_since && !may_break(of, *one, image, which)) {
            of.state<machines_seen>().foreign_break =
                fmt::format("{} broke the lock of {} on {}", by, which.address, image);
        }
    };
}

void listen_to_hypervisors(judge& of) {
    listen_to_lock_breaks(of);
    of.world.on_guest_change.emplace_back([&of](const std::string& machine, const sim_guest& guest) {
        if (of.world.find_foreign(machine) == nullptr) {
            return;
        }
        auto& all = of.state<machines_seen>();
        if (!guest.is_there() && of.world.hardware.centre.running_copies(guest.id) == 0) {
            all.rash_starts.erase(guest.id);
        }
        const bool is_made = guest.is_there() && guest.what() != model::guest_class::incoming && !guest.executes();
        // It lists what it has made, not what it makes: ours could not know.
        const bool was_unlisted =
            !is_made && all.made_by_reference.erase(guest.id) > 0 && guest.executes() && !lists(of, machine, guest.id);
        if (is_made) {
            all.made_by_reference.insert(guest.id);
        }
        const auto is_listed = [&](const auto& one) { return lists(of, one->name(), guest.id); };
        if ((is_made || was_unlisted) && !all.start_is_ours[pvc::to_text(guest.id)] &&
            std::ranges::any_of(of.world.members, is_listed)) {
            all.rash_starts.insert(guest.id);
        }
    });
    // Also of one that ends again at once.
    of.world.on_guest_change.emplace_back([&of](const std::string& /*machine*/, const sim_guest& guest) {
        if (guest.executes()) {
            of.state<machines_seen>().last_ran[guest.id] = of.world.now();
        }
    });
    of.world.hardware.centre.on_call_in_vain = [&of](const std::string& machine, const std::string& call,
                                                     duration time) {
        static constexpr std::array acts{"create ", "destroy ", "shutdown", "resume "};
        const bool is_act = std::ranges::any_of(acts, [&](const char* one) { return call.starts_with(one); });
        if (is_act && time > 2s) {
            of.state<machines_seen>().call_in_vain =
                fmt::format("{} wants to {} although libvirt has been away for {:.3f} s", machine, call, seconds(time));
        }
    };
}

void foreign_disk_locks_are_left_alone(judge& of) {
    if (!of.state<machines_seen>().foreign_break.empty()) {
        of.say("foreign_disk_locks", of.state<machines_seen>().foreign_break);
    }
}

void nothing_is_done_while_libvirt_is_away(judge& of) {
    if (!of.state<machines_seen>().call_in_vain.empty()) {
        of.say("libvirt_away", of.state<machines_seen>().call_in_vain);
    }
}

}  // namespace

bool waits_for_its_bridge(const judge& of, std::int64_t number, const std::string& node) {
    const auto& all = guests_of(of.world).bridges;
    const auto bridge = all.find(number);
    const auto* const host = of.world.find(node);
    if (bridge == all.end() || host == nullptr) {
        return false;
    }
    const auto reason = of.world.ensemble.get(guest_key(number, "/failedreason"));
    const bool is_there = host->node.kernel.has_device(bridge->second);
    if (!reason) {
        return !is_there;  // a client removed the key: nobody can write the reason
    }
    return reason->find(bridge->second) != std::string::npos &&
           (!is_there || reason->find("is refused") != std::string::npos);
}

namespace {

// libvirtd keeps its creation to itself: the daemon waits for it for 600 s.
bool hangs_in_creation(const judge& of, const uuid& id, const std::string& node) {
    constexpr duration longest_creation = 600s + 40s;
    auto* const host = of.world.find(node);
    if (host == nullptr || !host->node.settings.hypervisor) {
        return false;
    }
    const auto asked = host->node.guests().hangs_since("create " + of.world.hardware.centre.name_of(id));
    return asked && of.world.now() - *asked <= longest_creation;
}

// A machine that must run does so, one way or another, and nothing stays half done: unless it is disturbed.
void machines_come_to_run(judge& of) {
    const bool is_calm = is_all_calm(of);
    for (const auto number : guests_of(of.world).defined) {
        const auto id = guest_id(number);
        const std::string& root = guest_root(number);
        const std::string state = of.world.ensemble.get(root + "/state").value_or("");
        const std::string node = of.world.ensemble.get(root + "/node").value_or("");
        auto& seen = of.state<machines_seen>().machines[number];
        static constexpr std::array limited{"start", "migrate", "migrate-live", "shutdown", "restart"};
        const bool is_limited =
            std::ranges::find(limited, state) != limited.end() || against_the_wish(of, number).has_value();
        const bool is_fine = !is_limited || (state == "start" && runs_on(of, id, node)) ||
                             ((state == "start" || state == "restart") &&
                              (waits_for_its_bridge(of, number, node) || hangs_in_creation(of, id, node)));
        if (!is_calm || is_fine || is_the_references(of, number) || seen.state != state || seen.node != node ||
            of.world.find(node) == nullptr) {
            seen = {state, node, of.world.now()};
        } else if (of.world.now() - std::max(seen.since, of.state<machines_seen>().last_ran[id]) >
                   longest_stay(state)) {
            of.say("machines_in_time",
                   fmt::format("machine {} has been `{}` on {} for {:.0f} s, and does not run there", number, state,
                               node, seconds(of.world.now() - seen.since)));
        }
    }
}

void count_machine_states(judge& of, const seen_change& seen) {
    if (seen.what.path.starts_with(domains_prefix) && seen.what.path.ends_with("/state") &&
        seen.what.what != recorded_kind::remove) {
        of.count_change(seen.what.path, seen.writer != nullptr ? "machine" : "client", seen.what.data);
    }
}

constexpr rule guest_rules[] = {
    {.name = "one_copy", .meaning = "no virtual machine executes on two nodes", .on_quiet = nothing_runs_twice},
    {.name = "states_are_true",
     .meaning = "a daemon writes `start` or `stop` only of what it does not know to be otherwise",
     .on_change = what_is_written_is_so},
    {.name = "removed_stays_removed",
     .meaning = "no daemon makes a virtual machine's record",
     .on_change = removed_machines_stay_removed},
    {.name = "foreign_disk_locks",
     .meaning = "no daemon breaks the lock that another host has on a disk",
     .on_quiet = foreign_disk_locks_are_left_alone},
    {.name = "libvirt_away",
     .meaning = "while libvirt is away nothing is done to any virtual machine",
     .on_quiet = nothing_is_done_while_libvirt_is_away},
    {.name = "machines_in_time",
     .meaning = "what must run comes to run, and nothing stays half done",
     .on_second = machines_come_to_run},
    {.on_begin = listen_to_hypervisors, .on_change = count_machine_states},
};

}  // namespace

bool is_the_references(const judge& of, std::int64_t number) {
    const auto id = guest_id(number);
    const std::string& root = guest_root(number);
    const std::string node = of.world.ensemble.get(root + "/node").value_or("");
    return std::ranges::any_of(of.world.foreign_machines(), [&](sim_machine_guests* machine) {
        return machine->name == node || machine->guest(id).is_there();
    });
}

bool is_undisturbed(const judge& of, const member& one) {
    return are_hypervisors_calm(of.world) && one.node.is_running() && one.node.is_ready() && of.world.is_calm(one) &&
           !of.of(one).asked_to_stop;
}

void add_guest_rules(registry& to) {
    to.add(guest_rules);
}

}  // namespace pvc::sim
