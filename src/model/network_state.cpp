#include "pvcnoded/model/network_state.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>
#include <string_view>
#include <tuple>
#include <utility>

namespace pvc::model {

namespace {

constexpr unsigned place_bits = 32;

// Of a name, in the upper half; a place of links_ goes into the lower one.
std::uint64_t hash_of(std::string_view name) {
    std::uint32_t hash = 2166136261U;  // FNV-1a
    for (const char one : name) {
        hash = (hash ^ static_cast<std::uint8_t>(one)) * 16777619U;
    }
    return std::uint64_t{hash} << place_bits;
}

std::size_t place_in(std::uint64_t entry) {
    return static_cast<std::uint32_t>(entry);
}

// Those of one place stay in the order of the kernel: it takes the first.
void sort_routes(std::vector<link_route>& all) {
    const auto place_of = [](const link_route& one) {
        return std::tuple(one.link, one.table, one.is.to.address, one.is.to.prefix, one.is.metric);
    };
    if (std::ranges::is_sorted(all, {}, place_of)) {
        return;
    }
    std::vector<std::size_t> order(all.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::sort(order, {}, [&](std::size_t at) { return std::pair(place_of(all[at]), at); });
    std::vector<link_route> sorted;
    sorted.reserve(all.size());
    for (const auto at : order) {
        sorted.push_back(std::move(all[at]));
    }
    all = std::move(sorted);
}

}  // namespace

network_state::network_state(std::vector<network_link> links, std::vector<link_address> addresses,
                             std::vector<default_route> routes, std::vector<link_route> link_routes,
                             std::vector<connected_route> connected, std::vector<link_neighbour> neighbours)
    : links_(std::move(links)),
      routes_(std::move(routes)),
      link_routes_(std::move(link_routes)),
      connected_(std::move(connected)),
      neighbours_(std::move(neighbours)) {
    std::ranges::sort(neighbours_, {},
                      [](const link_neighbour& one) { return std::tuple(one.link, one.is.address, one.is.is_proxy); });
    if (!std::ranges::is_sorted(connected_, {}, &connected_route::link)) {
        // Those of one place that differ by their source stay in the order of the kernel: it takes the first.
        std::multimap<std::tuple<int, ip::address, int>, connected_route> in_order;
        for (auto& one : connected_) {
            const auto place = std::tuple(one.link, one.network.address, one.network.prefix);
            in_order.emplace(place, std::move(one));
        }
        connected_.clear();
        for (auto& [place, one] : in_order) {
            connected_.push_back(std::move(one));
        }
    }
    if (!std::ranges::is_sorted(links_, {}, &network_link::index)) {
        std::ranges::sort(links_, {}, &network_link::index);
    }
    sort_routes(link_routes_);
    // Those of one link stay in the order of the kernel.
    if (std::ranges::is_sorted(addresses, {}, &link_address::link)) {
        addresses_ = std::move(addresses);
    } else {
        std::multimap<int, link_address> by_link;
        for (auto& one : addresses) {
            by_link.emplace(one.link, std::move(one));
        }
        for (auto& [link, one] : by_link) {
            addresses_.push_back(std::move(one));
        }
    }
    by_name_.reserve(links_.size());
    for (std::size_t at = 0; at < links_.size(); ++at) {
        const auto& link = links_[at];
        by_name_.push_back(hash_of(link.name) | at);
        if (link.master != 0) {
            by_master_.push_back(at);
        }
        if (link.lower != 0) {
            by_lower_.push_back(at);
        }
    }
    std::ranges::sort(by_name_);
    std::ranges::sort(by_master_, {}, [this](std::size_t at) { return std::pair(links_[at].master, at); });
    std::ranges::sort(by_lower_, {}, [this](std::size_t at) { return std::pair(links_[at].lower, at); });
}

const network_link* network_state::find(std::string_view name) const {
    const std::uint64_t hash = hash_of(name);
    for (auto at = std::ranges::lower_bound(by_name_, hash);
         at != by_name_.end() && *at >> place_bits == hash >> place_bits; ++at) {
        if (const auto& link = links_[place_in(*at)]; link.name == name) {
            return &link;
        }
    }
    return nullptr;
}

const network_link* network_state::find_by_any_name(std::string_view name) const {
    if (const auto* link = find(name)) {
        return link;
    }
    const auto found = std::ranges::find_if(links_, [&](const network_link& link) {
        return std::ranges::find(link.alt_names, name) != link.alt_names.end();
    });
    return found == links_.end() ? nullptr : &*found;
}

bool network_state::has_connected_route(int link, const host_address& network) const {
    return std::ranges::any_of(std::ranges::equal_range(connected_, link, {}, &connected_route::link),
                               [&](const connected_route& one) { return one.network == network; });
}

std::optional<host_address> connected_network(const host_address& address) {
    const auto prefix = static_cast<unsigned short>(address.prefix);
    if (address.address.is_v4()) {
        const auto network = ip::network_v4(address.address.to_v4(), prefix).canonical();
        const bool has_one = prefix < 32 && !network.address().is_unspecified();
        return has_one ? std::optional(host_address{network.address(), address.prefix}) : std::nullopt;
    }
    const auto network = ip::network_v6(address.address.to_v6(), prefix).canonical();
    return prefix < 128 ? std::optional(host_address{network.address(), address.prefix}) : std::nullopt;
}

const network_link* network_state::find(int index) const {
    const auto found = std::ranges::lower_bound(links_, index, {}, &network_link::index);
    return found == links_.end() || found->index != index ? nullptr : &*found;
}

std::string_view network_state::name_of(int index) const {
    const auto* link = find(index);
    return link == nullptr ? std::string_view() : std::string_view(link->name);
}

std::vector<const network_link*> network_state::ports_of(int master) const {
    std::vector<const network_link*> found;
    for (const auto at :
         std::ranges::equal_range(by_master_, master, {}, [this](std::size_t one) { return links_[one].master; })) {
        found.push_back(&links_[at]);
    }
    return found;
}

std::vector<const network_link*> network_state::standing_on(int lower) const {
    std::vector<const network_link*> found;
    for (const auto at :
         std::ranges::equal_range(by_lower_, lower, {}, [this](std::size_t one) { return links_[one].lower; })) {
        found.push_back(&links_[at]);
    }
    return found;
}

std::vector<link_address> network_state::addresses_of(int link) const {
    const auto found = std::ranges::equal_range(addresses_, link, {}, &link_address::link);
    return {found.begin(), found.end()};
}

}  // namespace pvc::model
