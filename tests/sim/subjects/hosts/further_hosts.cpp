// What hosts have that a second look by hand found: devices that can be no port, programs that own a table, gateways on
// the link, leases of the bridge's own network, files that cannot be read. Drawn behind all that is in odd_hosts.cpp,
// and from a source of its own.
#include "sim/subjects/hosts/random_host.hpp"

#include "pvcnoded/base/random.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

namespace pvc::sim {

namespace {

class further_drawing {
public:
    further_drawing(drawn_host& host, const host_abilities& of)
        : host_(host),
          of_(of),
          random_(random_source(host.seed).split("further host")),
          management_(host.cards.back()) {}

    void draw() {
        some(2, &further_drawing::draw_frameless);
        some(2, &further_drawing::draw_metrics);
        some(2, &further_drawing::draw_onlink);
        some(2, &further_drawing::draw_lease);
        some(2, &further_drawing::draw_forwarding);
        some(2, &further_drawing::draw_wide_network);
        some(2, &further_drawing::draw_held);
        some(1, &further_drawing::draw_unreadable);
        if (of_.vlans) {
            some(5, &further_drawing::draw_bridge_device);
        }
        some(2, &further_drawing::draw_filter);
        some(3, &further_drawing::draw_twins);
        some(3, &further_drawing::draw_proxies);
        some(2, &further_drawing::draw_taken);
        some(2, &further_drawing::draw_kinds);
        if (of_.vlans) {
            some(4, &further_drawing::draw_vlan_above);
        }
        some(2, &further_drawing::draw_named_by_networkd);
        some(4, &further_drawing::draw_several);
        some(4, &further_drawing::draw_own_ways);
    }

private:
    [[nodiscard]] bool has(std::uint64_t eighths) { return random_.below(8) < eighths; }
    void some(std::uint64_t eighths, void (further_drawing::*what)()) {
        if (has(eighths)) {
            (this->*what)();
        }
    }
    [[nodiscard]] bool has_kind(const char* which) const { return host_.kinds.contains(which); }
    void kind(std::string text) { host_.kinds.insert(std::move(text)); }
    void add(drawn_link link) { host_.links.push_back(std::move(link)); }
    void address(const std::string& device, std::string_view which, bool has_lifetime = false) {
        host_.addresses.push_back({device, *parse_host_address(which), has_lifetime});
    }
    void route(const std::string& device, std::string_view to, std::string_view by, std::uint32_t metric,
               bool is_onlink = false) {
        host_.routes.push_back(
            {device,
             {.to = *parse_host_address(to), .gateway = *parse_address(by), .metric = metric, .is_onlink = is_onlink}});
    }

