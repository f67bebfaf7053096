// What hosts have that is seldom, and was found by hand before it was drawn. Drawn behind all else and from a source of
// its own, so that hosts by their numbers stay what they were.
#include "sim/subjects/hosts/random_host.hpp"

#include "pvcnoded/base/random.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace pvc::sim {

namespace {

constexpr std::uint32_t table_of_vrf = 10;
constexpr int mtu_of_jumbo = 9000;
constexpr int mtu_of_tunnel = 1400;
constexpr std::uint16_t other_vxlan_port = 8472;

class odd_drawing {
public:
    odd_drawing(drawn_host& host, const host_abilities& of, std::string spare)
        : host_(host),
          of_(of),
          random_(random_source(host.seed).split("odd host")),
          management_(host.cards.back()),
          spare_(std::move(spare)) {}

    void draw() {
        some(2, &odd_drawing::draw_macvlan);
        some(2, &odd_drawing::draw_mtus);
        if (!spare_.empty()) {
            some(3, &odd_drawing::draw_bridge_with_card);
        }
        some(2, &odd_drawing::draw_overlay);
        if (of_.vlans) {
            some(2, &odd_drawing::draw_routed_bridge);
        }
        some(1, &odd_drawing::draw_altname);
        some(3, &odd_drawing::draw_scope);
        some(2, &odd_drawing::draw_stanzas);
        some(3, &odd_drawing::draw_routes);
        if (of_.vlans) {
            some(2, &odd_drawing::draw_vrf);  // the last of these, as it takes routes along
        }
        some(3, &odd_drawing::draw_router_settings);
    }

private:
    [[nodiscard]] bool has(std::uint64_t eighths) { return random_.below(8) < eighths; }
    void some(std::uint64_t eighths, void (odd_drawing::*what)()) {
        if (has(eighths)) {
            (this->*what)();
        }
    }
    void kind(std::string text) { host_.kinds.insert(std::move(text)); }
    void add(drawn_link link) { host_.links.push_back(std::move(link)); }
    void address(const std::string& device, std::string_view which, std::uint8_t scope = model::universe_scope) {
        host_.addresses.push_back({device, *parse_host_address(which), false, scope});
    }
    void route(const std::string& device, std::string_view to, std::string_view via) {
        const auto where = *parse_host_address(to);
        host_.routes.push_back({device, {.to = where, .gateway = *parse_address(via)}});
    }

