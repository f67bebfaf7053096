// What must come about once every fault has ended.
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
            model::to_text(one->node.is_running() ? one->node.daemon().context().role : model::router_state::client);
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

constexpr std::array table{
    progress{"all_run", "every node runs again", everybody_runs},
    progress{"one_is_primary", "one coordinator is primary, and everybody says so", somebody_is_primary},
    progress{"schemas_equal", "all nodes use the cluster's schema version", schemas_are_equal},
    progress{"locks_are_free", "no lock is held once nothing goes on", nobody_holds_a_lock},
    progress{"records_are_right", "constant keys of the nodes' records say what they should", records_are_right},
};

}  // namespace

std::span<const progress> all_progress() {
    return table;
}

}  // namespace pvc::sim
