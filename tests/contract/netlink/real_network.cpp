#include "contract/netlink/real_network.hpp"

#include <fmt/format.h>

#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstring>

namespace pvc::contract {

own_namespace::own_namespace() {
    if (::unshare(CLONE_NEWNET) != 0) {
        throw std::runtime_error("no network namespace: " + std::string(std::strerror(errno)));
    }
    ip_command("link set lo up");
}

real_network::~real_network() {
    let_links_change(false);
    for (const int one : taps_) {
        ::close(one);
    }
}

void real_network::plug_in(const std::string& device) {
    ip_command("link add " + device + " type veth peer name " + far_end(device));
    ip_command("link set " + far_end(device) + " up");
}

void real_network::pull_out(const std::string& device) {
    ip_command("link delete " + device);
}

void real_network::plug_tap(const std::string& device) {
    const int tap = ::open("/dev/net/tun", O_RDWR | O_CLOEXEC);
    ASSERT_GE(tap, 0) << std::strerror(errno);
    taps_.push_back(tap);
    ifreq wanted{};
    wanted.ifr_flags = IFF_TAP | IFF_NO_PI;
    std::memcpy(wanted.ifr_name, device.data(), std::min<std::size_t>(device.size(), IFNAMSIZ - 1));
    ASSERT_EQ(::ioctl(tap, TUNSETIFF, &wanted), 0) << std::strerror(errno);
}

void real_network::set_stp(const std::string& bridge, bool is_on) {
    ip_command("link set " + bridge + " type bridge stp_state " + (is_on ? "1" : "0"));
}

void real_network::call_also(const std::string& device, const std::string& name) {
    ip_command("link property add dev " + device + " altname " + name);
}

void real_network::filter_traffic(const std::string& device) {
    EXPECT_EQ(std::system(("tc qdisc add dev " + device + " clsact").c_str()), 0) << device;
}

void real_network::flush_routes() {
    ip_command("route flush table main");
    ip_command("-6 route flush table main");
}

void real_network::flush_ipv6(bool main, bool local) {
    for (const auto* table : {main ? "main" : "", local ? "local" : ""}) {
        if (*table != '\0') {
            ip_command(fmt::format("-6 route flush table {}", table));
        }
    }
}

void real_network::append_route(const std::string& device, const model::network_route& route) {
    ip_command(fmt::format("route append {}{} dev {} metric {} proto {}{}", route.to.text(),
                           route.gateway ? " via " + route.gateway->to_string() : "", device, route.metric,
                           route.protocol, route.source ? " src " + route.source->to_string() : ""));
}

void real_network::let_links_change(bool is_wanted) {
    do_links_change_ = is_wanted;
    if (is_wanted && !other_hand_.joinable()) {
        other_hand_ = std::thread([this] {
            while (do_links_change_) {
                ip_command("link add a-other type bridge");
                ip_command("link delete a-other");
            }
        });
    } else if (!is_wanted && other_hand_.joinable()) {
        other_hand_.join();
    }
}

void ip_command(const std::string& words) {
    EXPECT_EQ(std::system(("ip " + words).c_str()), 0) << words;
}

std::string ip_output(const std::string& words) {
    return output_of("ip " + words);
}

std::string output_of(const std::string& command) {
    std::string text;
    FILE* const pipe = ::popen(command.c_str(), "re");
    std::array<char, 4096> part{};
    while (pipe != nullptr && std::fgets(part.data(), part.size(), pipe) != nullptr) {
        text += part.data();
    }
    EXPECT_EQ(::pclose(pipe), 0) << command;
    return text;
}

}  // namespace pvc::contract
