// A host as people have them before a node daemon is installed: network cards, bonds, VLANs, VXLANs and bridges (some
// by names of ours), addresses with and without a lifetime, routes and rules, firewalls of others, files that name
// links, and what a node daemon before this one left. A pure value of its number. Two play it: the simulated kernel
// (furnish) and a real one (the commands of host_text, for tests/lab/hosts.py).
#pragma once

#include "pvcnoded/base/address.hpp"
#include "pvcnoded/model/network_route.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace pvc::sim {

class member;
class sim_kernel;

// What the kernel that plays it has.
struct host_abilities {
    bool vlans = true;
    bool bonds = true;
    bool dummies = true;
    // Also what only a real kernel has (see real_kinds).
    bool all = false;
};

enum class link_owner : std::uint8_t {
    host,   // the host's own: stays as it is, and a network of its name is refused
    bare,   // shows nothing: its network uses it, and it stays behind
    left,   // of a node daemon before this one
    keyed,  // the file names it
};

struct drawn_link {
    std::string name;
    // "bond", "vlan", "vxlan", "bridge", "dummy", "tun" (a tap), "tunnel" (a tun of packets), "veth", "macvlan", "vrf";
    // "" a card.
    std::string kind{};
    std::string on{};          // what it stands on
    std::uint32_t number = 0;  // VLAN id, VNI, or the table of a VRF
    std::uint16_t port = 4789;
    std::string port_of{};
    bool has_stp = false;
    int mtu = 1500;
    link_owner owner = link_owner::host;
};

struct drawn_address {
    std::string device;
    host_address address;
    bool has_lifetime = false;
    std::uint8_t scope = model::universe_scope;
    bool is_deprecated = false;
    model::address_settings settings{};
};

// `ip route append`, `prepend`, `del`.
enum class drawn_way : std::uint8_t { behind, in_front, removed };

struct drawn_route {
    std::string device;
    model::network_route is;
    std::uint32_t table = model::main_table;
    drawn_way how = drawn_way::behind;
};

struct drawn_setting {
    std::string key;
    std::string value;
};

// Table inet filter, where simulated machines have one that no node daemon made.
enum class drawn_filter : std::uint8_t { none, of_host, of_program };

struct drawn_table {
    std::string name;  // "inet fw"
    std::string text;  // as nft reads it
};

// A client's, created once the daemon runs.
struct drawn_network {
    std::uint32_t vni = 0;
    bool is_managed = true;
    std::string gateway{};  // "10.2.1.1/24"; "": none
    // Links of that number are the host's own: it is refused.
    bool is_refused = false;
    bool is_named_late = false;  // by a file that was written while the daemon ran
};

struct drawn_host {
    std::uint64_t seed = 0;
    // The devices that the file names.
    std::string upstream;
    std::string cluster;
    std::string storage;
    std::string bridge;
    bool has_gateway = true;        // the file names one of the upstream network
    bool has_upstream_port = true;  // nothing keeps its device from becoming a port
    std::vector<std::string> cards;
    std::vector<drawn_link> links;  // in the order in which they are made, without the cards
    std::vector<drawn_address> addresses;
    std::vector<drawn_route> routes;
    std::vector<drawn_route> own_ways{};  // places to which its ways are in its own order, and with its own settings
    std::vector<std::string> rules;       // words for `ip rule add`
    std::vector<std::pair<std::string, std::string>> altnames{};  // device, name
    std::vector<drawn_setting> settings;
    std::vector<drawn_table> tables;
    drawn_filter filter = drawn_filter::none;
    bool are_names_known = true;  // all that its files name can be read
    std::map<std::string, std::string> files;
    std::vector<std::string> advertised{};  // devices on whose network a router advertises
    std::vector<drawn_network> networks;
    std::set<std::string> kinds;  // what was drawn, in words

    [[nodiscard]] bool is_keyed(const std::string& device) const {
        return device == upstream || device == cluster || device == storage || device == bridge;
    }
};

// By which the file calls the device of the cluster network, wherever it names that, where it has this altname.
inline constexpr std::string_view alt_name_of_cluster = "cluster0";

// The one setting that routes of drawn hosts have, as the kernel tells it (model::network_route).
inline constexpr std::uint16_t small_mtu = 1400;
[[nodiscard]] std::string small_mtu_setting();

[[nodiscard]] drawn_host draw_host(std::uint64_t seed, const host_abilities& of = {});
// Draws what is seldom, behind all else; a card that nobody has yet, or "".
void draw_odd(drawn_host& host, const host_abilities& of, std::string spare_card);
// And behind that.
void draw_further(drawn_host& host, const host_abilities& of);
// Addresses of IPv4 that it reaches by what it has of its own, and that no client takes.
[[nodiscard]] std::vector<std::string> probes_of(const drawn_host& host);
// As JSON, with the commands that make it on a real machine.
[[nodiscard]] std::string host_text(const drawn_host& host);

// On a machine whose operating system has come up.
void furnish(const drawn_host& host, sim_kernel& kernel);
// With its files and tables, now and whenever it comes up.
void furnish(const drawn_host& host, member& machine);

}  // namespace pvc::sim
