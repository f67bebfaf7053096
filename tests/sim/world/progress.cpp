// What must come about once every fault has ended.
#include "pvcnoded/base/text.hpp"
#include "sim/world/guest_rules.hpp"
#include "sim/world/guests.hpp"
#include "sim/world/judge.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace pvc::sim {

namespace {

std::string value(const judge& of, const std::string& path) {
    return of.world.ensemble.get(path).value_or("<missing>");
}

std::optional<std::string> everybody_runs(const judge& of) {
    for (const auto& one : of.world.members) {
        if (!one->node.is_running()) {
            return one->name() + " is not there";
        }
        if (one->node.is_paused()) {
            return one->name() + " stands still";
        }
        const std::string state = value(of, one->root() + "/daemonstate");
        if (state != "run") {
            return fmt::format("{} is in \"{}\"", one->name(), state);
        }
    }
    return std::nullopt;
}

std::optional<std::string> somebody_is_primary(const judge& of) {
    const std::string named = value(of, "/config/primary_node");
    bool found = false;
    for (const auto& one : of.world.members) {
        const std::string role = value(of, one->root() + "/routerstate");
        const auto& coordinators = one->node.settings.coordinators;
        const bool is_coordinator = std::ranges::find(coordinators, one->name()) != coordinators.end();
        const std::string_view wanted = !is_coordinator ? "client" : one->name() == named ? "primary" : "secondary";
        if (role != wanted) {
            return fmt::format("{} is {}, and /config/primary_node is {}", one->name(), role, named);
        }
        const auto believed =
            model::to_text(one->node.is_running() ? one->node.daemon().context().role.now() : model::router_state::client);
        if (one->node.is_running() && believed != wanted) {
            return fmt::format("{} believes that it is {}", one->name(), believed);
        }
        found = found || (is_coordinator && one->name() == named);
    }
    for (const auto& one : of.world.foreigners) {
        // The reference acts on a change of the name once: a change that it missed leaves it secondary until the next.
        const bool is_named = one->settings.name == named;
        const std::string role = value(of, "/nodes/" + one->settings.name + "/routerstate");
        if (role != "secondary" && !(is_named && role == "primary")) {
            return fmt::format("{} is {}, and /config/primary_node is {}", one->settings.name, role, named);
        }
        found = found || is_named;
    }
    return found ? std::nullopt : std::optional("/config/primary_node is " + named);
}

std::optional<std::string> schemas_are_equal(const judge& of) {
    const std::string version = value(of, "/schema/version");
    for (const auto& one : of.world.members) {
        const std::string active = value(of, one->root() + "/activeschema");
        if (active != version) {
            return fmt::format("the version is {}, {} uses {}", version, one->name(), active);
        }
    }
    return std::nullopt;
}

std::optional<std::string> nobody_holds_a_lock(const judge& of) {
    for (const std::string key : {"/schema/version", "/config/primary_node"}) {
        for (const auto& name : of.world.ensemble.children(key)) {
            if (name.find("lock__") != std::string::npos) {
                return key + '/' + name;
            }
        }
    }
    return std::nullopt;
}

std::optional<std::string> records_are_right(const judge& of) {
    for (const auto& one : of.world.members) {
        const auto& machine = one->node.host.machine;
        const std::string statics =
            fmt::format("{} {} {} {}", machine.cpus, machine.kernel_release, machine.operating_system, machine.machine);
        if (value(of, one->root() + "/staticdata") != statics) {
            return fmt::format("{} is \"{}\", not \"{}\"", one->root() + "/staticdata",
                               value(of, one->root() + "/staticdata").substr(0, 60), statics);
        }
        if (value(of, one->root() + "/ipmihostname") != one->name() + "-lom") {
            return fmt::format("{} is \"{}\"", one->root() + "/ipmihostname",
                               value(of, one->root() + "/ipmihostname").substr(0, 60));
        }
    }
    return std::nullopt;
}

// What a machine's keys say is so, and nowhere is a second copy, a lock or a word left over.
std::optional<std::string> wrong_with_guest(const judge& of, std::int64_t number) {
    const auto id = guest_id(number);
    const std::string root = "/domains/" + pvc::to_text(id);
    const std::string state = value(of, root + "/state");
    const std::string node = value(of, root + "/node");
    std::vector<std::string> places;
    for (const auto& one : of.world.members) {
        if (one->node.settings.hypervisor && one->node.guests().executes(id)) {
            places.push_back(one->name());
        }
    }
    const bool has_foreign = !of.world.foreign_machines().empty();
    if (has_foreign && is_the_references(of, number)) {
        // Of its own defects nothing follows for ours but this: no second copy, and no lock of ours.
        return places.size() > 1 ? std::optional(fmt::format("machine {} runs {}", number, pvc::join(places, " and ")))
                                 : std::nullopt;
    }
    const std::string where = places.empty() ? "nowhere" : pvc::join(places, " and ");
    const bool is_on = state == "start";
    const bool is_off = state == "stop" || state == "disable";
    if (!is_on && !is_off && state != "fail") {
        return fmt::format("machine {} is still in `{}`, on {}, and runs {}", number, state, node, where);
    }
    if (auto wrong = against_the_wish(of, number)) {
        return wrong;
    }
    if (state == "fail") {
        // The last word was to start it: only a disk that another host's lock keeps from it is a reason not to, or a
        // call that was told to fail.
        const std::string reason = value(of, root + "/failedreason");
        const bool was_ceph_away = of.world.performed[static_cast<std::size_t>(action_kind::break_storage)] > 0;
        if (reason.find("an injected failure") != std::string::npos ||
            (was_ceph_away && reason.find("could not be re") != std::string::npos)) {  // read, or removed
            return std::nullopt;
        }
        if (reason.find("RBD lock") == std::string::npos || of.world.hardware.rbd.locks(guest_image(number)).empty()) {
            return fmt::format("machine {} is in `fail` on {}: \"{}\"", number, node, reason);
        }
    }
    if (is_on && (places.size() != 1 || places.front() != node)) {
        return fmt::format("machine {} is `start` on {}, and runs {}", number, node, where);
    }
    if ((is_off && !places.empty()) || places.size() > 1) {
        return fmt::format("machine {} is `{}`, and runs {}", number, state, where);
    }
    for (const std::string suffix : {"/state", "/node", "/migrate_sync_lock"}) {
        if (has_foreign && suffix == "/migrate_sync_lock") {
            continue;  // the reference keeps the lock of a hand-shake that it rolled back
        }
        if (!of.world.ensemble.children(root + suffix).empty()) {
            return fmt::format("machine {} has a lock left on {}", number, suffix);
        }
    }
    if (const auto sync = of.world.ensemble.get(root + "/migrate_sync_lock").value_or(""); !sync.empty()) {
        return fmt::format("machine {} has migrate_sync_lock \"{}\"", number, sync);
    }
    for (const auto& one : of.world.members) {
        const bool is_listed = value(of, one->root() + "/runningdomains").find(pvc::to_text(id)) != std::string::npos;
        const bool runs_here = std::ranges::find(places, one->name()) != places.end();
        const auto followers = one->node.consoles.followers(fmt::format("/var/log/libvirt/vm{}.log", number));
        if (followers != (runs_here ? 1U : 0U)) {
            return fmt::format("machine {} runs {}, and {} follows its console {} times", number, where, one->name(),
                               followers);
        }
        if (is_listed != belongs_into_list(of, *one, number).value_or(runs_here)) {
            return fmt::format("machine {} runs {}, and the running list of {} {} it", number, where, one->name(),
                               is_listed ? "has" : "lacks");
        }
    }
    return std::nullopt;
}

std::optional<std::string> guests_are_right(const judge& of) {
    for (const auto number : of.world.guests) {
        if (auto wrong = wrong_with_guest(of, number)) {
            return wrong;
        }
    }
    return std::nullopt;
}

// Whoever was asked to be emptied or to come back has done so.
std::optional<std::string> orders_are_done(const judge& of) {
    for (const auto& one : of.world.members) {
        const std::string state = value(of, one->root() + "/domainstate");
        if (state == "flush" || state == "unflush") {
            return fmt::format("{} is still in \"{}\"", one->name(), state);
        }
    }
    return std::nullopt;
}

constexpr std::array rules{
    progress{"all_run", "every node runs again", everybody_runs},
    progress{"one_is_primary", "one coordinator is primary, and everybody says so", somebody_is_primary},
    progress{"schemas_equal", "all nodes use the cluster's schema version", schemas_are_equal},
    progress{"locks_are_free", "no lock is held once nothing goes on", nobody_holds_a_lock},
    progress{"guests_are_right", "every virtual machine is where and what its keys say, once", guests_are_right},
    progress{"orders_are_done", "no node is still being flushed or made ready", orders_are_done},
    progress{"records_are_right", "constant keys of the nodes' records say what they should", records_are_right},
};

}  // namespace

std::span<const progress> all_progress() {
    return rules;
}

}  // namespace pvc::sim
