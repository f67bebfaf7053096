// tidy-allow-file(unit-folder): what tests use and no test itself: tests/CMakeLists.txt names it
#include "toy_kernel.hpp"

#include <algorithm>
#include <limits>

namespace pvc::policy {

namespace {

bool is_in(const ip::address& address, const host_address& network) {
    const auto prefix = static_cast<unsigned short>(network.prefix);
    if (address.is_v4() != network.address.is_v4()) {
        return false;
    }
    return address.is_v4() ? ip::network_v4(address.to_v4(), prefix).canonical() ==
                                 ip::network_v4(network.address.to_v4(), prefix).canonical()
                           : ip::network_v6(address.to_v6(), prefix).canonical() ==
                                 ip::network_v6(network.address.to_v6(), prefix).canonical();
}

constexpr int usual_mtu = 1500;
constexpr int smallest_link_mtu = 68;
constexpr int header_of_vxlan = 50;
}  // namespace

model::network_link* toy_kernel::find(const std::string& name) {
    const auto found = links_.find(name);
    return found == links_.end() ? nullptr : &found->second;
}

model::network_link* toy_kernel::find(int index) {
    for (auto& [name, link] : links_) {
        if (link.index == index) {
            return &link;
        }
    }
    return nullptr;
}

// br_mtu_auto_adjust
void toy_kernel::follow_ports(int bridge) {
    auto* link = find(bridge);
    if (link == nullptr || link->kind != "bridge" || settings_[bridge].is_mtu_set) {
        return;
    }
    int least = std::numeric_limits<int>::max();
    for (const auto& [name, port] : links_) {
        least = port.master == bridge ? std::min(least, port.mtu) : least;
    }
    link->mtu = least == std::numeric_limits<int>::max() ? usual_mtu : least;
}

void toy_kernel::drop(int index) {
    std::vector<std::string> with_it;
    std::string name;
    int master = 0;
    for (auto& [other_name, other] : links_) {
        if (other.index == index) {
            name = other_name;
            master = other.master;
        } else if (other.lower == index && other.kind != "veth") {
            with_it.push_back(other_name);
        } else if (other.master == index) {
            other.master = 0;
        }
    }
    links_.erase(name);
    settings_.erase(index);
    std::erase_if(addresses_, [&](const auto& one) { return one.link == index; });
    std::erase_if(routes_, [&](const auto& one) { return one.link == index; });
    std::erase_if(neighbours_, [&](const auto& one) { return one.link == index; });
    follow_ports(master);
    for (const auto& other : with_it) {
        remove(other);
    }
}

int toy_kernel::add(model::network_link link) {
    link.index = next_index_++;
    link.mtu = link.mtu == 0 ? usual_mtu : link.mtu;
    link.is_running = link.is_up;
    const int index = link.index;
    settings_[index].is_mtu_set = link.kind == "bridge";
    links_[link.name] = std::move(link);
    return index;
}

void toy_kernel::add_address(const std::string& device, const std::string& text, bool is_permanent) {
    const auto address = *parse_host_address(text);
    const bool is_global = !(address.address.is_v6() && address.address.to_v6().is_link_local());
    addresses_.push_back(
        {link(device).index, address, is_global ? model::universe_scope : model::link_scope, is_permanent});
    addresses_.back().lifetime = is_permanent ? model::address_lifetime() : model::address_lifetime{600, 600};
}

void toy_kernel::add_address(const std::string& device, model::link_address address) {
    address.link = link(device).index;
    addresses_.push_back(std::move(address));
}

void toy_kernel::add_address_of_scope_link(const std::string& device, const std::string& text) {
    add_address(device, text);
    addresses_.back().scope = model::link_scope;
}

void toy_kernel::add_address_with_peer(const std::string& device, const std::string& text, const std::string& peer) {
    add_address(device, text);
    addresses_.back().peer = *parse_address(peer);
}

void toy_kernel::add_route(const std::string& device, model::link_route route) {
    route.link = link(device).index;
    routes_.push_back(std::move(route));
}

void toy_kernel::add_route(const std::string& gateway, const std::string& device, std::uint32_t metric) {
    const auto by = *parse_address(gateway);
    const ip::address all = by.is_v4() ? ip::address(ip::address_v4()) : ip::address(ip::address_v6());
    add_route(device, {.is = {.to = {all, 0}, .gateway = by, .metric = metric}});
}

void toy_kernel::remove(const std::string& name) {
    if (const auto* link = find(name)) {
        drop(link->index);
    }
}

struct toy_kernel::applying {
    toy_kernel& kernel;

