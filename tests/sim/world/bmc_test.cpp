// The scripted management controller does what boards do, good ones and bad ones.
#include "sim/sim_bmc.hpp"
#include "sim/sim_context.hpp"

#include <gtest/gtest.h>

namespace pvc::sim {

using namespace std::chrono_literals;

class bmc_test : public ::testing::Test {
protected:
    bmc_test() { board.attach(programs); }
    async::process_outcome power(const std::string& verb, const std::string& host = "hv1-lom") {
        async::process_outcome out;
        loop.run([&]() -> async::awaitable<void> {
            async::command what;
            what.arguments = {"ipmitool", "-I", "lanplus", "-H", host, "-U", "admin", "-E", "chassis", "power", verb};
            async::process_limits limits;
            limits.time = 30s;
            auto done = co_await programs.run(what, limits);
            EXPECT_TRUE(done) << (done ? "" : done.error().text());
            if (done) {
                out = *std::move(done);
            }
        });
        return out;
    }
    sim_loop loop;
    [[nodiscard]] static int status_of(const async::process_outcome& ended) {
        return std::get<async::exited>(ended.how).code;
    }
    sim_process programs{loop.clock()};
    sim_bmc board{"hv1-lom", &loop.clock()};
};

TEST_F(bmc_test, switches_its_machine_and_says_so) {
    std::vector<bool> told;
    board.on_power = [&told](bool on) { told.push_back(on); };
    EXPECT_EQ(power("status").output, "Chassis Power is on\n");
    EXPECT_EQ(power("off").output, "Chassis Power Control: Down/Off\n");
    EXPECT_EQ(power("status").output, "Chassis Power is off\n");
    EXPECT_EQ(std::get<async::exited>(power("reset").how).code, 1);
    EXPECT_EQ(power("on").output, "Chassis Power Control: Up/On\n");
    power("cycle");
    EXPECT_EQ(told, (std::vector<bool>{false, true, false, true}));
}

TEST_F(bmc_test, may_lie_be_slow_or_be_gone_with_its_machine) {
    board.lies = true;
    board.answer_time = 10s;
    const auto before = loop.clock().now();
    EXPECT_EQ(power("off").output, "Chassis Power Control: Down/Off\n");
    EXPECT_EQ(loop.clock().now() - before, 10s);
    EXPECT_EQ(power("status").output, "Chassis Power is on\n");
    board.lies = false;
    board.dies_with_machine = true;
    power("off");
    EXPECT_EQ(std::get<async::exited>(power("status").how).code, 1);
    EXPECT_FALSE(board.is_machine_on);
}

TEST_F(bmc_test, refuses_or_acts_late_or_asks_the_machine_to_shut_down) {
    board.refuses = true;
    EXPECT_EQ(status_of(power("off")), 1);
    EXPECT_TRUE(board.is_machine_on);
    board.refuses = false;

    board.acts_after = 30s;
    EXPECT_EQ(status_of(power("off")), 0);
    EXPECT_EQ(power("status").output, "Chassis Power is on\n");
    loop.run_for(30s);
    EXPECT_EQ(power("status").output, "Chassis Power is off\n");
    power("on");
    loop.run_for(30s);
    board.acts_after = 0s;

    board.asks_to_shut_down = true;
    bool is_frozen = true;
    board.heeds_shutdown = [&is_frozen] { return !is_frozen; };
    EXPECT_EQ(status_of(power("off")), 0);
    EXPECT_TRUE(board.is_machine_on);
    is_frozen = false;
    power("off");
    EXPECT_FALSE(board.is_machine_on);
}

TEST_F(bmc_test, says_off_of_a_running_machine_while_it_boots_itself) {
    board.is_booting = true;
    EXPECT_EQ(power("status").output, "Chassis Power is off\n");
    EXPECT_EQ(status_of(power("off")), 0);
    EXPECT_TRUE(board.is_machine_on);
    board.is_booting = false;
    EXPECT_EQ(power("status").output, "Chassis Power is on\n");
}

TEST_F(bmc_test, its_machine_comes_back_by_itself) {
    board.switches_on_after = 10s;
    power("off");
    EXPECT_FALSE(board.is_machine_on);
    loop.run_for(9s);
    EXPECT_FALSE(board.is_machine_on);
    loop.run_for(2s);
    EXPECT_TRUE(board.is_machine_on);
    // Also when somebody pulls the plug, whatever it is told.
    board.set_power(false);
    loop.run_for(11s);
    EXPECT_TRUE(board.is_machine_on);
}

TEST_F(bmc_test, lets_in_whom_it_knows) {
    board.password = "Passw0rd";
    EXPECT_EQ(status_of(power("off")), 1);
    EXPECT_TRUE(board.is_machine_on);
    board.password.reset();
    board.user = "somebody";
    EXPECT_EQ(status_of(power("off")), 1);
    board.user = "admin";
    EXPECT_EQ(status_of(power("off")), 0);
}

// Another node's: an address leads to whichever board has it.
TEST_F(bmc_test, is_found_by_its_address) {
    board.address = "192.0.2.1";
    sim_bmc other("hv2-lom", &loop.clock());
    other.address = "192.0.2.2";
    other.attach(programs);
    power("off", "192.0.2.2");
    EXPECT_TRUE(board.is_machine_on);
    EXPECT_FALSE(other.is_machine_on);
    EXPECT_EQ(other.heard(), (std::vector<std::string>{"off"}));
}

}  // namespace pvc::sim
