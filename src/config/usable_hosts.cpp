#include "pvcnoded/config/usable_hosts.hpp"

namespace pvc::config {

namespace {
bool has_no_broadcast(const ip::network_v4& network) {
    return network.prefix_length() >= 31;
}
}  // namespace

ip::address_v4 first_host(const ip::network_v4& network) {
    const auto first = network.network().to_uint();
    return ip::address_v4(has_no_broadcast(network) ? first : first + 1);
}

ip::address_v4 last_host(const ip::network_v4& network) {
    const auto last = network.broadcast().to_uint();
    return ip::address_v4(has_no_broadcast(network) ? last : last - 1);
}

std::uint64_t host_count(const ip::network_v4& network) {
    return std::uint64_t{last_host(network).to_uint()} - first_host(network).to_uint() + 1;
}

bool is_usable_host(const ip::network_v4& network, const ip::address& candidate) {
    return candidate.is_v4() && first_host(network) <= candidate.to_v4() && candidate.to_v4() <= last_host(network);
}

std::optional<ip::address_v4> host(const ip::network_v4& network, std::uint64_t id) {
    if (id < 1 || id > host_count(network)) {
        return std::nullopt;
    }
    return ip::address_v4(first_host(network).to_uint() + static_cast<std::uint32_t>(id - 1));
}

}  // namespace pvc::config