    // As docker makes one: its device can be no port then.
    void draw_macvlan() {
        const std::string on = host_.upstream != host_.cluster ? host_.upstream : host_.storage;
        if (on == host_.cluster) {
            return;
        }
        add({.name = "dock0", .kind = "macvlan", .on = on});
        address("dock0", "172.30.0.1/24");
        host_.has_upstream_port = host_.has_upstream_port && on != host_.upstream;
        kind("a macvlan on a device that is to become a port");
    }
    void draw_mtus() {
        const bool is_bond = host_.cluster == "bond0";
        if (is_bond) {
            for (auto& link : host_.links) {
                link.mtu = link.name == "bond0" || link.port_of == "bond0" ? mtu_of_jumbo : link.mtu;
            }
        } else {
            host_.links.insert(host_.links.begin(), {.name = host_.cluster, .mtu = mtu_of_jumbo});
        }
        kind("a device with an MTU above that of the file");
        if (of_.vlans) {
            const bool is_large = has(5);
            add({.name = "backup",
                 .kind = "vlan",
                 .on = host_.cluster,
                 .number = 77,
                 .mtu = is_large ? mtu_of_jumbo : mtu_of_tunnel});
            address("backup", "192.168.78.2/24");
            kind(is_large ? "a VLAN with an MTU above that of the file" : "a VLAN with an MTU below that of the file");
        }
    }
    // Of a host that had machines before.
    void draw_bridge_with_card() {
        host_.cards.insert(host_.cards.end() - 1, spare_);
        add({.name = "br0", .kind = "bridge"});
        add({.name = spare_, .port_of = "br0"});
        add({.name = "tap7", .kind = "tun", .port_of = "br0"});
        address("br0", "192.168.77.10/24");
        kind("a bridge with a card and somebody's machine");
        if (has(4)) {
            host_.advertised.emplace_back("br0");
            kind("a default route by router advertisement of a bridge with a card");
        }
    }
    // Containers on several hosts.
    void draw_overlay() {
        add({.name = "vmbr61", .kind = "bridge", .has_stp = true});
        add({.name = "vxlan61",
             .kind = "vxlan",
             .on = management_,
             .number = 61,
             .port = other_vxlan_port,
             .port_of = "vmbr61",
             .mtu = mtu_of_tunnel});
        add({.name = "vethc0ffee", .kind = "veth", .port_of = "vmbr61"});
        address("vmbr61", "10.77.61.1/24");
        route("vmbr61", "10.78.61.0/24", "10.77.61.2");
        claim(61, true);
        kind("an overlay with containers by the name of a network's");
    }
    void draw_routed_bridge() {
        add({.name = "vmbr62", .kind = "bridge"});
        add({.name = "vlan62", .kind = "vlan", .on = host_.bridge, .number = 62, .port_of = "vmbr62"});
        address("vmbr62", "10.77.62.1/24");
        route("vmbr62", "10.78.62.0/24", "10.77.62.2");
        kind("a bridge by the name of a network's with its VLAN, an address and a route");
    }
    void draw_altname() {
        const bool is_upstream = has(4);
        host_.altnames.emplace_back(management_, is_upstream ? "brupstream" : "brstorage");
        host_.has_upstream_port = host_.has_upstream_port && !(is_upstream && host_.upstream != host_.cluster);
        kind("an altname that is the name of a bridge");
    }
    void draw_scope() {
        address(host_.upstream, "169.254.7.7/24", model::link_scope);
        address(management_, "169.254.8.8/24", model::link_scope);
        kind("addresses of scope link");
    }
    // Of links that are there, by patterns in folders, and of some that are not up yet.
    void draw_stanzas() {
        add({.name = "vxlan65", .kind = "vxlan", .on = host_.cluster, .number = 65, .mtu = 1450});
        claim(65, true);
        claim(66, true);  // ifup is to find the place of vmbr66 and vxlan67 free
        claim(67, true);
        claim(68, true);  // as what ifup gives to a bridge
        host_.files["/etc/network/interfaces"] +=
            "source sites/*/*.conf\nauto vmbr66\niface vmbr66 inet manual\n"
            "iface vxlan67 inet manual\niface br-own68 inet manual\n    bridge_ports none vxlan68\n";
        host_.files["/etc/network/sites/north/own.conf"] = "auto vxlan65\niface vxlan65 inet manual\n";
        kind("stanzas by a pattern of folders, and of what is not up");
    }
    // Wider and narrower than client networks, and one of these in a network of the host's own.
    void draw_routes() {
        const auto is_there = [&](const drawn_address& one) {
            return one.device == management_ && one.scope == model::universe_scope;
        };
        if (std::ranges::none_of(host_.addresses, is_there)) {
            address(management_, "192.0.2.10/24");
        }
        route(management_, "10.2.0.0/16", "192.0.2.1");
        route(management_, "10.1.1.128/25", "192.0.2.1");
        host_.networks.push_back({.vni = 70, .gateway = "192.0.2.129/25"});
        kind("routes wider and narrower than client networks, and a client network in the host's own");
    }
    void draw_vrf() {
        host_.links.insert(host_.links.begin(), {.name = "vrf0", .kind = "vrf", .number = table_of_vrf});
        host_.links.insert(host_.links.begin() + 1, {.name = management_, .port_of = "vrf0"});
        for (auto& one : host_.routes) {
            if (one.device == management_ && one.table == model::main_table) {
                one.table = table_of_vrf;
            }
        }
        kind("a VRF with a card");
    }
    // As who makes a host safe sets them, for a device of the file or for all that come.
    void draw_router_settings() {
        static constexpr std::array<std::pair<std::string_view, std::string_view>, 4> all{{
            {"accept_ra", "0"},
            {"disable_ipv6", "1"},
            {"accept_ra_pinfo", "0"},
            {"autoconf", "0"},
        }};
        for (const std::string& on : {host_.upstream, host_.cluster, std::string("default")}) {
            const auto& [name, value] = all[random_.below(all.size())];
            if (has(4)) {
                host_.settings.push_back({fmt::format("net/ipv6/conf/{}/{}", on, name), std::string(value)});
                kind(on == "default" ? "settings of IPv6 for new links" : "settings of IPv6 of a device of the file");
            }
        }
    }
    void claim(std::uint32_t vni, bool is_refused) {
        host_.networks.push_back({vni, true, fmt::format("10.2.{}.1/24", vni), is_refused});
    }

    drawn_host& host_;
    const host_abilities& of_;
    random_source random_;
    std::string management_;
    std::string spare_;
};

// What a device that becomes a port has as NetworkManager, networkd and people give it, beside another card that has an
// address of the same networks: which way packets take hangs on metrics.
class given_drawing {
public:
    explicit given_drawing(drawn_host& host)
        : host_(host), random_(random_source(host.seed).split("given host")), management_(host.cards.back()) {}

