#include "bridge_repairs.hpp"

#include "own_links.hpp"
#include "port_moves.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace pvc::policy {

namespace {

constexpr int least_bridge_mtu = 1280;

model::set_sysctl setting_of(const std::string& bridge, std::string_view family, std::string_view key,
                             std::string value) {
    return {fmt::format("net/{}/conf/{}/{}", family, bridge, key), std::move(value)};
}

// By the routes of the address that the kernel gave to the bridge, guests that have no other one yet are answered, and
// hear who their router is; somebody flushed them. The route to all such addresses is nobody's. But an address that
// somebody gave to the bridge is not taken away for a moment.
void add_lost_routes(std::vector<bridge_repair>& all, const model::network_link& bridge,
                     const model::network_state& seen) {
    bool has_one = false;  // of the route that all of them share
    for (const auto& one : seen.addresses_of(bridge.index)) {
        const bool is_kernels = is_of_hardware(one.address.address) && one.is_permanent && !one.peer;
        if (!is_link_local(one.address.address) || !one.settings.has_route() || (!one.is_taken && !is_kernels)) {
            continue;
        }
        const auto route = lost_connected_route(seen, bridge, one.address);
        if (!route || (!route->is_local && std::exchange(has_one, true))) {
            continue;
        }
        all.push_back({fmt::format("the {} over {} was gone", to_text(*route), bridge.name),
                       steps_for_lost(*route, bridge.name, one)});
    }
}

}  // namespace

std::vector<bridge_repair> bridge_repairs(const model::client_network& wanted, const model::network_link& bridge,
                                          const model::network_state& seen, const network_memory& known,
                                          network_memory& next) {
    std::vector<bridge_repair> all;
    const auto& name = bridge.name;
    const bool is_managed = wanted.type == model::network_type::managed;
    if (next.had_ipv6 && known.is_ipv6_off) {
        all.push_back(
            {known.had_ipv6 ? "IPv6 was off on " + name : "", {setting_of(name, "ipv6", "disable_ipv6", "0")}});
    }
    if (is_managed && known.is_forwarding_off) {
        all.push_back({"IPv4 forwarding was off on " + name, {setting_of(name, "ipv4", "forwarding", "1")}});
    }
    if (next.had_ipv6 && known.is_forwarding_v6_off) {
        all.push_back({"IPv6 forwarding was off on " + name, {setting_of(name, "ipv6", "forwarding", "1")}});
    }
    // Of a bridged network IPv6 stays as somebody switched it on: addresses that he gave it would go.
    for (const auto& one : is_managed&& known.was_right ? known.changed_settings : std::vector<changed_setting>()) {
        if (!one.wanted.key.ends_with("/disable_ipv6")) {
            all.push_back({fmt::format("{} was {}", one.wanted.key, one.has), {one.wanted}});
        }
    }
    const auto addresses = seen.addresses_of(bridge.index);
    const bool has_own =
        std::ranges::any_of(addresses, [](const auto& one) { return is_link_local(one.address.address); });
    const bool can_have =
        next.had_ipv6 && !known.is_ipv6_off && bridge.is_up && bridge.is_running && bridge.mtu >= least_bridge_mtu;
    next.had_own_v6 = has_own || (known.had_own_v6 && next.had_ipv6);
    next.has_asked_own_v6 = !has_own && known.has_asked_own_v6;
    if (can_have && !has_own && known.had_own_v6 && !known.has_asked_own_v6) {
        // The kernel makes it when that changes.
        next.has_asked_own_v6 = true;
        all.push_back(
            {"the link-local address of " + name + " was gone",
             {setting_of(name, "ipv6", "addr_gen_mode", "1"), setting_of(name, "ipv6", "addr_gen_mode", "0")}});
    }
    if (can_have) {
        add_lost_routes(all, bridge, seen);
    }
    return all;
}

}  // namespace pvc::policy
