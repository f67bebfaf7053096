// Watches a simulated cluster and knows what must never happen (rules, after every step) and what must happen once
// nothing disturbs it any more (progress). The rules are small named functions that subjects bring (rule.hpp). They
// look at what a step changed, not at the whole world.
#pragma once

#include "sim/world/cluster.hpp"
#include "sim/world/registry.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pvc::sim {

// A node of a lock's queue, and its place there.
inline bool is_lock_child(std::string_view path) {
    return path.find("lock__") != std::string_view::npos;
}
inline std::string_view sequence_of(std::string_view lock_child) {
    return lock_child.substr(lock_child.size() - std::min<std::size_t>(lock_child.size(), 10));
}

inline double seconds(duration time) {
    return std::chrono::duration<double>(time).count();
}

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
    std::uint64_t pauses_by_then = 0;
    std::optional<time_point> asked_to_stop;
    bool was_calm_while_stopping = false;
    time_point job_until{};  // a flush or unflush was under way while it was to stop
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
    // What a subject remembers of this run.
    template <class T>
    [[nodiscard]] T& state() const {
        return states_.of<T>();
    }
    // For `transitions`: "machine start stop".
    void count_change(const std::string& path, std::string_view who, const std::string& value);
    // The same of a word in a node's own record, if the node itself wrote it: "routerstate secondary primary".
    void count_word(const seen_change& seen);

private:
    void on_change(const recorded_change& change);
    struct second_rule {
        const rule* is;
        // By member's number: what was read when nothing was wrong there last.
        std::vector<std::optional<member_rule::versions>> right{};
    };
    void ask_of_members(second_rule& one);

    mutable states states_;
    std::vector<const rule*> change_rules_;  // those that look at it
    std::vector<const rule*> record_rules_;
    std::vector<const rule*> quiet_rules_;
    std::vector<second_rule> second_rules_;
    std::vector<life_record> lives_;
    std::map<std::string, std::string> last_state_;  // per record and key, for the transitions
    time_point last_now_{};
    time_point next_second_{};
    std::uint64_t seconds_ = 0;
    bool is_tenth_ = false;
    std::optional<violation> broken_;
};

// What a key says, for messages.
inline std::string value_of(const judge& of, const std::string& path) {
    return of.world.ensemble.get(path).value_or("<missing>");
}

}  // namespace pvc::sim
