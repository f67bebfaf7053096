// What the tests of whole daemons share: a loop, an ensemble, nodes, and questions about what was written when.
#pragma once

#include "sim/sim_node.hpp"

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
            node.connector.link().mend();
            node.connector.link().end_silence();
            node.connector.link().answer_delay = node.connector.link().write_answer_delay = {};
            node.stop();
        }
    }

    sim_node& add(sim::node_settings settings = {}) { return nodes.emplace_back(loop, ensemble, std::move(settings)); }
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
    [[nodiscard]] std::string value(const std::string& path) const {
        return ensemble.get(path).value_or("<missing>");
    }
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
