// What a daemon writes of a virtual machine, and of its own domainstate, rests on what it has read: one transaction
// says so with the versions, and with the locks that it holds (architecture.md, rules 4 and 5; vm-domains.md 5.2
// and 8.3).
#include "sim/subjects/core/core.hpp"
#include "sim/subjects/domains/guest_rules.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace pvc::sim {

namespace {

std::string_view root_of(std::string_view path) {
    return path.substr(0, path.find('/', domains_prefix.size()));
}

bool rests_on(const own_transaction& what, const std::string& path) {
    return std::ranges::any_of(what.parts, [&](const auto& one) {
        return one.path == path && (one.what == recorded_kind::check || one.expected != zookeeper::any_version);
    });
}

bool checks(const own_transaction& what, const std::string& path) {
    return std::ranges::any_of(what.parts,
                               [&](const auto& one) { return one.what == recorded_kind::check && one.path == path; });
}

bool is_first(const judge& of, std::string_view child) {
    const auto slash = child.rfind('/');
    return std::ranges::none_of(of.world.ensemble.children(child.substr(0, slash)), [&](const auto& name) {
        return is_lock_child(name) && sequence_of(name) < sequence_of(child);
    });
}

// "<node>:<pid>:<task>:<reason>" (zookeeper-schema.md 4.1). Asked now: it may be gone when the transaction is looked
// at.
std::string task_of(const judge& of, const std::string& child) {
    const std::string says = of.world.ensemble.get(child).value_or("");
    const auto pid = says.find(':');
    const auto task = pid == std::string::npos ? pid : says.find(':', pid + 1);
    return task == std::string::npos ? std::string() : says.substr(task + 1);
}

// The lock of a flush or unflush is for where it places a machine: what an operation writes meanwhile is not under it.
bool is_for_placements(const own_transaction::lock& lock) {
    return lock.task.starts_with("flush:") || lock.task.starts_with("unflush:");
}

// Whether what it writes is under this lock. It is not if it is under those of another task: a job that places a
// machine writes beside the lock on `node` of a sender that still waits for the one on `state`. Nor if it is under
// none, and of the two of a sender only one is there. That on `node` is had first and given back last: its removal may
// be under way when the next operation writes, by versions alone; and one on `state` without it is left of a sender
// that is over and never heard that it was made.
bool is_written_under(const own_transaction& what, const own_transaction::part& part,
                      const own_transaction::lock& lock) {
    const auto checks_task = [&](const std::string& task) {
        return std::ranges::any_of(what.parts, [&](const auto& one) {
            return one.what == recorded_kind::check && is_lock_child(one.path) && one.task == task;
        });
    };
    const bool is_under_some = std::ranges::any_of(
        what.parts, [](const auto& one) { return one.what == recorded_kind::check && is_lock_child(one.path); });
    if (is_under_some) {
        return checks_task(lock.task);
    }
    const bool is_on_node = std::string_view(lock.path).substr(root_of(lock.path).size()).starts_with("/node/");
    const bool is_one_of_two = is_on_node || lock.task.starts_with("migration:sending");
    return !is_one_of_two || std::ranges::any_of(part.locks, [&](const auto& other) {
        return other.path != lock.path && other.task == lock.task;
    });
}

// Whether the writer knew, when it sent this, that it is the first: the one before it went, a watch says so, the queue
// is read, and then the transaction goes on its way.
bool has_heard(const judge& of, const lock_seen& lock) {
    const auto& link = lock.owner->node.connector.link();
    const time_point since = std::max(lock.first_since, of.world.ensemble.up_since());
    const bool was_free = since == time_point{};
    return was_free || of.world.now() - since > 2 * link.latency + 2 * link.watch_delay + link.lag +
                                                    std::max(link.answer_delay, link.write_answer_delay);
}

// The locks of its machine that the writer has; in whose queue it still waits it writes by versions alone.
std::vector<own_transaction::lock> locks_of_writer(const judge& of, const recorded_change& change) {
    std::vector<own_transaction::lock> found;
    const std::string root(root_of(change.path));
    for (const std::string suffix : {"/state/", "/node/"}) {
        const std::string prefix = root + suffix;
        for (auto lock = of.state<locks_seen>().locks.lower_bound(prefix);
             lock != of.state<locks_seen>().locks.end() && lock->first.starts_with(prefix); ++lock) {
            if (lock->second.session == change.session && is_first(of, lock->first) && has_heard(of, lock->second)) {
                found.push_back({lock->first, task_of(of, lock->first)});
            }
        }
    }
    return found;
}

void look_at(judge& of, const own_transaction& what) {
    for (const auto& one : what.parts) {
        if (one.is_overtaken) {
            of.say("lock_is_held",
                   fmt::format("{} wrote under {}, and another is before it", what.writer->name(), one.path));
        }
        if (one.what != recorded_kind::set) {
            continue;
        }
        if (one.path.ends_with("/domainstate") && one.expected == zookeeper::any_version) {
            of.say("guarded_writes",
                   fmt::format("{} wrote without a version: {} = {}", what.writer->name(), one.path, one.data));
        }
        if (!one.path.starts_with(domains_prefix)) {
            continue;
        }
        const std::string root(root_of(one.path));
        const auto suffix = std::string_view(one.path).substr(root.size());
        if (suffix == "/state" && !rests_on(what, root + "/node")) {
            of.say("guarded_writes", fmt::format("{} wrote a state, and not what it knew of `node`: {} = {}",
                                                 what.writer->name(), one.path, one.data));
        }
        if ((suffix == "/node" || suffix == "/lastnode") && !rests_on(what, root + "/state")) {
            of.say("guarded_writes", fmt::format("{} wrote a placement, and not what it knew of `state`: {} = {}",
                                                 what.writer->name(), one.path, one.data));
        }
        if (suffix == "/failedreason" && !rests_on(what, one.path) && !rests_on(what, root + "/state")) {
            of.say("guarded_writes", fmt::format("{} wrote a reason that rests on nothing: {} = {}",
                                                 what.writer->name(), one.path, one.data));
        }
        const bool is_placement = std::ranges::any_of(what.parts, [&root](const auto& part) {
            return part.what == recorded_kind::set && part.path == root + "/node";
        });
        for (const auto& lock : one.locks) {
            const bool counts = (!is_for_placements(lock) || is_placement) && is_written_under(what, one, lock);
            if (counts && !checks(what, lock.path)) {
                of.say("lock_is_held", fmt::format("{} has {}, and wrote without a check of it: {} = {}",
                                                   what.writer->name(), lock.path, one.path, one.data));
            }
        }
    }
}

}  // namespace

