// The loop's thread never waits for the kernel, and a kernel that hangs gets one thread for each lane of requests
// (networking.md 2; architecture.md, the rule that nothing blocks the loop).
#include "adapter/kernel_requests.hpp"
#include "adapter/messages.hpp"
#include "contract/netlink/real_network.hpp"
#include "contract/support/starvation.hpp"
#include "pvcnoded/netlink/adapter/kernel_counters.hpp"

#include <atomic>
#include <thread>

namespace pvc::contract {
namespace {

using namespace model;

constexpr duration long_call = 20ms;

class kernel_lanes : public network_suite<real_network> {
protected:
    [[nodiscard]] boot_time in_time() { return bench.clock().boot_now() + 10s; }

    // A call of the ports: one that took long let the loop go on, again and again. When the loop waited for a processor
    // it had no turn to take.
    awaitable<void> watched(std::string what, std::function<awaitable<void>()> call) {
        const auto begun = bench.clock().now();
        const auto waited = waited_by_this_thread();
        const int before = ticks;
        co_await call();
        if (bench.clock().now() - begun - (waited_by_this_thread() - waited) >= long_call) {
            ++long_calls;
            EXPECT_GE(ticks - before, 2) << what;
        }
    }
    // So many bridges that go at once: as long as that takes, nobody else gets an answer about links.
    static void make_group(int count) {
        std::string batch;
        for (int number = 0; number < count; ++number) {
            const std::string name = "g" + std::to_string(number);
            batch += "link add " + name + " group 7 up type bridge\n";
        }
        const scratch_folder folder;
        folder.write("batch", batch);
        ip_command("-batch " + folder / "batch");
    }
    static void delete_group() { ip_command("link delete group 7"); }

