// What must never happen, whatever befalls the cluster.
#include "pvcnoded/model/schema.hpp"
#include "pvcnoded/policy/intervals.hpp"
#include "sim/world/guest_rules.hpp"
#include "sim/world/judge.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

namespace pvc::sim {

namespace {

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
        of.initialised_since = of.world.now();  // whoever starts waits for that
    }
    if (of.world.now() - of.initialised_since < cluster::settle) {
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

void roles_follow_the_table(judge& of, const seen_change& seen) {
    if (seen.writer == nullptr || seen.suffix != "/routerstate" || seen.subject != seen.writer ||
        seen.what.what == recorded_kind::remove || seen.what.data.empty()) {
        return;  // empty: the validation of the tree creates a key that somebody deleted
    }
    const auto& coordinators = seen.writer->node.settings.coordinators;
    const bool is_coordinator = std::ranges::find(coordinators, seen.writer->name()) != coordinators.end();
    const bool is_known =
        is_coordinator ? seen.what.data == "primary" || seen.what.data == "secondary" : seen.what.data == "client";
    if (!is_known) {
        of.say("role_transitions", fmt::format("{} ({}) wrote routerstate \"{}\"", seen.writer->name(),
                                               is_coordinator ? "a coordinator" : "not a coordinator", seen.what.data));
    }
}

// --- who writes what, and how ---

// Keys of virtual machines that their node may write (vm-domains.md 1).
bool is_guest_key(std::string_view path) {
    static constexpr std::array allowed{"state",      "node",  "lastnode",          "failedreason",  "vnc",
                                        "consolelog", "stats", "migrate_sync_lock", "node_autostart"};
    constexpr std::string_view prefix = "/domains/";
    if (!path.starts_with(prefix)) {
        return false;
    }
    const auto suffix = path.substr(path.rfind('/') + 1);
    return std::ranges::find(allowed, suffix) != allowed.end();
}

bool is_placement(std::string_view path) {
    return path.starts_with("/domains/") && (path.ends_with("/state") || path.ends_with("/node") ||
                                             path.ends_with("/lastnode") || path.ends_with("/node_autostart"));
}

void nobody_sets_foreign_keys(judge& of, const seen_change& seen) {
    if (seen.writer == nullptr || seen.what.path.empty()) {
        return;
    }
    const bool creates = seen.what.what == recorded_kind::create;
    if (seen.what.path.starts_with("/nodes/") && seen.subject != seen.writer && !creates) {
        of.say("own_keys_only", fmt::format("{} did: {}", seen.writer->name(), seen.what.text()));
    }
    if (seen.what.what != recorded_kind::set || seen.subject == seen.writer || is_lock_child(seen.what.path)) {
        return;
    }
    const bool is_shared = seen.what.path == "/config/primary_node" || seen.what.path == "/schema/version" ||
                           seen.what.path.starts_with("/logs/" + seen.writer->name()) || is_guest_key(seen.what.path);
    if (!is_shared) {
        of.say("own_keys_only", fmt::format("{} did: {}", seen.writer->name(), seen.what.text()));
    }
}

// A write that depends on what was read says so: keys with several writers are never set blindly.
void shared_keys_are_set_conditionally(judge& of, const seen_change& seen) {
    if (seen.writer == nullptr || seen.what.what != recorded_kind::set ||
        seen.what.expected != zookeeper::any_version) {
        return;
    }
    const bool is_shared = seen.what.path == "/config/primary_node" || seen.what.path == "/schema/version" ||
                           seen.suffix == "/daemonstate" || seen.suffix == "/routerstate" ||
                           is_placement(seen.what.path);
    if (is_shared) {
        of.say("guarded_writes", fmt::format("{} wrote without a version: {}", seen.writer->name(), seen.what.text()));
    }
}

// The version is raised to what every node can follow at that moment.
void schema_is_raised_to_what_all_can_follow(judge& of, const seen_change& seen) {
    if (seen.writer == nullptr || seen.what.path != "/schema/version" || seen.what.what != recorded_kind::set) {
        return;
    }
    for (const auto& name : of.world.ensemble.children("/nodes")) {
        const auto latest = number_in(of.world.ensemble, "/nodes/" + name + "/latestschema");
        const auto wanted = number_in(of.world.ensemble, "/schema/version");
        if (wanted && (!latest || *latest < *wanted)) {
            of.say("schema_all_can_follow", fmt::format("{} raised the schema version to {}, which {} cannot follow",
                                                        seen.writer->name(), *wanted, name));
        }
    }
}

// Which locks there are, for the two rules below.
void follow_locks(judge& of, const seen_change& seen) {
    if (!is_lock_child(seen.what.path)) {
        return;
    }
    if (seen.what.what == recorded_kind::remove) {
        of.locks.erase(seen.what.path);
    } else if (seen.writer != nullptr && seen.what.what == recorded_kind::create) {
        of.locks[seen.what.path] = {seen.writer, seen.what.session, of.world.now()};
    }
}

// What a daemon writes under a lock it writes with a check of that lock, while it is the first in its queue.
void locks_are_used_in_turn(judge& of, const seen_change& seen) {
    if (seen.writer == nullptr || is_lock_child(seen.what.path)) {
        return;
    }
    if (of.check_zxid != seen.what.zxid) {
        const auto first = of.locks.lower_bound(seen.what.path + '/');
        const bool has_lock = first != of.locks.end() && first->first.starts_with(seen.what.path + '/') &&
                              first->second.session == seen.what.session;
        if (has_lock && seen.what.what == recorded_kind::set && seen.what.path == "/config/primary_node" &&
            seen.what.data == seen.writer->name()) {
            // The check may stand behind it in the transaction.
            of.unchecked_write = fmt::format("{} has {}, and wrote without a check of it: {}", seen.writer->name(),
                                             first->first, seen.what.text());
            of.unchecked_zxid = seen.what.zxid;
        }
        return;
    }
    const auto slash = of.check_path.rfind('/');
    for (const auto& name : of.world.ensemble.children(of.check_path.substr(0, slash))) {
        if (is_lock_child(name) && sequence_of(name) < sequence_of(of.check_path)) {
            of.say("lock_is_held", fmt::format("{} wrote under {}, but {} is before it: {}", seen.writer->name(),
                                               of.check_path, name, seen.what.text()));
        }
    }
}

void locks_are_given_back(judge& of) {
    for (const auto& [path, lock] : of.locks) {
        if (!of.world.ensemble.has_session(lock.session)) {
            of.say("locks_are_given_back", path + " outlives its session");
        }
        // A migration holds its locks until it has ended (zookeeper-schema.md 4.3, README).
        const duration limit = path.starts_with("/domains/") ? duration(700s) : duration(90s);
        if (of.world.is_calm(*lock.owner) && of.world.now() - lock.since > limit) {
            of.say("locks_are_given_back",
                   fmt::format("{} has been there for {:.0f} s", path, seconds(of.world.now() - lock.since)));
        }
    }
}

// --- the primary role ---

void there_is_one_primary(judge& of) {
    std::array<const member*, 2> primaries{};
    std::size_t count = 0;
    duration limit = duration::max();
    bool are_calm = true;
    for (const auto& one : of.world.members) {
        const bool believes = one->node.is_running() && !one->node.is_paused() &&
                              one->node.daemon().context().role.now() == model::router_state::primary;
        if (!believes) {
            continue;
        }
        if (count < primaries.size()) {
            primaries[count] = one.get();
        }
        ++count;
        are_calm = are_calm && of.world.is_calm(*one);
        const auto own = policy::isolation_limit(one->node.daemon().context().times);
        limit = std::min(limit, own.value_or(duration::max()));
    }
    if (count < 2) {
        of.are_both_primary = false;
        return;
    }
    if (!of.are_both_primary) {
        of.are_both_primary = true;
        of.both_primary_since = of.world.now();
    }
    if (limit == duration::max() && !are_calm) {
        return;
    }
    const duration allowed = are_calm ? 5s : limit + limit / 50 + 5s;
    if (of.world.now() - of.both_primary_since > allowed) {
        of.say("one_primary", fmt::format("{} and {} have both been primary for {:.3f} s", primaries[0]->name(),
                                          primaries[1]->name(), seconds(of.world.now() - of.both_primary_since)));
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
        const bool is_isolated = context.role.now() == model::router_state::primary && limit && context.heartbeat_sent &&
                                 context.heartbeat_age() > *limit;
        if (!is_isolated) {
            since.reset();
            continue;
        }
        // Its own check comes once a second; after a pause or a sleep the next one finds it.
        since = since.value_or(of.world.now());
        if (of.world.now() - *since > 3s) {
            of.say("isolated_primary", fmt::format("{} is primary, and no heartbeat was acknowledged for {:.3f} s",
                                                   one->name(), seconds(context.heartbeat_age())));
        }
    }
}

// --- tasks ---

void every_task_waits_for_something(judge& of) {
    for (const auto& one : of.world.members) {
        const auto* tasks = one->node.tasks();
        if (tasks != nullptr && one->node.is_running() && !one->node.is_paused() &&
            tasks->tasks_begun() != tasks->tasks_waiting()) {
            of.say("tasks_have_names", fmt::format("{}: {} of {} tasks wait for something with a name", one->name(),
                                                   tasks->tasks_waiting(), tasks->tasks_begun()));
        }
    }
}

const async::task* find_overdue(const async::task& from, time_point now) {
    const auto& wait = from.waiting();
    if (wait && wait->deadline && *wait->deadline + 100ms < now) {
        return &from;
    }
    for (const async::task* child : from.children()) {
        if (const auto* found = find_overdue(*child, now)) {
            return found;
        }
    }
    return nullptr;
}

void waits_end_by_their_deadline(judge& of) {
    for (const auto& one : of.world.members) {
        const auto* tasks = one->node.tasks();
        if (tasks == nullptr || !one->node.is_running() || one->node.is_paused()) {
            continue;
        }
        const auto next = one->node.clock.next_deadline();
        if (next && *next <= one->node.clock.now()) {
            continue;  // it was just resumed: its timers fire now
        }
        if (const auto* found = find_overdue(*tasks->root(), one->node.clock.now())) {
            const duration late = one->node.clock.now() - *found->waiting()->deadline;
            of.say("waits_are_bounded", fmt::format("{} still waits for {} {:.3f} s after its deadline", found->path(),
                                                    found->waiting()->what, seconds(late)));
        }
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

// --- traffic ---

void traffic_is_bounded(judge& of) {
    const auto& counters = of.world.ensemble.counters();
    const std::uint64_t requests = counters.reads + counters.writes + counters.syncs + counters.connection_attempts;
    const std::uint64_t made = requests - std::exchange(of.requests_before, requests);
    const std::uint64_t allowed = 2'000 * of.world.members.size() + 20'000;  // validation reads everything at a start
    if (made > allowed) {
        of.say("no_storm", fmt::format("{} requests within a second", made));
    }
}

void log_copies_are_bounded(judge& of, const seen_change& seen) {
    if (seen.writer == nullptr || !seen.what.path.starts_with("/logs/") || !seen.what.path.ends_with("/messages")) {
        return;
    }
    const auto lines = std::ranges::count(seen.what.data, '\n');
    if (lines > seen.writer->node.settings.node_log_lines) {
        of.say("log_is_bounded", fmt::format("{} wrote {} lines into {}", seen.writer->name(), lines, seen.what.path));
    }
}

constexpr std::array invariants{
    invariant{"heartbeat_in_time",
              "a healthy connected node checks in at every interval, whatever its disk, clock, log "
              "and services do",
              heartbeat_seen, heartbeats_of_calm_nodes_never_miss},
    invariant{.name = "starts_in_time",
              .meaning = "a node that nothing disturbs runs within 45 s of its start",
              .on_second = calm_nodes_become_ready},
    invariant{.name = "state_transitions",
              .meaning = "a daemon writes its state in the order of the table",
              .on_change = states_follow_the_table},
    invariant{.name = "role_transitions",
              .meaning = "a daemon writes only roles that its mode has",
              .on_change = roles_follow_the_table},
    invariant{.name = "own_keys_only",
              .meaning = "nobody sets or deletes a key of another node",
              .on_change = nobody_sets_foreign_keys},
    invariant{.name = "guarded_writes",
              .meaning = "keys with several writers are set against the version that was read",
              .on_change = shared_keys_are_set_conditionally},
    invariant{.name = "schema_all_can_follow",
              .meaning = "the schema version is raised to what every node can follow",
              .on_change = schema_is_raised_to_what_all_can_follow},
    invariant{.name = "lock_is_held",
              .meaning = "what is written under a lock is written while it is held",
              .on_change = locks_are_used_in_turn},
    invariant{.name = "locks_are_given_back",
              .meaning = "no lock of a daemon outlives what it was taken for",
              .on_change = follow_locks,
              .on_second = locks_are_given_back},
    invariant{.name = "one_primary",
              .meaning = "never two primaries past the allowed overlap",
              .on_quiet = there_is_one_primary},
    invariant{.name = "isolated_primary",
              .meaning = "a primary that nobody hears gives the role up in time",
              .on_second = an_isolated_primary_gives_up},
    invariant{.name = "tasks_have_names",
              .meaning = "every task waits for something with a name",
              .on_quiet = every_task_waits_for_something},
    invariant{.name = "waits_are_bounded",
              .meaning = "every wait for an effect ends by its deadline",
              .on_tenth_second = waits_end_by_their_deadline},
    invariant{.name = "stopped_is_stop",
              .meaning = "a node that stopped in order ends in `stop`",
              .on_exit = it_ends_as_it_should},
    invariant{.name = "stops_in_time",
              .meaning = "an orderly stop takes at most three minutes, and the four that a flush may take",
              .on_quiet = stops_end_in_time},
    invariant{
        .name = "one_copy", .meaning = "no virtual machine executes on two nodes", .on_quiet = nothing_runs_twice},
    invariant{.name = "states_are_true",
              .meaning = "a daemon writes `start` or `stop` only of what it does not know to be otherwise",
              .on_change = what_is_written_is_so},
    invariant{.name = "removed_stays_removed",
              .meaning = "no daemon makes a virtual machine's record",
              .on_change = removed_machines_stay_removed},
    invariant{.name = "foreign_disk_locks",
              .meaning = "no daemon breaks the lock that another host has on a disk",
              .on_quiet = foreign_disk_locks_are_left_alone},
    invariant{.name = "libvirt_away",
              .meaning = "while libvirt is away nothing is done to any virtual machine",
              .on_quiet = nothing_is_done_while_libvirt_is_away},
    invariant{.name = "machines_in_time",
              .meaning = "what must run comes to run, and nothing stays half done",
              .on_second = machines_come_to_run},
    invariant{.name = "running_list",
              .meaning = "a running list has what its node has, and nothing else (vm-domains.md 11.3)",
              .on_change = lists_keep_what_is_there,
              .on_second = running_lists_are_true},
    invariant{.name = "clients_word",
              .meaning = "no daemon overwrites what a client asked for, or ends in `stop` by itself",
              .on_change = clients_have_the_last_word},
    invariant{.name = "no_storm", .meaning = "requests are bounded", .on_second = traffic_is_bounded},
    invariant{.name = "log_is_bounded",
              .meaning = "the log copy in ZooKeeper stays within its lines",
              .on_change = log_copies_are_bounded},
};

}  // namespace

std::span<const invariant> all_invariants() {
    return invariants;
}

}  // namespace pvc::sim
