#include "sim/subjects/hosts/random_host.hpp"

#include "pvcnoded/base/random.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace pvc::sim {

namespace {

constexpr std::uint8_t protocol_of_dhcp = 16;   // RTPROT_DHCP
constexpr std::uint8_t protocol_of_kernel = 2;  // RTPROT_KERNEL
constexpr std::uint32_t metric_of_dhcp = 100;
constexpr std::uint32_t table_of_rules = 100;
constexpr int mtu_of_vxlan = 1450;

// What the simulated machines do not have. Hosts have it with `all` alone: on the real kernel.
constexpr std::array<std::string_view, 1> real_kinds{
    "the host's own table inet filter",
};

class host_drawing {
public:
    host_drawing(std::uint64_t seed, const host_abilities& of) : of_(of), random_(random_source(seed).split("host")) {
        host_.seed = seed;
    }

    drawn_host draw() {
        draw_cards();
        draw_roles();
        draw_management();
        draw_port_addresses();
        if (of_.vlans) {
            some(5, &host_drawing::draw_vlan);
            some(2, &host_drawing::draw_vlan_elsewhere);
        }
        some(4, &host_drawing::draw_vxlan);
        some(3, &host_drawing::draw_bridge);
        some(4, &host_drawing::draw_libvirt);
        some(4, &host_drawing::draw_docker);
        some(4, &host_drawing::draw_tables);
        some(4, &host_drawing::draw_left);
        some(4, &host_drawing::draw_settings);
        draw_files();
        draw_networks();
        draw_odd(host_, of_, host_.cards.size() < names_.size() ? names_[host_.cards.size()] : std::string());
        draw_further(host_, of_);
        return std::move(host_);
    }

private:
    [[nodiscard]] bool has(std::uint64_t eighths) { return random_.below(8) < eighths; }
    void some(std::uint64_t eighths, void (host_drawing::*what)()) {
        if (has(eighths)) {
            (this->*what)();
        }
    }
    [[nodiscard]] bool may(std::string_view kind) const {
        return of_.all || std::ranges::find(real_kinds, kind) == real_kinds.end();
    }
    void kind(std::string text) { host_.kinds.insert(std::move(text)); }

    void draw_cards() {
        static constexpr std::array<std::array<std::string_view, 6>, 3> schemes{{
            {"ens4", "ens5", "ens6", "ens7", "ens8", "ens9"},
            {"eth0", "eth1", "eth2", "eth3", "eth4", "eth5"},  // net.ifnames=0
            {"eno1", "eno2", "enp3s0f0", "enp3s0f1", "enp4s0", "enp5s0np0"},
        }};
        const auto& scheme = schemes[random_.below(schemes.size())];
        names_.assign(scheme.begin(), scheme.end());
        host_.cards = {names_[0]};
        if (names_[0] == "eth0") {
            kind("net.ifnames=0");
        }
    }
    std::string next_card() {
        const std::string name = names_[host_.cards.size()];
        host_.cards.push_back(name);
        return name;
    }

    void draw_roles() {
        host_.cluster = host_.storage = host_.upstream = host_.bridge = names_[0];
        if (of_.bonds && has(4)) {
            const auto second = next_card();
            add({.name = "bond0", .kind = "bond", .owner = link_owner::keyed});
            add({.name = names_[0], .port_of = "bond0"});
            add({.name = second, .port_of = "bond0"});
            host_.cluster = host_.storage = host_.upstream = host_.bridge = "bond0";
            kind("a bond");
        }
        switch (random_.below(3)) {
            case 0: break;
            case 1: host_.upstream = next_card(); break;
            default: host_.upstream = next_card(); host_.storage = next_card();
        }
        if (of_.vlans && has(3) && host_.bridge == host_.cluster) {
            // As the deployment tool of PVC makes it.
            const std::string on = host_.cluster;
            host_.upstream = has(4) ? "vlan1000" : on + ".1000";
            add({.name = host_.upstream, .kind = "vlan", .on = on, .number = 1000, .owner = link_owner::keyed});
            kind("the upstream network on a VLAN");
        }
        host_.has_gateway = has(6);
    }

