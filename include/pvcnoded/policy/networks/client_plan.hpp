// The links of client networks: what one network needs, what is to be done where it is not so, and what is left behind
// by networks that are gone. Pure: each function looks at one snapshot. Specification: networking.md 5.2 to 5.4 (cases
// 22 to 35, 91).
#pragma once

#include "pvcnoded/config/node_config.hpp"
#include "pvcnoded/model/client_network.hpp"
#include "pvcnoded/model/network_change.hpp"
#include "pvcnoded/model/network_state.hpp"
#include "pvcnoded/policy/networks/host_plan.hpp"
#include "pvcnoded/policy/networks/own_bridges.hpp"

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace pvc::policy {

// Of a bridge: what it was told, and what it says now.
struct changed_setting {
    model::set_sysctl wanted;
    std::string has;

    friend bool operator==(const changed_setting&, const changed_setting&) = default;
};

// What a network was given before, by this daemon: kept in its row between two looks, and compared with the next one.
struct network_memory {
    // Index of the bridge whose settings (sysctls, checksums) were made. 0: of none. -1: of one that the last plan
    // made; the next look tells its index.
    int bridge = 0;
    // Index of the bridge that is the network's own whatever it looks like: this daemon, or one before it in this boot,
    // made or adopted it (own_bridges.hpp). 0: of none.
    int own_bridge = 0;
    // Ports of virtual machines that were seen in the bridge, by index, with their names: one that is still there and
    // is a port of nothing was taken out by somebody, and is put back.
    std::map<int, std::string> ports;
    bool was_right = false;  // the last look found all as it shall be: what is missing now somebody took away
    int mtu = 0;  // effective, of the last plan: another one that is seen now, with the same wish, is somebody's
    bool had_ipv6 = false;     // the last plan was of a network that has it on its bridge
    bool is_ipv6_off = false;  // read with the look: disable_ipv6 of the bridge is 1
    // Likewise: IPv4 is forwarded, but not by the bridge of this managed network.
    bool is_forwarding_off = false;
    bool is_forwarding_v6_off = false;  // likewise, of IPv6: neighbours then hear that a gateway is no router
    std::vector<changed_setting> changed_settings{};  // likewise, of settings_of_bridge(): of what was right before
    // It had an address of its own of IPv6 (link-local), by which guests without another one are answered; and one that
    // is gone was asked of the kernel, which once is enough for.
    bool had_own_v6 = false;
    bool has_asked_own_v6 = false;

    friend bool operator==(const network_memory&, const network_memory&) = default;
};

struct network_plan {
    bool is_refused = false;                   // a remark says why; nothing is done to it
    std::vector<model::network_change> steps;  // in order
    std::vector<network_remark> remarks;
    own_bases bases{};                           // of this network, for the record: after its steps, if it has any
    std::string foreign_base{};                  // the name of its base, where a link of the host's own has that
    int mtu = 0;                                 // effective
    std::optional<int> mtu_to_write;             // into its key, by the primary, if the key is empty
    std::vector<std::string> damage;             // what somebody took away or changed, in words; `steps` repair it
    std::optional<model::network_type> stays{};  // if refused: the type that it keeps, as its base is there
    network_memory next;                         // if all steps succeed, or there are none
    std::set<std::uint32_t> left;                // of networks that are gone: those whose links others use

    [[nodiscard]] bool is_right() const { return steps.empty() && !is_refused; }
};

// Of steps that are left because the first of them was refused: what the bridge alone needs to be up, where that first
// one is about its base. Machines here then reach each other.
[[nodiscard]] std::vector<model::network_change> steps_without_base(const model::client_network& network,
                                                                    std::span<const model::network_change> left);
[[nodiscard]] network_plan plan_network(const model::client_network& wanted, const config::node_config& config,
                                        const model::network_state& seen, const network_memory& known,
                                        const whose_links& whose = {});

// Its bridge is a link of IPv6: a gateway of IPv6 is to be on it. A host may have it off for all new links
// (net.ipv6.conf.default.disable_ipv6), which is about the host's own.
[[nodiscard]] bool has_ipv6_on_bridge(const model::client_network& network);

// What its bridge is told. A look does not show it: whoever has made the bridge right reads whether it says so.
[[nodiscard]] std::vector<model::set_sysctl> settings_of_bridge(const model::client_network& network);

// The links of a network that is no more, of either type: nothing where they are not this daemon's (ruling 79), or
// others use them, or somebody gave the bridge of a bridged one an address (the remark says so). `own_bridge`: the
// index of the bridge that is the network's own (network_memory); any other one stays if it is named, if its base is
// not in it and it has an address, STP, or a port that leads out, or if it is one of kept_bridges.
[[nodiscard]] network_plan plan_removal(std::uint32_t vni, const config::node_config& config,
                                        const model::network_state& seen, int own_bridge = 0,
                                        const whose_links& whose = {});

// What networks that are gone left behind: vmbr<N> with vxlan<N> or vlan<N>. `known`: all that /networks has, also
// those that are refused. A bridge that has other ports than its own base is left alone (case 30): `left`, and a
// remark. `own`: those that go also if they stand alone and have addresses, or STP.
[[nodiscard]] network_plan plan_sweep(const std::set<std::uint32_t>& known, const config::node_config& config,
                                      const model::network_state& seen, const own_bridges& own = {},
                                      const whose_links& whose = {});

// Links of this host itself whose names a client network may want, as far as they can be told from those of networks:
// each with the reason, "vlan400 (it has 192.0.2.10/24)". By name.
[[nodiscard]] std::vector<std::string> foreign_links(const config::node_config& config,
                                                     const model::network_state& seen, const own_bridges& own,
                                                     const whose_links& whose);

// VLANs of this host's own that get no packets, as a bridged network that was there first takes them: each with what to
// do about it.
[[nodiscard]] std::vector<std::string> dead_links(const config::node_config& config, const model::network_state& seen,
                                                  const whose_links& whose);

// Bridges vmbr<N> with a base in them as of a network that is not there (`known` as above), which stay all the same, as
// they have what no node daemon left: each with the reason, "vmbr60 (it has 192.0.2.10/24)".
[[nodiscard]] std::vector<std::string> kept_bridges(const std::set<std::uint32_t>& known,
                                                    const config::node_config& config, const model::network_state& seen,
                                                    const own_bridges& own, const whose_links& whose);

// What would go for the want of its network, by plan_sweep, although no record says that a daemon made it: names.
[[nodiscard]] std::vector<std::string> links_to_sweep(const config::node_config& config,
                                                      const model::network_state& seen, const own_bridges& own,
                                                      const whose_links& whose);

// All of these in words, as a start would do it: what would go, and what would not and why. Nothing goes as long as
// what the host's own configuration names is not known.
[[nodiscard]] std::vector<std::string> describe_sweep(const config::node_config& config,
                                                      const model::network_state& seen, const own_bridges& own,
                                                      const whose_links& whose, bool are_names_known);

// A bridge vmbr<N> in which machines have ports, as they have to be filtered whatever becomes of its network: not the
// host's own, and none that the host itself is reached over (another port, and addresses that are no gateways).
// Containers of the host alone are no reason: they are nobody's of the cluster. Beside machines they are filtered with
// them, as the rules see the bridge that a packet came by and not its port.
struct machine_bridge {
    bool has_vxlan = false;  // by its ports, of this very number
    bool has_vlan = false;

    friend bool operator==(const machine_bridge&, const machine_bridge&) = default;
};
// By VNI.
[[nodiscard]] std::map<std::uint32_t, machine_bridge> bridges_of_machines(const config::node_config& config,
                                                                          const model::network_state& seen);

// What this host reaches by itself, beside the networks of the file: the networks of its own links, and where routes
// lead that somebody made by hand. Not what a whole private range leads to (10.0.0.0/8, say: that is as good as a
// default route), nor by the primary's floating addresses, nor a bridge in which there are only machines.
//
// A client network within a network of a link is a reason to give no gateway: it would take the neighbours of the host
// away. So is one within what a route by a router leads to, if that is one network of hosts (a /24 or /64, or less): it
// is somebody else's. A wider route (10.66.0.0/16, say, to the router of a site) is no reason: who has that range gave
// a part of it to the cluster, and that router sends it there; without its gateway such a network would lose what it
// had under each node daemon before this one. What the host had in that part it does not reach as primary: that is told
// of.
struct host_reach {
    host_address network;
    bool is_route = false;
    std::string device;

    friend bool operator==(const host_reach&, const host_reach&) = default;
};
// `networks`: their bridges are none of the host's; nor are those of the record.
[[nodiscard]] std::vector<host_reach> reach_of_host(const std::set<std::uint32_t>& networks,
                                                    const config::node_config& config, const model::network_state& seen,
                                                    const own_bridges& own);

// A gateway that nobody gets. Two networks want the same address: the one with the smaller VNI has it. Or the network
// overlaps one of the host's own: with its gateway the way to other nodes would lead into the client network.
struct gateway_conflict {
    std::uint32_t loser = 0;
    ip::address address;
    std::string text;  // "network 1002: its gateway 10.1.1.1 is that of network 1001, which keeps it"
};
[[nodiscard]] std::vector<gateway_conflict> gateway_conflicts(std::span<const model::client_network> all,
                                                              const config::node_config& config,
                                                              std::span<const host_reach> reach = {});

// A network that lies in another one, or is the same, where both have gateways: the primary reaches what they have in
// common in one of the two only. Of each network and family the next one around it, so that of many there are few.
struct network_overlap {
    std::uint32_t inner = 0;
    std::uint32_t outer = 0;  // 0: none, but a route of the host
    std::string text;         // "network 1002: its 10.1.1.128/25 overlaps 10.1.1.0/24 of network 1001: …"

    friend bool operator==(const network_overlap&, const network_overlap&) = default;
};
// By the inner one, of each IPv6 first.
[[nodiscard]] std::vector<network_overlap> network_overlaps(std::span<const model::client_network> all,
                                                            const config::node_config& config,
                                                            std::span<const host_reach> reach = {});

}  // namespace pvc::policy
