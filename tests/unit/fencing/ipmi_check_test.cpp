// The look at the own management controller at the start (node-lifecycle.md 10.6, AC10; README ruling 16).
#include "unit/node/node_fixture.hpp"

#include "pvcnoded/base/text.hpp"

#include <fmt/format.h>

namespace pvc::node {
namespace {

class ipmi_check : public node_test {
protected:
    ipmi_check() { sim::initialise(ensemble, 10); }
    // How ipmitool ends; how long the start took.
    duration start(std::function<void(sim::sim_program&)> ends) {
        sim_node& hv1 = add();
        hv1.boards.add([this, ends = std::move(ends)](const async::command& what) {
            std::optional<sim::sim_program> ran;
            if (what.arguments.front() == "ipmitool" && what.arguments.back() == "status") {
                asked.push_back(what);
                ran.emplace();
                ends(*ran);
            }
            return ran;
        });
        const auto begun = loop.clock().now();
        hv1.start();
        EXPECT_TRUE(hv1.run_until_ready()) << hv1.log();
        const auto took = loop.clock().now() - begun;
        loop.run_for(40s);
        return took;
    }
    // `here`: what the host's own interface tells, `there`: the one in the network, `power`: what that says of the host
    // (empty: it is silent for two minutes, whatever it is asked).
    void start_with_guids(const std::string& here, const std::string& there, const std::string& power = "on") {
        sim_node& hv1 = add();
        const auto silent_until = loop.clock().now() + 2min;
        hv1.boards.add([=, this](const async::command& what) {
            std::optional<sim::sim_program> ran;
            if (what.arguments.front() != "ipmitool") {
                return ran;
            }
            if (power.empty() && what.arguments[2] != "open" && loop.clock().now() < silent_until) {
                ran.emplace();
                ran->takes = 60s;
            } else if (what.arguments.back() == "status" && !power.empty()) {
                ran.emplace();
                ran->output = "Chassis Power is " + power + "\n";
            } else if (what.arguments.back() == "guid") {
                ran.emplace();
                ran->output = "System GUID  : " + (what.arguments[2] == "open" ? here : there) + "\n";
            }
            return ran;
        });
        hv1.start();
        EXPECT_TRUE(hv1.run_until_ready()) << hv1.log();
        loop.run_for(5s);
    }
    [[nodiscard]] std::string said() {
        std::string lines;
        const std::string text = nodes.back().log();
        for (const auto line : split(text, '\n')) {
            lines += line.find("IPMI") != std::string_view::npos ? std::string(line) + "\n" : "";
        }
        return lines;
    }
    std::vector<async::command> asked;
};

TEST_F(ipmi_check, ac10_a_it_answers) {
    start([](sim::sim_program& ran) { ran.output = "Chassis Power is on\n"; });
    EXPECT_EQ(said(),
              "ok: IPMI interface " + nodes.back().daemon().context().config->ipmi.host + " of this node answers\n");
    ASSERT_EQ(asked.size(), 1U);
    const auto& board = nodes.back().daemon().context().config->ipmi;
    EXPECT_EQ(asked[0].arguments, (std::vector<std::string>{"ipmitool", "-I", "lanplus", "-H", board.host, "-U",
                                                            board.user, "-E", "chassis", "power", "status"}));
    EXPECT_EQ(asked[0].environment,
              (std::vector<std::pair<std::string, std::string>>{{"IPMI_PASSWORD", board.pass.reveal()}}));
}

// README ruling 41: boards that need 5 to 10 s exist, and whoever fences waits for them.
TEST_F(ipmi_check, a_slow_board_is_said) {
    start([](sim::sim_program& ran) {
        ran.output = "Chassis Power is on\n";
        ran.takes = 6s;
    });
    EXPECT_EQ(said(), "warning: IPMI interface " + nodes.back().daemon().context().config->ipmi.host +
                          " of this node answers only after 6 s; fencing.ipmi.cipher_suite on the nodes that ask may "
                          "make it faster [ipmi-slow]\n");
}

TEST_F(ipmi_check, ac10_b_to_d_a_warning_and_the_start_is_the_same) {
    struct line {
        std::function<void(sim::sim_program&)> ends;
        std::string says;
    };
    const auto usual = start([](sim::sim_program& ran) { ran.output = "Chassis Power is on\n"; });
    nodes.pop_back();
    ensemble.remove_tree("/nodes");
    for (const auto& one : {
             line{[](auto& ran) { ran.output = "Chassis Power is off\n"; },
                  "expected \"Chassis Power is on\", got \"Chassis Power is off\""},
             line{[](auto& ran) {
                      ran.how = async::exited{1};
                      ran.error_output = "Error: Unable to establish IPMI v2 / RMCP+ session\nmore\n";
                  },
                  "exit status 1, Error: Unable to establish IPMI v2 / RMCP+ session"},
             line{[](auto& ran) { ran.takes = 60s; }, "no answer within 30 s"},
             line{[](auto& ran) { ran.refused = failure(errc::not_found, "ipmitool", "no such file"); }, "ipmitool"},
         }) {
        EXPECT_EQ(start(one.ends), usual) << one.says;
        EXPECT_TRUE(said().starts_with("warning: IPMI interface ")) << said();
        EXPECT_NE(said().find(one.says), std::string::npos) << said();
        EXPECT_EQ(std::ranges::count(said(), '\n'), 1);
        nodes.pop_back();
        ensemble.remove_tree("/nodes");
    }
}

TEST_F(ipmi_check, it_ends_with_the_attempt) {
    start([](sim::sim_program& ran) { ran.output = "Chassis Power is on\n"; });
    nodes.pop_back();
    ensemble.remove_tree("/nodes");
    sim_node& hv1 = add();
    hv1.boards.add([](const async::command& what) {
        std::optional<sim::sim_program> ran;
        if (what.arguments.front() == "ipmitool" && what.arguments.back() == "status") {
            ran.emplace();
            ran->takes = 60s;
        }
        return ran;
    });
    hv1.start();
    ASSERT_TRUE(hv1.run_until_ready());
    EXPECT_EQ(hv1.boards.running(), 1U);
    hv1.terminate();
    EXPECT_TRUE(run_until([&] { return hv1.exit_status == 0; }, 2s)) << hv1.log();
    EXPECT_EQ(hv1.boards.running(), 0U);
}

// README ruling 42: who fenced this node by that entry would switch off another.
TEST_F(ipmi_check, another_nodes_board_is_not_published) {
    start_with_guids("31303043-534d-2500-90d8-7a1600000001", "31303043-534d-2500-90d8-7a1600000002");
    EXPECT_EQ(values_written("/nodes/hv1/ipmihostname"), (std::vector<std::string>{"hv1-lom", ""}));
    EXPECT_NE(
        said().find("failed: IPMI interface hv1-lom is not that of this node (its GUID is 31303043-534d-2500-90d8-"
                    "7a1600000002, that of this host's board 31303043-534d-2500-90d8-7a1600000001)"),
        std::string::npos)
        << said();
    loop.run_for(1h);
    EXPECT_EQ(split(said(), '\n').size(), 4U) << said();  // again each hour
    EXPECT_EQ(values_written("/nodes/hv1/ipmihostname").size(), 2U) << "the tick knows that it is empty";

    nodes.pop_back();
    ensemble.remove_tree("/nodes");
    for (const auto& [here, there] : std::vector<std::pair<std::string, std::string>>{
             {"31303043-534d-2500-90d8-7a1600000001", "31303043-534D-2500-90D8-7A1600000001"},
             {"00000000-0000-0000-0000-000000000000", "31303043-534d-2500-90d8-7a1600000001"},
             {"31303043-534d-2500-90d8-7a1600000001", "ffffffff-ffff-ffff-ffff-ffffffffffff"},
             {"garbage", "31303043-534d-2500-90d8-7a1600000001"}}) {
        start_with_guids(here, there);
        EXPECT_EQ(ensemble.get("/nodes/hv1/ipmihostname"), "hv1-lom") << here;
        EXPECT_EQ(said(), "ok: IPMI interface hv1-lom of this node answers\n") << here;
        nodes.pop_back();
        ensemble.remove_tree("/nodes");
    }
}

// A board that says `off` of a host that runs is the plainest sign of another's; one that is silent may be heard later.
TEST_F(ipmi_check, another_nodes_board_is_found_whatever_it_says_of_the_power) {
    const std::string here = "31303043-534d-2500-90d8-7a1600000001";
    const std::string there = "31303043-534d-2500-90d8-7a1600000002";
    start_with_guids(here, there, "off");
    EXPECT_EQ(values_written("/nodes/hv1/ipmihostname"), (std::vector<std::string>{"hv1-lom", ""}));
    EXPECT_NE(said().find("is not that of this node"), std::string::npos) << said();

    nodes.pop_back();
    ensemble.remove_tree("/nodes");
    start_with_guids(here, there, "");
    EXPECT_EQ(ensemble.get("/nodes/hv1/ipmihostname"), "hv1-lom");
    loop.run_for(6min);
    EXPECT_EQ(ensemble.get("/nodes/hv1/ipmihostname"), "") << said();
    EXPECT_EQ(nodes.back().boards.running(), 0U);
}

// Its driver may come later than the daemon.
TEST_F(ipmi_check, an_own_interface_that_fails_is_asked_again) {
    sim_node& hv1 = add();
    bool is_there = false;
    hv1.boards.add([&](const async::command& what) {
        std::optional<sim::sim_program> ran;
        if (what.arguments.front() == "ipmitool" && what.arguments.back() == "guid") {
            ran.emplace();
            const bool is_own = what.arguments[2] == "open";
            ran->output = fmt::format("System GUID  : 31303043-534d-2500-90d8-7a160000000{}\n", is_own ? 1 : 2);
            if (is_own && !is_there) {
                ran->output.clear();
                ran->how = async::exited{1};
            }
        }
        return ran;
    });
    hv1.start();
    ASSERT_TRUE(hv1.run_until_ready()) << hv1.log();
    loop.run_for(30min);
    EXPECT_EQ(ensemble.get("/nodes/hv1/ipmihostname"), "hv1-lom");
    is_there = true;
    loop.run_for(40min);
    EXPECT_EQ(ensemble.get("/nodes/hv1/ipmihostname"), "") << said();
}

}  // namespace
}  // namespace pvc::node
