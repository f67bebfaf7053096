// Faults drawn from a seed. Each run enables a random part of all kinds with random weights, and acts rarely or all the
// time ("swarm testing": extreme mixes appear that an even mix never shows).
#pragma once

#include "sim/world/cluster.hpp"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace pvc::sim {

class chaos {
public:
    // `kinds`: what may happen at all; empty: everything. The run's seed chooses among them.
    // One seed of eight is dense: faults follow each other all the time.
    chaos(cluster& world, random_source random, const std::vector<action_kind>& kinds, bool always_dense = false);

    // Whether random runs do such a thing at all.
    [[nodiscard]] static bool is_drawn(action_kind kind);

    // Does what is due. Cheap when nothing is.
    void act();
    [[nodiscard]] time_point next() const { return next_; }
    // What a client did by mistake and takes back at the end.
    void take_back();
    // The mix of this seed, for a report.
    [[nodiscard]] std::string text() const;

private:
    struct weighted {
        action_kind kind;
        std::uint64_t weight;
    };
    struct planned {
        time_point at;
        action what;
    };
    [[nodiscard]] action draw();
    void draw_put(action& out);
    // What comes of it later.
    action& follow_up(duration delay, action_kind kind);
    [[nodiscard]] duration some_time(duration least, duration most);
    [[nodiscard]] const std::string& some_node();
    [[nodiscard]] const std::string& some_member();
    [[nodiscard]] const std::string& some_host();
    [[nodiscard]] std::int64_t some_guest();
    void disturb_migration(std::int64_t number);
    void break_reply(std::int64_t number, const std::string& target);
    void draw_call(action& out);
    void plan_next();
    void perform(const action& what);

    cluster& world_;
    random_source random_;
    std::vector<weighted> mix_;
    std::uint64_t total_weight_ = 0;
    duration mean_gap_{};
    time_point next_{};
    async::timer timer_;  // makes time pass until then, should nothing else
    std::vector<planned> follow_ups_;
    std::vector<std::pair<std::string, std::string>> to_restore_;
};

}  // namespace pvc::sim
