// The netlink port: what goes from one device to another is on one of them at any moment (networking.md 3.1).
#include "contract/netlink/benches.hpp"

#include <algorithm>

namespace pvc::contract {
namespace {

using namespace model;

template <class Bench>
class network_moves : public network_suite<Bench> {
protected:
    // Both with the same addresses.
    awaitable<void> two_that_are_alike() {
        for (const std::string device : {"eth0", "eth1"}) {
            co_await this->plug_in_up(device);
            co_await this->done(add_address{device, at("10.0.0.1/24")});
            co_await this->done(add_address{device, at("fd00::1/64")});
        }
    }
    // "eth0 eth1": over which of them such a route leads, whatever its source.
    awaitable<std::string> where_is(network_route route, std::uint32_t table = main_table) {
        const auto seen = co_await this->look();
        std::string text;
        for (const auto& one : seen.link_routes()) {
            if (one.is.is_like(route) && one.table == table && one.is_plain()) {
                text += (text.empty() ? "" : " ") + std::string(seen.name_of(one.link));
            }
        }
        co_return text;
    }
};
TYPED_TEST_SUITE(network_moves, network_benches, bench_names);

network_route way_to(std::string_view to, std::string_view gateway = {}, std::uint32_t metric = 0) {
    return {.to = at(to),
            .gateway = gateway.empty() ? std::nullopt : std::optional(address(gateway)),
            .metric = metric,
            .scope = gateway.empty() && at(to).address.is_v4() ? link_scope : universe_scope};
}

// ip route add local
network_route taken_here(std::string_view to) {
    auto route = way_to(to, {}, at(to).address.is_v4() ? 0 : 1024);
    route.scope = at(to).address.is_v4() ? host_scope : universe_scope;
    route.is_local = true;
    return route;
}

TYPED_TEST(network_moves, a_route_is_never_nowhere) {
    this->bench.run([this]() -> awaitable<void> {
        co_await this->two_that_are_alike();
        auto several = way_to("10.78.0.0/16");
        several.scope = universe_scope;
        several.ways = {{.gateway = address("10.0.0.250"), .weight = 3}, {.gateway = address("10.0.0.251")}};
        auto several_of_six = way_to("fd78::/48", {}, 1024);
        several_of_six.ways = {{.gateway = address("fd00::250")}, {.gateway = address("fd00::251"), .weight = 2}};
        for (const auto table : {main_table, std::uint32_t{100}, std::uint32_t{1000}}) {
            for (const auto& route : {way_to("198.51.100.0/24"), way_to("0.0.0.0/0", "10.0.0.250"),
                                      way_to("10.77.0.0/16", "10.0.0.250", 7), several, way_to("fd99::/64", {}, 100),
                                      way_to("::/0", "fd00::250", 1024), way_to("fd77::/48", "fd00::250", 5),
                                      several_of_six, taken_here("192.0.2.0/24"), taken_here("fd92::/64")}) {
                co_await this->done(add_route{route, "eth0", table});
                auto there = co_await this->where_is(route, table);
                EXPECT_EQ(there, "eth0") << to_text(route);
                // Anybody's own stays; this one may name the source that it had.
                co_await this->fails(add_route{route, "eth1", table}, errc::already_exists);
                co_await this->fails(add_route{route, "eth1", table, "eth9"}, errc::already_exists);
                auto moved = route;
                moved.source = route.to.address.is_v4() ? address("10.0.0.1") : address("fd00::1");
                for (int round = 0; round < 2; ++round) {
                    co_await this->done(add_route{moved, "eth1", table, "eth0"});
                    there = co_await this->where_is(route, table);
                    EXPECT_EQ(there, route.is_merged() ? "eth1" : "eth0 eth1") << to_text(route);
                }
                for (int round = 0; round < 2; ++round) {
                    co_await this->done(remove_route{route, "eth0", table, "eth1"});
                    there = co_await this->where_is(route, table);
                    EXPECT_EQ(there, "eth1") << to_text(route);
                }
                // And back.
                co_await this->done(add_route{route, "eth0", table, "eth1"});
                co_await this->done(remove_route{moved, "eth1", table, "eth0"});
                there = co_await this->where_is(route, table);
                EXPECT_EQ(there, "eth0") << to_text(route);
                co_await this->done(remove_route{route, "eth0", table});
            }
        }
        const auto seen = co_await this->look();
        EXPECT_TRUE(seen.link_routes().empty());
    });
}

// Of IPv6 those by gateways are one route, beside which there may be one on the link.
TYPED_TEST(network_moves, one_by_a_gateway_beside_one_on_the_link) {
    this->bench.run([this]() -> awaitable<void> {
        co_await this->two_that_are_alike();
        const auto on_link = way_to("fd78::/48", {}, 1024);
        const auto by = way_to("fd78::/48", "fd00::250", 1024);
        for (const auto& all : {std::vector{on_link, by}, std::vector{by, on_link}}) {
            co_await this->done(add_route{all[0], "eth0"});
            this->bench.append_route("eth0", all[1]);
            for (const auto& one : all) {
                co_await this->done(add_route{one, "eth1", main_table, "eth0"});
            }
            for (const auto& one : all) {
                co_await this->done(remove_route{one, "eth0", main_table, "eth1"});
                const auto there = co_await this->where_is(one);
                EXPECT_EQ(there, "eth1") << to_text(one) << " of " << to_text(all[0]);
            }
            // Asked for one on the link the kernel takes whichever comes first.
            for (const auto& one : {by, on_link}) {
                co_await this->done(remove_route{one, "eth1"});
            }
        }
    });
}

TYPED_TEST(network_moves, what_is_not_the_same_is_somebody_elses) {
    this->bench.run([this]() -> awaitable<void> {
        co_await this->two_that_are_alike();
        for (const auto& [theirs, wanted] :
             {std::pair(way_to("10.77.0.0/16", "10.0.0.250", 7), way_to("10.77.0.0/16", "10.0.0.251", 7)),
              std::pair(way_to("fd77::/48", "fd00::250", 7), way_to("fd77::/48", "fd00::251", 7)),
              std::pair(way_to("fd78::/48", {}, 7), way_to("fd78::/48", "fd00::251", 7))}) {
            co_await this->done(add_route{theirs, "eth0"});
            co_await this->fails(add_route{wanted, "eth1", main_table, "eth0"}, errc::already_exists);
            const auto there = co_await this->where_is(theirs);
            EXPECT_EQ(there, "eth0") << to_text(theirs);
        }
    });
}

// Of two cards: packets go where they went. Of IPv6 both are one route of several ways.
TYPED_TEST(network_moves, beside_one_of_its_metric_over_another_device_in_its_order) {
    this->bench.run([this]() -> awaitable<void> {
        co_await this->two_that_are_alike();
        co_await this->plug_in_up("eth0.100");
        co_await this->done(add_address{"eth0.100", at("10.2.0.1/24")});
        co_await this->done(add_address{"eth0.100", at("fd02::1/64")});
        // "eth0 eth0.100": as the kernel takes them.
        const auto order = [this]() -> awaitable<std::string> {
            const auto seen = co_await this->look();
            std::string text;
            for (const auto& one : seen.routes()) {
                text += (text.empty() ? "" : " ") + std::string(seen.name_of(one.link));
            }
            co_return text;
        };
        const auto moves = way_to("0.0.0.0/0", "10.0.0.250", 7);
        for (const bool is_first : {true, false}) {
            const auto other = way_to("0.0.0.0/0", "10.2.0.250", 7);
            this->bench.append_route(is_first ? "eth0" : "eth0.100", is_first ? moves : other);
            this->bench.append_route(is_first ? "eth0.100" : "eth0", is_first ? other : moves);
            auto there = co_await order();
            EXPECT_EQ(there, is_first ? "eth0 eth0.100" : "eth0.100 eth0");
            co_await this->done(add_route{moves, "eth1", main_table, "eth0"});
            there = co_await order();
            EXPECT_EQ(there, is_first ? "eth1 eth0 eth0.100" : "eth0.100 eth0 eth1");
            co_await this->done(remove_route{moves, "eth0", main_table, "eth1"});
            there = co_await order();
            EXPECT_EQ(there, is_first ? "eth1 eth0.100" : "eth0.100 eth1");
            co_await this->done(remove_route{moves, "eth1"});
            co_await this->done(remove_route{other, "eth0.100"});
        }
        const auto of_six = way_to("fd77::/48", "fd00::250", 7);
        for (const auto& other : {way_to("fd77::/48", "fd02::250", 7), way_to("fd77::/48", {}, 7)}) {
            this->bench.append_route("eth0.100", other);
            this->bench.append_route("eth0", of_six);
            auto there = co_await this->where_is(of_six);
            EXPECT_EQ(there, "eth0");
            co_await this->done(add_route{of_six, "eth1", main_table, "eth0"});
            there = co_await this->where_is(of_six);
            EXPECT_EQ(there, "eth0 eth1");
            co_await this->done(remove_route{of_six, "eth0", main_table, "eth1"});
            there = co_await this->where_is(of_six);
            EXPECT_EQ(there, "eth1");
            there = co_await this->where_is(other);
            EXPECT_EQ(there, "eth0.100");
            co_await this->done(remove_route{of_six, "eth1"});
            co_await this->done(remove_route{other, "eth0.100"});
        }
    });
}

// As NetworkManager makes it, for an address that has none.
TYPED_TEST(network_moves, a_route_in_the_name_of_the_kernel) {
    this->bench.run([this]() -> awaitable<void> {
        for (const std::string device : {"eth0", "eth1"}) {
            co_await this->plug_in_up(device);
            co_await this->done(
                add_address{.device = device, .address = at("10.0.1.1/24"), .settings = {.flags = no_prefix_route}});
        }
        auto route = way_to("10.0.1.0/24", {}, 425);
        route.source = address("10.0.1.1");
        route.protocol = 2;  // RTPROT_KERNEL
        const auto over = [this](std::string device) -> awaitable<bool> {
            const auto seen = co_await this->look();
            co_return seen.has_connected_route(seen.find(device)->index, at("10.0.1.0/24"));
        };
        co_await this->done(add_route{route, "eth0"});
        co_await this->done(add_route{route, "eth1", main_table, "eth0"});
        const bool is_still = co_await over("eth0");
        const bool is_too = co_await over("eth1");
        EXPECT_TRUE(is_still && is_too);
        co_await this->done(remove_route{route, "eth0", main_table, "eth1"});
        const bool is_there = co_await over("eth1");
        const bool is_here = co_await over("eth0");
        EXPECT_TRUE(is_there && !is_here);
    });
}

// The kernel makes none for a secondary address, also where the primary one has none (noprefixroute); of one place
// there may be several, each with its own source. Of IPv6 the kernel leaves its own where one without a route is
// beside.
TYPED_TEST(network_moves, routes_to_the_network_of_two_addresses) {
    this->bench.run([this]() -> awaitable<void> {
        const auto bare = [](const std::string& device, std::string_view which) {
            return add_address{.device = device, .address = at(which), .settings = {.flags = no_prefix_route}};
        };
        const auto of_network = [this](std::string device, std::string_view network) -> awaitable<std::string> {
            const auto seen = co_await this->look();
            std::string text;
            for (const auto& one : seen.connected_routes()) {
                if (one.network == at(network) && seen.name_of(one.link) == device) {
                    text += std::to_string(one.metric) + (one.source ? " " + one.source->to_string() : "") + "\n";
                }
            }
            co_return text;
        };
        auto route = way_to("10.0.1.0/24", {}, 425);
        route.protocol = 2;  // RTPROT_KERNEL
        route.source = address("10.0.1.1");
        auto second = route;
        second.source = address("10.0.1.2");
        for (const std::string device : {"eth0", "eth1"}) {
            co_await this->plug_in_up(device);
            co_await this->done(bare(device, "10.0.1.1/24"));
            co_await this->done(add_address{device, at("10.0.1.2/24")});
            const auto none = co_await of_network(device, "10.0.1.0/24");
            EXPECT_EQ(none, "") << device;
        }
        co_await this->fails(add_route{way_to("10.9.0.0/16", "10.0.1.250"), "eth0"}, errc::refused);
        this->bench.append_route("eth0", route);
        this->bench.append_route("eth0", second);
        for (const auto& one : {route, second}) {
            co_await this->done(add_route{one, "eth1", main_table, "eth0"});
        }
        const std::string both = "425 10.0.1.1\n425 10.0.1.2\n";
        auto there = co_await of_network("eth1", "10.0.1.0/24");
        EXPECT_EQ(there, both);
        for (const auto& one : {second, route}) {
            co_await this->done(remove_route{one, "eth0", main_table, "eth1"});
        }
        const auto left = co_await of_network("eth0", "10.0.1.0/24");
        there = co_await of_network("eth1", "10.0.1.0/24");
        EXPECT_EQ(left + there, both);

        for (const bool is_removed : {false, true}) {
            co_await this->done(add_address{"eth0", at("fd44::13/64")});
            co_await this->done(bare("eth0", "fd44::14/64"));
            auto of_six = way_to("fd44::/64", {}, 256);
            of_six.protocol = 2;
            if (is_removed) {
                co_await this->done(remove_route{of_six, "eth0", main_table, "eth1"});
            }
            co_await this->done(remove_address{"eth0", at("fd44::13/64")});
            co_await this->done(remove_address{"eth0", at("fd44::14/64")});
            const auto rest = co_await of_network("eth0", "fd44::/64");
            EXPECT_EQ(rest, is_removed ? "" : "256\n");
            co_await this->done(remove_route{of_six, "eth0"});
        }
    });
}

TYPED_TEST(network_moves, neighbours_that_somebody_entered) {
    this->bench.run([this]() -> awaitable<void> {
        co_await this->two_that_are_alike();
        const hardware_address hardware{2, 0, 0, 0, 0, 1};
        const given_neighbour all[] = {{.address = address("10.0.0.77"), .hardware = hardware},
                                       {.address = address("10.0.0.78"), .is_proxy = true},
                                       {.address = address("fd00::77"), .hardware = hardware, .is_router = true},
                                       {.address = address("fd00::78"), .is_proxy = true}};
        for (const auto& one : all) {
            for (int round = 0; round < 2; ++round) {
                co_await this->done(add_neighbour{"eth0", one});
            }
            const auto seen = co_await this->look();
            ASSERT_CO_TRUE(seen.neighbours().size() == 1);
            EXPECT_EQ(seen.neighbours()[0], (link_neighbour{seen.find("eth0")->index, one}));
            for (int round = 0; round < 2; ++round) {
                co_await this->done(remove_neighbour{"eth0", one});
            }
            const auto rest = co_await this->look();
            EXPECT_TRUE(rest.neighbours().empty());
        }
        // The last word holds.
        const given_neighbour other{.address = address("10.0.0.77"), .hardware = {2, 0, 0, 0, 0, 9}};
        co_await this->done(add_neighbour{"eth0", all[0]});
        co_await this->done(add_neighbour{"eth0", other});
        const auto seen = co_await this->look();
        ASSERT_CO_TRUE(seen.neighbours().size() == 1);
        EXPECT_EQ(seen.neighbours()[0].is, other);
        co_await this->fails(add_neighbour{"eth9", other}, errc::not_found, "eth9");
        co_await this->done(remove_neighbour{"eth9", other});
        this->bench.pull_out("eth0");
        const auto rest = co_await this->look();
        EXPECT_TRUE(rest.neighbours().empty());
    });
}

}  // namespace
}  // namespace pvc::contract
