#include "pvcnoded/policy/role/role_addresses.hpp"

#include <algorithm>

namespace pvc::policy {

namespace {

// What the primary answers metadata questions of its guests on (networking.md 6, 11).
host_address metadata_address() {
    constexpr ip::address_v4::bytes_type link_local{169, 254, 169, 254};
    return {ip::address_v4(link_local), 32};
}

// Two prefix lengths on one device are one address to everybody else.
bool is_same(const placed_address& a, const placed_address& b) {
    return a.device == b.device && a.address.address == b.address.address;
}

}  // namespace

std::string placed_address::text() const {
    return address.text() + " on " + device;
}

std::vector<role_address> role_addresses(const config::node_config& config) {
    std::vector<role_address> all;
    if (!config.functions.networking) {
        return all;
    }
    const auto& networks = config.networks;
    const auto add = [&all](std::string_view what, role_phase when, const config::static_network& network) {
        all.push_back({what, when, {network.bridge, network.floating_ip}, address_wish::as_found});
    };
    add("upstream floating address", role_phase::c, networks.upstream);
    add("cluster floating address", role_phase::d, networks.cluster);
    add("storage floating address", role_phase::d, networks.storage);
    all.push_back({"metadata address", role_phase::e, {"lo", metadata_address()}, address_wish::as_found});
    return all;
}

address_work work_on(std::span<const role_address> all, std::span<const placed_address> present) {
    address_work work;
    for (auto one = all.begin(); one != all.end(); ++one) {
        const auto is_of_it = [&](const auto& other) { return is_same(other.where, one->where); };
        if (std::find_if(all.begin(), one, is_of_it) != one) {
            continue;  // the first of its users speaks for all
        }
        const auto wanting = std::ranges::find_if(
            all, [&](const role_address& other) { return is_of_it(other) && other.wish == address_wish::wanted; });
        if (wanting != all.end() && std::ranges::find(present, wanting->where) == present.end()) {
            work.add.push_back(wanting->where);
        }
        const bool is_left_alone = wanting == all.end() && std::ranges::any_of(all, [&](const role_address& other) {
                                       return is_of_it(other) && other.wish == address_wish::as_found;
                                   });
        for (const auto& found : present) {
            const bool is_right = wanting != all.end() && found == wanting->where;
            if (is_same(found, one->where) && !is_left_alone && !is_right) {
                work.remove.push_back(found);
            }
        }
    }
    return work;
}

}  // namespace pvc::policy
