// What the tests of foreign nodes share: a loop, an ensemble with an initialised cluster, nodes, a client, and
// questions about what is stored and was written.
#pragma once

#include "sim/foreign/foreign_node.hpp"
#include "sim/foreign/scripted_client.hpp"
#include "sim/sim_node.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <list>

namespace pvc::sim {

class foreign_test : public ::testing::Test {
protected:
    foreign_test() : ensemble(loop.clock()), client(loop, ensemble) { initialise(ensemble, 10); }
    void TearDown() override {
        for (auto& node : foreign) {
            EXPECT_EQ(node.complaint(), "") << node.settings.name;
        }
        for (auto& node : ours) {
            node.stop();
        }
    }

    foreign_node& add(foreign_settings settings) { return foreign.emplace_back(loop, ensemble, std::move(settings)); }
    foreign_node& add_running(foreign_settings settings) {
        foreign_node& node = add(std::move(settings));
        node.start();
        EXPECT_TRUE(run_until([&] { return node.is_ready(); }));
        return node;
    }
    // One of ours; the functions are off.
    sim_node& add_ours(node_settings settings) {
        sim_node& node = ours.emplace_back(loop, ensemble, std::move(settings));
        node.start();
        EXPECT_TRUE(node.run_until_ready());
        return node;
    }
    bool run_until(const std::function<bool()>& done, duration limit = 60s) {
        const time_point until = loop.clock().now() + limit;
        loop.run_until([&] { return done() || loop.clock().now() > until; });
        return done();
    }
    bool run_until_role(const std::string& node, const std::string& role, duration limit = 60s) {
        return run_until([&] { return value("/nodes/" + node + "/routerstate") == role; }, limit);
    }
    [[nodiscard]] std::string value(const std::string& path) const { return ensemble.get(path).value_or("<missing>"); }
    [[nodiscard]] std::vector<std::string> values_written(const std::string& path) const {
        std::vector<std::string> values;
        for (const auto& change : ensemble.trace()) {
            if (change.path == path && (change.what == recorded_kind::create || change.what == recorded_kind::set)) {
                values.push_back(change.data);
            }
        }
        return values;
    }
    // Last parts of the keys written in the transaction that set this key last, in order.
    [[nodiscard]] std::vector<std::string> written_with(const std::string& path) const {
        const auto& trace = ensemble.trace();
        const auto last = std::find_if(trace.rbegin(), trace.rend(), [&](const auto& one) { return one.path == path; });
        std::vector<std::string> names;
        for (const auto& one : trace) {
            if (last != trace.rend() && one.zxid == last->zxid &&
                (one.what == recorded_kind::create || one.what == recorded_kind::set)) {
                names.emplace_back(last_part_of(one.path));
            }
        }
        return names;
    }
    [[nodiscard]] std::size_t lock_children(const std::string& path) const {
        return static_cast<std::size_t>(std::ranges::count_if(
            ensemble.children(path), [](const std::string& name) { return name.find("lock__") != std::string::npos; }));
    }

    sim_loop loop;
    memory_ensemble ensemble;
    scripted_client client;
    std::list<foreign_node> foreign;
    std::list<sim_node> ours;
};

}  // namespace pvc::sim