    // The file names a tunnel of packets, by mistake: it stays what it is, and so does what was the device before.
    void draw_frameless() {
        if (host_.upstream == host_.cluster || host_.upstream == host_.storage || host_.upstream == host_.bridge ||
            host_.is_keyed("tun9") ||
            std::ranges::any_of(host_.altnames, [&](const auto& one) { return one.second == "brupstream"; })) {
            return;
        }
        for (auto& link : host_.links) {
            if (link.name == host_.upstream) {
                link.owner = link_owner::host;
            }
        }
        host_.upstream = "tun9";
        host_.has_upstream_port = false;
        add({.name = "tun9", .kind = "tunnel", .owner = link_owner::keyed});
        address("tun9", "192.168.9.9/24");
        kind("a device of the file that can be no port: a tunnel of packets");
    }
    // As a host with two ways out has them.
    void draw_metrics() {
        if (has_kind("a VRF with a card")) {
            return;
        }
        address(management_, "192.0.2.20/24");
        for (const auto& [by, metric] : {std::pair("192.0.2.1", 201U), std::pair("192.0.2.2", 301U)}) {
            host_.routes.push_back(
                {management_, {.to = {ip::address_v4(), 0}, .gateway = *parse_address(by), .metric = metric}});
        }
        route(management_, "203.0.113.64/26", "192.0.2.1", 50);
        route(management_, "203.0.113.64/26", "192.0.2.2", 60);
        kind("several ways to one network, by metrics");
    }
    // As hosting companies give it: one address, and a gateway that no network has.
    void draw_onlink() {
        address(management_, "203.0.113.200/32");
        if (!has_kind("a VRF with a card")) {
            route(management_, "203.0.113.224/28", "203.0.113.254", 70, true);
        }
        if (host_.has_upstream_port) {
            address(host_.upstream, "198.51.100.77/32");
            route(host_.upstream, "198.51.100.128/26", "198.51.100.1", 70, true);
        }
        kind("an address of its own alone, and a gateway on the link");
    }
    // It goes to the bridge, and is a lease there.
    void draw_lease() {
        if (host_.storage == host_.cluster || host_.storage == "tun9") {
            return;
        }
        address(host_.storage, "10.254.0.77/24", true);
        kind("a lease of the network of its bridge, on a device that becomes a port");
    }
    void draw_forwarding() {
        host_.settings.push_back({fmt::format("net/ipv4/conf/{}/forwarding", management_), "1"});
        if (host_.advertised.empty()) {  // a host that forwards hears no router
            host_.settings.push_back({fmt::format("net/ipv6/conf/{}/forwarding", management_), "1"});
        }
        kind("forwarding of one card");
    }
    // A client's, as good as a default route.
    void draw_wide_network() {
        host_.networks.push_back({.vni = 71, .gateway = "64.0.0.1/2"});
        kind("a client network as good as a default route");
    }
    // Of a node daemon before, and an administrator has used it since.
    void draw_held() {
        add({.name = "vmbr8", .kind = "bridge"});
        add({.name = "vxlan8",
             .kind = "vxlan",
             .on = host_.cluster,
             .number = 8,
             .port_of = "vmbr8",
             .mtu = mtu_of_held});
        add({.name = "tap8", .kind = "tun", .port_of = "vmbr8"});
        add({.name = "vmbr9", .kind = "bridge"});
        add({.name = "vxlan9",
             .kind = "vxlan",
             .on = host_.cluster,
             .number = 9,
             .port_of = "vmbr9",
             .mtu = mtu_of_held});
        host_.routes.push_back({"vmbr9", {.to = {*parse_address("172.29.0.0"), 16}, .scope = model::link_scope}});
        kind("bridges that a node daemon left, with somebody's machine in one and a route over the other");
    }
    // Then nobody knows all that is named; what stands before and behind it is known.
    void draw_unreadable() {
        auto& main = host_.files["/etc/network/interfaces"];
        main = has(4) ? "source $SITE/own\n" + main : main + "source ~/own\n";
        host_.are_names_known = false;
        kind("a file that names what nobody can read");
    }
    // Together with that, or without.
    void draw_named_by_networkd() {
        const bool is_plain = host_.altnames.empty();  // by which the file may call the device
        host_.files["/etc/systemd/network/10-own.netdev"] = "[NetDev]\nName=vmbr76\nKind=bridge\n";
        host_.networks.push_back({.vni = 76, .is_refused = true});
        if (of_.vlans && is_plain) {
            host_.files["/etc/systemd/network/20-lan.netdev"] = "[NetDev]\nName=lan\nKind=vlan\n\n[VLAN]\nId=77\n";
            host_.files["/etc/systemd/network/20-lan.network"] =
                fmt::format("[Match]\nName={}\n\n[Network]\nVLAN=lan\n", host_.bridge);
            host_.networks.push_back({.vni = 77, .is_managed = false, .is_refused = true});
        }
        kind("links that files of systemd-networkd name");
    }
    // Bridged networks stand on a bridge of the host's own, or on what is no card.
    void draw_bridge_device() {
        const bool is_used = std::ranges::any_of(
            host_.links, [&](const drawn_link& one) { return one.kind == "vlan" && one.on == host_.bridge; });
        const bool has_bridge =
            std::ranges::any_of(host_.links, [](const drawn_link& one) { return one.name == "br0"; });
        if (is_used || host_.bridge != host_.cluster) {
            return;
        }
        if (has_bridge && has(4)) {
            host_.bridge = "br0";
            kind("bridged networks on a bridge of the host's own");
        } else if (of_.dummies) {
            host_.bridge = "dummy7";
            add({.name = "dummy7", .kind = "dummy", .owner = link_owner::keyed});
            kind("bridged networks on a dummy");
        }
    }
    // By programs that simulated machines alone have.
    void draw_filter() {
        if (of_.all) {
            return;
        }
        host_.filter = has(4) ? drawn_filter::of_host : drawn_filter::of_program;
        kind(host_.filter == drawn_filter::of_host ? "the host's own firewall in table inet filter"
                                                   : "a program that owns table inet filter");
    }

