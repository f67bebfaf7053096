// A client network as /networks/<vni> describes it. The parser is total: whatever is in a key gives a value or a remark
// that names the key, what was expected and what was got, and then counts as unset. Specification: networking.md 5.1,
// 5.2, 7.1; zookeeper-schema.md (network, ip4, ip6, firewall rule).
#pragma once

#include "pvcnoded/base/address.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pvc::model {

enum class network_type : std::uint8_t { managed, bridged };
[[nodiscard]] std::string_view to_text(network_type type);

// Of one address family; without a usable network the gateway counts as unset too.
struct network_family {
    std::optional<host_address> network;  // its network address and prefix length
    std::optional<ip::address> gateway;   // inside of the network, or of IPv6 a link-local one
    bool has_dhcp = false;
    std::optional<ip::address> dhcp_start;  // IPv4 only
    std::optional<ip::address> dhcp_end;

    // "10.1.1.1/24": as the primary has it on the bridge. Empty without either.
    [[nodiscard]] std::optional<host_address> gateway_address() const;
    friend bool operator==(const network_family&, const network_family&) = default;
};

// A rule that a client wants of packets into or out of a managed network. Its text is not looked at here
// (policy/networks/acl.hpp).
struct network_acl {
    std::string name;  // the last component of its path
    std::string rule;  // as it is stored; of a longer one the first 1025 bytes
    friend bool operator==(const network_acl&, const network_acl&) = default;
};

struct client_network {
    std::uint32_t vni = 0;
    network_type type = network_type::managed;
    std::string description;
    std::optional<std::int64_t> mtu;  // empty: the largest that is possible
    bool has_mtu_text = false;        // the key holds something, usable or not: nobody writes it
    std::string domain;               // lower case, without a dot at its end; "": unset
    std::vector<std::string> name_servers;
    network_family ip4;
    network_family ip6;
    // Of /firewall_rules/in and /out: by order as a number, then by name; those without a usable order last.
    std::vector<network_acl> acls_in;
    std::vector<network_acl> acls_out;

    [[nodiscard]] std::string bridge() const;  // "vmbr1001"
    [[nodiscard]] std::string base() const;    // "vxlan1001", "vlan200"
    friend bool operator==(const client_network&, const client_network&) = default;
};

struct parsed_network {
    std::optional<client_network> network;  // empty: it is not set up; the first remark says why
    // "/networks/7/ip4_gateway: expected an address of 10.1.1.0/24, got \"10.9.9.9\"". Long values are cut.
    std::vector<std::string> remarks;
    std::optional<client_network> as_managed{};  // of a bridged one, where known: what its keys say of a managed one
};

// `name`: the last component of its path. `keys`: what is stored, by the path below it ("" is the node's own data,
// "/nettype", "/ip4_network", "/firewall_rules/in/ssh/rule", …); one that is missing is left out.
[[nodiscard]] parsed_network parse_client_network(std::string_view name,
                                                  const std::map<std::string, std::string, std::less<>>& keys);

// The number that follows `prefix` where that is all of it ("vmbr1001"): decimal, without leading zeros, 1 to 16777215.
[[nodiscard]] std::optional<std::uint32_t> vni_of(std::string_view name, std::string_view prefix);

}  // namespace pvc::model
