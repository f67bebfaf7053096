// What befalls the membership of a node, what runs must have shown of it, and the mistakes that must be found.
#include "sim/subjects/membership/membership.hpp"

#include "sim/world/chaos.hpp"
#include "sim/world/cluster.hpp"

namespace pvc::sim {

namespace {

// The script of a reference node does not follow another version.
std::uint64_t unless_there_is_a_reference(cluster& world) {
    return world.foreigners.empty() ? 1 : 0;
}

constexpr action_kind actions_on_membership[] = {
    {.name = "upgrade",
     .takes = "ni",
     .meaning = "stops in order and starts again, able to follow this schema version",
     .on_member =
         [](cluster& world, const action& what, member& target) {
             target.node.settings.schema_limit = std::to_string(what.number);
             if (target.node.is_running()) {
                 world.terminate(target);
                 target.is_wanted = true;  // and so it comes back
             }
         },
     .numbers = std::pair{10, 15},
     .chance =
         drawn{.favour = unless_there_is_a_reference,
               .arguments = [](drawing& from,
                               action& out) { out.number = 10 + static_cast<std::int64_t>(from.random.below(6)); }}},
};

constexpr sweep_operation membership_operations[] = {
    {"registration", "hv1 hv2",
     "define-guest hv1 1 acpi\nstart hv1\nuntil hv1 runs within 60s\n"
     "set-guest 1 start\nuntil guest 1 runs hv1 within 10s\nwait 2s\n",
     "start hv2"},
};

constexpr std::string_view expected_states[] = {
    "daemonstate - init",     "daemonstate init run",  "daemonstate run shutdown",  "daemonstate shutdown stop",
    "daemonstate stop init",  "daemonstate run init",  "daemonstate init init",     "daemonstate dead run",
    "daemonstate fenced run", "daemonstate dead init", "daemonstate shutdown init", "daemonstate init shutdown",
    "schema raised",
};

constexpr planted_mistake mistakes_of_membership[] = {
    // Of a clock that goes back it makes a loop without end: no run comes to a verdict.
    {defect::wall_clock_cadence, "wall_clock_cadence", "clock-steps-forward"},
    {defect::dead_not_answered, "dead_not_answered"},
    {defect::disk_in_heartbeat, "disk_in_heartbeat"},
    {defect::stop_not_written, "stop_not_written"},
    {defect::schema_raised_alone, "schema_raised_alone"},
    {.which = defect::schema_change_ignored, .name = "schema_change_ignored", .seed = 13},
    {defect::figures_given_up, "figures_given_up"},
    {defect::run_after_shutdown, "run_after_shutdown"},
};

constexpr key_rules membership_keys{
    .is_shared = [](const seen_change& seen) { return seen.what.path == "/schema/version"; },
    .needs_version =
        [](const seen_change& seen) { return seen.what.path == "/schema/version" || seen.suffix == "/daemonstate"; },
};

}  // namespace

void add_membership(registry& to);
void add_membership(registry& to) {
    to.add(actions_on_membership);
    add_membership_rules(to);
    add_membership_progress(to);
    to.add(membership_operations);
    to.expect(expected_states);
    to.add(mistakes_of_membership);
    to.add(membership_keys);
}

}  // namespace pvc::sim
