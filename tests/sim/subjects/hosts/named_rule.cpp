#include "sim/subjects/hosts/named_rule.hpp"

#include "pvcnoded/policy/networks/ifupdown.hpp"
#include "pvcnoded/policy/networks/ini_links.hpp"

#include <fmt/format.h>

#include <string_view>

namespace pvc::sim {

namespace {

// On that device, or below it: a port takes the packets of its own VLANs before its bridge sees them.
bool takes_from(const model::network_link& vlan, std::string_view device, const model::network_state& now) {
    constexpr int deepest = 8;
    const auto* link = now.find(vlan.lower);
    for (int depth = 0; link != nullptr && depth < deepest; ++depth) {
        if (link->name == device) {
            return true;
        }
        link = now.find(link->master);
    }
    return false;
}

}  // namespace

policy::named_links named_by(const std::map<std::string, std::string>& files) {
    policy::named_links all;
    for (const auto& [path, text] : files) {
        if (path.ends_with(".netdev")) {
            all.add(policy::parse_netdev(text));
        } else if (path.ends_with(".network")) {
            all.add(policy::parse_network_file(text));
        } else if (path.ends_with(".nmconnection")) {
            all.add(policy::parse_keyfile(text));
        } else if (path.starts_with("/etc/network/")) {
            all.add(policy::parse_ifupdown(text));
        }
    }
    return all;
}

std::string made_although_named(const policy::named_links& named, const host_picture& before,
                                const model::network_state& now) {
    const auto is_new = [&](const model::network_link& link) { return !before.contains("link " + link.name); };
    for (const auto& name : named.names) {
        if (const auto* link = now.find(name); link != nullptr && is_new(*link)) {
            return fmt::format("{} was made, which files of the host name", name);
        }
        const auto at = name.rfind('.');
        if (at == std::string::npos) {
            continue;
        }
        for (const auto& link : now.links()) {
            const bool is_it =
                link.kind == "vlan" && link.vlan_id && std::to_string(*link.vlan_id) == name.substr(at + 1);
            if (is_it && is_new(link) && takes_from(link, name.substr(0, at), now)) {
                return fmt::format("{} was made, and files of the host name {}", link.name, name);
            }
        }
    }
    return {};
}

}  // namespace pvc::sim
