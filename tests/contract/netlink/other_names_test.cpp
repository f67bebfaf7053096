// The netlink port: other names of links, routes that come with addresses, addresses with a lifetime, and whose packets
// somebody looks at (networking.md 2, 3.1; README ruling 79).
#include "contract/netlink/benches.hpp"

namespace pvc::contract {
namespace {

using namespace model;

template <class Bench>
class network_names : public network_suite<Bench> {};
TYPED_TEST_SUITE(network_names, network_benches, bench_names);

TYPED_TEST(network_names, a_link_is_found_and_changed_by_each_of_its_names) {
    this->bench.run([this]() -> awaitable<void> {
        const std::string long_name = "enp129s0f1np1-and-more";
        this->bench.plug_in("eth0");
        this->bench.call_also("eth0", "enp3s0");
        this->bench.call_also("eth0", long_name);
        const auto seen = co_await this->look();
        const auto* const found = seen.find_by_any_name("enp3s0");
        ASSERT_CO_TRUE(found != nullptr);
        EXPECT_EQ(found->name, "eth0");
        EXPECT_EQ(found->alt_names, (std::vector<std::string>{"enp3s0", long_name}));
        EXPECT_EQ(seen.find_by_any_name(long_name), found);
        EXPECT_EQ(seen.find("enp3s0"), nullptr);
        for (const auto& name : {std::string("enp3s0"), long_name}) {
            co_await this->done(make_bridge{"br0"});
            co_await this->done(set_master{name, "br0"});
            const auto port = co_await this->link("eth0");
            const auto bridge = co_await this->link("br0");
            EXPECT_EQ(port->master, bridge->index);
            co_await this->done(delete_link{"br0"});
        }
    });
}

// Nothing else can be called so; and what is so called is not what was to be made.
TYPED_TEST(network_names, another_name_of_a_link_is_taken) {
    this->bench.run([this]() -> awaitable<void> {
        co_await this->done(make_bridge{"br0"});
        this->bench.call_also("br0", "vmbr7");
        co_await this->fails(make_bridge{"vmbr7"}, errc::already_exists, "br0");
        this->bench.plug_in("eth0");
        co_await this->fails(make_vxlan{"vmbr7", "eth0", 7}, errc::already_exists, "br0");
    });
}

TYPED_TEST(network_names, who_has_packets_looked_at_is_seen) {
    this->bench.run([this]() -> awaitable<void> {
        this->bench.plug_in("eth0");
        this->bench.plug_in("eth1");
        this->bench.filter_traffic("eth0");
        const auto first = co_await this->link("eth0");
        const auto second = co_await this->link("eth1");
        EXPECT_TRUE(first->has_traffic_filter);
        EXPECT_FALSE(second->has_traffic_filter);
    });
}

TYPED_TEST(network_names, routes_that_come_with_addresses) {
    this->bench.run([this]() -> awaitable<void> {
        co_await this->plug_in_up("eth0");
        co_await this->done(add_address{"eth0", at("10.0.0.1/24")});
        co_await this->done(add_address{"eth0", at("10.0.0.2/24")});
        co_await this->done(add_address{"eth0", at("10.0.9.1/32")});
        co_await this->done(add_address{"eth0", at("fd00:9::1/64")});
        const auto link = co_await this->link("eth0");
        const auto has = [this, index = link->index]() -> awaitable<std::string> {
            const auto seen = co_await this->look();
            std::string text;
            for (const auto* network : {"10.0.0.0/24", "10.0.9.1/32", "fd00:9::/64"}) {
                text += seen.has_connected_route(index, at(network)) ? std::string(network) + " " : "";
            }
            for (const auto& one : seen.link_routes()) {
                text += one.link == index ? "and " + to_text(one.is) : "";
            }
            co_return text;
        };
        auto now = co_await has();
        EXPECT_EQ(now, "10.0.0.0/24 fd00:9::/64 ");
        this->bench.flush_routes();
        now = co_await has();
        EXPECT_EQ(now, "");
        co_await this->fails(add_default_route{address("10.0.0.254"), "eth0"}, errc::refused);
        const network_route v4{.to = at("10.0.0.0/24"), .source = address("10.0.0.1"), .scope = 253, .protocol = 2};
        const network_route v6{.to = at("fd00:9::/64"), .metric = 256, .protocol = 2};
        for (int round = 0; round < 2; ++round) {
            co_await this->done(add_route{v4, "eth0"});
            co_await this->done(add_route{v6, "eth0"});
            now = co_await has();
            EXPECT_EQ(now, "10.0.0.0/24 fd00:9::/64 ");
        }
        co_await this->done(add_default_route{address("10.0.0.254"), "eth0"});
        co_await this->done(remove_default_route{address("10.0.0.254"), "eth0"});
        // They go with their addresses, as those that the kernel makes by itself.
        co_await this->done(remove_address{"eth0", at("10.0.0.1/24")});
        co_await this->done(remove_address{"eth0", at("10.0.0.2/24")});
        co_await this->done(remove_address{"eth0", at("fd00:9::1/64")});
        now = co_await has();
        EXPECT_EQ(now, "");
    });
}

// It is there: what it gets is the lifetime, in its place.
TYPED_TEST(network_names, an_address_that_is_there_gets_another_lifetime) {
    this->bench.run([this]() -> awaitable<void> {
        co_await this->plug_in_up("eth0");
        const auto left = [](const model::network_state& seen, const host_address& which) {
            for (const auto& one : seen.addresses()) {
                if (one.address == which) {
                    return one.lifetime.valid;
                }
            }
            return 0U;
        };
        for (const auto* text : {"10.0.0.7/24", "fd07::7/64"}) {
            const auto which = at(text);
            co_await this->done(add_address{"eth0", which, address_lifetime{30, 20}});
            co_await this->done(add_address{"eth0", which, address_lifetime{3600, 600}});
            const auto longer = left(co_await this->look(), which);
            EXPECT_GT(longer, 3500U) << text;
            co_await this->done(add_address{"eth0", which});
            const auto same = left(co_await this->look(), which);
            EXPECT_LE(same, 3600U) << "nobody asked for another one";
            co_await this->done(add_address{"eth0", which, address_lifetime{forever, forever}});
            const auto endless = left(co_await this->look(), which);
            EXPECT_EQ(endless, forever) << text;
        }
    });
}

TYPED_TEST(network_names, an_address_with_a_lifetime) {
    this->bench.run([this]() -> awaitable<void> {
        co_await this->plug_in_up("eth0");
        const address_lifetime left{3600, 600};
        co_await this->done(add_address{"eth0", at("10.0.0.1/24"), left});
        co_await this->done(add_address{"eth0", at("fd00:9::1/64"), left});
        co_await this->done(add_address{"eth0", at("10.0.1.1/24")});
        const auto seen = co_await this->look();
        for (const auto& one : seen.addresses_of(seen.find("eth0")->index)) {
            const bool is_fleeting = one.address == at("10.0.0.1/24") || one.address == at("fd00:9::1/64");
            if (is_fleeting) {
                EXPECT_FALSE(one.is_permanent);
                EXPECT_LE(one.lifetime.valid, left.valid);
                EXPECT_GT(one.lifetime.valid, left.valid - 60);
                EXPECT_LE(one.lifetime.preferred, left.preferred);
            } else if (one.address == at("10.0.1.1/24")) {
                EXPECT_TRUE(one.is_permanent);
            }
        }
    });
}

}  // namespace
}  // namespace pvc::contract
