// What is asked of the kernel: one request each, with the attributes of the specification and no others. Sequence
// number and port are those of the socket, which puts them in. Names are such as is_device_name() takes; those of links
// that are made have at most 15 characters.
// Specification: networking.md 2.
#pragma once

#include "pvcnoded/base/address.hpp"
#include "pvcnoded/model/hardware_address.hpp"
#include "pvcnoded/model/network_change.hpp"
#include "pvcnoded/model/network_route.hpp"
#include "pvcnoded/model/network_state.hpp"
#include "pvcnoded/model/virtual_functions.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace pvc::netlink {

// What a link may be called, as far as the kernel would take it for something else: not empty, not too long, and no
// pattern that it would fill in.
[[nodiscard]] bool is_device_name(const std::string& name);

[[nodiscard]] std::string get_link_message(const std::string& name);
// What looks at packets, of all links (RTM_NEWQDISC).
[[nodiscard]] std::string dump_queues_message();
// The same with its counters.
[[nodiscard]] std::string get_counters_message(const std::string& name);
// The same with its virtual functions, and one setting of such a function.
[[nodiscard]] std::string get_functions_message(const std::string& name);
[[nodiscard]] std::string set_function_message(int link, int function, const model::function_setting& setting);
// All 0: with none of its own.
[[nodiscard]] std::string create_bridge_message(const std::string& name, const model::hardware_address& hardware);
[[nodiscard]] std::string create_vlan_message(const std::string& name, int parent, std::uint16_t id);
[[nodiscard]] std::string create_vxlan_message(const std::string& name, int lower, std::uint32_t vni,
                                               std::uint16_t port);
// Learning on, and without the ends of IPv4, or of IPv6: the kernel takes neither for the other.
[[nodiscard]] std::string plain_vxlan_message(int link, const model::vxlan_settings& has, bool is_v6);
[[nodiscard]] std::string set_hardware_message(int link, const model::hardware_address& hardware);
[[nodiscard]] std::string set_up_message(int link, bool is_up);
[[nodiscard]] std::string set_arp_on_message(int link);
[[nodiscard]] std::string rename_link_message(int link, const std::string& name);
[[nodiscard]] std::string set_mtu_message(int link, int mtu);
[[nodiscard]] std::string set_master_message(int link, int master);
[[nodiscard]] std::string delete_link_message(int link);

[[nodiscard]] std::string get_address_message(int link, const ip::address_v6& address);
// `is_there`: it gets the lifetime.
[[nodiscard]] std::string add_address_message(int link, const model::add_address& what, bool is_there = false);
[[nodiscard]] std::string remove_address_message(int link, const host_address& which,
                                                 const std::optional<ip::address>& peer = std::nullopt);

[[nodiscard]] std::string add_default_route_message(int link, const ip::address_v4& gateway);
[[nodiscard]] std::string remove_default_route_message(int link, const ip::address_v4& gateway);

// What becomes of another one of its place and metric: it is refused beside that, comes behind it, in its place, or (of
// IPv4) before it.
enum class beside_others : std::uint8_t { none, stay, give_way, follow };
[[nodiscard]] std::string add_route_message(int link, const model::network_route& route, std::uint32_t table,
                                            beside_others how = beside_others::none);
[[nodiscard]] std::string remove_route_message(int link, const model::network_route& route, std::uint32_t table);

// What the kernel knows of it there gives way.
[[nodiscard]] std::string add_neighbour_message(int link, const model::given_neighbour& one);
[[nodiscard]] std::string remove_neighbour_message(int link, const model::given_neighbour& one);
// The one or the other, of both families.
[[nodiscard]] std::string dump_neighbours_message(bool are_proxies);

[[nodiscard]] std::string dump_links_message();
// Of one link where the kernel can choose; 0: of all.
[[nodiscard]] std::string dump_addresses_message(int link);
// IPv4, the main table.
[[nodiscard]] std::string dump_routes_message();
// Of one family, all tables: those by which this machine takes packets itself.
[[nodiscard]] std::string dump_local_routes_message(int family);
// Of one family, all tables.
[[nodiscard]] std::string dump_link_routes_message(int family);
// Rules of routing, of one family.
[[nodiscard]] std::string dump_rules_message(int family);

}  // namespace pvc::netlink
