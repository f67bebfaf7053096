#include "pvcnoded/policy/networks/bound_routes.hpp"

#include "own_links.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>

namespace pvc::policy {

namespace {

using model::link_route;
using model::network_route;

// What is the daemon's own: the plan of the host makes it again when it can be there.
bool is_own_default(const config::node_config& config, const model::network_state& seen, const link_route& one) {
    const auto& upstream = config.networks.upstream;
    return one.is.is_default() && one.table == model::main_table && one.is.metric == 0 && upstream.gateway &&
           one.is.gateway == upstream.gateway && seen.name_of(one.link) == upstream.bridge;
}

bool is_of_place(const link_route& one, const network_route& is, std::uint32_t table) {
    return one.table == table && one.is.to == is.to && one.is.metric == is.metric && one.is.tos == is.tos &&
           one.is.is_local == is.is_local;
}

// They are by link.
auto routes_over(const model::network_state& seen, int link) {
    return std::ranges::equal_range(seen.link_routes(), link, {}, &link_route::link);
}

bool is_here(const model::network_state& seen, const ip::address& which) {
    return std::ranges::any_of(seen.addresses(), [&](const auto& one) { return one.address.address == which; });
}

std::vector<model::route_way> ways_of(const network_route& route) {
    return route.ways.empty() ? std::vector<model::route_way>{{.gateway = route.gateway, .is_onlink = route.is_onlink}}
                              : route.ways;
}

// The addresses of the primary, and the links that have no other one of IPv4.
class primary_links {
public:
    primary_links(std::span<const role_address> all, const model::network_state& seen) {
        std::set<std::string_view> devices;
        for (const auto& one : all) {
            devices.insert(one.where.device);
            addresses_.insert(one.where.address.address);
            places_.emplace(one.where.device, one.where.address.address);
        }
        for (const auto device : devices) {
            const auto* link = seen.find(device);
            if (link == nullptr || link->is_loopback) {
                continue;
            }
            bool has_one = false;
            bool has_other = false;
            for (const auto& one : seen.addresses_of(link->index)) {
                const bool is_of_primary = places_.contains({device, one.address.address});
                has_one = has_one || (one.address.address.is_v4() && is_of_primary);
                has_other = has_other || (one.address.address.is_v4() && !is_of_primary);
            }
            if (has_one && !has_other) {
                links_.insert(link->index);
            }
        }
    }
    [[nodiscard]] bool has(const ip::address& which) const { return addresses_.contains(which); }
    [[nodiscard]] const std::set<int>& links() const { return links_; }

private:
    std::set<ip::address> addresses_;
    std::set<std::pair<std::string_view, ip::address>> places_;
    std::set<int> links_;
};

bool can_stand(const bound_route& one, const model::network_state& seen) {
    const auto* link = seen.find(one.link);
    if (link == nullptr || !link->is_up || (one.is.source && !is_here(seen, *one.is.source))) {
        return false;
    }
    const auto is_reached = [&](const model::route_way& way) {
        if (!way.gateway || way.is_onlink || (way.gateway->is_v6() && way.gateway->to_v6().is_link_local())) {
            return true;
        }
        const auto leads = [&](int over, const host_address& to) {
            return over == one.link && is_in(*way.gateway, to);
        };
        return std::ranges::any_of(seen.addresses_of(one.link),
                                   [&](const model::link_address& has) {
                                       return has.settings.has_route() &&
                                              is_in(*way.gateway,
                                                    {has.peer.value_or(has.address.address), has.address.prefix});
                                   }) ||
               std::ranges::any_of(seen.connected_routes(),
                                   [&](const model::connected_route& has) { return leads(has.link, has.network); }) ||
               std::ranges::any_of(seen.link_routes(), [&](const link_route& has) {
                   return !has.is.is_by_gateway() && !has.is.is_local && leads(has.link, has.is.to);
               });
    };
    return std::ranges::all_of(ways_of(one.is), is_reached);
}

// What became of one that was on record, and is not there as it was.
class missed {
public:
    missed(const bound_routes& before, const model::network_state& seen) : before_(before), seen_(seen) {}

    [[nodiscard]] bool is_forgotten(const bound_route& one) const {
        const auto* link = seen_.find(one.link);
        if (link == nullptr || (!link->is_up && !one.is_waiting)) {
            return true;  // it went with the link
        }
        bool is_replaced = false;
        bool is_stripped = false;  // of IPv6 the kernel leaves it without its source
        for (const auto& other : routes_over(seen_, one.link)) {
            if (is_of_place(other, one.is, one.table)) {
                const bool is_it = other.is.is_like(one.is) && !other.is.source && one.is.to.address.is_v6();
                is_stripped = is_stripped || is_it;
                is_replaced = is_replaced || (!is_it && !is_on_record(other));
            }
        }
        return (is_replaced && !is_stripped) || (!one.is_waiting && can_stand(one, seen_));
    }

private:
    [[nodiscard]] bool is_on_record(const link_route& other) const {
        return std::ranges::any_of(before_, [&](const bound_route& one) {
            return one.link == other.link && one.table == other.table && one.is == other.is;
        });
    }

