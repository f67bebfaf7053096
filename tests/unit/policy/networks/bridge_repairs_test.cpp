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
        for (auto& one : links) {
            if (one.name == "vmbr1001") {
                one.is_running = is_running;
                if (has_own) {
                    addresses.push_back(
                        {.link = one.index, .address = *parse_host_address("fe80::1/64"), .scope = model::link_scope});
                }
            }
        }
        return {std::move(links), std::move(addresses), {}};
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

}  // namespace
}  // namespace pvc::policy