    // Two cards with a way to one place each, of one metric.
    void draw_twins() {
        if (!host_.has_upstream_port || has_kind("a VRF with a card")) {
            return;
        }
        for (const auto& [device, number] : {std::pair(host_.upstream, 33), std::pair(management_, 65)}) {
            address(device, fmt::format("198.51.100.{}/27", number));
            address(device, fmt::format("fd56:{}::1/64", number));
        }
        for (const auto* to : {"10.95.0.0/16", "10.96.0.0/16", "fd95::/48"}) {
            const bool is_v4 = parse_host_address(to)->address.is_v4();
            const bool is_first = has(4);
            for (const bool is_of_port : {is_first, !is_first}) {
                route(is_of_port ? host_.upstream : management_, to,
                      is_v4 ? (is_of_port ? "198.51.100.34" : "198.51.100.66")
                            : (is_of_port ? "fd56:33::9" : "fd56:65::9"),
                      is_v4 ? 0 : 1024);
            }
        }
        kind("ways of one metric over two cards");
    }

    // A host that answers for others, and one that is careful of whom it answers.
    void draw_proxies() {
        for (const auto& device : {host_.upstream, host_.storage}) {
            if (device == "tun9") {
                continue;
            }
            for (const auto& [key, value] :
                 {std::pair("net/ipv4/conf/{}/proxy_arp", "1"), std::pair("net/ipv4/conf/{}/arp_ignore", "2"),
                  std::pair("net/ipv6/conf/{}/proxy_ndp", "1")}) {
                if (has(4)) {
                    host_.settings.push_back({fmt::format(fmt::runtime(key), device), value});
                }
            }
        }
        kind("answers for others, by settings of a device of the file");
    }

    // ip route add local
    void draw_taken() {
        // Also where the bridge has no address but that of the primary.
        host_.routes.push_back(
            {host_.upstream,
             {.to = *parse_host_address("198.18.7.0/24"), .scope = model::host_scope, .is_local = true},
             model::local_table});
        kind("a network whose packets the host takes over a device of the file");
    }

    // That many kernels do not have.
    void draw_kinds() {
        if (of_.all) {
            return;
        }
        add({.name = "wg0", .kind = "wireguard"});
        address("wg0", "10.77.99.1/24");
        host_.routes.push_back({"wg0", {.to = *parse_host_address("10.78.99.0/24"), .scope = model::link_scope}});
        add({.name = "ipvl0", .kind = "ipvlan", .on = management_});
        address("ipvl0", "172.31.99.1/24");
        kind("a WireGuard tunnel and an ipvlan");
    }

    // The device of bridged networks is a port of a bridge of the host's own, which has one of its VLANs there.
    void draw_vlan_above() {
        const auto device = std::ranges::find(host_.links, host_.bridge, &drawn_link::name);
        const bool is_role =
            host_.bridge == host_.cluster || host_.bridge == host_.storage || host_.bridge == host_.upstream;
        if (is_role || device == host_.links.end() || device->kind == "bridge") {
            return;
        }
        device->port_of = "brlan";
        host_.links.insert(device, {.name = "brlan", .kind = "bridge"});
        add({.name = "brlan.72", .kind = "vlan", .on = "brlan", .number = 72});
        address("brlan.72", "192.168.72.2/24");
        host_.networks.push_back({.vni = 72, .is_managed = false, .is_refused = true});
        kind("a VLAN on a bridge of the host's own, above the device of bridged networks");
        // And some that are not up yet; one of them on a bridge that is not either.
        host_.files["/etc/network/interfaces"] += fmt::format(
            "auto brlan.73\niface brlan.73 inet manual\niface lan inet manual\n    vlan-raw-device brlan\n"
            "    vlan-id 74\niface br-new inet manual\n    bridge-ports {}\niface br-new.75 inet manual\n",
            host_.bridge);
        for (const std::uint32_t vni : {73U, 74U, 75U}) {
            host_.networks.push_back({.vni = vni, .is_managed = false, .is_refused = true});
        }
        kind("VLANs above the device of bridged networks, by name alone");
    }

