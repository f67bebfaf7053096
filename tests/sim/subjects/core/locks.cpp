// Locks: what is written under one is written while it is held, and none is left behind.
#include "sim/subjects/core/core.hpp"

#include <fmt/format.h>

namespace pvc::sim {

namespace {

// A write under a lock whose check never came; and what is checked.
void follow_checks(judge& of, const recorded_change& change, member* /*writer*/) {
    auto& seen_locks = of.state<locks_seen>();
    if (seen_locks.unchecked_zxid != 0 && change.zxid != seen_locks.unchecked_zxid) {
        of.say("lock_is_held", seen_locks.unchecked_write);
        seen_locks.unchecked_zxid = 0;
    }
    if (change.what == recorded_kind::check && change.path.find("lock__") != std::string::npos) {
        seen_locks.unchecked_zxid = 0;
        seen_locks.check_zxid = change.zxid;
        seen_locks.check_path = change.path;
    }
}

// Which locks there are, for the two rules below.
void follow_locks(judge& of, const seen_change& seen) {
    auto& seen_locks = of.state<locks_seen>();
    if (!is_lock_child(seen.what.path)) {
        return;
    }
    if (seen.what.what == recorded_kind::remove) {
        seen_locks.locks.erase(seen.what.path);
        const std::string queue = seen.what.path.substr(0, seen.what.path.rfind('/') + 1);
        for (auto next = seen_locks.locks.lower_bound(queue);
             next != seen_locks.locks.end() && next->first.starts_with(queue); ++next) {
            if (sequence_of(next->first) > sequence_of(seen.what.path)) {
                next->second.first_since = of.world.now();
            }
        }
    } else if (seen.writer != nullptr && seen.what.what == recorded_kind::create) {
        seen_locks.locks[seen.what.path] = {seen.writer, seen.what.session, of.world.now(),
                                            seen.what.data.ends_with(":contend for the primary role")};
    }
}

// What a daemon writes under a lock it writes with a check of that lock, while it is the first in its queue.
void locks_are_used_in_turn(judge& of, const seen_change& seen) {
    auto& seen_locks = of.state<locks_seen>();
    if (seen.writer == nullptr || is_lock_child(seen.what.path)) {
        return;
    }
    if (seen_locks.check_zxid != seen.what.zxid) {
        const auto first = seen_locks.locks.lower_bound(seen.what.path + '/');
        // Outside of a transition the lock that is there only waits for its removal (docs/simulation.md).
        const bool is_first = first != seen_locks.locks.end() && first->first.starts_with(seen.what.path + '/') &&
                              first->second.session == seen.what.session;
        const bool is_in_transition = seen.writer->node.is_running() &&
                                      seen.writer->node.daemon().context().role.now() == model::router_state::takeover;
        const bool has_lock =
            is_first && (is_in_transition || (first->second.is_for_contention && !first->second.is_used));
        if (has_lock && seen.what.what == recorded_kind::set && seen.what.path == "/config/primary_node" &&
            seen.what.data == seen.writer->name()) {
            // The check may stand behind it in the transaction.
            seen_locks.unchecked_write = fmt::format("{} has {}, and wrote without a check of it: {}",
                                                     seen.writer->name(), first->first, seen.what.text());
            seen_locks.unchecked_zxid = seen.what.zxid;
        }
        return;
    }
    if (const auto used = seen_locks.locks.find(seen_locks.check_path); used != seen_locks.locks.end()) {
        used->second.is_used = true;
    }
    const auto slash = seen_locks.check_path.rfind('/');
    for (const auto& name : of.world.ensemble.children(seen_locks.check_path.substr(0, slash))) {
        if (is_lock_child(name) && sequence_of(name) < sequence_of(seen_locks.check_path)) {
            of.say("lock_is_held", fmt::format("{} wrote under {}, but {} is before it: {}", seen.writer->name(),
                                               seen_locks.check_path, name, seen.what.text()));
        }
    }
}

void locks_are_given_back(judge& of) {
    const auto& seen_locks = of.state<locks_seen>();
    for (const auto& [path, lock] : seen_locks.locks) {
        if (!of.world.ensemble.has_session(lock.session)) {
            of.say("locks_are_given_back", path + " outlives its session");
        }
        // A migration holds its locks until it has ended (zookeeper-schema.md 4.3, README).
        // A command about an OSD may wait for a day; its subject has a rule of its own.
        // The fence lock is held as long as some node is dead and something is tried.
        const duration limit = path.starts_with("/domains/")             ? duration(700s)
                               : path.starts_with("/config/fence_lock/") ? duration(1800s)
                               : path.starts_with("/cmd/ceph/")          ? duration(25h)
                                                                         : duration(90s);
        if (of.world.is_calm(*lock.owner) && of.world.now() - lock.since > limit) {
            of.say("locks_are_given_back",
                   fmt::format("{} has been there for {:.0f} s", path, seconds(of.world.now() - lock.since)));
        }
    }
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

constexpr rule lock_rules[] = {
    {.name = "lock_is_held",
     .meaning = "what is written under a lock is written while it is held",
     .on_record = follow_checks,
     .on_change = locks_are_used_in_turn},
    {.name = "locks_are_given_back",
     .meaning = "no lock of a daemon outlives what it was taken for",
     .on_change = follow_locks,
     .on_second = locks_are_given_back},
};

constexpr progress lock_progress[] = {
    {"locks_are_free", "no lock is held once nothing goes on", nobody_holds_a_lock},
};

constexpr planted_mistake mistakes_with_locks[] = {
    {defect::lock_without_check, "lock_without_check"},
    {.which = defect::lock_left_behind, .name = "lock_left_behind", .seed = 87},
    {defect::unknown_create_forgotten, "unknown_create_forgotten"},
};

}  // namespace

void add_lock_rules(registry& to) {
    to.add(lock_rules);
    to.add(lock_progress);
    to.add(mistakes_with_locks);
}

}  // namespace pvc::sim
