#include "pvcnoded/model/client_network.hpp"

#include "network_acls.hpp"
#include "pvcnoded/base/planted.hpp"
#include "pvcnoded/base/text.hpp"
#include "pvcnoded/base/utf8.hpp"
#include "pvcnoded/model/scalar.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace pvc::model {

namespace {

constexpr std::uint32_t highest_vni = 16'777'215;
constexpr std::uint32_t highest_vlan = 4094;
constexpr int least_mtu = 68;
constexpr std::size_t longest_domain = 253;
constexpr std::size_t longest_description = 256;
constexpr std::size_t most_name_servers = 32;
// No value of a network that can be used is longer.
constexpr std::size_t longest_value = most_name_servers * (longest_domain + 2);

// Clients make a domain of the description, in which they let '_'.
bool is_domain_end(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

// The dot at the end of an absolute name says nothing more.
std::string_view without_last_dot(std::string_view text) {
    return text.ends_with('.') ? text.substr(0, text.size() - 1) : text;
}

bool is_domain(std::string_view text) {
    return !text.empty() && text.size() <= longest_domain && is_domain_end(text.front()) &&
           is_domain_end(text.back()) &&
           std::ranges::all_of(text, [](char c) { return is_domain_end(c) || c == '.' || c == '-'; });
}

// One line, whatever somebody wrote.
std::string description_of(std::string_view text) {
    auto tame = tame_text(start_to_character(text, longest_description));
    std::ranges::replace_if(tame, is_ascii_control, '?');
    return std::string(start_to_character(tame, longest_description));
}

using stored_keys = std::map<std::string, std::string, std::less<>>;

// Reads the keys of one network, and notes what cannot be used.
class network_reader {
public:
    network_reader(std::string_view name, const stored_keys& keys) : name_(name), keys_(keys) {}

    // What is stored, "" where that means no value.
    [[nodiscard]] std::string_view value(std::string_view key) const {
        const auto found = keys_.find(key);
        return found == keys_.end() || is_no_value(found->second) ? std::string_view() : found->second;
    }

    void complain(std::string_view key, std::string_view expected, std::string_view got) {
        remarks.push_back(
            fmt::format("/networks/{}{}: expected {}, got \"{}\"", shown(name_), key, expected, shown(got)));
    }

    // A value of which `parse` makes something.
    template <class Parse>
    auto read(std::string_view key, std::string_view expected, const Parse& parse)
        -> decltype(parse(std::string_view())) {
        const auto text = value(key);
        if (text.empty()) {
            return std::nullopt;
        }
        if (text.size() <= longest_value) {
            if (auto parsed = parse(text)) {
                return parsed;
            }
        }
        complain(key, expected, text);
        return std::nullopt;
    }

    bool flag(std::string_view key) {
        const auto text = value(key);
        if (!text.empty() && text != "True" && text != "False") {
            complain(key, "True or False", text);
        }
        return text == "True";
    }

    std::vector<std::string> remarks;

private:
    std::string_view name_;
    const stored_keys& keys_;
};

// Whole numbers; those that no link can have are as good as the largest.
std::optional<std::int64_t> parse_mtu(std::string_view text) {
    const auto number = parse_integer(trim(text));
    if (!number || *number < least_mtu) {
        return std::nullopt;
    }
    return number;
}

// Loopback, link-local and multicast addresses are of no network that hosts share.
bool can_be_shared(const ip::address& address) {
    if (address.is_v4()) {
        constexpr ip::address_v4::uint_type link_local = 0xA9FE0000U;
        const auto four = address.to_v4();
        return !four.is_loopback() && !four.is_multicast() && (four.to_uint() & 0xFFFF0000U) != link_local;
    }
    const auto six = address.to_v6();
    return !six.is_loopback() && !six.is_multicast() && !six.is_link_local() && !six.is_unspecified();
}

// A network of prefix length 0 is everything: its gateway on a bridge would be a default route of this host.
std::optional<host_address> parse_network(std::string_view text, bool is_v6) {
    if (is_v6) {
        const auto parsed = parse_network_v6(text);
        return parsed && parsed->prefix_length() > 0 && can_be_shared(parsed->address())
                   ? std::optional(host_address{parsed->canonical().address(), parsed->prefix_length()})
                   : std::nullopt;
    }
    const auto parsed = parse_network_v4(text);
    return parsed && parsed->prefix_length() > 0 && can_be_shared(parsed->address())
               ? std::optional(host_address{parsed->canonical().address(), parsed->prefix_length()})
               : std::nullopt;
}

bool is_inside(const ip::address& address, const host_address& network) {
    if (address.is_v4() != network.address.is_v4()) {
        return false;
    }
    const auto prefix = static_cast<unsigned short>(network.prefix);
    return address.is_v4()
               ? ip::network_v4(address.to_v4(), prefix).canonical() == ip::network_v4(network.address.to_v4(), prefix)
               : ip::network_v6(address.to_v6(), prefix).canonical() == ip::network_v6(network.address.to_v6(), prefix);
}

// Not the network itself, nor all of it.
bool is_of_one_host(const ip::address& address, const host_address& network) {
    constexpr int longest_with_both = 30;
    constexpr int longest_with_routers = 126;  // both addresses of a /127 are of hosts (RFC 6164)
    if (address.is_v6()) {
        return address != network.address ||
               (network.prefix > longest_with_routers && !is_planted(defect::gateway_of_two_refused));
    }
    if (network.prefix > longest_with_both) {
        return true;
    }
    const ip::network_v4 all(network.address.to_v4(), static_cast<unsigned short>(network.prefix));
    return address.to_v4() != all.network() && address.to_v4() != all.broadcast();
}

std::optional<ip::address> read_inside(network_reader& in, std::string_view key, const network_family& family) {
    if (!family.network) {
        const auto text = in.value(key);
        if (!text.empty()) {
            in.complain(key, "nothing without a network", text);
        }
        return std::nullopt;
    }
    return in.read(key, "an address of a host in " + family.network->text(), [&](std::string_view text) {
        const auto parsed = parse_address(text);
        return parsed && is_inside(*parsed, *family.network) && is_of_one_host(*parsed, *family.network)
                   ? std::optional(*parsed)
                   : std::nullopt;
    });
}

bool is_link_local(const ip::address& address) {
    return address.is_v6() && address.to_v6().is_link_local();
}

// Routers of IPv6 may be known by an address of the link.
bool is_gateway(const ip::address& address, const host_address& network) {
    return (is_inside(address, network) && is_of_one_host(address, network)) ||
           (is_link_local(address) && network.address.is_v6());
}

std::optional<ip::address> read_gateway(network_reader& in, std::string_view key, const network_family& family) {
    if (!family.network || !family.network->address.is_v6()) {
        return read_inside(in, key, family);
    }
    return in.read(key, "an address of a host in " + family.network->text(), [&](std::string_view text) {
        const auto parsed = parse_address(text);
        return parsed && is_gateway(*parsed, *family.network) ? std::optional(*parsed) : std::nullopt;
    });
}

network_family read_family(network_reader& in, bool is_v6) {
    network_family family;
    family.network = in.read(is_v6 ? "/ip6_network" : "/ip4_network",
                             is_v6 ? "an IPv6 network (fd00::/64)" : "an IPv4 network (10.1.1.0/24)",
                             [is_v6](std::string_view text) { return parse_network(text, is_v6); });
    family.gateway = read_gateway(in, is_v6 ? "/ip6_gateway" : "/ip4_gateway", family);
    family.has_dhcp = in.flag(is_v6 ? "/dhcp6_flag" : "/dhcp4_flag");
    if (!is_v6) {
        family.dhcp_start = read_inside(in, "/dhcp4_start", family);
        family.dhcp_end = read_inside(in, "/dhcp4_end", family);
    }
    return family;
}

// Others are dropped: the API stores a single one exploded ("n,s,1,.,x"). One remark for all of them.
std::vector<std::string> read_name_servers(network_reader& in) {
    constexpr std::string_view key = "/name_servers";
    constexpr std::string_view expected = "names with a dot, separated by commas";
    const auto text = in.value(key);
    if (text.size() > longest_value) {
        in.complain(key, expected, text);
        return {};
    }
    auto names = parse_comma_list(text);
    for (auto& one : names) {
        one.resize(without_last_dot(one).size());
    }
    const auto is_dropped = [](const std::string& one) {
        return !is_domain(one) || one.find('.') == std::string::npos;
    };
    if (std::erase_if(names, is_dropped) > 0 || names.size() > most_name_servers) {
        in.complain(key, expected, text);
    }
    names.resize(std::min(names.size(), most_name_servers));
    return names;
}

}  // namespace

std::string_view to_text(network_type type) {
    return type == network_type::managed ? "managed" : "bridged";
}

std::optional<host_address> network_family::gateway_address() const {
    constexpr int prefix_of_link = 64;
    if (!network || !gateway) {
        return std::nullopt;
    }
    return host_address{*gateway, is_link_local(*gateway) ? prefix_of_link : network->prefix};
}

std::string client_network::bridge() const {
    return "vmbr" + std::to_string(vni);
}

std::string client_network::base() const {
    return (type == network_type::managed ? "vxlan" : "vlan") + std::to_string(vni);
}

parsed_network parse_client_network(std::string_view name, const stored_keys& keys) {
    network_reader in(name, keys);
    parsed_network parsed;
    client_network network;
    const auto type = in.value("/nettype");
    const auto vni = vni_of(name, "");
    network.type = type == "bridged" ? network_type::bridged : network_type::managed;
    if (type != "managed" && type != "bridged") {
        in.complain("/nettype", "managed or bridged", type);
    } else if (!vni || (network.type == network_type::bridged && *vni > highest_vlan)) {
        in.complain("",
                    network.type == network_type::bridged ? "a number from 1 to 4094" : "a number from 1 to 16777215",
                    name);
    }
    if (!in.remarks.empty()) {
        return {std::nullopt, std::move(in.remarks)};
    }
    network.vni = *vni;
    const auto description = keys.find("");
    network.description = description == keys.end() ? "" : description_of(description->second);
    network.mtu = in.read("/mtu", "a number from 68 up", parse_mtu);
    network.has_mtu_text = !in.value("/mtu").empty();
    if (network.type == network_type::managed) {  // guests of bridged ones have all this from elsewhere
        network.domain = in.read("/domain", "a domain name", [](std::string_view text) {
                               const auto name = without_last_dot(text);
                               return is_domain(name) ? std::optional(lower(name)) : std::nullopt;
                           }).value_or("");
        network.name_servers = read_name_servers(in);
        network.ip4 = read_family(in, false);
        network.ip6 = read_family(in, true);
        network.acls_in = read_acls(name, "/firewall_rules/in/", keys, in.remarks);
        network.acls_out = read_acls(name, "/firewall_rules/out/", keys, in.remarks);
    }
    return {std::move(network), std::move(in.remarks)};
}

std::optional<std::uint32_t> vni_of(std::string_view name, std::string_view prefix) {
    if (!name.starts_with(prefix)) {
        return std::nullopt;
    }
    const auto digits = name.substr(prefix.size());
    constexpr std::size_t most_digits = 8;
    if (digits.empty() || digits.size() > most_digits || digits.front() == '0' ||
        !std::ranges::all_of(digits, [](char c) { return c >= '0' && c <= '9'; })) {
        return std::nullopt;
    }
    const auto number = parse_integer(digits);
    return number && *number <= highest_vni ? std::optional(static_cast<std::uint32_t>(*number)) : std::nullopt;
}

}  // namespace pvc::model
