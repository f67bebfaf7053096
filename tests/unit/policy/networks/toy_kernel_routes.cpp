// tidy-allow-file(unit-folder): what tests use and no test itself: tests/CMakeLists.txt names it
// Routes of the toy kernel, and those that it makes for its addresses.
#include "toy_kernel.hpp"

#include <algorithm>

namespace pvc::policy {

namespace {

bool is_within(const ip::address& address, const host_address& network) {
    const auto prefix = static_cast<unsigned short>(network.prefix);
    if (address.is_v4() != network.address.is_v4()) {
        return false;
    }
    return address.is_v4() ? ip::network_v4(address.to_v4(), prefix).canonical() ==
                                 ip::network_v4(network.address.to_v4(), prefix).canonical()
                           : ip::network_v6(address.to_v6(), prefix).canonical() ==
                                 ip::network_v6(network.address.to_v6(), prefix).canonical();
}

constexpr std::uint32_t metric_of_prefix = 256;  // of IPv6

}  // namespace

bool toy_kernel::reaches(const model::network_link& link, const ip::address& gateway) const {
    return (gateway.is_v6() && gateway.to_v6().is_link_local()) ||
           std::ranges::any_of(
               addresses_,
               [&](const auto& has) {
                   const auto network = model::connected_network(has.address);
                   return has.link == link.index && has.settings.has_route() && !is_secondary(has) &&
                          is_within(gateway, {has.peer.value_or(has.address.address), has.address.prefix}) &&
                          (!network ||
                           std::ranges::find(lost_, model::connected_route{link.index, *network}) == lost_.end());
               }) ||
           std::ranges::any_of(routes_, [&](const auto& route) {
               return route.link == link.index && !route.is.is_by_gateway() && !route.is.is_local &&
                      is_within(gateway, route.is.to);
           });
}

std::string toy_kernel::add_route(const model::network_link* link, const model::network_route& wanted,
                                  std::uint32_t table, const model::network_link* from) {
    if (link == nullptr || !link->is_up) {
        return "device not there or down";
    }
    constexpr std::uint8_t of_kernel = 2;
    if (wanted.is_local && wanted.protocol == of_kernel) {
        for (auto& one : addresses_) {
            one.is_taken = one.is_taken || (one.link == link->index && one.address.address == wanted.to.address);
        }
        return "";
    }
    const model::link_route added{.is = wanted, .link = link->index, .table = table};
    const auto is_it = [&](const auto& one) {
        return one.link == link->index && one.network == wanted.to && one.metric == wanted.metric &&
               (one.source == wanted.source || wanted.to.address.is_v6());
    };
    if (is_connected(added) && std::ranges::any_of(connected_routes(), is_it)) {
        return "";
    }
    if (from == link) {
        if (wanted.gateway && !wanted.is_onlink && !reaches(*link, *wanted.gateway)) {
            return "network is unreachable";
        }
        if (std::ranges::find(routes_, added) == routes_.end()) {
            routes_.push_back(added);
        }
        return "";
    }
    const bool is_moving = std::ranges::any_of(routes_, [&](const model::link_route& one) {
        return from != nullptr && one.link == from->index && one.table == table && one.is.is_like(wanted);
    });
    const auto is_beside = [&](const model::link_route& there) {
        return is_moving && there.link != from->index && there.link != link->index && there.table == table &&
               there.is.to == wanted.to && there.is.metric == wanted.metric;
    };
    const bool has_beside = std::ranges::any_of(routes_, is_beside);
    for (const auto& there : routes_) {
        // Several of one metric on that device go one after the other, and beside those over others.
        const bool is_like = there.link == link->index && there.is.is_like(wanted) &&
                             (there.is.source == wanted.source || wanted.to.address.is_v6());
        const bool is_twin = is_moving && (there.link != link->index ||
                                           ((!wanted.is_merged() || !there.is.is_merged() || has_beside) && !is_like));
        if (there.table == table && there.is.to == wanted.to && there.is.metric == wanted.metric && !is_twin) {
            return there.link == link->index && there.is.gateway == wanted.gateway ? "" : "another route is there";
        }
    }
    if (wanted.gateway && !wanted.is_onlink && !reaches(*link, *wanted.gateway)) {
        return "network is unreachable";
    }
    const auto has_it = [&](const auto& has) { return has.address.address == wanted.source; };
    if (wanted.source && std::ranges::none_of(addresses_, has_it)) {
        return "invalid source";
    }
    if (wanted.is_merged() && from != nullptr && !has_beside) {
        std::erase_if(routes_, [&](const auto& there) {
            return there.link == from->index && there.table == table && there.is.is_like(wanted);
        });
    }
    const auto is_of_place = [&](const model::link_route& there) {
        return there.table == table && there.is.to == wanted.to && there.is.metric == wanted.metric;
    };
    const auto first = std::ranges::find_if(routes_, is_of_place);
    const bool comes_first =
        has_beside && wanted.to.address.is_v4() && first->link == from->index && first->is.is_like(wanted);
    routes_.insert(comes_first ? first : routes_.end(), added);
    if (comes_first) {
        in_front_.push_back(added);
    }
    return "";
}

void toy_kernel::prepend_route(const std::string& device, model::link_route route) {
    route.link = link(device).index;
    routes_.insert(routes_.begin(), route);
    in_front_.push_back(std::move(route));
}

void toy_kernel::replace_connected(const std::string& device, const std::string& network, model::network_route route) {
    lost_.push_back({link(device).index, *parse_host_address(network)});
    add_route(device, {.is = std::move(route)});
}

bool toy_kernel::is_secondary(const model::link_address& one) const {
    const auto of_network = [&](const model::link_address& other) {
        return other.link == one.link && other.address.prefix == one.address.prefix &&
               is_within(one.peer.value_or(one.address.address),
                         {other.peer.value_or(other.address.address), other.address.prefix});
    };
    const auto first = std::ranges::find_if(addresses_, of_network);
    return one.address.address.is_v4() && first != addresses_.end() &&
           (first->address != one.address || first->peer != one.peer);
}

// Of IPv6 the route to its network stays while another address of that is there which the kernel takes for lasting, or
// that has no route of its own; and behind one of a limited time.
void toy_kernel::remove_address(int link, const model::remove_address& which) {
    const auto is_it = [&](const auto& has) {
        return has.link == link && has.address == which.address && has.peer == which.peer;
    };
    const auto found = std::ranges::find_if(addresses_, is_it);
    if (found == addresses_.end()) {
        return;
    }
    const auto gone = *found;
    const auto before = connected_routes();
    addresses_.erase(found);
    // Also one that somebody put in its place.
    std::erase_if(routes_, [&](const model::link_route& one) {
        const bool is_for = one.link == link && is_connected(one) && one.is.to.prefix == gone.address.prefix &&
                            is_within(gone.address.address, one.is.to);
        const bool has_other = std::ranges::any_of(addresses_, [&](const auto& has) {
            return has.link == link && has.address.prefix == gone.address.prefix &&
                   is_within(has.address.address, gone.address);
        });
        return is_for && gone.settings.has_route() && gone.is_permanent &&
               (one.is.to.address.is_v4() ? one.is.source == gone.address.address : !has_other);
    });
    const auto after = connected_routes();
    const bool stays = !gone.is_permanent || std::ranges::any_of(addresses_, [&](const auto& has) {
        return has.link == link && has.address.prefix == gone.address.prefix &&
               is_within(has.address.address, gone.address);
    });
    for (const auto& one : before) {
        const bool is_gone = std::ranges::find(after, one) == after.end();
        if (is_gone && stays && one.network.address.is_v6()) {
            routes_.push_back({.is = {.to = one.network, .metric = one.metric, .protocol = 2}, .link = link});
        }
    }
    if (std::ranges::none_of(addresses_,
                             [&](const auto& has) { return has.link == link && has.address.address.is_v4(); })) {
        std::erase_if(routes_, [&](const auto& one) { return one.link == link && one.is.to.address.is_v4(); });
    }
}

bool toy_kernel::is_connected(const model::link_route& route) {
    constexpr std::uint8_t of_kernel = 2;
    return route.is.protocol == of_kernel && !route.is.is_by_gateway() && route.table == model::main_table;
}

std::vector<model::connected_route> toy_kernel::connected_routes() const {
    std::vector<model::connected_route> all;
    for (const auto& one : addresses_) {
        const auto network = model::connected_network(one.address);
        const auto is_its = [&](const auto& named) { return named.second.index == one.link && named.second.is_up; };
        const bool is_v6 = one.address.address.is_v6();
        if (!network || !one.settings.has_route() || is_secondary(one) || std::ranges::none_of(links_, is_its) ||
            std::ranges::find(lost_, model::connected_route{one.link, *network}) != lost_.end()) {
            continue;
        }
        const model::connected_route made{one.link, *network,
                                          one.settings.metric == 0 && is_v6 ? metric_of_prefix : one.settings.metric,
                                          is_v6 ? std::nullopt : std::optional(one.address.address)};
        if (std::ranges::find(all, made) == all.end()) {
            all.push_back(made);
        }
    }
    const auto is_before = [](const model::link_route& one, const model::connected_route& route) {
        return !is_connected(one) && one.link == route.link && one.table == model::main_table &&
               one.is.to == route.network && one.is.metric == route.metric && one.is.tos == 0;
    };
    for (auto& made : all) {
        made.behind = static_cast<std::size_t>(std::ranges::count_if(routes_, [&](const model::link_route& one) {
            return is_before(one, made) && std::ranges::find(in_front_, one) != in_front_.end();
        }));
    }
    for (auto at = routes_.begin(); at != routes_.end(); ++at) {
        if (is_connected(*at)) {
            all.push_back({at->link, at->is.to, at->is.metric, at->is.source, at->is.settings});
            all.back().behind = static_cast<std::size_t>(std::count_if(
                routes_.begin(), at, [&](const model::link_route& one) { return is_before(one, all.back()); }));
        }
    }
    return all;
}

void toy_kernel::flush_local_routes() {
    for (auto& one : addresses_) {
        one.is_taken = false;
    }
}

void toy_kernel::flush_routes() {
    routes_.clear();
    for (const auto& one : connected_routes()) {
        lost_.push_back({one.link, one.network});
    }
}

}  // namespace pvc::policy
