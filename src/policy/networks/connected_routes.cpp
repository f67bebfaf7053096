#include "pvcnoded/policy/networks/connected_routes.hpp"

#include "own_links.hpp"

#include <algorithm>

namespace pvc::policy {

namespace {

using model::connected_route;
using model::link_address;

std::uint32_t metric_of(const link_address& one) {
    constexpr std::uint32_t usual_of_ipv6 = 256;  // IP6_RT_PRIO_ADDRCONF
    return one.settings.metric == 0 && one.address.address.is_v6() ? usual_of_ipv6 : one.settings.metric;
}

host_address without_host(const host_address& one) {
    const auto prefix = static_cast<unsigned short>(one.prefix);
    return one.address.is_v4()
               ? host_address{ip::network_v4(one.address.to_v4(), prefix).canonical().address(), one.prefix}
               : host_address{ip::network_v6(one.address.to_v6(), prefix).canonical().address(), one.prefix};
}

// One of a host alone leads to nobody else; but of IPv6 the kernel makes a route of it all the same.
bool leads_somewhere(const link_address& one) {
    return one.address.address.is_v6() || one.peer || one.address.prefix < 32;
}

}  // namespace

host_address reach_of(const link_address& one) {
    return {one.peer.value_or(one.address.address), one.address.prefix};
}

bool is_of_one_network(const link_address& a, const link_address& b) {
    return a.address.address.is_v4() == b.address.address.is_v4() && a.address.prefix == b.address.prefix &&
           is_in(reach_of(a).address, reach_of(b));
}

std::vector<link_address> primary_ones(std::span<const link_address> all) {
    std::vector<link_address> primary;
    for (const auto& one : all) {
        const bool is_secondary =
            std::ranges::any_of(primary, [&](const link_address& other) { return is_of_one_network(one, other); });
        if (one.address.address.is_v4() && !is_secondary) {
            primary.push_back(one);
        }
    }
    return primary;
}

std::vector<connected_route> routes_of_kernel(std::span<const link_address> all) {
    std::vector<connected_route> routes;
    const auto add = [&](const link_address& one, const host_address& network) {
        const auto& own = one.address.address;
        routes.push_back({.network = without_host(network),
                          .metric = metric_of(one),
                          .source = own.is_v4() ? std::optional(own) : std::nullopt});
    };
    auto able = primary_ones(all);
    std::ranges::copy_if(all, std::back_inserter(able),
                         [](const link_address& one) { return one.address.address.is_v6(); });
    for (const auto& one : able) {
        if (!one.settings.has_route() || !leads_somewhere(one)) {
            continue;
        }
        add(one, reach_of(one));
        if (one.peer && one.address.address.is_v6()) {
            add(one, one.address);
        }
    }
    return routes;
}

bool is_of_kernel(const connected_route& route, std::span<const link_address> all) {
    return std::ranges::any_of(routes_of_kernel(all), [&](const connected_route& one) {
        return one.network == route.network && one.metric == route.metric && one.source == route.source;
    });
}

bool has_lost_route(const model::network_state& seen, const model::network_link& link, const link_address& one) {
    const auto network = model::connected_network(one.address);
    if (!link.is_up || one.peer || !one.is_permanent || !network) {
        return false;
    }
    const auto all = routes_of_kernel(seen.addresses_of(link.index));
    const connected_route made{
        .network = *network,
        .metric = metric_of(one),
        .source = one.address.address.is_v4() ? std::optional(one.address.address) : std::nullopt};
    return one.settings.has_route() && std::ranges::find(all, made) != all.end() &&
           std::ranges::none_of(seen.connected_routes(), [&](const connected_route& there) {
               return there.link == link.index && there.network == made.network && there.metric == made.metric &&
                      there.source == made.source;
           });
}

bool outlives(const connected_route& route, std::span<const link_address> going) {
    return route.network.address.is_v6() && std::ranges::any_of(going, [&](const link_address& one) {
               return one.address.prefix == route.network.prefix && is_in(one.address.address, route.network) &&
                      (!one.settings.has_route() || !one.is_permanent || metric_of(one) != route.metric);
           });
}

}  // namespace pvc::policy