    // As NetworkManager gives the first of them, and a script the second: the kernel makes no route for that, of IPv4.
    void draw_several() {
        if (!host_.has_upstream_port) {
            return;
        }
        constexpr std::uint8_t of_kernel = 2;
        const auto give = [&](std::string_view which, bool has_route) {
            address(host_.upstream, which);
            host_.addresses.back().settings.flags = has_route ? 0 : model::no_prefix_route;
        };
        const auto way = [&](std::string_view to, std::string_view source) {
            const auto where = *parse_host_address(to);
            const bool is_v4 = where.address.is_v4();
            host_.routes.push_back({host_.upstream,
                                    {.to = where,
                                     .metric = 100,
                                     .source = is_v4 ? std::optional(*parse_address(source)) : std::nullopt,
                                     .scope = is_v4 ? model::link_scope : model::universe_scope,
                                     .protocol = of_kernel}});
        };
        const bool is_first = has(4);
        for (const bool has_route : {!is_first, is_first}) {
            give(has_route ? "172.27.5.2/16" : "172.27.5.1/16", has_route);
            give(has_route ? "fd57:5::2/64" : "fd57:5::1/64", has_route);
        }
        way("172.27.0.0/16", "172.27.5.1");
        if (has(4)) {
            way("172.27.0.0/16", "172.27.5.2");
        }
        way("fd57:5::/64", {});
        route(host_.upstream, "10.94.0.0/16", "172.27.0.1", 0);
        kind("several addresses of one network, with and without a route, on a device that becomes a port");
    }

    // As hosting companies want it (a gateway for neighbours too), and as people say which source or size is best.
    void draw_own_ways() {
        if (!host_.has_upstream_port) {
            return;
        }
        const auto& device = host_.upstream;
        constexpr std::uint32_t table = 88;
        const auto own = [&](bool is_v4, std::string_view source) {
            constexpr std::uint32_t metric_of_v6 = 256;
            return model::network_route{.to = *parse_host_address(is_v4 ? "172.26.6.0/24" : "fd58:6::/64"),
                                        .metric = is_v4 ? 0 : metric_of_v6,
                                        .source = is_v4 ? std::optional(*parse_address(source)) : std::nullopt,
                                        .scope = is_v4 ? model::link_scope : model::universe_scope,
                                        .protocol = 2};
        };
        const auto by = [](std::string_view to, std::string_view gateway) {
            return model::network_route{.to = *parse_host_address(to), .gateway = *parse_address(gateway), .metric = 0};
        };
        const auto give = [&](model::network_route which, drawn_way how = drawn_way::behind,
                              std::uint32_t of_table = model::main_table) {
            host_.routes.push_back({device, std::move(which), of_table, how});
        };
        const auto tuned = [](model::network_route which) {
            which.settings = small_mtu_setting();
            return which;
        };
        address(device, "172.26.6.18/24");
        address(device, "172.26.6.19/24");
        address(device, "fd58:6::18/64");
        const bool is_in_front = has(4);
        if (is_in_front) {
            give(by("172.26.6.0/24", "172.26.6.1"), drawn_way::in_front);
        }
        give(by("10.93.0.0/16", "172.26.6.1"));
        // What goes by the gateway is there before that cannot be reached.
        if (has(4)) {
            give({.to = *parse_host_address("10.92.0.0/16"), .scope = model::link_scope}, drawn_way::behind, table);
        }
        if (has(4)) {
            give(by("10.92.0.0/16", "172.26.6.1"), has(4) ? drawn_way::in_front : drawn_way::behind, table);
        }
        switch (random_.below(5)) {
            case 0: give(own(true, "172.26.6.18"), drawn_way::removed); break;
            case 1:
                give(own(true, "172.26.6.18"), drawn_way::removed);
                give(own(true, "172.26.6.19"));
                break;
            case 2:
                give(own(true, "172.26.6.18"), drawn_way::removed);
                give(tuned(own(true, "172.26.6.18")));
                break;
            case 3: give(by("172.26.6.0/24", "172.26.6.2")); break;
            default: break;
        }
        switch (random_.below(4)) {
            case 0: give(own(false, ""), drawn_way::removed); break;
            case 1:
                give(own(false, ""), drawn_way::removed);
                give(tuned(own(false, "")));
                break;
            default: break;
        }
        for (const auto* to : {"172.26.6.0/24", "fd58:6::/64", "10.93.0.0/16"}) {
            host_.own_ways.push_back({device, {.to = *parse_host_address(to)}});
        }
        host_.own_ways.push_back({device, {.to = *parse_host_address("10.92.0.0/16")}, table});
        kind("ways of its own to its networks, on a device that becomes a port");
    }

    static constexpr int mtu_of_held = 1450;

    drawn_host& host_;
    const host_abilities& of_;
    random_source random_;
    std::string management_;
};

}  // namespace

void draw_further(drawn_host& host, const host_abilities& of) {
    further_drawing(host, of).draw();
}

}  // namespace pvc::sim
