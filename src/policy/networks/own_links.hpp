// Whose a link is: the host's own (never touched for a client network), what this daemon would have made for one, or
// anybody's. Specification: networking.md 5.3 (ownership check).
#pragma once

#include "pvcnoded/config/node_config.hpp"
#include "pvcnoded/model/client_network.hpp"
#include "pvcnoded/model/network_change.hpp"
#include "pvcnoded/model/network_state.hpp"
#include "pvcnoded/policy/networks/own_bridges.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace pvc::policy {

// The devices of the static networks and of bridged networks, each once, in the order in which they are used.
[[nodiscard]] std::vector<std::string> core_device_names(const config::node_config& config);

[[nodiscard]] std::string bridge_name(std::uint32_t vni);
[[nodiscard]] std::string base_name(std::uint32_t vni, model::network_type type);
[[nodiscard]] model::network_type other_type(model::network_type type);
// Whether a network of this type can have this number: VLANs have 12 bits.
[[nodiscard]] bool can_have(std::uint32_t vni, model::network_type type);

// A port of a machine or of a container, by its kind.
[[nodiscard]] bool is_guest_port(const model::network_link& link);
// Of a machine alone, as libvirt makes it: containers of the host (docker, LXC) have one end of a pair of veth.
[[nodiscard]] bool is_machine_port(const model::network_link& link);
// Somebody gave it to its link, or had a program of his do that: it did not come by itself. IPv4 never does (one that
// has a lifetime is of a DHCP client); of IPv6 those that the kernel makes, and those of router advertisements.
[[nodiscard]] bool is_given(const model::link_address& one);
// A link-local one of IPv6 that the kernel made of a hardware address, as it does for a link by itself.
[[nodiscard]] bool is_of_hardware(const ip::address& address);
inline constexpr std::uint8_t made_by_kernel = 2;  // RTPROT_KERNEL
// Not of a routing daemon, which may hear of networks from guests.
[[nodiscard]] bool is_by_hand(const model::network_route& route);
// Of one family, and the same network by its prefix length.
[[nodiscard]] bool is_in(const ip::address& address, const host_address& network);

// All outlive it.
class own_links {
public:
    own_links(const config::node_config& config, const model::network_state& seen, const whose_links& whose);

    // Device or bridge of the host, or what one of them stands on or is a port of, however far below.
    [[nodiscard]] bool is_of_host(const model::network_link& link) const {
        return std::ranges::find(host_links_, link.index) != host_links_.end();
    }
    // Also where it is not there yet.
    [[nodiscard]] bool is_name_of_host(std::string_view name) const {
        return std::ranges::find(host_names_, name) != host_names_.end();
    }

    // The device that bases of this type stand on; "": none is configured.
    [[nodiscard]] const std::string& lower_name(model::network_type type) const;

