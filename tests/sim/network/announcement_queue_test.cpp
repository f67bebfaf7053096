// When addresses are announced, on a simulated clock (README ruling 83).
#include "pvcnoded/netlink/announcement_queue.hpp"

#include "sim/sim_context.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>

namespace pvc::sim {
namespace {

using namespace std::chrono_literals;
using netlink::announced_as;

class announcement_queue_test : public testing::Test {
protected:
    announcement_queue_test() { loop.add_clock(clock); }

    static ip::address address(int number) { return ip::make_address("10.0.0." + std::to_string(number)); }
    void add(const ip::address& which, const std::string& device = "br0") {
        queue.expect(device, which);
        queue.announce(device, which);
    }
    // Milliseconds since the beginning, and how many frames each time.
    std::string take() {
        std::string all;
        for (const auto& [when, count] : sent) {
            all += fmt::format("{}{}:{}", all.empty() ? "" : " ", when, count);
        }
        sent.clear();
        return all;
    }

    sim_loop loop;
    machine_clock clock{loop.clock()};
    std::map<std::int64_t, int> sent;
    bool is_there = true;
    time_point begun = clock.now();
    netlink::announcement_queue queue{
        clock, [this](const std::string& /*device*/, const ip::address& which, std::span<const announced_as> frames) {
            if (is_there) {
                EXPECT_EQ(frames.size(), which.is_v4() ? 2U : 1U);
                const auto since = clock.now() - begun;
                sent[std::chrono::duration_cast<std::chrono::milliseconds>(since).count()] += 1;
            }
            return is_there;
        }};
};

TEST_F(announcement_queue_test, five_times) {
    add(address(1));
    EXPECT_EQ(take(), "0:1");
    loop.run_for(10s);
    EXPECT_EQ(take(), "200:1 1000:1 2000:1 5000:1");
    add(ip::make_address("fd00::1"));
    loop.run_for(10s);
    EXPECT_EQ(take(), "10000:1 10200:1 11000:1 12000:1 15000:1");
}

TEST_F(announcement_queue_test, once_more_is_from_the_beginning) {
    add(address(1));
    loop.run_for(1500ms);
    add(address(1));
    loop.run_for(10s);
    EXPECT_EQ(take(), "0:1 200:1 1000:1 1500:1 1700:1 2500:1 3500:1 6500:1");
}

TEST_F(announcement_queue_test, what_is_to_go_is_not_announced) {
    add(address(1));
    add(address(2));
    add(address(1), "br1");
    loop.run_for(300ms);
    queue.forget("br0", address(1));
    loop.run_for(10s);
    EXPECT_EQ(take(), "0:3 200:3 1000:2 2000:2 5000:2");
    // A removal was begun while the addition was under way.
    queue.expect("br0", address(3));
    queue.forget("br0", address(3));
    queue.announce("br0", address(3));
    loop.run_for(10s);
    EXPECT_EQ(take(), "");
    add(address(1));
    queue.forget_all();
    loop.run_for(10s);
    EXPECT_EQ(take(), "20300:1");
    queue.announce("br0", address(1));
    EXPECT_EQ(take(), "") << "nobody wants it";
}

TEST_F(announcement_queue_test, nothing_is_announced_that_is_not_to_stay) {
    bool is_to_stay = true;
    queue.announce_if([&] { return is_to_stay; });
    add(address(1));
    loop.run_for(500ms);
    is_to_stay = false;
    loop.run_for(1s);
    add(address(2));
    is_to_stay = true;
    loop.run_for(10s);
    EXPECT_EQ(take(), "0:1 200:1 1700:1 2000:1 2500:1 3500:1 5000:1 6500:1");
}

TEST_F(announcement_queue_test, what_is_not_there_any_more_is_not_announced_again) {
    add(address(1));
    loop.run_for(500ms);
    is_there = false;
    loop.run_for(1s);
    is_there = true;
    loop.run_for(10s);
    EXPECT_EQ(take(), "0:1 200:1");
}

TEST_F(announcement_queue_test, many_are_spread) {
    for (int number = 0; number < 200; ++number) {
        add(address(number));
    }
    loop.run_for(100ms);
    EXPECT_EQ(take(), "0:64 10:64 20:64 30:8");
    loop.run_for(10s);
    std::map<std::int64_t, int> seconds;
    int most = 0;
    for (const auto& [when, count] : sent) {
        seconds[when / 1000] += count;
        most = std::max(most, count);
    }
    EXPECT_EQ(seconds, (std::map<std::int64_t, int>{{0, 200}, {1, 200}, {2, 200}, {5, 200}}));
    EXPECT_LE(most, 64);
}

// The process stood still, or its machine slept: another node may have the address by now.
TEST_F(announcement_queue_test, what_is_too_late_is_not_sent) {
    add(address(1));
    loop.run_for(100ms);
    take();
    clock.stop_timers(true);
    loop.run_for(3500ms);
    clock.stop_timers(false);
    loop.run_for(10s);
    EXPECT_EQ(take(), "3600:1 5000:1") << "that of 2 s, late, and that of 5 s";
}

}  // namespace
}  // namespace pvc::sim