    // A card that no key names.
    void draw_management() {
        management_ = next_card();
        const auto via = *parse_address("192.0.2.1");
        const auto add_default = [&](std::uint32_t metric, std::uint8_t protocol, std::uint32_t table) {
            host_.routes.push_back(
                {management_,
                 {.to = {ip::address_v4(), 0}, .gateway = via, .metric = metric, .protocol = protocol},
                 table});
        };
        switch (random_.below(5)) {
            case 0:
                address(management_, "192.0.2.10/24", true);
                add_default(metric_of_dhcp, protocol_of_dhcp, model::main_table);
                kind("a default route by DHCP, with a metric");
                break;
            case 1:
                address(management_, "192.0.2.10/24");
                add_default(0, model::network_route().protocol, table_of_rules);
                host_.rules.emplace_back("from 192.0.2.0/24 lookup 100 pref 1000");
                kind("policy rules");
                break;
            case 2:
                address(management_, "192.0.2.10/24");
                host_.routes.push_back({management_, {.to = {*parse_address("198.51.100.0"), 24}, .gateway = via}});
                kind("a static route");
                break;
            case 3:
                host_.advertised.push_back(management_);
                kind("a default route by router advertisement");
                break;
            default: break;
        }
        if (has(3)) {
            host_.altnames.emplace_back(management_, "mgmt0");
            kind("an altname");
        }
        if (has(2) && host_.cluster == names_[0]) {
            host_.altnames.emplace_back(host_.cluster, alt_name_of_cluster);
            kind("a device named by an altname");
        }
    }

    // A host is managed over a device that becomes a port.
    void draw_port_addresses() {
        if (has(3)) {
            address(host_.upstream, "192.168.5.7/24");
            kind("managed over a device that becomes a port");
        } else if (has(1)) {
            address(host_.upstream, "192.168.5.7/24", true);
            kind("a lease on a device that becomes a port");
        }
    }

    // Makes a link of a network's name the host's own, or leaves it bare.
    void mark(drawn_link& link, const std::string& network) {
        switch (random_.below(5)) {
            case 0: address_later_.push_back({link.name, *parse_host_address(network)}); break;
            case 1:
                add({.name = "br-own", .kind = "bridge"});
                link.port_of = "br-own";
                break;
            case 2: named_.insert(link.name); break;
            case 3: routes_later_.push_back({link.name, {.to = {*parse_address("203.0.113.0"), 24}}}); break;
            default: link.owner = link_owner::bare;
        }
    }

