// What client networks that are gone leave on a simulated daemon's machine (networking.md 5.3, cases 29, 30).
#include "unit/networks/network_fixture.hpp"

namespace pvc::node {
namespace {

class client_remains_test : public network_fixture {};

// A guest that runs keeps its bridge; what is left goes when the guest has gone, not with the next start.
TEST_F(client_remains_test, case_29_a_removed_network_that_a_guest_uses_goes_after_the_guest) {
    auto& hv1 = stage();
    put_network(1001);
    ASSERT_TRUE(within(2s, [&] { return link(hv1, "vmbr1001") != "gone"; }));
    hv1.kernel.add_tap("vnet0", "vmbr1001");
    beat(1s);
    remove_network(1001);
    beat(5s);
    EXPECT_NE(link(hv1, "vmbr1001"), "gone");
    EXPECT_EQ(hv1.times_logged("vnet0"), 1U) << hv1.log();
    EXPECT_FALSE(hv1.logged("network 1001 is removed"));
    hv1.kernel.remove_device("vnet0");
    EXPECT_TRUE(within(1s, [&] { return link(hv1, "vmbr1001") == "gone" && link(hv1, "vxlan1001") == "gone"; }));
    beat(1s);
    EXPECT_TRUE(hv1.logged("network 1001 is removed"));
}

// Nothing could have been made of it in this life: its links are of an earlier one, and go all the same.
TEST_F(client_remains_test, case_29_a_network_that_no_life_of_this_daemon_could_use_leaves_nothing) {
    put_network(1001);
    auto& hv1 = stage();
    ASSERT_EQ(link(hv1, "vxlan1001"), "mtu 1450 up master vmbr1001");
    hv1.kill();
    change(1001, {{"/nettype", "routed"}});
    start(hv1);
    beat(1s);
    EXPECT_EQ(link(hv1, "vxlan1001"), "mtu 1450 up master vmbr1001");
    remove_network(1001);
    EXPECT_TRUE(within(1s, [&] { return link(hv1, "vmbr1001") == "gone" && link(hv1, "vxlan1001") == "gone"; }))
        << hv1.log();
    beat(1s);
    EXPECT_TRUE(hv1.logged("network 1001 is removed")) << hv1.log();
    // One of which nothing ever was is not said to be removed.
    put_network(1002, {{"/nettype", "routed"}});
    beat(1s);
    remove_network(1002);
    beat(1s);
    EXPECT_FALSE(hv1.logged("network 1002 is removed")) << hv1.log();
}

TEST_F(client_remains_test, case_29_one_that_was_refused_as_another_type_takes_what_it_had_before) {
    auto& hv1 = stage({.bridge_device = ""});
    for (const bool with_restart : {false, true}) {
        put_network(1001);
        ASSERT_TRUE(within(2s, [&] { return link(hv1, "vxlan1001") == "mtu 1450 up master vmbr1001"; }));
        beat(1s);
        change(1001, {{"/nettype", "bridged"}});
        beat(1s);
        EXPECT_TRUE(hv1.logged("network 1001: bridge_device is not configured")) << hv1.log();
        if (with_restart) {
            hv1.kill();
            start(hv1);
            beat(1s);
        }
        EXPECT_EQ(link(hv1, "vxlan1001"), "mtu 1450 up master vmbr1001");
        remove_network(1001);
        EXPECT_TRUE(within(1s, [&] { return link(hv1, "vmbr1001") == "gone" && link(hv1, "vxlan1001") == "gone"; }))
            << hv1.log();
        EXPECT_FALSE(hv1.logged("vxlan1001 uses its links")) << hv1.log();
    }
}

TEST_F(client_remains_test, case_30_what_networks_that_are_gone_left_goes_at_the_start) {
    auto& hv1 = add_networked();
    for (const auto* vni : {"7", "8"}) {
        const std::string name = vni;
        ASSERT_TRUE(hv1.kernel.apply(model::make_bridge{"vmbr" + name}));
        ASSERT_TRUE(
            hv1.kernel.apply(model::make_vxlan{"vxlan" + name, "ens5", static_cast<std::uint32_t>(std::stoi(name))}));
        ASSERT_TRUE(hv1.kernel.apply(model::set_master{"vxlan" + name, "vmbr" + name}));
    }
    hv1.kernel.add_tap("vnet0", "vmbr8");
    start(hv1);
    EXPECT_EQ(link(hv1, "vmbr7"), "gone");
    EXPECT_EQ(link(hv1, "vxlan7"), "gone");
    EXPECT_NE(link(hv1, "vmbr8"), "gone");
    EXPECT_EQ(hv1.times_logged("network 8 is gone, but vnet0 uses its links"), 1U);
    // As one that was removed under the eyes of this daemon.
    beat(5s);
    hv1.kernel.remove_device("vnet0");
    EXPECT_TRUE(within(1s, [&] { return link(hv1, "vmbr8") == "gone" && link(hv1, "vxlan8") == "gone"; })) << hv1.log();
    beat(1s);
    EXPECT_EQ(hv1.times_logged("network 8 is gone, but vnet0 uses its links"), 1U);
    EXPECT_EQ(hv1.times_logged("network 8 is removed"), 1U) << hv1.log();
}

TEST_F(client_remains_test, one_that_was_gone_at_the_start_and_comes_again_keeps_its_guest) {
    put_network(8);
    auto& hv1 = stage();
    hv1.kernel.add_tap("vnet0", "vmbr8");
    beat(1s);
    hv1.kill();
    remove_network(8);
    start(hv1);
    beat(1s);
    EXPECT_EQ(hv1.times_logged("network 8 is gone, but vnet0 uses its links"), 1U) << hv1.log();
    put_network(8, {{"/mtu", "1400"}});
    EXPECT_TRUE(within(1s, [&] { return link(hv1, "vxlan8") == "mtu 1400 up master vmbr8"; })) << hv1.log();
    hv1.kernel.remove_device("vnet0");
    beat(2s);
    EXPECT_EQ(link(hv1, "vxlan8"), "mtu 1400 up master vmbr8");
    EXPECT_FALSE(hv1.logged("repairing it")) << hv1.log();
}

}  // namespace
}  // namespace pvc::node
