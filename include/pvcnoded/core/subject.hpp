// What a subject is to the daemon: virtual machines, the primary role, networks, Ceph, fencing, … Each has a folder,
// and one object that offers any of the interfaces below. The daemon is assembled from such objects (node/assembly.hpp)
// and knows nothing of any of them by itself; subjects know nothing of each other (docs/decisions/subjects.md). Who
// takes part in which phase, and in which order they stop, are tables beside the list of subjects.
//
// A subject is made anew in each attempt to start, after the configuration was read, and lives to its end, over all
// sessions; its members may hold references to what its constructor got. Loop thread only.
//
// Coroutines: cancelling one ends all that it began by the time it returns. A failure is a value; what it means for the
// daemon says the table of phases (policy/startup_plan.hpp), what is to be done about it says the subject in the log.
#pragma once

#include "pvcnoded/async/task_group.hpp"
#include "pvcnoded/base/result.hpp"
#include "pvcnoded/base/uuid.hpp"
#include "pvcnoded/core/session.hpp"
#include "pvcnoded/policy/role/role_phases.hpp"
#include "pvcnoded/policy/startup_plan.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pvc::core {

class subject {
public:
    subject() = default;
    subject(const subject&) = delete;
    subject& operator=(const subject&) = delete;
    virtual ~subject() = default;
    // In the tables, in the log, and of its tasks.
    [[nodiscard]] virtual std::string_view name() const = 0;
};

// Does something in a phase of the start-up, and may leave children in the scope of the attempt.
struct preparation {
    policy::phase phase;
    async::task_group& attempt;
    session* in_session;  // null before S6
};
class prepared_subject {
public:
    // Once an attempt, in each phase whose row names it. With a session it is the first one of the attempt.
    virtual async::awaitable<result<void>> prepare(preparation in) = 0;
    // The attempt ends, in order or because ZooKeeper cannot be told: what must not outlive it is given up, locally.
    // Its children still run, its parts of sessions do not. Cancelled at the deadline.
    virtual async::awaitable<void> end(time_point deadline);

protected:
    ~prepared_subject() = default;
};

// What a subject does on the authority of one ZooKeeper session.
class session_part {
public:
    session_part() = default;
    session_part(const session_part&) = delete;
    session_part& operator=(const session_part&) = delete;
    virtual ~session_part() = default;

    // Until cancelled. It begins when the node has its entry, and reads what it needs; it acts from open() on.
    virtual async::awaitable<void> run() = 0;
    // Ends with the active schema version, to begin again with the next one.
    [[nodiscard]] virtual bool is_of_one_schema() const { return false; }
    // S12: suspends until all that it acts on was read once, or the deadline, which it says in the log.
    virtual async::awaitable<void> wait_loaded(time_point deadline);
    // `run` was written: orders are acted on from now on. Called again after a change of schema.
    virtual void open() {}
    // The actors end for a change of schema: nothing is begun until the next open().
    virtual void close() {}
    // Orderly stop, before the session ends, at its turn in the table. run() has ended if it is of one schema, and else
    // goes on. What it began is completed or left as the next start wants it, by the deadline.
    virtual async::awaitable<void> stop(time_point deadline);
};
class session_subject {
public:
    // The session outlives what is returned.
    virtual std::unique_ptr<session_part> begin(session& s) = 0;

protected:
    ~session_subject() = default;
};

// Figures that the tick publishes below this node's entry.
class figure_sheet {
public:
    figure_sheet() = default;
    figure_sheet(const figure_sheet&) = delete;
    figure_sheet& operator=(const figure_sheet&) = delete;
    virtual ~figure_sheet() = default;
    virtual void add(std::string_view suffix, std::string value) = 0;
    // What the tick's own line in the log says.
    std::string health = "N/A";
    std::size_t domains = 0;
    std::size_t osds = 0;
    std::string load = "0.0";
    std::int64_t used_mib = 0;
    std::int64_t free_mib = 0;
};
class figure_source {
public:
    // The keys below the node's entry that only this source gives a value.
    [[nodiscard]] virtual std::span<const std::string_view> figure_keys() const = 0;
    // Collects anew, beside all other sources. One that has not returned by the deadline is not waited for, and not
    // asked again before it has: its last values stand. What it reads may hang; a deadline of its own says so in the
    // log.
    virtual async::awaitable<void> collect(session& s, time_point deadline);
    // What was collected last. A key that is left out keeps the value that it has; one that the active schema lacks
    // must be.
    virtual void put(figure_sheet& sheet) const = 0;

protected:
    ~figure_source() = default;
};

// A part of the primary role: what only the primary has (addresses, services). All parts of a phase are asked side by
// side; of each, one thing at a time.
class role_part {
public:
    // Takes up its part of this phase. A failure is said in the log and does not keep the role from going on.
    virtual async::awaitable<void> take_up(policy::role_phase which, session& s) = 0;
    // Gives it up, also where it was not taken up; in the order of phases when another node takes over, backwards when
    // a takeover is undone. `s` is null where the node must do without ZooKeeper.
    virtual async::awaitable<void> give_up(policy::role_phase which, session* s) = 0;

protected:
    ~role_part() = default;
};

// Ends what others may have taken over while this node was declared off: it is not said to run before that is done.
class fence_survivor {
public:
    // Returns when nothing is left, or when `goes_on` says no.
    virtual async::awaitable<void> clean_up_after_fence(session& s, std::function<bool()> goes_on) = 0;

protected:
    ~fence_survivor() = default;
};

// Says in a few lines what it does; for SIGUSR1 and for whoever asks over the local socket.
class reporter {
public:
    virtual void report(std::vector<std::string>& lines) const = 0;

protected:
    ~reporter() = default;
};

// A virtual machine as its node sees it, for whoever asks.
struct machine_view {
    uuid id;
    std::string name;   // empty: not known yet
    std::string state;  // as stored
    std::string node;   // as stored
    std::string guest;  // what the hypervisor has of it; empty: not known
    bool is_listed = false;
    duration state_age{};
    struct operation {
        std::string name;
        std::string waits_for;
        std::optional<duration> at_most;                           // from now on
        std::vector<std::pair<std::string, std::string>> answers;  // what may come, and what it would wait for then
    };
    std::optional<operation> doing;
};
// Knows virtual machines that belong to this node or run here.
class machine_reporter {
public:
    // At most so many, in the order of their identities. False: there are more.
    virtual bool report_machines(std::vector<machine_view>& all, std::size_t most) const = 0;
    // By name or identity; empty: there is none here.
    [[nodiscard]] virtual std::optional<machine_view> report_machine(std::string_view name) const = 0;

protected:
    ~machine_reporter() = default;
};

// Knows of work that whoever upgrades the cluster, one node after the other, waits for.
class readiness_reporter {
public:
    // Why this node is not ready for that now, in words, each a line ("a flush is under way"); nothing: it is.
    virtual void report_unready(std::vector<std::string>& reasons) const = 0;

protected:
    ~readiness_reporter() = default;
};

using subjects = std::vector<std::unique_ptr<subject>>;

// Those that offer an interface, in their order.
template <class Interface>
[[nodiscard]] std::vector<Interface*> all_that_are(const subjects& all) {
    std::vector<Interface*> found;
    for (const auto& one : all) {
        if (auto* offered = dynamic_cast<Interface*>(one.get())) {
            found.push_back(offered);
        }
    }
    return found;
}

}  // namespace pvc::core