    void draw_vlan() {
        static constexpr std::array ids{300, 301, 200};
        const int id = ids[random_.below(ids.size())];
        drawn_link link{.name = fmt::format("vlan{}", id),
                        .kind = "vlan",
                        .on = host_.bridge,
                        .number = static_cast<std::uint32_t>(id)};
        mark(link, "192.168.30.2/24");
        claim(static_cast<std::uint32_t>(id), false, link.owner == link_owner::host);
        kind(link.owner == link_owner::host ? "a VLAN of its own by the name of a network" : "a bare VLAN");
        add(std::move(link));
        add_later();
    }
    void draw_vlan_elsewhere() {
        add({.name = "vlan302", .kind = "vlan", .on = management_, .number = 302});
        claim(302, false, true);
        kind("a VLAN of a network's name on another device");
    }
    void draw_vxlan() {
        drawn_link link{.name = "vxlan50", .kind = "vxlan", .on = host_.cluster, .number = 50, .mtu = mtu_of_vxlan};
        if (has(2)) {
            link.port = 8472;
        } else if (has(2)) {
            link.on = management_;
        } else {
            mark(link, "192.168.50.2/24");
        }
        claim(50, true, link.owner == link_owner::host);
        kind(link.owner == link_owner::host ? "a VXLAN of its own by the name of a network" : "a bare VXLAN");
        add(std::move(link));
        add_later();
    }
    void draw_bridge() {
        drawn_link link{.name = "vmbr60", .kind = "bridge"};
        switch (random_.below(3)) {
            case 0: link.has_stp = true; break;
            case 1: address_later_.push_back({link.name, *parse_host_address("192.168.60.2/24")}); break;
            default: named_.insert(link.name);
        }
        claim(60, true, true);
        kind("a bridge of its own by the name of a network's");
        add(std::move(link));
        add_later();
    }
    void draw_libvirt() {
        add({.name = "virbr0", .kind = "bridge", .has_stp = true});
        add({.name = "vnet0", .kind = "tun", .port_of = "virbr0"});
        address("virbr0", "192.168.122.1/24");
        kind("libvirt's bridge");
    }
    void draw_docker() {
        add({.name = "docker0", .kind = "bridge"});
        add({.name = "vetha1b2c3", .kind = "veth", .port_of = "docker0"});
        address("docker0", "172.17.0.1/16");
        host_.tables.push_back({"ip nat", "table ip nat {\nchain DOCKER {\nip daddr 172.17.0.2 accept\n}\n}\n"});
        kind("docker's bridge");
    }
    void draw_tables() {
        host_.tables.push_back({"inet fw",
                                "table inet fw {\nset friends {\ntype ipv4_addr\nelements = { 192.0.2.1 }\n}\n"
                                "chain input {\ntype filter hook input priority -5\nip saddr @friends accept\n}\n}\n"});
        kind("a firewall of its own");
        if (may("the host's own table inet filter") && has(4)) {
            host_.tables.push_back(
                {"inet filter",
                 "table inet filter {\nchain input {\ntype filter hook input priority 0\npolicy drop\n"
                 "ct state established,related accept\niifname \"lo\" accept\nmeta l4proto ipv6-icmp accept\n"
                 "ip saddr 10.0.0.0/8 accept\n}\n}\n"});
            kind("the host's own table inet filter");
        }
    }
    // Links of networks that a node daemon made before: one that is still wanted, and one that is not.
    void draw_left() {
        for (const std::uint32_t vni : {1001U, 7U}) {
            const auto bridge = fmt::format("vmbr{}", vni);
            add({.name = bridge, .kind = "bridge", .owner = link_owner::left});
            add({.name = fmt::format("vxlan{}", vni),
                 .kind = "vxlan",
                 .on = host_.cluster,
                 .number = vni,
                 .port_of = bridge,
                 .mtu = mtu_of_vxlan,
                 .owner = link_owner::left});
        }
        address("vmbr1001", "10.1.1.1/24");
        kind("what a node daemon left");
    }
    void draw_settings() {
        static constexpr std::array<std::pair<std::string_view, std::string_view>, 6> of_card{{
            {"ipv4/conf/{}/rp_filter", "1"},
            {"ipv4/conf/{}/accept_redirects", "0"},
            {"ipv4/conf/{}/send_redirects", "0"},
            {"ipv6/conf/{}/accept_ra", "0"},
            {"ipv6/conf/{}/autoconf", "0"},
            {"ipv4/conf/all/accept_redirects", "0"},
        }};
        for (const auto& [key, value] : of_card) {
            const bool is_in_the_way = key.ends_with("accept_ra") || key.ends_with("autoconf");
            if (has(3) && (!is_in_the_way || host_.advertised.empty())) {
                host_.settings.push_back({"net/" + fmt::format(fmt::runtime(key), management_), std::string(value)});
                kind("settings of its own");
            }
        }
    }
    void draw_files() {
        std::string main = "auto lo\niface lo inet loopback\n";
        std::string sourced;
        for (const auto& name : named_) {
            (has(4) ? main : sourced) += fmt::format("auto {0}\niface {0} inet manual\n", name);
        }
        if (!sourced.empty()) {
            const bool is_folder = has(4);
            main += is_folder ? "source-directory interfaces.d\n" : "source /etc/network/interfaces.d/*\n";
            host_.files["/etc/network/interfaces.d/own"] = sourced;
            kind("names in files that another sources");
        }
        host_.files["/etc/network/interfaces"] = main;
    }
    void draw_networks() {
        host_.networks.push_back({.vni = 1001, .gateway = "10.1.1.1/24"});
        host_.networks.push_back({.vni = 1002, .gateway = has(4) ? "10.1.2.1/24" : ""});
        if (of_.vlans) {
            claim(202, false, false);
        }
        for (auto& one : claims_) {
            host_.networks.push_back(std::move(one));
        }
    }

