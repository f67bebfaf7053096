// What only a real card does, and iproute2's word for what the port did to it: in the guest of tests/guest/run --igb
// only (networking.md 4).
#include "contract/netlink/functions_bench.hpp"
#include "contract/netlink/real_network.hpp"

#include <filesystem>
#include <fstream>

namespace pvc::contract {
namespace {

using namespace model;

class card_guest_igb : public functions_suite<real_card> {};

TEST_F(card_guest_igb, as_iproute2_shows_it) {
    bench.run([this]() -> awaitable<void> {
        co_await make(3);
        bench.set_mac(1, "02:00:00:00:00:11");
        co_await bench.begin_carrier();
        co_await set(1, function_vlan{42, 5});
        co_await set(1, function_rate{0, 100});
        co_await set(1, function_spoof_check{false});
        co_await set(1, function_trust{true});
        const auto text = real_card::shown(1);
        EXPECT_NE(text.find("link/ether 02:00:00:00:00:11 brd ff:ff:ff:ff:ff:ff, vlan 42, qos 5, tx rate 100 (Mbps), "
                            "max_tx_rate 100Mbps, spoof checking off, link-state auto, trust on"),
                  std::string::npos)
            << text;
        const auto rest =
            "link/ether 00:00:00:00:00:00 brd ff:ff:ff:ff:ff:ff, spoof checking on, link-state auto, trust off";
        for (const int other : {0, 2}) {
            EXPECT_NE(real_card::shown(other).find(rest), std::string::npos) << real_card::shown(other);
        }
        const auto one = co_await function(1);
        EXPECT_EQ(one.mac, "02:00:00:00:00:11");
        EXPECT_EQ(one.pci, "0000:01:10.2");
        EXPECT_EQ(parse_pci_address(one.pci), (pci_address{"0000", "01", "10", "2"}));
    });
}

// While the card has no carrier its driver takes no rate, not even what it has; it never guarantees one.
TEST_F(card_guest_igb, rates_that_it_refuses) {
    bench.run([this]() -> awaitable<void> {
        co_await make(2);
        co_await refuses(1, function_rate{0, 100}, errc::refused, "Invalid argument");
        co_await bench.begin_carrier();
        co_await set(1, function_rate{0, 100});
        co_await refuses(1, function_rate{10, 100}, errc::refused, "Invalid argument");
        co_await refuses(1, function_rate{0, 1001}, errc::refused, "Invalid argument");
        ip_command("link set eth0 down");
        co_await refuses(1, function_rate{0, 100}, errc::refused, "Invalid argument");
        co_await refuses(1, function_rate{0, 0}, errc::refused, "Invalid argument");
    });
}

// The links of functions are found by where they are on the bus, whatever their names are.
TEST_F(card_guest_igb, a_link_of_another_name) {
    bench.run([this]() -> awaitable<void> {
        co_await make(2);
        const auto old = real_card::device_of(1);
        ip_command("link set " + old + " name other");
        ip_command("link set " + real_card::device_of(0) + " name eth0v1");
        EXPECT_EQ(real_card::device_of(1), "other");
        co_await set_mtu(1, 1400);
        EXPECT_EQ(bench.mtu_of(1), 1400);
        EXPECT_EQ(bench.mtu_of(0), 1500);
        fails(co_await bench.port().set_mtu({"eth0", 1}, 65'000, soon()), errc::refused);
        EXPECT_EQ(bench.mtu_of(1), 1400);
    });
}

TEST_F(card_guest_igb, unsafe_interrupts_are_allowed) {
    bench.run([this]() -> awaitable<void> {
        const std::string file = "/sys/module/vfio_iommu_type1/parameters/allow_unsafe_interrupts";
        for (int round = 0; round < 3; ++round) {
            const auto allowed = co_await bench.port().allow_unsafe_interrupts(soon());
            EXPECT_TRUE(allowed) << (allowed ? "" : allowed.error().text());
            std::string text;
            std::getline(std::ifstream(file) >> std::ws, text);
            EXPECT_EQ(text, "Y");
            std::ofstream(file) << "N";
        }
    });
}

// The driver takes a while to make functions: a call that cannot wait for it says so, and the next ones do not queue up
// behind it.
TEST_F(card_guest_igb, takes_its_time) {
    bench.run([this]() -> awaitable<void> {
        fails(co_await bench.port().make("eth0", 7, bench.clock().now() + 5ms), errc::timed_out);
        fails(co_await bench.port().count("eth0", soon()), errc::unavailable);
        result<int> found = failure(errc::unavailable);
        for (int times = 0; times < 500 && !found; ++times) {
            co_await async::sleep_for(bench.clock(), 10ms, "the driver");
            found = co_await bench.port().count("eth0", soon());
        }
        EXPECT_TRUE(found && *found == 7);
        const auto seen = co_await look();
        EXPECT_EQ(seen.functions.size(), 7U);
    });
}

}  // namespace
}  // namespace pvc::contract
