// The netlink port: routes, settings below /proc/sys, and the word that something changed (networking.md 2, 3).
#include "contract/netlink/benches.hpp"

namespace pvc::contract {
namespace {

using namespace model;

// ---- default routes
// --------------------------------------------------------------------------------------------------

template <class Bench>
class network_routes : public network_suite<Bench> {
protected:
    // eth0 with 10.0.0.1/24, eth1 with 10.0.1.1/24, both up.
    awaitable<void> two_networks() {
        co_await this->plug_in_up("eth0");
        co_await this->plug_in_up("eth1");
        co_await this->done(add_address{"eth0", at("10.0.0.1/24")});
        co_await this->done(add_address{"eth1", at("10.0.1.1/24")});
    }
};
TYPED_TEST_SUITE(network_routes, network_benches, bench_names);

TYPED_TEST(network_routes, added_once_and_removed) {
    this->bench.run([this]() -> awaitable<void> {
        co_await this->two_networks();
        for (int round = 0; round < 2; ++round) {
            co_await this->done(add_default_route{address("10.0.0.254"), "eth0"});
            const auto seen = co_await this->look();
            ASSERT_CO_TRUE(seen.routes().size() == 1);
            EXPECT_EQ(seen.routes()[0], (default_route{address("10.0.0.254"), seen.find("eth0")->index, 0}));
        }
        for (int round = 0; round < 2; ++round) {
            co_await this->done(remove_default_route{address("10.0.0.254"), "eth0"});
            const auto seen = co_await this->routes();
            EXPECT_EQ(seen, "");
        }
    });
}

TYPED_TEST(network_routes, another_one_stays) {
    this->bench.run([this]() -> awaitable<void> {
        co_await this->two_networks();
        co_await this->done(add_default_route{address("10.0.0.254"), "eth0"});
        co_await this->fails(add_default_route{address("10.0.0.253"), "eth0"}, errc::already_exists, "10.0.0.254");
        co_await this->fails(add_default_route{address("10.0.1.254"), "eth1"}, errc::already_exists, "10.0.0.254");
        co_await this->done(remove_default_route{address("10.0.0.253"), "eth0"});
        co_await this->done(remove_default_route{address("10.0.0.254"), "eth1"});
        const auto seen = co_await this->routes();
        EXPECT_EQ(seen, "10.0.0.254 on eth0");
    });
}

TYPED_TEST(network_routes, what_cannot_be_reached_is_refused) {
    this->bench.run([this]() -> awaitable<void> {
        co_await this->two_networks();
        co_await this->fails(add_default_route{address("10.0.2.254"), "eth0"}, errc::refused);
        co_await this->fails(add_default_route{address("10.0.0.254"), "eth1"}, errc::refused);
        co_await this->fails(add_default_route{address("fd00::1"), "eth0"}, errc::refused);
        co_await this->fails(add_default_route{address("10.0.0.254"), "eth2"}, errc::not_found, "eth2");
        co_await this->done(remove_default_route{address("10.0.0.254"), "eth2"});
        co_await this->done(set_down{"eth0"});
        co_await this->fails(add_default_route{address("10.0.0.254"), "eth0"}, errc::refused);
        const auto seen = co_await this->routes();
        EXPECT_EQ(seen, "");
    });
}

TYPED_TEST(network_routes, a_route_goes_with_what_it_needs) {
    this->bench.run([this]() -> awaitable<void> {
        co_await this->two_networks();
        const add_default_route route{address("10.0.0.254"), "eth0"};
        co_await this->done(route);
        co_await this->done(set_down{"eth0"});
        auto seen = co_await this->routes();
        EXPECT_EQ(seen, "");
        co_await this->done(set_up{"eth0"});
        seen = co_await this->routes();
        EXPECT_EQ(seen, "");
        co_await this->done(route);
        // Not with the address that reaches the gateway, but with the last one of the device.
        co_await this->done(add_address{"eth0", at("10.0.9.1/24")});
        co_await this->done(remove_address{"eth0", at("10.0.0.1/24")});
        seen = co_await this->routes();
        EXPECT_EQ(seen, "10.0.0.254 on eth0");
        co_await this->done(remove_address{"eth0", at("10.0.9.1/24")});
        seen = co_await this->routes();
        EXPECT_EQ(seen, "");
        co_await this->done(add_address{"eth0", at("10.0.0.1/24")});
        co_await this->done(route);
        this->bench.pull_out("eth0");
        seen = co_await this->routes();
        EXPECT_EQ(seen, "");
    });
}

network_route route_to(std::string_view to, std::string_view gateway, std::uint32_t metric = 0) {
    network_route route;
    route.to = at(to);
    route.gateway = gateway.empty() ? std::nullopt : std::optional(address(gateway));
    route.metric = metric;
    return route;
}

TYPED_TEST(network_routes, routes_have_all_that_they_say) {
    this->bench.run([this]() -> awaitable<void> {
        co_await this->two_networks();
        co_await this->done(add_address{"eth0", at("fd00::1/64")});
        auto far = route_to("10.77.0.0/16", "10.0.0.250", 7);
        far.source = address("10.0.1.1");
        far.protocol = 4;
        auto near = route_to("198.51.100.1/32", "");
        near.scope = 253;
        auto claimed = route_to("0.0.0.0/0", "203.0.113.1", 100);
        claimed.is_onlink = true;
        const auto of_six = route_to("fd77::/48", "fd00::250", 1024);
        const auto all_of_six = route_to("::/0", "fd00::250", 77);
        for (const auto& one : {far, near, claimed, of_six, all_of_six}) {
            for (int round = 0; round < 2; ++round) {
                co_await this->done(add_route{one, "eth0"});
                const auto seen = co_await this->look();
                const auto found = std::ranges::find(seen.link_routes(), one, &link_route::is);
                ASSERT_CO_TRUE(found != seen.link_routes().end());
                EXPECT_EQ(*found, (link_route{one, seen.find("eth0")->index}));
            }
        }
        // Of one place with one metric there is one.
        co_await this->fails(add_route{route_to("10.77.0.0/16", "10.0.1.250", 7), "eth1"}, errc::already_exists);
        co_await this->fails(add_route{route_to("10.78.0.0/16", "10.0.9.1"), "eth0"}, errc::refused);
        co_await this->fails(add_route{far, "eth9"}, errc::not_found, "eth9");
        // Another metric, another device, another gateway: another one.
        co_await this->done(remove_route{route_to("10.77.0.0/16", "10.0.0.250"), "eth0"});
        co_await this->done(remove_route{far, "eth1"});
        co_await this->done(remove_route{far, "eth9"});
        auto before = co_await this->look();
        EXPECT_EQ(before.link_routes().size(), 5U);
        for (const auto& one : {far, near, claimed, of_six, all_of_six}) {
            for (int round = 0; round < 2; ++round) {
                co_await this->done(remove_route{one, "eth0"});
            }
        }
        before = co_await this->look();
        EXPECT_TRUE(before.link_routes().empty());
    });
}

TYPED_TEST(network_routes, those_of_the_kernel_are_not_told) {
    this->bench.run([this]() -> awaitable<void> {
        co_await this->two_networks();
        co_await this->done(add_address{"eth0", at("fd00::1/64")});
        co_await this->done(add_default_route{address("10.0.0.254"), "eth0"});
        const auto seen = co_await this->look();
        ASSERT_CO_TRUE(seen.link_routes().size() == 1);
        EXPECT_EQ(seen.link_routes()[0], (link_route{route_to("0.0.0.0/0", "10.0.0.254"), seen.find("eth0")->index}));
    });
}

// ---- settings
// --------------------------------------------------------------------------------------------------------

template <class Bench>
class network_settings : public network_suite<Bench> {
protected:
    [[nodiscard]] std::string value_of(const std::string& key) {
        const auto read = this->bench.stack().sysctl(key);
        return read ? *read : std::string(to_text(read.error().code()));
    }
};
TYPED_TEST_SUITE(network_settings, network_benches, bench_names);

TYPED_TEST(network_settings, written_and_read) {
    this->bench.run([this]() -> awaitable<void> {
        for (const char* value : {"1", "1", "0", "1"}) {
            co_await this->done(set_sysctl{"net/ipv4/ip_forward", value});
            EXPECT_EQ(this->value_of("net/ipv4/ip_forward"), value);
            // Which comes with it, by the kernel's own rule: hosts do not redirect who forwards.
            EXPECT_EQ(this->value_of("net/ipv4/conf/all/accept_redirects"), *value == '1' ? "0" : "1");
        }
        co_await this->done(set_sysctl{"net/ipv6/conf/all/forwarding", "1"});
        EXPECT_EQ(this->value_of("net/ipv6/conf/all/forwarding"), "1");
    });
}

TYPED_TEST(network_settings, of_a_device_whose_name_has_a_dot) {
    this->bench.run([this]() -> awaitable<void> {
        EXPECT_EQ(this->value_of("net/ipv4/conf/eth0.100/rp_filter"), "not found");
        this->bench.plug_in("eth0.100");
        co_await this->done(set_sysctl{"net/ipv4/conf/eth0.100/rp_filter", "2"});
        EXPECT_EQ(this->value_of("net/ipv4/conf/eth0.100/rp_filter"), "2");
        EXPECT_EQ(this->value_of("net/ipv4/conf/all/rp_filter"), "0");
        this->bench.pull_out("eth0.100");
        EXPECT_EQ(this->value_of("net/ipv4/conf/eth0.100/rp_filter"), "not found");
    });
}

TYPED_TEST(network_settings, of_a_client_network_before_it_is_up) {
    this->bench.run([this]() -> awaitable<void> {
        co_await this->done(make_bridge{"vmbr1001"});
        for (const char* name : {"accept_dad", "accept_ra", "autoconf"}) {
            const std::string key = std::string("net/ipv6/conf/vmbr1001/") + name;
            EXPECT_EQ(this->value_of(key), "1") << key;
            co_await this->done(set_sysctl{key, "0"});
            EXPECT_EQ(this->value_of(key), "0") << key;
        }
        co_await this->done(set_up{"vmbr1001"});
        EXPECT_EQ(this->value_of("net/ipv6/conf/vmbr1001/accept_ra"), "0");
    });
}

TYPED_TEST(network_settings, that_this_kernel_does_not_have) {
    this->bench.run([this]() -> awaitable<void> {
        co_await this->fails(set_sysctl{"net/ipv6/ip_forward", "1"}, errc::not_found);
        EXPECT_EQ(this->value_of("net/ipv6/ip_forward"), "not found");
        co_await this->fails(set_sysctl{"net/ipv4/conf/eth7/rp_filter", "1"}, errc::not_found);
        co_await this->fails(set_sysctl{"net/ipv4/ip_forward", "maybe"}, errc::refused);
    });
}

TYPED_TEST(network_settings, nothing_outside_of_them_is_reached) {
    this->bench.run([this]() -> awaitable<void> {
        for (const char* key : {"../self/comm", "net/../../self/comm", "/net/ipv4/ip_forward", "",
                                "net/ipv4/./ip_forward", "net//ipv4/ip_forward", "/proc/sys/net/ipv4/ip_forward"}) {
            co_await this->fails(set_sysctl{key, "1"}, errc::refused);
            EXPECT_EQ(this->value_of(key), "not found") << key;
        }
    });
}

// So that they need not be read where nothing happened to them.
TYPED_TEST(network_settings, whose_changes_are_told_of) {
    this->bench.run([this]() -> awaitable<void> {
        for (const char* device : {"eth0", "eth1"}) {
            co_await this->plug_in_up(device);
        }
        const auto seen = co_await this->look();
        const int first = seen.find("eth0")->index;
        const int second = seen.find("eth1")->index;
        auto& stack = this->bench.stack();
        EXPECT_NE(stack.settings_told(first), stack.settings_told(first)) << "nothing is watched";
        async::wakeup changed;
        const auto watch = stack.watch(changed);
        co_await this->quiet(changed);
        const auto told = [&] { return std::pair(stack.settings_told(first), stack.settings_told(second)); };
        auto before = told();
        EXPECT_EQ(told(), before);
        // Which of the two is told of by this, if it is told of anything.
        const auto is_told_by = [&](network_change change, bool of_first, bool of_second) -> awaitable<void> {
            const std::string what = to_text(change);
            co_await this->done(std::move(change));
            co_await this->quiet(changed);
            const auto now = told();
            EXPECT_EQ(now.first != before.first, of_first) << what;
            EXPECT_EQ(now.second != before.second, of_second) << what;
            before = now;
        };
        co_await is_told_by(set_sysctl{"net/ipv4/ip_forward", "1"}, true, true);
        co_await is_told_by(set_sysctl{"net/ipv4/conf/eth0/forwarding", "0"}, true, false);
        co_await is_told_by(set_sysctl{"net/ipv6/conf/eth1/forwarding", "1"}, false, true);
        co_await is_told_by(set_sysctl{"net/ipv6/conf/all/forwarding", "1"}, true, true);
        co_await is_told_by(set_sysctl{"net/ipv6/conf/eth0/accept_ra", "0"}, false, false);
        co_await is_told_by(add_address{"eth0", at("10.0.0.1/24")}, false, false);
        co_await is_told_by(add_default_route{address("10.0.0.254"), "eth0"}, false, false);
        co_await is_told_by(make_bridge{"br0"}, false, false);
        co_await is_told_by(set_master{"eth1", "br0"}, false, false);
        co_await is_told_by(set_master{"eth1", ""}, false, false);
        // Below what IPv6 needs, and again: it has those of a new link.
        co_await this->done(set_mtu{"eth0", 1000});
        co_await is_told_by(set_mtu{"eth0", 1500}, true, false);
    });
}

// ---- the watch
// -------------------------------------------------------------------------------------------------------

template <class Bench>
class network_watch : public network_suite<Bench> {};
TYPED_TEST_SUITE(network_watch, network_benches, bench_names);

TYPED_TEST(network_watch, tells_of_changes_by_anybody) {
    this->bench.run([this]() -> awaitable<void> {
        co_await this->plug_in_up("eth0");
        async::wakeup changed;
        const auto watch = this->bench.stack().watch(changed);
        co_await this->quiet(changed);
        const network_change all[] = {make_bridge{"br0"},
                                      set_mtu{"br0", 1400},
                                      set_up{"br0"},
                                      set_master{"eth0", "br0"},
                                      add_address{"br0", at("10.0.0.1/24")},
                                      add_address{"br0", at("fd00::1/64")},
                                      add_default_route{address("10.0.0.254"), "br0"},
                                      remove_default_route{address("10.0.0.254"), "br0"},
                                      remove_address{"br0", at("fd00::1/64")},
                                      remove_address{"br0", at("10.0.0.1/24")},
                                      set_master{"eth0", ""},
                                      set_down{"br0"},
                                      delete_link{"br0"}};
        for (auto* const port : {&this->bench.stack(), &this->bench.other_stack()}) {
            for (const auto& one : all) {
                const auto applied = co_await port->apply(one, this->soon());
                EXPECT_TRUE(applied) << to_text(one);
                const bool told = co_await this->is_told(changed);
                EXPECT_TRUE(told) << to_text(one);
            }
        }
        this->bench.pull_out("eth0");
        const bool told = co_await this->is_told(changed);
        EXPECT_TRUE(told);
    });
}

TYPED_TEST(network_watch, is_silent_where_nothing_happens) {
    this->bench.run([this]() -> awaitable<void> {
        // The kernel looks for doubles of its own IPv6 address, and says when it has found none: some seconds later.
        co_await this->done(set_sysctl{"net/ipv6/conf/default/disable_ipv6", "1"});
        co_await this->plug_in_up("eth0");
        async::wakeup changed;
        const auto watch = this->bench.stack().watch(changed);
        // Its carrier is told up to a second later.
        while (co_await changed.wait_until(this->bench.clock(), this->bench.clock().now() + 3s, "silence")) {
        }
        co_await this->done(add_address{"eth0", at("10.0.0.1/24")});
        const bool told = co_await this->is_told(changed);
        EXPECT_TRUE(told);
        co_await this->look();
        for (const network_change& one : {network_change(add_address{"eth0", at("10.0.0.1/24")}),
                                          network_change(set_up{"eth0"}), network_change(set_mtu{"eth0", 1500}),
                                          network_change(set_master{"eth0", ""}), network_change(delete_link{"br0"})}) {
            co_await this->done(one);  // is so already
        }
        const bool told_again =
            co_await changed.wait_until(this->bench.clock(), this->bench.clock().now() + 1s, "nothing");
        EXPECT_FALSE(told_again);
    });
}

TYPED_TEST(network_watch, several_watch_and_one_goes) {
    this->bench.run([this]() -> awaitable<void> {
        async::wakeup first_changed;
        async::wakeup second_changed;
        auto first = this->bench.stack().watch(first_changed);
        auto second = this->bench.stack().watch(second_changed);
        co_await this->done(make_bridge{"br0"});
        const bool first_told = co_await this->is_told(first_changed);
        const bool second_told = co_await this->is_told(second_changed);
        EXPECT_TRUE(first_told && second_told);
        first.reset();
        co_await this->done(delete_link{"br0"});
        const bool told = co_await this->is_told(second_changed);
        EXPECT_TRUE(told);
        EXPECT_FALSE(first_changed.try_consume());
        second.reset();
        co_await this->done(make_bridge{"br0"});
        second = this->bench.stack().watch(second_changed);
        co_await this->quiet(second_changed);
        co_await this->done(delete_link{"br0"});
        const bool told_again = co_await this->is_told(second_changed);
        EXPECT_TRUE(told_again);
    });
}

// A loop of changes lets what else is ready have its turn.
TYPED_TEST(network_watch, many_changes_do_not_starve_others) {
    this->bench.run([this]() -> awaitable<void> {
        int turns = 0;
        co_await async::with_task_group("both", [&](async::task_group& group) -> awaitable<void> {
            group.spawn("somebody else", [&]() -> awaitable<void> {
                for (;;) {
                    co_await async::yield();
                    ++turns;
                }
            });
            for (int number = 1; number <= 160; ++number) {
                co_await this->done(make_bridge{"vmbr" + std::to_string(number)});
            }
            group.cancel();
        });
        EXPECT_GE(turns, 9);
        const auto seen = co_await this->look();
        EXPECT_EQ(seen.links().size(), 161U);
    });
}

}  // namespace
}  // namespace pvc::contract
