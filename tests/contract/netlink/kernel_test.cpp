// What only the real kernel does: lost events, devices of other namespaces, and iproute2's word for what the adapter
// made (networking.md 2, 5.2; runtime-design.md 4).
#include "contract/netlink/real_network.hpp"

#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace pvc::contract {
namespace {

using namespace model;

class kernel_network : public network_suite<real_network> {};

TEST_F(kernel_network, as_iproute2_shows_it) {
    bench.run([this]() -> awaitable<void> {
        co_await plug_in_up("eth0");
        co_await done(make_bridge{"vmbr1001"});
        co_await done(make_vxlan{"vxlan1001", "eth0", 1001});
        co_await done(add_address{"vmbr1001", at("10.1.1.1/24")});
        co_await done(add_address{"vmbr1001", at("fd00::1/64")});
        co_await done(set_up{"vmbr1001"});
        co_await done(add_default_route{address("10.1.1.254"), "vmbr1001"});
        const auto vxlan = ip_output("-d link show vxlan1001");
        EXPECT_NE(vxlan.find("vxlan id 1001 dev eth0 srcport 0 0 dstport 4789 ttl auto ageing 300 "), std::string::npos)
            << vxlan;
        EXPECT_EQ(vxlan.find("nolearning"), std::string::npos) << vxlan;
        EXPECT_EQ(vxlan.find("local"), std::string::npos) << vxlan;
        EXPECT_NE(ip_output("-d link show vmbr1001").find("stp_state 0"), std::string::npos);
        const auto addresses = ip_output("-o address show vmbr1001");
        EXPECT_NE(addresses.find("inet 10.1.1.1/24 scope global vmbr1001"), std::string::npos) << addresses;
        EXPECT_NE(addresses.find("inet6 fd00::1/64 scope global nodad"), std::string::npos) << addresses;
        EXPECT_EQ(ip_output("-6 address show vmbr1001 to fd00::1 tentative"), "");
        const auto routes = ip_output("-d route show default");
        EXPECT_NE(routes.find("unicast default via 10.1.1.254 dev vmbr1001 proto boot scope global"), std::string::npos)
            << routes;
    });
}

// As a machine is before anything of it is set up: its tables of routes are not there either.
TEST_F(kernel_network, a_namespace_in_which_nothing_was_done) {
    bench.run([this]() -> awaitable<void> {
        EXPECT_EQ(::unshare(CLONE_NEWNET), 0);
        async::thread_offload pool(bench.loop().context());  // its threads are of that namespace
        netlink::kernel_stack stack(bench.loop().context().get_executor(), bench.clock(), pool);
        const auto seen = co_await stack.look(soon());
        ASSERT_CO_TRUE(seen);
        EXPECT_EQ(seen->links().size(), 1U);
        EXPECT_FALSE(seen->links()[0].is_up);
        EXPECT_TRUE(seen->addresses().empty() && seen->routes().empty());
    });
}

// README ruling 79: what can be set while it is used.
TEST_F(kernel_network, a_vxlan_that_another_made_is_put_right_while_it_is_used) {
    bench.run([this]() -> awaitable<void> {
        co_await plug_in_up("eth0");
        ip_command("address add 10.0.0.1/24 dev eth0");
        ip_command("address add fd00::1/64 dev eth0 nodad");
        for (const auto* ends : {"", "local 10.0.0.1", "remote 10.0.0.9", "local 10.0.0.1 remote 10.0.0.9",
                                 "local fd00::1", "local fd00::1 remote fd00::9"}) {
            ip_command(std::string("link add vxlan7 type vxlan id 7 dev eth0 dstport 4789 nolearning ") + ends);
            ip_command("link set vxlan7 up");
            const auto before = co_await link("vxlan7");
            ASSERT_CO_TRUE(before && before->vxlan);
            EXPECT_FALSE(before->vxlan->is_learning);
            co_await done(plain_vxlan{"vxlan7"});
            const auto after = co_await link("vxlan7");
            EXPECT_TRUE(after && after->index == before->index && after->is_up);
            EXPECT_EQ(after->vxlan, (vxlan_settings{.vni = 7})) << ends;
            co_await done(plain_vxlan{"vxlan7"});
            co_await done(delete_link{"vxlan7"});
        }
        co_await fails(plain_vxlan{"eth0"}, errc::already_exists);
        co_await fails(plain_vxlan{"vxlan8"}, errc::not_found, "vxlan8");
    });
}

TEST_F(kernel_network, what_others_made_is_read) {
    bench.run([this]() -> awaitable<void> {
        co_await plug_in_up("eth0");
        ip_command("address add 10.0.0.1/24 broadcast + dev eth0");
        ip_command("address add 10.0.9.1 peer 10.0.9.2/32 dev eth0");
        ip_command("address add fd00::1/64 dev eth0 valid_lft 1000 preferred_lft 1000");
        ip_command("link add vxlan5 type vxlan id 5 dev eth0 dstport 4790 nolearning local 10.0.0.1 group 239.0.0.1");
        ip_command("link add vxlan6 type vxlan id 6 dstport 4791 remote fd00::9");
        ip_command("route add default via 10.0.0.254 dev eth0 metric 100");
        ip_command("route add default metric 200 nexthop via 10.0.0.252 dev eth0 nexthop via 10.0.0.253 dev eth0");
        ip_command("route add default dev eth0 metric 300");
        ip_command("route add default via 10.0.0.254 dev eth0 table 77");
        const auto seen = co_await look();
        const int index = seen.find("eth0")->index;
        const auto all = seen.addresses_of(index);
        ASSERT_CO_TRUE(all.size() >= 3);
        EXPECT_EQ(all[0],
                  (link_address{
                      .link = index, .address = at("10.0.0.1/24"), .settings = {.broadcast = address("10.0.0.255")}}));
        EXPECT_EQ(all[1], (link_address{index, at("10.0.9.1/32"), universe_scope, true, address("10.0.9.2")}));
        EXPECT_EQ(all[2], (link_address{index, at("fd00::1/64"), universe_scope, false}));
        EXPECT_EQ(seen.find("vxlan5")->vxlan, (vxlan_settings{5, 4790, false, true, true}));
        EXPECT_EQ(seen.find("vxlan6")->vxlan, (vxlan_settings{6, 4791, true, false, true}));
        EXPECT_EQ(seen.find("vxlan6")->lower, 0);
        const std::vector<default_route> routes{{address("10.0.0.254"), index, 100},
                                                {address("10.0.0.252"), index, 200},
                                                {address("10.0.0.253"), index, 200},
                                                {address("0.0.0.0"), index, 300}};
        EXPECT_TRUE(std::ranges::equal(seen.routes(), routes));
        // One with another metric is no obstacle, and is not taken for ours.
        co_await done(add_default_route{address("10.0.0.254"), "eth0"});
        const auto after = co_await look();
        EXPECT_EQ(after.routes().size(), 5U);
    });
}

// They are over no device, and need their address as those over one do.
TEST_F(kernel_network, routes_that_lead_nowhere_go_with_their_source) {
    bench.run([this]() -> awaitable<void> {
        co_await plug_in_up("eth0");
        ip_command("address add 10.0.0.1/24 dev eth0");
        for (const auto* type : {"blackhole", "unreachable", "prohibit", "throw"}) {
            ip_command(std::string("route add ") + type + " 10.90.9.0/24 src 10.0.0.1");
            ip_command(std::string("route add ") + type + " 10.90.10.0/24");
            ip_command("route add local 10.90.11.0/24 dev eth0 table 77");
            const auto seen = co_await look();
            const link_route wanted{.is = {.to = at("10.90.9.0/24"), .source = address("10.0.0.1")},
                                    .more = std::string("it is of the type ") + type};
            EXPECT_EQ(std::ranges::count(seen.link_routes(), wanted), 1) << type;
            EXPECT_EQ(seen.link_routes().size(), 2U) << "once that of type local, and none without a source";
            ip_command("route delete 10.90.10.0/24");
            ip_command("route delete local 10.90.11.0/24 table 77");
            co_await done(remove_address{"eth0", at("10.0.0.1/24")});
            const auto after = co_await look();
            EXPECT_TRUE(after.link_routes().empty()) << type;
            ip_command("address add 10.0.0.1/24 dev eth0");
        }
    });
}

TEST_F(kernel_network, an_address_with_a_far_end_goes_only_by_its_name) {
    bench.run([this]() -> awaitable<void> {
        co_await plug_in_up("eth0");
        for (const std::string_view one : {"10.0.9.1 10.0.9.2/32", "fd00::1 fd00::2/128"}) {
            const auto space = one.find(' ');
            const std::string own(one.substr(0, space));
            const auto far = at(one.substr(space + 1));
            ip_command("address add " + own + " peer " + far.text() + " dev eth0");
            auto seen = co_await look();
            const auto is_it = [&](const link_address& has) { return has.address.address == address(own); };
            const auto found = std::ranges::find_if(seen.addresses(), is_it);
            ASSERT_CO_TRUE(found != seen.addresses().end());
            EXPECT_EQ(found->peer, far.address);
            const host_address which{address(own), far.prefix};
            EXPECT_EQ(found->address, which);
            co_await done(remove_address{"eth0", which, found->peer});
            co_await done(remove_address{"eth0", which, found->peer});
            seen = co_await look();
            EXPECT_TRUE(std::ranges::none_of(seen.addresses(), is_it));
        }
    });
}

TEST_F(kernel_network, without_ipv6_none_of_its_addresses_is_there) {
    bench.run([this]() -> awaitable<void> {
        co_await plug_in_up("eth0");
        co_await done(set_sysctl{"net/ipv6/conf/eth0/disable_ipv6", "1"});
        co_await done(remove_address{"eth0", at("fd00::1/64")});
        co_await plug_in_up("eth1");
        co_await done(set_mtu{"eth1", 1000});
        co_await done(remove_address{"eth1", at("fd00::1/64")});
    });
}

// As where a routing daemon keeps those of a whole network: a look shows that there are many, and all that lead
// everywhere.
TEST_F(kernel_network, of_many_routes_some_are_looked_at) {
    bench.run([this]() -> awaitable<void> {
        co_await plug_in_up("eth0");
        ip_command("address add 10.0.0.1/24 dev eth0");
        ip_command("address add fd00::1/64 dev eth0 nodad");
        ip_command("route add default via 10.0.0.254 metric 100");
        ip_command("-6 route add default via fd00::254 metric 100");
        constexpr int many = 3000;
        const std::string file = testing::TempDir() + "routes-" + std::to_string(getpid());
        {
            std::ofstream out(file);
            for (int number = 0; number < many; ++number) {
                out << "route add 11." << number / 250 << '.' << number % 250 << ".0/24 via 10.0.0.254\n";
            }
        }
        ip_command("-batch " + file);
        std::filesystem::remove(file);
        const auto seen = co_await look();
        const auto is_default = [](const link_route& one) { return one.is.is_default(); };
        EXPECT_EQ(std::ranges::count_if(seen.link_routes(), is_default), 2);
        EXPECT_LE(seen.link_routes().size(), model::link_routes_max + 2);
        EXPECT_GE(seen.link_routes().size(), model::link_routes_max);
        EXPECT_EQ(seen.routes().size(), 1U);
    });
}

TEST_F(kernel_network, routes_that_could_not_be_made_anew_are_told_as_such) {
    bench.run([this]() -> awaitable<void> {
        co_await plug_in_up("eth0");
        ip_command("address add 10.0.0.1/24 dev eth0");
        ip_command("address add fd00::1/64 dev eth0 nodad");
        ip_command("route add 10.1.0.0/16 via 10.0.0.250 dev eth0");
        ip_command("route add 10.1.0.0/16 via 10.0.0.250 dev eth0 table 1000");
        ip_command("route add 10.2.0.0/16 nexthop via 10.0.0.250 dev eth0 nexthop via 10.0.0.251 dev eth0");
        ip_command("route add 10.3.0.0/16 via 10.0.0.250 dev eth0 mtu 1400");
        ip_command("route add 10.4.0.0/16 via inet6 fd00::250 dev eth0");
        ip_command("route add blackhole 10.5.0.0/16");
        ip_command("-6 route add fd01::/48 via fd00::250 dev eth0");
        ip_command("-6 route add fd02::/48 via fd00::250 dev eth0 expires 600");
        ip_command("-6 route add fd03::/48 via fd00::250 dev eth0 proto ra");
        const auto seen = co_await look();
        std::string told;
        for (const auto& one : seen.link_routes()) {
            told += (told.empty() ? "" : "; ") + one.is.to.text() + (one.is_plain() ? " plain" : "") +
                    (one.table == main_table ? "" : " of " + std::to_string(one.table));
        }
        EXPECT_EQ(told,
                  "10.1.0.0/16 plain; 10.2.0.0/16 plain; 10.3.0.0/16 plain; 10.4.0.0/16; fd01::/48 plain; fd02::/48; "
                  "10.1.0.0/16 plain of 1000");
        // By a metric of 0 nobody else's goes.
        ip_command("route add 10.6.0.0/16 via 10.0.0.250 dev eth0 metric 9");
        network_route without;
        without.to = at("10.6.0.0/16");
        without.gateway = address("10.0.0.250");
        co_await done(remove_route{without, "eth0"});
        EXPECT_NE(ip_output("route show 10.6.0.0/16"), "");
    });
}

TEST_F(kernel_network, a_route_without_a_gateway_is_another_one) {
    bench.run([this]() -> awaitable<void> {
        co_await plug_in_up("eth0");
        ip_command("address add 10.0.0.1/24 dev eth0");
        ip_command("route add default dev eth0");
        co_await fails(add_default_route{address("10.0.0.254"), "eth0"}, errc::already_exists, "0.0.0.0");
        ip_command("route replace blackhole default");
        co_await fails(add_default_route{address("10.0.0.254"), "eth0"}, errc::already_exists);
    });
}

TEST_F(kernel_network, a_far_end_in_another_namespace) {
    bench.run([this]() -> awaitable<void> {
        bench.plug_in("eth0");
        co_await done(make_vxlan{"vxlan7", real_network::far_end("eth0"), 7});
        const auto before = co_await look();
        EXPECT_EQ(before.find("eth0")->lower, 0);  // neither end stands on the other
        EXPECT_EQ(before.find("vxlan7")->lower, before.find(real_network::far_end("eth0"))->index);
        int ready[2];
        EXPECT_EQ(::pipe(ready), 0);
        const pid_t child = ::fork();
        if (child == 0) {
            ::unshare(CLONE_NEWNET);
            ::close(ready[1]);
            ::pause();
            ::_exit(0);
        }
        ::close(ready[1]);
        char end = 0;
        EXPECT_EQ(::read(ready[0], &end, 1), 0);  // the child has left this namespace
        ::close(ready[0]);
        ip_command("link set " + real_network::far_end("eth0") + " netns " + std::to_string(child));
        const auto seen = co_await look();
        EXPECT_EQ(seen.find(real_network::far_end("eth0")), nullptr);
        EXPECT_EQ(seen.find("eth0")->lower, 0);
        ::kill(child, SIGKILL);
        ::waitpid(child, nullptr, 0);
    });
}

TEST_F(kernel_network, the_kernel_says_why) {
    bench.run([this]() -> awaitable<void> {
        bench.plug_in("eth0");
        co_await done(make_bridge{"br0"});
        co_await done(make_bridge{"br1"});
        co_await fails(set_mtu{"eth0", 1'000'000}, errc::refused, "mtu greater than device maximum");
        co_await fails(set_master{"br1", "br0"}, errc::refused, "Can not enslave a bridge to a bridge");
        co_await done(make_vxlan{"vxlan7", "eth0", 7});
        co_await fails(make_vxlan{"other7", "eth0", 7}, errc::refused, "VNI");
        co_await fails(make_vxlan{"vxlan7", "eth0", 8}, errc::already_exists, "VNI 7");
        co_await fails(make_vxlan{"vxlan7", "eth0", 7, 4790}, errc::already_exists, "port 4789");
        co_await done(add_address{"eth0", at("fd00::1/64")});
        co_await fails(add_address{"eth0", at("fd00::1/48")}, errc::already_exists, "fd00::1/64");
    });
}

TEST_F(kernel_network, events_that_were_lost_are_a_change) {
    bench.run([this]() -> awaitable<void> {
        async::wakeup changed;
        const auto watch = bench.stack().watch(changed);
        co_await quiet(changed);
        // More than the socket holds, while the loop stands still.
        std::string batch = "link add br0 type bridge\n";
        for (int number = 0; number < 3000; ++number) {
            batch += "link set br0 mtu " + std::to_string(1300 + number % 2) + '\n';
        }
        const scratch_folder folder;
        folder.write("batch", batch);
        ip_command("-batch " + folder / "batch");
        const bool told = co_await is_told(changed);
        EXPECT_TRUE(told);
        EXPECT_FALSE(changed.try_consume());
        // It goes on to listen, and does not begin anew after a while.
        co_await done(set_up{"br0"});
        const bool told_again = co_await changed.wait_until(bench.clock(), bench.clock().now() + 2s, "a change");
        EXPECT_TRUE(told_again);
    });
}

TEST_F(kernel_network, a_watch_may_outlive_the_port) {
    bench.run([this]() -> awaitable<void> {
        async::wakeup changed;
        auto watch = bench.stack().watch(changed);
        co_await quiet(changed);
        bench.drop_stack();
        ip_command("link add br0 type bridge");
        const bool told = co_await changed.wait_until(bench.clock(), bench.clock().now() + 100ms, "nothing");
        EXPECT_FALSE(told);
        watch.reset();
    });
}

TEST_F(kernel_network, no_descriptor_is_left_open) {
    bench.run([this]() -> awaitable<void> {
        co_await look();
        co_await done(make_bridge{"br0"});
        const auto before = open_descriptors();
        for (int round = 0; round < 50; ++round) {
            async::wakeup changed;
            const auto watch = bench.stack().watch(changed);
            co_await fails(make_bridge{"br0"}, errc::already_exists);
            co_await done(set_up{"br0"});
            co_await look();
        }
        EXPECT_EQ(open_descriptors(), before);
    });
}

// A bridge without VLANs in its kernel is told of.
TEST_F(kernel_network, a_kind_that_the_kernel_lacks_is_refused) {
    bench.run([this]() -> awaitable<void> {
        co_await plug_in_up("eth0");
        const auto made = co_await apply(make_vlan{"vlan5", "eth0", 5});
        EXPECT_TRUE(made || made.error().code() == errc::refused);
        EXPECT_TRUE(made || !made.error().cause().empty());
    });
}

}  // namespace
}  // namespace pvc::contract
