// The netlink port: what addresses and routes were given beside the network and the gateway, so that they can be moved
// as they are (networking.md 3.1).
#include "adapter/attributes.hpp"
#include "contract/netlink/benches.hpp"

#include <set>

namespace pvc::contract {
namespace {

using namespace model;

constexpr std::uint16_t preference_of_route = 20;  // RTA_PREF
constexpr std::uint8_t of_kernel = 2;              // RTPROT_KERNEL

template <class Bench>
class network_as_it_was : public network_suite<Bench> {
protected:
    awaitable<void> has_all(add_address wanted) {
        for (int round = 0; round < 2; ++round) {
            co_await this->done(wanted);
        }
        const auto seen = co_await this->look();
        const auto there = seen.addresses_of(seen.find(wanted.device)->index);
        const auto found = std::ranges::find_if(
            there, [&](const link_address& one) { return one.address == wanted.address && one.peer == wanted.peer; });
        EXPECT_TRUE(found != there.end()) << to_text(wanted);
        if (found != there.end()) {
            const auto lifetime = wanted.lifetime.value_or(address_lifetime());
            EXPECT_EQ(found->settings, wanted.settings) << to_text(wanted);
            EXPECT_EQ(found->scope, wanted.scope) << to_text(wanted);
            EXPECT_EQ(found->is_permanent, lifetime.valid == forever) << to_text(wanted);
            EXPECT_EQ(found->lifetime.is_deprecated(), lifetime.is_deprecated()) << to_text(wanted);
            EXPECT_EQ(found->lifetime.is_endless(), lifetime.is_endless()) << to_text(wanted);
        }
    }
    // "10.0.0.0/24 metric 7": what the kernel, or somebody in its name, made.
    awaitable<std::string> connected(std::string device) {
        const auto seen = co_await this->look();
        std::set<std::string> all;
        for (const auto& one : seen.connected_routes()) {
            if (one.link == seen.find(device)->index && !one.network.address.to_string().starts_with("fe80")) {
                all.insert(one.network.text() + " metric " + std::to_string(one.metric) +
                           (one.source ? " source " + one.source->to_string() : ""));
            }
        }
        std::string text;
        for (const auto& one : all) {
            text += (text.empty() ? "" : ", ") + one;
        }
        co_return text;
    }
    awaitable<void> has_route(add_route wanted) {
        const auto seen = co_await this->look();
        const auto is_it = [&](const link_route& one) {
            return one.is == wanted.route && one.table == wanted.table && one.is_plain() &&
                   one.link == seen.find(wanted.device)->index;
        };
        EXPECT_EQ(std::ranges::count_if(seen.link_routes(), is_it), 1) << to_text(wanted);
    }
};
TYPED_TEST_SUITE(network_as_it_was, network_benches, bench_names);

TYPED_TEST(network_as_it_was, addresses_have_all_that_they_were_given) {
    this->bench.run([this]() -> awaitable<void> {
        co_await this->plug_in_up("eth0");
        const add_address all[] = {
            {.device = "eth0", .address = at("10.0.0.1/24"), .settings = {.metric = 600, .flags = no_prefix_route}},
            {.device = "eth0", .address = at("10.0.1.1/24"), .settings = {.broadcast = address("10.0.1.255")}},
            {.device = "eth0", .address = at("10.0.2.1/24"), .settings = {.label = "eth0:two"}},
            {.device = "eth0", .address = at("10.0.3.1/24"), .lifetime = address_lifetime{.preferred = 0}},
            {.device = "eth0", .address = at("10.0.4.1/24"), .scope = link_scope, .settings = {.metric = 7}},
            {.device = "eth0", .address = at("10.0.5.1/32"), .peer = address("10.0.5.2")},
            {.device = "eth0", .address = at("fd01::1/64"), .settings = {.metric = 2000}},
            {.device = "eth0",
             .address = at("fd02::1/64"),
             .settings = {.flags = no_prefix_route | home_address | manages_temporary}},
            {.device = "eth0", .address = at("fd03::1/64"), .lifetime = address_lifetime{.preferred = 0}},
            {.device = "eth0", .address = at("fd04::1/64"), .lifetime = address_lifetime{.preferred = 1000}},
            {.device = "eth0", .address = at("fd05::1/64"), .lifetime = address_lifetime{2000, 1000}},
            {.device = "eth0", .address = at("fd06::1/128"), .peer = address("fd06::2")},
        };
        for (const auto& one : all) {
            co_await this->has_all(one);
        }
        for (const auto& one : all) {
            co_await this->done(remove_address{one.device, one.address, one.peer});
        }
        const auto rest = co_await this->addresses_of("eth0");
        EXPECT_EQ(rest, "");
    });
}

TYPED_TEST(network_as_it_was, the_route_to_its_network_comes_with_an_address_or_from_somebody) {
    this->bench.run([this]() -> awaitable<void> {
        co_await this->plug_in_up("eth0");
        for (const auto* one : {"10.0.0.1/24", "fd01::1/64"}) {
            co_await this->done(add_address{.device = "eth0", .address = at(one), .settings = {.metric = 600}});
        }
        for (const auto* one : {"10.0.1.1/24", "fd02::1/64"}) {
            co_await this->done(
                add_address{.device = "eth0", .address = at(one), .settings = {.flags = no_prefix_route}});
        }
        co_await this->done(add_address{"eth0", at("fd03::1/64")});
        const std::string theirs = "10.0.0.0/24 metric 600 source 10.0.0.1, fd01::/64 metric 600, fd03::/64 metric 256";
        auto seen = co_await this->connected("eth0");
        EXPECT_EQ(seen, theirs);
        // Nobody is reached by an address without one.
        co_await this->fails(add_route{{.to = at("10.9.0.0/16"), .gateway = address("10.0.1.9")}, "eth0"},
                             errc::refused);
        const network_route v4{.to = at("10.0.1.0/24"),
                               .metric = 425,
                               .source = address("10.0.1.1"),
                               .scope = link_scope,
                               .protocol = of_kernel};
        const network_route v6{.to = at("fd02::/64"), .metric = 1024, .protocol = of_kernel};
        for (const auto& one : {v4, v6}) {
            for (int round = 0; round < 2; ++round) {
                co_await this->done(add_route{one, "eth0"});
            }
        }
        seen = co_await this->connected("eth0");
        EXPECT_EQ(seen,
                  "10.0.0.0/24 metric 600 source 10.0.0.1, 10.0.1.0/24 metric 425 source 10.0.1.1, fd01::/64 metric "
                  "600, fd02::/64 metric 1024, fd03::/64 metric 256");
        const auto told = co_await this->look();
        EXPECT_TRUE(told.link_routes().empty());
        co_await this->done(add_route{{.to = at("10.9.0.0/16"), .gateway = address("10.0.1.9")}, "eth0"});
        for (const auto& one : {v4, v6}) {
            for (int round = 0; round < 2; ++round) {
                co_await this->done(remove_route{one, "eth0"});
            }
        }
        seen = co_await this->connected("eth0");
        EXPECT_EQ(seen, theirs);
    });
}

TYPED_TEST(network_as_it_was, routes_have_all_that_they_were_given) {
    this->bench.run([this]() -> awaitable<void> {
        co_await this->plug_in_up("eth0");
        co_await this->done(add_address{"eth0", at("10.0.0.1/24")});
        co_await this->done(add_address{"eth0", at("fd00::1/64")});
        const auto by_v4 = address("10.0.0.250");
        const auto by_v6 = address("fd00::250");
        const network_route with_mtu{.to = at("10.9.0.0/16"), .gateway = by_v4, .settings = mtu_setting(1400)};
        const network_route with_tos{.to = at("10.9.0.0/16"), .gateway = by_v4, .tos = 0x10};
        const network_route everywhere{.to = at("0.0.0.0/0"), .gateway = by_v4};
        const network_route several{.to = at("10.10.0.0/16"),
                                    .ways = {{.gateway = by_v4, .weight = 3}, {.gateway = address("10.0.0.251")}}};
        const network_route liked{
            .to = at("fd09::/48"),
            .gateway = by_v6,
            .metric = 1024,
            .settings = mtu_setting(1400) + netlink::attribute_of(preference_of_route, std::string(1, '\3'))};
        const network_route several_of_six{
            .to = at("fd0a::/48"),
            .metric = 1024,
            .ways = {{.gateway = by_v6}, {.gateway = address("fd00::251"), .weight = 2}}};
        const add_route all[] = {{with_mtu, "eth0"},        {with_tos, "eth0"},         {everywhere, "eth0"},
                                 {everywhere, "eth0", 100}, {everywhere, "eth0", 1000}, {several, "eth0"},
                                 {liked, "eth0"},           {several_of_six, "eth0"},   {liked, "eth0", 100}};
        for (const auto& one : all) {
            for (int round = 0; round < 2; ++round) {
                co_await this->done(one);
            }
            co_await this->has_route(one);
        }
        // By its own table, and whole.
        co_await this->done(remove_route{everywhere, "eth0", 1000});
        co_await this->done(remove_route{everywhere, "eth0", 1001});
        for (const auto& one : all) {
            if (one.table != 1000) {
                co_await this->has_route(one);
                co_await this->done(remove_route{one.route, one.device, one.table});
            }
        }
        const auto seen = co_await this->look();
        EXPECT_TRUE(seen.link_routes().empty());
    });
}

// Whatever that has for it: the kernel takes for the way to a gateway only what is on the link.
TYPED_TEST(network_as_it_was, a_gateway_is_reached_by_the_main_table) {
    this->bench.run([this]() -> awaitable<void> {
        co_await this->plug_in_up("eth0");
        co_await this->done(add_address{"eth0", at("10.0.0.1/24")});
        co_await this->done(add_route{{.to = at("0.0.0.0/0"), .gateway = address("10.0.0.250")}, "eth0", 100});
        co_await this->done(add_route{{.to = at("10.9.0.0/16"), .gateway = address("10.0.0.250")}, "eth0", 100});
        co_await this->fails(add_route{{.to = at("10.9.0.0/16"), .gateway = address("10.1.0.250")}, "eth0", 101},
                             errc::refused);
    });
}

}  // namespace
}  // namespace pvc::contract
