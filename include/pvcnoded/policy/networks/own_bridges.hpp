// The links of client networks that this daemon, or one before it in this boot, made or adopted. A bridge that has
// lost its base (the kernel deletes VXLANs with the device below them) and has an address tells nobody whose it is:
// this record does. It lives in memory as links do: longer than a daemon, and not longer than the boot. A bridge is
// known by its number and its index, which the kernel gives to no other link. So is the base of a network, vlan<N> or
// vxlan<N>: hosts have links of such names too, and only what is recorded is deleted. Pure. Specification:
// networking.md 5.3, 5.4, 6; README ruling 79.
#pragma once

#include "pvcnoded/config/node_config.hpp"
#include "pvcnoded/model/network_change.hpp"
#include "pvcnoded/model/network_state.hpp"
#include "pvcnoded/policy/networks/bound_routes.hpp"
#include "pvcnoded/policy/networks/named_links.hpp"

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace pvc::policy {

struct recorded_bridge {
    int index = 0;
    // Of a managed network, or of one that was until its last address went: what addresses it has, a primary gave it.
    bool has_gateways = false;

    friend bool operator==(const recorded_bridge&, const recorded_bridge&) = default;
};
using own_bridges = std::map<std::uint32_t, recorded_bridge>;  // by VNI

// 0: none is known.
[[nodiscard]] int index_of(const own_bridges& all, std::uint32_t vni);
// It is the own bridge of some network, by whatever name.
[[nodiscard]] bool has_index(const own_bridges& all, int index);

struct recorded_base {
    static constexpr int coming = 0;  // it is about to be made: whatever index it has then
    int index = coming;
    bool is_own = true;  // false: it was there, and a network only uses it

    friend bool operator==(const recorded_base&, const recorded_base&) = default;
};
using own_bases = std::map<std::string, recorded_base, std::less<>>;  // by name

// A port of a bridge of the host's own: the configuration named it as the device of that bridge, now or before, in this
// boot. One whose bridge has another device by now goes from it (host_plan.hpp).
struct recorded_port {
    int index = 0;
    std::string bridge;

    friend bool operator==(const recorded_port&, const recorded_port&) = default;
};
// By name; one that goes from one bridge to another is on record with both until it has, with the second as
// "ens4:brstorage", which no kernel calls a link.
using host_ports = std::map<std::string, recorded_port, std::less<>>;

// What else is on record.
struct further_notes {
    // Bridges of the host that this daemon made, or is about to make, and that have had no device yet: settings are to
    // be carried to them.
    std::set<std::string> made{};
    bound_routes routes{};

    friend bool operator==(const further_notes&, const further_notes&) = default;
};

// What tells whose a link is, beside what it looks like.
struct whose_links {
    own_bases bases;
    std::set<std::string, std::less<>> named{};  // by files of the host itself (named_links.hpp)
    own_bridges bridges{};
    named_masters masters{};  // by the same files

    // The record has this very link; null: it has not.
    [[nodiscard]] const recorded_base* find(const model::network_link& link) const;
};

// The record after a look: those of `before` that are still there, and those of `taken`, which plans took for their
// networks' own; `has_gateways` of these says whether the network is a managed one.
[[nodiscard]] own_bridges after_look(const own_bridges& before, const own_bridges& taken,
                                     const model::network_state& seen);
// Likewise. One that is about to be made and is not there stays only if `taken` still has it; one that was only used,
// as long as it is a port.
[[nodiscard]] own_bases bases_after_look(const own_bases& before, const own_bases& taken,
                                         const model::network_state& seen);
// Likewise: those of `before` that still are ports of the same bridge, and those that `config` names.
[[nodiscard]] host_ports ports_after_look(const host_ports& before, const config::node_config& config,
                                          const model::network_state& seen);
// It is a port of the bridge that it has on the record, whatever it is called by now.
[[nodiscard]] bool is_recorded(const host_ports& ports, const model::network_state& seen,
                               const model::network_link& link);
// And those that these steps make, so that they are known also if the daemon dies right after: what comes to nothing
// goes with the next look.
[[nodiscard]] host_ports with_ports_of(host_ports before, std::span<const model::network_change> steps,
                                       const model::network_state& seen);

// The record as text, in as many files as it takes: none is longer than `limit` bytes. A line for the boot, then one a
// bridge: "1014 57 m" (VNI, index; m: has_gateways, b: not), and one a base: "base vlan400 58 own" (name, index, 0: it
// is about to be made; own or used), and one a port of the host's bridges: "port ens4 2 brcluster", and one a bridge of
// the host that has had no device yet: "made brcluster", and one a route (bound_routes.hpp).
[[nodiscard]] std::vector<std::string> record_texts(const own_bridges& all, const own_bases& bases,
                                                    std::string_view boot_id, std::size_t limit,
                                                    const host_ports& ports = {}, const further_notes& further = {});

// Of its files, from 0 on, in the dynamic directory: "client-bridges", "client-bridges.2", …
[[nodiscard]] std::string record_name(std::size_t part);
// There are no more.
inline constexpr std::size_t record_files_max = 1000;

// Where a part of the record of this boot is not to be read: with each base that is in its bridge and of which it says
// nothing, as one that is only used. Whoever made it is not known, and so it is not deleted.
[[nodiscard]] own_bases with_unknown_bases(own_bases known, const model::network_state& seen);

// Adds what one file says. One of another boot says nothing; of one that ends within a line that line is ignored. What
// is returned says which line was ignored, if any was, and why ("line 3: expected `VNI index m|b`, got \"?\""). Ports
// and what else there is are read past where nobody wants them.
[[nodiscard]] std::string add_record(own_bridges& to, own_bases& bases, std::string_view text, std::string_view boot_id,
                                     host_ports* ports = nullptr, further_notes* further = nullptr);

}  // namespace pvc::policy