    void claim(std::uint32_t vni, bool is_managed, bool is_refused) {
        claims_.push_back({vni, is_managed, is_managed ? fmt::format("10.2.{}.1/24", vni) : "", is_refused});
    }
    void add(drawn_link link) { host_.links.push_back(std::move(link)); }
    void address(const std::string& device, std::string_view which, bool has_lifetime = false) {
        host_.addresses.push_back({device, *parse_host_address(which), has_lifetime});
    }
    void add_later() {
        for (auto& one : std::exchange(address_later_, {})) {
            host_.addresses.push_back(std::move(one));
        }
        for (auto& one : std::exchange(routes_later_, {})) {
            host_.routes.push_back(std::move(one));
        }
    }

    host_abilities of_;
    random_source random_;
    drawn_host host_;
    std::vector<std::string> names_;
    std::string management_;
    std::set<std::string> named_;
    std::vector<drawn_address> address_later_;
    std::vector<drawn_route> routes_later_;
    std::vector<drawn_network> claims_;
};

// Text of JSON.
std::string quoted(std::string_view text) {
    std::string out = "\"";
    for (const char one : text) {
        if (one == '"' || one == '\\') {
            out += '\\';
        }
        out += one == '\n' ? "\\n" : std::string(1, one);
    }
    return out + '"';
}

template <class All, class Text>
std::string list_of(const All& all, Text text) {
    std::string out;
    for (const auto& one : all) {
        out += (out.empty() ? "" : ", ") + text(one);
    }
    return "[" + out + "]";
}

std::string commands_of(const drawn_link& link) {
    std::string all;
    const auto add = [&all](const std::string& words) { all += (all.empty() ? "" : "\n") + words; };
    const std::string mtu = link.mtu == drawn_link().mtu ? "" : fmt::format(" mtu {}", link.mtu);
    if (link.kind == "vlan") {
        add(fmt::format("ip link add link {} name {} type vlan id {}", link.on, link.name, link.number));
    } else if (link.kind == "vxlan") {
        add(fmt::format("ip link add {}{} type vxlan id {} dev {} dstport {}", link.name, mtu, link.number, link.on,
                        link.port));
    } else if (link.kind == "bond") {
        add(fmt::format("ip link add {} type bond mode active-backup miimon 100", link.name));
    } else if (link.kind == "bridge") {
        add(fmt::format("ip link add {} type bridge stp_state {}", link.name, link.has_stp ? 1 : 0));
    } else if (link.kind == "tun") {
        add(fmt::format("ip tuntap add {} mode tap", link.name));
    } else if (link.kind == "tunnel") {
        add(fmt::format("ip tuntap add {} mode tun", link.name));
    } else if (link.kind == "veth") {
        add(fmt::format("ip link add {} type veth peer name {}p", link.name, link.name));
    } else if (link.kind == "macvlan") {
        add(fmt::format("ip link add link {} name {} type macvlan mode bridge", link.on, link.name));
    } else if (link.kind == "vrf") {
        add(fmt::format("ip link add {} type vrf table {}", link.name, link.number));
    } else if (!link.kind.empty()) {
        add(fmt::format("ip link add {} type {}", link.name, link.kind));
    }
    if (link.kind != "vxlan" && !mtu.empty()) {
        add(fmt::format("ip link set {}{}", link.name, mtu));
    }
    if (!link.port_of.empty()) {
        // A bond takes no port that is up.
        add(fmt::format("ip link set {} down", link.name));
        add(fmt::format("ip link set {} master {}", link.name, link.port_of));
    }
    add(fmt::format("ip link set {} up", link.name));
    return all;
}

std::string command_of(const drawn_route& route) {
    const bool is_dhcp = route.is.protocol == protocol_of_dhcp;
    const auto* const how = route.how == drawn_way::behind     ? "append"
                            : route.how == drawn_way::in_front ? "prepend"
                                                               : "del";
    std::string all = fmt::format("ip route {} {}{}{}", how, route.is.is_local ? "local " : "",
                                  route.is.is_default() ? "default" : route.is.to.text(),
                                  route.is.gateway ? " via " + route.is.gateway->to_string() : "");
    for (const auto& way : route.is.ways) {
        all += fmt::format(" nexthop via {} dev {}", way.gateway->to_string(), route.device);
    }
    all += route.is.ways.empty() ? " dev " + route.device : "";
    all += route.is.is_onlink ? " onlink" : "";
    all += is_dhcp ? " proto dhcp" : route.is.protocol == protocol_of_kernel ? " proto kernel scope link" : "";
    all += route.is.source ? " src " + route.is.source->to_string() : "";
    all += route.is.metric == 0 ? "" : fmt::format(" metric {}", route.is.metric);
    all += route.table == model::main_table ? "" : fmt::format(" table {}", route.table);
    return all + (route.is.settings.empty() ? "" : fmt::format(" mtu {}", small_mtu));
}

std::string command_of(const drawn_address& one) {
    const auto& has = one.settings;
    std::string all = fmt::format("ip address add {} dev {}", one.address.text(), one.device);
    all += one.scope == model::universe_scope ? "" : " scope link";
    all += has.metric == 0 ? "" : fmt::format(" metric {}", has.metric);
    all += has.has_route() ? "" : " noprefixroute";
    all += has.broadcast ? " broadcast " + has.broadcast->to_string() : "";
    all += one.has_lifetime ? " valid_lft 86400 preferred_lft 86400" : "";
    all += one.is_deprecated ? " preferred_lft 0" : "";
    return all + (one.address.address.is_v6() ? " nodad" : "");
}

// What makes it, line by line, where the cards are there and up.
std::vector<std::string> commands_of(const drawn_host& host) {
    std::vector<std::string> all;
    for (const auto& one : host.links) {
        all.push_back(commands_of(one));
    }
    for (const auto& [device, name] : host.altnames) {
        all.push_back(fmt::format("ip link property add dev {} altname {}", device, name));
    }
    for (const auto& one : host.addresses) {
        all.push_back(command_of(one));
    }
    for (const auto& one : host.routes) {
        all.push_back(command_of(one));
    }
    for (const auto& one : host.rules) {
        all.push_back("ip rule add " + one);
    }
    for (const auto& [key, value] : host.settings) {
        all.push_back(fmt::format("echo {} > /proc/sys/{}", value, key));
    }
    return all;
}

}  // namespace

