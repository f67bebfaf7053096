// The primary role: who has it, who gives it up, and that all agree.
#include "sim/subjects/role/role.hpp"
#include "pvcnoded/policy/intervals.hpp"
#include "sim/world/chaos.hpp"
#include "sim/world/judge.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

namespace pvc::sim {

namespace {

struct primaries_seen {
    bool are_both_primary = false;
    time_point first{};
    time_point since{};  // from here on it counts
};

void roles_follow_the_table(judge& of, const seen_change& seen) {
    if (seen.writer == nullptr || seen.suffix != "/routerstate" || seen.subject != seen.writer ||
        seen.what.what == recorded_kind::remove || seen.what.data.empty()) {
        return;  // empty: the validation of the tree creates a key that somebody deleted
    }
    const auto& coordinators = seen.writer->node.settings.coordinators;
    const bool is_coordinator = std::ranges::find(coordinators, seen.writer->name()) != coordinators.end();
    // Without networking a transition has no phases, and no state of its own.
    const bool is_on_its_way = seen.what.data == "takeover" || seen.what.data == "relinquish";
    const bool is_known = is_coordinator ? seen.what.data == "primary" || seen.what.data == "secondary" ||
                                               (is_on_its_way && seen.writer->node.settings.networking)
                                         : seen.what.data == "client";
    if (!is_known) {
        of.say("role_transitions", fmt::format("{} ({}) wrote routerstate \"{}\"", seen.writer->name(),
                                               is_coordinator ? "a coordinator" : "not a coordinator", seen.what.data));
    }
}

bool believes_in_itself(const member& one) {
    return one.node.is_running() && !one.node.is_paused() &&
           one.node.daemon().context().role.now() == model::router_state::primary;
}

void there_is_one_primary(judge& of) {
    auto& seen = of.state<primaries_seen>();
    const auto count =
        std::ranges::count_if(of.world.members, [](const auto& one) { return believes_in_itself(*one); });
    if (count < 2) {
        seen.are_both_primary = false;
        return;
    }
    std::vector<const member*> primaries;
    duration limit = duration::max();
    bool are_calm = true;
    bool is_successor_in_run = true;
    duration tick{};
    const std::string named = value_of(of, "/config/primary_node");
    for (const auto& one : of.world.members) {
        if (!believes_in_itself(*one)) {
            continue;
        }
        primaries.push_back(one.get());
        are_calm = are_calm && of.world.is_calm(*one);
        if (one->name() == named) {
            is_successor_in_run = value_of(of, one->root() + "/daemonstate") == "run";
            tick = one->node.daemon().context().times.keepalive;
        }
        const auto own = policy::isolation_limit(one->node.daemon().context().times);
        limit = std::min(limit, own.value_or(duration::max()));
    }
    if (!seen.are_both_primary) {
        seen.are_both_primary = true;
        seen.first = seen.since = of.world.now();
    }
    // To one whose state somebody deleted nobody gives the role up (C2'); its next tick writes it anew. Nobody's state
    // but that of who is named has a say.
    constexpr duration for_a_tick = 1s;
    if (!is_successor_in_run && of.world.now() - seen.first < tick + for_a_tick) {
        seen.since = of.world.now();
    }
    if (limit == duration::max() && !are_calm) {
        return;
    }
    const duration allowed = are_calm ? 5s : limit + limit / 50 + 5s;
    if (of.world.now() - seen.since > allowed) {
        of.say("one_primary", fmt::format("{} and {} have both been primary for {:.3f} s", primaries[0]->name(),
                                          primaries[1]->name(), seconds(of.world.now() - seen.since)));
    }
}

void an_isolated_primary_gives_up(judge& of) {
    for (const auto& one : of.world.members) {
        auto& since = of.of(*one).isolated_since;
        if (!one->node.is_running() || one->node.is_paused()) {
            since.reset();
            continue;
        }
        const auto& context = one->node.daemon().context();
        const auto limit = policy::isolation_limit(context.times);
        const bool is_isolated = context.role.now() == model::router_state::primary && limit &&
                                 context.heartbeat_sent && context.heartbeat_age() > *limit;
        if (!is_isolated) {
            since.reset();
            continue;
        }
        // Its own check comes once a second; after a pause or a sleep the next one finds it. Nothing may have happened
        // while it stood still.
        const bool has_stood = std::exchange(of.of(*one).pauses_by_then, one->node.pauses()) != one->node.pauses();
        if (!since || has_stood) {
            since = of.world.now();
        }
        if (of.world.now() - *since > 3s) {
            of.say("isolated_primary", fmt::format("{} is primary, and no heartbeat was acknowledged for {:.3f} s",
                                                   one->name(), seconds(context.heartbeat_age())));
        }
    }
}

void count_roles(judge& of, const seen_change& seen) {
    if (seen.suffix == "/routerstate") {
        of.count_word(seen);
    }
}

std::optional<std::string> somebody_is_primary(const judge& of) {
    const std::string named = value_of(of, "/config/primary_node");
    bool found = false;
    for (const auto& one : of.world.members) {
        const std::string role = value_of(of, one->root() + "/routerstate");
        const auto& coordinators = one->node.settings.coordinators;
        const bool is_coordinator = std::ranges::find(coordinators, one->name()) != coordinators.end();
        const std::string_view wanted = !is_coordinator ? "client" : one->name() == named ? "primary" : "secondary";
        if (role != wanted) {
            return fmt::format("{} is {}, and /config/primary_node is {}", one->name(), role, named);
        }
        const auto believed = model::to_text(one->node.is_running() ? one->node.daemon().context().role.now()
                                                                    : model::router_state::client);
        if (one->node.is_running() && believed != wanted) {
            return fmt::format("{} believes that it is {}", one->name(), believed);
        }
        found = found || (is_coordinator && one->name() == named);
    }
    for (const auto& one : of.world.foreigners) {
        // The reference acts on a change of the name once: a change that it missed leaves it secondary until the next.
        const bool is_named = one->settings.name == named;
        if (!one->is_running() && !is_named) {
            continue;  // its stop ended after the last fault: nobody started it again, and what it wrote stays
        }
        const std::string role = value_of(of, "/nodes/" + one->settings.name + "/routerstate");
        if (role != "secondary" && !(is_named && role == "primary")) {
            return fmt::format("{} is {}, and /config/primary_node is {}", one->settings.name, role, named);
        }
        found = found || is_named;
    }
    return found ? std::nullopt : std::optional("/config/primary_node is " + named);
}

// As the reference's client: without a look at what is there.
void make_primary(cluster& world, const action& what) {
    world.ensemble.put("/config/primary_node", what.node);
}

std::uint64_t beside_a_reference(cluster& world) {
    return world.foreigners.empty() ? 0 : 2;
}

constexpr action_kind actions_on_roles[] = {
    {.name = "tick-after-name",
     .takes = "nd",
     .meaning = "from now on a tick of this reference node as primary comes so long after another name",
     .on_member = [](cluster& /*world*/, const action& /*what*/, member& /*target*/) {},
     .on_reference = [](cluster& /*world*/, const action& what,
                        foreign_node& target) { target.settings.timings.tick_after_name = what.amount; },
     .chance = drawn{.favour = beside_a_reference,
                     .arguments =
                         [](drawing& from, action& out) {
                             out.node = from.world.foreigners.front()->settings.name;
                             out.amount = from.some_time(1ms, 1s);
                             from.follow_up(from.some_time(8s, 20s), "make-primary").node = from.some_member();
                             from.follow_up(from.some_time(100ms, 4s), "make-primary").node = out.node;
                         }}},
    {.name = "make-primary",
     .takes = "n",
     .meaning = "a client wants this node as primary",
     .on_cluster = make_primary,
     .chance = drawn{}},
};

constexpr rule role_rules[] = {
    {.name = "role_transitions",
     .meaning = "a daemon writes only roles that its mode has",
     .on_change = roles_follow_the_table},
    {.name = "one_primary",
     .meaning = "never two primaries past the allowed overlap",
     .on_quiet = there_is_one_primary},
    {.name = "isolated_primary",
     .meaning = "a primary that nobody hears gives the role up in time",
     .on_second = an_isolated_primary_gives_up},
    {.on_change = count_roles},
};

constexpr progress role_progress[] = {
    {"one_is_primary", "one coordinator is primary, and everybody says so", somebody_is_primary},
};

constexpr sweep_fault role_faults[] = {{"make-primary @"}};
constexpr sweep_operation role_operations[] = {
    {"hand-over", "hv1 hv2 hv3",
     "define-guest hv1 1 acpi\n"
     "start hv1\nstart hv2\nstart hv3\n"
     "until hv1 runs within 60s\nuntil hv2 runs within 60s\nuntil hv3 runs within 60s\n"
     "set-guest 1 start\nuntil guest 1 runs hv1 within 10s\nwait 2s\n",
     "make-primary hv2"},
    {"hand-over-with-addresses", "hv1 hv2 hv3",
     "setting all networking on\n"
     "start hv1\nuntil hv1 is primary within 10s\nstart hv2\nstart hv3\n"
     "until hv2 runs within 60s\nuntil hv3 runs within 60s\nwait 2s\n",
     "make-primary hv2"},
};

constexpr std::string_view expected_roles[] = {"routerstate secondary primary", "routerstate primary secondary"};

constexpr planted_mistake mistakes_with_roles[] = {
    {defect::blind_role_write, "blind_role_write"},
    {defect::isolation_unnoticed, "isolation_unnoticed"},
    {defect::role_kept, "role_kept"},
    {defect::address_kept, "address_kept"},
    {defect::phase_unlocked, "phase_unlocked", {}, {.subject = "role"}},
    {defect::phase_skipped, "phase_skipped", {}, {.subject = "role"}},
    {defect::role_undone_forwards, "role_undone_forwards", {}, {.subject = "role", .writes = 1}},
    {defect::role_lock_kept, "role_lock_kept", {}, {.subject = "role", .writes = 1}},
    {defect::role_written_late, "role_written_late", "role-other-is-named-in-the-last-moment"},
    {defect::role_given_up_early, "role_given_up_early", {}, {.subject = "role"}},
    {defect::written_back_unnoticed, "written_back_unnoticed", "role-reference-names-itself-again"},
    {defect::relinquished_blindly, "relinquished_blindly", {}, {.subject = "role", .writes = 1}},
    {defect::passed_partner_awaited, "passed_partner_awaited", "role-reference-holder-is-through"},
    {defect::blind_look_believed, "blind_look_believed"},
};

// What the primary says of its configuration.
bool is_published(std::string_view path) {
    return path == "/config/upstream_ip" || path == "/config/migration_target_selector";
}

constexpr key_rules role_keys{
    .is_shared =
        [](const seen_change& seen) {
            return seen.what.path == "/config/primary_node" || seen.what.path == "/config/primary_node/sync_lock" ||
                   is_published(seen.what.path);
        },
    .needs_version =
        [](const seen_change& seen) {
            return seen.what.path == "/config/primary_node" || seen.suffix == "/routerstate" ||
                   is_published(seen.what.path);
        },
};

}  // namespace

void add_role(registry& to);
void add_role(registry& to) {
    to.add(actions_on_roles);
    to.add(role_rules);
    to.add(role_progress);
    to.add(role_faults);
    to.add(role_operations);
    to.expect(expected_roles);
    to.add(mistakes_with_roles);
    to.add(role_keys);
    add_addresses(to);
    add_patroni(to);
    add_address_users(to);
}

}  // namespace pvc::sim
