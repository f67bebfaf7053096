// The port to virtual functions (networking.md 4): on a simulated card, and on one that has some, in the guest of
// tests/guest/run --igb only. What the driver of that one takes, and what it refuses, is told, and proved without the
// daemon, by tests/guest/sriov_selftest.sh.
#include "contract/netlink/functions_bench.hpp"

namespace pvc::contract {
namespace {

using namespace model;

template <class Bench>
class functions_guest_igb : public functions_suite<Bench> {};
TYPED_TEST_SUITE(functions_guest_igb, function_benches, function_bench_names);

// Acceptance case 13: none, as many as wanted, another number.
TYPED_TEST(functions_guest_igb, are_made_once) {
    this->bench.run([this]() -> awaitable<void> {
        auto& port = this->bench.port();
        co_await this->has(0);
        co_await this->make(3);
        co_await this->has(3);
        const auto other = co_await port.make("eth0", 2, this->soon());
        this->fails(other, errc::refused, "eth0");
        this->fails(other, errc::refused, "busy");
        co_await this->has(3);
        co_await this->make(3);
        co_await this->has(3);
        this->bench.have_none();
        const auto many = co_await port.make("eth0", this->bench.most() + 1, this->soon());
        this->fails(many, errc::refused, "eth0");
        co_await this->has(0);
        co_await this->make(this->bench.most());
        co_await this->has(this->bench.most());
    });
}

// Acceptance cases 14 and 16: all that is registered of them, also what a driver does not tell.
TYPED_TEST(functions_guest_igb, are_seen) {
    this->bench.run([this]() -> awaitable<void> {
        auto seen = co_await this->look();
        EXPECT_EQ(seen.name, "eth0");
        EXPECT_GT(seen.link, 0);
        EXPECT_EQ(seen.mtu, 1500);
        EXPECT_TRUE(seen.functions.empty());
        const int link = seen.link;
        const int most = this->bench.most();
        co_await this->make(most);
        this->bench.set_card_mtu(9000);
        seen = co_await this->look();
        this->bench.set_card_mtu(1500);
        EXPECT_EQ(seen.link, link);
        EXPECT_EQ(seen.mtu, 9000);
        EXPECT_EQ(std::ssize(seen.functions), most);
        for (int index = 0; index < most; ++index) {
            const auto* const one = seen.find(index);
            ASSERT_CO_TRUE(one);
            EXPECT_EQ(one->pci, this->bench.address_of(index));
            EXPECT_TRUE(parse_pci_address(one->pci)) << one->pci;
            EXPECT_EQ(one->mac.size(), 17U) << one->mac;
            EXPECT_EQ(one->vlan, function_vlan());
            EXPECT_EQ(one->rate, function_rate());
            EXPECT_EQ(one->spoof_check, true);
            EXPECT_EQ(one->link_state, function_link::automatic);
            EXPECT_EQ(one->trust, false);
            EXPECT_FALSE(one->query_rss);
        }
        this->bench.set_mac(5, "02:00:00:00:00:15");
        const auto one = co_await this->function(5);
        EXPECT_EQ(one.mac, "02:00:00:00:00:15");
    });
}

// Acceptance cases 17 and 19. No setting touches another one, of this function or of others.
TYPED_TEST(functions_guest_igb, take_settings) {
    this->bench.run([this]() -> awaitable<void> {
        co_await this->make(3);
        const auto before = co_await this->look();
        auto wanted = co_await this->function(1);
        const auto is_as_wanted = [&]() -> awaitable<void> {
            const auto found = co_await this->look();
            EXPECT_EQ(found.functions.size(), 3U);
            for (const auto& one : found.functions) {
                EXPECT_EQ(one, one.index == 1 ? wanted : *before.find(one.index)) << one.index;
            }
        };
        for (const auto& vlan : {function_vlan{101, 3}, function_vlan{101, 0}, function_vlan{4094, 7},
                                 function_vlan{0, 0}, function_vlan{42, 5}}) {
            co_await this->set(1, vlan);
            wanted.vlan = vlan;
            co_await is_as_wanted();
        }
        for (const bool is_on : {false, false, true, false}) {
            co_await this->set(1, function_spoof_check{is_on});
            wanted.spoof_check = is_on;
            co_await is_as_wanted();
        }
        for (const bool is_on : {true, true, false, true}) {
            co_await this->set(1, function_trust{is_on});
            wanted.trust = is_on;
            co_await is_as_wanted();
        }
    });
}

// Acceptance case 18.
TYPED_TEST(functions_guest_igb, take_a_rate) {
    this->bench.run([this]() -> awaitable<void> {
        co_await this->make(2);
        co_await this->bench.begin_carrier();
        for (const std::uint32_t rate : {100U, 1000U, 0U, 300U}) {
            co_await this->set(1, function_rate{0, rate});
            const auto one = co_await this->function(1);
            EXPECT_EQ(one.rate, (function_rate{0, rate}));
        }
        co_await this->refuses(1, function_rate{200, 100}, errc::refused, "Invalid argument");
        const auto other = co_await this->function(0);
        EXPECT_EQ(other.rate, function_rate());
    });
}

// What the driver does not have is told apart from what it refuses, and harms nothing else.
TYPED_TEST(functions_guest_igb, settings_that_the_driver_does_not_have) {
    this->bench.run([this]() -> awaitable<void> {
        co_await this->make(2);
        for (const auto state : {function_link::automatic, function_link::enable, function_link::disable}) {
            co_await this->refuses(1, state, errc::invalid);
        }
        for (const bool is_on : {false, true}) {
            co_await this->refuses(1, function_query_rss{is_on}, errc::invalid);
        }
        co_await this->set(1, function_vlan{7, 1});
        const auto one = co_await this->function(1);
        EXPECT_EQ(one.vlan, (function_vlan{7, 1}));
    });
}

TYPED_TEST(functions_guest_igb, that_are_not_there) {
    this->bench.run([this]() -> awaitable<void> {
        co_await this->make(2);
        co_await this->refuses(2, function_trust{true}, errc::refused);
        const auto seen = co_await this->look();
        EXPECT_EQ(seen.find(2), nullptr);
        this->fails(co_await this->bench.port().set_mtu({"eth0", 2}, 1400, this->soon()), errc::not_found, "eth0v2");
    });
}

TYPED_TEST(functions_guest_igb, cards_that_are_not_there) {
    this->bench.run([this]() -> awaitable<void> {
        auto& port = this->bench.port();
        this->fails(co_await port.count("ens9", this->soon()), errc::not_found, "ens9");
        this->fails(co_await port.make("ens9", 2, this->soon()), errc::not_found, "ens9");
        this->fails(co_await port.look("ens9", this->soon()), errc::not_found, "ens9");
        this->fails(co_await port.set({"ens9", 0}, function_vlan{1, 0}, this->soon()), errc::not_found, "ens9");
        this->fails(co_await port.set_mtu({"ens9", 0}, 1400, this->soon()), errc::not_found, "ens9");
        // An ordinary card is one without functions, whose driver has no such settings.
        this->fails(co_await port.count("wire", this->soon()), errc::not_found, "wire");
        this->fails(co_await port.make("wire", 2, this->soon()), errc::not_found, "wire");
        const auto seen = co_await port.look("wire", this->soon());
        EXPECT_TRUE(seen && seen->functions.empty() && seen->name == "wire");
        this->fails(co_await port.set({"wire", 0}, function_vlan{1, 0}, this->soon()), errc::invalid, "wire");
        this->fails(co_await port.set_mtu({"wire", 0}, 1400, this->soon()), errc::not_found, "wire");
    });
}

// One that is pulled out; what comes in its place is another one, without functions.
TYPED_TEST(functions_guest_igb, a_card_that_goes_and_comes) {
    this->bench.run([this]() -> awaitable<void> {
        auto& port = this->bench.port();
        co_await this->make(2);
        const auto before = co_await this->look();
        this->bench.pull_out();
        this->fails(co_await port.look("eth0", this->soon()), errc::not_found, "eth0");
        this->fails(co_await port.count("eth0", this->soon()), errc::not_found, "eth0");
        this->fails(co_await port.set({"eth0", 0}, function_vlan{1, 0}, this->soon()), errc::not_found, "eth0");
        this->bench.plug_in();
        co_await this->has(0);
        const auto after = co_await this->look();
        EXPECT_NE(after.link, before.link);
        EXPECT_TRUE(after.functions.empty());
        co_await this->make(2);
        co_await this->has(2);
    });
}

TYPED_TEST(functions_guest_igb, have_links_with_a_size) {
    this->bench.run([this]() -> awaitable<void> {
        co_await this->make(2);
        for (const int mtu : {1400, 1400, 9000}) {
            co_await this->set_mtu(1, mtu);
            EXPECT_EQ(this->bench.mtu_of(1), mtu);
        }
        EXPECT_EQ(this->bench.mtu_of(0), 1500);
        const auto card = co_await this->look();
        EXPECT_EQ(card.mtu, 1500);
    });
}

// Acceptance case 15: a function that a guest has is one all the same, but has no link here.
TYPED_TEST(functions_guest_igb, that_a_guest_has) {
    this->bench.run([this]() -> awaitable<void> {
        co_await this->make(2);
        const auto before = co_await this->look();
        this->bench.give_away(1);
        const auto given = co_await this->look();
        EXPECT_EQ(given, before);
        this->fails(co_await this->bench.port().set_mtu({"eth0", 1}, 1400, this->soon()), errc::not_found, "eth0v1");
        co_await this->set(1, function_vlan{9, 2});
        const auto one = co_await this->function(1);
        EXPECT_EQ(one.vlan, (function_vlan{9, 2}));
    });
}

}  // namespace
}  // namespace pvc::contract
