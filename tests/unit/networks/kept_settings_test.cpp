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

// The host would take what guests say of routers. Nothing tells of it: it is seen within a minute, or with a change of
// that link.
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
    EXPECT_TRUE(within(61s, [&] { return read("vmbr9/accept_ra") == "0" && read("vmbr9/autoconf") == "0"; }))
        << hv1.log();
    loop.run_for(1s);
    EXPECT_EQ(read("vmbr20/disable_ipv6"), "0") << "who switched it on there has addresses there";
    for (const auto* key : {"accept_ra was 2", "autoconf was 1"}) {
        EXPECT_EQ(hv1.times_logged(fmt::format("network 9: net/ipv6/conf/vmbr9/{}, repairing it", key)), 1U)
            << hv1.log();
    }
    set("vmbr9/accept_ra", "1");
    hv1.kernel.add_alt_name("vmbr9", "guests");
    EXPECT_TRUE(within(2s, [&] { return read("vmbr9/accept_ra") == "0"; })) << hv1.log();
}

// They are files: with hundreds of networks a look that a routing daemon causes would read thousands.
TEST_F(kept_settings_test, a_look_reads_those_of_networks_where_something_may_have_changed) {
    auto& hv1 = stage();
    const auto networks_to = [&](int last) {
        for (int number = 1; number <= last; ++number) {
            put_network(number, {{"/ip4_network", fmt::format("10.9.{}.0/24", number)},
                                 {"/ip6_network", fmt::format("fd00:{}::/64", number)}});
        }
        EXPECT_TRUE(within(20s, [&] { return link(hv1, fmt::format("vxlan{}", last)) != "gone"; }));
        loop.run_for(3s);
    };
    // How many files are read where this happens, by one look or more.
    const auto reads_with = [&](const std::function<void()>& what, duration time = 1s) {
        const auto before = hv1.network.settings_read();
        const auto looks = hv1.network.looks;
        what();
        loop.run_for(time);
        EXPECT_GE(hv1.network.looks, looks + 1);
        return hv1.network.settings_read() - before;
    };
    int routes = 0;
    const auto add_route = [&] {
        hv1.kernel.add_route("ens4", {.is = {.to = *parse_host_address(fmt::format("172.16.{}.0/24", ++routes))}});
    };
    networks_to(2);
    const auto with_two = reads_with(add_route);
    networks_to(22);
    EXPECT_EQ(reads_with(add_route), with_two);
    const auto of_one =
        reads_with([&] { ASSERT_TRUE(hv1.kernel.apply(model::set_sysctl{"net/ipv6/conf/vmbr7/forwarding", "0"})); });
    EXPECT_EQ(hv1.kernel.sysctls().read("net/ipv6/conf/vmbr7/forwarding"), "1") << hv1.log();
    EXPECT_LE(of_one, with_two + 3 * 10) << "those of one network, with each look";
    EXPECT_GT(reads_with([&] { hv1.network.lose_events(); }), 22U * 10) << "all of them";
    EXPECT_GT(reads_with([] {}, 61s), 22U * 10) << "and after a minute";
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