    std::string make(const std::string& name, const std::string& kind, const std::string& lower,
                     model::network_link link) const {
        if (const auto* there = kernel.find(name)) {
            return there->kind == kind ? "" : name + ": already exists";
        }
        if (!lower.empty() && kernel.find(lower) == nullptr) {
            return lower + ": no such device";
        }
        link.name = name;
        link.kind = kind;
        if (!lower.empty()) {
            link.lower = kernel.find(lower)->index;
            link.mtu = kernel.find(lower)->mtu - (kind == "vxlan" ? header_of_vxlan : 0);
        }
        kernel.settings_[kernel.add(std::move(link))].is_mtu_set = false;
        return "";
    }
    std::string operator()(const model::make_bridge& one) const {
        model::network_link link;
        link.hardware = one.hardware;
        return make(one.name, "bridge", "", std::move(link));
    }
    std::string operator()(const model::set_arp_on& one) const {
        auto* link = kernel.find(one.name);
        if (link == nullptr) {
            return one.name + ": no such device";
        }
        link->is_arp_off = false;
        return "";
    }
    std::string operator()(const model::rename_link& one) const {
        auto* link = kernel.find(one.index);
        if (link == nullptr || kernel.find(one.name) != nullptr) {
            return one.name + ": not there, or somebody's";
        }
        auto node = kernel.links_.extract(link->name);
        node.key() = node.mapped().name = one.name;
        kernel.links_.insert(std::move(node));
        return "";
    }
    std::string operator()(const model::set_hardware& one) const {
        auto* link = kernel.find(one.name);
        if (link == nullptr) {
            return one.name + ": no such device";
        }
        link->hardware = one.hardware;
        return "";
    }
    std::string operator()(const model::plain_vxlan& one) const {
        auto* link = kernel.find(one.name);
        if (link == nullptr || !link->vxlan) {
            return one.name + ": no such VXLAN";
        }
        link->vxlan = model::vxlan_settings{.vni = link->vxlan->vni, .port = link->vxlan->port};
        return "";
    }
    std::string operator()(const model::make_vlan& one) const {
        for (const auto& [name, link] : kernel.links_) {
            const auto* parent = kernel.find(one.parent);
            if (parent != nullptr && name != one.name && link.vlan_id == one.id && link.lower == parent->index) {
                return "VLAN exists as " + name;
            }
        }
        model::network_link link;
        link.vlan_id = one.id;
        return make(one.name, "vlan", one.parent, std::move(link));
    }
    std::string operator()(const model::make_vxlan& one) const {
        for (const auto& [name, link] : kernel.links_) {
            if (name != one.name && link.vxlan && link.vxlan->vni == one.vni && link.vxlan->port == one.port) {
                return "VNI exists as " + name;
            }
        }
        model::network_link link;
        link.vxlan = model::vxlan_settings{.vni = one.vni, .port = one.port};
        return make(one.name, "vxlan", one.lower, std::move(link));
    }
    std::string operator()(const model::set_up& one) const {
        auto* link = kernel.find(one.name);
        if (link == nullptr) {
            return one.name + ": no such device";
        }
        const auto* parent = link->kind == "vlan" ? kernel.find(link->lower) : nullptr;
        if (parent != nullptr && !parent->is_up) {
            return parent->name + " is down";
        }
        link->is_up = true;
        link->is_running = true;
        return "";
    }
    std::string operator()(const model::set_down& one) const {
        auto* link = kernel.find(one.name);
        if (link == nullptr) {
            return "";
        }
        link->is_up = false;
        link->is_running = false;
        std::erase_if(kernel.routes_, [&](const auto& route) { return route.link == link->index; });
        for (auto& [name, other] : kernel.links_) {
            if (other.kind == "vlan" && other.lower == link->index && other.is_up) {
                (*this)(model::set_down{name});
            }
        }
        return "";
    }
    std::string operator()(const model::set_mtu& one) const {
        auto* link = kernel.find(one.name);
        if (link == nullptr) {
            return one.name + ": no such device";
        }
        if (link->mtu == one.mtu) {
            return "";  // as the kernel: not even noted as set
        }
        const auto* lower = kernel.find(link->lower);
        const int most = lower == nullptr        ? std::numeric_limits<int>::max()
                         : link->kind == "vxlan" ? lower->mtu - header_of_vxlan
                         : link->kind == "vlan"  ? lower->mtu
                                                 : std::numeric_limits<int>::max();
        if (one.mtu > most || one.mtu < smallest_link_mtu) {
            return one.name + ": invalid MTU";
        }
        link->mtu = one.mtu;
        kernel.settings_[link->index].is_mtu_set = true;
        for (auto& [name, other] : kernel.links_) {  // VLANs shrink with it
            if (other.kind == "vlan" && other.lower == link->index && other.mtu > one.mtu) {
                other.mtu = one.mtu;
                kernel.follow_ports(other.master);
            }
        }
        kernel.follow_ports(link->master);
        return "";
    }
    std::string operator()(const model::set_master& one) const {
        auto* link = kernel.find(one.name);
        const auto* master = kernel.find(one.master);
        if (link == nullptr || (!one.master.empty() && master == nullptr)) {
            return "no such device";
        }
        if (master != nullptr && (link->kind == "bridge" || link->is_loopback)) {
            return one.name + " can be no port";
        }
        const int before = link->master;
        link->master = master == nullptr ? 0 : master->index;
        kernel.follow_ports(before);
        kernel.follow_ports(link->master);
        return "";
    }
    std::string operator()(const model::delete_link& one) const {
        kernel.remove(one.name);
        return "";
    }
    std::string operator()(const model::add_address& one) const {
        const auto* link = kernel.find(one.device);
        if (link == nullptr) {
            return one.device + ": no such device";
        }
        const auto is_it = [&](const auto& has) {
            return has.link == link->index && has.address == one.address && has.peer == one.peer;
        };
        const auto is_of_other_scope = [&](const auto& has) {
            return has.link == link->index && one.address.address.is_v4() && has.address.prefix == one.address.prefix &&
                   is_in(one.address.address, has.address) && has.scope != one.scope;
        };
        if (const auto there = std::ranges::find_if(kernel.addresses_, is_it); there != kernel.addresses_.end()) {
            there->lifetime = one.lifetime.value_or(there->lifetime);
            there->is_permanent = there->lifetime.valid == model::forever;
        } else {
            if (std::ranges::any_of(kernel.addresses_, is_of_other_scope)) {
                return one.address.text() + ": invalid scope value";
            }
            const auto lifetime = one.lifetime.value_or(model::address_lifetime());
            kernel.addresses_.push_back({.link = link->index,
                                         .address = one.address,
                                         .scope = one.scope,
                                         .is_permanent = lifetime.valid == model::forever,
                                         .peer = one.peer,
                                         .lifetime = lifetime,
                                         .settings = one.settings});
            const auto network = model::connected_network(one.address);
            if (network && one.settings.has_route() && !kernel.is_secondary(kernel.addresses_.back())) {
                std::erase(kernel.lost_, model::connected_route{link->index, *network});
            }
        }
        return "";
    }
    std::string operator()(const model::remove_address& one) const {
        if (const auto* link = kernel.find(one.device)) {
            kernel.remove_address(link->index, one);
        }
        return "";
    }
    std::string operator()(const model::add_default_route& one) const {
        return one.gateway.is_v4()
                   ? kernel.add_route(kernel.find(one.device), {.to = {ip::address_v4(), 0}, .gateway = one.gateway})
                   : "only of IPv4";
    }
    std::string operator()(const model::remove_default_route& one) const {
        const model::network_route which{.to = {ip::address_v4(), 0}, .gateway = one.gateway};
        return (*this)(model::remove_route{which, one.device});
    }
    std::string operator()(const model::add_route& one) const {
        return kernel.add_route(kernel.find(one.device), one.route, one.table, kernel.find(one.moves_from));
    }
    std::string operator()(const model::remove_route& one) const {
        const auto* link = kernel.find(one.device);
        const auto erased = std::erase_if(kernel.routes_, [&](const auto& route) {
            return link != nullptr && route.is == one.route && route.link == link->index && route.table == one.table;
        });
        if (link != nullptr && erased == 0 && is_connected({.is = one.route, .table = one.table})) {
            kernel.lost_.push_back({link->index, one.route.to});
        }
        return "";
    }
    std::string operator()(const model::add_neighbour& one) const {
        const auto* link = kernel.find(one.device);
        if (link == nullptr) {
            return one.device + ": no such device";
        }
        std::erase_if(kernel.neighbours_, [&](const auto& there) {
            return there.link == link->index && there.is.address == one.neighbour.address &&
                   there.is.is_proxy == one.neighbour.is_proxy;
        });
        kernel.neighbours_.push_back({link->index, one.neighbour});
        return "";
    }
    std::string operator()(const model::remove_neighbour& one) const {
        if (const auto* link = kernel.find(one.device)) {
            std::erase(kernel.neighbours_, model::link_neighbour{link->index, one.neighbour});
        }
        return "";
    }
    std::string operator()(const model::set_sysctl& one) const {
        // net/ipv6/conf/<device>/<name>: settings of a link that is not there cannot be written.
        const auto last = one.key.rfind('/');
        const auto before = last == std::string::npos ? last : one.key.rfind('/', last - 1);
        if (before == std::string::npos) {
            return one.key + ": no such key";
        }
        const auto* link = kernel.find(one.key.substr(before + 1, last - before - 1));
        if (link == nullptr) {
            return one.key + ": no such key";
        }
        kernel.settings_[link->index].sysctls[one.key] = one.value;
        return "";
    }
    std::string operator()(const model::tx_checksum_off& one) const {
        const auto* link = kernel.find(one.device);
        if (link == nullptr) {
            return one.device + ": no such device";
        }
        kernel.settings_[link->index].is_checksum_off = true;
        return "";
    }
};

std::string toy_kernel::apply(const model::network_change& change) {
    return std::visit(applying{*this}, change);
}

model::network_state toy_kernel::state() const {
    std::vector<model::network_link> links;
    links.reserve(links_.size());
    for (const auto& [name, link] : links_) {
        links.push_back(link);
    }
    std::vector<model::default_route> defaults;
    for (const auto& one : routes_) {
        if (one.is.is_default() && one.is.to.address.is_v4() && one.table == model::main_table) {
            defaults.push_back({one.is.gateway.value_or(ip::address_v4()), one.link, one.is.metric});
        }
    }
    auto of_links = routes_;
    std::erase_if(of_links, is_connected);
    return {std::move(links), addresses_, std::move(defaults), std::move(of_links), connected_routes(), neighbours_};
}

const model::network_link& toy_kernel::link(const std::string& name) const {
    return links_.at(name);
}

std::string toy_kernel::master_of(const std::string& name) const {
    return std::string(state().name_of(link(name).master));
}

std::vector<std::string> toy_kernel::addresses_of(const std::string& name) const {
    std::vector<std::string> all;
    for (const auto& one : addresses_) {
        if (one.link == link(name).index) {
            all.push_back(one.address.text());
        }
    }
    return all;
}

std::string toy_kernel::sysctl(const std::string& key) const {
    for (const auto& [index, of_link] : settings_) {
        const auto found = of_link.sysctls.find(key);
        if (found != of_link.sysctls.end()) {
            return found->second;
        }
    }
    return "";
}

bool toy_kernel::is_checksum_off(const std::string& name) const {
    return settings_.at(link(name).index).is_checksum_off;
}

}  // namespace pvc::policy
