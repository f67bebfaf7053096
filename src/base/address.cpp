#include "pvcnoded/base/address.hpp"

#include "pvcnoded/base/text.hpp"

#include <arpa/inet.h>

#include <optional>

namespace pvc {

namespace {

constexpr std::size_t longest_address = 45;  // six groups of four digits, and an IPv4 address
constexpr int bits_v4 = 32;
constexpr int bits_v6 = 128;

failure bad_address(std::string_view text, std::string_view why) {
    return failure(errc::invalid, shown(text), std::string(why));
}

// The bytes of an address in the order of the network.
template <class Bytes>
std::optional<Bytes> bytes_of(std::string_view text, int family) {
    if (text.size() > longest_address || text.find('\0') != std::string_view::npos) {
        return std::nullopt;  // inet_pton would not see what follows
    }
    Bytes bytes{};
    const std::string terminated(text);
    return ::inet_pton(family, terminated.c_str(), bytes.data()) == 1 ? std::optional(bytes) : std::nullopt;
}

// Digits only, without a leading zero, 0 to `most`.
std::optional<int> prefix_length(std::string_view text, int most) {
    const bool are_digits = text.find_first_not_of("0123456789") == std::string_view::npos;
    if (text.empty() || text.size() > 3 || !are_digits || (text.size() > 1 && text.front() == '0')) {
        return std::nullopt;
    }
    const auto number = parse_integer(text);
    return number && *number <= most ? std::optional(static_cast<int>(*number)) : std::nullopt;
}

}  // namespace

result<ip::address_v4> parse_address_v4(std::string_view text) {
    const auto bytes = bytes_of<ip::address_v4::bytes_type>(text, AF_INET);
    if (!bytes) {
        return bad_address(text, "no IPv4 address");
    }
    return ip::address_v4(*bytes);
}

result<ip::address_v6> parse_address_v6(std::string_view text) {
    const auto bytes = bytes_of<ip::address_v6::bytes_type>(text, AF_INET6);
    if (!bytes) {
        return bad_address(text, "no IPv6 address");
    }
    return ip::address_v6(*bytes);
}

result<ip::address> parse_address(std::string_view text) {
    if (text.find(':') != std::string_view::npos) {
        PVC_TRY(const auto address, parse_address_v6(text));
        return ip::address(address);
    }
    PVC_TRY(const auto address, parse_address_v4(text));
    return ip::address(address);
}

std::string host_address::text() const {
    return address.to_string() + '/' + std::to_string(prefix);
}

result<host_address> parse_host_address(std::string_view text) {
    const auto slash = text.find('/');
    if (slash == std::string_view::npos) {
        return bad_address(text, "no prefix length behind the address");
    }
    PVC_TRY(const auto address, parse_address(text.substr(0, slash)));
    const int most = address.is_v4() ? bits_v4 : bits_v6;
    const auto prefix = prefix_length(text.substr(slash + 1), most);
    if (!prefix) {
        return bad_address(text, "behind the / no prefix length from 0 to " + std::to_string(most));
    }
    return host_address{address, *prefix};
}

result<ip::network_v4> parse_network_v4(std::string_view text) {
    PVC_TRY(const auto written, parse_host_address(text));
    if (!written.address.is_v4()) {
        return bad_address(text, "no IPv4 network");
    }
    return ip::network_v4(written.address.to_v4(), static_cast<unsigned short>(written.prefix));
}

result<ip::network_v6> parse_network_v6(std::string_view text) {
    PVC_TRY(const auto written, parse_host_address(text));
    if (!written.address.is_v6()) {
        return bad_address(text, "no IPv6 network");
    }
    return ip::network_v6(written.address.to_v6(), static_cast<unsigned short>(written.prefix));
}

}  // namespace pvc
