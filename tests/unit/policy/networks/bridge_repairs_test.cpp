// What somebody changed of the settings of a client network's bridge (networking.md 5.3; README ruling 81).
#include "client_plan_fixture.hpp"

namespace pvc::policy {
namespace {

class bridge_repairs_test : public testing::Test {
protected:
    bridge_repairs_test() {
        network_.ip6.network = *parse_host_address("fd00:1::/64");
        settle(kernel_, network_, config_, memory_);
        memory_.had_own_v6 = true;
    }
    // The look, and the link-local address of the bridge where it has one.
    [[nodiscard]] model::network_state seen(bool has_own, bool is_running = true) const {
        const auto now = kernel_.state();
        std::vector<model::network_link> links(now.links().begin(), now.links().end());
        std::vector<model::link_address> addresses;
        std::vector<model::connected_route> connected;
        for (auto& one : links) {
            if (one.name == "vmbr1001") {
                one.is_running = is_running;
                if (has_own) {
                    for (const auto& text : own_) {
                        addresses.push_back({.link = one.index,
                                             .address = *parse_host_address(text),
                                             .scope = model::link_scope,
                                             .is_taken = is_taken_});
                    }
                    if (is_reached_) {
                        connected.push_back({one.index, *parse_host_address("fe80::/64"), 256});
                    }
                }
            }
        }
        return {std::move(links), std::move(addresses), {}, {}, std::move(connected)};
    }
    network_plan plan(bool has_own, bool is_running = true) {
        auto made = plan_network(network_, config_, seen(has_own, is_running), memory_);
        memory_ = made.next;
        memory_.was_right = true;
        return made;
    }

    config::node_config config_ = config_of(client_words());
    toy_kernel kernel_ = host_of(config_);
    model::client_network network_ = managed(1001);
    network_memory memory_;
    std::vector<std::string> own_{"fe80::58:ff:fe00:7/64"};  // of the bridge
    bool is_taken_ = true;                                   // its route in table local is there
    bool is_reached_ = true;                                 // likewise fe80::/64 in table main
};

// Neighbours hear by it that the gateway is a router.
TEST_F(bridge_repairs_test, forwarding_of_ipv6_that_somebody_switches_off_is_switched_on_again) {
    memory_.is_forwarding_v6_off = true;
    const auto repair = plan(true);
    EXPECT_EQ(steps_of(repair), "set net/ipv6/conf/vmbr1001/forwarding to 1\n");
    EXPECT_EQ(repair.damage, std::vector<std::string>{"IPv6 forwarding was off on vmbr1001"});
    EXPECT_EQ(steps_of(plan(true)), "");
}

// The host would take what guests say of routers.
TEST_F(bridge_repairs_test, settings_that_somebody_changed_are_put_right) {
    memory_.was_right = true;
    memory_.changed_settings = {{{"net/ipv6/conf/vmbr1001/accept_ra", "0"}, "2"},
                                {{"net/ipv6/conf/vmbr1001/disable_ipv6", "0"}, "1"}};
    auto changed = memory_;
    const auto repair = plan(true);
    EXPECT_EQ(steps_of(repair), "set net/ipv6/conf/vmbr1001/accept_ra to 0\n");
    EXPECT_EQ(repair.damage, std::vector<std::string>{"net/ipv6/conf/vmbr1001/accept_ra was 2"});
    changed.was_right = false;
    EXPECT_TRUE(plan_network(network_, config_, seen(true), changed).is_right()) << "a bridge that is being made";
}

// Guests that have no other address yet are answered by it. Asking once is enough: a kernel that makes none makes none.
TEST_F(bridge_repairs_test, a_link_local_address_that_somebody_flushed_is_made_again_once) {
    EXPECT_EQ(steps_of(plan(false, false)), "") << "a bridge that does not run has none";
    const auto repair = plan(false);
    EXPECT_EQ(steps_of(repair),
              "set net/ipv6/conf/vmbr1001/addr_gen_mode to 1\nset net/ipv6/conf/vmbr1001/addr_gen_mode to 0\n");
    EXPECT_EQ(repair.damage, std::vector<std::string>{"the link-local address of vmbr1001 was gone"});
    EXPECT_EQ(steps_of(plan(false)), "");
    EXPECT_EQ(steps_of(plan(true)), "");
    EXPECT_NE(steps_of(plan(false)), "") << "it was there in between";
}

// ip -6 route flush table main: guests whose only address is a link-local one are not answered without it.
TEST_F(bridge_repairs_test, the_route_to_link_local_addresses_that_somebody_flushed_comes_back) {
    EXPECT_EQ(steps_of(plan(true)), "");
    is_reached_ = false;
    const auto repair = plan(true);
    EXPECT_EQ(steps_of(repair), "add route fe80::/64 (metric 256) on vmbr1001\n");
    EXPECT_EQ(repair.damage, std::vector<std::string>{"the route fe80::/64 (metric 256) over vmbr1001 was gone"});
    EXPECT_EQ(steps_of(plan(true, false)), "") << "a bridge that does not run";
    own_.emplace_back("fe80::1/64");
    EXPECT_EQ(steps_of(plan(true)), "add route fe80::/64 (metric 256) on vmbr1001\n") << "of several it is one";
}

// … table local: the bridge is no router for who asks its own address. Nobody else's is taken away, not for a moment.
TEST_F(bridge_repairs_test, the_bridges_own_address_takes_packets_again_and_nobody_elses_is_touched) {
    own_.emplace_back("fe80::1/64");
    own_.emplace_back("fe80::a:b/64");
    EXPECT_EQ(steps_of(plan(true)), "");
    is_taken_ = false;
    const auto repair = plan(true);
    EXPECT_EQ(steps_of(repair),
              "remove fe80::58:ff:fe00:7/64 from vmbr1001\nadd fe80::58:ff:fe00:7/64 (scope link) to vmbr1001\n");
    EXPECT_EQ(repair.damage, std::vector<std::string>{"the local route fe80::58:ff:fe00:7/128 over vmbr1001 was gone"});
    own_.erase(own_.begin());
    EXPECT_EQ(steps_of(plan(true)), "") << "what is told of them is in remark_of_untaken()";
}

}  // namespace
}  // namespace pvc::policy
