#include "sim/network/sim_kernel.hpp"
#include "sim/network/sim_links.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace pvc::sim {

namespace {

constexpr int mtu_min = 68;
constexpr int mtu_max = 65535;
constexpr int mtu_of_ipv6 = 1280;
constexpr int vxlan_overhead = 50;
constexpr std::uint16_t vlan_max = 4094;
constexpr int loopback_mtu = 65536;

failure refused(const std::string& device, std::string why) {
    return failure(errc::refused, device, std::move(why));
}

failure no_device(const std::string& device) {
    return failure(errc::not_found, device, "No such device");
}

std::string in_words(const model::network_link& link) {
    std::string text = link.kind.empty() ? "a device" : "a link of kind " + link.kind;
    if (link.vxlan) {
        text += fmt::format(", VNI {}, port {}", link.vxlan->vni, link.vxlan->port);
    }
    return link.vlan_id ? text + fmt::format(", id {}", *link.vlan_id) : text;
}

// No second one of these may be there, whatever its name.
bool collides(const model::network_link& a, const model::network_link& b) {
    if (a.vxlan && b.vxlan) {
        return a.vxlan->vni == b.vxlan->vni && a.vxlan->port == b.vxlan->port;
    }
    return a.vlan_id && b.vlan_id && *a.vlan_id == *b.vlan_id && a.lower == b.lower;
}

}  // namespace

sim_kernel::sim_kernel()
    : sim_kernel({{"ens4", ethernet_mtu, "brupstream"},
                  {"ens5", ethernet_mtu, "brcluster"},
                  {"ens6", ethernet_mtu, "brstorage"}}) {}

sim_kernel::sim_kernel(std::vector<machine_device> devices, std::string_view host) : machine_(std::move(devices)) {
    for (const char one : host) {
        host_ = static_cast<std::uint8_t>(host_ * 31 + one);
    }
    boot();
}

const sim_kernel::device* sim_kernel::find(std::string_view name) const {
    auto found = std::ranges::find_if(devices_, [&](const auto& one) { return one.second.is.name == name; });
    if (found == devices_.end()) {
        found = std::ranges::find_if(devices_, [&](const auto& one) {
            return std::ranges::find(one.second.is.alt_names, name) != one.second.is.alt_names.end();
        });
    }
    return found == devices_.end() ? nullptr : &found->second;
}

sim_kernel::device* sim_kernel::find(std::string_view name) {
    return const_cast<device*>(std::as_const(*this).find(name));
}

sim_kernel::device* sim_kernel::find(int index) {
    const auto found = devices_.find(index);
    return found == devices_.end() ? nullptr : &found->second;
}

std::vector<int> sim_kernel::standing_on(int lower) const {
    std::vector<int> found;
    for (const auto& [index, one] : devices_) {
        if (one.is.lower == lower) {
            found.push_back(index);
        }
    }
    return found;
}

std::vector<int> sim_kernel::ports_of(int master) const {
    std::vector<int> found;
    for (const auto& [index, one] : devices_) {
        if (one.is.master == master) {
            found.push_back(index);
        }
    }
    return found;
}

void sim_kernel::boot() {
    devices_.clear();
    routes_.clear();
    lost_.clear();
    neighbours_.clear();
    sysctls_ = sim_sysctls();
    next_index_ = 1;
    auto& lo = create(link_of("lo", "", loopback_mtu));
    lo.is.is_loopback = lo.is.is_up = true;
    for (const auto& one : machine_) {
        add_device(one.name);
    }
    settle();
    if (on_boot) {
        on_boot(*this);
    }
}

sim_kernel::device& sim_kernel::create(model::network_link link) {
    link.index = next_index_++;
    auto& made = devices_[link.index];
    made.is = std::move(link);
    if (made.is.hardware != model::hardware_address()) {
        made.has_fixed_hardware = true;
    } else if (!made.is.is_loopback && !made.is.vlan_id) {
        // Taps have large ones, as libvirt makes them: no bridge takes them over. Others: random ones.
        const std::uint8_t kind = made.is.kind.empty() ? 0x52 : made.is.kind == "tun" ? 0xfe : 0x3a;
        made.is.hardware = {kind,
                            0x54,
                            0,
                            host_,
                            static_cast<std::uint8_t>(made.is.index >> 8),
                            static_cast<std::uint8_t>(made.is.index)};
    }
    sysctls_.add_link(made.is.name, sysctl_family::v4);
    made.has_v6 = made.is.mtu >= mtu_of_ipv6;
    if (made.has_v6) {
        sysctls_.add_link(made.is.name, sysctl_family::v6);
    }
    follow_sysctls(made);
    return made;
}