    void draw() {
        if (random_.below(8) < 3) {
            address(host_.upstream, "10.88.0.200/24", {.metric = 600, .broadcast = *parse_address("10.88.0.255")});
            address(management_, "10.88.0.201/24", {.metric = 100});
            kind("an address with a metric on a device that becomes a port");
            draw_routes();
        }
        if (random_.below(8) < 3) {
            address(host_.upstream, "172.29.5.1/16", {.flags = model::no_prefix_route});
            kind("an address without a route on a device that becomes a port");
        }
        if (random_.below(8) < 3) {
            address(host_.upstream, "172.28.5.1/16", {.flags = model::no_prefix_route});
            address(management_, "172.28.6.1/16", {.metric = 425});
            constexpr std::uint8_t of_kernel = 2;
            host_.routes.push_back({host_.upstream,
                                    {.to = {*parse_address("172.28.0.0"), 16},
                                     .metric = 500,
                                     .source = *parse_address("172.28.5.1"),
                                     .scope = model::link_scope,
                                     .protocol = of_kernel}});
            kind("a route to the network of an address that somebody made, on a device that becomes a port");
        }
        if (random_.below(8) < 3) {
            address(host_.upstream, "fd55:5::5/64", {.metric = 2000});
            host_.addresses.back().is_deprecated = true;
            kind("a deprecated address on a device that becomes a port");
        }
    }

private:
    void kind(std::string text) { host_.kinds.insert(std::move(text)); }
    void address(const std::string& device, std::string_view which, model::address_settings settings) {
        host_.addresses.push_back(
            {.device = device, .address = *parse_host_address(which), .settings = std::move(settings)});
    }
    void draw_routes() {
        constexpr std::uint32_t table = 102;
        const auto by = *parse_address("10.88.0.250");
        const ip::address everywhere = ip::address_v4();
        host_.routes.push_back(
            {host_.upstream,
             {.to = {*parse_address("10.91.0.0"), 16}, .gateway = by, .settings = small_mtu_setting()}});
        host_.routes.push_back({host_.upstream,
                                {.to = {*parse_address("10.94.0.0"), 16},
                                 .ways = {{.gateway = by}, {.gateway = *parse_address("10.88.0.251")}}}});
        host_.routes.push_back({host_.upstream, {.to = {everywhere, 0}, .gateway = by}, table});
        host_.rules.push_back(fmt::format("from 10.88.0.200 lookup {} pref 1010", table));
        kind("routes with an MTU, by two ways and of another table over a device that becomes a port");
    }

    drawn_host& host_;
    random_source random_;
    std::string management_;
};

// The n-th address of a network, from its beginning or from its second half.
std::string address_in(const host_address& network, std::uint32_t number, bool is_in_second_half = false) {
    const ip::network_v4 all(network.address.to_v4(), static_cast<std::uint16_t>(network.prefix));
    const auto half = (all.broadcast().to_uint() - all.network().to_uint()) / 2 + 1;
    return ip::address_v4(all.network().to_uint() + number + (is_in_second_half ? half : 0)).to_string();
}

}  // namespace

void draw_odd(drawn_host& host, const host_abilities& of, std::string spare_card) {
    odd_drawing(host, of, std::move(spare_card)).draw();
    given_drawing(host).draw();
}

std::string small_mtu_setting() {
    constexpr char low = small_mtu & 0xff;
    constexpr char high = small_mtu >> 8;
    return {12, 0, 8, 0, 8, 0, 2, 0, low, high, 0, 0};  // RTAX_MTU in RTA_METRICS
}

std::vector<std::string> probes_of(const drawn_host& host) {
    constexpr int smallest = 30;
    std::vector<std::string> all;
    for (const auto& one : host.addresses) {
        const bool is_left = std::ranges::any_of(
            host.links, [&](const auto& link) { return link.name == one.device && link.owner == link_owner::left; });
        if (one.address.address.is_v4() && one.address.prefix < smallest && !is_left) {
            all.push_back(address_in(one.address, 9));
            all.push_back(address_in(one.address, 9, true));
        }
    }
    for (const auto& one : host.routes) {
        if (one.is.to.address.is_v4() && !one.is.is_default() && one.table == model::main_table) {
            all.push_back(address_in(one.is.to, 9));
        }
    }
    return all;
}

}  // namespace pvc::sim
