// The static networks (config.md 5.2, 5.7) and what follows from them: this node's addresses (6.5).
#include "networking.hpp"

#include "pvcnoded/base/text.hpp"
#include "pvcnoded/config/usable_hosts.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace pvc::config {

namespace {

// The manual defines IPv4 only (config.md 4).
std::optional<host_address> parse_cidr(std::string_view text) {
    const auto written = parse_host_address(text);
    return written && written->address.is_v4() ? std::optional(*written) : std::nullopt;
}

bool is_ipv4(std::string_view text) {
    return parse_address_v4(text).has_value();
}

template <auto Parse>
std::optional<std::string> as_written(std::string_view text) {
    return Parse(text) ? std::optional<std::string>(text) : std::nullopt;
}

bool is_floating_ip(std::string_view text) {
    return is_ipv4(text) || parse_cidr(text);
}

bool is_address_setting(std::string_view text) {
    return text == "by-id" || parse_cidr(text);
}

constexpr text_rule network_rule{"not an IPv4 network", "an IPv4 network such as 10.0.0.0/24", as_written<parse_cidr>};
constexpr text_rule floating_rule{"not an IPv4 address", "an IPv4 address such as 10.0.0.254/24",
                                  as_written<is_floating_ip>};
constexpr text_rule gateway_rule{"not an IPv4 address", "an IPv4 address such as 10.0.0.1, or None",
                                 as_written<is_ipv4>};
constexpr text_rule address_rule{"not an address with a prefix length",
                                 "an IPv4 address in CIDR form such as 10.0.0.5/24, by-id or None",
                                 as_written<is_address_setting>};
constexpr text_rule domain_rule{"not a domain", "a DNS domain or None"};

constexpr ip::address_v4::uint_type metadata_number = 0xa9fea9fe;  // 169.254.169.254
const ip::address_v4 metadata_address(metadata_number);

// "1.1.1.0/24 (pvc.cluster.networks.upstream.network, line 20)"
std::string subnet_text(const network_settings& settings) {
    return fmt::format("{} ({}, line {})", settings.subnet.to_string(), settings.network.path, settings.network.line);
}

std::string host_range(const ip::network_v4& subnet) {
    return fmt::format("an address from {} to {}", first_host(subnet).to_string(), last_host(subnet).to_string());
}

class network_reader {
public:
    network_reader(section& networks, section& networking, network_role role, static_network& out,
                   const node_config& config)
        : role_(role),
          enabled_(config.functions.networking),
          in_(networks.child(to_text(role), only_if(enabled_, presence::required))),
          device_in_(networking.child(to_text(role))),
          out_(out),
          config_(config) {}

    network_settings read() {
        const presence code = only_if(enabled_, presence::required);
        read_domain(code);
        read_subnet(code);
        read_floating_ip(code);
        settings_.device = device_in_.text("device", code, device_rule);
        settings_.mtu = device_in_.integer("mtu", code, mtu_range, 1500);
        settings_.address = device_in_.text_or_none("address", code, address_rule);
        settings_.gateway = read_gateway();
        in_.finish();
        device_in_.finish();
        out_.device = settings_.device.value;
        out_.mtu = settings_.mtu.value;
        if (settings_.mtu.given && (out_.mtu < 1280 || out_.mtu > 9216)) {
            complain(severity::warning, settings_.mtu, "an unusual MTU", "1280 to 9216");
        }
        if (enabled_) {
            if (settings_.device.given) {
                check_device(device_in_, "device");
            }
            derive_address();
            check_floating_ip();
            check_gateway();
        } else {
            note_address();
        }
        return settings_;
    }

private:
    template <class T>
    void complain(severity level, const setting<T>& about, std::string_view what, std::string_view expected) const {
        in_.report(level, about.line, about.path, fmt::format("{}; expected {}, got {}", what, expected, about.got));
    }

