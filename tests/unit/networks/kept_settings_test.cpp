// Settings that the daemon keeps while it runs, and those that it carries to a bridge it has made (networking.md 3.2).
#include "unit/networks/network_fixture.hpp"

namespace pvc::node {
namespace {

class kept_settings_test : public network_fixture {};

// As `sysctl --system` does with what makes a host safe.
TEST_F(kept_settings_test, what_configures_the_host_anew_has_no_word_in_them) {
    auto& hv1 = stage();
    const auto set = [&](const std::string& key, const std::string& value) {
        ASSERT_TRUE(hv1.kernel.apply(model::set_sysctl{"net/ipv4/conf/" + key, value})) << key;
    };
    const auto read = [&](const std::string& key) { return hv1.kernel.sysctls().read("net/ipv4/conf/" + key); };
    ASSERT_EQ(read("brcluster/rp_filter"), "0");
    set("all/rp_filter", "1");
    set("brcluster/rp_filter", "1");
    set("all/send_redirects", "0");
    set("default/accept_source_route", "0");
    EXPECT_TRUE(within(5s, [&] { return read("brcluster/rp_filter") == "2"; })) << hv1.log();
    beat(1s);
    EXPECT_EQ(read("all/rp_filter"), "1") << "that is about others too, and stays";
    EXPECT_EQ(read("all/send_redirects"), "1");
    EXPECT_EQ(read("default/accept_source_route"), "1");
    EXPECT_EQ(hv1.times_logged("somebody changed net/ipv4/conf/all/send_redirects, setting it to 1 again"), 1U)
        << hv1.log();
}

// The host would take what guests say of routers. Nothing tells of it: it is seen with the next look.
TEST_F(kept_settings_test, a_client_network_s_bridge_takes_no_router_s_word_whoever_says_it_should) {
    auto& hv1 = stage();
    put_network(9, {{"/ip4_network", "10.9.0.0/24"}, {"/ip4_gateway", "10.9.0.1"}});
    put_network(20, {{"/nettype", "bridged"}});
    ASSERT_TRUE(within(5s, [&] { return link(hv1, "vmbr9") != "gone" && link(hv1, "vlan20") != "gone"; }));
    loop.run_for(2s);
    const auto set = [&](const std::string& key, const std::string& value) {
        ASSERT_TRUE(hv1.kernel.apply(model::set_sysctl{"net/ipv6/conf/" + key, value})) << key;
    };
    const auto read = [&](const std::string& key) { return hv1.kernel.sysctls().read("net/ipv6/conf/" + key); };
    ASSERT_EQ(read("vmbr9/accept_ra"), "0");
    ASSERT_EQ(read("vmbr20/disable_ipv6"), "1");
    set("vmbr9/accept_ra", "2");
    set("vmbr9/autoconf", "1");
    set("vmbr20/disable_ipv6", "0");
    hv1.kernel.add_device("ens77");
    EXPECT_TRUE(within(5s, [&] { return read("vmbr9/accept_ra") == "0" && read("vmbr9/autoconf") == "0"; }))
        << hv1.log();
    loop.run_for(1s);
    EXPECT_EQ(read("vmbr20/disable_ipv6"), "0") << "who switched it on there has addresses there";
    for (const auto* key : {"accept_ra was 2", "autoconf was 1"}) {
        EXPECT_EQ(hv1.times_logged(fmt::format("network 9: net/ipv6/conf/vmbr9/{}, repairing it", key)), 1U)
            << hv1.log();
    }
}

TEST_F(kept_settings_test, a_kernel_without_ipv6_is_said_once) {
    auto& hv1 = add_networked();
    hv1.network.broken.insert_or_assign("read net/ipv6/conf/all/forwarding",
                                        failure(errc::not_found, "net/ipv6", "No such file or directory"));
    start(hv1);
    beat(30s);
    EXPECT_EQ(hv1.times_logged("warning: this kernel has no IPv6 (ipv6.disable=1, say): gateways of client networks "
                               "of IPv6 are not set here"),
              1U)
        << hv1.log();
}

// The bridge is there, its device is not yet, and another daemon puts it in.
TEST_F(kept_settings_test, a_bridge_of_a_daemon_that_was_killed_takes_the_settings_of_its_device) {
    auto& hv1 = add_networked();
    hv1.kernel.remove_device("ens5");
    hv1.start();
    loop.run_for(10s);
    ASSERT_EQ(link(hv1, "brcluster"), "mtu 1500 up");
    hv1.kill();
    hv1.kernel.add_device("ens5");
    ASSERT_TRUE(hv1.kernel.apply(model::set_sysctl{"net/ipv4/conf/ens5/proxy_arp", "1"}));
    start(hv1);
    ASSERT_EQ(link(hv1, "ens5"), "mtu 1500 up master brcluster");
    EXPECT_EQ(hv1.kernel.sysctls().read("net/ipv4/conf/brcluster/proxy_arp"), "1");
}

// One that somebody made has its own.
TEST_F(kept_settings_test, a_bridge_that_somebody_made_while_no_daemon_ran_has_its_own) {
    auto& hv1 = add_networked();
    ASSERT_TRUE(hv1.kernel.apply(model::make_bridge{"brcluster"}));
    ASSERT_TRUE(hv1.kernel.apply(model::set_sysctl{"net/ipv4/conf/ens5/proxy_arp", "1"}));
    start(hv1);
    ASSERT_EQ(link(hv1, "ens5"), "mtu 1500 up master brcluster");
    EXPECT_EQ(hv1.kernel.sysctls().read("net/ipv4/conf/brcluster/proxy_arp"), "0");
}

}  // namespace
}  // namespace pvc::node
