#include "pvcnoded/model/network_state.hpp"

#include <algorithm>
#include <tuple>

namespace pvc::model {

network_state::network_state(std::vector<network_link> links, std::vector<link_address> addresses,
                             std::vector<default_route> routes, std::vector<link_route> link_routes)
    : links_(std::move(links)), routes_(std::move(routes)), link_routes_(std::move(link_routes)) {
    std::ranges::sort(links_, {}, &network_link::index);
    std::ranges::sort(link_routes_, {}, [](const link_route& one) {
        return std::tuple(one.link, one.table, one.is.to.address, one.is.to.prefix, one.is.metric, one.is.gateway);
    });
    // Those of one link stay in the order of the kernel.
    std::multimap<int, link_address> by_link;
    for (auto& one : addresses) {
        by_link.emplace(one.link, std::move(one));
    }
    for (auto& [link, one] : by_link) {
        addresses_.push_back(std::move(one));
    }
    for (std::size_t at = 0; at < links_.size(); ++at) {
        const auto& link = links_[at];
        by_name_.emplace(link.name, at);
        if (link.master != 0) {
            by_master_.emplace(link.master, at);
        }
        if (link.lower != 0) {
            by_lower_.emplace(link.lower, at);
        }
    }
}

const network_link* network_state::find(std::string_view name) const {
    const auto found = by_name_.find(name);
    return found == by_name_.end() ? nullptr : &links_[found->second];
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
    const auto [first, last] = by_master_.equal_range(master);
    std::for_each(first, last, [&](const auto& one) { found.push_back(&links_[one.second]); });
    return found;
}

std::vector<const network_link*> network_state::standing_on(int lower) const {
    std::vector<const network_link*> found;
    const auto [first, last] = by_lower_.equal_range(lower);
    std::for_each(first, last, [&](const auto& one) { found.push_back(&links_[one.second]); });
    return found;
}

std::vector<link_address> network_state::addresses_of(int link) const {
    const auto found = std::ranges::equal_range(addresses_, link, {}, &link_address::link);
    return {found.begin(), found.end()};
}

}  // namespace pvc::model
