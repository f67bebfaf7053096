// cluster.coordinators (config.md 5.2), the mode (6.2) and ZooKeeper's connect string (6.3).
#include "pvcnoded/base/address.hpp"
#include "pvcnoded/base/text.hpp"
#include "readers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace pvc::config {

namespace {

struct item {
    std::string written_host;  // without the port, brackets kept
    zookeeper_server server;
    bool is_name = false;  // neither IPv4 nor IPv6
};

// Labels as in is_dns_name, and "_", which resolvers accept. 10.0.0.300 is a mistyped address, not a name.
bool is_host_name(std::string_view text) {
    std::string without_underscores(text);
    std::ranges::replace(without_underscores, '_', '-');
    const auto last_label = text.substr(text.rfind('.') == std::string_view::npos ? 0 : text.rfind('.') + 1);
    const bool looks_like_an_address = text.find('.') != std::string_view::npos &&
                                       last_label.find_first_not_of("0123456789") == std::string_view::npos;
    return is_dns_name(without_underscores) && !looks_like_an_address;
}

std::optional<item> parse_item(std::string_view text) {
    item out;
    std::string_view port;
    bool has_port = false;
    const auto host_end = text.starts_with('[') ? text.find(']') : text.find(':');
    if (text.starts_with('[')) {
        if (host_end == std::string_view::npos) {
            return std::nullopt;
        }
        out.written_host = text.substr(0, host_end + 1);
        out.server.host = text.substr(1, host_end - 1);
        port = text.substr(host_end + 1);
        has_port = !port.empty();
    } else {
        out.written_host = text.substr(0, host_end);
        out.server.host = out.written_host;
        port = host_end == std::string_view::npos ? std::string_view() : text.substr(host_end);
        has_port = host_end != std::string_view::npos;
        out.is_name = !parse_address_v4(out.server.host);
    }
    if (has_port) {
        const auto number = port.starts_with(':') ? parse_decimal(port.substr(1)) : std::nullopt;
        if (!number || *number < 1 || *number > 65535) {
            return std::nullopt;
        }
        out.server.port = static_cast<std::uint16_t>(*number);
    }
    const bool is_host = text.starts_with('[') ? parse_address_v6(out.server.host).has_value()
                                               : !out.is_name || is_host_name(out.server.host);
    return is_host ? std::optional(out) : std::nullopt;
}

// "hv1:99999": its mistake is no mistake of the host.
bool is_only_port_wrong(std::string_view text) {
    const auto colon = text.rfind(':');
    const std::string_view port = colon == std::string_view::npos ? std::string_view() : text.substr(colon + 1);
    const bool is_number = !port.empty() && port.find_first_not_of("0123456789") == std::string_view::npos &&
                           (port == "0" || port.front() != '0');
    return is_number && parse_item(text.substr(0, colon)).has_value();
}

// ZooKeeper's rules for a path that it prepends: parts without "." and ".."; "/" is no chroot at all.
std::optional<std::string> parse_chroot(std::string_view text) {
    if (text == "/") {
        return "";
    }
    const auto parts = split(text.substr(1), '/');
    const bool is_path =
        std::ranges::all_of(parts, [](std::string_view part) { return !part.empty() && part != "." && part != ".."; });
    if (!is_path || has_control_character(text) || text.find_first_of(", ") != std::string_view::npos) {
        return std::nullopt;
    }
    return std::string(text);
}

constexpr text_rule item_rule{"not a server", "a host name, an IPv4 address or [IPv6], each optionally with :port"};

class coordinator_list {
public:
    coordinator_list(section& in, node_config& config) : in_(in), config_(config) {}

    void take(const setting<std::string>& text, bool is_last) {
        if (text.value.starts_with('/')) {
            take_chroot(text, is_last);
            return;
        }
        const auto parsed = parse_item(text.value);
        if (!parsed && is_only_port_wrong(text.value)) {
            complain(severity::fatal, text, "a port out of range", "a port of 1 to 65535");
            return;
        }
        if (!parsed) {
            complain(severity::fatal, text, item_rule.what, item_rule.expectation);
            return;
        }
        const std::string server = fmt::format("{}:{}", parsed->written_host, parsed->server.port);
        const auto [first, is_new] = lines_.try_emplace(lower(server), text.line);
        if (!is_new) {
            complain(severity::warning, text, "duplicate, dropped",
                     fmt::format("each server once, this one is in line {}", first->second));
            return;
        }
        const std::string first_label(split(parsed->server.host, '.').front());
        if (parsed->is_name && first_label != parsed->server.host) {
            complain(severity::warning, text, "a full domain name", fmt::format("the short name {}", first_label));
        }
        if (parsed->is_name && equal_ignoring_case(first_label, config_.node)) {
            config_.mode = node_mode::coordinator;
        }
        servers_.push_back(server);
        config_.coordinators.push_back(parsed->written_host);
        config_.zookeeper_servers.push_back(parsed->server);
    }

    void finish(const setting<std::vector<setting<std::string>>>& list) {
        const bool all_good = !has_bad_items_ && std::ranges::all_of(list.value, &setting<std::string>::given);
        if (all_good && servers_.empty()) {
            in_.report(severity::fatal, list.line, list.path, "no servers; expected at least one coordinator, got []");
        } else if (all_good && servers_.size() % 2 == 0) {
            in_.report(severity::warning, list.line, list.path,
                       fmt::format("an even number of coordinators; expected an odd number, got {}", servers_.size()));
        }
        config_.zookeeper_hosts = join(servers_, ",") + config_.zookeeper_chroot;
    }

private:
    void take_chroot(const setting<std::string>& text, bool is_last) {
        const auto chroot = parse_chroot(text.value);
        if (!is_last || !chroot) {
            complain(severity::fatal, text, is_last ? "not a ZooKeeper path" : "a chroot before the last item",
                     is_last ? "a path such as /pvc" : "servers, and a chroot only as the last item");
            return;
        }
        config_.zookeeper_chroot = *chroot;
    }

    void complain(severity level, const setting<std::string>& text, std::string_view what, std::string_view expected) {
        has_bad_items_ = has_bad_items_ || level == severity::fatal;
        in_.report(level, text.line, text.path, fmt::format("{}; expected {}, got {}", what, expected, text.got));
    }

    section& in_;
    node_config& config_;
    std::vector<std::string> servers_;
    std::map<std::string, int> lines_;  // of each server, in lower case
    bool has_bad_items_ = false;
};

}  // namespace

void read_coordinators(section& cluster, node_config& config) {
    const auto list = cluster.list("coordinators", presence::required, item_rule);
    if (!list.given) {
        return;
    }
    coordinator_list coordinators(cluster, config);
    for (const auto& text : list.value) {
        if (text.given) {
            coordinators.take(text, &text == &list.value.back());
        }
    }
    coordinators.finish(list);
}

}  // namespace pvc::config
