// Faults drawn from a seed. Each run enables a random part of all kinds with random weights, and acts rarely or all the
// time ("swarm testing": extreme mixes appear that an even mix never shows).
//
// Each kind has a stream of random numbers of its own, split from the seed by its name, and moments of its own: what is
// added to the registry later adds events, and leaves the others when and as they were.
#pragma once

#include "pvcnoded/base/random.hpp"
#include "sim/world/registry.hpp"

#include <array>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace pvc::sim {

struct planned_action {
    time_point at;
    action what;
};

// What the arguments of one action are drawn from, and what is to come of it later.
class drawing {
public:
    drawing(cluster& where, random_source stream, std::vector<planned_action>& later,
            std::vector<std::pair<std::string, std::string>>& to_restore)
        : world(where), random{stream}, later_(later), to_restore_(to_restore) {}

    // Each doubling between the two is equally likely.
    [[nodiscard]] duration some_time(duration least, duration most);
    [[nodiscard]] const std::string& some_node();
    // One of ours: the reference does not repair its record.
    [[nodiscard]] const std::string& some_member();
    template <class T, std::size_t count>
    [[nodiscard]] const T& one_of(const std::array<T, count>& all) {
        return all[random.below(count)];
    }
    // Another action, so much later.
    action& follow_up(duration delay, std::string_view name);
    // What a client did by mistake to this key is taken back at the end. Returns what the key said at first, or
    // `otherwise` if there was none.
    const std::string& restore(const std::string& path, const std::string& otherwise);

    cluster& world;
    random_source random;

private:
    std::vector<planned_action>& later_;
    std::vector<std::pair<std::string, std::string>>& to_restore_;
};

class chaos {
public:
    // `kinds`: what may happen at all; empty: everything. The run's seed chooses among them.
    // One seed of eight is dense: faults follow each other all the time.
    chaos(cluster& world, random_source random, const registry& known, const std::vector<std::string>& kinds,
          bool always_dense = false);

    // Does what is due. Cheap when nothing is.
    void act();
    [[nodiscard]] time_point next() const { return next_; }
    // What a client did by mistake and takes back at the end.
    void take_back();
    // The mix of this seed, for a report.
    [[nodiscard]] std::string text() const;

    std::function<void(const action&)> on_drawn;  // told of everything, before it is done

private:
    // One kind of this run.
    struct source {
        const action_kind* kind;
        random_source stream;
        std::uint64_t weight;  // how often, in comparison with others
        std::uint64_t times = 0;
        time_point next{};
        std::vector<planned_action> follow_ups{};
    };
    [[nodiscard]] action draw(source& from);
    [[nodiscard]] duration some_gap(const source& of, random_source& stream) const;
    void perform(const action& what);
    void plan_next();

    cluster& world_;
    std::vector<source> sources_;
    std::uint64_t whole_ = 1;  // the weight of all kinds of such a cluster, as the mean gap is meant
    duration mean_gap_{};
    time_point next_{};
    async::timer timer_;  // makes time pass until then, should nothing else
    std::vector<std::pair<std::string, std::string>> to_restore_;
};

}  // namespace pvc::sim
