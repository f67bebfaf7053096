// What routers advertise to the simulated kernel, and the settings of a link that say what it makes of that.
#include "sim/network/sim_kernel.hpp"

#include <algorithm>

namespace pvc::sim {

namespace {
constexpr std::uint32_t metric_of_router = 1024;
}  // namespace

void sim_kernel::advertise(const std::string& device, const ip::network_v6& prefix) {
    auto* which = find(device);
    if (which == nullptr || !which->is.is_running || !which->has_v6 || which->is_v6_off) {
        return;
    }
    const int accepts = sysctls_.of(device, sysctl_family::v6, "accept_ra");
    if (accepts == 0 || (accepts == 1 && which->is_forwarding_v6)) {
        return;
    }
    const auto router = ip::address(*parse_address_v6("fe80::ff"));
    const model::link_route wanted{.is = {.to = {ip::address_v6(), 0}, .gateway = router, .metric = metric_of_router},
                                   .link = which->is.index};
    const bool has_route = std::ranges::any_of(routes_, [&](const route_entry& one) { return one.is == wanted; });
    if (!has_route) {
        routes_.push_back({.is = wanted, .is_advertised = true});
    }
    auto bytes = prefix.canonical().address().to_bytes();
    bytes.back() = static_cast<unsigned char>(which->is.index);
    const host_address own{ip::address_v6(bytes), 64};
    const bool has_address =
        std::ranges::any_of(which->v6, [&](const address_entry& one) { return one.is.address == own; });
    if (sysctls_.of(device, sysctl_family::v6, "autoconf") != 0 && !has_address) {
        which->v6.insert(
            which->v6.begin(),
            {.is = {.link = which->is.index, .address = own, .is_permanent = false, .lifetime = {86400, 86400}}});
    }
    settle();
}

void sim_kernel::sysctls_have_changed() {
    for (auto& [index, one] : devices_) {
        follow_sysctls(one);
    }
}

void sim_kernel::follow_sysctls(device& which) {
    const auto value = [&](std::string_view name) { return sysctls_.of(which.is.name, sysctl_family::v6, name); };
    const bool is_off = value("disable_ipv6") != 0;
    const bool was_off = std::exchange(which.is_v6_off, is_off);
    if (is_off && !was_off) {
        drop_v6(which);
    } else if (was_off && !is_off && which.is.is_running) {
        add_own_addresses(which);
    }
    const bool is_forwarding = value("forwarding") != 0;
    const bool was_forwarding = std::exchange(which.is_forwarding_v6, is_forwarding);
    if (is_forwarding && !was_forwarding && value("accept_ra") != 2) {
        std::erase_if(routes_,
                      [&](const route_entry& route) { return route.is_advertised && route.is.link == which.is.index; });
    }
}

// The kernel tells of these alone (RTM_NEWNETCONF).
void sim_kernel::tell_setting(const std::string& key) {
    const bool is_told = key.ends_with("forward") || key.ends_with("/forwarding") ||
                         (key.starts_with("net/ipv6/") && key.ends_with("/rp_filter"));
    if (!is_told) {
        return;
    }
    const auto end = key.rfind('/');
    const auto begin = key.rfind('/', end - 1) + 1;
    const auto* of = find(std::string_view(key).substr(begin, end - begin));
    (of == nullptr ? told_settings_.of_all : told_settings_.of_link[of->is.index]) = ++told_settings_.last;
    if (changed) {
        changed();
    }
}

bool sim_kernel::has_advertised_route(const std::string& device) const {
    const auto* which = find(device);
    return which != nullptr && std::ranges::any_of(routes_, [&](const route_entry& one) {
               return one.is_advertised && one.is.link == which->is.index;
           });
}

}  // namespace pvc::sim
