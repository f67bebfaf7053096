// The netlink port: the route that the kernel makes with an address is told with its settings and its place among
// others, and can be taken away, put behind others and given settings (networking.md 3.1).
#include "contract/netlink/benches.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace pvc::contract {
namespace {

using namespace model;

template <class Bench>
class network_own_ways : public network_suite<Bench> {
protected:
    // "own 10.0.0.1 behind 1 set"
    awaitable<std::string> own(std::string_view network) {
        const auto seen = co_await this->look();
        std::string text;
        for (const auto& one : seen.connected_routes()) {
            if (one.link == seen.find("eth0")->index && one.network == at(network)) {
                text += fmt::format("own {}behind {}{}", one.source ? one.source->to_string() + " " : "", one.behind,
                                    one.settings.empty() ? "" : " set");
            }
        }
        co_return text;
    }
    // "10.0.0.9 10.0.0.5": the gateways by which a place is reached, in the order of the kernel.
    awaitable<std::string> gateways(std::string_view network) {
        const auto seen = co_await this->look();
        std::string text;
        for (const auto& one : seen.link_routes()) {
            if (one.is.to == at(network)) {
                text += (text.empty() ? "" : " ") + (one.is.gateway ? one.is.gateway->to_string() : "link");
            }
        }
        co_return text;
    }
};
TYPED_TEST_SUITE(network_own_ways, network_benches, bench_names);

network_route kernels_own(std::string_view to, std::string_view source = {}) {
    constexpr std::uint32_t metric_of_v6 = 256;
    return {.to = at(to),
            .metric = source.empty() ? metric_of_v6 : 0,
            .source = source.empty() ? std::nullopt : std::optional(address(source)),
            .scope = source.empty() ? universe_scope : link_scope,
            .protocol = 2};
}

TYPED_TEST(network_own_ways, behind_others_with_settings_and_not_at_all) {
    this->bench.run([this]() -> awaitable<void> {
        co_await this->plug_in_up("eth0");
        co_await this->done(add_address{"eth0", at("10.0.0.1/24")});
        const auto plain = kernels_own("10.0.0.0/24", "10.0.0.1");
        auto set = plain;
        set.settings = mtu_setting(1400);
        EXPECT_EQ(co_await this->own("10.0.0.0/24"), "own 10.0.0.1 behind 0");
        co_await this->done(remove_route{plain, "eth0"});
        EXPECT_EQ(co_await this->own("10.0.0.0/24"), "");
        co_await this->done(add_route{{.to = at("10.0.0.9/32"), .scope = link_scope}, "eth0"});
        const network_route by{.to = at("10.0.0.0/24"), .gateway = address("10.0.0.9")};
        co_await this->done(add_route{by, "eth0"});
        for (int round = 0; round < 2; ++round) {
            co_await this->done(add_route{plain, "eth0", main_table, "eth0"});
            EXPECT_EQ(co_await this->own("10.0.0.0/24"), "own 10.0.0.1 behind 1");
        }
        co_await this->done(remove_route{plain, "eth0", main_table, "eth0"});
        co_await this->done(add_route{set, "eth0", main_table, "eth0"});
        EXPECT_EQ(co_await this->own("10.0.0.0/24"), "own 10.0.0.1 behind 1 set");
        // It goes with the address, as that which the kernel made.
        co_await this->done(add_address{"eth0", at("10.0.7.1/24")});
        co_await this->done(remove_address{"eth0", at("10.0.0.1/24")});
        EXPECT_EQ(co_await this->own("10.0.0.0/24"), "");
    });
}

TYPED_TEST(network_own_ways, of_ipv6) {
    this->bench.run([this]() -> awaitable<void> {
        co_await this->plug_in_up("eth0");
        co_await this->done(add_address{"eth0", at("fd01::1/64")});
        const auto plain = kernels_own("fd01::/64");
        auto set = plain;
        set.settings = mtu_setting(1400);
        EXPECT_EQ(co_await this->own("fd01::/64"), "own behind 0");
        co_await this->done(remove_route{plain, "eth0", main_table, "eth0"});
        EXPECT_EQ(co_await this->own("fd01::/64"), "");
        for (int round = 0; round < 2; ++round) {
            co_await this->done(add_route{set, "eth0", main_table, "eth0"});
            EXPECT_EQ(co_await this->own("fd01::/64"), "own behind 0 set");
        }
        co_await this->done(remove_address{"eth0", at("fd01::1/64")});
        EXPECT_EQ(co_await this->own("fd01::/64"), "");
    });
}

// A daemon before took the kernel's own away, by which the gateway was reached when the route was made.
TYPED_TEST(network_own_ways, what_is_there_is_a_success_also_if_it_could_not_be_made_now) {
    this->bench.run([this]() -> awaitable<void> {
        co_await this->plug_in_up("eth0");
        for (const auto& [given, to, gateway, source] :
             {std::tuple("10.0.0.1/24", "10.9.0.0/16", "10.0.0.9", "10.0.0.1"),
              std::tuple("fd01::1/64", "fd09::/64", "fd01::9", "")}) {
            co_await this->done(add_address{"eth0", at(given)});
            const network_route route{
                .to = at(to), .gateway = address(gateway), .metric = at(to).address.is_v4() ? 0U : 1024U};
            co_await this->done(add_route{route, "eth0"});
            co_await this->done(
                remove_route{kernels_own(at(to).address.is_v4() ? "10.0.0.0/24" : "fd01::/64", source), "eth0"});
            co_await this->done(add_route{route, "eth0"});
        }
    });
}

// Of one metric, in the order in which they came.
TYPED_TEST(network_own_ways, several_to_one_place_are_told_in_the_order_of_the_kernel) {
    this->bench.run([this]() -> awaitable<void> {
        co_await this->plug_in_up("eth0");
        co_await this->done(add_address{"eth0", at("10.0.0.1/24")});
        for (const auto* gateway : {"10.0.0.9", "10.0.0.5"}) {
            co_await this->done(
                add_route{{.to = at("10.9.0.0/16"), .gateway = address(gateway)}, "eth0", main_table, "eth0"});
        }
        co_await this->done(add_route{{.to = at("10.9.0.0/16"), .scope = link_scope}, "eth0", main_table, "eth0"});
        EXPECT_EQ(co_await this->gateways("10.9.0.0/16"), "10.0.0.9 10.0.0.5 link");
    });
}

// The kernel forgets them as it sets the address, also the one that the link has.
TYPED_TEST(network_own_ways, what_somebody_entered_outlives_another_hardware_address) {
    this->bench.run([this]() -> awaitable<void> {
        co_await this->plug_in_up("eth0");
        co_await this->done(add_address{"eth0", at("10.0.0.1/24")});
        co_await this->done(add_address{"eth0", at("fd01::1/64")});
        for (const auto* which : {"10.0.0.77", "fd01::77"}) {
            co_await this->done(add_neighbour{"eth0", {.address = address(which), .hardware = {2, 0, 0, 0, 0, 1}}});
        }
        co_await this->done(add_neighbour{"eth0", {.address = address("10.0.0.78"), .is_proxy = true}});
        const auto before = co_await this->look();
        EXPECT_EQ(before.neighbours().size(), 3U);
        for (const hardware_address which : {before.find("eth0")->hardware, hardware_address{6, 0, 0, 0, 0, 7}}) {
            co_await this->done(set_hardware{"eth0", which});
            const auto seen = co_await this->look();
            EXPECT_TRUE(std::ranges::equal(seen.neighbours(), before.neighbours()));
        }
    });
}

}  // namespace
}  // namespace pvc::contract
