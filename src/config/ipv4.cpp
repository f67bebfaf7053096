#include "pvcnoded/config/ipv4.hpp"

#include "pvcnoded/base/text.hpp"

#include <fmt/format.h>

namespace pvc::config {

namespace {
// Digits only, without a leading zero (octal in some parsers), 0 to limit.
std::optional<std::uint32_t> small_number(std::string_view text, std::uint32_t limit) {
    if (text.empty() || text.size() > 3 || (text.size() > 1 && text[0] == '0')) {
        return std::nullopt;
    }
    std::uint32_t value = 0;
    for (const char c : text) {
        if (c < '0' || c > '9') {
            return std::nullopt;
        }
        value = value * 10 + static_cast<std::uint32_t>(c - '0');
    }
    return value <= limit ? std::optional(value) : std::nullopt;
}
}  // namespace

std::uint32_t prefix_mask(int prefix) {
    return prefix <= 0 ? 0 : ~std::uint32_t{0} << (32 - prefix);
}

std::string ipv4_address::text() const {
    return fmt::format("{}.{}.{}.{}", value >> 24, value >> 16 & 255, value >> 8 & 255, value & 255);
}

std::string ipv4_interface::text() const {
    return fmt::format("{}/{}", address.text(), prefix);
}

std::string ipv4_network::text() const {
    return fmt::format("{}/{}", address.text(), prefix);
}

ipv4_address ipv4_network::first_host() const {
    return {prefix >= 31 ? address.value : address.value + 1};
}

ipv4_address ipv4_network::last_host() const {
    const std::uint32_t last = address.value | ~prefix_mask(prefix);
    return {prefix >= 31 ? last : last - 1};
}

std::uint64_t ipv4_network::host_count() const {
    return std::uint64_t{last_host().value} - first_host().value + 1;
}

bool ipv4_network::is_usable_host(ipv4_address candidate) const {
    return first_host() <= candidate && candidate <= last_host();
}

std::optional<ipv4_address> ipv4_network::host(std::uint64_t id) const {
    if (id < 1 || id > host_count()) {
        return std::nullopt;
    }
    return ipv4_address{first_host().value + static_cast<std::uint32_t>(id - 1)};
}

std::optional<ipv4_address> parse_ipv4(std::string_view text) {
    const auto parts = split(text, '.');
    if (parts.size() != 4) {
        return std::nullopt;
    }
    ipv4_address address;
    for (const auto part : parts) {
        const auto number = small_number(part, 255);
        if (!number) {
            return std::nullopt;
        }
        address.value = address.value << 8 | *number;
    }
    return address;
}

std::optional<ipv4_interface> parse_cidr(std::string_view text) {
    const auto slash = text.find('/');
    if (slash == std::string_view::npos) {
        return std::nullopt;
    }
    const auto address = parse_ipv4(text.substr(0, slash));
    const auto prefix = small_number(text.substr(slash + 1), 32);
    if (!address || !prefix) {
        return std::nullopt;
    }
    return ipv4_interface{*address, static_cast<int>(*prefix)};
}

}  // namespace pvc::config
