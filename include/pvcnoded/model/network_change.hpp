// One step that is to be done to links, addresses, routes and their settings, as a value: policy says which, the port
// `netlink/network_stack.hpp` carries it out, an operator reads it before. Devices are named as the kernel names them.
// Each but make_... says what shall be: what is so already is a success. Specification: networking.md 2.
#pragma once

#include "pvcnoded/base/address.hpp"
#include "pvcnoded/model/hardware_address.hpp"
#include "pvcnoded/model/network_neighbour.hpp"
#include "pvcnoded/model/network_route.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

namespace pvc::model {

// With a hardware address it keeps that, whatever its ports have; else it has that of its smallest port, and another
// one with each that comes or goes.
struct make_bridge {
    std::string name;
    hardware_address hardware{};  // all 0: none of its own
    friend bool operator==(const make_bridge&, const make_bridge&) = default;
};
struct make_vlan {
    std::string name;
    std::string parent;
    std::uint16_t id = 0;
    friend bool operator==(const make_vlan&, const make_vlan&) = default;
};
// Learning, no local address, no group, no remote (networking.md 5.2).
struct make_vxlan {
    std::string name;
    std::string lower;
    std::uint32_t vni = 0;
    std::uint16_t port = 4789;
    friend bool operator==(const make_vxlan&, const make_vxlan&) = default;
};
struct set_up {
    std::string name;
    friend bool operator==(const set_up&, const set_up&) = default;
};
struct set_down {
    std::string name;
    friend bool operator==(const set_down&, const set_down&) = default;
};
struct set_mtu {
    std::string name;
    int mtu = 0;
    friend bool operator==(const set_mtu&, const set_mtu&) = default;
};
// What a VXLAN can be given while it is used: learning is on, local and remote address are gone.
struct plain_vxlan {
    std::string name;
    friend bool operator==(const plain_vxlan&, const plain_vxlan&) = default;
};
// It asks for neighbours, and answers them.
struct set_arp_on {
    std::string name;
    friend bool operator==(const set_arp_on&, const set_arp_on&) = default;
};
// The link of this index, whatever it is called. Kernels before 6.2 rename none that is up: it is down for a moment
// there.
struct rename_link {
    std::string name;  // from now on
    int index = 0;
    friend bool operator==(const rename_link&, const rename_link&) = default;
};
// A bridge that is given an address keeps it from then on, also where it has that already.
struct set_hardware {
    std::string name;
    hardware_address hardware{};
    friend bool operator==(const set_hardware&, const set_hardware&) = default;
};
// Makes it a port of a bridge; empty: of none.
struct set_master {
    std::string name;
    std::string master;
    // An index: only this link, and only while it is a port of nothing. Somebody may have moved it since it was looked
    // at; then it stays where it is, and that is a success. 0: whatever it is.
    int if_free = 0;
    friend bool operator==(const set_master&, const set_master&) = default;
};
struct delete_link {
    std::string name;
    friend bool operator==(const delete_link&, const delete_link&) = default;
};
// Of IPv6 without duplicate address detection. Not announced (netlink/addresses.hpp does that).
struct add_address {
    std::string device;
    host_address address;
    std::optional<address_lifetime> lifetime{};  // empty: it stays
    // Of IPv4: what is of one network has one scope on a link, another one is refused. Of IPv6 the address says it.
    std::uint8_t scope = universe_scope;
    std::optional<ip::address> peer{};  // the far end: the prefix length is that one's
    address_settings settings{};
    friend bool operator==(const add_address&, const add_address&) = default;
};
struct remove_address {
    std::string device;
    host_address address;
    std::optional<ip::address> peer{};  // one that was given with a far end is another one without it
    friend bool operator==(const remove_address&, const remove_address&) = default;
};
// Main table, protocol boot, scope universe.
struct add_default_route {
    ip::address gateway;
    std::string device;
    friend bool operator==(const add_default_route&, const add_default_route&) = default;
};
struct remove_default_route {
    ip::address gateway;
    std::string device;
    friend bool operator==(const remove_default_route&, const remove_default_route&) = default;
};
// All that the value says is kept; one to an address that the device does not have (is_local) is not made. One over
// another device is already_exists, and stays; but not the same over `moves_from`, but for its source: that is still
// there afterwards, until it is removed, so that who dies in between has lost nothing. Where the kernel would make one
// route of both (network_route::is_merged) this one takes its place at once. From the device itself: it comes back
// there, beside others of its place and metric, of IPv4 before them (comes_first) or behind.
struct add_route {
    network_route route;
    std::string device;
    std::uint32_t table = main_table;
    std::string moves_from{};
    bool comes_first = false;
    friend bool operator==(const add_route&, const add_route&) = default;
};
struct remove_route {
    network_route route;
    std::string device;
    std::uint32_t table = main_table;
    std::string moves_to{};  // where the same is by now: what undoes this makes it beside that
    friend bool operator==(const remove_route&, const remove_route&) = default;
};
// For good: what else is known of it on that device gives way.
struct add_neighbour {
    std::string device;
    given_neighbour neighbour;
    friend bool operator==(const add_neighbour&, const add_neighbour&) = default;
};
struct remove_neighbour {
    std::string device;
    given_neighbour neighbour;
    friend bool operator==(const remove_neighbour&, const remove_neighbour&) = default;
};
// A key below /proc/sys, with slashes ("net/ipv4/conf/eth0.100/rp_filter": names of devices may hold dots).
struct set_sysctl {
    std::string key;
    std::string value;
    friend bool operator==(const set_sysctl&, const set_sysctl&) = default;
};
struct tx_checksum_off {
    std::string device;
    friend bool operator==(const tx_checksum_off&, const tx_checksum_off&) = default;
};

using network_change = std::variant<make_bridge, make_vlan, make_vxlan, plain_vxlan, set_up, set_down, set_mtu,
                                    set_arp_on, rename_link, set_hardware, set_master, delete_link, add_address,
                                    remove_address, add_default_route, remove_default_route, add_route, remove_route,
                                    add_neighbour, remove_neighbour, set_sysctl, tx_checksum_off>;

// "create bridge brcluster", "make ens4 a port of brcluster", "set MTU 9000 on ens4", "add 10.0.0.1/24 to brcluster".
[[nodiscard]] std::string to_text(const network_change& change);
// The device that it is done to; of a sysctl the key.
[[nodiscard]] const std::string& device_of(const network_change& change);

}  // namespace pvc::model