    // What would be made as the base of this network, but for what can be changed while it is used.
    [[nodiscard]] bool is_base(const model::network_link& link, std::uint32_t vni, model::network_type type) const;
    // Made as the base of this network for a device that the configuration does not name any more, by record.
    [[nodiscard]] bool is_base_of_before(const model::network_link& link, std::uint32_t vni,
                                         model::network_type type) const;
    // What a VXLAN has that ours would not, and can be given while it is used: "learning switched off"; "": nothing.
    [[nodiscard]] static std::string changeable_settings(const model::network_link& base);
    [[nodiscard]] bool is_bridge(const model::network_link& link) const;
    // Why such a base, which the record does not have, is somebody else's: "it has 192.0.2.10/24". "": nothing shows
    // that.
    [[nodiscard]] std::string why_foreign(const model::network_link& base, std::uint32_t vni) const;
    // Of a bridge that the record does not have: a base of ours, or one that a network used by the record, is its port.
    [[nodiscard]] bool has_base(const model::network_link& bridge, std::uint32_t vni, model::network_type type) const;
    // Why such a bridge is somebody else's, whatever network there is: "it has STP switched on". "": nothing shows
    // that.
    [[nodiscard]] std::string why_foreign_bridge(const model::network_link& bridge, std::uint32_t vni) const;
    // Why one with its base, of a network that is not there, was not left by a node daemon: the primary gives addresses
    // to bridges of managed networks alone, and no daemon makes routes over them. "": nothing shows that.
    [[nodiscard]] std::string why_kept_bridge(const model::network_link& bridge, std::uint32_t vni) const;
    // Of a bridge that no daemon of this boot has had: what shows that it is not this network's: "STP switched on"; "":
    // nothing.
    [[nodiscard]] std::string what_of_others(const model::network_link& bridge,
                                             const model::client_network& wanted) const;
    // Why a link of this name is not made where it is not there: the host's own configuration names it, and makes it
    // with the next ifup. "": it does not.
    [[nodiscard]] std::string why_not_made(const std::string& name) const;
    // Likewise of the base of a network: or it names another VLAN of that number, of which a device has one; or it
    // names one, or there is one, on a bridge or bond that the device is, or is to be, a port of.
    [[nodiscard]] std::string why_base_not_made(std::uint32_t vni, model::network_type type) const;
    // VLANs that the host has on a bridge or bond that the device of bridged networks is a port of: "VLAN 50 (…)".
    [[nodiscard]] std::vector<std::string> numbers_above() const;
    // Of these, with what to do, those whose packets a network that was there first takes away: they are not among
    // them.
    [[nodiscard]] std::vector<std::string> dead_above() const;
    // What it names of names and numbers that a client network may want, and that is not there.
    [[nodiscard]] std::vector<std::string> named_and_not_there() const;
    // The base of this network by its name, or by the record, whatever it is called by now; null: it is not there.
    [[nodiscard]] const model::network_link* find_base(std::uint32_t vni, model::network_type type) const;
    // The network's own base that somebody called otherwise, if it can have its name again; null: there is none.
    [[nodiscard]] const model::network_link* renamed_base(std::uint32_t vni, model::network_type type) const;
    // It goes with its network: recorded as made or adopted, or one that a daemon of the other kind made, whose only
    // role is to be a port of the network's bridge.
    [[nodiscard]] bool is_own_base(const model::network_link& base, std::uint32_t vni) const;
    [[nodiscard]] const recorded_base* recorded(const model::network_link& base) const { return whose_.find(base); }
    // The network whose own bridge this is by the record, whatever it is called; 0: of none.
    [[nodiscard]] std::uint32_t network_of(const model::network_link& bridge) const;
    // What gives the own bridge of a network its name again. Where another network's own has that, each of the two gets
    // its own again: the smaller number is the first, and the other bridge is called by its index meanwhile, as what
    // waits for its name. Empty: it stays, as its name is somebody else's, or the one that it has is the host's.
    [[nodiscard]] std::vector<model::network_change> renames(const model::network_link& own, std::uint32_t vni) const;
    // What has this as another name, so that nothing can be made that is called so; null: nothing.
    [[nodiscard]] const model::network_link* called(std::string_view name) const;
    // Also by a pattern of ifupdown ("/vxlan*"), unless that begins with what fits anything, or by a range.
    [[nodiscard]] bool is_named(std::string_view name) const;
    // Of a VXLAN of this network's number on the right device, which is not ours for that alone; "": it is not one.
    [[nodiscard]] std::string other_port_of_vxlan(const model::network_link& base,
                                                  const model::client_network& wanted) const;

private:
    [[nodiscard]] std::vector<const model::network_link*> vlans_above() const;
    // By which it is named, as the file has it, or the range that it lies in; "": by none.
    [[nodiscard]] std::string pattern_of(std::string_view name) const;
    // As what this VLAN is named; "": it is not.
    [[nodiscard]] std::string how_named(const std::string& device, std::uint32_t vlan) const;
    [[nodiscard]] const model::network_link* find_vxlan(std::uint32_t vni) const;
    [[nodiscard]] std::string why_taken_above(std::uint32_t vni) const;
    [[nodiscard]] static bool has_number(const model::network_link& link, std::uint32_t vni, model::network_type type);
    void add_host_link(const model::network_link* link);
    // The device of bridged networks, by all its names.
    [[nodiscard]] std::vector<std::string> names_of_trunk() const;
    // And each bridge or bond above it: by what the kernel has, the host's own files, or the configuration, as any of
    // them may be up first.
    [[nodiscard]] std::vector<std::string> names_above_trunk() const;
    [[nodiscard]] bool has_lost(const model::network_link& above) const;

    const config::node_config& config_;
    const model::network_state& seen_;
    const whose_links& whose_;
    std::vector<std::string_view> host_names_;  // a few
    std::vector<int> host_links_;
};

}  // namespace pvc::policy
