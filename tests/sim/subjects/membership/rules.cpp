// What must never happen to a node's membership: its heartbeat, its states, its start and its end.
#include "sim/subjects/membership/membership.hpp"
#include "sim/world/judge.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>

namespace pvc::sim {

namespace {

struct cluster_seen {
    time_point initialised_since{};
    std::map<std::string, time_point, std::less<>> registered;  // by node: when its record was made
};

// --- heartbeats ---

// Until when the next heartbeat of a calm node must have been committed: its interval by a clock that may drift, and a
// second for the way.
duration longest_gap(const member& one) {
    return std::chrono::milliseconds(one.node.settings.keepalive_interval * 1020) + 1s;
}

void heartbeat_seen(judge& of, const seen_change& seen) {
    if (seen.writer == nullptr || seen.suffix != "/keepalive" || seen.subject != seen.writer) {
        return;
    }
    if (seen.what.what == recorded_kind::remove || seen.what.data.empty()) {
        return;  // the validation of the tree makes a deleted key again, empty
    }
    of.of(*seen.writer).last_beat = seen.what.when;
    std::int64_t stamp = 0;
    std::from_chars(seen.what.data.data(), seen.what.data.data() + seen.what.data.size(), stamp);
    const std::int64_t late = unix_seconds(seen.writer->node.clock.wall_now()) - stamp;
    const auto& stepped = seen.writer->clock_stepped;
    const bool is_clock_steady = !stepped || of.world.now() - *stepped > 10s;
    if (is_clock_steady && of.world.is_calm(*seen.writer) && (late < -1 || late > 3)) {
        of.say("heartbeat_in_time", fmt::format("{} wrote {} into its heartbeat, {} s off its own clock",
                                                seen.writer->name(), seen.what.data, late));
    }
}

void heartbeats_of_calm_nodes_never_miss(judge& of) {
    for (const auto& one : of.world.members) {
        auto& life = of.of(*one);
        if (!one->node.is_running() || !one->node.is_ready() || !of.world.is_calm(*one) || life.asked_to_stop) {
            life.beats_count_from = of.world.now();
            continue;
        }
        const time_point since = std::max(life.beats_count_from, life.last_beat.value_or(time_point{}));
        if (of.world.now() - since <= longest_gap(*one)) {
            continue;
        }
        // A record that somebody deleted cannot be written; it is made again at the next start.
        if (!of.world.ensemble.exists(one->root() + "/keepalive")) {
            life.beats_count_from = of.world.now();
            continue;
        }
        of.say("heartbeat_in_time", fmt::format("{} is healthy and connected, and its last heartbeat was {:.3f} s ago",
                                                one->name(), seconds(of.world.now() - since)));
    }
}

std::optional<int> number_in(const memory_ensemble& ensemble, const std::string& path) {
    const auto text = ensemble.get(path).value_or("");
    int value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

void calm_nodes_become_ready(judge& of) {
    if (number_in(of.world.ensemble, "/schema/version").value_or(-1) < 0) {
        of.state<cluster_seen>().initialised_since = of.world.now();  // whoever starts waits for that
    }
    if (of.world.now() - of.state<cluster_seen>().initialised_since < cluster::settle) {
        return;
    }
    for (const auto& one : of.world.members) {
        if (one->node.is_running() && !of.of(*one).asked_to_stop && of.world.is_calm(*one) && !one->node.is_ready()) {
            of.say("starts_in_time",
                   fmt::format("{} was started {:.3f} s ago, nothing disturbs it, and it does not run", one->name(),
                               seconds(of.world.now() - of.of(*one).started)));
        }
    }
}

// --- states ---

// What a life of a daemon may write into its own daemonstate after what it wrote before.
bool may_follow(std::string_view before, std::string_view next) {
    static constexpr std::array<std::pair<std::string_view, std::string_view>, 13> allowed{{
        {"", "init"},
        {"", "shutdown"},  // asked to stop before the first write: the record may be there from before
        {"", "stop"},
        {"init", "init"},
        {"init", "run"},
        {"init", "shutdown"},
        {"init", "stop"},
        {"run", "run"},
        {"run", "shutdown"},
        {"run", "stop"},
        {"shutdown", "shutdown"},
        {"shutdown", "stop"},
        {"stop", "stop"},
    }};
    return std::ranges::find(allowed, std::pair(before, next)) != allowed.end();
}

void states_follow_the_table(judge& of, const seen_change& seen) {
    if (seen.writer == nullptr || seen.suffix != "/daemonstate" || seen.subject != seen.writer ||
        seen.what.what == recorded_kind::remove || seen.what.data.empty()) {
        return;
    }
    auto& life = of.of(*seen.writer);
    if (!may_follow(life.state_written, seen.what.data)) {
        of.say("state_transitions", fmt::format("{} wrote daemonstate \"{}\" after \"{}\"", seen.writer->name(),
                                                seen.what.data, life.state_written));
    }
    life.state_written = seen.what.data;
}

void count_states(judge& of, const seen_change& seen) {
    if (seen.suffix == "/daemonstate") {
        of.count_word(seen);
    }
}

// The version is raised to what every node can follow at that moment. ZooKeeper cannot check in a transaction that a
// list of children is as it was: a node that is registered for the first time while the request is on its way is not
// seen.
constexpr duration longest_way = 5s;

void note_registration(judge& of, const seen_change& seen) {
    constexpr std::string_view nodes = "/nodes/";
    if (seen.what.what == recorded_kind::create && seen.what.path.starts_with(nodes) &&
        seen.what.path.find('/', nodes.size()) == std::string::npos) {
        of.state<cluster_seen>().registered[seen.what.path.substr(nodes.size())] = of.world.now();
    }
}

void schema_is_raised_to_what_all_can_follow(judge& of, const seen_change& seen) {
    if (seen.writer == nullptr || seen.what.path != "/schema/version" || seen.what.what != recorded_kind::set) {
        return;
    }
    const auto& registered = of.state<cluster_seen>().registered;
    for (const auto& name : of.world.ensemble.children("/nodes")) {
        const auto latest = number_in(of.world.ensemble, "/nodes/" + name + "/latestschema");
        const auto wanted = number_in(of.world.ensemble, "/schema/version");
        const auto made = registered.find(name);
        const bool is_new = made != registered.end() && of.world.now() - made->second <= longest_way;
        if (wanted && !is_new && (!latest || *latest < *wanted)) {
            of.say("schema_all_can_follow", fmt::format("{} raised the schema version to {}, which {} cannot follow",
                                                        seen.writer->name(), *wanted, name));
        }
    }
}

void count_raised_versions(judge& of, const seen_change& seen) {
    if (seen.writer != nullptr && seen.what.path == "/schema/version" && seen.what.what == recorded_kind::set) {
        ++of.transitions["schema raised"];
    }
}

// --- the end ---

void it_ends_as_it_should(judge& of, member& one) {
    const int status = *one.last_exit;
    const auto& life = of.of(one);
    if (status != 0 && status != 1) {
        of.say("orderly_end", fmt::format("{} ended with status {}: {}", one.name(), status,
                                          one.node.complaints.empty() ? "" : one.node.complaints.back()));
        return;
    }
    if (status == 1 && of.world.is_calm(one)) {
        of.say("orderly_end", fmt::format("{} ended with status 1 although nothing disturbs it: {}", one.name(),
                                          one.node.complaints.empty() ? "" : one.node.complaints.back()));
    }
    if (status == 0 && !life.asked_to_stop) {
        of.say("orderly_end", one.name() + " ended although nobody asked it to");
    }
    const auto state = of.world.ensemble.get(one.root() + "/daemonstate");
    if (status == 0 && life.was_calm_while_stopping && of.world.is_calm(one) && state && life.state_written != "" &&
        life.state_written != "stop") {
        of.say("stopped_is_stop", fmt::format("{} stopped in order, and its state is \"{}\"", one.name(), *state));
    }
}

void stops_end_in_time(judge& of) {
    for (const auto& one : of.world.members) {
        auto& life = of.of(*one);
        if (!one->node.is_running()) {
            continue;
        }
        if (life.asked_to_stop) {
            life.was_calm_while_stopping = life.was_calm_while_stopping && of.world.is_calm(*one);
            if (one->node.is_paused()) {
                life.asked_to_stop = of.world.now();  // it has not heard of it yet
            }
            // It waits for a flush or unflush for so long, then cancels it (node-lifecycle.md 5).
            const std::string job = of.world.ensemble.get(one->root() + "/domainstate").value_or("");
            if ((job == "flush" || job == "unflush") && of.world.now() - *life.asked_to_stop <= 240s) {
                life.job_until = of.world.now();
            }
            if (of.world.now() - std::max(*life.asked_to_stop, life.job_until) > 180s) {
                of.say("stops_in_time", one->name() + " was asked to stop three minutes ago");
            }
        }
    }
}

constexpr rule membership_rules[] = {
    {.name = "heartbeat_in_time",
     .meaning = "a healthy connected node checks in at every interval, whatever its disk, clock, log "
                "and services do",
     .on_change = heartbeat_seen,
     .on_quiet = heartbeats_of_calm_nodes_never_miss},
    {.name = "starts_in_time",
     .meaning = "a node that nothing disturbs runs within 45 s of its start",
     .on_second = calm_nodes_become_ready},
    {.name = "state_transitions",
     .meaning = "a daemon writes its state in the order of the table",
     .on_change = states_follow_the_table},
    {.name = "schema_all_can_follow",
     .meaning = "the schema version is raised to what every node can follow",
     .on_change = schema_is_raised_to_what_all_can_follow},
    {.name = "stopped_is_stop",
     .meaning = "a node that stopped in order ends in `stop`",
     .on_exit = it_ends_as_it_should},
    {.name = "stops_in_time",
     .meaning = "an orderly stop takes at most three minutes, and the four that a flush may take",
     .on_quiet = stops_end_in_time},
    {.on_change = note_registration},
    {.on_change = count_states},
    {.on_change = count_raised_versions},
};

}  // namespace

void add_membership_rules(registry& to) {
    to.add(membership_rules);
}

}  // namespace pvc::sim
