// Coordinators find out whether their peers could be fenced (README rulings 41, 42).
#include "unit/node/node_fixture.hpp"

#include "pvcnoded/base/text.hpp"
#include "pvcnoded/core/fence_desk.hpp"
#include "sim/sim_bmc.hpp"

namespace pvc::node {
namespace {

class board_probes : public node_test {
protected:
    board_probes() { sim::initialise(ensemble, 10); }
    // A node that is only a record, with a board of its own.
    sim::sim_bmc& put_node(const std::string& name, const std::string& state = "run") {
        put_peer(name, "hypervisor", state, "secondary");
        const std::string root = "/nodes/" + name;
        ensemble.put({{root + "/ipmihostname", name + "-lom"},
                      {root + "/ipmiusername", "admin"},
                      {root + "/ipmipassword", "Passw0rd"}});
        auto& board = boards.emplace_back(name + "-lom", &loop.clock());
        board.address = "192.0.2." + name.substr(2);
        board.guid = "31303043-534d-2500-90d8-7a160000000" + name.substr(2);
        return board;
    }
    sim_node& start(sim::node_settings settings = {}) {
        sim_node& hv1 = add(std::move(settings));
        for (auto& board : boards) {
            board.attach(hv1.boards);
        }
        hv1.start();
        EXPECT_TRUE(hv1.run_until_ready()) << hv1.log();
        return hv1;
    }
    void run_beating(duration time) {
        std::vector<std::string> names;
        for (const auto& board : boards) {
            names.push_back(board.host.substr(0, 3));
        }
        run_with_beats(time, names);
    }
    [[nodiscard]] std::string said(const std::string& about) {
        std::string lines;
        const std::string text = nodes.back().log();
        for (const auto line : split(text, '\n')) {
            lines += line.find(about) != std::string_view::npos ? std::string(line) + "\n" : "";
        }
        return lines;
    }
    result<core::explanation> probe(sim_node& node, const std::string& name, duration within = 60s) {
        const auto all = core::all_that_are<core::board_prober>(node.daemon().subjects());
        EXPECT_EQ(all.size(), 1U);
        const auto answer = all.front()->probe_board(name, loop.clock().now() + within);
        run_until([&] { return answer->answer.has_value(); }, within);
        EXPECT_TRUE(answer->answer);
        return answer->answer.value_or(failure(errc::timed_out));
    }
    static core::explained_value fact(const result<core::explanation>& told, std::string_view name) {
        for (const auto& [key, value] : told->facts) {
            if (key == name) {
                return value;
            }
        }
        return {};
    }
    std::list<sim::sim_bmc> boards;
};

TEST_F(board_probes, each_peer_at_once_and_every_ten_minutes_one_by_one) {
    put_node("hv2");
    put_node("hv3");
    sim_node& hv1 = start();
    run_beating(10s);
    for (const auto& board : boards) {
        EXPECT_EQ(board.heard(), (std::vector<std::string>{"status", "guid"})) << board.host;
    }
    EXPECT_LE(hv1.boards.running(), 1U);
    run_beating(9min);
    EXPECT_EQ(boards.front().commands(), 2U);
    run_beating(2min);
    EXPECT_EQ(boards.front().commands(), 4U);
    EXPECT_EQ(boards.back().commands(), 4U);
    EXPECT_EQ(said("fenced"), "");
    // The password is in no argument and in no line of the log.
    for (const auto& line : hv1.boards.lines()) {
        EXPECT_EQ(line.find("Passw0rd"), std::string::npos) << line;
    }
    EXPECT_EQ(hv1.log().find("Passw0rd"), std::string::npos);
}

TEST_F(board_probes, what_could_not_be_fenced_is_said_and_said_again_each_hour) {
    put_node("hv2").is_reachable = false;
    put_node("hv3");
    start();
    run_beating(2min);
    EXPECT_EQ(said("hv2 could not"),
              "warning: node hv2 could not be fenced now: its board 192.0.2.2 does not answer (exit status 1, Error: "
              "Unable to establish IPMI v2 / RMCP+ session) [board-unusable]\n");
    EXPECT_EQ(said("node hv3 could"), "");
    run_beating(80min);
    EXPECT_EQ(split(said("hv2 could not"), '\n').size(), 3U) << said("node hv2 could");
    boards.front().is_reachable = true;
    run_beating(11min);
    EXPECT_EQ(said("hv2 can be"), "info: node hv2 can be fenced: its board 192.0.2.2 answers within 0.3 s\n");
}

TEST_F(board_probes, keys_that_nobody_can_be_asked_with) {
    put_node("hv2");
    put_node("hv3");
    put_node("hv4");
    put_node("hv5");
    ensemble.remove_tree("/nodes/hv2/ipmihostname");
    ensemble.put("/nodes/hv3/ipmihostname", "\"hv3\"\n");
    ensemble.put("/nodes/hv4/ipmipassword", std::string(10240, 'x'));
    ensemble.put("/nodes/hv5/ipmihostname", "nobody-lom");
    sim_node& hv1 = start();
    hv1.boards.add({"getent", "ahosts", "nobody-lom"}, {.how = async::exited{2}});
    run_beating(30s);
    EXPECT_EQ(said("node hv2 could"),
              "warning: node hv2 could not be fenced now: its key ipmihostname is empty "
              "[board-unusable]\n");
    EXPECT_EQ(said("node hv3 could"),
              "warning: node hv3 could not be fenced now: its key ipmihostname is neither a host name "
              "nor an address: \"hv3\"? [board-unusable]\n");
    EXPECT_EQ(said("node hv4 could"),
              "warning: node hv4 could not be fenced now: its key ipmipassword has 10240 bytes, more "
              "than the 20 that are possible [board-unusable]\n");
    EXPECT_EQ(boards.front().commands(), 0U);
}

TEST_F(board_probes, a_board_that_two_nodes_name_is_used_for_none) {
    put_node("hv2");
    put_node("hv3");
    ensemble.put("/nodes/hv3/ipmihostname", "192.0.2.2");
    start();
    run_beating(30s);
    EXPECT_EQ(said("node hv3 could"),
              "failed: node hv3 could not be fenced now: its board is the same as that of node hv2 "
              "[board-foreign]\n");
    const auto told = probe(nodes.back(), "hv2");
    EXPECT_EQ(fact(told, "can_be_fenced"), core::explained_value(false));
    EXPECT_EQ(fact(told, "why_not"), core::explained_value("its board is the same as that of node hv3"));
}

// Whatever was said of that board a moment ago.
TEST_F(board_probes, that_two_nodes_name_a_board_is_said_at_once_and_so_is_its_end) {
    put_node("hv2").is_reachable = false;
    put_node("hv3");
    start();
    run_beating(2min);
    EXPECT_NE(said("node hv2 could"), "");
    boards.front().is_reachable = true;
    ensemble.put("/nodes/hv2/ipmihostname", "hv3-lom");
    EXPECT_TRUE(probe(nodes.back(), "hv2"));
    run_beating(1s);
    EXPECT_NE(said("node hv2 could").find("the same as that of node hv3 [board-foreign]"), std::string::npos)
        << nodes.back().log();
    ensemble.put("/nodes/hv2/ipmihostname", "hv2-lom");
    EXPECT_TRUE(probe(nodes.back(), "hv2"));
    run_beating(1s);
    EXPECT_NE(said("hv2 can be fenced"), "") << nodes.back().log();
}

// Who fenced hv3 by its entry would switch itself off.
TEST_F(board_probes, the_own_board_is_no_others) {
    put_node("hv2").address = "192.0.2.77";
    sim_node& hv1 = add();
    boards.front().attach(hv1.boards);
    hv1.boards.add({"getent", "ahosts", "hv1-lom"}, {.output = "192.0.2.77  STREAM hv1-lom\n"});
    hv1.start();
    ASSERT_TRUE(hv1.run_until_ready());
    run_beating(30s);
    EXPECT_EQ(said("node hv2 could"),
              "failed: node hv2 could not be fenced now: its board is the same as that of node hv1 "
              "[board-foreign]\n");
    std::vector<std::string> lines;
    for (const auto* one : core::all_that_are<core::reporter>(hv1.daemon().subjects())) {
        one->report(lines);
    }
    EXPECT_EQ(std::ranges::count(lines, "boards: 0 of 1 other nodes asked so far could be fenced now"), 1);
}

// It takes 20 s, and none of the others waits for it.
TEST_F(board_probes, a_silent_own_board_delays_nobody) {
    sim::sim_bmc own("hv1-lom", &loop.clock());
    own.address = "192.0.2.1";
    own.is_reachable = false;
    put_node("hv2");
    sim_node& hv1 = add();
    own.attach(hv1.boards);
    boards.front().attach(hv1.boards);
    hv1.start();
    ASSERT_TRUE(hv1.run_until_ready());
    run_beating(5s);
    EXPECT_EQ(boards.front().heard(), (std::vector<std::string>{"status", "guid"})) << hv1.log();
    hv1.kill();
}

// It is another's, or lies: either way nobody is to be fenced through it.
TEST_F(board_probes, a_board_that_says_off_of_a_node_that_checks_in) {
    put_node("hv2").is_machine_on = false;
    start();
    run_beating(40s);
    EXPECT_EQ(said("node hv2 could"),
              "failed: node hv2 could not be fenced now: its board 192.0.2.2 said off while the node "
              "checked in: it is another's, or lies [board-foreign]\n");
    const auto before = boards.front().commands();
    run_beating(70s);
    EXPECT_GT(boards.front().commands(), before);  // asked again each minute
    boards.front().is_machine_on = true;
    run_beating(70s);
    EXPECT_NE(said("hv2 can be fenced"), "");
}

// Its last heartbeat came before its board said `off`.
TEST_F(board_probes, a_node_that_loses_its_power_during_a_probe_leaves_a_board_to_be_trusted) {
    put_node("hv2");
    sim_node& hv1 = start();
    run_beating(20s);
    auto& board = boards.front();
    board.answer_time = 1500ms;
    board.is_machine_on = false;
    const auto all = core::all_that_are<core::board_prober>(hv1.daemon().subjects());
    const auto answer = all.front()->probe_board("hv2", loop.clock().now() + 60s);
    loop.run_for(500ms);
    ensemble.put("/nodes/hv2/keepalive", "1800000000");
    loop.run_for(25s);
    ASSERT_TRUE(answer->answer && *answer->answer);
    EXPECT_EQ(fact(*answer->answer, "power"), core::explained_value("off"));
    EXPECT_EQ(fact(*answer->answer, "can_be_fenced"), core::explained_value(true));
    EXPECT_EQ(said("node hv2 could"), "");
}

// A reading that failed says nothing of the board.
TEST_F(board_probes, keys_that_could_not_be_read_are_read_again_soon) {
    put_node("hv2");
    put_node("hv3");
    sim_node& hv1 = add();
    for (auto& board : boards) {
        board.attach(hv1.boards);
    }
    int failed = 0;
    const auto until = loop.clock().now() + 8s;
    hv1.connector.link().on_request = [&](const zookeeper::request& request) {
        const bool is_keys = request.path == "/nodes/hv2/ipmihostname";
        failed += is_keys && loop.clock().now() < until ? 1 : 0;
        return is_keys && loop.clock().now() < until ? sim::verdict::drop_before : sim::verdict::answer;
    };
    hv1.start();
    run_beating(40s);
    EXPECT_GT(failed, 0);
    EXPECT_LT(failed, 100);
    EXPECT_EQ(boards.front().commands(), 2U) << hv1.log();
    EXPECT_EQ(boards.back().commands(), 2U) << hv1.log();
}

// Who was alone when it started.
TEST_F(board_probes, nodes_that_came_later_are_probed_every_ten_minutes_too) {
    start();
    put_node("hv2").attach(nodes.back().boards);
    put_node("hv3").attach(nodes.back().boards);
    run_beating(30s);
    EXPECT_EQ(boards.front().commands(), 2U);
    EXPECT_EQ(boards.back().commands(), 2U);
    run_beating(10min);
    EXPECT_EQ(boards.front().commands(), 4U);
    EXPECT_EQ(boards.back().commands(), 4U);
}

TEST_F(board_probes, neither_in_maintenance_nor_of_a_node_that_is_dead) {
    put_node("hv2", "dead");
    put_node("hv3");
    ensemble.put("/config/maintenance", "True");
    sim_node& hv1 = start();
    run_beating(2min);
    EXPECT_EQ(boards.back().commands(), 0U);
    const auto refused = probe(hv1, "hv3");
    EXPECT_TRUE(!refused && refused.error().code() == errc::refused);
    ensemble.put("/config/maintenance", "False");
    run_beating(1min);
    EXPECT_EQ(boards.back().commands(), 2U);
    EXPECT_EQ(boards.front().commands(), 0U);
    const auto dead = probe(hv1, "hv2");
    EXPECT_TRUE(!dead && dead.error().cause().starts_with("the node is dead or fenced")) << dead.error().text();
}

TEST_F(board_probes, one_that_was_dead_is_probed_within_a_minute_of_its_return) {
    put_node("hv2");
    put_node("hv3", "dead");
    sim_node& hv1 = start();
    run_beating(30s);
    ASSERT_EQ(boards.front().commands(), 2U) << hv1.log();
    ASSERT_EQ(boards.back().commands(), 0U) << hv1.log();
    ensemble.put("/nodes/hv3/daemonstate", "run");
    run_beating(65s);
    EXPECT_EQ(boards.back().commands(), 2U) << hv1.log();
    EXPECT_EQ(boards.front().commands(), 2U) << "its turn is in ten minutes";
}

TEST_F(board_probes, asked_for_by_hand) {
    auto& board = put_node("hv2");
    board.only_suite = 3;
    board.only_operators = true;
    sim_node& hv1 = start();
    run_beating(40s);
    const auto told = probe(hv1, "hv2");
    ASSERT_TRUE(told) << told.error().text();
    EXPECT_EQ(fact(told, "can_be_fenced"), core::explained_value(true));
    EXPECT_EQ(fact(told, "cipher_suite"), core::explained_value(3.0));
    EXPECT_EQ(fact(told, "as_operator"), core::explained_value(true));
    EXPECT_EQ(fact(told, "power"), core::explained_value("on"));
    EXPECT_EQ(fact(told, "address"), core::explained_value("192.0.2.2"));
    EXPECT_FALSE(probe(hv1, "hv9"));
    EXPECT_FALSE(probe(hv1, "hv1"));
    // A board that hangs is left when the session ends, and who asked is told.
    board.is_reachable = false;
    const auto all = core::all_that_are<core::board_prober>(hv1.daemon().subjects());
    const auto answer = all.front()->probe_board("hv2", loop.clock().now() + 60s);
    loop.run_for(3s);
    EXPECT_EQ(hv1.boards.running(), 1U);
    hv1.terminate();
    EXPECT_TRUE(run_until([&] { return hv1.exit_status == 0; }, 10s)) << hv1.log();
    EXPECT_EQ(hv1.boards.running(), 0U);
    EXPECT_TRUE(answer->answer && !*answer->answer);
}

TEST_F(board_probes, a_hypervisor_probes_nobody) {
    put_node("hv2");
    put_node("hv3");
    start({.name = "hv4", .coordinators = {"hv2", "hv3"}});
    run_beating(2min);
    EXPECT_EQ(boards.front().commands(), 0U);
}

}  // namespace
}  // namespace pvc::node
