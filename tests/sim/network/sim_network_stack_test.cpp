// The port to the simulated kernel: its order, its faults, and who is woken.
#include "sim/network/sim_network_stack.hpp"
#include "sim/network/sim_addresses.hpp"
#include "sim/sim_context.hpp"

#include <gtest/gtest.h>

namespace pvc::sim {
namespace {

using namespace std::chrono_literals;
using async::awaitable;

class sim_network_stack_test : public testing::Test {
protected:
    time_point soon() { return loop.clock().now() + 1s; }
    // The code of its failure; nothing after a success.
    std::optional<errc> outcome_of(model::network_change change) {
        std::optional<errc> code;
        loop.run([&]() -> awaitable<void> {
            auto done = co_await stack.apply(change, soon());
            if (!done) {
                code = done.error().code();
            }
        });
        return code;
    }
    std::optional<errc> look() {
        std::optional<errc> code;
        loop.run([&]() -> awaitable<void> {
            auto seen = co_await stack.look(soon());
            if (!seen) {
                code = seen.error().code();
            } else {
                EXPECT_EQ(*seen, kernel.state());
            }
        });
        return code;
    }
    bool is_there(std::string_view name) { return kernel.state().find(name) != nullptr; }

    sim_loop loop;
    sim_kernel kernel;
    sim_network_stack stack{kernel, loop.clock()};
};

TEST_F(sim_network_stack_test, changes_are_done_in_order_and_seen) {
    EXPECT_EQ(outcome_of(model::make_bridge{"vmbr7"}), std::nullopt);
    EXPECT_EQ(outcome_of(model::make_bridge{"ens5"}), errc::already_exists);
    EXPECT_EQ(look(), std::nullopt);
    EXPECT_EQ(stack.calls, (std::vector<std::string>{"create bridge vmbr7", "create bridge ens5"}));
    EXPECT_EQ(stack.sysctl("net/ipv4/conf/vmbr7/rp_filter").value(), "0");
    EXPECT_EQ(stack.sysctl("net/ipv4/conf/nono/rp_filter").error().code(), errc::not_found);
}

TEST_F(sim_network_stack_test, calls_that_are_to_fail_do_nothing) {
    stack.broken.insert_or_assign("create bridge", failure(errc::refused, "", "Operation not permitted"));
    stack.broken.insert_or_assign("look", failure(errc::io));
    stack.broken.insert_or_assign("set ens4", failure(errc::refused));
    stack.broken.insert_or_assign("read net/ipv4/ip_forward", failure(errc::io));
    EXPECT_EQ(outcome_of(model::make_bridge{"vmbr7"}), errc::refused);
    EXPECT_FALSE(is_there("vmbr7"));
    EXPECT_EQ(outcome_of(model::set_up{"ens4"}), errc::refused);
    EXPECT_EQ(outcome_of(model::set_up{"ens5"}), std::nullopt);
    EXPECT_EQ(look(), errc::io);
    EXPECT_EQ(stack.sysctl("net/ipv4/ip_forward").error().code(), errc::io);
    stack.end_faults();
    EXPECT_EQ(outcome_of(model::make_bridge{"vmbr7"}), std::nullopt);
    stack.are_looks_interrupted = true;
    EXPECT_EQ(look(), errc::unavailable);
    stack.end_faults();
    EXPECT_EQ(look(), std::nullopt);
}

TEST_F(sim_network_stack_test, the_nth_change_is_refused) {
    stack.refuses_in = 2;
    EXPECT_EQ(outcome_of(model::make_bridge{"one"}), std::nullopt);
    EXPECT_EQ(outcome_of(model::make_bridge{"two"}), errc::refused);
    EXPECT_EQ(outcome_of(model::make_bridge{"three"}), std::nullopt);
    EXPECT_FALSE(is_there("two"));
}

TEST_F(sim_network_stack_test, what_a_hanging_kernel_was_asked_is_done_later) {
    stack.hang();
    EXPECT_EQ(outcome_of(model::make_bridge{"vmbr7"}), errc::timed_out);
    EXPECT_EQ(look(), errc::timed_out);
    EXPECT_FALSE(is_there("vmbr7"));
    stack.end_hang();
    EXPECT_TRUE(is_there("vmbr7"));
}

TEST_F(sim_network_stack_test, what_a_dead_daemon_asked_is_never_done) {
    stack.hang();
    EXPECT_EQ(outcome_of(model::make_bridge{"vmbr7"}), errc::timed_out);
    stack.cut = true;
    stack.drop_calls();
    stack.end_hang();
    EXPECT_EQ(outcome_of(model::make_bridge{"vmbr7"}), errc::stopped);
    EXPECT_FALSE(is_there("vmbr7"));
}

TEST_F(sim_network_stack_test, a_slow_kernel_ends_calls_at_their_deadline) {
    stack.call_time = 3s;
    EXPECT_EQ(outcome_of(model::make_bridge{"vmbr7"}), errc::timed_out);
    EXPECT_FALSE(is_there("vmbr7"));
    loop.run_for(3s);
    EXPECT_TRUE(is_there("vmbr7"));
}

TEST_F(sim_network_stack_test, who_watches_is_woken_by_changes_of_anybody) {
    async::wakeup one;
    async::wakeup other;
    const auto first = stack.watch(one);
    auto second = stack.watch(other);
    EXPECT_EQ(outcome_of(model::make_bridge{"vmbr7"}), std::nullopt);
    EXPECT_TRUE(one.try_consume() && other.try_consume());
    EXPECT_EQ(outcome_of(model::make_bridge{"vmbr7"}), errc::already_exists);
    EXPECT_FALSE(one.try_consume());
    kernel.add("vmbr7", "10.1.1.1/24");
    EXPECT_TRUE(one.try_consume() && other.try_consume());
    second.reset();
    EXPECT_EQ(stack.watches(), 1U);
    stack.lose_events();
    EXPECT_TRUE(one.try_consume());
    EXPECT_FALSE(other.try_consume());
    stack.cut = true;
    kernel.remove_device("ens4");
    EXPECT_FALSE(one.try_consume());
}

TEST_F(sim_network_stack_test, events_may_be_late) {
    async::wakeup changed;
    const auto watching = stack.watch(changed);
    stack.event_delay = 2s;
    kernel.remove_device("ens4");
    loop.run_for(1900ms);
    EXPECT_FALSE(changed.try_consume());
    loop.run_for(200ms);
    EXPECT_TRUE(changed.try_consume());
}

TEST_F(sim_network_stack_test, the_ports_of_addresses_and_of_links_see_one_machine) {
    sim_addresses addresses(kernel, loop.clock());
    const auto which = *parse_host_address("10.1.1.1/24");
    loop.run([&]() -> awaitable<void> {
        auto added = co_await addresses.add("brcluster", which, loop.clock().boot_now() + 1s, soon());
        EXPECT_TRUE(added);
        auto lost = co_await addresses.add("nono", which, loop.clock().boot_now() + 1s, soon());
        EXPECT_EQ(lost.error().code(), errc::not_found);
        auto late = co_await addresses.add("brcluster", which, loop.clock().boot_now() - 1s, soon());
        EXPECT_EQ(late.error().code(), errc::stopped);
        auto there = co_await addresses.list("brcluster", soon());
        EXPECT_EQ(there.value().front(), which);
    });
    EXPECT_TRUE(kernel.has("brcluster", which) && kernel.answers(which.address));
    EXPECT_EQ(addresses.announced, std::vector<std::string>{"10.1.1.1 on brcluster"});
    EXPECT_EQ(outcome_of(model::remove_address{"brcluster", which}), std::nullopt);
    EXPECT_FALSE(kernel.answers(which.address));
}

}  // namespace
}  // namespace pvc::sim
