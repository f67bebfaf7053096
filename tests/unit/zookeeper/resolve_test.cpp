// Names of servers to addresses: what a name server that fails, hangs or answers late takes away (nothing).
// tidy-allow(include-path): a part that is private to the adapter, and what hangs or comes late in it
#include "../src/zookeeper/adapter/resolve.hpp"

#include "sim/sim_context.hpp"
#include "sim/sim_offload.hpp"

#include <gtest/gtest.h>

namespace pvc::zookeeper {
namespace {

using namespace std::chrono_literals;
using async::awaitable;
using strings = std::vector<std::string>;

class resolve_test : public ::testing::Test {
protected:
    resolved_servers ask(std::vector<server_address> servers) {
        resolved_servers found;
        const time_point from = loop.clock().now();
        loop.run([&]() -> awaitable<void> { found = co_await names.resolve(loop.clock().now() + 3s, servers); });
        took = loop.clock().now() - from;
        return found;
    }

    std::map<std::string, result<strings>> answers{{"hv1", strings{"10.0.0.1"}}, {"hv2", strings{"10.0.0.2"}}};
    std::vector<std::string> asked;
    duration took{};
    sim::sim_loop loop;
    sim::sim_offload lane{loop.clock()};
    resolver names{lane, loop.clock(), [this](const std::string& host) {
                       asked.push_back(host);
                       return answers.at(host);
                   }};
    const std::vector<server_address> both{{"hv1", 2181}, {"hv2", 2182}};
};

TEST_F(resolve_test, every_name_to_its_addresses_and_numbers_pass) {
    answers.at("hv2") = strings{"10.0.0.9", "10.0.0.2"};
    EXPECT_EQ(ask({{"hv2", 2181}, {"10.0.0.7", 2182}, {"hv1", 2181}, {"hv1", 2183}}).addresses,
              (strings{"10.0.0.1:2181", "10.0.0.1:2183", "10.0.0.2:2181", "10.0.0.7:2182", "10.0.0.9:2181"}));
    EXPECT_EQ(asked.size(), 2U);
}

TEST_F(resolve_test, nothing_is_known_before_a_name_was_asked_for) {
    EXPECT_FALSE(names.known(both).was_asked);
    EXPECT_TRUE(names.known({{"10.0.0.7", 2182}}).was_asked);
    ask(both);
    EXPECT_TRUE(names.known(both).was_asked);
    EXPECT_EQ(names.known(both).addresses, (strings{"10.0.0.1:2181", "10.0.0.2:2182"}));
    EXPECT_EQ(asked.size(), 2U);
}

TEST_F(resolve_test, a_name_that_fails_keeps_its_last_addresses_and_is_named) {
    ask(both);
    answers.at("hv1") = failure(errc::unavailable, "hv1", "Temporary failure in name resolution");
    const auto found = ask(both);
    EXPECT_EQ(found.addresses, (strings{"10.0.0.1:2181", "10.0.0.2:2182"}));
    EXPECT_NE(found.problems.find("hv1"), std::string::npos);
    EXPECT_EQ(found.problems.find("hv2"), std::string::npos);
    answers.at("hv1") = strings{"10.0.1.1"};
    EXPECT_EQ(ask(both).addresses, (strings{"10.0.0.2:2182", "10.0.1.1:2181"}));
    EXPECT_EQ(ask(both).problems, "");
}

TEST_F(resolve_test, a_lane_that_takes_nothing_more_keeps_the_addresses) {
    ask(both);
    lane.set_full(true);
    EXPECT_EQ(ask(both).addresses.size(), 2U);
    EXPECT_EQ(took, 0s);
}

TEST_F(resolve_test, a_look_up_that_hangs_is_waited_for_once_and_not_begun_again) {
    ask(both);
    lane.next_hangs();
    EXPECT_EQ(ask(both).addresses.size(), 2U);
    EXPECT_EQ(took, 3s);
    for (int i = 0; i < 100; ++i) {
        const auto found = ask({{"hv1", 2181}});
        EXPECT_EQ(found.addresses, (strings{"10.0.0.1:2181"}));
        EXPECT_EQ(took, 0s);
        EXPECT_NE(found.problems.find("hv1"), std::string::npos);
    }
    EXPECT_EQ(lane.under_way(), 1U);
}

// The work is done at once, and the loop hears of it after its deadline.
class slow_lane final : public async::offload {
public:
    explicit slow_lane(async::timers& clock) : timer_(clock), clock_(clock) {}

protected:
    bool submit(std::function<void()> work, std::function<void()> done) override {
        work();
        work = nullptr;
        timer_.arm(clock_.now() + 5s, std::move(done));
        return true;
    }

private:
    async::timer timer_;
    async::timers& clock_;
};

TEST_F(resolve_test, an_answer_that_comes_too_late_counts_for_the_next_question) {
    slow_lane slow(loop.clock());
    resolver late(slow, loop.clock(), [this](const std::string& host) { return answers.at(host); });
    const std::vector<server_address> hv1{{"hv1", 2181}};
    for (const bool is_known : {false, true}) {
        resolved_servers found;
        loop.run([&]() -> awaitable<void> { found = co_await late.resolve(loop.clock().now() + 3s, hv1); });
        EXPECT_EQ(found.addresses.empty(), !is_known);
        loop.run_for(5s);
    }
}

}  // namespace
}  // namespace pvc::zookeeper
