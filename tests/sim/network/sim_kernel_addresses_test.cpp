// The rules of the simulated kernel for addresses, default routes and settings, as measured on a real one (Linux 6.18).
#include "sim/network/sim_kernel.hpp"

#include <gtest/gtest.h>

namespace pvc::sim {
namespace {

using namespace model;

class kernel_addresses_test : public testing::Test {
protected:
    kernel_addresses_test() {
        does(make_bridge{"brx"});
        does(set_master{"ens5", "brx"});
        does(set_up{"ens5"});
        does(set_up{"brx"});
    }
    void does(const network_change& change) {
        const auto done = kernel.apply(change);
        EXPECT_TRUE(done) << to_text(change) << ": " << (done ? "" : done.error().text());
    }
    errc fails(const network_change& change) {
        const auto done = kernel.apply(change);
        EXPECT_FALSE(done) << to_text(change);
        return done ? errc::unspecified : done.error().code();
    }
    void add(const std::string& device, std::string_view which) {
        does(add_address{device, *parse_host_address(which)});
    }
    void remove(std::string_view which) { does(remove_address{"brx", *parse_host_address(which)}); }
    void route(std::string_view gateway) { does(add_default_route{*parse_address(gateway), "brx"}); }
    void set(const std::string& key, const std::string& value) { does(set_sysctl{key, value}); }
    std::string read(const std::string& key) { return kernel.sysctls().read(key).value_or("none"); }
    std::string on(const std::string& device) {
        std::string all;
        for (const auto& one : kernel.addresses_on(device)) {
            all += (all.empty() ? "" : " ") + one.text();
        }
        return all;
    }
    std::string own() { return "fe80::ff:fe00:" + std::to_string(kernel.state().find("brx")->index) + "/64"; }
    std::string routes() {
        std::string all;
        const auto state = kernel.state();
        for (const auto& one : state.routes()) {
            all += (all.empty() ? "" : " ") + one.gateway.to_string() + "," + std::string(state.name_of(one.link)) +
                   "," + std::to_string(one.metric);
        }
        return all;
    }

