// The netlink port: routes of IPv6 that somebody takes away, and what brings them back (networking.md 3.1).
#include "contract/netlink/benches.hpp"
#include "contract/netlink/real_network.hpp"

#include <algorithm>

namespace pvc::contract {
namespace {

using namespace model;

constexpr std::uint8_t kernels_protocol = 2;

template <class Bench>
class network_flushed_six : public network_suite<Bench> {
protected:
    awaitable<void> set_up_card() {
        co_await this->plug_in_up("eth0");
        EXPECT_TRUE(co_await this->becomes_running("eth0", true));
        co_await this->done(add_address{"eth0", at("fd00::1/64")});
        co_await async::sleep_for(this->bench.clock(), 4s, "an address that is not new");
        own_ = at("fe80::1/64");
        const auto seen = co_await this->look();
        for (const auto& one : seen.addresses_of(seen.find("eth0")->index)) {
            if (one.address.address.is_v6() && one.address.address.to_v6().is_link_local()) {
                own_ = one.address;
            }
        }
    }
    // "main fd00::/64, main fe80::/64, own, fd00::1": the routes that are there, and of which addresses packets are
    // taken.
    awaitable<std::string> there() {
        const auto seen = co_await this->look();
        const int link = seen.find("eth0")->index;
        std::string text;
        for (const auto* network : {"fd00::/64", "fe80::/64"}) {
            text += seen.has_connected_route(link, at(network)) ? std::string("main ") + network + ' ' : "";
        }
        for (const auto& one : seen.addresses_of(link)) {
            text += one.is_taken ? (one.address == own_ ? "own" : one.address.text()) + ' ' : "";
        }
        co_return text;
    }
    host_address own_;
};
TYPED_TEST_SUITE(network_flushed_six, network_benches, bench_names);

TYPED_TEST(network_flushed_six, of_those_of_the_main_table_who_watches_hears_and_they_can_be_made_again) {
    this->bench.run([this]() -> awaitable<void> {
        async::wakeup changed;
        const auto watch = this->bench.stack().watch(changed);
        co_await this->set_up_card();
        auto now = co_await this->there();
        EXPECT_EQ(now, "main fd00::/64 main fe80::/64 fd00::1/64 own ");
        co_await this->quiet(changed);
        this->bench.flush_ipv6(true, false);
        const bool told = co_await this->is_told(changed);
        EXPECT_TRUE(told);
        now = co_await this->there();
        EXPECT_EQ(now, "fd00::1/64 own ");
        for (const auto* network : {"fd00::/64", "fe80::/64"}) {
            const add_route made{{.to = at(network), .metric = 256, .protocol = kernels_protocol}, "eth0"};
            co_await this->done(made);
            co_await this->done(made);
        }
        now = co_await this->there();
        EXPECT_EQ(now, "main fd00::/64 main fe80::/64 fd00::1/64 own ");
        // As the kernel's own they go with their addresses.
        co_await this->done(remove_address{"eth0", at("fd00::1/64")});
        co_await this->done(remove_address{"eth0", this->own_});
        now = co_await this->there();
        EXPECT_EQ(now, "");
    });
}

TYPED_TEST(network_flushed_six, of_those_of_table_local_too_and_their_addresses_bring_them_back) {
    this->bench.run([this]() -> awaitable<void> {
        async::wakeup changed;
        const auto watch = this->bench.stack().watch(changed);
        co_await this->set_up_card();
        co_await this->quiet(changed);
        this->bench.flush_ipv6(true, true);
        const bool told = co_await this->is_told(changed);
        EXPECT_TRUE(told);
        auto now = co_await this->there();
        EXPECT_EQ(now, "");
        for (const auto& one : {at("fd00::1/64"), this->own_}) {
            co_await this->done(remove_address{"eth0", one});
            co_await this->done(add_address{"eth0", one});
        }
        co_await async::sleep_for(this->bench.clock(), 4s, "addresses that are not new");
        now = co_await this->there();
        EXPECT_EQ(now, "main fd00::/64 main fe80::/64 fd00::1/64 own ");
    });
}

class kernel_flushed_six : public network_flushed_six<real_network> {};

// Whoever makes many of them is a routing daemon, or a router, and nothing here hangs on theirs.
TEST_F(kernel_flushed_six, of_routes_of_other_programs_nobody_hears) {
    bench.run([this]() -> awaitable<void> {
        async::wakeup changed;
        const auto watch = bench.stack().watch(changed);
        co_await set_up_card();
        co_await quiet(changed);
        const auto hears = [&]() -> awaitable<bool> {
            co_return co_await changed.wait_until(bench.clock(), bench.clock().now() + 300ms, "a change");
        };
        for (const auto* by : {"bgp", "bird", "zebra", "ra", "ospf"}) {
            ip_command(std::string("-6 route add fd77::/64 via fd00::9 dev eth0 proto ") + by);
            ip_command("-6 route del fd77::/64");
            const bool heard = co_await hears();
            EXPECT_FALSE(heard) << by;
        }
        for (const auto* by : {"boot", "static", "dhcp", "kernel"}) {
            ip_command(std::string("-6 route add fd77::/64 dev eth0 proto ") + by);
            const bool of_new = co_await hears();
            EXPECT_TRUE(of_new) << by;
            co_await quiet(changed);
            ip_command("-6 route del fd77::/64");
            const bool of_gone = co_await hears();
            EXPECT_TRUE(of_gone) << by;
            co_await quiet(changed);
        }
    });
}

// Each network may have the same link-local gateway.
TEST_F(kernel_flushed_six, a_link_local_address_is_another_one_on_each_link) {
    bench.run([this]() -> awaitable<void> {
        co_await set_up_card();
        co_await plug_in_up("eth1");
        EXPECT_TRUE(co_await becomes_running("eth1", true));
        for (const auto* device : {"eth0", "eth1"}) {
            co_await done(add_address{device, at("fe80::1/64")});
        }
        co_await async::sleep_for(bench.clock(), 4s, "addresses that are not new");
        ip_command("-6 route del local fe80::1 dev eth1 table local");
        const auto seen = co_await look();
        std::string text;
        for (const auto& one : seen.addresses()) {
            if (one.address == at("fe80::1/64")) {
                text += std::string(seen.name_of(one.link)) + (one.is_taken ? " " : " dead ");
            }
        }
        EXPECT_EQ(text, "eth0 eth1 dead ");
    });
}

}  // namespace
}  // namespace pvc::contract
