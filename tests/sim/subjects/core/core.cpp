// Who writes what and how, that every task says what it waits for, and that nobody asks for too much.
#include "sim/subjects/core/core.hpp"
#include "sim/subjects/fencing/fence_rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace pvc::sim {

namespace {

struct traffic_seen {
    std::uint64_t requests_before = 0;
};

// --- who writes what, and how ---

// Whether any subject says so of this key.
bool says(const judge& of, bool (*key_rules::*what)(const seen_change&), const seen_change& seen) {
    return std::ranges::any_of(of.world.known.keys(),
                               [&](const key_rules& one) { return one.*what != nullptr && (one.*what)(seen); });
}

void nobody_sets_foreign_keys(judge& of, const seen_change& seen) {
    if (seen.writer == nullptr || seen.what.path.empty()) {
        return;
    }
    if (is_of_fencer(of, seen)) {
        return;
    }
    const bool creates = seen.what.what == recorded_kind::create;
    if (seen.what.path.starts_with("/nodes/") && seen.subject != seen.writer && !creates) {
        of.say("own_keys_only", fmt::format("{} did: {}", seen.writer->name(), seen.what.text()));
    }
    if (seen.what.what != recorded_kind::set || seen.subject == seen.writer || is_lock_child(seen.what.path)) {
        return;
    }
    const bool is_shared =
        seen.what.path.starts_with("/logs/" + seen.writer->name()) || says(of, &key_rules::is_shared, seen);
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
    if (says(of, &key_rules::needs_version, seen)) {
        of.say("guarded_writes", fmt::format("{} wrote without a version: {}", seen.writer->name(), seen.what.text()));
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

// --- traffic ---

void traffic_is_bounded(judge& of) {
    const auto& counters = of.world.ensemble.counters();
    const std::uint64_t requests = counters.reads + counters.writes + counters.syncs + counters.connection_attempts;
    const std::uint64_t made = requests - std::exchange(of.state<traffic_seen>().requests_before, requests);
    const std::uint64_t allowed = 2'000 * of.world.members.size() + 20'000;  // validation reads everything at a start
    if (made > allowed) {
        of.say("no_storm", fmt::format("{} requests within a second", made));
    }
}

void log_copies_are_bounded(judge& of, const seen_change& seen) {
    if (seen.writer == nullptr || !seen.what.path.starts_with("/logs/") || !seen.what.path.ends_with("/messages")) {
        return;
    }
    const auto& data = seen.what.data;
    std::int64_t lines = 0;
    for (auto end = data.find('\n'); end != std::string::npos; end = data.find('\n', end + 1)) {
        ++lines;
    }
    if (lines > seen.writer->node.settings.node_log_lines) {
        of.say("log_is_bounded", fmt::format("{} wrote {} lines into {}", seen.writer->name(), lines, seen.what.path));
    }
}

constexpr rule core_rules[] = {
    {.name = "own_keys_only",
     .meaning = "nobody sets or deletes a key of another node",
     .on_change = nobody_sets_foreign_keys},
    {.name = "guarded_writes",
     .meaning = "keys with several writers are set against the version that was read",
     .on_change = shared_keys_are_set_conditionally},
    {.name = "tasks_have_names",
     .meaning = "every task waits for something with a name",
     .on_quiet = every_task_waits_for_something},
    {.name = "waits_are_bounded",
     .meaning = "every wait for an effect ends by its deadline",
     .on_tenth_second = waits_end_by_their_deadline},
    {.name = "no_storm", .meaning = "requests are bounded", .on_second = traffic_is_bounded},
    {.name = "log_is_bounded",
     .meaning = "the log copy in ZooKeeper stays within its lines",
     .on_change = log_copies_are_bounded},
};

constexpr planted_mistake mistakes_in_core[] = {
    {defect::lost_wakeup, "lost_wakeup"},
    {defect::nameless_wait, "nameless_wait"},
    {defect::log_without_end, "log_without_end"},
};

}  // namespace

void add_core(registry& to);
void add_core(registry& to) {
    add_lock_rules(to);
    to.add(core_rules);
    to.add(mistakes_in_core);
}

}  // namespace pvc::sim
