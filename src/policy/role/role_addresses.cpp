#include "pvcnoded/policy/role/role_addresses.hpp"

#include <map>
#include <utility>

namespace pvc::policy {

namespace {

// What the primary answers metadata questions of its guests on (networking.md 6, 11).
host_address metadata_address() {
    constexpr ip::address_v4::bytes_type link_local{169, 254, 169, 254};
    return {ip::address_v4(link_local), 32};
}

// Two prefix lengths on one device are one address to everybody else.
using place = std::pair<std::string_view, ip::address>;

place place_of(const placed_address& one) {
    return {one.device, one.address.address};
}

// All that is known of one place.
struct at_place {
    const role_address* wanting = nullptr;  // the first user that wants it
    bool is_left_alone = false;             // somebody leaves it as it was found, and nobody wants it
    bool is_done = false;
    std::vector<const placed_address*> present;
};

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
    std::map<place, at_place> places;
    for (const auto& one : all) {
        auto& at = places[place_of(one.where)];
        if (at.wanting == nullptr && one.wish == address_wish::wanted) {
            at.wanting = &one;
        }
        at.is_left_alone = at.is_left_alone || one.wish == address_wish::as_found;
    }
    for (const auto& found : present) {
        if (const auto at = places.find(place_of(found)); at != places.end()) {
            at->second.present.push_back(&found);
        }
    }
    address_work work;
    for (const auto& one : all) {
        auto& at = places[place_of(one.where)];
        if (std::exchange(at.is_done, true)) {
            continue;  // the first of its users spoke for all
        }
        bool is_there = false;
        for (const auto* found : at.present) {
            const bool is_right = at.wanting != nullptr && *found == at.wanting->where;
            is_there = is_there || is_right;
            if (!is_right && (at.wanting != nullptr || !at.is_left_alone)) {
                work.remove.push_back(*found);
            }
        }
        if (at.wanting != nullptr && !is_there) {
            work.add.push_back(at.wanting->where);
        }
    }
    return work;
}

}  // namespace pvc::policy