    sim_kernel kernel{std::vector<machine_device>{{.name = "ens5"}, {.name = "ens6"}}};
    const ip::network_v6 advertised{*parse_address_v6("fd55::"), 64};
};

TEST_F(kernel_addresses_test, what_runs_has_an_address_of_its_own) {
    EXPECT_EQ(on("lo"), "127.0.0.1/8 ::1/128");
    EXPECT_EQ(on("brx"), own());
    EXPECT_EQ(on("ens6"), "");
    EXPECT_EQ(kernel.text(), "");
    EXPECT_FALSE(kernel.state().addresses_of(kernel.state().find("brx")->index).front().is_global());
}

TEST_F(kernel_addresses_test, secondary_ones_come_behind_and_go_with_the_first) {
    for (const auto* one : {"10.1.1.1/24", "10.1.1.1/24", "10.1.1.2/24", "10.1.1.1/25", "10.1.1.1/32"}) {
        add("brx", one);
    }
    EXPECT_EQ(on("brx"), "10.1.1.1/24 10.1.1.1/25 10.1.1.1/32 10.1.1.2/24 " + own());
    remove("10.1.1.1/24");
    EXPECT_EQ(on("brx"), "10.1.1.1/25 10.1.1.1/32 " + own());
    remove("10.1.1.1/24");
    set("net/ipv4/conf/brx/promote_secondaries", "1");
    add("brx", "10.2.1.1/24");
    add("brx", "10.2.1.2/24");
    add("brx", "10.2.1.3/24");
    remove("10.2.1.1/24");
    remove("10.2.1.3/24");
    EXPECT_EQ(on("brx"), "10.1.1.1/25 10.1.1.1/32 10.2.1.2/24 " + own());
}

TEST_F(kernel_addresses_test, of_ipv6_the_newest_comes_first_and_has_one_prefix_length) {
    add("brx", "fd00::1/64");
    add("brx", "fd00::2/64");
    add("brx", "fd00::2/64");
    EXPECT_EQ(on("brx"), "fd00::2/64 fd00::1/64 " + own());
    EXPECT_EQ(fails(add_address{"brx", *parse_host_address("fd00::1/48")}), errc::already_exists);
    remove("fd00::1/48");
    EXPECT_EQ(on("brx"), "fd00::2/64 fd00::1/64 " + own());
    remove("fd00::1/64");
    EXPECT_EQ(on("brx"), "fd00::2/64 " + own());
    EXPECT_EQ(fails(add_address{"nono", *parse_host_address("fd00::1/64")}), errc::not_found);
    does(remove_address{"nono", *parse_host_address("fd00::1/64")});
}

TEST_F(kernel_addresses_test, down_takes_ipv6_and_the_routes) {
    add("brx", "10.1.1.1/24");
    add("brx", "fd00::1/64");
    route("10.1.1.254");
    EXPECT_EQ(fails(add_default_route{*parse_address("fd00::fe"), "brx"}), errc::refused);
    EXPECT_EQ(routes(), "10.1.1.254,brx,0");
    does(set_down{"brx"});
    EXPECT_EQ(on("brx"), "10.1.1.1/24");
    EXPECT_EQ(routes(), "");
    add("brx", "fd00::5/64");
    EXPECT_EQ(on("brx"), "10.1.1.1/24 fd00::5/64");
    does(set_up{"brx"});
    EXPECT_EQ(on("brx"), "10.1.1.1/24 fd00::5/64 " + own());
    EXPECT_EQ(routes(), "");
}

TEST_F(kernel_addresses_test, a_bridge_that_no_longer_works_keeps_all) {
    add("brx", "10.1.1.1/24");
    route("10.1.1.254");
    kernel.set_carrier("ens5", false);
    EXPECT_EQ(on("brx"), "10.1.1.1/24 " + own());
    EXPECT_EQ(routes(), "10.1.1.254,brx,0");
}

TEST_F(kernel_addresses_test, there_is_one_default_route_of_a_metric) {
    add("brx", "10.1.1.1/24");
    route("10.1.1.254");
    route("10.1.1.254");
    EXPECT_EQ(fails(add_default_route{*parse_address("10.1.1.253"), "brx"}), errc::already_exists);
    EXPECT_EQ(fails(add_default_route{*parse_address("10.1.1.253"), "nono"}), errc::not_found);
    does(remove_default_route{*parse_address("10.1.1.253"), "brx"});
    EXPECT_EQ(routes(), "10.1.1.254,brx,0");
    does(remove_default_route{*parse_address("10.1.1.254"), "brx"});
    EXPECT_EQ(routes(), "");
}

TEST_F(kernel_addresses_test, a_gateway_is_reached_over_its_device) {
    add("brx", "10.1.1.1/24");
    const auto is_refused = [&](const std::string& gateway, const std::string& device) {
        return fails(add_default_route{*parse_address(gateway), device}) == errc::refused;
    };
    EXPECT_TRUE(is_refused("10.9.9.9", "brx"));
    EXPECT_TRUE(is_refused("10.1.1.1", "brx"));     // its own address
    EXPECT_TRUE(is_refused("10.1.1.254", "ens5"));  // another device
    add("ens6", "10.2.2.1/24");
    EXPECT_TRUE(is_refused("10.2.2.254", "ens6"));  // down
    does(set_up{"ens6"});
    does(add_default_route{*parse_address("10.2.2.254"), "ens6"});
}

TEST_F(kernel_addresses_test, the_routes_go_with_the_last_address) {
    add("brx", "10.1.1.1/24");
    add("brx", "10.3.1.1/24");
    route("10.1.1.254");
    remove("10.1.1.1/24");
    EXPECT_EQ(routes(), "10.1.1.254,brx,0");
    remove("10.3.1.1/24");
    EXPECT_EQ(routes(), "");
}

TEST_F(kernel_addresses_test, settings_come_and_go_with_their_links) {
    EXPECT_EQ(read("net/ipv6/conf/brx/accept_ra"), "1");
    EXPECT_EQ(read("net/ipv6/conf/vmbr7/accept_ra"), "none");
    set("net/ipv6/conf/default/accept_ra", "0");
    does(make_bridge{"vmbr7"});
    EXPECT_EQ(read("net/ipv6/conf/vmbr7/accept_ra"), "0");
    EXPECT_EQ(read("net/ipv6/conf/brx/accept_ra"), "1");
    does(delete_link{"vmbr7"});
    EXPECT_EQ(read("net/ipv6/conf/vmbr7/accept_ra"), "none");
    EXPECT_EQ(read("net/ipv4/conf/vmbr7/rp_filter"), "none");
    EXPECT_EQ(fails(set_sysctl{"net/ipv6/conf/brx/rp_filter", "0"}), errc::not_found);
    EXPECT_EQ(fails(set_sysctl{"net/ipv6/conf/brx/accept_ra", "abc"}), errc::refused);
    EXPECT_EQ(fails(set_sysctl{"net/ipv6/conf/brx/accept_ra", "99999999999"}), errc::refused);
    EXPECT_EQ(fails(set_sysctl{"net/ipv6/conf/brx/accept_ra", ""}), errc::refused);
    does(make_bridge{"eth0.100"});
    set("net/ipv4/conf/eth0.100/rp_filter", "2");
    EXPECT_EQ(read("net/ipv4/conf/eth0.100/rp_filter"), "2");
}

TEST_F(kernel_addresses_test, forwarding_of_all_reaches_every_link) {
    set("net/ipv4/ip_forward", "1");
    EXPECT_EQ(read("net/ipv4/conf/all/forwarding") + read("net/ipv4/conf/default/forwarding") +
                  read("net/ipv4/conf/brx/forwarding") + read("net/ipv6/conf/brx/forwarding"),
              "1110");
    set("net/ipv6/conf/all/forwarding", "1");
    EXPECT_EQ(read("net/ipv6/conf/default/forwarding") + read("net/ipv6/conf/brx/forwarding"), "11");
    set("net/ipv6/conf/all/accept_ra", "0");
    EXPECT_EQ(read("net/ipv6/conf/brx/accept_ra"), "1");
}

TEST_F(kernel_addresses_test, without_ipv6_there_is_no_address_of_it) {
    add("brx", "fd00::1/64");
    set("net/ipv6/conf/brx/disable_ipv6", "1");
    EXPECT_EQ(on("brx"), "");
    EXPECT_EQ(fails(add_address{"brx", *parse_host_address("fd00::1/64")}), errc::refused);
    set("net/ipv6/conf/brx/disable_ipv6", "0");
    EXPECT_EQ(on("brx"), own());
    does(set_mtu{"brx", 1279});
    EXPECT_EQ(on("brx"), "");
    EXPECT_EQ(read("net/ipv6/conf/brx/accept_ra"), "none");
    EXPECT_EQ(read("net/ipv4/conf/brx/rp_filter"), "0");
    EXPECT_EQ(fails(add_address{"brx", *parse_host_address("fd00::1/64")}), errc::refused);
    does(set_mtu{"brx", 1280});
    EXPECT_EQ(on("brx"), own());
    EXPECT_EQ(read("net/ipv6/conf/brx/accept_ra"), "1");
}

TEST_F(kernel_addresses_test, advertisements_are_taken_as_the_settings_say) {
    const auto after = [&](const char* forwarding, const char* accepts, const char* autoconf) {
        set("net/ipv6/conf/brx/disable_ipv6", "1");
        set("net/ipv6/conf/brx/disable_ipv6", "0");
        set("net/ipv6/conf/brx/forwarding", forwarding);
        set("net/ipv6/conf/brx/accept_ra", accepts);
        set("net/ipv6/conf/brx/autoconf", autoconf);
        kernel.advertise("brx", advertised);
        return std::string(on("brx") == own() ? "" : "address ") + (kernel.has_advertised_route("brx") ? "route" : "");
    };
    EXPECT_EQ(after("0", "0", "1"), "");
    EXPECT_EQ(after("0", "1", "0"), "route");
    EXPECT_EQ(after("0", "1", "1"), "address route");
    EXPECT_EQ(after("0", "2", "1"), "address route");
    EXPECT_EQ(after("1", "1", "1"), "");
    EXPECT_EQ(after("1", "2", "0"), "route");
    EXPECT_EQ(after("1", "2", "1"), "address route");
    EXPECT_EQ(kernel.text(), "");  // nobody gave it
}

TEST_F(kernel_addresses_test, forwarding_takes_the_route_of_an_advertisement_and_leaves_the_address) {
    kernel.advertise("brx", advertised);
    EXPECT_TRUE(kernel.has_advertised_route("brx"));
    set("net/ipv6/conf/all/forwarding", "1");
    EXPECT_FALSE(kernel.has_advertised_route("brx"));
    EXPECT_NE(on("brx"), own());
    set("net/ipv6/conf/all/forwarding", "0");
    set("net/ipv6/conf/brx/accept_ra", "2");
    kernel.advertise("brx", advertised);
    set("net/ipv6/conf/all/forwarding", "1");
    EXPECT_TRUE(kernel.has_advertised_route("brx"));
}

}  // namespace
}  // namespace pvc::sim
