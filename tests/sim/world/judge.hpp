// Watches a simulated cluster and knows what must never happen (invariants, after every step) and what must happen once
// nothing disturbs it any more (progress). The rules are small named functions: safety in invariants.cpp, progress in
// progress.cpp. They look at what a step changed, not at the whole world.
#pragma once

#include "sim/world/cluster.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace pvc::sim {

class judge;

// A committed change with what every rule wants to know about it.
struct seen_change {
    const recorded_change& what;
    member* writer = nullptr;   // null: a client
    member* subject = nullptr;  // whose record it is in, /nodes/<name>...
    std::string_view suffix{};  // below the record: "/keepalive"
};

// A node of a lock's queue, and its place there.
inline bool is_lock_child(std::string_view path) {
    return path.find("lock__") != std::string_view::npos;
}
inline std::string_view sequence_of(std::string_view lock_child) {
    return lock_child.substr(lock_child.size() - std::min<std::size_t>(lock_child.size(), 10));
}
constexpr std::string_view domains_prefix = "/domains/";

inline double seconds(duration time) {
    return std::chrono::duration<double>(time).count();
}

struct invariant {
    std::string_view name;
    std::string_view meaning;
    void (*on_change)(judge&, const seen_change&) = nullptr;
    void (*on_quiet)(judge&) = nullptr;          // nothing is ready, time is about to pass
    void (*on_second)(judge&) = nullptr;         // about once a simulated second
    void (*on_tenth_second)(judge&) = nullptr;   // the same, for what is dear
    void (*on_exit)(judge&, member&) = nullptr;  // a daemon ended by itself
};

// What clients last asked of a virtual machine (wish_rules.cpp).
struct wish_seen {
    bool is_known = false;         // a client has said whether it is to run, and no reference node has written since
    bool is_on = false;            // it is to run
    bool is_parked = false;        // a flush with nowhere to go shut it down; an unflush starts it
    bool is_mark_over = false;     // it was started and ran since a flush marked it: an unflush has no say any more
    bool is_clients = false;       // the stored state is a client's word
    std::string state;             // as stored
    std::int64_t placed_zxid = 0;  // the last transaction that set its node
    time_point since{};            // the state was written
};

// What one transaction of a daemon set and checked, as far as rules want to know (write_rules.cpp).
struct own_transaction {
    struct part {
        recorded_kind what;
        std::string path;
        std::string data;
        std::int32_t expected;
        bool is_overtaken = false;         // the check of a lock child behind another's
        std::vector<std::string> locks{};  // of the machine, that the writer has
    };
    member* writer = nullptr;  // null: none is under way
    std::int64_t zxid = 0;
    std::vector<part> parts{};
};

struct progress {
    std::string_view name;
    std::string_view meaning;
    // Empty: fulfilled.
    std::optional<std::string> (*missing)(const judge&) = nullptr;
};

[[nodiscard]] std::span<const invariant> all_invariants();
[[nodiscard]] std::span<const progress> all_progress();

struct violation {
    std::string invariant;
    std::string what;
    time_point at{};
    std::uint64_t step = 0;
};

// What the judge remembers of a member's present life.
struct life_record {
    time_point started{};
    std::optional<time_point> last_beat;       // committed
    time_point beats_count_from{};             // gaps that began earlier were disturbed
    std::string state_written;                 // the last daemonstate that this life wrote
    std::optional<time_point> isolated_since;  // it is a primary that nobody hears, and has not noticed
    std::optional<time_point> asked_to_stop;
    bool was_calm_while_stopping = false;
    time_point job_until{};     // a flush or unflush was under way while it was to stop
    std::uint64_t changes = 0;  // it wrote in the present window
};

class judge {
public:
    explicit judge(cluster& world);
    judge(const judge&) = delete;
    judge& operator=(const judge&) = delete;

    // After every step of the cluster.
    void look();
    [[nodiscard]] const std::optional<violation>& broken() const { return broken_; }
    void say(std::string_view name, std::string what);
    // What is still missing once everything is healed; empty when all is as it should be.
    [[nodiscard]] std::vector<std::string> missing() const;

    [[nodiscard]] life_record& of(const member& one) { return lives_[one.number]; }
    [[nodiscard]] const life_record& of(const member& one) const { return lives_[one.number]; }

    cluster& world;
    std::uint64_t steps = 0;
    std::uint64_t steps_at_this_moment = 0;
    std::map<std::string, std::uint64_t> transitions;  // "daemonstate init run" → how often
    struct lock_seen {
        member* owner;
        std::int64_t session;
        time_point since;
    };
    std::map<std::string, lock_seen> locks;  // children that daemons made and that are still there
    std::string unchecked_write;             // under a lock, and the transaction may still check it
    std::int64_t unchecked_zxid = 0;
    std::int64_t check_zxid = 0;  // the last transaction that checked a lock child
    std::string check_path;
    time_point initialised_since{};
    time_point both_primary_since{};
    bool are_both_primary = false;
    std::uint64_t requests_before = 0;
    std::size_t double_runs = 0;  // of guests, told already
    std::string foreign_break;    // of a disk's lock
    std::string call_in_vain;
    struct machine_seen {
        std::string state;
        std::string node;
        time_point since{};  // calm, and not as it should be
    };
    std::map<std::int64_t, machine_seen> machines;
    std::map<std::string, wish_seen> wishes;  // by "/domains/<uuid>"
    std::string overwritten;                  // a client's word, unless the rest of the transaction says why
    std::int64_t overwritten_zxid = 0;
    own_transaction transaction;  // the last one
    // When a daemon's running list began to lack, or to have, what it should not.
    std::map<std::pair<std::uint32_t, std::int64_t>, time_point> unlisted_since;
    std::set<std::pair<std::uint32_t, std::int64_t>> listed;  // by a member's number and a machine's
    std::map<uuid, time_point> last_ran;
    std::map<std::string, bool> start_is_ours;  // by machine's UUID: a daemon of ours wrote its last `start`
    std::set<uuid> rash_starts;                 // a reference node started it, on a client's word, beside ours

private:
    void on_change(const recorded_change& change);

    std::vector<void (*)(judge&)> quiet_rules_;  // all of them: most moments ask for nothing else
    std::vector<life_record> lives_;
    std::map<std::string, std::string> last_state_;  // per record and key, for the transitions
    time_point last_now_{};
    time_point next_second_{};
    std::uint64_t seconds_ = 0;
    bool is_tenth_ = false;
    std::optional<violation> broken_;
};

}  // namespace pvc::sim
