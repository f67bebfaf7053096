// The netlink port: VLANs, where the kernel has them ("guest": elsewhere the guest of the lab runs it).
#include "contract/netlink/benches.hpp"

namespace pvc::contract {
namespace {

using namespace model;

template <class Bench>
class network_vlans_guest : public network_suite<Bench> {};
TYPED_TEST_SUITE(network_vlans_guest, network_benches, bench_names);

TYPED_TEST(network_vlans_guest, a_vlan_is_as_it_was_asked_for) {
    this->bench.run([this]() -> awaitable<void> {
        co_await this->plug_in_up("eth0");
        co_await this->done(make_vlan{"vlan200", "eth0", 200});
        for (int round = 0; round < 2; ++round) {
            const auto seen = co_await this->look();
            const auto* const made = seen.find("vlan200");
            ASSERT_CO_TRUE(made);
            EXPECT_EQ(made->kind, "vlan");
            EXPECT_EQ(made->vlan_id, 200);
            EXPECT_EQ(made->lower, seen.find("eth0")->index);
            EXPECT_EQ(made->mtu, 1500);
            EXPECT_EQ(seen.standing_on(made->lower).size(), 1U);
            co_await this->fails(make_vlan{"vlan200", "eth0", 200}, errc::already_exists, "id 200");
        }
    });
}

TYPED_TEST(network_vlans_guest, another_link_of_the_name_is_left_alone) {
    this->bench.run([this]() -> awaitable<void> {
        co_await this->plug_in_up("eth0");
        co_await this->plug_in_up("eth1");
        co_await this->done(make_vlan{"vlan200", "eth0", 200});
        co_await this->done(make_bridge{"vmbr200"});
        const auto before = co_await this->link("vlan200");
        co_await this->fails(make_vlan{"vlan200", "eth0", 201}, errc::already_exists, "id 200");
        co_await this->fails(make_vlan{"vlan200", "eth1", 200}, errc::already_exists);
        co_await this->fails(make_vlan{"vmbr200", "eth0", 201}, errc::already_exists, "bridge");
        co_await this->fails(make_bridge{"vlan200"}, errc::already_exists, "vlan");
        co_await this->fails(make_vlan{"other200", "eth0", 200}, errc::refused);
        const auto after = co_await this->link("vlan200");
        EXPECT_EQ(after, before);
    });
}

TYPED_TEST(network_vlans_guest, dotted_names_and_settings) {
    this->bench.run([this]() -> awaitable<void> {
        co_await this->plug_in_up("eth0");
        co_await this->done(make_vlan{"eth0.100", "eth0", 100});
        co_await this->done(set_up{"eth0.100"});
        co_await this->done(set_sysctl{"net/ipv4/conf/eth0.100/rp_filter", "2"});
        const auto read = this->bench.stack().sysctl("net/ipv4/conf/eth0.100/rp_filter");
        EXPECT_TRUE(read && *read == "2");
        co_await this->done(make_vxlan{"vxlan7", "eth0.100", 7});
        const auto seen = co_await this->look();
        EXPECT_EQ(seen.find("vxlan7")->lower, seen.find("eth0.100")->index);
    });
}

// The MTU of a VLAN is never above that of its parent, and goes down with it.
TYPED_TEST(network_vlans_guest, mtu_goes_with_the_parent) {
    this->bench.run([this]() -> awaitable<void> {
        co_await this->plug_in_up("eth0");
        co_await this->done(set_mtu{"eth0", 9000});
        co_await this->done(make_vlan{"vlan200", "eth0", 200});
        auto seen = co_await this->link("vlan200");
        EXPECT_EQ(seen ? seen->mtu : 0, 9000);
        co_await this->fails(set_mtu{"vlan200", 9001}, errc::refused);
        co_await this->done(set_mtu{"eth0", 1500});
        seen = co_await this->link("vlan200");
        EXPECT_EQ(seen ? seen->mtu : 0, 1500);
        co_await this->done(set_mtu{"eth0", 9000});
        seen = co_await this->link("vlan200");
        EXPECT_EQ(seen ? seen->mtu : 0, 1500);
    });
}

// It is down while its parent is, and is deleted with it.
TYPED_TEST(network_vlans_guest, a_vlan_depends_on_its_parent) {
    this->bench.run([this]() -> awaitable<void> {
        this->bench.plug_in("eth0");
        co_await this->done(make_vlan{"vlan200", "eth0", 200});
        co_await this->fails(set_up{"vlan200"}, errc::refused);
        co_await this->done(set_up{"eth0"});
        co_await this->done(set_up{"vlan200"});
        co_await this->done(set_down{"eth0"});
        auto seen = co_await this->link("vlan200");
        EXPECT_TRUE(seen && !seen->is_up);
        co_await this->done(set_up{"eth0"});
        seen = co_await this->link("vlan200");
        EXPECT_TRUE(seen && seen->is_up);
        this->bench.pull_out("eth0");
        seen = co_await this->link("vlan200");
        EXPECT_FALSE(seen);
    });
}

TYPED_TEST(network_vlans_guest, ids) {
    this->bench.run([this]() -> awaitable<void> {
        co_await this->plug_in_up("eth0");
        co_await this->done(make_vlan{"vlan1", "eth0", 1});
        co_await this->done(make_vlan{"vlan4094", "eth0", 4094});
        co_await this->fails(make_vlan{"vlan4095", "eth0", 4095}, errc::refused);
        co_await this->fails(make_vlan{"vlanlo", "lo", 5}, errc::refused);
    });
}

}  // namespace
}  // namespace pvc::contract
