#include "pvcnoded/policy/networks/preferred_sources.hpp"

#include "own_links.hpp"
#include "pvcnoded/policy/networks/connected_routes.hpp"

#include <algorithm>

namespace pvc::policy {

namespace {

using model::link_address;
using addresses = std::span<const link_address>;

// inet_select_addr: one that reaches the gateway, else the first; none of a narrower scope than the route.
std::optional<ip::address> chosen_v4(addresses all, const std::optional<ip::address>& gateway, std::uint8_t scope) {
    std::optional<ip::address> first;
    for (const auto& one : primary_ones(all)) {
        if (one.scope > scope) {
            continue;
        }
        if (gateway && is_in(*gateway, reach_of(one))) {
            return one.address.address;
        }
        first = first.value_or(one.address.address);
    }
    return first;
}

// Of several ways each has its own; empty also where they differ.
std::optional<ip::address> chosen_v4(addresses all, const model::network_route& route) {
    if (route.ways.empty()) {
        return chosen_v4(all, route.gateway, route.scope);
    }
    const auto first = chosen_v4(all, route.ways.front().gateway, route.scope);
    const bool is_same = std::ranges::all_of(
        route.ways, [&](const model::route_way& way) { return chosen_v4(all, way.gateway, route.scope) == first; });
    return is_same ? first : std::nullopt;
}

// What the kernel chooses from, by rules that look at the destination.
std::vector<ip::address> choice_of_v6(addresses all) {
    std::vector<ip::address> choice;
    for (const auto& one : all) {
        const auto& address = one.address.address;
        if (address.is_v6() && one.is_global() && !address.to_v6().is_link_local() && !one.lifetime.is_deprecated()) {
            choice.push_back(address);
        }
    }
    return choice;
}

}  // namespace

// IPv4: a secondary one behind all, a primary one behind the primary ones of its scope and of narrower ones. IPv6: the
// newest first.
void add_as_kernel(std::vector<link_address>& all, const link_address& one) {
    const auto is_it = [&](const link_address& other) {
        return other.address == one.address && other.peer == one.peer;
    };
    if (std::ranges::any_of(all, is_it)) {
        return;
    }
    if (one.address.address.is_v6()) {
        all.insert(all.begin(), one);
        return;
    }
    std::vector<link_address> primary = primary_ones(all);
    if (std::ranges::any_of(primary, [&](const link_address& other) { return is_of_one_network(one, other); })) {
        all.push_back(one);
        return;
    }
    const auto before = std::ranges::find_if(all, [&](const link_address& other) {
        const bool is_primary = std::ranges::find(primary, other) != primary.end();
        return other.address.address.is_v4() && (!is_primary || other.scope < one.scope);
    });
    all.insert(before, one);
}

std::optional<ip::address> source_to_name(const model::network_route& route, addresses before, addresses after) {
    if (route.source) {
        return std::nullopt;
    }
    std::optional<ip::address> was;
    if (route.to.address.is_v4()) {
        was = chosen_v4(before, route);
        was = was == chosen_v4(after, route) ? std::nullopt : was;
    } else if (const auto choice = choice_of_v6(before); choice.size() == 1) {
        const auto others = choice_of_v6(after);
        const auto is_other = [&](const ip::address& one) { return one != choice.front(); };
        was = std::ranges::any_of(others, is_other) ? std::optional(choice.front()) : std::nullopt;
    }
    const auto is_it = [&](const link_address& one) { return one.address.address == was; };
    return was && std::ranges::any_of(after, is_it) ? was : std::nullopt;
}

}  // namespace pvc::policy
