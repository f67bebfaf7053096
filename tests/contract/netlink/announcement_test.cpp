// Announcements as they come out at the far end of a cable, byte for byte (networking.md 2.1; case 32; ruling 83).
#include "contract/netlink/real_network.hpp"

#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>

namespace pvc::contract {
namespace {

using namespace model;

// Hears all frames that come in on a device, and keeps those of a kind.
class listener {
public:
    explicit listener(const std::string& device) : socket_(::socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK, 0)) {
        sockaddr_ll where{};
        where.sll_family = AF_PACKET;
        where.sll_protocol = htons(ETH_P_ALL);
        where.sll_ifindex = static_cast<int>(::if_nametoindex(device.c_str()));
        EXPECT_EQ(::bind(socket_, reinterpret_cast<const sockaddr*>(&where), sizeof where), 0);
    }
    listener(const listener&) = delete;
    listener& operator=(const listener&) = delete;
    ~listener() { ::close(socket_); }

    // In hexadecimal digits, those that the sender did not only hear itself.
    [[nodiscard]] std::vector<std::string> frames(std::string_view beginning_after_source) {
        std::array<char, 2048> frame{};
        for (;;) {
            const ssize_t size = ::recv(socket_, frame.data(), frame.size(), 0);
            if (size < 0) {
                break;
            }
            std::string text;
            for (ssize_t at = 0; at < size; ++at) {
                std::array<char, 3> digits{};
                std::snprintf(digits.data(), digits.size(), "%02x",
                              static_cast<unsigned char>(frame.at(static_cast<std::size_t>(at))));
                text += digits.data();
            }
            if (text.substr(24).starts_with(beginning_after_source)) {
                found_.push_back(text);
            }
        }
        return found_;
    }

private:
    int socket_;
    std::vector<std::string> found_;
};

constexpr std::string_view arp = "0806";
// Of the addresses of the tests: a card has one of its own besides, and asks for it.
constexpr std::string_view advertisement = "86dd6000000000203afffd00";

class announcements : public network_suite<real_network> {
protected:
    // A card of a known hardware address, up at both ends.
    awaitable<void> plug_in_known() {
        bench.plug_in("eth0");
        ip_command("link set eth0 address 02:00:00:00:00:01");
        co_await done(set_up{"eth0"});
        const bool runs = co_await becomes_running("eth0", true);
        EXPECT_TRUE(runs);
    }
    awaitable<void> add(std::string which, std::string device = "eth0") {
        const auto added = co_await bench.addresses().add(device, at(which), bench.clock().boot_now() + 10s, soon());
        EXPECT_TRUE(added) << which;
    }
    // Until there are so many, or for a while if there are to be no more.
    awaitable<std::vector<std::string>> heard(listener& ear, std::string_view kind, std::size_t count) {
        const auto limit = bench.clock().now() + 10s;
        while (ear.frames(kind).size() < count && bench.clock().now() < limit) {
            co_await async::sleep_for(bench.clock(), 5ms, "the frames");
        }
        co_await async::sleep_for(bench.clock(), 100ms, "more frames");
        co_return ear.frames(kind);
    }
};

// README ruling 83: a request for itself, which a neighbour believes whatever it heard just before, and a reply.
TEST_F(announcements, C32_an_arp_request_and_a_reply_five_times) {
    bench.run([this]() -> awaitable<void> {
        co_await plug_in_known();
        listener ear(real_network::far_end("eth0"));
        const auto begun = bench.clock().now();
        co_await add("10.1.1.1/24");
        const auto frames = co_await heard(ear, arp, 10);
        EXPECT_GE(bench.clock().now() - begun, 5s);
        const std::string beginning =
            "ffffffffffff"
            "020000000001"
            "0806"
            "0001"
            "0800"
            "06"
            "04";
        const std::string request = beginning +
                                    "0001"
                                    "020000000001"
                                    "0a010101"
                                    "000000000000"
                                    "0a010101";
        const std::string reply = beginning +
                                  "0002"
                                  "020000000001"
                                  "0a010101"
                                  "ffffffffffff"
                                  "0a010101";
        std::vector<std::string> expected;
        for (int times = 0; times < 5; ++times) {
            expected.push_back(request);
            expected.push_back(reply);
        }
        EXPECT_EQ(frames, expected);
    });
}

// A busy machine may take longer than the pause for one addition, and not for every one.
TEST_F(announcements, C32_only_the_first_is_waited_for) {
    bench.run([this]() -> awaitable<void> {
        co_await plug_in_known();
        bool was_quick = false;
        for (int last = 1; last <= 50 && !was_quick; ++last) {
            listener ear(real_network::far_end("eth0"));
            const auto begun = bench.clock().now();
            co_await add("10.1.1." + std::to_string(last) + "/24");
            was_quick = bench.clock().now() - begun < 200ms && ear.frames(arp).size() == 2;
        }
        EXPECT_TRUE(was_quick);
    });
}

TEST_F(announcements, C32_neighbour_advertisements) {
    bench.run([this]() -> awaitable<void> {
        co_await plug_in_known();
        listener ear(real_network::far_end("eth0"));
        co_await add("fd00::1/64");
        const auto frames = co_await heard(ear, advertisement, 2);
        const std::string target = "fd000000000000000000000000000001";
        const std::string expected =
            "333300000001"
            "020000000001"
            "86dd"
            "60000000"
            "0020"
            "3a"
            "ff" +
            target +
            "ff020000000000000000000000000001"
            "88"
            "00"
            "da9a"
            "a0000000" +
            target +
            "02"
            "01"
            "020000000001";
        EXPECT_EQ(frames, (std::vector<std::string>{expected, expected}));
    });
}

TEST_F(announcements, once_more_for_what_is_there) {
    bench.run([this]() -> awaitable<void> {
        co_await plug_in_known();
        co_await done(add_address{"eth0", at("10.1.1.1/24")});
        listener ear(real_network::far_end("eth0"));
        co_await add("10.1.1.1/24");
        const auto frames = co_await heard(ear, arp, 4);
        EXPECT_EQ(frames.size(), 4U);
    });
}

TEST_F(announcements, what_is_gone_is_not_repeated_whoever_removed_it) {
    bench.run([this]() -> awaitable<void> {
        co_await plug_in_known();
        listener ear(real_network::far_end("eth0"));
        co_await add("10.1.1.1/24");
        co_await add("10.1.3.3/24");
        co_await add("10.1.2.2/24");
        const auto removed = co_await bench.addresses().remove("eth0", at("10.1.1.1/24"), soon());
        EXPECT_TRUE(removed);
        ip_command("address del 10.1.3.3/24 dev eth0");
        const auto frames = co_await heard(ear, arp, 8);
        EXPECT_EQ(frames.size(), 8U);
        for (std::size_t at = 6; at < frames.size(); ++at) {
            EXPECT_EQ(frames[at].substr(56, 8), "0a010202");
        }
    });
}

TEST_F(announcements, nothing_more_is_sent_when_none_is_to_stay) {
    bench.run([this]() -> awaitable<void> {
        co_await plug_in_known();
        listener ear(real_network::far_end("eth0"));
        bool is_to_stay = true;
        bench.addresses().announce_if([&] { return is_to_stay; });
        co_await add("10.1.1.1/24");
        is_to_stay = false;
        co_await async::sleep_for(bench.clock(), 1200ms, "more frames");
        EXPECT_EQ(ear.frames(arp).size(), 2U);
        bench.addresses().announce_if({});
        const auto frames = co_await heard(ear, arp, 4);
        EXPECT_EQ(frames.size(), 4U) << "that of 2 s";
    });
}

// With the hardware address that the device has then.
TEST_F(announcements, what_is_repeated_is_as_it_is_by_then) {
    bench.run([this]() -> awaitable<void> {
        co_await plug_in_known();
        co_await done(make_bridge{"br0", {0x06, 0, 0, 0, 0, 1}});
        co_await done(set_master{"eth0", "br0"});
        co_await done(set_up{"br0"});
        listener ear(real_network::far_end("eth0"));
        co_await add("10.1.1.1/24", "br0");
        co_await done(set_hardware{"br0", {0x06, 0, 0, 0, 0, 2}});
        const auto frames = co_await heard(ear, arp, 4);
        EXPECT_EQ(frames.size(), 4U);
        EXPECT_EQ(frames.front().substr(12, 12), "060000000001");
        EXPECT_EQ(frames.back().substr(12, 12), "060000000002");
        EXPECT_EQ(frames.back().substr(44, 12), "060000000002");
    });
}

TEST_F(announcements, once_more_by_word_and_only_of_what_was_added) {
    bench.run([this]() -> awaitable<void> {
        co_await plug_in_known();
        co_await done(add_address{"eth0", at("10.1.1.2/24")});
        listener ear(real_network::far_end("eth0"));
        bench.addresses().announce("eth0", address("10.1.1.2"));
        EXPECT_TRUE(ear.frames(arp).empty());
        co_await add("10.1.1.1/24");
        co_await heard(ear, arp, 10);
        bench.addresses().announce("eth0", address("10.1.1.1"));
        const auto again = co_await heard(ear, arp, 20);
        EXPECT_EQ(again.size(), 20U);
        const auto removed = co_await bench.addresses().remove("eth0", at("10.1.1.1/24"), soon());
        EXPECT_TRUE(removed);
        bench.addresses().announce("eth0", address("10.1.1.1"));
        const auto later = co_await heard(ear, arp, 0);
        EXPECT_EQ(later.size(), 20U);
    });
}

TEST_F(announcements, none_of_what_failed_and_none_by_a_change) {
    bench.run([this]() -> awaitable<void> {
        co_await plug_in_known();
        listener ear(real_network::far_end("eth0"));
        const auto late =
            co_await bench.addresses().add("eth0", at("10.1.1.1/24"), bench.clock().boot_now() - 1ns, soon());
        EXPECT_FALSE(late);
        co_await done(add_address{"eth0", at("10.1.1.2/24")});
        const auto frames = co_await heard(ear, arp, 0);
        EXPECT_TRUE(frames.empty());
    });
}

TEST_F(announcements, none_on_a_loopback_device) {
    bench.run([this]() -> awaitable<void> {
        listener ear("lo");
        co_await add("169.254.169.254/32", "lo");
        const auto frames = co_await heard(ear, "", 0);
        EXPECT_TRUE(frames.empty());
    });
}

// The device is down or gone: the address counts, not the frame.
TEST_F(announcements, that_cannot_be_sent_are_no_failure) {
    bench.run([this]() -> awaitable<void> {
        bench.plug_in("eth0");
        co_await add("10.1.1.1/24");
        co_await done(set_up{"eth0"});
        co_await add("10.1.1.2/24");
        bench.pull_out("eth0");
        co_await async::sleep_for(bench.clock(), 50ms, "the second frame");
        bench.plug_in("eth1");
        co_await add("10.1.1.1/24", "eth1");
        bench.drop_addresses();  // with a frame to be repeated
        co_await async::sleep_for(bench.clock(), 50ms, "the second frame");
    });
}

}  // namespace
}  // namespace pvc::contract