result<void> sim_kernel::make(model::network_link wanted, const std::string& lower) {
    if (!is_name(wanted.name)) {
        return refused(wanted.name, "Invalid argument");
    }
    if (!lower.empty()) {
        const auto* below = find(lower);
        if (below == nullptr) {
            return no_device(lower);
        }
        if (wanted.vlan_id && (*wanted.vlan_id > vlan_max || below->is.is_loopback)) {
            return refused(wanted.name, below->is.is_loopback ? "VLANs not supported on device" : "Invalid VLAN id");
        }
        wanted.lower = below->is.index;
        wanted.mtu = wanted.vxlan ? std::max(below->is.mtu - vxlan_overhead, mtu_min) : below->is.mtu;
    }
    if (const auto* there = find(wanted.name)) {
        const bool is_name = there->is.name == wanted.name;
        return failure(errc::already_exists, wanted.name,
                       is_name ? in_words(there->is) : "it is another name of " + there->is.name);
    }
    for (const auto& [index, one] : devices_) {
        if (collides(one.is, wanted)) {
            return refused(wanted.name, one.is.name + " is the same");
        }
    }
    create(std::move(wanted));
    return {};
}

result<void> sim_kernel::set_up(device& which) {
    if (which.is.is_up) {
        return {};
    }
    if (const auto* below = find(which.is.lower); which.is.vlan_id && (below == nullptr || !below->is.is_up)) {
        return refused(which.is.name, "Network is down");
    }
    which.is.is_up = true;
    forget_lost(which.is.index);
    for (const int index : standing_on(which.is.index)) {
        if (auto& above = devices_.at(index); above.is.vlan_id) {
            ignore(set_up(above), "what it stands on is up");
        }
    }
    return {};
}

void sim_kernel::set_down(device& which) {
    if (!which.is.is_up) {
        return;
    }
    for (const int index : standing_on(which.is.index)) {
        if (auto& above = devices_.at(index); above.is.vlan_id) {
            set_down(above);
        }
    }
    which.is.is_up = false;
    which.is.is_running = false;
    which.v6.clear();
    std::erase_if(neighbours_, [&](const auto& one) { return one.link == which.is.index && !one.is.is_proxy; });
    drop_routes(which.is.index, false);
    drop_routes(which.is.index, true);
}

result<void> sim_kernel::set_mtu(device& which, int mtu) {
    if (mtu == which.is.mtu) {
        return {};  // nor does a bridge keep it as somebody's word then
    }
    if (!which.is.is_loopback && mtu < mtu_min) {
        return refused(which.is.name, "mtu less than device minimum");
    }
    if (!which.is.is_loopback && mtu > mtu_max) {
        return refused(which.is.name, "mtu greater than device maximum");
    }
    const auto* below = find(which.is.lower);
    if (which.is.vxlan && below != nullptr && mtu > below->is.mtu - vxlan_overhead) {
        return refused(which.is.name, "Invalid argument");
    }
    if (which.is.vlan_id && below != nullptr && mtu > below->is.mtu) {
        return refused(which.is.name, "Numerical result out of range");
    }
    which.is.mtu = mtu;
    which.has_fixed_mtu = which.is.kind == "bridge";
    mtu_has_changed(which);
    return {};
}

void sim_kernel::mtu_has_changed(device& which) {
    const bool has_v6 = which.is.mtu >= mtu_of_ipv6;
    if (!has_v6 && which.has_v6) {
        drop_v6(which);
        sysctls_.remove_link(which.is.name, sysctl_family::v6);
    } else if (has_v6 && !which.has_v6) {
        sysctls_.add_link(which.is.name, sysctl_family::v6);
    }
    const bool is_new = has_v6 && !which.has_v6;
    which.has_v6 = has_v6;
    if (is_new) {
        told_settings_.of_link[which.is.index] = ++told_settings_.last;
        follow_sysctls(which);
        if (which.is.is_running) {
            add_own_addresses(which);
        }
    }
    for (const int index : standing_on(which.is.index)) {
        if (auto& above = devices_.at(index); above.is.vlan_id && above.is.mtu > which.is.mtu) {
            above.is.mtu = which.is.mtu;
            mtu_has_changed(above);
        }
    }
}