    void read_domain(presence code) {
        const auto domain = in_.text_or_none("domain", code, domain_rule);
        if (!domain.value) {
            return;
        }
        out_.domain = *domain.value;
        if (!is_dns_name(out_.domain)) {
            complain(severity::warning, domain, "not a DNS name",
                     "at most 253 characters, labels of 1 to 63 letters, digits and -");
        }
        const bool names_the_zone = role_ == network_role::upstream && !config_.domain.empty();
        if (names_the_zone && !equal_ignoring_case(config_.domain, out_.domain)) {
            complain(severity::warning, domain, "differs from the domain of the host name", printable(config_.domain));
        }
    }

    void read_subnet(presence code) {
        auto& network = settings_.network;
        network = in_.text("network", code, network_rule);
        if (!network.given) {
            return;
        }
        const auto written = *parse_network_v4(network.value);
        out_.subnet = written.canonical();
        settings_.subnet = out_.subnet;
        network.given = false;
        if (written.prefix_length() == 0) {
            complain(severity::fatal, network, "no prefix length", "a prefix length from 1 to 32");
        } else if (out_.subnet != written) {
            complain(severity::fatal, network, "host bits set", "an IPv4 network such as " + out_.subnet.to_string());
        } else {
            network.given = true;
        }
    }

    void read_floating_ip(presence code) {
        auto& floating = settings_.floating_ip;
        floating = in_.text("floating_ip", code, floating_rule);
        if (!floating.given) {
            return;
        }
        const auto with_prefix = parse_cidr(floating.value);
        out_.floating_ip = with_prefix ? *with_prefix : in_subnet(*parse_address_v4(floating.value));
        if (!settings_.network.given) {
            return;
        }
        if (!is_usable_host(out_.subnet, out_.floating_ip.address)) {
            complain(severity::fatal, floating, "not a usable host of " + subnet_text(settings_),
                     host_range(out_.subnet));
        } else if (out_.floating_ip.prefix != out_.subnet.prefix_length()) {
            complain(severity::warning, floating, "prefix length differs from " + subnet_text(settings_),
                     fmt::format("/{}", out_.subnet.prefix_length()));
        }
    }

    // Whose it is beside the primary's: nobody's. What other nodes have is known where they, too, have it by their id.
    void check_floating_ip() {
        const auto& floating = settings_.floating_ip;
        if (!floating.given || !settings_.network.given || !is_usable_host(out_.subnet, out_.floating_ip.address)) {
            return;
        }
        if (out_.floating_ip.address == ip::address(metadata_address)) {
            complain(severity::fatal, floating, "the address of the metadata service", "another address");
        }
        if (!settings_.address.value || *settings_.address.value != "by-id") {
            return;
        }
        for (const auto& name : config_.coordinators) {
            const auto short_name = split(name, '.').front();
            const auto other = parse_address_v4(name) ? std::nullopt : host(out_.subnet, number_in(short_name));
            if (other && short_name != config_.node && out_.floating_ip.address == ip::address(*other)) {
                complain(severity::fatal, floating,
                         fmt::format("the address that the coordinator {} has by its id", printable(name)),
                         "an address that no node has");
                return;
            }
        }
    }

    setting<std::optional<std::string>> read_gateway() {
        if (role_ == network_role::upstream) {
            return in_.text_or_none("gateway", presence::optional, gateway_rule);
        }
        const auto* entry = in_.look_up("gateway");
        if (entry != nullptr && !is_none(*entry->value)) {
            in_.report(
                severity::warning, entry->line, in_.path() + ".gateway",
                fmt::format("ignored; expected a gateway for upstream only, got {}", value_text(*entry->value, false)));
        }
        return {};
    }

