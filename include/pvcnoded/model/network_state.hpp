// What the kernel has of links, addresses and routes, as one look sees it. Values; what only looks at them
// decides what is to be changed (policy/networks). Specification: networking.md 2, 3.1, 5.2.
#pragma once

#include "pvcnoded/base/address.hpp"
#include "pvcnoded/model/hardware_address.hpp"
#include "pvcnoded/model/network_neighbour.hpp"
#include "pvcnoded/model/network_route.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace pvc::model {

struct vxlan_settings {
    std::uint32_t vni = 0;
    std::uint16_t port = 4789;
    bool is_learning = true;
    bool has_local = false;   // a local address is set
    bool has_remote = false;  // a group or a remote is set

    friend bool operator==(const vxlan_settings&, const vxlan_settings&) = default;
};

struct network_link {
    int index = 0;
    std::string name;
    std::string kind;  // of IFLA_INFO_KIND: "bridge", "vlan", "vxlan", "veth", "bond", "tun", …; "" of a physical one
    int mtu = 0;
    bool is_up = false;       // IFF_UP: somebody wants it up
    bool is_running = false;  // IFF_RUNNING: it works
    bool is_loopback = false;
    int master = 0;  // index of the bridge, bond or team that it is a port of; 0: of none
    int lower = 0;  // IFLA_LINK, of VXLAN IFLA_VXLAN_LINK: what it stands on; 0: nothing (as an end of a veth pair), or
                    // in another namespace
    std::optional<std::uint16_t> vlan_id;
    std::optional<vxlan_settings> vxlan;
    bool has_stp = false;                  // of a bridge: it speaks with others about loops, whoever does that for it
    std::vector<std::string> alt_names{};  // that it can be called by as well
    bool has_traffic_filter = false;       // somebody has packets looked at as they come or go (tc: ingress, clsact)
    hardware_address hardware{};           // of Ethernet links
    bool is_arp_off = false;               // it asks for no neighbour, and answers none

    friend bool operator==(const network_link&, const network_link&) = default;
};

struct link_address {
    int link = 0;  // index
    host_address address;
    std::uint8_t scope = universe_scope;
    bool is_permanent = true;           // false: it came with a router advertisement or a lease, and goes by itself
    std::optional<ip::address> peer{};  // the far end that it was given with: the prefix length is that one's
    address_lifetime lifetime{};        // of a permanent one: how long it is preferred
    address_settings settings{};
    bool is_taken =
        true;  // IPv4; false: the kernel's own route to it (table local) is gone: it takes no packets for it

    [[nodiscard]] bool is_global() const { return scope == universe_scope; }

    friend bool operator==(const link_address&, const link_address&) = default;
};

// Of the main table, IPv4.
struct default_route {
    ip::address gateway;
    int link = 0;  // index
    std::uint32_t metric = 0;

    friend bool operator==(const default_route&, const default_route&) = default;
};

// A route over a link that somebody made: of both families and all tables. Not those that the kernel makes by itself
// for an address, and not those that come with router advertisements.
struct link_route {
    network_route is;
    int link = 0;  // index
    std::uint32_t table = main_table;
    // What there is more to it than `is` says, so that it could not be made again from that: "it goes by the nexthop
    // object 5, …". Empty: nothing.
    std::string more{};
    // Of several of one table, place, metric and type of service the kernel takes the first: so many come before it,
    // and whether one comes behind that is not a route of this list over this link (over another one, the kernel's own,
    // one that leads nowhere).
    std::uint16_t place = 0;
    bool is_before_others = false;

    [[nodiscard]] bool is_plain() const { return more.empty(); }
    friend bool operator==(const link_route&, const link_route&) = default;
};

// By which what an address has in common with its neighbours is reached: the kernel makes it with the address, or
// somebody makes one as the kernel would, for an address that has none (address_settings). Of the main table.
struct connected_route {
    int link = 0;          // index
    host_address network;  // without bits of a host
    std::uint32_t metric = 0;
    std::optional<ip::address> source{};
    std::string settings{};  // network_route: the kernel gives it none, somebody does
    // So many routes of its place (main table, metric) over its link, which somebody made, the kernel takes before it.
    std::size_t behind = 0;

    friend bool operator==(const connected_route&, const connected_route&) = default;
};
// What it leads to by an address; empty: the kernel makes none for that.
[[nodiscard]] std::optional<host_address> connected_network(const host_address& address);

// So many routes of one link a look shows at the most, beside its default routes: routing daemons may have hundreds of
// thousands.
inline constexpr std::size_t link_routes_max = 1000;

// Links in the order of their index. Look-ups by name and index are logarithmic.
class network_state {
public:
    network_state() = default;
    network_state(std::vector<network_link> links, std::vector<link_address> addresses,
                  std::vector<default_route> routes, std::vector<link_route> link_routes = {},
                  std::vector<connected_route> connected = {}, std::vector<link_neighbour> neighbours = {});

    [[nodiscard]] std::span<const network_link> links() const { return links_; }
    [[nodiscard]] std::span<const link_address> addresses() const { return addresses_; }
    [[nodiscard]] std::span<const default_route> routes() const { return routes_; }
    // Default routes too; by link, then by where they lead.
    [[nodiscard]] std::span<const link_route> link_routes() const { return link_routes_; }

    // By link.
    [[nodiscard]] std::span<const connected_route> connected_routes() const { return connected_; }
    [[nodiscard]] bool has_connected_route(int link, const host_address& network) const;

    // By link, then by address.
    [[nodiscard]] std::span<const link_neighbour> neighbours() const { return neighbours_; }

    // Null: there is none.
    [[nodiscard]] const network_link* find(std::string_view name) const;
    // Also by another name that it has.
    [[nodiscard]] const network_link* find_by_any_name(std::string_view name) const;
    [[nodiscard]] const network_link* find(int index) const;
    // "" if there is none.
    [[nodiscard]] std::string_view name_of(int index) const;
    // The ports of a bridge (or bond, or team), by index.
    [[nodiscard]] std::vector<const network_link*> ports_of(int master) const;
    // What stands on it: VLANs, VXLANs, …
    [[nodiscard]] std::vector<const network_link*> standing_on(int lower) const;
    [[nodiscard]] std::vector<link_address> addresses_of(int link) const;

    // Indexes are compared too: a link that was made anew is another one.
    friend bool operator==(const network_state& a, const network_state& b) {
        return a.links_ == b.links_ && a.addresses_ == b.addresses_ && a.routes_ == b.routes_ &&
               a.link_routes_ == b.link_routes_ && a.connected_ == b.connected_ && a.neighbours_ == b.neighbours_;
    }

private:
    std::vector<network_link> links_;
    std::vector<link_address> addresses_;  // by link, in the order of the kernel
    std::vector<default_route> routes_;
    std::vector<link_route> link_routes_;
    std::vector<connected_route> connected_;
    std::vector<link_neighbour> neighbours_;
    // Places in links_: in the order of hashes of names (with the hash above the place), of masters and of what is
    // below.
    std::vector<std::uint64_t> by_name_;
    std::vector<std::size_t> by_master_;
    std::vector<std::size_t> by_lower_;
};

}  // namespace pvc::model
