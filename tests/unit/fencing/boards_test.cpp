// One command at a time to one board, a fencer's before all others; and how a fencer reaches it (README rulings 15,
// 41).
#include "unit/node/node_fixture.hpp"

#include "pvcnoded/fencing/boards.hpp"
#include "sim/sim_bmc.hpp"

namespace pvc::node {
namespace {

using power::board_command;

class boards_test : public node_test {
protected:
    boards_test() {
        sim::initialise(ensemble, 10);
        sim_node& hv1 = add({.coordinators = {"hv1"}});
        board.address = "192.0.2.3";
        board.attach(hv1.boards);
        hv1.start();
        EXPECT_TRUE(hv1.run_until_ready());
        all.emplace(hv1.daemon().context(), hv1.board, counts);
    }
    [[nodiscard]] power::board_access access() const {
        return {"192.0.2.3", "admin", secret("Passw0rd"), std::nullopt, false};
    }
    void in_a_scope(const std::function<async::awaitable<void>(async::task_group&)>& body) {
        loop.run([&]() -> async::awaitable<void> { co_await async::with_task_group("scope", body); });
    }
    void remember_probe() {
        policy::known_board known;
        known.entry = entry;
        known.address = "192.0.2.3";
        known.guid = board.guid;
        known.suite = 3;
        known.as_operator = true;
        known.trouble.clear();
        all->remember("hv3", known);
    }
    result<power::board_access> reach() {
        std::optional<result<power::board_access>> got;
        in_a_scope([&](async::task_group&) -> async::awaitable<void> {
            auto to = co_await all->reach("hv3", entry, 5s);
            got.emplace(std::move(to));
        });
        return std::move(*got);
    }
    sim::sim_bmc board{"hv3-lom", &loop.clock()};
    policy::board_entry entry{"hv3-lom", "admin", secret("Passw0rd")};
    fencing::board_counts counts;
    std::optional<fencing::boards> all;
};

TEST_F(boards_test, a_fencer_does_not_wait_for_a_question) {
    board.answer_time = 25s;
    in_a_scope([&](async::task_group& scope) -> async::awaitable<void> {
        std::vector<std::string> ended;
        scope.spawn("question", [&]() -> async::awaitable<void> {
            const auto heard = co_await all->question(access(), board_command::status);
            EXPECT_TRUE(!heard && heard.error().code() == errc::stopped);
            ended.push_back("question");
        });
        scope.spawn("second question", [&]() -> async::awaitable<void> {
            const auto heard = co_await all->question(access(), board_command::guid);
            EXPECT_FALSE(heard);
            ended.push_back("second question");
        });
        co_await async::sleep_for(loop.clock(), 5s, "the question");
        board.answer_time = 300ms;
        const auto asked = loop.clock().now();
        const auto heard = co_await all->command(access(), board_command::off, loop.clock().boot_now() + 2s);
        EXPECT_TRUE(heard && heard->status == 0) << (heard ? heard->errors : heard.error().text());
        EXPECT_LE(loop.clock().now() - asked, 2s);
        EXPECT_FALSE(board.is_machine_on);
        EXPECT_FALSE(ended.empty());
    });
    EXPECT_EQ(board.heard().back(), "off");
}

TEST_F(boards_test, one_at_a_time_to_one_board_and_side_by_side_to_two) {
    sim::sim_bmc other("hv4-lom", &loop.clock());
    other.attach(nodes.back().boards);
    board.answer_time = other.answer_time = 1s;
    const auto begun = loop.clock().now();
    in_a_scope([&](async::task_group& scope) -> async::awaitable<void> {
        for (const std::string& address : {"192.0.2.3", "192.0.2.3", "hv4-lom"}) {
            scope.spawn("question", [&, address]() -> async::awaitable<void> {
                auto to = access();
                to.address = address;
                const auto heard = co_await all->question(to, board_command::status);
                EXPECT_TRUE(heard && heard->status == 0);
            });
        }
        co_return;
    });
    EXPECT_GE(loop.clock().now() - begun, 2s);
    EXPECT_LT(loop.clock().now() - begun, 3s);
    EXPECT_EQ(counts.answers.total(), 3U);
}

// As the daemon has places for programs: sixteen.
TEST_F(boards_test, silent_boards_leave_places_to_those_that_answer) {
    constexpr std::size_t places = 16;
    sim::sim_process programs(loop.clock(), places);
    programs.add([](const async::command& what) -> std::optional<sim::sim_program> {
        const bool is_well = std::ranges::find(what.arguments, std::string("192.0.2.3")) != what.arguments.end();
        return is_well ? sim::sim_program{.output = "Chassis Power Control: Down/Off\n"}
                       : sim::sim_program{.how = async::exited{1},
                                          .error_output = "Error: Unable to establish IPMI v2 / RMCP+ session\n",
                                          .takes = 20s};
    });
    power::ipmitool_board port(programs, loop.clock());
    fencing::boards with_few(nodes.back().daemon().context(), port, counts);
    const auto order = [&](const std::string& address, std::optional<result<power::board_answer>>& heard) {
        return [&, address]() -> async::awaitable<void> {
            auto to = access();
            to.address = address;
            heard.emplace(co_await with_few.command(std::move(to), board_command::off, loop.clock().boot_now() + 2s));
        };
    };
    std::vector<std::optional<result<power::board_answer>>> silent(places + 4);
    const auto order_all = [&](async::task_group& scope) {
        for (std::size_t i = 0; i < silent.size(); ++i) {
            scope.spawn("order", order("192.0.2." + std::to_string(100 + i), silent[i]));
        }
    };
    // None of them is known to be silent yet; four are told to try again.
    in_a_scope([&](async::task_group& scope) -> async::awaitable<void> {
        order_all(scope);
        co_return;
    });
    const auto found_none = [](const auto& heard) { return !*heard && heard->error().code() == errc::stopped; };
    EXPECT_EQ(std::ranges::count_if(silent, found_none), 4);
    std::optional<result<power::board_answer>> well;
    in_a_scope([&](async::task_group& scope) -> async::awaitable<void> {
        order_all(scope);
        co_await async::sleep_for(loop.clock(), 1s, "all of them");
        EXPECT_EQ(programs.running(), fencing::boards::silent_at_once + 4);
        scope.spawn("order", order("192.0.2.3", well));
    });
    ASSERT_TRUE(well && *well) << (*well).error().text();
    EXPECT_EQ((*well)->status, 0);
    EXPECT_EQ(std::ranges::count_if(silent, found_none), places - fencing::boards::silent_at_once);
}

TEST_F(boards_test, nothing_is_sent_after_the_latest_start) {
    in_a_scope([&](async::task_group&) -> async::awaitable<void> {
        const auto heard = co_await all->command(access(), board_command::off, loop.clock().boot_now() - 1ms);
        EXPECT_TRUE(!heard && heard.error().code() == errc::stopped);
    });
    EXPECT_TRUE(board.is_machine_on);
    EXPECT_EQ(board.commands(), 0U);
}

TEST_F(boards_test, is_reached_as_its_name_resolves_now_else_as_it_was_probed) {
    auto to = reach();
    ASSERT_TRUE(to) << to.error().text();
    EXPECT_EQ(to->address, "192.0.2.3");
    EXPECT_EQ(to->cipher_suite, std::nullopt);
    remember_probe();
    to = reach();
    ASSERT_TRUE(to);
    EXPECT_EQ(to->cipher_suite, 3);
    EXPECT_EQ(all->access_of("hv3").address, "192.0.2.3");
    EXPECT_EQ(all->access_of("hv3").cipher_suite, 3);
    EXPECT_EQ(all->access_of("hv9").address, "");
    EXPECT_TRUE(to->as_operator);

    // The name server ran on the dead node.
    board.is_name_known = false;
    to = reach();
    ASSERT_TRUE(to) << to.error().text();
    EXPECT_EQ(to->address, "192.0.2.3");
    board.guid = "99999999-534d-2500-90d8-7a1600000000";
    EXPECT_EQ(reach().error().code(), errc::refused);
    board.is_reachable = false;
    EXPECT_FALSE(reach());
    // Another entry: what was probed is another board.
    board.is_reachable = true;
    entry.password = secret("other");
    EXPECT_EQ(reach().error().code(), errc::not_found);
}

}  // namespace
}  // namespace pvc::node
