// The netlink port: routes of others when an address of the primary goes (networking.md 6).
#include "adapter/kernel_requests.hpp"
#include "adapter/messages.hpp"
#include "contract/netlink/benches.hpp"
#include "contract/netlink/real_network.hpp"

#include <fmt/format.h>

#include <net/if.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

namespace pvc::contract {
namespace {

using namespace model;

network_route link_route_to(std::string_view to) {
    return {.to = at(to), .scope = link_scope};
}

template <class Bench>
class network_going_address : public network_suite<Bench> {
protected:
    // br0 with the floating address alone, and eth0 with one of its own.
    awaitable<void> set_up_both() {
        co_await this->done(make_bridge{"br0"});
        co_await this->done(set_up{"br0"});
        co_await this->plug_in_up("eth0");
        co_await this->done(add_address{"eth0", at("10.5.0.1/24")});
        co_await this->done(add_address{"br0", at("10.0.0.254/24")});
    }
    // "10.78.0.0/16 on br0 table 254, …" in the order of a look.
    awaitable<std::string> all_routes() {
        const auto seen = co_await this->look();
        std::string text;
        for (const auto& one : seen.link_routes()) {
            text += fmt::format("{}{} on {} table {}", text.empty() ? "" : ", ", to_text(one.is),
                                seen.name_of(one.link), one.table);
        }
        co_return text;
    }
    awaitable<void> remove(std::vector<netlink::staying_route> staying) {
        const auto removed =
            co_await this->bench.addresses().remove("br0", at("10.0.0.254/24"), std::move(staying), this->soon());
        EXPECT_TRUE(removed) << (removed ? "" : removed.error().text());
    }
};
TYPED_TEST_SUITE(network_going_address, network_benches, bench_names);

TYPED_TEST(network_going_address, takes_all_routes_of_its_device_with_it_if_it_is_the_last) {
    this->bench.run([this]() -> awaitable<void> {
        co_await this->set_up_both();
        co_await this->done(add_route{link_route_to("10.78.0.0/16"), "br0"});
        co_await this->done(add_route{link_route_to("10.80.0.0/16"), "br0", 100});
        co_await this->remove({});
        const auto left = co_await this->all_routes();
        EXPECT_EQ(left, "");
    });
}

TYPED_TEST(network_going_address, routes_that_need_none_stay) {
    this->bench.run([this]() -> awaitable<void> {
        co_await this->set_up_both();
        const auto plain = link_route_to("10.78.0.0/16");
        const auto other = link_route_to("10.80.0.0/16");
        network_route behind{.to = at("10.87.0.0/16"), .gateway = address("10.78.0.1"), .metric = 50};
        network_route local{.to = at("10.83.0.0/16"), .scope = host_scope, .is_local = true};
        network_route lost{.to = at("10.77.0.0/16"), .gateway = address("10.0.0.1")};
        for (const auto& one : {plain, behind, lost}) {
            co_await this->done(add_route{one, "br0"});
        }
        co_await this->done(add_route{other, "br0", 100});
        co_await this->done(add_route{local, "br0", local_table});
        // What cannot be there any more is refused, and keeps no other.
        co_await this->remove({{lost}, {plain}, {other, 100}, {local, local_table}, {behind}});
        auto seen = co_await this->all_routes();
        for (const auto* one : {"route 10.78.0.0/16 on br0 table 254", "route 10.80.0.0/16 on br0 table 100",
                                "10.83.0.0/16 on br0 table 255", "10.87.0.0/16 via 10.78.0.1 (metric 50) on br0"}) {
            EXPECT_NE(seen.find(one), std::string::npos) << one << " in " << seen;
        }
        EXPECT_EQ(seen.find("10.77.0.0"), std::string::npos) << seen;
        // Twice is as good as once, also where nothing has gone.
        co_await this->done(add_address{"br0", at("10.9.0.1/24")});
        co_await this->done(add_address{"br0", at("10.0.0.254/24")});
        const auto before = co_await this->all_routes();
        co_await this->remove({{plain}, {other, 100}, {local, local_table}, {behind}});
        seen = co_await this->all_routes();
        EXPECT_EQ(seen, before);
    });
}

// Of several of one metric the kernel takes the first: that is the first afterwards, too.
TYPED_TEST(network_going_address, among_others_of_its_metric_a_route_has_the_place_that_it_had) {
    this->bench.run([this]() -> awaitable<void> {
        co_await this->set_up_both();
        const auto network = link_route_to("10.78.0.0/16");
        const network_route first{.to = at("0.0.0.0/0"), .gateway = address("10.78.0.1"), .metric = 10};
        auto second = first;
        second.metric = 20;
        network_route of_other{.to = at("0.0.0.0/0"), .gateway = address("10.5.0.9"), .metric = 10};
        co_await this->done(add_route{network, "br0"});
        co_await this->done(add_route{first, "br0"});
        this->bench.append_route("eth0", of_other);
        of_other.metric = 20;
        co_await this->done(add_route{of_other, "eth0"});
        this->bench.append_route("br0", second);
        const auto before = co_await this->routes();
        EXPECT_EQ(before, "10.78.0.1 on br0, 10.5.0.9 on eth0, 10.5.0.9 on eth0, 10.78.0.1 on br0");
        co_await this->remove({{network}, {first, main_table, true}, {second, main_table, true}});
        const auto seen = co_await this->routes();
        EXPECT_EQ(seen, before);
    });
}

// Of IPv4 the kernel takes those away, wherever they are; of IPv6 they lose it.
TYPED_TEST(network_going_address, routes_that_name_it_as_their_source_come_back_with_it) {
    this->bench.run([this]() -> awaitable<void> {
        co_await this->set_up_both();
        co_await this->done(add_address{"br0", at("10.9.0.1/24")});
        co_await this->done(add_address{"br0", at("fd00::1/64")});
        const network_route over_it{.to = at("10.81.0.0/16"), .source = address("10.0.0.254"), .scope = link_scope};
        const network_route over_other{.to = at("10.82.0.0/16"), .source = address("10.0.0.254"), .scope = link_scope};
        const network_route six{.to = at("fd01::/64"), .metric = 1024, .source = address("fd00::1")};
        const network_route by_gateway{
            .to = at("fd02::/64"), .gateway = address("fd00::9"), .metric = 1024, .source = address("fd00::1")};
        const std::vector<std::pair<network_route, std::string>> all{
            {over_it, "br0"}, {over_other, "eth0"}, {six, "br0"}, {by_gateway, "br0"}};
        for (const auto& [route, device] : all) {
            co_await this->done(add_route{route, device});
        }
        const auto before = co_await this->all_routes();
        co_await this->remove({});
        co_await this->done(remove_address{"br0", at("fd00::1/64")});
        auto seen = co_await this->all_routes();
        EXPECT_EQ(seen.find("10.81"), std::string::npos) << seen;
        EXPECT_EQ(seen.find("10.82"), std::string::npos) << seen;
        EXPECT_NE(seen.find("route fd01::/64 (metric 1024) on br0"), std::string::npos) << seen;
        co_await this->fails(add_route{over_it, "br0", main_table, "br0"}, errc::refused);
        co_await this->done(add_address{"br0", at("10.0.0.254/24")});
        co_await this->done(add_address{"br0", at("fd00::1/64")});
        for (int round = 0; round < 2; ++round) {
            for (const auto& [route, device] : all) {
                co_await this->done(add_route{route, device, main_table, device});
            }
            seen = co_await this->all_routes();
            EXPECT_EQ(seen, before);
        }
    });
}

// Another one of its place is left alone, whatever it is.
TYPED_TEST(network_going_address, a_route_comes_back_beside_what_others_have_made_meanwhile) {
    this->bench.run([this]() -> awaitable<void> {
        co_await this->set_up_both();
        co_await this->done(add_address{"br0", at("fd00::1/64")});
        co_await this->done(add_address{"eth0", at("fd05::1/64")});
        const network_route wanted{.to = at("fd01::/64"), .metric = 1024, .source = address("fd00::1")};
        auto bare = wanted;
        bare.source.reset();
        co_await this->done(add_route{bare, "br0"});
        this->bench.append_route("eth0", bare);
        co_await this->done(add_route{wanted, "br0", main_table, "br0"});
        const auto seen = co_await this->all_routes();
        EXPECT_NE(seen.find("route fd01::/64 (metric 1024, source fd00::1) on br0"), std::string::npos) << seen;
        EXPECT_NE(seen.find("route fd01::/64 (metric 1024) on eth0"), std::string::npos) << seen;
    });
}

// Of IPv6 the kernel takes away what is on the link to the network of the address, whoever made it, if its metric is
// smaller than that of its own, and leaves its own.
TYPED_TEST(network_going_address, a_route_of_another_metric_to_its_network_stays_and_the_kernels_goes) {
    this->bench.run([this]() -> awaitable<void> {
        co_await this->set_up_both();
        const add_address six{"br0", at("fd00::1/64")};
        const add_route of_operator{{.to = at("fd00::/64"), .metric = 50}, "br0"};
        const auto seen_routes = [this]() -> awaitable<std::string> {
            const auto seen = co_await this->look();
            const bool has_own = seen.has_connected_route(seen.find("br0")->index, at("fd00::/64"));
            const auto all = co_await this->all_routes();
            co_return all + (has_own ? ", the kernel's" : "");
        };
        co_await this->done(six);
        co_await this->done(of_operator);
        auto now = co_await seen_routes();
        EXPECT_EQ(now, "route fd00::/64 (metric 50) on br0 table 254, the kernel's");
        co_await this->done(remove_address{"br0", six.address});
        now = co_await seen_routes();
        EXPECT_EQ(now, ", the kernel's") << "as a kernel does";
        co_await this->done(six);
        co_await this->done(of_operator);
        for (int round = 0; round < 2; ++round) {
            const auto removed = co_await this->bench.addresses().remove(
                "br0", six.address, {{of_operator.route, main_table}}, this->soon());
            EXPECT_TRUE(removed);
            now = co_await seen_routes();
            EXPECT_EQ(now, "route fd00::/64 (metric 50) on br0 table 254");
            co_await this->done(six);
            now = co_await seen_routes();
            EXPECT_EQ(now, "route fd00::/64 (metric 50) on br0 table 254, the kernel's");
        }
        // With another address of the network the kernel takes neither.
        co_await this->done(add_address{"br0", at("fd00::2/64")});
        const auto removed = co_await this->bench.addresses().remove("br0", six.address,
                                                                     {{of_operator.route, main_table}}, this->soon());
        EXPECT_TRUE(removed);
        now = co_await seen_routes();
        EXPECT_EQ(now, "route fd00::/64 (metric 50) on br0 table 254, the kernel's");
    });
}

// Of IPv4 what comes back comes before others of its place, or behind them, as it was.
TYPED_TEST(network_going_address, what_comes_back_has_its_place_among_those_that_stayed) {
    this->bench.run([this]() -> awaitable<void> {
        co_await this->set_up_both();
        const auto on_link = link_route_to("10.90.5.0/24");
        const network_route first{.to = at("10.90.5.0/24"), .gateway = address("10.0.0.20")};
        auto last = first;
        last.gateway = address("10.0.0.21");
        const auto order = [this]() -> awaitable<std::string> {
            const auto seen = co_await this->look();
            std::vector<std::string> all(3);
            for (const auto& one : seen.link_routes()) {
                if (one.is.to == at("10.90.5.0/24") && one.place < all.size()) {
                    all[one.place] = (one.is.gateway ? one.is.gateway->to_string() : "link") +
                                     (one.is_before_others ? " before others" : "");
                }
            }
            co_return fmt::format("{}, {}, {}", all[0], all[1], all[2]);
        };
        co_await this->done(add_route{on_link, "br0"});
        co_await this->done(add_route{last, "br0", main_table, "br0"});
        co_await this->done(add_route{first, "br0", main_table, "br0", true});
        const auto before = co_await order();
        EXPECT_EQ(before, "10.0.0.20, link, 10.0.0.21");
        co_await this->remove({{on_link}});
        const auto left = co_await order();
        EXPECT_EQ(left, "link, , ");
        co_await this->done(add_address{"br0", at("10.0.0.254/24")});
        co_await this->done(add_route{last, "br0", main_table, "br0"});
        co_await this->done(add_route{first, "br0", main_table, "br0", true});
        auto now = co_await order();
        EXPECT_EQ(now, before);
        co_await this->done(add_route{first, "br0", main_table, "br0", true});
        now = co_await order();
        EXPECT_EQ(now, before) << "once is enough";
        this->bench.append_route("eth0", {.to = at("10.90.5.0/24"), .gateway = address("10.5.0.9")});
        now = co_await order();
        EXPECT_EQ(now, "10.0.0.20 before others, link before others, 10.0.0.21 before others");
    });
}

// One that is named by its source beside one without, or by another.
TYPED_TEST(network_going_address, of_ipv4_one_by_another_source_is_another_one) {
    this->bench.run([this]() -> awaitable<void> {
        co_await this->set_up_both();
        const auto plain = link_route_to("10.90.5.0/24");
        auto sourced = plain;
        sourced.source = address("10.0.0.254");
        co_await this->done(add_route{plain, "br0"});
        co_await this->done(add_route{sourced, "br0", main_table, "br0"});
        const auto now = co_await this->all_routes();
        EXPECT_NE(now.find("route 10.90.5.0/24 on br0"), std::string::npos) << now;
        EXPECT_NE(now.find("route 10.90.5.0/24 (source 10.0.0.254) on br0"), std::string::npos) << now;
    });
}

// Beside one by a gateway the kernel replaces the very one.
TYPED_TEST(network_going_address, of_ipv6_a_route_gets_its_source_again_beside_one_by_a_gateway) {
    this->bench.run([this]() -> awaitable<void> {
        co_await this->set_up_both();
        const add_address six{"br0", at("fd00::1/64")};
        co_await this->done(six);
        const network_route sourced{.to = at("fd90::/64"), .metric = 1024, .source = address("fd00::1")};
        co_await this->done(add_route{sourced, "br0"});
        this->bench.append_route("br0", {.to = at("fd90::/64"), .gateway = address("fd00::20"), .metric = 1024});
        const auto order = [this]() -> awaitable<std::string> {
            const auto seen = co_await this->look();
            std::vector<std::string> all(2);
            for (const auto& one : seen.link_routes()) {
                if (one.is.to == at("fd90::/64") && one.place < all.size()) {
                    all[one.place] = to_text(one.is);
                }
            }
            co_return all[0] + ", " + all[1];
        };
        const auto before = co_await order();
        EXPECT_EQ(before, "route fd90::/64 (metric 1024, source fd00::1), route fd90::/64 via fd00::20 (metric 1024)");
        co_await this->done(remove_address{"br0", six.address});
        auto now = co_await order();
        EXPECT_EQ(now, "route fd90::/64 (metric 1024), route fd90::/64 via fd00::20 (metric 1024)");
        co_await this->done(six);
        co_await this->done(add_route{sourced, "br0", main_table, "br0"});
        now = co_await order();
        EXPECT_EQ(now, before);
    });
}

class kernel_going_address : public network_going_address<real_network> {};

// Those that lead nowhere, and the kernel's own, have a place among others too.
TEST_F(kernel_going_address, before_one_that_leads_nowhere_and_before_the_kernels_own) {
    bench.run([this]() -> awaitable<void> {
        co_await set_up_both();
        const auto by = [](std::string_view to, std::string_view gateway) {
            return network_route{.to = at(to), .gateway = address(gateway)};
        };
        ip_command("route add 10.90.1.0/24 via 10.0.0.20 dev br0");
        ip_command("route append blackhole 10.90.1.0/24");
        ip_command("route prepend 10.0.0.0/24 via 10.0.0.99 dev br0");
        ip_command("route add blackhole 10.90.2.0/24");
        ip_command("route append 10.90.2.0/24 via 10.0.0.20 dev br0");
        ip_command("route add 10.90.3.0/24 dev br0");
        ip_command("route append unreachable 10.90.3.0/24");
        const auto shown = [] {
            return ip_output("route show 10.90.1.0/24") + ip_output("route show 10.0.0.0/24") +
                   ip_output("route show 10.90.2.0/24") + ip_output("route show 10.90.3.0/24");
        };
        const auto before = shown();
        const auto seen = co_await look();
        std::string text;
        for (const auto& one : seen.link_routes()) {
            text += fmt::format("{} {}{}, ", one.is.to.text(), one.place, one.is_before_others ? " before" : "");
        }
        EXPECT_EQ(text, "10.0.0.0/24 0 before, 10.90.1.0/24 0 before, 10.90.2.0/24 1, 10.90.3.0/24 0 before, ");
        co_await remove({{link_route_to("10.90.3.0/24"), main_table, true}});
        EXPECT_EQ(ip_output("route show 10.90.3.0/24").find("10.90.3.0/24 dev br0"), 0U)
            << ip_output("route show 10.90.3.0/24");
        co_await done(add_address{"br0", at("10.0.0.254/24")});
        co_await done(add_route{by("10.90.2.0/24", "10.0.0.20"), "br0", main_table, "br0"});
        co_await done(add_route{by("10.0.0.0/24", "10.0.0.99"), "br0", main_table, "br0", true});
        co_await done(add_route{by("10.90.1.0/24", "10.0.0.20"), "br0", main_table, "br0", true});
        EXPECT_EQ(shown(), before);
    });
}

// The daemon may be killed at any moment of it.
TEST_F(kernel_going_address, who_is_killed_while_it_goes_has_lost_no_route) {
    bench.run([this]() -> awaitable<void> {
        co_await set_up_both();
        co_await done(remove_address{"br0", at("10.0.0.254/24")});
        const auto index = static_cast<int>(::if_nametoindex("br0"));
        std::vector<std::string> routes;
        for (int i = 0; i < 50; ++i) {
            const auto route = link_route_to(fmt::format("10.{}.0.0/16", 100 + i));
            co_await done(add_route{route, "br0"});
            routes.push_back(netlink::add_route_message(index, route, main_table, netlink::beside_others::stay));
        }
        for (int round = 0; round < 40; ++round) {
            const pid_t child = ::fork();
            if (child == 0) {
                netlink::kernel_requests requests;
                const netlink::errand by(async::thread_now() + 60s);
                for (;;) {
                    const auto added =
                        requests.add_address(index, {.device = "br0", .address = at("10.0.0.254/24")}, "", by);
                    const auto removed =
                        requests.remove_address(index, at("10.0.0.254/24"), std::nullopt, "", by, routes);
                    if (!added || !removed) {
                        ::_exit(1);
                    }
                }
            }
            ASSERT_CO_TRUE(child > 0);
            ::usleep(static_cast<unsigned>(5000 + 137 * round));
            ::kill(child, SIGKILL);
            int status = 0;
            ::waitpid(child, &status, 0);
            EXPECT_TRUE(WIFSIGNALED(status)) << "it ended by itself";
            const auto seen = co_await look();
            EXPECT_EQ(seen.link_routes().size(), routes.size()) << "round " << round;
        }
    });
}

// By several ways over two cards: the kernel takes the one away, and makes it again with the address; nobody else need.
TEST_F(kernel_going_address, a_route_by_two_cards_has_both_ways_again) {
    bench.run([this]() -> awaitable<void> {
        co_await set_up_both();
        ip_command("route add 10.82.0.0/16 nexthop via 10.0.0.1 dev br0 nexthop via 10.5.0.2 dev eth0");
        const auto seen = co_await look();
        EXPECT_EQ(seen.link_routes().size(), 2U);
        for (const auto& one : seen.link_routes()) {
            EXPECT_EQ(one.more, "it is one of several ways");
        }
        const auto both = ip_output("route show 10.82.0.0/16");
        co_await remove({});
        const auto without = ip_output("route show 10.82.0.0/16");
        EXPECT_NE(without, both);
        EXPECT_NE(without.find("10.5.0.2"), std::string::npos) << without;
        co_await done(add_address{"br0", at("10.0.0.254/24")});
        EXPECT_EQ(ip_output("route show 10.82.0.0/16"), both);
    });
}

// More than a socket takes at once.
TEST_F(kernel_going_address, thousands_of_routes_stay) {
    bench.run([this]() -> awaitable<void> {
        co_await set_up_both();
        std::vector<netlink::staying_route> staying;
        for (int i = 0; i < 1000; ++i) {
            network_route route = link_route_to(fmt::format("10.{}.{}.0/24", 100 + i / 250, i % 250));
            for (int table = 1; table <= 3; ++table) {
                co_await done(add_route{route, "br0", static_cast<std::uint32_t>(table)});
                staying.push_back({route, static_cast<std::uint32_t>(table)});
            }
        }
        co_await remove(staying);
        for (int table = 1; table <= 3; ++table) {
            EXPECT_EQ(output_of(fmt::format("ip route show table {} | wc -l", table)), "1000\n");
        }
    });
}

}  // namespace
}  // namespace pvc::contract