    sim::sim_offload slow{bench.clock()};
    netlink::kernel_stack slow_stack{bench.loop().context().get_executor(), bench.clock(), slow};
    netlink::kernel_addresses slow_addresses{bench.clock(), slow};
    int long_calls = 0;
};

// Each deletion waits for the kernel's own processors; the loop has its turns meanwhile.
TEST_F(kernel_lanes, removals_do_not_hold_the_loop) {
    bench.run([this]() -> awaitable<void> {
        constexpr int networks = 30;
        co_await plug_in_up("eth0");
        for (int number = 0; number < networks; ++number) {
            const std::string bridge = "vmbr" + std::to_string(number);
            const std::string vxlan = "vxlan" + std::to_string(number);
            co_await done(make_bridge{bridge});
            co_await done(make_vxlan{vxlan, "eth0", static_cast<std::uint32_t>(number + 1)});
            co_await done(set_master{vxlan, bridge});
            co_await done(set_up{vxlan});
            co_await done(set_up{bridge});
        }
        const auto begun = bench.clock().now();
        const auto waited = waited_by_this_thread();
        co_await counting_ticks([this]() -> awaitable<void> {
            for (int number = 0; number < networks; ++number) {
                co_await done(delete_link{"vxlan" + std::to_string(number)});
                co_await done(delete_link{"vmbr" + std::to_string(number)});
            }
        });
        // A kernel that takes no time for it proves nothing.
        if (bench.clock().now() - begun - (waited_by_this_thread() - waited) >= 2 * networks * 5ms) {
            EXPECT_GE(ticks, 2 * networks);
        }
    });
}

// Questions wait as changes do: whoever deletes many links at once holds up all.
TEST_F(kernel_lanes, a_busy_kernel_does_not_hold_the_loop) {
    bench.run([this]() -> awaitable<void> {
        async::thread_offload pool(bench.loop().context());
        netlink::kernel_counters counters(bench.clock(), pool);
        co_await plug_in_up("eth0");
        co_await done(make_bridge{"br0"});
        for (int round = 0; round < 10 && long_calls == 0; ++round) {
            make_group(100);
            std::atomic<bool> is_over = false;
            std::thread other([&is_over] {
                delete_group();
                is_over = true;
            });
            co_await counting_ticks([&]() -> awaitable<void> {
                while (!is_over) {
                    co_await watched("look", [this]() -> awaitable<void> { co_await look(); });
                    co_await watched("apply", [this]() -> awaitable<void> { co_await done(set_mtu{"br0", 1400}); });
                    co_await watched("add", [this]() -> awaitable<void> {
                        const auto added = co_await bench.addresses().add("br0", at("10.0.0.1/24"), in_time(), soon());
                        EXPECT_TRUE(added);
                    });
                    co_await watched("list", [this]() -> awaitable<void> {
                        const auto listed = co_await bench.addresses().list("br0", soon());
                        EXPECT_TRUE(listed);
                    });
                    co_await watched("count", [&]() -> awaitable<void> {
                        const auto counted = co_await counters.count({"eth0", "br0"}, soon());
                        EXPECT_TRUE(counted && counted->size() == 2);
                    });
                }
            });
            other.join();
        }
        EXPECT_GT(long_calls, 0);
    });
}

// Also where the addition is with the kernel when it is given up.
TEST_F(kernel_lanes, a_removal_stands_after_an_addition_that_was_given_up) {
    bench.run([this]() -> awaitable<void> {
        co_await done(make_bridge{"br0"});
        int given_up = 0;
        for (int round = 0; round < 10 && given_up == 0; ++round) {
            make_group(100);
            std::atomic<bool> is_over = false;
            std::thread other([&is_over] {
                delete_group();
                is_over = true;
            });
            while (!is_over) {
                const auto until = bench.clock().now() + 1ms;
                const auto added = co_await bench.addresses().add("br0", at("10.0.0.1/24"), in_time(), until);
                EXPECT_TRUE(added || added.error().code() == errc::timed_out);
                given_up += added ? 0 : 1;
                const auto removed = co_await bench.addresses().remove("br0", at("10.0.0.1/24"), soon());
                EXPECT_TRUE(removed);
                co_await async::sleep_for(bench.clock(), 2ms, "what may still come");
                const auto listed = co_await addresses_of("br0");
                EXPECT_EQ(listed, "");
            }
            other.join();
        }
        EXPECT_GT(given_up, 0);
    });
}

// Whoever left while the kernel was long about which link it is gets no address any more: neither is the rest of the
// answer waited for, nor is the addition sent.
TEST_F(kernel_lanes, what_was_given_up_while_the_link_was_looked_up_is_never_sent) {
    bench.run([this]() -> awaitable<void> {
        co_await done(make_bridge{"br0"});
        netlink::kernel_requests requests;
        const netlink::errand left_in_the_answer(bench.clock().now() + 10s);
        const auto leave = [&](const netlink::reply_message& /*one*/) -> result<void> {
            left_in_the_answer.give_up();
            return {};
        };
        const auto seen = requests.exchange(netlink::get_link_message("br0"), leave, left_in_the_answer);
        EXPECT_EQ(seen.error().code(), errc::timed_out);

        const netlink::errand left_then(bench.clock().now() + 10s);
        const auto found = requests.need_link("br0", left_then);
        left_then.give_up();
        const auto added = requests.add_address(found->link.index, {.device = {}, .address = at("10.0.0.1/24")},
                                                "the address", left_then);
        EXPECT_EQ(added.error().code(), errc::timed_out);
        const auto off = requests.switch_tx_checksum_off("br0", left_then);
        EXPECT_EQ(off.error().code(), errc::timed_out);
        const auto listed = co_await addresses_of("br0");
        EXPECT_EQ(listed, "");
    });
}

TEST_F(kernel_lanes, what_was_given_up_before_it_was_sent_is_never_sent) {
    bench.run([this]() -> awaitable<void> {
        co_await done(make_bridge{"br0"});
        slow.next_hangs();
        const auto late = co_await slow_stack.apply(make_bridge{"late"}, bench.clock().now() + 20ms);
        EXPECT_EQ(late.error().code(), errc::timed_out);
        slow.next_hangs();
        const auto late_add =
            co_await slow_addresses.add("br0", at("10.0.0.1/24"), in_time(), bench.clock().now() + 20ms);
        EXPECT_EQ(late_add.error().code(), errc::timed_out);
        // Those that follow wait for them, by their own deadlines, and take no thread.
        for (int times = 0; times < 3; ++times) {
            const auto behind = co_await slow_stack.apply(make_bridge{"behind"}, bench.clock().now() + 30ms);
            EXPECT_EQ(behind.error().code(), errc::timed_out);
            const auto listed = co_await slow_addresses.list("br0", bench.clock().now() + 30ms);
            EXPECT_EQ(listed.error().code(), errc::timed_out);
        }
        EXPECT_EQ(slow.accepted(), 2U);
        // A look has a lane of its own.
        const auto seen = co_await slow_stack.look(soon());
        EXPECT_TRUE(seen);
        slow.release();
        const auto next = co_await slow_stack.apply(make_bridge{"next"}, soon());
        EXPECT_TRUE(next);
        const auto listed = co_await slow_addresses.list("br0", soon());
        EXPECT_TRUE(listed && listed->empty());
        const auto after = co_await look();
        EXPECT_EQ(after.find("late"), nullptr);
        EXPECT_EQ(after.find("behind"), nullptr);
        EXPECT_NE(after.find("next"), nullptr);
    });
}

TEST_F(kernel_lanes, a_setting_that_was_given_up_before_it_was_written_is_never_written) {
    bench.run([this]() -> awaitable<void> {
        const std::string key = "net/ipv4/ip_forward";
        co_await done(set_sysctl{key, "0"});
        slow.next_hangs();
        const auto late = co_await slow_stack.apply(set_sysctl{key, "1"}, bench.clock().now() + 20ms);
        EXPECT_EQ(late.error().code(), errc::timed_out);
        slow.release();
        const auto next = co_await slow_stack.apply(make_bridge{"next"}, soon());
        EXPECT_TRUE(next);
        const auto read = bench.stack().sysctl(key);
        EXPECT_TRUE(read && *read == "0");
    });
}

TEST_F(kernel_lanes, what_was_cancelled_before_it_was_sent_is_never_sent) {
    bench.run([this]() -> awaitable<void> {
        slow.next_hangs();
        const bool cancelled = co_await cancel_when(
            bench.clock(), [this] { return slow.accepted() == 1; },
            [this]() -> awaitable<void> {
                const auto made = co_await slow_stack.apply(make_bridge{"late"}, soon());
                EXPECT_TRUE(made);
            });
        EXPECT_TRUE(cancelled);
        slow.release();
        const auto next = co_await slow_stack.apply(make_bridge{"next"}, soon());
        EXPECT_TRUE(next);
        const auto after = co_await look();
        EXPECT_EQ(after.find("late"), nullptr);
        EXPECT_NE(after.find("next"), nullptr);
    });
}

// The proof may have become too old while the addition waited for a thread.
TEST_F(kernel_lanes, a_guard_is_looked_at_on_the_thread) {
    bench.run([this]() -> awaitable<void> {
        co_await done(make_bridge{"br0"});
        slow.next_takes(100ms);
        const auto until = bench.clock().boot_now() + 20ms;
        const auto added = co_await slow_addresses.add("br0", at("10.0.0.1/24"), until, soon());
        EXPECT_EQ(added.error().code(), errc::stopped);
        const auto listed = co_await addresses_of("br0");
        EXPECT_EQ(listed, "");
    });
}

// Nor does it count any more when the kernel was long about which link it is.
TEST_F(kernel_lanes, a_guard_is_looked_at_again_when_the_link_was_looked_up) {
    bench.run([this]() -> awaitable<void> {
        co_await done(make_bridge{"br0"});
        int stopped = 0;
        for (int round = 0; round < 10 && stopped == 0; ++round) {
            make_group(100);
            std::atomic<bool> is_over = false;
            std::thread other([&is_over] {
                delete_group();
                is_over = true;
            });
            while (!is_over) {
                const auto begun = bench.clock().now();
                const auto until = bench.clock().boot_now() + 5ms;
                const auto added = co_await bench.addresses().add("br0", at("10.0.0.1/24"), until, soon());
                EXPECT_TRUE(added || added.error().code() == errc::stopped);
                stopped += !added && bench.clock().now() - begun >= long_call ? 1 : 0;
                if (added) {
                    const auto removed = co_await bench.addresses().remove("br0", at("10.0.0.1/24"), soon());
                    EXPECT_TRUE(removed);
                }
            }
            other.join();
        }
        EXPECT_GT(stopped, 0);
        const auto listed = co_await addresses_of("br0");
        EXPECT_EQ(listed, "");
    });
}

TEST_F(kernel_lanes, a_pool_without_a_thread_for_it) {
    bench.run([this]() -> awaitable<void> {
        slow.set_full(true);
        const auto unseen = co_await slow_stack.look(soon());
        EXPECT_EQ(unseen.error().code(), errc::unavailable);
        const auto undone = co_await slow_stack.apply(make_bridge{"br0"}, soon());
        EXPECT_EQ(undone.error().code(), errc::unavailable);
        slow.set_full(false);
        const auto made = co_await slow_stack.apply(make_bridge{"br0"}, soon());
        EXPECT_TRUE(made);
    });
}

}  // namespace
}  // namespace pvc::contract