// The parts of one transaction are told one after the other; it is looked at when all are known.
void transactions_rest_on_what_was_read(judge& of, const recorded_change& change, member* writer) {
    own_transaction& now = of.state<own_transaction>();
    if (now.writer != nullptr && now.zxid != change.zxid) {
        look_at(of, now);
        now.writer = nullptr;
        now.parts.clear();
    }
    const bool is_of_interest = change.what == recorded_kind::check || change.what == recorded_kind::set;
    if (writer == nullptr || !is_of_interest) {
        return;
    }
    const bool is_of_machine = change.path.starts_with(domains_prefix);
    if (!is_of_machine && !change.path.ends_with("/domainstate")) {
        return;
    }
    now.writer = writer;
    now.zxid = change.zxid;
    own_transaction::part part{change.what, change.path, change.data.substr(0, 40), change.expected};
    if (is_of_machine && change.what == recorded_kind::check && is_lock_child(change.path)) {
        part.is_overtaken = !is_first(of, change.path);
        part.task = task_of(of, change.path);
    } else if (is_of_machine && change.what == recorded_kind::set &&
               (change.path.ends_with("/state") || change.path.ends_with("node"))) {
        part.locks = locks_of_writer(of, change);
    }
    now.parts.push_back(std::move(part));
}

namespace {

constexpr rule write_rules[] = {{.on_record = transactions_rest_on_what_was_read}};

}  // namespace

void add_write_rules(registry& to) {
    to.add(write_rules);
}

}  // namespace pvc::sim