result<void> sim_kernel::set_master(device& which, const std::string& master) {
    if (master.empty()) {
        which.is.master = 0;
        return {};
    }
    auto* bridge = find(master);
    if (bridge == nullptr) {
        return no_device(master);
    }
    if (which.is.master == bridge->is.index) {
        return {};
    }
    if (bridge->is.kind != "bridge") {
        return refused(which.is.name, "Operation not supported");
    }
    if (std::ranges::any_of(standing_on(which.is.index),
                            [&](int index) { return devices_.at(index).is.kind == "macvlan"; })) {
        return refused(which.is.name, "Device or resource busy");
    }
    which.is.master = 0;  // also where the other one does not take it
    const bool has_no_frames = which.is.kind == "tun" && which.is.hardware == model::hardware_address();
    if (which.is.is_loopback || which.is.kind == "bridge" || has_no_frames) {
        return refused(which.is.name, "Invalid argument");
    }
    which.is.master = bridge->is.index;
    bridge->had_ports = true;
    return {};
}

void sim_kernel::destroy(int index) {
    const auto found = devices_.find(index);
    if (found == devices_.end()) {
        return;
    }
    for (const int port : ports_of(index)) {
        devices_.at(port).is.master = 0;
    }
    for (const int above : standing_on(index)) {
        destroy(above);
    }
    drop_routes(index, false);
    drop_routes(index, true);
    forget_lost(index);
    std::erase_if(neighbours_, [index](const auto& one) { return one.link == index; });
    sysctls_.remove_link(found->second.is.name, sysctl_family::v4);
    sysctls_.remove_link(found->second.is.name, sysctl_family::v6);
    told_settings_.of_link.erase(index);
    devices_.erase(found);
}

void sim_kernel::follow_ports(device& bridge) {
    if (bridge.is.kind != "bridge" || bridge.has_fixed_mtu) {
        return;
    }
    int smallest = 0;
    for (const auto& [index, port] : devices_) {
        if (port.is.master == bridge.is.index) {
            smallest = smallest == 0 ? port.is.mtu : std::min(smallest, port.is.mtu);
        }
    }
    if (const int mtu = smallest == 0 ? ethernet_mtu : smallest; mtu != bridge.is.mtu) {
        bridge.is.mtu = mtu;
        mtu_has_changed(bridge);
    }
}

bool sim_kernel::carrier_of(const device& which) const {
    if (which.is.kind == "bridge") {
        return !which.had_ports || std::ranges::any_of(devices_, [&](const auto& one) {
            return one.second.is.master == which.is.index && one.second.is.is_running;
        });
    }
    if (which.is.vlan_id) {
        const auto below = devices_.find(which.is.lower);
        return below != devices_.end() && below->second.is.is_running;
    }
    return which.has_carrier;
}

void sim_kernel::settle() {
    ++generation_;
    for (auto& [index, one] : devices_) {
        follow_ports(one);
    }
    for (const bool is_bridge : {false, true}) {
        for (auto& [index, one] : devices_) {
            if ((one.is.kind == "bridge") == is_bridge) {
                follow_hardware(one);
            }
        }
    }
    for (bool again = true; again;) {
        again = false;
        for (auto& [index, one] : devices_) {
            const bool is_running = one.is.is_up && carrier_of(one);
            if (is_running != one.is.is_running) {
                one.is.is_running = is_running;
                again = true;
                if (is_running) {
                    add_own_addresses(one);
                }
            }
        }
    }
    if (is_as_told()) {
        return;
    }
    told_routes_ = routes_;
    told_lost_ = lost_;
    told_neighbours_ = neighbours_;
    auto now = make_state();
    const auto valid = [](const model::link_address& one) { return one.lifetime.valid; };
    if (now != told_ || !std::ranges::equal(now.addresses(), told_.addresses(), {}, valid, valid)) {
        told_ = std::move(now);
        if (changed) {
            changed();
        }
    }
}