    void check_gateway() {
        const auto& gateway = settings_.gateway;
        if (!gateway.value) {
            return;
        }
        out_.gateway = *parse_address_v4(*gateway.value);
        if (!settings_.network.given) {
            return;
        }
        if (!is_usable_host(out_.subnet, *out_.gateway)) {
            complain(severity::fatal, gateway, "not a usable host of " + subnet_text(settings_),
                     host_range(out_.subnet));
        }
        if (out_.address && out_.address->address == *out_.gateway) {
            complain(severity::warning, gateway,
                     fmt::format("equal to this node's address ({}, line {})", settings_.address.path,
                                 settings_.address.line),
                     "the address of a router");
        }
        if (settings_.floating_ip.given && out_.floating_ip.address == *out_.gateway) {
            complain(severity::warning, gateway,
                     fmt::format("equal to the floating IP ({}, line {})", settings_.floating_ip.path,
                                 settings_.floating_ip.line),
                     "the address of a router");
        }
    }

    void derive_address() {
        const auto& address = settings_.address;
        if (!address.given) {
            return;
        }
        if (!address.value) {
            warn_without_address();
            return;
        }
        if (!settings_.network.given) {
            return;
        }
        const bool is_by_id = *address.value == "by-id";
        out_.address = is_by_id ? address_by_id() : static_address(*parse_cidr(*address.value));
        if (out_.address && settings_.floating_ip.given && out_.address->address == out_.floating_ip.address) {
            const std::string who =
                is_by_id ? fmt::format("by-id for {} (id {})", printable(config_.node), config_.node_id) : address.got;
            in_.report(severity::fatal, address.line, address.path,
                       fmt::format("equal to the floating IP ({}, line {}); expected another address than {}, got {}",
                                   settings_.floating_ip.path, settings_.floating_ip.line,
                                   out_.address->address.to_string(), who));
        }
    }

    // Without the networking function nothing is set up, but which RBD locks are ours hangs on the storage address.
    void note_address() {
        if (!settings_.network.given || !settings_.address.given || !settings_.address.value) {
            return;
        }
        if (*settings_.address.value != "by-id") {
            out_.address = parse_cidr(*settings_.address.value);
        } else if (const auto own = host(out_.subnet, config_.node_id)) {
            out_.address = in_subnet(*own);
        }
    }

    void warn_without_address() const {
        if (role_ == network_role::cluster) {
            complain(severity::warning, settings_.address, "no address on the cluster network", "an address or by-id");
        }
        if (role_ == network_role::storage) {
            complain(severity::warning, settings_.address,
                     "no address on the storage network, so RBD locks of this node count as foreign",
                     "an address or by-id");
        }
    }

    // An address with the prefix length of the network.
    host_address in_subnet(const ip::address_v4& address) const { return {address, out_.subnet.prefix_length()}; }

    std::optional<host_address> address_by_id() const {
        const auto hosts = host_count(out_.subnet);
        const auto own = host(out_.subnet, config_.node_id);
        if (!own) {
            const std::string what = config_.node_id == 0
                                         ? "no usable node number in the hostname"
                                         : fmt::format("id {} of the hostname is outside 1-{}", config_.node_id, hosts);
            in_.report(severity::fatal, settings_.address.line, settings_.address.path,
                       fmt::format("{}; expected a number from 1 to {} in the hostname for by-id in {}, got {} (id {})",
                                   what, hosts, subnet_text(settings_), printable(config_.node), config_.node_id));
            return std::nullopt;
        }
        return in_subnet(*own);
    }

    std::optional<host_address> static_address(const host_address& written) const {
        if (!is_usable_host(out_.subnet, written.address)) {
            complain(severity::fatal, settings_.address, "not a usable host of " + subnet_text(settings_),
                     host_range(out_.subnet));
            return std::nullopt;
        }
        if (written.prefix != out_.subnet.prefix_length()) {
            complain(severity::warning, settings_.address, "prefix length differs from " + subnet_text(settings_),
                     fmt::format("/{}", out_.subnet.prefix_length()));
        }
        return written;
    }

    network_role role_;
    bool enabled_;
    section in_;
    section device_in_;
    static_network& out_;
    const node_config& config_;
    network_settings settings_;
};

}  // namespace

network_settings read_network(section& networks, section& networking, network_role role, static_network& out,
                              const node_config& config) {
    return network_reader(networks, networking, role, out, config).read();
}

}  // namespace pvc::config