    const bound_routes& before_;
    const model::network_state& seen_;
};

// Among those of its place that stay when it goes: before some, and behind none. Of one that the list does not have
// only the number is known.
bool is_first_of_all(const link_route& one, const model::network_state& seen, const primary_links& primary,
                     const standing_routes& kept) {
    if (one.is.to.address.is_v6()) {
        return false;  // the kernel has no order of them that somebody could ask for
    }
    const auto here = kept.find(seen.name_of(one.link));
    const auto stays = [&](const link_route& other) {
        if (!primary.links().contains(other.link)) {
            return !other.is.source || !primary.has(*other.is.source);
        }
        return here != kept.end() && std::ranges::find(here->second, other, &standing_route::is) != here->second.end();
    };
    std::size_t before = 0;  // that go with it
    bool is_before_any = one.is_before_others;
    for (const auto& other : routes_over(seen, one.link)) {
        if (&other != &one && is_of_place(other, one.is, one.table)) {
            const bool is_staying = stays(other);
            before += other.place < one.place && !is_staying ? 1 : 0;
            is_before_any = is_before_any || (is_staying && other.place > one.place);
        }
    }
    return is_before_any && one.place == before;
}

}  // namespace

bound_routes bound_after_look(const bound_routes& before, const config::node_config& config,
                              std::span<const role_address> all, const model::network_state& seen) {
    const primary_links primary(all, seen);
    const auto kept = routes_to_keep(config, all, seen);
    bound_routes now;
    std::vector<std::uint16_t> places;  // of these
    for (const auto& one : seen.link_routes()) {
        const bool hangs_on_it = (one.is.source && primary.has(*one.is.source)) ||
                                 (one.is.to.address.is_v4() && primary.links().contains(one.link));
        if (hangs_on_it && is_by_hand(one.is) && one.is_plain() && !is_own_default(config, seen, one)) {
            std::size_t at = now.size();
            while (at > 0 && places[at - 1] > one.place && now[at - 1].link == one.link &&
                   is_of_place(one, now[at - 1].is, now[at - 1].table)) {
                --at;
            }
            places.insert(places.begin() + static_cast<std::ptrdiff_t>(at), one.place);
            now.insert(now.begin() + static_cast<std::ptrdiff_t>(at),
                       {std::string(seen.name_of(one.link)), one.link, one.is, one.table, false,
                        is_first_of_all(one, seen, primary, kept)});
        }
    }
    const std::size_t of_now = now.size();
    const auto is_there = [&](const bound_route& one) {
        return std::ranges::any_of(routes_over(seen, one.link), [&](const link_route& other) {
            return other.table == one.table && other.is == one.is;
        });
    };
    const missed what(before, seen);
    for (const auto& one : before) {
        if (is_there(one) || what.is_forgotten(one)) {
            continue;
        }
        now.push_back(one);
        now.back().is_waiting = true;
        now.back().device = seen.name_of(one.link);
    }
    const std::span waiting(now.begin() + static_cast<std::ptrdiff_t>(of_now), now.end());
    bound_routes beside;
    for (const auto& one : waiting.empty() ? bound_routes() : before) {
        const auto is_beside = [&](const bound_route& other) {
            return other.link == one.link &&
                   is_of_place({.is = one.is, .link = one.link, .table = one.table}, other.is, other.table);
        };
        const auto is_it = [&](const bound_route& other) {
            return other.link == one.link && other.table == one.table && other.is == one.is;
        };
        if (is_there(one) && std::ranges::any_of(waiting, is_beside) && std::ranges::none_of(now, is_it)) {
            beside.push_back(one);
            beside.back().is_waiting = false;
        }
    }
    std::ranges::move(beside, std::back_inserter(now));
    return now;
}

bound_routes bound_without(bound_routes all, const placed_address& gone) {
    for (auto& one : all) {
        one.is_waiting = one.is_waiting || one.is.source == gone.address.address ||
                         (one.device == gone.device && one.is.to.address.is_v4() && gone.address.address.is_v4());
    }
    return all;
}

bool is_same_but_for_waiting(const bound_routes& a, const bound_routes& b) {
    return std::ranges::equal(a, b, [](bound_route one, const bound_route& other) {
        one.is_waiting = other.is_waiting;
        return one == other;
    });
}

std::vector<model::add_route> bound_to_add(const bound_routes& all, const model::network_state& seen) {
    std::vector<model::add_route> wanted;
    std::vector<model::add_route> first;  // the last of them is made first
    for (const auto& one : all) {
        if (one.is_waiting && can_stand(one, seen)) {
            (one.comes_first ? first : wanted).push_back({one.is, one.device, one.table, one.device, one.comes_first});
        }
    }
    wanted.insert(wanted.end(), first.rbegin(), first.rend());
    return wanted;
}

namespace {

standing_routes routes_beside_networks(std::span<const role_address> all, const model::network_state& seen) {
    standing_routes kept;
    for (const auto& one : all) {
        const auto* link = seen.find(one.where.device);
        const auto network =
            one.where.address.address.is_v6() ? model::connected_network(one.where.address) : std::nullopt;
        if (link == nullptr || !network || !seen.has_connected_route(link->index, *network)) {
            continue;
        }
        for (const auto& other : routes_over(seen, link->index)) {
            const bool is_it = other.is.to == *network && other.table == model::main_table && other.is_plain() &&
                               !other.is.is_by_gateway() && !other.is.is_local;
            if (is_it) {
                kept[one.where.device].push_back({other});
            }
        }
    }
    return kept;
}

}  // namespace

standing_routes routes_to_keep(const config::node_config& config, std::span<const role_address> all,
                               const model::network_state& seen) {
    const primary_links primary(all, seen);
    standing_routes kept = routes_beside_networks(all, seen);
    for (const int link : primary.links()) {
        auto& here = kept[std::string(seen.name_of(link))];
        // Those by a gateway behind those that lead to it.
        for (const bool is_by_gateway : {false, true}) {
            const auto is_reached = [&](const model::route_way& way) {
                return !way.gateway || way.is_onlink || std::ranges::any_of(here, [&](const standing_route& other) {
                    return !other.is.is.is_by_gateway() && !other.is.is.is_local && is_in(*way.gateway, other.is.is.to);
                });
            };
            for (const auto& one : routes_over(seen, link)) {
                const bool is_it = one.is.to.address.is_v4() && one.is_plain() &&
                                   one.is.is_by_gateway() == is_by_gateway && !is_own_default(config, seen, one);
                if (!is_it || (one.is.source && primary.has(*one.is.source)) ||
                    !std::ranges::all_of(ways_of(one.is), is_reached)) {
                    continue;
                }
                const bool has_twins =
                    one.is_before_others || std::ranges::any_of(seen.link_routes(), [&](const link_route& other) {
                        return other.link != link && is_of_place(other, one.is, one.table);
                    });
                here.push_back({one, has_twins});
            }
        }
    }
    std::erase_if(kept, [](const auto& one) { return one.second.empty(); });
    return kept;
}

namespace {

// "route 10.7.0.0/16 via 10.0.0.9 of table 100 over vmbr7"
std::string words_of(const network_route& is, std::uint32_t table, std::string_view device) {
    return fmt::format("{}{}{}{}", to_text(is),
                       table == model::main_table ? std::string() : fmt::format(" of table {}", table),
                       device.empty() ? "" : " over ", device);
}

}  // namespace

std::set<std::string> routes_not_to_keep(const config::node_config& config, std::span<const role_address> all,
                                         const model::network_state& seen) {
    const primary_links primary(all, seen);
    std::set<std::string> texts;
    for (const auto& one : seen.link_routes()) {
        if (one.is_plain() || !is_by_hand(one.is)) {  // first: a host has a few of the others, and each is held to all
            continue;
        }
        const bool names_it = one.is.source && primary.has(*one.is.source);
        const bool is_v4 = one.is.to.address.is_v4();
        // Of IPv4 the kernel keeps what has a way over another link, and gives it back the others itself.
        const auto is_other_way = [&](const link_route& other) {
            return other.more == one.more && is_of_place(other, one.is, one.table) &&
                   !primary.links().contains(other.link);
        };
        const bool goes_with_link =
            is_v4 && primary.links().contains(one.link) && std::ranges::none_of(seen.link_routes(), is_other_way);
        if ((!names_it && !goes_with_link) || is_own_default(config, seen, one)) {
            continue;
        }
        texts.insert(
            fmt::format("the {} {} with an address of the primary, and {} does not come back with that, "
                        "because {}",
                        words_of(one.is, one.table, seen.name_of(one.link)), is_v4 ? "goes" : "loses its source",
                        is_v4 ? "it" : "the source", one.more));
    }
    return texts;
}

leaving_routes describe_leaving(const config::node_config& config, std::span<const placed_address> found,
                                const model::network_state& seen) {
    std::vector<role_address> all;
    for (const auto& one : found) {
        all.push_back({"what a primary left", role_phase::f, one});
    }
    leaving_routes leaving{{}, routes_not_to_keep(config, all, seen)};
    const auto kept = routes_to_keep(config, all, seen);
    for (const auto& one : bound_after_look({}, config, all, seen)) {
        const auto here = kept.find(one.device);
        const auto is_it = [&](const standing_route& other) {
            return other.is.is == one.is && other.is.table == one.table;
        };
        if (here != kept.end() && std::ranges::any_of(here->second, is_it)) {
            continue;  // none is without it for a moment
        }
        const bool is_v4 = one.is.to.address.is_v4();
        leaving.waiting.insert(fmt::format("the {} {} with an address of the primary, and {} back with that",
                                           words_of(one.is, one.table, one.device), is_v4 ? "goes" : "loses its source",
                                           is_v4 ? "comes" : "gets it"));
    }
    return leaving;
}

}  // namespace pvc::policy