struct sim_kernel::applying {
    sim_kernel& kernel;

    template <class Act>
    result<void> to(const std::string& name, Act act) const {
        auto* which = kernel.find(name);
        return which == nullptr ? result<void>(no_device(name)) : act(*which);
    }
    result<void> operator()(const model::make_bridge& one) const {
        auto wanted = link_of(one.name, "bridge");
        wanted.hardware = one.hardware;
        return kernel.make(std::move(wanted), "");
    }
    result<void> operator()(const model::make_vlan& one) const {
        auto wanted = link_of(one.name, "vlan");
        wanted.vlan_id = one.id;
        return kernel.make(std::move(wanted), one.parent);
    }
    result<void> operator()(const model::make_vxlan& one) const {
        auto wanted = link_of(one.name, "vxlan");
        wanted.vxlan.emplace();
        wanted.vxlan->vni = one.vni;
        wanted.vxlan->port = one.port;
        return kernel.make(std::move(wanted), one.lower);
    }
    result<void> operator()(const model::plain_vxlan& one) const {
        return to(one.name, [&](device& which) {
            if (!which.is.vxlan) {
                return result<void>(failure(errc::already_exists, one.name, in_words(which.is)));
            }
            which.is.vxlan = model::vxlan_settings{.vni = which.is.vxlan->vni, .port = which.is.vxlan->port};
            return result<void>();
        });
    }
    result<void> operator()(const model::set_arp_on& one) const {
        return to(one.name, [](device& which) {
            which.is.is_arp_off = false;
            return result<void>();
        });
    }
    result<void> operator()(const model::rename_link& one) const { return kernel.rename(one.index, one.name); }
    result<void> operator()(const model::set_hardware& one) const {
        return to(one.name, [&](device& which) {
            which.is.hardware = one.hardware;
            which.has_fixed_hardware = true;
            return result<void>();
        });
    }
    result<void> operator()(const model::set_up& one) const {
        return to(one.name, [&](device& which) { return kernel.set_up(which); });
    }
    result<void> operator()(const model::set_down& one) const {
        if (auto* which = kernel.find(one.name)) {
            kernel.set_down(*which);
        }
        return {};
    }
    result<void> operator()(const model::set_mtu& one) const {
        return to(one.name, [&](device& which) { return kernel.set_mtu(which, one.mtu); });
    }
    result<void> operator()(const model::set_master& one) const {
        return to(one.name, [&](device& which) -> result<void> {
            const bool is_other = one.if_free != 0 && (which.is.index != one.if_free || which.is.master != 0);
            return is_other ? result<void>() : kernel.set_master(which, one.master);
        });
    }
    result<void> operator()(const model::delete_link& one) const {
        const auto* which = kernel.find(one.name);
        if (which != nullptr && which->is.kind.empty()) {
            return refused(one.name, "Operation not supported");
        }
        if (which != nullptr) {
            kernel.destroy(which->is.index);
        }
        return {};
    }
    result<void> operator()(const model::add_address& one) const {
        return to(one.device, [&](device& which) { return kernel.add_address(which, one); });
    }
    result<void> operator()(const model::remove_address& one) const {
        if (auto* which = kernel.find(one.device)) {
            kernel.remove_address(*which, one.address, one.peer);
        }
        return {};
    }
    result<void> operator()(const model::add_default_route& one) const {
        if (one.gateway.is_v6()) {
            return failure(errc::refused, "default route", "only those of IPv4 are set");
        }
        const model::network_route wanted{.to = {ip::address_v4(), 0}, .gateway = one.gateway};
        return to(one.device, [&](device& which) { return kernel.add_route(wanted, which); });
    }
    result<void> operator()(const model::remove_default_route& one) const {
        if (const auto* which = kernel.find(one.device)) {
            std::erase_if(kernel.routes_, [&](const route_entry& route) {
                return route.is.is.is_default() && route.is.is.gateway == one.gateway &&
                       route.is.link == which->is.index;
            });
        }
        return {};
    }
    result<void> operator()(const model::add_route& one) const {
        return to(one.device, [&](device& which) {
            return kernel.add_route(one.route, which, one.table, one.moves_from, one.comes_first);
        });
    }
    result<void> operator()(const model::remove_route& one) const {
        if (const auto* which = kernel.find(one.device)) {
            const auto erased = std::erase_if(kernel.routes_, [&](const route_entry& route) {
                return route.is.is == one.route && route.is.link == which->is.index && route.is.table == one.table;
            });
            if (erased == 0 && is_connected({.is = one.route, .table = one.table}) &&
                kernel.is_of_address(*which, one.route)) {
                kernel.lost_.push_back({which->is.index, one.route.to});
            }
        }
        return {};
    }
    result<void> operator()(const model::add_neighbour& one) const {
        return to(one.device, [&](device& which) {
            std::erase_if(kernel.neighbours_, [&](const model::link_neighbour& there) {
                return there.link == which.is.index && there.is.address == one.neighbour.address &&
                       there.is.is_proxy == one.neighbour.is_proxy;
            });
            kernel.neighbours_.push_back({which.is.index, one.neighbour});
            return result<void>();
        });
    }
    result<void> operator()(const model::remove_neighbour& one) const {
        if (const auto* which = kernel.find(one.device)) {
            std::erase(kernel.neighbours_, model::link_neighbour{which->is.index, one.neighbour});
        }
        return {};
    }
    result<void> operator()(const model::set_sysctl& one) const {
        auto written = kernel.sysctls_.write(one.key, one.value);
        if (one.key.starts_with("net/ipv6/")) {
            kernel.sysctls_have_changed();
        }
        kernel.tell_setting(one.key);
        return written;
    }
    result<void> operator()(const model::tx_checksum_off& one) const {
        return to(one.device, [](device& which) {
            which.has_checksums = which.is.is_loopback;
            return result<void>();
        });
    }
};

