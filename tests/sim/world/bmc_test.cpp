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
    sim_process programs{loop.clock()};
    sim_bmc board{"hv1-lom"};
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

}  // namespace pvc::sim
