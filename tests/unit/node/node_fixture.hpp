// What the tests of whole daemons share: a loop, an ensemble, nodes, and questions about what was written when.
#pragma once

#include "sim/sim_node.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <list>

namespace pvc::node {

using namespace std::chrono_literals;
using sim::memory_ensemble;
using sim::recorded_change;
using sim::recorded_kind;
using sim::sim_loop;
using sim::sim_node;

class node_test : public ::testing::Test {
protected:
    node_test() : ensemble(loop.clock()) {}
    void TearDown() override {
        ensemble.thaw();
        if (!ensemble.is_up()) {
            ensemble.start();
        }
        for (auto& node : nodes) {
            auto& link = node.connector.link();
            link.on_request = nullptr;
            link.mend();
            link.end_silence();
            link.release_answers();
            link.resume();
            link.answer_delay = link.write_answer_delay = link.watch_delay = link.lag = {};
            node.pool.set_full(false);
            node.host.disk_time = 1ms;
            node.stop();
        }
    }

    sim_node& add(sim::node_settings settings = {}) { return nodes.emplace_back(loop, ensemble, std::move(settings)); }
    // A node that runs; without coordinators of its own it is the primary soon.
    sim_node& add_running(sim::node_settings settings = {}) {
        sim_node& node = add(std::move(settings));
        node.start();
        EXPECT_TRUE(node.run_until_ready());
        return node;
    }
    // The same, and it has taken the vacant role.
    sim_node& add_primary(sim::node_settings settings = {}) {
        sim_node& node = add_running(std::move(settings));
        EXPECT_TRUE(run_until([&] { return role_of(node) == "primary"; }));
        return node;
    }
    [[nodiscard]] std::string state_of(const sim_node& node) const {
        return value("/nodes/" + node.settings.name + "/daemonstate");
    }
    [[nodiscard]] std::string role_of(const sim_node& node) const {
        return value("/nodes/" + node.settings.name + "/routerstate");
    }
    // Seconds between the heartbeats since `from`, largest first.
    [[nodiscard]] std::vector<double> beat_gaps(const std::string& name, time_point from) const {
        const auto at = times("/nodes/" + name + "/keepalive", from);
        std::vector<double> gaps;
        for (std::size_t i = 1; i < at.size(); ++i) {
            gaps.push_back(at[i] - at[i - 1]);
        }
        std::ranges::sort(gaps, std::greater());
        return gaps;
    }
    [[nodiscard]] std::vector<std::string> lock_children(const std::string& path) const {
        std::vector<std::string> found;
        std::ranges::copy_if(ensemble.children(path), std::back_inserter(found),
                             [](const std::string& name) { return name.find("lock__") != std::string::npos; });
        return found;
    }
    // A peer that is only a record: alive as long as the test beats for it.
    void put_peer(const std::string& name, const std::string& mode, const std::string& state, const std::string& role) {
        const std::string root = "/nodes/" + name;
        ensemble.put({{root, mode},
                      {root + "/daemonmode", mode},
                      {root + "/daemonstate", state},
                      {root + "/routerstate", role},
                      {root + "/domainstate", "ready"},
                      {root + "/keepalive", "1700000000"},
                      {root + "/latestschema", "10"},
                      {root + "/activeschema", "10"}});
    }
    // Time passes; the named peers check in every 5 s.
    void run_with_beats(duration time, const std::vector<std::string>& peers) {
        const time_point end = loop.clock().now() + time;
        while (loop.clock().now() < end) {
            for (const auto& name : peers) {
                ensemble.put("/nodes/" + name + "/keepalive", std::to_string(++beats_));
            }
            loop.run_for(std::min<duration>(5s, end - loop.clock().now()));
        }
    }
    [[nodiscard]] std::string value(const std::string& path) const { return ensemble.get(path).value_or("<missing>"); }
    // Changes below a path, in order.
    [[nodiscard]] std::vector<recorded_change> changes(const std::string& prefix) const {
        std::vector<recorded_change> found;
        std::ranges::copy_if(ensemble.trace(), std::back_inserter(found), [&](const recorded_change& change) {
            return change.path.starts_with(prefix) &&
                   (change.what == recorded_kind::create || change.what == recorded_kind::set ||
                    change.what == recorded_kind::remove);
        });
        return found;
    }
    [[nodiscard]] std::vector<std::string> values_written(const std::string& path) const {
        std::vector<std::string> values;
        for (const auto& change : changes(path)) {
            if (change.path == path) {
                values.push_back(change.data);
            }
        }
        return values;
    }
    // Seconds since `from` of every change of exactly this key.
    [[nodiscard]] std::vector<double> times(const std::string& path, time_point from = {}) const {
        std::vector<double> at;
        for (const auto& change : changes(path)) {
            if (change.path == path && change.when >= from) {
                at.push_back(std::chrono::duration<double>(change.when - from).count());
            }
        }
        return at;
    }
    [[nodiscard]] bool was_written(const std::string& path, const std::string& data) const {
        return std::ranges::count(values_written(path), data) > 0;
    }
    bool run_until(const std::function<bool()>& done, duration limit = 120s) {
        const time_point until = loop.clock().now() + limit;
        loop.run_until([&] { return done() || loop.clock().now() > until; });
        return done();
    }

    sim_loop loop;
    memory_ensemble ensemble;
    std::list<sim_node> nodes;

private:
    std::int64_t beats_ = 1'700'000'000;
};

}  // namespace pvc::node
