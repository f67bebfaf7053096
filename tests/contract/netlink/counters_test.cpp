// What the kernel counts of network cards (networking.md 13): the adapter in a network namespace with a folder in place
// of /sys, as a namespace has no card of its own, and both adapters on what they promise alike.
#include "contract/netlink/real_network.hpp"
#include "pvcnoded/netlink/adapter/kernel_counters.hpp"
#include "sim/network/sim_link_counters.hpp"

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

namespace pvc::contract {
namespace {

using names = std::vector<std::string>;

class kernel_counters_test : public network_suite<real_network> {
protected:
    // As the kernel shows a link in /sys.
    void show(const std::string& device, bool is_card, const std::string& speed = {}) const {
        const std::string folder = "class/net/" + device;
        std::filesystem::create_directories(sys / folder);
        if (is_card) {
            std::filesystem::create_directories(sys / (folder + "/device"));
        }
        if (!speed.empty()) {
            sys.write(folder + "/speed", speed);
        }
    }
    awaitable<std::vector<model::hardware_link>> hardware() {
        auto found = co_await counters.hardware(soon());
        EXPECT_TRUE(found) << (found ? "" : found.error().text());
        co_return found ? *std::move(found) : std::vector<model::hardware_link>();
    }
    awaitable<std::vector<model::link_counters>> count(names of) {
        auto found = co_await counters.count(of, soon());
        EXPECT_TRUE(found) << (found ? "" : found.error().text());
        co_return found ? *std::move(found) : std::vector<model::link_counters>();
    }

    // Datagrams of 1000 bytes, over the loopback device.
    static void send_to_myself(int times) {
        const int socket = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        sockaddr_in self{};
        self.sin_family = AF_INET;
        self.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof self;
        EXPECT_EQ(::bind(socket, reinterpret_cast<const sockaddr*>(&self), size), 0);
        EXPECT_EQ(::getsockname(socket, reinterpret_cast<sockaddr*>(&self), &size), 0);
        const std::string bytes(1000, 'x');
        for (int i = 0; i < times; ++i) {
            EXPECT_EQ(::sendto(socket, bytes.data(), bytes.size(), 0, reinterpret_cast<const sockaddr*>(&self), size),
                      1000);
        }
        ::close(socket);
    }

