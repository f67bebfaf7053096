// The netlink port: links that are made, changed and removed (networking.md 2).
#include "contract/netlink/benches.hpp"

namespace pvc::contract {
namespace {

using namespace model;

template <class Bench>
class network_links : public network_suite<Bench> {};
TYPED_TEST_SUITE(network_links, network_benches, bench_names);

TYPED_TEST(network_links, a_machine_without_links_has_its_loopback_device) {
    this->bench.run([this]() -> awaitable<void> {
        const auto seen = co_await this->look();
        ASSERT_CO_TRUE(seen.links().size() == 1);
        EXPECT_EQ(seen.links()[0].name, "lo");
        EXPECT_TRUE(seen.links()[0].is_loopback);
        EXPECT_TRUE(seen.links()[0].is_up);
        EXPECT_EQ(seen.links()[0].index, 1);
        EXPECT_TRUE(seen.routes().empty());
    });
}

TYPED_TEST(network_links, a_bridge_is_made_once) {
    this->bench.run([this]() -> awaitable<void> {
        co_await this->done(make_bridge{"brcluster"});
        const auto made = co_await this->link("brcluster");
        ASSERT_CO_TRUE(made);
        EXPECT_EQ(made->kind, "bridge");
        EXPECT_EQ(made->mtu, 1500);
        EXPECT_FALSE(made->is_up);
        EXPECT_EQ(made->master, 0);
        EXPECT_EQ(made->lower, 0);
        co_await this->fails(make_bridge{"brcluster"}, errc::already_exists, "bridge");
        const auto again = co_await this->link("brcluster");
        EXPECT_EQ(again, made);
    });
}

TYPED_TEST(network_links, a_bridge_is_made_without_stp_and_shows_when_somebody_switches_it_on) {
    this->bench.run([this]() -> awaitable<void> {
        co_await this->done(make_bridge{"vmbr7"});
        const auto made = co_await this->link("vmbr7");
        ASSERT_CO_TRUE(made);
        EXPECT_FALSE(made->has_stp);
        this->bench.set_stp("vmbr7", true);
        const auto with = co_await this->link("vmbr7");
        ASSERT_CO_TRUE(with);
        EXPECT_TRUE(with->has_stp);
        co_await this->fails(make_bridge{"vmbr7"}, errc::already_exists, "bridge");
        this->bench.set_stp("vmbr7", false);
        const auto without = co_await this->link("vmbr7");
        EXPECT_EQ(without, made);
    });
}

TYPED_TEST(network_links, names) {
    this->bench.run([this]() -> awaitable<void> {
        co_await this->done(make_bridge{"fifteen.letters"});
        co_await this->done(set_up{"fifteen.letters"});
        const auto made = co_await this->link("fifteen.letters");
        EXPECT_TRUE(made && made->is_up);
        for (const char* name : {"sixteen..letters", "", "br%d", "a/b", "a b", ".", ".."}) {
            co_await this->fails(make_bridge{name}, errc::refused);
        }
        co_await this->fails(set_up{"sixteen..letters"}, errc::not_found, "sixteen..letters");
        co_await this->fails(set_up{""}, errc::not_found);
        const auto seen = co_await this->look();
        EXPECT_EQ(seen.links().size(), 2U);
    });
}

TYPED_TEST(network_links, a_vxlan_is_as_it_was_asked_for) {
    this->bench.run([this]() -> awaitable<void> {
        co_await this->plug_in_up("eth0");
        co_await this->done(make_vxlan{"vxlan1001", "eth0", 1001});
        const auto lower = co_await this->link("eth0");
        const auto made = co_await this->link("vxlan1001");
        ASSERT_CO_TRUE(lower && made && made->vxlan);
        EXPECT_EQ(made->kind, "vxlan");
        EXPECT_EQ(made->lower, lower->index);
        EXPECT_EQ(made->mtu, 1450);
        EXPECT_EQ(*made->vxlan, (vxlan_settings{1001, 4789, true, false, false}));
        EXPECT_FALSE(made->is_up);
        co_await this->fails(make_vxlan{"vxlan1001", "eth0", 1001}, errc::already_exists, "VNI 1001");
        const auto again = co_await this->link("vxlan1001");
        EXPECT_EQ(again, made);
    });
}

// Who asks for one saw none: somebody made it meanwhile, whatever it looks like.
TYPED_TEST(network_links, a_link_of_the_name_is_left_alone) {
    this->bench.run([this]() -> awaitable<void> {
        co_await this->plug_in_up("eth0");
        co_await this->plug_in_up("eth1");
        co_await this->done(make_vxlan{"vxlan7", "eth0", 7});
        co_await this->done(make_bridge{"vmbr7"});
        const auto before = co_await this->look();
        co_await this->fails(make_bridge{"vxlan7"}, errc::already_exists, "vxlan");
        co_await this->fails(make_bridge{"eth0"}, errc::already_exists);
        co_await this->fails(make_vxlan{"vmbr7", "eth0", 8}, errc::already_exists, "bridge");
        co_await this->fails(make_vxlan{"vxlan7", "eth0", 8}, errc::already_exists, "vxlan");
        co_await this->fails(make_vxlan{"vxlan7", "eth0", 7, 4790}, errc::already_exists, "vxlan");
        co_await this->fails(make_vxlan{"vxlan7", "eth1", 7}, errc::already_exists);
        co_await this->fails(make_bridge{"vmbr7", hardware_address{0x06, 1}}, errc::already_exists, "bridge");
        const auto after = co_await this->look();
        for (const char* name : {"vxlan7", "vmbr7"}) {
            EXPECT_EQ(*after.find(name), *before.find(name));
        }
    });
}

TYPED_TEST(network_links, one_vni_has_one_link) {
    this->bench.run([this]() -> awaitable<void> {
        co_await this->plug_in_up("eth0");
        co_await this->done(make_vxlan{"vxlan7", "eth0", 7});
        co_await this->fails(make_vxlan{"other7", "eth0", 7}, errc::refused);
        co_await this->done(make_vxlan{"other7", "eth0", 7, 4790});
        const auto other = co_await this->link("other7");
        EXPECT_TRUE(other);
    });
}

TYPED_TEST(network_links, nothing_stands_on_what_is_not_there) {
    this->bench.run([this]() -> awaitable<void> {
        co_await this->fails(make_vxlan{"vxlan7", "eth0", 7}, errc::not_found, "eth0");
        co_await this->fails(make_vlan{"vlan7", "eth0", 7}, errc::not_found, "eth0");
        const auto seen = co_await this->look();
        EXPECT_EQ(seen.links().size(), 1U);
    });
}

TYPED_TEST(network_links, what_stands_on_a_link_goes_with_it) {
    this->bench.run([this]() -> awaitable<void> {
        co_await this->plug_in_up("eth0");
        co_await this->done(make_vxlan{"vxlan7", "eth0", 7});
        co_await this->done(make_bridge{"vmbr7"});
        co_await this->done(set_master{"vxlan7", "vmbr7"});
        this->bench.pull_out("eth0");
        const auto seen = co_await this->look();
        EXPECT_EQ(seen.find("eth0"), nullptr);
        EXPECT_EQ(seen.find("vxlan7"), nullptr);
        EXPECT_NE(seen.find("vmbr7"), nullptr);
    });
}

TYPED_TEST(network_links, up_and_down) {
    this->bench.run([this]() -> awaitable<void> {
        this->bench.plug_in("eth0");
        auto seen = co_await this->link("eth0");
        EXPECT_TRUE(seen && !seen->is_up && !seen->is_running && seen->mtu == 1500 && !seen->is_loopback);
        for (int round = 0; round < 2; ++round) {
            co_await this->done(set_up{"eth0"});
            const bool runs = co_await this->becomes_running("eth0", true);
            EXPECT_TRUE(runs);
            seen = co_await this->link("eth0");
            EXPECT_TRUE(seen && seen->is_up);
        }
        for (int round = 0; round < 2; ++round) {
            co_await this->done(set_down{"eth0"});
            seen = co_await this->link("eth0");
            EXPECT_TRUE(seen && !seen->is_up && !seen->is_running);
        }
        co_await this->fails(set_up{"eth1"}, errc::not_found, "eth1");
        co_await this->done(set_down{"eth1"});
    });
}

// A bridge that never had a port runs; from the first one on it does while one of its ports does.
TYPED_TEST(network_links, a_bridge_runs_with_a_port_that_does) {
    this->bench.run([this]() -> awaitable<void> {
        co_await this->done(make_bridge{"br0"});
        co_await this->done(set_up{"br0"});
        const bool runs_alone = co_await this->becomes_running("br0", true);
        EXPECT_TRUE(runs_alone);
        this->bench.plug_in("eth0");
        co_await this->done(set_master{"eth0", "br0"});
        const bool is_idle_with_it = co_await this->becomes_running("br0", false);
        EXPECT_TRUE(is_idle_with_it);
        co_await this->done(set_up{"eth0"});
        const bool runs = co_await this->becomes_running("br0", true);
        EXPECT_TRUE(runs);
        co_await this->done(set_down{"eth0"});
        const bool is_idle = co_await this->becomes_running("br0", false);
        EXPECT_TRUE(is_idle);
    });
}

// What was free when it was looked at may be somebody's by now.
TYPED_TEST(network_links, a_port_is_taken_only_while_it_is_free) {
    this->bench.run([this]() -> awaitable<void> {
        for (const auto* one : {"br0", "br1"}) {
            co_await this->done(make_bridge{one});
        }
        this->bench.plug_tap("tap0");
        const auto seen = co_await this->link("tap0");
        ASSERT_CO_TRUE(seen.has_value());
        const auto master = [this](std::string name) -> awaitable<std::string> {
            const auto all = co_await this->look();
            const auto* found = all.find(name);
            co_return std::string(found == nullptr ? "gone" : all.name_of(found->master));
        };
        co_await this->done(set_master{"tap0", "br0", seen->index + 100});
        EXPECT_EQ(co_await master("tap0"), "") << "another link of that name";
        co_await this->done(set_master{"tap0", "br0", seen->index});
        EXPECT_EQ(co_await master("tap0"), "br0");
        co_await this->done(set_master{"tap0", "br1", seen->index});
        EXPECT_EQ(co_await master("tap0"), "br0");
        co_await this->done(set_master{"tap0", "br1"});
        EXPECT_EQ(co_await master("tap0"), "br1");
        EXPECT_FALSE(this->bench.stack().has_late_changes());
    });
}

// README ruling 83. One of its own, or one that was set, stays whatever its ports have.
TYPED_TEST(network_links, the_hardware_address_of_a_bridge) {
    this->bench.run([this]() -> awaitable<void> {
        constexpr hardware_address largest{0xfe, 0xff, 0xff, 0xff, 0xff, 0xff};
        co_await this->done(make_bridge{"br0"});
        co_await this->done(make_bridge{"br1", largest});
        co_await this->done(make_bridge{"br2"});
        for (const char* number : {"0", "1", "2"}) {
            this->bench.plug_tap(std::string("tap") + number);
            co_await this->done(set_hardware{std::string("tap") + number, {0x0a, 0, 0, 0, 0, 2}});
            co_await this->done(set_master{std::string("tap") + number, std::string("br") + number});
        }
        auto seen = co_await this->look();
        EXPECT_EQ(seen.find("br0")->hardware, seen.find("tap0")->hardware);
        EXPECT_EQ(seen.find("br0")->hardware, (hardware_address{0x0a, 0, 0, 0, 0, 2}));
        EXPECT_EQ(seen.find("br1")->hardware, largest);
        co_await this->done(set_hardware{"br2", seen.find("br2")->hardware});
        for (const char* number : {"0", "1", "2"}) {
            co_await this->done(set_hardware{std::string("tap") + number, {0x02, 0, 0, 0, 0, 1}});
        }
        seen = co_await this->look();
        EXPECT_EQ(seen.find("br0")->hardware, (hardware_address{0x02, 0, 0, 0, 0, 1})) << "it follows its ports";
        EXPECT_EQ(seen.find("br1")->hardware, largest);
        EXPECT_EQ(seen.find("br2")->hardware, (hardware_address{0x0a, 0, 0, 0, 0, 2})) << "it was told to keep it";
        co_await this->done(set_up{"br2"});
        co_await this->done(set_hardware{"br2", {0x06, 0, 0, 0, 0, 3}});
        const auto live = co_await this->link("br2");
        EXPECT_EQ(live ? live->hardware : hardware_address(), (hardware_address{0x06, 0, 0, 0, 0, 3}));
        co_await this->fails(set_hardware{"br9", largest}, errc::not_found, "br9");
    });
}

TYPED_TEST(network_links, mtu) {
    this->bench.run([this]() -> awaitable<void> {
        this->bench.plug_in("eth0");
        for (int round = 0; round < 2; ++round) {
            co_await this->done(set_mtu{"eth0", 9000});
            const auto seen = co_await this->link("eth0");
            EXPECT_EQ(seen ? seen->mtu : 0, 9000);
        }
        co_await this->done(make_bridge{"br0"});
        co_await this->done(set_mtu{"br0", 1400});
        const auto bridge = co_await this->link("br0");
        EXPECT_EQ(bridge ? bridge->mtu : 0, 1400);
        co_await this->fails(set_mtu{"eth0", 0}, errc::refused);
        co_await this->fails(set_mtu{"eth0", 1'000'000}, errc::refused);
        co_await this->fails(set_mtu{"eth1", 1500}, errc::not_found, "eth1");
    });
}

TYPED_TEST(network_links, a_vxlan_has_50_bytes_less_than_its_lower_device) {
    this->bench.run([this]() -> awaitable<void> {
        this->bench.plug_in("eth0");
        co_await this->done(make_vxlan{"vxlan7", "eth0", 7});
        co_await this->fails(set_mtu{"vxlan7", 1451}, errc::refused);
        co_await this->done(set_mtu{"eth0", 9000});
        co_await this->done(set_mtu{"vxlan7", 8950});
        co_await this->fails(set_mtu{"vxlan7", 8951}, errc::refused);
        // It is not made smaller with it.
        co_await this->done(set_mtu{"eth0", 1500});
        const auto seen = co_await this->link("vxlan7");
        EXPECT_EQ(seen ? seen->mtu : 0, 8950);
    });
}

// A bridge has the smallest MTU of its ports, until somebody gives it another.
TYPED_TEST(network_links, the_mtu_of_a_bridge) {
    this->bench.run([this]() -> awaitable<void> {
        this->bench.plug_in("eth0");
        this->bench.plug_in("eth1");
        co_await this->done(set_mtu{"eth0", 9000});
        co_await this->done(set_mtu{"eth1", 4000});
        co_await this->done(make_bridge{"br0"});
        const auto mtu_after = [this](network_change change) -> awaitable<int> {
            co_await this->done(change);
            const auto seen = co_await this->link("br0");
            co_return seen ? seen->mtu : 0;
        };
        const auto with_one = co_await mtu_after(set_master{"eth0", "br0"});
        const auto with_two = co_await mtu_after(set_master{"eth1", "br0"});
        const auto smaller = co_await mtu_after(set_mtu{"eth0", 2000});
        const auto larger = co_await mtu_after(set_mtu{"eth0", 9000});
        EXPECT_EQ((std::vector{with_one, with_two, smaller, larger}), (std::vector{9000, 4000, 2000, 4000}));
        const auto given = co_await mtu_after(set_mtu{"br0", 3000});
        const auto then = co_await mtu_after(set_mtu{"eth1", 2000});
        const auto released = co_await mtu_after(set_master{"eth1", ""});
        EXPECT_EQ((std::vector{given, then, released}), (std::vector{3000, 3000, 3000}));
    });
}

// IPv6 takes 1280 bytes: a device of fewer has neither addresses nor settings of it.
TYPED_TEST(network_links, an_mtu_too_small_for_ipv6) {
    this->bench.run([this]() -> awaitable<void> {
        co_await this->plug_in_up("eth0");
        co_await this->done(add_address{"eth0", at("10.0.0.1/24")});
        co_await this->done(add_address{"eth0", at("fd00::1/64")});
        co_await this->done(set_mtu{"eth0", 1279});
        const auto seen = co_await this->addresses_of("eth0");
        EXPECT_EQ(seen, "10.0.0.1/24");
        co_await this->fails(set_sysctl{"net/ipv6/conf/eth0/accept_ra", "0"}, errc::not_found);
        co_await this->done(set_mtu{"eth0", 1280});
        co_await this->done(set_sysctl{"net/ipv6/conf/eth0/accept_ra", "0"});
    });
}

TYPED_TEST(network_links, a_port_has_one_bridge) {
    this->bench.run([this]() -> awaitable<void> {
        this->bench.plug_in("eth0");
        co_await this->done(make_bridge{"br0"});
        co_await this->done(make_bridge{"br1"});
        auto seen = co_await this->look();
        const int first = seen.find("br0")->index;
        const int second = seen.find("br1")->index;
        for (const auto& [name, index] : {std::pair{"br0", first}, {"br0", first}, {"br1", second}, {"", 0}, {"", 0}}) {
            co_await this->done(set_master{"eth0", name});
            seen = co_await this->look();
            EXPECT_EQ(seen.find("eth0")->master, index) << name;
            EXPECT_EQ(seen.ports_of(first).size(), index == first ? 1U : 0U);
        }
    });
}

TYPED_TEST(network_links, what_cannot_be_a_port) {
    this->bench.run([this]() -> awaitable<void> {
        this->bench.plug_in("eth0");
        this->bench.plug_in("eth1");
        co_await this->done(make_bridge{"br0"});
        co_await this->done(make_bridge{"br1"});
        co_await this->fails(set_master{"br1", "br0"}, errc::refused);
        co_await this->fails(set_master{"br0", "br0"}, errc::refused);
        co_await this->fails(set_master{"lo", "br0"}, errc::refused);
        co_await this->fails(set_master{"eth0", "eth1"}, errc::refused);
        co_await this->fails(set_master{"eth2", "br0"}, errc::not_found, "eth2");
        co_await this->fails(set_master{"eth0", "br2"}, errc::not_found, "br2");
    });
}

TYPED_TEST(network_links, interfaces_of_guests_are_ports) {
    this->bench.run([this]() -> awaitable<void> {
        this->bench.plug_tap("tap0");
        co_await this->done(make_bridge{"vmbr7"});
        co_await this->done(set_master{"tap0", "vmbr7"});
        const auto seen = co_await this->look();
        const auto* const bridge = seen.find("vmbr7");
        const auto* const tap = seen.find("tap0");
        ASSERT_CO_TRUE(bridge && tap);
        EXPECT_EQ(tap->kind, "tun");
        EXPECT_EQ(tap->master, bridge->index);
        EXPECT_EQ(tap->lower, 0);
    });
}

TYPED_TEST(network_links, a_deleted_bridge_lets_its_ports_go) {
    this->bench.run([this]() -> awaitable<void> {
        this->bench.plug_in("eth0");
        co_await this->done(make_bridge{"br0"});
        co_await this->done(set_master{"eth0", "br0"});
        co_await this->done(set_up{"br0"});
        co_await this->done(delete_link{"br0"});
        const auto port = co_await this->link("eth0");
        EXPECT_EQ(port ? port->master : -1, 0);
        const auto bridge = co_await this->link("br0");
        EXPECT_FALSE(bridge);
        co_await this->done(delete_link{"br0"});
        co_await this->fails(delete_link{"lo"}, errc::refused);
    });
}

// Somebody has called another one so since the look.
TYPED_TEST(network_links, one_that_is_to_go_is_the_one_that_was_meant) {
    this->bench.run([this]() -> awaitable<void> {
        co_await this->done(make_bridge{"br0"});
        co_await this->done(make_bridge{"br1"});
        const auto before = co_await this->look();
        const int index = before.find("br0")->index;
        co_await this->done(rename_link{"br2", index});
        co_await this->done(rename_link{"br0", before.find("br1")->index});
        auto done = co_await this->bench.stack().remove_link("br0", index, this->soon());
        EXPECT_TRUE(done);
        const auto other = co_await this->link("br0");
        EXPECT_TRUE(other) << "it is another one's";
        for (int round = 0; round < 2; ++round) {
            done = co_await this->bench.stack().remove_link("br2", index, this->soon());
            EXPECT_TRUE(done);
        }
        const auto gone = co_await this->link("br2");
        EXPECT_FALSE(gone);
        done = co_await this->bench.stack().remove_link("lo", before.find("lo")->index, this->soon());
        EXPECT_TRUE(!done && done.error().code() == errc::refused);
    });
}

// Another index is another link, also under the old name.
TYPED_TEST(network_links, a_link_that_is_made_anew_is_another_one) {
    this->bench.run([this]() -> awaitable<void> {
        co_await this->done(make_bridge{"br0"});
        const auto before = co_await this->look();
        co_await this->done(delete_link{"br0"});
        co_await this->done(make_bridge{"br0"});
        const auto after = co_await this->look();
        EXPECT_GT(after.find("br0")->index, before.find("br0")->index);
        EXPECT_NE(after, before);
    });
}

TYPED_TEST(network_links, checksums_of_sent_packets) {
    this->bench.run([this]() -> awaitable<void> {
        co_await this->done(make_bridge{"vmbr7"});
        co_await this->done(tx_checksum_off{"vmbr7"});
        co_await this->done(tx_checksum_off{"vmbr7"});
        co_await this->fails(tx_checksum_off{"vmbr8"}, errc::not_found, "vmbr8");
        co_await this->fails(tx_checksum_off{"sixteen..letters"}, errc::not_found);
    });
}

}  // namespace
}  // namespace pvc::contract
