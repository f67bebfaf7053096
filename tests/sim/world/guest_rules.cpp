#include "sim/world/guest_rules.hpp"

#include "sim/world/guests.hpp"

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
    return of.world.are_hypervisors_calm() && std::ranges::all_of(of.world.members, [&](const auto& one) {
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

}  // namespace

bool is_the_references(const judge& of, std::int64_t number) {
    const auto id = guest_id(number);
    const std::string& root = guest_root(number);
    const std::string node = of.world.ensemble.get(root + "/node").value_or("");
    return std::ranges::any_of(of.world.foreign_machines(), [&](sim_machine_guests* machine) {
        return machine->name == node || machine->guest(id).is_there();
    });
}

void nothing_runs_twice(judge& of) {
    const auto& told = of.world.hardware.centre.double_run_texts();
    if (told.size() > of.double_runs) {
        of.double_runs = told.size();
        // The reference looks at the locks of the disks before a start, not at who else lists the machine.
        const bool is_excused = std::ranges::any_of(of.rash_starts, [&](const uuid& id) {
            return told.back().find("run " + of.world.hardware.centre.name_of(id) + " at") != std::string::npos;
        });
        if (is_excused) {  // wherever its copy has moved to since
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
            of.start_is_ours[pvc::to_text(*id)] = seen.writer != nullptr;
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
    if (seen.what.data == "start" && here.is_there() && here.what() == model::guest_class::incoming) {
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

void listen_to_hypervisors(judge& of) {
    of.world.hardware.rbd.on_break = [&of](const std::string& by, const std::string& image,
                                           const storage::rbd_lock& which) {
        const member* one = of.world.find(by);
        if (one == nullptr) {
            return;
        }
        const std::string& network = one->node.settings.storage_address;
        if (!which.address.starts_with(network.substr(0, network.find('/')) + ":")) {
            of.foreign_break = fmt::format("{} broke the lock of {} on {}", by, which.address, image);
        }
    };
    of.world.on_guest_change.emplace_back([&of](const std::string& machine, const sim_guest& guest) {
        if (of.world.find_foreign(machine) == nullptr) {
            return;
        }
        if (!guest.is_there() && of.world.hardware.centre.running_copies(guest.id) == 0) {
            of.rash_starts.erase(guest.id);
        } else if (guest.what() != model::guest_class::incoming && !guest.executes() &&
                   !of.start_is_ours[pvc::to_text(guest.id)]) {
            const bool is_listed = std::ranges::any_of(of.world.members, [&](const auto& one) {
                const auto list = of.world.ensemble.get(one->root() + "/runningdomains").value_or("");
                return list.find(pvc::to_text(guest.id)) != std::string::npos;
            });
            if (is_listed) {
                of.rash_starts.insert(guest.id);
            }
        }
    });
    // Also of one that ends again at once.
    of.world.on_guest_change.emplace_back([&of](const std::string& /*machine*/, const sim_guest& guest) {
        if (guest.executes()) {
            of.last_ran[guest.id] = of.world.now();
        }
    });
    of.world.hardware.centre.on_call_in_vain = [&of](const std::string& machine, const std::string& call,
                                                     duration time) {
        static constexpr std::array acts{"create ", "destroy ", "shutdown", "resume "};
        const bool is_act = std::ranges::any_of(acts, [&](const char* one) { return call.starts_with(one); });
        if (is_act && time > 2s) {
            of.call_in_vain =
                fmt::format("{} wants to {} although libvirt has been away for {:.3f} s", machine, call, seconds(time));
        }
    };
}

void foreign_disk_locks_are_left_alone(judge& of) {
    if (!of.foreign_break.empty()) {
        of.say("foreign_disk_locks", of.foreign_break);
    }
}

void nothing_is_done_while_libvirt_is_away(judge& of) {
    if (!of.call_in_vain.empty()) {
        of.say("libvirt_away", of.call_in_vain);
    }
}

// A machine that must run does so, one way or another, and nothing stays half done: unless it is disturbed.
void machines_come_to_run(judge& of) {
    const bool is_calm = is_all_calm(of);
    for (const auto number : of.world.guests) {
        const auto id = guest_id(number);
        const std::string& root = guest_root(number);
        const std::string state = of.world.ensemble.get(root + "/state").value_or("");
        const std::string node = of.world.ensemble.get(root + "/node").value_or("");
        auto& seen = of.machines[number];
        static constexpr std::array limited{"start", "migrate", "migrate-live", "shutdown", "restart"};
        const bool is_limited =
            std::ranges::find(limited, state) != limited.end() || against_the_wish(of, number).has_value();
        const bool is_fine = !is_limited || (state == "start" && runs_on(of, id, node));
        if (!is_calm || is_fine || is_the_references(of, number) || seen.state != state || seen.node != node ||
            of.world.find(node) == nullptr) {
            seen = {state, node, of.world.now()};
        } else if (of.world.now() - std::max(seen.since, of.last_ran[id]) > longest_stay(state)) {
            of.say("machines_in_time",
                   fmt::format("machine {} has been `{}` on {} for {:.0f} s, and does not run there", number, state,
                               node, seconds(of.world.now() - seen.since)));
        }
    }
}

std::optional<bool> belongs_into_list(const judge& of, member& one, std::int64_t number) {
    const auto id = guest_id(number);
    const std::string& root = guest_root(number);
    const auto state = of.world.ensemble.get(root + "/state");
    if (!state || !one.node.settings.hypervisor) {
        return std::nullopt;
    }
    const sim_guest& guest = one.node.guests().guest(id);
    using model::guest_class;
    switch (guest.what()) {
        case guest_class::alive:
        case guest_class::ending: return true;
        case guest_class::paused:
            return guest.status().cause == model::pause_cause::starting_up ? std::nullopt : std::optional(true);
        case guest_class::incoming: return std::nullopt;  // which side it is shows in the daemon only
        default: break;
    }
    // A creation that was never answered may be carried out yet.
    constexpr duration longest_creation = 160s;
    const auto asked = one.node.guests().hangs_since("create " + of.world.hardware.centre.name_of(id));
    if (asked && of.world.now() - *asked <= longest_creation) {
        return std::nullopt;
    }
    // One that ended by itself stays in the list until it runs again.
    const bool is_to_run =
        (*state == "start" || *state == "restart") && of.world.ensemble.get(root + "/node") == one.name();
    return is_to_run ? std::nullopt : std::optional(false);
}

namespace {

std::string running_list(const judge& of, const member& one) {
    return of.world.ensemble.get(one.root() + "/runningdomains").value_or("");
}

bool is_listed(std::string_view list, std::int64_t number) {
    return list.find(std::string_view(guest_root(number)).substr(domains_prefix.size())) != std::string::npos;
}

}  // namespace

bool is_undisturbed(const judge& of, const member& one) {
    return of.world.are_hypervisors_calm() && one.node.is_running() && one.node.is_ready() && of.world.is_calm(one) &&
           !of.of(one).asked_to_stop;
}

// What is still there leaves the list too early: fence recovery would start it beside itself.
void lists_keep_what_is_there(judge& of, const seen_change& seen) {
    if (seen.suffix != "/runningdomains" || seen.writer == nullptr || seen.writer != seen.subject) {
        return;
    }
    const std::string list = running_list(of, *seen.writer);
    for (const auto number : of.world.guests) {
        const std::pair key{seen.writer->number, number};
        if (is_listed(list, number)) {
            of.listed.insert(key);
        } else if (of.listed.erase(key) > 0 && belongs_into_list(of, *seen.writer, number) == true &&
                   is_undisturbed(of, *seen.writer)) {
            of.say("running_list", fmt::format("{} took machine {} off its running list, and still has it",
                                               seen.writer->name(), number));
        }
    }
}

void running_lists_are_true(judge& of) {
    constexpr duration written_within = 5s;
    for (const auto& one : of.world.members) {
        const bool counts = is_undisturbed(of, *one);
        const std::string list = counts ? running_list(of, *one) : std::string();
        for (const auto number : of.world.guests) {
            const auto belongs = counts ? belongs_into_list(of, *one, number) : std::nullopt;
            const std::pair key{one->number, number};
            if (!belongs || *belongs == is_listed(list, number)) {
                of.unlisted_since.erase(key);
                continue;
            }
            const auto since = of.unlisted_since.try_emplace(key, of.world.now()).first->second;
            if (of.world.now() - since > written_within) {
                of.say("running_list", fmt::format("the running list of {} {} machine {}", one->name(),
                                                   *belongs ? "lacks" : "has", number));
            }
        }
    }
}

}  // namespace pvc::sim