drawn_host draw_host(std::uint64_t seed, const host_abilities& of) {
    return host_drawing(seed, of).draw();
}

std::string host_text(const drawn_host& host) {
    const auto names_of = [&](link_owner owner) {
        std::vector<std::string> names;
        for (const auto& one : host.links) {
            if (one.owner == owner) {
                names.push_back(one.name);
            }
        }
        return list_of(names, quoted);
    };
    const auto pair = [](const auto& one) { return quoted(one.first) + ": " + quoted(one.second); };
    std::string files = list_of(host.files, pair);
    files.front() = '{';
    files.back() = '}';
    const auto table = [](const drawn_table& one) {
        return fmt::format("[{}, {}]", quoted(one.name), quoted(one.text));
    };
    const auto network = [](const drawn_network& one) {
        return fmt::format(R"({{"vni": {}, "managed": {}, "gateway": {}, "refused": {}}})", one.vni, one.is_managed,
                           quoted(one.gateway), one.is_refused);
    };
    return fmt::format(
        R"({{"seed": {}, "kinds": {}, "devices": {{"upstream": {}, "cluster": {}, "storage": {}, "bridge": {}}}, )"
        R"("has_gateway": {}, "cards": {}, "left": {}, "bare": {}, "commands": {}, "tables": {}, "files": {}, )"
        R"("networks": {}, "probes": {}, "names_known": {}, "ways": {}}})",
        host.seed, list_of(host.kinds, quoted), quoted(host.upstream), quoted(host.cluster), quoted(host.storage),
        quoted(host.bridge), host.has_gateway, list_of(host.cards, quoted), names_of(link_owner::left),
        names_of(link_owner::bare), list_of(commands_of(host), quoted), list_of(host.tables, table), files,
        list_of(host.networks, network), list_of(probes_of(host), quoted), host.are_names_known,
        list_of(host.own_ways, [](const drawn_route& one) { return quoted(one.is.to.text()); }));
}

}  // namespace pvc::sim