result<void> sim_kernel::apply(const model::network_change& change) {
    auto done = std::visit(applying{*this}, change);
    settle();
    return done;
}

// What make_state() would be made of is what it was made of.
bool sim_kernel::is_as_told() const {
    const auto links = told_.links();
    const auto addresses = told_.addresses();
    if (links.size() != devices_.size() || routes_ != told_routes_ || lost_ != told_lost_ ||
        neighbours_ != told_neighbours_) {
        return false;
    }
    std::size_t link = 0;
    std::size_t address = 0;
    for (const auto& [index, one] : devices_) {
        if (links[link++] != one.is) {
            return false;
        }
        for (const auto* family : {&one.v4, &one.v6}) {
            for (const auto& entry : *family) {
                if (address == addresses.size() || addresses[address] != entry.is ||
                    addresses[address++].lifetime.valid != entry.is.lifetime.valid) {
                    return false;
                }
            }
        }
    }
    return address == addresses.size();
}

bool sim_kernel::is_connected(const model::link_route& route) {
    constexpr std::uint8_t of_kernel = 2;
    return route.is.protocol == of_kernel && !route.is.is_by_gateway() && route.table == model::main_table;
}

model::network_state sim_kernel::make_state() const {
    std::vector<model::network_link> links;
    std::vector<model::link_address> addresses;
    std::vector<model::default_route> routes;
    links.reserve(devices_.size());
    addresses.reserve(2 * devices_.size());
    for (const auto& [index, one] : devices_) {
        links.push_back(one.is);
        for (const auto* family : {&one.v4, &one.v6}) {
            std::ranges::transform(*family, std::back_inserter(addresses), &address_entry::is);
        }
    }
    std::vector<model::link_route> link_routes;
    for (const auto& one : routes_) {
        if (one.is.is.to.address.is_v4() && one.is.is.is_default() && one.is.table == model::main_table) {
            for (const auto& way : one.is.is.ways) {
                routes.push_back({way.gateway.value_or(ip::address_v4()), one.is.link, one.is.is.metric});
            }
            if (one.is.is.ways.empty()) {
                routes.push_back({one.is.is.gateway.value_or(ip::address_v4()), one.is.link, one.is.is.metric});
            }
        }
        if (!one.is_advertised && !is_connected(one.is)) {
            link_routes.push_back(one.is);
            note_order(link_routes.back(), one);
        }
    }
    return {std::move(links),       std::move(addresses), std::move(routes),
            std::move(link_routes), connected_routes(),   neighbours_};
}

}  // namespace pvc::sim
