// Addresses, of hardware too, and routes of the simulated kernel.
#include "sim/network/sim_kernel.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>

namespace pvc::sim {

namespace {

constexpr std::uint32_t metric_of_address = 256;  // of IPv6
constexpr std::uint8_t made_by_kernel = 2;        // RTPROT_KERNEL
constexpr model::address_lifetime leased{86400, 86400};

ip::network_v4 network_of_v4(const host_address& which) {
    return ip::network_v4(which.address.to_v4(), static_cast<std::uint16_t>(which.prefix)).canonical();
}

bool is_within(const ip::address& which, const host_address& network) {
    const auto prefix = static_cast<std::uint16_t>(network.prefix);
    if (which.is_v4() != network.address.is_v4()) {
        return false;
    }
    return which.is_v4() ? network_of_v4({which, network.prefix}) == network_of_v4(network)
                         : ip::network_v6(which.to_v6(), prefix).canonical() ==
                               ip::network_v6(network.address.to_v6(), prefix).canonical();
}

// The part of the kernel that an address with a far end, or one of a host alone, has as well is left out.
bool has_network_route(const model::link_address& one) {
    return one.settings.has_route() && !one.peer;
}

}  // namespace

// A bridge has the smallest address of its ports, a VLAN that of what it stands on, until somebody sets another one.
void sim_kernel::follow_hardware(device& which) {
    if (which.has_fixed_hardware) {
        return;
    }
    if (const auto* below = find(which.is.lower); which.is.vlan_id && below != nullptr) {
        which.is.hardware = below->is.hardware;
    }
    if (which.is.kind == "bridge") {
        std::optional<model::hardware_address> least;
        for (const auto& [index, port] : devices_) {
            if (port.is.master == which.is.index) {
                least = std::min(least.value_or(port.is.hardware), port.is.hardware);
            }
        }
        which.is.hardware = least.value_or(which.is.hardware);
    }
}

result<void> sim_kernel::add_address(device& to, const model::add_address& wanted) {
    const auto& which = wanted.address;
    const auto scope = wanted.scope;
    const auto lifetime = wanted.lifetime.value_or(model::address_lifetime());
    const bool is_v6 = which.address.is_v6();
    auto& all = is_v6 ? to.v6 : to.v4;
    const std::string about = which.text() + " on " + to.is.name;
    const auto there = std::ranges::find_if(
        all, [&](const address_entry& one) { return one.is.address == which && one.is.peer == wanted.peer; });
    if (there != all.end()) {
        if (wanted.lifetime) {
            there->is.lifetime = lifetime;
            there->is.is_permanent = lifetime.valid == model::forever;
        }
        return {};
    }
    address_entry added{.is = {.link = to.is.index,
                               .address = which,
                               .scope = scope,
                               .is_permanent = lifetime.valid == model::forever,
                               .peer = wanted.peer,
                               .lifetime = lifetime,
                               .settings = wanted.settings}};
    added.is.settings.flags &= model::given_flags;
    if (!is_v6) {
        // That of the far end, where it has one.
        const auto network_of = [](const model::link_address& one) {
            return network_of_v4({one.peer.value_or(one.address.address), one.address.prefix});
        };
        const auto network = network_of(added.is);
        const auto of_network = std::ranges::find_if(all, [&](const address_entry& one) {
            return one.is.address.prefix == which.prefix && network_of(one.is) == network;
        });
        const bool is_secondary = of_network != all.end();
        if (is_secondary && of_network->is.scope != scope) {
            return failure(errc::refused, about, "Invalid argument");
        }
        added.is_secondary = is_secondary;
        if (const auto connected =
                is_secondary || !has_network_route(added.is) ? std::nullopt : model::connected_network(which)) {
            std::erase(lost_, model::connected_route{to.is.index, *connected});
        }
        // Behind those of the same scope and of narrower ones, which come first.
        const auto before = is_secondary ? all.end() : std::ranges::find_if(all, [&](const address_entry& one) {
            return one.is_secondary || one.is.scope < scope;
        });
        all.insert(before, std::move(added));
        return {};
    }
    if (!to.has_v6 || to.is_v6_off) {
        return failure(errc::refused, about, to.has_v6 ? "Permission denied" : "Invalid argument");
    }
    if (which.address.is_multicast() || (which.address.is_loopback() && !to.is.is_loopback)) {
        return failure(errc::refused, about, "Cannot assign requested address");
    }
    if (const auto found =
            std::ranges::find(all, which.address, [](const address_entry& one) { return one.is.address.address; });
        found != all.end()) {
        return failure(errc::already_exists, about, "it is there as " + found->is.address.text());
    }
    added.is.scope = which.address.to_v6().is_link_local() ? model::link_scope : model::universe_scope;
    if (const auto connected = has_network_route(added.is) ? model::connected_network(which) : std::nullopt) {
        std::erase(lost_, model::connected_route{to.is.index, *connected});
        // What it left with another address is this one's by now.
        const auto metric = added.is.settings.metric == 0 ? metric_of_address : added.is.settings.metric;
        std::erase_if(routes_, [&](const route_entry& one) {
            return is_connected(one.is) && one.is.link == to.is.index && one.is.is.to == *connected &&
                   one.is.is.metric == metric;
        });
    }
    // The newest first, those of a wider scope before the others.
    all.insert(added.is.is_global()
                   ? all.begin()
                   : std::ranges::find(all, false, [](const address_entry& one) { return one.is.is_global(); }),
               std::move(added));
    return {};
}

void sim_kernel::remove_address(device& from, const host_address& which, const std::optional<ip::address>& peer) {
    auto& all = which.address.is_v6() ? from.v6 : from.v4;
    const auto found = std::ranges::find_if(
        all, [&](const address_entry& one) { return one.is.address == which && one.is.peer == peer; });
    if (found == all.end()) {
        return;
    }
    const bool was_primary = !found->is_secondary;
    const auto gone = found->is;
    const auto before = connected_routes();
    all.erase(found);
    drop_source(from.is.index, which.address);
    drop_connected(from, gone);
    if (which.address.is_v6()) {
        take_for_connected(from, gone, before);
        keep_connected(from, gone, before);
        return;
    }
    const auto network = network_of_v4(which);
    const auto is_of_network = [&](const address_entry& one) {
        return one.is_secondary && network_of_v4(one.is.address) == network;
    };
    if (was_primary && (sysctls_.of("all", sysctl_family::v4, "promote_secondaries") != 0 ||
                        sysctls_.of(from.is.name, sysctl_family::v4, "promote_secondaries") != 0)) {
        if (const auto next = std::ranges::find_if(all, is_of_network); next != all.end()) {
            next->is_secondary = false;
            if (const auto connected = model::connected_network(next->is.address);
                connected && next->is.settings.has_route()) {
                std::erase(lost_, model::connected_route{from.is.index, *connected});
            }
        }
    } else if (was_primary) {
        std::erase_if(all, is_of_network);
    }
    if (all.empty()) {
        drop_routes(from.is.index, false);
    }
}

// Of those to its network the kernel takes the first away that is on the link, which has the smallest metric, whoever
// made it: then its own stays.
void sim_kernel::take_for_connected(const device& of, const model::link_address& gone,
                                    const std::vector<model::connected_route>& before) {
    const auto network =
        gone.settings.has_route() && gone.is_permanent ? model::connected_network(gone.address) : std::nullopt;
    const auto kernels = std::ranges::find_if(before, [&](const model::connected_route& one) {
        return network && one.link == of.is.index && one.network == *network;
    });
    const bool has_other = std::ranges::any_of(of.v6, [&](const address_entry& one) {
        return one.is.address.prefix == gone.address.prefix && is_within(one.is.address.address, gone.address);
    });
    if (kernels == before.end() || has_other) {
        return;
    }
    auto first = routes_.end();
    for (auto one = routes_.begin(); one != routes_.end(); ++one) {
        const auto& is = one->is.is;
        const bool is_it = one->is.link == of.is.index && one->is.table == model::main_table && is.to == *network &&
                           !is.is_by_gateway() && !is.is_local && is.metric < kernels->metric;
        if (is_it && (first == routes_.end() || is.metric < first->is.is.metric)) {
            first = one;
        }
    }
    if (first != routes_.end()) {
        first->is = {.is = {.to = *network, .metric = kernels->metric, .protocol = made_by_kernel},
                     .link = of.is.index};
    }
}

// The kernel takes the route to the network of one away that was there for good, and the last of it: not while one is
// there that has no route of its own. That of one for a time would end by itself.
void sim_kernel::keep_connected(const device& of, const model::link_address& gone,
                                const std::vector<model::connected_route>& before) {
    const bool has_other = std::ranges::any_of(of.v6, [&](const address_entry& one) {
        return one.is.address.prefix == gone.address.prefix && is_within(one.is.address.address, gone.address);
    });
    const auto after = connected_routes();
    for (const auto& one : before) {
        const bool is_gone = std::ranges::find(after, one) == after.end();
        if (is_gone && (has_other || !gone.is_permanent)) {
            routes_.push_back({.is = {.is = {.to = one.network, .metric = one.metric, .protocol = made_by_kernel},
                                      .link = of.is.index}});
        }
    }
}

// What a device has as soon as it runs.
void sim_kernel::add_own_addresses(device& to) {
    const auto add_host = [&](const host_address& which) {
        auto& all = which.address.is_v6() ? to.v6 : to.v4;
        if (std::ranges::find(all, which, [](const address_entry& one) { return one.is.address; }) == all.end()) {
            all.insert(all.begin(), {.is = {.link = to.is.index, .address = which, .scope = model::link_scope}});
        }
    };
    const bool has_v6 = to.has_v6 && !to.is_v6_off;
    if (to.is.is_loopback) {
        add_host(*parse_host_address("127.0.0.1/8"));
        if (has_v6) {
            add_host(*parse_host_address("::1/128"));
        }
        return;
    }
    const bool has_own = std::ranges::any_of(to.v6, [](const address_entry& one) { return !one.is.is_global(); });
    if (has_v6 && !has_own) {
        // By its number, as of a hardware address: as unlike those of other devices.
        const auto own = *parse_host_address(fmt::format("fe80::ff:fe00:{:x}/64", to.is.index));
        to.v6.push_back({.is = {.link = to.is.index, .address = own, .scope = model::link_scope}});
    }
}

void sim_kernel::drop_v6(device& of) {
    of.v6.clear();
    drop_routes(of.is.index, true);
}

void sim_kernel::drop_routes(int link, bool is_v6) {
    std::erase_if(routes_,
                  [&](const route_entry& one) { return one.is.link == link && one.is.is.to.address.is_v6() == is_v6; });
}

// Of IPv4 they go with it, of IPv6 they stay without it, and others over other devices as they are.
void sim_kernel::drop_source(int link, const ip::address& which) {
    if (which.is_v6()) {
        for (auto& one : routes_) {
            if (one.is.link == link && one.is.is.source == which) {
                one.is.is.source.reset();
            }
        }
    } else if (!answers(which)) {
        std::erase_if(routes_, [&](const route_entry& one) { return one.is.is.source == which; });
    }
}

// What somebody made in place of the kernel's own goes with the address as that would.
void sim_kernel::drop_connected(const device& of, const model::link_address& gone) {
    if (!gone.settings.has_route() || !gone.is_permanent) {
        return;
    }
    const bool has_other = std::ranges::any_of(of.v6, [&](const address_entry& one) {
        return one.is.address.prefix == gone.address.prefix && is_within(one.is.address.address, gone.address);
    });
    std::erase_if(routes_, [&](const route_entry& one) {
        const bool is_for = one.is.link == of.is.index && is_connected(one.is) &&
                            one.is.is.to.prefix == gone.address.prefix && is_within(gone.address.address, one.is.is.to);
        return is_for && (gone.address.address.is_v6() ? !has_other : one.is.is.source == gone.address.address);
    });
}

bool sim_kernel::is_lost(int link, const host_address& network) const {
    return std::ranges::find(lost_, model::connected_route{link, network}) != lost_.end();
}

// The kernel makes them anew with a link that comes up, and with an address.
void sim_kernel::forget_lost(int link) {
    std::erase_if(lost_, [&](const model::connected_route& one) { return one.link == link; });
}

std::vector<model::connected_route> sim_kernel::connected_routes() const {
    std::vector<model::connected_route> all;
    for (const auto& [index, one] : devices_) {
        if (!one.is.is_up) {
            continue;
        }
        const auto of_others = static_cast<std::ptrdiff_t>(all.size());
        for (const auto* family : {&one.v4, &one.v6}) {
            for (const auto& entry : *family) {
                const auto network =
                    has_network_route(entry.is) ? model::connected_network(entry.is.address) : std::nullopt;
                if (!network || entry.is_secondary || is_lost(index, *network)) {
                    continue;
                }
                const bool is_v4 = network->address.is_v4();
                const auto metric =
                    entry.is.settings.metric == 0 && !is_v4 ? metric_of_address : entry.is.settings.metric;
                const auto source = is_v4 ? std::optional(entry.is.address.address) : std::nullopt;
                const auto is_it = [&](const model::connected_route& other) {
                    return other.link == index && other.network == *network && other.metric == metric;
                };
                if (std::none_of(all.begin() + of_others, all.end(), is_it)) {
                    all.push_back({index, *network, metric, source});
                }
            }
        }
    }
    const bool has_front = std::ranges::any_of(routes_, &route_entry::is_in_front);
    for (auto& made : has_front ? std::span(all) : std::span<model::connected_route>()) {
        made.behind = static_cast<std::size_t>(std::ranges::count_if(
            routes_, [&](const route_entry& one) { return one.is_in_front && is_of_connected(one, made); }));
    }
    for (auto at = routes_.begin(); at != routes_.end(); ++at) {
        const auto& one = at->is;
        if (is_connected(one)) {
            all.push_back({one.link, one.is.to, one.is.metric, one.is.source, one.is.settings});
            all.back().behind = static_cast<std::size_t>(std::count_if(
                routes_.begin(), at, [&](const route_entry& other) { return is_of_connected(other, all.back()); }));
        }
    }
    return all;
}

// One that somebody made, of that place.
bool sim_kernel::is_of_connected(const route_entry& one, const model::connected_route& route) {
    return !one.is_advertised && !is_connected(one.is) && one.is.link == route.link &&
           one.is.table == model::main_table && one.is.is.to == route.network && one.is.is.metric == route.metric &&
           one.is.is.tos == 0;
}

bool sim_kernel::reaches(const device& over, const ip::address& gateway) const {
    const auto is_inside_of = [&](const address_entry& one) {
        if (const auto network = model::connected_network(one.is.address);
            (network && is_lost(over.is.index, *network)) || !one.is.settings.has_route() || one.is_secondary) {
            return false;
        }
        return is_within(gateway, {one.is.peer.value_or(one.is.address.address), one.is.address.prefix});
    };
    const auto leads_to_it = [&](const route_entry& one) {
        return one.is.link == over.is.index && !one.is.is.is_by_gateway() && !one.is.is.is_local &&
               is_within(gateway, one.is.is.to);
    };
    return over.is.is_up && !answers(gateway) &&
           (std::ranges::any_of(gateway.is_v6() ? over.v6 : over.v4, is_inside_of) ||
            std::ranges::any_of(routes_, leads_to_it));
}

bool sim_kernel::is_of_address(const device& over, const model::network_route& route) const {
    const auto& all = route.to.address.is_v6() ? over.v6 : over.v4;
    const auto usual = route.to.address.is_v6() ? metric_of_address : 0;
    return std::ranges::any_of(all, [&](const address_entry& one) {
        const auto metric = one.is.settings.metric == 0 ? usual : one.is.settings.metric;
        const bool is_others = route.source && route.to.address.is_v4() && one.is.address.address != route.source;
        return has_network_route(one.is) && !one.is_secondary && metric == route.metric && !is_others &&
               model::connected_network(one.is.address) == route.to;
    });
}

result<void> sim_kernel::can_be(const model::network_route& wanted, const device& over) const {
    if (!over.is.is_up) {
        return failure(errc::refused, to_text(wanted), "Network is down");
    }
    const auto is_out_of_reach = [&](const model::route_way& way) {
        return way.gateway && !way.is_onlink && !reaches(over, *way.gateway);
    };
    if (is_out_of_reach({.gateway = wanted.gateway, .is_onlink = wanted.is_onlink}) ||
        std::ranges::any_of(wanted.ways, is_out_of_reach)) {
        return failure(errc::refused, to_text(wanted), "Nexthop has invalid gateway");
    }
    if (wanted.source && !answers(*wanted.source)) {
        return failure(errc::refused, to_text(wanted), "Invalid prefsrc address");
    }
    return {};
}

result<void> sim_kernel::remove_and_keep(const model::remove_address& which,
                                         const std::vector<model::link_route>& routes) {
    auto* from = find(which.device);
    if (from == nullptr) {
        return {};
    }
    const auto before = routes_;
    remove_address(*from, which.address, which.peer);
    for (const auto& kept : routes) {
        const auto found = std::ranges::find_if(before, [&](const route_entry& one) {
            return one.is.link == from->is.index && one.is.is == kept.is && one.is.table == kept.table;
        });
        if (found != before.end() && std::ranges::find(routes_, *found) == routes_.end() && can_be(kept.is, *from)) {
            routes_.push_back(*found);
        }
    }
    if (which.address.address.is_v6() && !routes.empty()) {
        // Nor does the kernel's own outlive it.
        std::erase_if(routes_, [&](const route_entry& one) {
            return is_connected(one.is) && one.is.link == from->is.index && one.is.is.to == routes.front().is.to &&
                   std::ranges::find(before, one) == before.end();
        });
    }
    // In the place that it had.
    std::vector<route_entry> now;
    for (const bool was_there : {true, false}) {
        for (const auto& one : was_there ? before : routes_) {
            const bool is_it = (std::ranges::find(before, one) != before.end()) == was_there;
            if (is_it && std::ranges::find(routes_, one) != routes_.end()) {
                now.push_back(one);
            }
        }
    }
    routes_ = std::move(now);
    settle();
    return {};
}

result<void> sim_kernel::add_route(const model::network_route& wanted, device& over, std::uint32_t table,
                                   const std::string& moves_from, bool comes_first) {
    const model::link_route added{.is = wanted, .link = over.is.index, .table = table};
    const bool is_kernels = is_connected(added) && is_of_address(over, wanted);
    if (is_kernels && over.is.is_up && !is_lost(over.is.index, wanted.to)) {
        return {};
    }
    if (wanted.is_local && wanted.protocol == made_by_kernel) {
        for (auto& entry : over.v4) {
            entry.is.is_taken = entry.is.is_taken || entry.is.address.address == wanted.to.address;
        }
        return {};
    }
    const bool is_alone = std::ranges::none_of(routes_, [&](const route_entry& one) {
        return one.is.link == over.is.index && one.is.table == table && one.is.is.to == wanted.to &&
               one.is.is.metric == wanted.metric && one.is.is.tos == wanted.tos;
    });
    if (is_kernels && is_alone && wanted.settings.empty()) {
        if (!over.is.is_up || (wanted.source && !answers(*wanted.source))) {
            return failure(errc::refused, to_text(wanted), "Network is down, or its source is not here");
        }
        std::erase(lost_, model::connected_route{over.is.index, wanted.to});
        return {};
    }
    if (moves_from == over.is.name) {
        return put_back(added, over, comes_first);
    }
    const auto* const from = find(moves_from);
    const auto moves = [&](const model::link_route& one) {
        return from != nullptr && one.link == from->is.index && one.is.is_like(wanted);
    };
    const bool is_moving =
        std::ranges::any_of(routes_, [&](const route_entry& one) { return one.is.table == table && moves(one.is); });
    const auto is_of_place = [&](const route_entry& one) {
        return one.is.table == table && one.is.is.to == wanted.to && one.is.is.metric == wanted.metric &&
               one.is.is.tos == wanted.tos;
    };
    const bool is_beside = is_moving && std::ranges::any_of(routes_, [&](const route_entry& one) {
                               return is_of_place(one) && one.is.link != from->is.index && one.is.link != over.is.index;
                           });
    // Several of one metric on that device go one after the other, and beside those over others.
    const auto is_twin = [&](const model::link_route& one) {
        return is_moving && (one.link != over.is.index || !wanted.is_merged() || !one.is.is_merged() || is_beside);
    };
    for (const auto& one : routes_) {
        const bool is_as_wanted = one.is.link == added.link && one.is.is.gateway == wanted.gateway;
        if (!is_of_place(one)) {
            continue;
        }
        if (one.is == added ||
            (is_as_wanted && wanted == model::network_route{.to = wanted.to, .gateway = wanted.gateway})) {
            return {};
        }
        if (is_twin(one.is)) {
            continue;
        }
        const auto* by = find(one.is.link);
        return failure(
            errc::already_exists, to_text(wanted),
            fmt::format("there is one {}on {}", one.is.is.gateway ? "via " + one.is.is.gateway->to_string() + " " : "",
                        by == nullptr ? "" : by->is.name));
    }
    if (auto possible = can_be(wanted, over); !possible) {
        return possible;
    }
    if (wanted.is_merged() && !is_beside) {
        std::erase_if(routes_, [&](const route_entry& one) { return moves(one.is) && one.is.table == table; });
    }
    const auto first = std::ranges::find_if(routes_, is_of_place);
    const bool is_first = is_beside && wanted.to.address.is_v4() && moves(first->is);
    routes_.insert(is_first ? first : routes_.end(), {.is = added, .is_in_front = is_first});
    return {};
}

void sim_kernel::prepend_route(const std::string& device, const model::link_route& which) {
    if (const auto* over = find(device)) {
        routes_.insert(routes_.begin(), {.is = which, .is_in_front = true});
        routes_.front().is.link = over->is.index;
        settle();
    }
}

void sim_kernel::add_with_peer(const std::string& device, const host_address& which, const ip::address& peer) {
    if (auto* to = find(device)) {
        auto& all = which.address.is_v6() ? to->v6 : to->v4;
        all.push_back({.is = {.link = to->is.index, .address = which, .peer = peer}});
        settle();
    }
}

void sim_kernel::add_lease(const std::string& device, const host_address& which) {
    if (auto* to = find(device)) {
        to->v4.push_back({.is = {.link = to->is.index, .address = which, .is_permanent = false, .lifetime = leased}});
        settle();
    }
}

void sim_kernel::add_route(const std::string& device, const model::link_route& which) {
    if (const auto* over = find(device)) {
        routes_.push_back({.is = which});
        routes_.back().is.link = over->is.index;
        settle();
    }
}

void sim_kernel::add(const std::string& device, const host_address& which) {
    ignore(apply(model::add_address{device, which}), "it cannot be, as it says");
}

void sim_kernel::add(const std::string& device, std::string_view which) {
    add(device, *parse_host_address(which));
}

void sim_kernel::remove(const std::string& device, const host_address& which) {
    ignore(apply(model::remove_address{device, which}), "what is not there is gone");
}

void sim_kernel::remove_all_addresses() {
    for (auto& [index, one] : devices_) {
        const auto is_given = [](const address_entry& entry) { return entry.is.is_global(); };
        std::erase_if(one.v4, is_given);
        std::erase_if(one.v6, is_given);
        if (one.v4.empty()) {
            drop_routes(index, false);
        }
    }
    settle();
}

std::vector<host_address> sim_kernel::addresses_on(const std::string& device) const {
    std::vector<host_address> all;
    if (const auto* which = find(device)) {
        for (const auto* family : {&which->v4, &which->v6}) {
            std::ranges::transform(*family, std::back_inserter(all),
                                   [](const address_entry& one) { return one.is.address; });
        }
    }
    return all;
}

bool sim_kernel::has(const std::string& device, const host_address& which) const {
    const auto* on = find(device);
    const auto is_it = [&](const address_entry& one) { return one.is.address == which; };
    return on != nullptr && std::ranges::any_of(which.address.is_v6() ? on->v6 : on->v4, is_it);
}

bool sim_kernel::answers(const ip::address& which) const {
    return std::ranges::any_of(devices_, [&](const auto& device) {
        const auto& all = which.is_v6() ? device.second.v6 : device.second.v4;
        return std::ranges::any_of(all, [&](const address_entry& one) { return one.is.address.address == which; });
    });
}

std::string sim_kernel::text() const {
    std::map<std::string, std::string> by_device;
    for (const auto& [index, one] : devices_) {
        for (const auto* family : {&one.v4, &one.v6}) {
            for (const auto& entry : *family) {
                if (entry.is.is_global() && entry.is.is_permanent) {
                    auto& text = by_device[one.is.name];
                    text += (text.empty() ? "" : ", ") + entry.is.address.text() + " on " + one.is.name;
                }
            }
        }
    }
    std::string all;
    for (const auto& [name, text] : by_device) {
        all += (all.empty() ? "" : ", ") + text;
    }
    return all;
}

}  // namespace pvc::sim