    scratch_folder sys;
    async::thread_offload pool{bench.loop().context()};
    netlink::kernel_counters counters{bench.clock(), pool, sys.path()};
};

TEST_F(kernel_counters_test, links_with_a_device_behind_them) {
    bench.run([this]() -> awaitable<void> {
        show("ens5", true, "10000\n");
        show("ens4", true, "-1\n");
        show("vmbr7", false, "10000\n");
        show("ens6", true);
        std::filesystem::create_directories(sys / "class/net/ens7/device");
        std::filesystem::create_directories(sys / "class/net/ens7/speed");  // reading it fails, as of one that is down
        sys.write("class/net/bonding_masters", "");
        for (int times = 0; times < 3; ++times) {
            const auto found = co_await hardware();
            EXPECT_EQ(found,
                      (std::vector<model::hardware_link>{{"ens4", -1}, {"ens5", 10'000}, {"ens6", {}}, {"ens7", {}}}));
        }
        std::filesystem::remove_all(sys / "class");
        const auto none = co_await counters.hardware(soon());
        EXPECT_FALSE(none);
    });
}

TEST_F(kernel_counters_test, what_passed_is_counted) {
    bench.run([this]() -> awaitable<void> {
        co_await plug_in_up("eth0");
        co_await done(model::add_address{"eth0", at("10.0.0.1/24")});
        const auto before = co_await count({"eth0", "ens99", "lo", "not a name at all", ""});
        ASSERT_CO_TRUE(before.size() == 2);
        EXPECT_EQ(before[0].name, "eth0");
        EXPECT_EQ(before[0].state, "up");
        EXPECT_EQ(before[1].name, "lo");
        EXPECT_EQ(before[1].state, "unknown");
        send_to_myself(4);
        const auto after = co_await count({"eth0", "lo"});
        ASSERT_CO_TRUE(after.size() == 2);
        EXPECT_EQ(after[1].rx_packets - before[1].rx_packets, 4U);
        EXPECT_EQ(after[1].tx_packets - before[1].tx_packets, 4U);
        EXPECT_EQ(after[1].rx_bytes - before[1].rx_bytes, 4U * 1028);
        EXPECT_EQ(after[1].tx_bytes - before[1].tx_bytes, 4U * 1028);
        EXPECT_EQ(after[0].index, before[0].index);
        co_await done(model::set_down{"eth0"});
        const auto down = co_await count({"eth0"});
        ASSERT_CO_TRUE(down.size() == 1);
        EXPECT_EQ(down[0].state, "down");
        const auto nothing = co_await count({});
        EXPECT_TRUE(nothing.empty());
    });
}

TEST_F(kernel_counters_test, a_look_that_hangs_takes_one_thread_and_no_more) {
    bench.run([this]() -> awaitable<void> {
        show("ens4", true);
        // Opening a pipe that nobody writes into suspends the thread, as a driver would.
        const bool is_made = ::mkfifo((sys / "class/net/ens4/speed").c_str(), 0600) == 0;
        ASSERT_CO_TRUE(is_made);
        const auto late = co_await counters.hardware(bench.clock().now() + 50ms);
        EXPECT_TRUE(!late && late.error().code() == errc::timed_out);
        for (int times = 0; times < 20; ++times) {
            const auto refused = co_await counters.hardware(bench.clock().now() + 50ms);
            EXPECT_TRUE(!refused && refused.error().code() == errc::unavailable);
        }
        std::ofstream(sys / "class/net/ens4/speed") << "1000\n";  // it goes on
        std::filesystem::remove(sys / "class/net/ens4/speed");
        result<std::vector<model::hardware_link>> found = failure(errc::unavailable, "the thread", "not asked yet");
        for (int times = 0; times < 100 && !found; ++times) {
            co_await async::sleep_for(bench.clock(), 100ms, "the thread");
            found = co_await counters.hardware(bench.clock().now() + 5s);
        }
        ASSERT_CO_TRUE(found);
        EXPECT_EQ(*found, (std::vector<model::hardware_link>{{"ens4", {}}}));
    });
}

TEST(simulated_counters, as_the_kernel) {
    sim_world world;
    sim::sim_kernel machine{{{.name = "ens4", .bridge = "br4"}, {.name = "ens5"}}};
    sim::sim_link_counters counters(machine, world.clock());
    counters.speeds["ens4"] = 1000;
    counters.set_flow("ens4", {100, 10, 2, 1});
    world.run([&]() -> awaitable<void> {
        const auto soon = world.clock().now() + 20s;
        const auto cards = co_await counters.hardware(soon);
        ASSERT_CO_TRUE(cards);
        EXPECT_EQ(*cards, (std::vector<model::hardware_link>{{"ens4", 1000}, {"ens5", {}}}));
        co_await async::sleep_for(world.clock(), 3s, "traffic");
        const auto read = co_await counters.count({"ens5", "ens9", "ens4"}, soon);
        ASSERT_CO_TRUE(read && read->size() == 2);
        EXPECT_EQ((*read)[0].name, "ens5");
        EXPECT_EQ((*read)[0].state, "down");
        EXPECT_EQ((*read)[1].state, "up");
        EXPECT_EQ((*read)[1].rx_bytes, 300U);
        EXPECT_EQ((*read)[1].tx_packets, 3U);
        counters.reset("ens4");
        const auto anew = co_await counters.count({"ens4"}, soon);
        ASSERT_CO_TRUE(anew && anew->size() == 1);
        EXPECT_EQ((*anew)[0].rx_bytes, 0U);
    });
}

}  // namespace
}  // namespace pvc::contract
