// The fixture of tests that do something to a simulated cluster and ask its judge: what they say often.
#pragma once

#include "sim/world/judge.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pvc::sim {

class judged_cluster : public ::testing::Test {
protected:
    explicit judged_cluster(std::vector<node_settings> nodes) : world(cluster_of(std::move(nodes))) {}

    // hv1 and hv2, both coordinators and otherwise `like` this.
    static std::vector<node_settings> two_nodes(const node_settings& like) {
        std::vector<node_settings> nodes;
        for (const std::string name : {"hv1", "hv2"}) {
            auto& node = nodes.emplace_back(like);
            node.name = name;
            node.coordinators = {"hv1", "hv2"};
            node.storage_address = "10.254.0." + name.substr(2) + "/24";
        }
        return nodes;
    }
    // A line of a scenario.
    void perform(std::string_view line) {
        const auto what = parse_action(line);
        ASSERT_TRUE(what) << line;
        ASSERT_TRUE(world.perform(*what)) << line;
    }
    void pass(duration time) {
        const time_point end = world.now() + time;
        world.later.after(time, [] {});
        while (world.now() < end && world.step()) {
            watch.look();
        }
    }
    // The rule that was broken first; whether what is missing is said with this text.
    [[nodiscard]] std::string broken() const { return watch.broken() ? watch.broken()->invariant : ""; }
    [[nodiscard]] bool misses(std::string_view text) const {
        return std::ranges::any_of(watch.missing(),
                                   [&](const auto& one) { return one.find(text) != std::string::npos; });
    }
    void assert_calm() const {
        ASSERT_EQ(broken(), "");
        ASSERT_TRUE(watch.missing().empty()) << watch.missing().front();
    }

    cluster world;
    judge watch{world};

private:
    static cluster_settings cluster_of(std::vector<node_settings> nodes) {
        cluster_settings settings;
        settings.nodes = std::move(nodes);
        return settings;
    }
};

}  // namespace pvc::sim
