// Clusters whose daemons are asked all the time, well and badly: they go the same way, and each kind of asking is met.
#include "sim/world/asking.hpp"

#include "sim/world/asker.hpp"
#include "sim/world/random_run.hpp"

#include <gtest/gtest.h>

namespace pvc::sim {
namespace {

TEST(asking, changes_nothing_and_meets_every_moment) {
    std::map<std::string, std::uint64_t> seen;
    for (const std::uint64_t seed : {4UL, 17UL, 212UL}) {
        run_settings wanted;
        wanted.seed = seed;
        wanted.length = std::chrono::minutes(20);
        const auto alone = run_once(wanted);
        wanted.ask = true;
        const auto asked = run_once(wanted);
        EXPECT_FALSE(asked.broken) << asked.broken->invariant << ": " << asked.broken->what;
        EXPECT_EQ(asked.hash, alone.hash) << seed;
        EXPECT_EQ(asked.steps, alone.steps) << seed;
        for (const auto& [name, count] : asked.seen) {
            seen[name] += count;
        }
    }
    for (const std::string_view name : {"connected",
                                        "not connected",
                                        "status answered",
                                        "tasks answered",
                                        "daemon answered",
                                        "ready answered",
                                        "config show answered",
                                        "log level answered",
                                        "log follow answered",
                                        "log follow told",
                                        "vm show not-found",
                                        "refused refused",
                                        "refused bad-request",
                                        "refused too-late",
                                        "hung up on",
                                        "ended with the daemon",
                                        "page 200",
                                        "page 400",
                                        "page 404",
                                        "page 405"}) {
        EXPECT_GT(seen["asked " + std::string(name)], 0U) << name;
    }
}

// One node whose daemon stops in order, or is killed, while all sorts of programs are connected.
class asked_node : public testing::Test {
protected:
    asked_node() {
        node().beside = [this] {
            auto made = std::make_unique<asked_servers>(node(), machine, 1);
            servers = made.get();
            return made;
        };
        start();
        for (std::size_t i = 0; i < asker::manners; ++i) {
            come(static_cast<asker::manner>(i));
        }
    }
    ~asked_node() override {
        clients.clear();
        node().drop_beside();
    }
    void start() {
        const auto done = world.perform(action("start", "hv1"));
        EXPECT_TRUE(done);
        pass(60s);
    }
    static cluster_settings settings() {
        cluster_settings out;
        node_settings node;
        node.coordinators = {"hv1"};
        node.control_group = "operators";
        node.metrics_port = 9711;
        out.nodes.push_back(node);
        return out;
    }
    void pass(duration time) {
        const time_point until = world.now() + time;
        while (world.now() < until && world.step()) {
            if (node().is_running()) {
                servers->run_all();
            }
        }
    }
    sim_node& node() { return world.members.front()->node; }
    void come(asker::manner how) {
        clients.push_back(asker::come(how, machine.local, servers->path(), machine.tcp, 9711,
                                      random.split(clients.size()), {world.now(), {}, node().lives(), true}));
        ASSERT_NE(clients.back(), nullptr);
        clients.back()->turn({world.now(), {}, node().lives(), true}, told);
        servers->run_all();
    }

    cluster world{settings()};
    asked_machine machine{node().clock};
    asked_servers* servers = nullptr;
    random_source random{1};
    std::vector<std::unique_ptr<asker>> clients;
    asker::counts told;
};

TEST_F(asked_node, nothing_is_left_behind_by_a_stop) {
    EXPECT_GT(machine.local.open(), 2U);
    EXPECT_GT(machine.tcp.open(), 0U);
    const std::string path = servers->path();
    const auto done = world.perform(action("terminate", "hv1"));
    EXPECT_TRUE(done);
    pass(120s);
    EXPECT_FALSE(node().is_running());
    EXPECT_EQ(machine.left_behind.value_or(""), "");
    EXPECT_EQ(machine.local.open() + machine.tcp.open() + machine.tcp.listeners(), 0U);
    EXPECT_FALSE(machine.local.exists(path));
}

TEST_F(asked_node, nothing_but_the_file_is_left_behind_by_a_kill) {
    const std::string path = servers->path();
    node().kill();
    EXPECT_EQ(machine.left_behind.value_or(""), "");
    EXPECT_EQ(machine.local.open() + machine.tcp.open() + machine.tcp.listeners(), 0U);
    EXPECT_TRUE(machine.local.exists(path));
    EXPECT_EQ(machine.local.connect(path), nullptr);
    // The next one takes its place.
    start();
    EXPECT_NE(machine.local.connect(path), nullptr);
}

}  // namespace
}  // namespace pvc::sim
