// Which nodes are dead (node-lifecycle.md 10.1; README rulings 9, 31, 39, 42, 43, 76). A pure function of what one
// coordinator knows: no clock and no value of another machine counts, only the observer's own time since it last saw
// the transaction id of a heartbeat change.
#pragma once

#include "pvcnoded/base/clock.hpp"
#include "pvcnoded/model/states.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace pvc::policy {

// A board's answers about a node that falls silent (ruling 76), as far as they count.
enum class seen_power : std::uint8_t {
    untold,  // never asked, or no answer
    on,
    off,  // two answers that count as off, the ids of its heartbeat and its state unchanged throughout
};

struct node_seen {
    std::string name;
    bool is_coordinator = false;  // by the configured list
    std::optional<model::daemon_state> state;
    std::optional<std::int64_t> state_id;      // of the transaction that wrote its daemonstate
    std::optional<std::int64_t> heartbeat_id;  // empty: the key is missing
    duration silent_for{};                     // by the observer; no longer than its connection has stood
    duration in_state_for = duration::max();   // of a state_watch
    bool was_seen_to_beat = false;             // since this daemon started
    bool has_machines = false;                 // machines in a running state whose key names it
    bool has_probe_heard_on = false;           // the last probe of its board heard it say `on` (76)
    seen_power power = seen_power::untold;
    bool is_lease_over = false;  // its self-reset has certainly happened (10.8)
};

// For how long a node has been in its state, by the looks at its heartbeat: a look that comes late, as the observer
// stood still, makes it no older than one that was never made.
class state_watch {
public:
    // What is seen now, with the silence as of the last look.
    void observe(std::optional<std::int64_t> state_id, std::optional<std::int64_t> heartbeat_id, duration silent_for);
    // Zero until a look was made after the state was seen.
    [[nodiscard]] duration age() const { return first_ ? last_ - *first_ : duration::zero(); }

private:
    std::optional<std::int64_t> state_;
    std::optional<std::int64_t> heartbeat_;
    duration last_{};                // the silence as of the last look
    std::optional<duration> first_;  // as of the first one after the state was seen
};

// The heartbeats of all nodes, as this daemon saw them over all its sessions: who was silent before a session began is
// not well in it.
class heartbeats_seen {
public:
    // The id that was read, and when that was asked. Ids grow: a lower one is an older look.
    void hear(const std::string& node, std::int64_t id, time_point asked);
    [[nodiscard]] bool was_seen_to_beat(const std::string& node) const;
    // At most so long ago it beat: since the look that did not show its last heartbeat yet. Who looks seldom sees late.
    // max: it was never seen to beat.
    [[nodiscard]] duration silent_at_most(const std::string& node, time_point now) const;

private:
    struct heartbeat {
        std::int64_t id = 0;
        time_point looked;               // the last time that it was this one
        std::optional<time_point> made;  // not before
    };
    std::map<std::string, heartbeat> all_;
};

// Since the observer saw its last sign of life. That is its heartbeat, but for a node that has said `init` or `run`
// after it: one of the reference that boots says so, and its first heartbeat comes seconds later.
[[nodiscard]] duration quiet_for(const node_seen& one);

struct observer_seen {
    std::string name;
    bool is_coordinator = false;
    bool is_run = false;  // own daemonstate
    bool in_maintenance = false;
    bool is_heartbeat_fresh = false;  // that of this very tick was acknowledged
    duration connected_for{};         // without a break
    std::int64_t fence_intervals = 0;
    duration keepalive{};
    std::size_t coordinators = 0;  // that the configuration lists
};

enum class node_verdict : std::uint8_t {
    well,       // or in a state that nobody fences
    silent,     // older than a heartbeat may be, not long enough to be dead
    seen_off,   // without power: dead at once, and no throws
    dead,       // to be marked
    may_boot,   // never seen to beat by this daemon: it may still be booting (39)
    storm,      // fell silent with more than half of all nodes (39)
    needed,     // no majority of coordinators would be left (31)
    forgotten,  // nobody will fence it, and its machines stay down: to be said, hourly
};
[[nodiscard]] std::string_view to_text(node_verdict what);

struct verdict_on_node {
    std::string name;
    node_verdict what = node_verdict::well;
    // When it is worth to look again; empty: with the next change only.
    std::optional<duration> after;
    friend bool operator==(const verdict_on_node&, const verdict_on_node&) = default;
};

// Why this node judges nobody now; empty: it does. One clause, for `explain` and the log.
[[nodiscard]] std::string why_not_judging(const observer_seen& self);

// Of each node but the observer, in ascending order of names. Without judging all are `well` but those to be said.
[[nodiscard]] std::vector<verdict_on_node> judge_nodes(const observer_seen& self, const std::vector<node_seen>& others);

// The same for `status`: what is to come of it, and what helps. Empty: nothing to be said.
[[nodiscard]] std::string outlook_of(const verdict_on_node& one);

// Whether enough coordinators stay in `run` without that one (31). `before_power_off`: counted anew before each first
// power-off, of states and heartbeats that were read for it, where a node that is silent for longer than a living one
// may be does not count, nor one that was not seen to beat since this daemon started: that it has been silent for a
// short time is then only that nobody has looked.
enum class majority_at : std::uint8_t { mark, before_power_off };
[[nodiscard]] bool majority_stays(const observer_seen& self, const std::vector<node_seen>& others,
                                  const std::string& without, majority_at when);

// Whose board is asked for its power now (76).
[[nodiscard]] bool asks_for_power(const observer_seen& self, const node_seen& one);

}  // namespace pvc::policy
