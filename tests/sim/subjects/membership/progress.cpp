// What must come about of the nodes once every fault has ended.
#include "sim/subjects/fencing/fencing.hpp"
#include "sim/subjects/membership/membership.hpp"
#include "sim/world/judge.hpp"

#include <fmt/format.h>

namespace pvc::sim {

namespace {

std::optional<std::string> everybody_runs(const judge& of) {
    for (const auto& one : of.world.members) {
        if (!one->node.is_running()) {
            return one->name() + " is not there";
        }
        if (one->node.is_paused()) {
            return one->name() + " stands still";
        }
        const std::string state = value_of(of, one->root() + "/daemonstate");
        if (state != "run") {
            return fmt::format("{} is in \"{}\"", one->name(), state);
        }
        if (!one->node.is_ready()) {
            return one->name() + " is still starting";  // its key says what it was before
        }
    }
    return std::nullopt;
}

std::optional<std::string> schemas_are_equal(const judge& of) {
    const std::string version = value_of(of, "/schema/version");
    for (const auto& one : of.world.members) {
        const std::string active = value_of(of, one->root() + "/activeschema");
        if (active != version) {
            return fmt::format("the version is {}, {} uses {}", version, one->name(), active);
        }
    }
    return std::nullopt;
}

std::optional<std::string> records_are_right(const judge& of) {
    for (const auto& one : of.world.members) {
        const auto& machine = one->node.host.machine;
        const std::string statics =
            fmt::format("{} {} {} {}", machine.cpus, machine.kernel_release, machine.operating_system, machine.machine);
        if (value_of(of, one->root() + "/staticdata") != statics) {
            return fmt::format("{} is \"{}\", not \"{}\"", one->root() + "/staticdata",
                               value_of(of, one->root() + "/staticdata").substr(0, 60), statics);
        }
        // Who found that its board is another's publishes none (README ruling 42).
        const std::string host = value_of(of, one->root() + "/ipmihostname");
        const bool may_be_empty = powers_of(of.world).led_since.contains(one->name());
        if (host != one->name() + "-lom" && !(host.empty() && may_be_empty)) {
            return fmt::format("{} is \"{}\"", one->root() + "/ipmihostname",
                               value_of(of, one->root() + "/ipmihostname").substr(0, 60));
        }
    }
    return std::nullopt;
}

constexpr progress membership_progress[] = {
    {"all_run", "every node runs again", everybody_runs},
    {"schemas_equal", "all nodes use the cluster's schema version", schemas_are_equal},
    {"records_are_right", "constant keys of the nodes' records say what they should", records_are_right},
};

}  // namespace

void add_membership_progress(registry& to) {
    to.add(membership_progress);
}

}  // namespace pvc::sim
