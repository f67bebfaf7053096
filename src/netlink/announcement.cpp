#include "pvcnoded/netlink/announcement.hpp"

#include <algorithm>
#include <initializer_list>

namespace pvc::netlink {

namespace {

constexpr hardware_address everybody{0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
constexpr hardware_address all_nodes_group{0x33, 0x33, 0, 0, 0, 1};
constexpr std::uint16_t ethertype_arp = 0x0806;
constexpr std::uint16_t ethertype_ipv6 = 0x86dd;
constexpr std::uint8_t next_header_icmp = 58;
constexpr std::uint8_t neighbour_advertisement = 136;
// Of a router, unsolicited, overrides (RFC 4861 4.4).
constexpr std::uint8_t advertisement_flags = 0xa0;
constexpr std::uint8_t option_target_link_layer = 2;
constexpr std::uint8_t hop_limit = 255;

// ff02::1
constexpr ip::address_v6::bytes_type all_nodes{0xff, 0x02, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};

class frame {
public:
    void bytes(std::initializer_list<std::uint8_t> some) { append(some); }
    void word(std::uint16_t value) {
        bytes({static_cast<std::uint8_t>(value >> 8U), static_cast<std::uint8_t>(value)});
    }
    template <class Bytes>
    void append(const Bytes& some) {
        std::ranges::transform(some, std::back_inserter(text_),
                               [](std::uint8_t one) { return static_cast<char>(one); });
    }
    void ethernet(const hardware_address& to, const hardware_address& from, std::uint16_t type) {
        append(to);
        append(from);
        word(type);
    }
    [[nodiscard]] const std::string& text() const { return text_; }

private:
    std::string text_;
};

// RFC 1071. The length is even.
std::uint16_t internet_checksum(const std::string& text) {
    std::uint32_t sum = 0;
    for (std::size_t at = 0; at + 1 < text.size(); at += 2) {
        sum += static_cast<std::uint32_t>(static_cast<std::uint8_t>(text[at]) << 8U) |
               static_cast<std::uint8_t>(text[at + 1]);
    }
    while ((sum >> 16U) != 0) {
        sum = (sum & 0xffffU) + (sum >> 16U);
    }
    return static_cast<std::uint16_t>(~sum);
}

std::string advertisement(const hardware_address& device, const ip::address_v6::bytes_type& target,
                          std::uint16_t checksum) {
    frame body;
    body.bytes({neighbour_advertisement, 0});
    body.word(checksum);
    body.bytes({advertisement_flags, 0, 0, 0});
    body.append(target);
    body.bytes({option_target_link_layer, 1});
    body.append(device);
    return body.text();
}

}  // namespace

std::string arp_announcement(const hardware_address& device, const ip::address_v4& address, announced_as which) {
    const bool is_request = which == announced_as::request;
    frame made;
    made.ethernet(everybody, device, ethertype_arp);
    made.word(1);       // Ethernet
    made.word(0x0800);  // IPv4
    made.bytes({6, 4});
    made.word(is_request ? 1 : 2);
    made.append(device);
    made.append(address.to_bytes());
    made.append(is_request ? hardware_address() : everybody);
    made.append(address.to_bytes());
    return made.text();
}

std::string neighbour_announcement(const hardware_address& device, const ip::address_v6& address) {
    const auto source = address.to_bytes();
    const auto length = static_cast<std::uint16_t>(advertisement(device, source, 0).size());
    // What the checksum covers beside the message (RFC 8200 8.1).
    frame pseudo;
    pseudo.append(source);
    pseudo.append(all_nodes);
    pseudo.bytes({0, 0});
    pseudo.word(length);
    pseudo.bytes({0, 0, 0, next_header_icmp});
    const auto checksum = internet_checksum(pseudo.text() + advertisement(device, source, 0));

    frame made;
    made.ethernet(all_nodes_group, device, ethertype_ipv6);
    made.bytes({0x60, 0, 0, 0});
    made.word(length);
    made.bytes({next_header_icmp, hop_limit});
    made.append(source);
    made.append(all_nodes);
    return made.text() + advertisement(device, source, checksum);
}

std::string announcement(const hardware_address& device, const ip::address& address, announced_as which) {
    return address.is_v4() ? arp_announcement(device, address.to_v4(), which)
                           : neighbour_announcement(device, address.to_v6());
}

}  // namespace pvc::netlink
