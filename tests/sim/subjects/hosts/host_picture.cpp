#include "sim/subjects/hosts/host_picture.hpp"

#include "sim/subjects/hosts/host_runs.hpp"
#include "sim/subjects/hosts/random_host.hpp"
#include "sim/world/cluster.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <string_view>

namespace pvc::sim {

namespace {

constexpr std::string_view heading = "### What of a host changes";

std::vector<std::string> read_exceptions() {
    std::vector<std::string> all;
    for (const auto* path : {"docs/operating.md", "/usr/share/doc/pvcnoded/docs/operating.md"}) {
        std::ifstream in(path);
        bool is_there = false;
        for (std::string line; std::getline(in, line);) {
            is_there = line.starts_with("#") ? line == heading : is_there;
            const auto begin = line.find('`');
            if (is_there && line.starts_with("| `") && begin != std::string::npos) {
                // The first column may name several.
                const auto column = line.substr(0, line.find('|', 1));
                for (auto at = begin; at != std::string::npos;) {
                    const auto end = column.find('`', at + 1);
                    if (end == std::string::npos) {
                        break;
                    }
                    all.push_back(column.substr(at + 1, end - at - 1));
                    at = column.find('`', end + 1);
                }
            }
        }
        if (!all.empty()) {
            break;
        }
    }
    return all;
}

std::string link_words(const model::network_state& seen, const model::network_link& link) {
    return fmt::format("{} mtu {}{}{}", link.is_up ? "up" : "down", link.mtu,
                       link.master == 0 ? std::string() : fmt::format(" port of {}", seen.name_of(link.master)),
                       link.has_stp ? " with STP" : "");
}

// What nothing changes: another one of its name is another link.
std::string link_identity(const model::network_link& link) {
    return fmt::format("index {}, {} on {}{}{}", link.index, link.kind.empty() ? "a card" : link.kind, link.lower,
                       link.vlan_id ? fmt::format(" id {}", *link.vlan_id) : "",
                       link.vxlan ? fmt::format(" VNI {} port {}", link.vxlan->vni, link.vxlan->port) : "");
}

}  // namespace

const std::vector<std::string>& host_exceptions() {
    static const auto all = read_exceptions();
    return all;
}

std::string ways_words(const model::network_state& seen, const std::string& link, const drawn_route& place) {
    const auto* over = seen.find(link);
    std::vector<std::string> all;
    for (const auto& one : seen.link_routes()) {
        if (over != nullptr && one.link == over->index && one.table == place.table && one.is.to == place.is.to) {
            auto is = one.is;
            is.source.reset();  // beside other addresses it names the one that it had
            all.push_back(to_text(is) + (one.is.settings.empty() ? "" : " set") +
                          fmt::format(" by {}", one.is.protocol));
        }
    }
    std::size_t so_far = 0;
    for (const auto& one : seen.connected_routes()) {
        if (over != nullptr && one.link == over->index && place.table == model::main_table &&
            one.network == place.is.to) {
            const auto at = std::min(one.behind + so_far++, all.size());
            all.insert(all.begin() + static_cast<std::ptrdiff_t>(at),
                       fmt::format("the kernel's own{}{}", one.source ? " from " + one.source->to_string() : "",
                                   one.settings.empty() ? "" : " set"));
        }
    }
    return fmt::format("[{}]", fmt::join(all, "; "));
}

std::string way_to(const model::network_state& seen, const std::string& where) {
    const auto to = *parse_address(where);
    int best = 0;
    std::uint32_t best_metric = 0;
    std::string by;
    const auto take = [&](const host_address& network, int link, std::uint32_t metric) {
        const auto* over = seen.find(link);
        const bool is_better = network.prefix > best || (network.prefix == best && metric < best_metric);
        const bool is_as_good = network.prefix == best && metric == best_metric && !by.empty();
        const bool fits =
            network.address.is_v4() && network.prefix > 0 && (is_better || is_as_good) && over != nullptr &&
            over->is_up &&
            ip::network_v4(to.to_v4(), static_cast<std::uint16_t>(network.prefix)).canonical() ==
                ip::network_v4(network.address.to_v4(), static_cast<std::uint16_t>(network.prefix)).canonical();
        if (fits) {
            best = network.prefix;
            best_metric = metric;
            by = is_as_good && by != over->name ? by + " or " + over->name : over->name;
        }
    };
    for (const auto& one : seen.connected_routes()) {
        take(one.network, one.link, one.metric);
    }
    for (const auto& one : seen.link_routes()) {
        if (one.table == model::main_table) {
            take(one.is.to, one.link, one.is.metric);
        }
    }
    return by;
}

host_picture picture_of(const sim_node& node) {
    host_picture all;
    const auto& seen = node.kernel.state();
    for (const auto& link : seen.links()) {
        all["link " + link.name] = link_words(seen, link);
        all["identity " + link.name] = link_identity(link);
        if (node.kernel.has_advertised_route(link.name)) {
            all["route " + link.name + " advertised"] = "there";
        }
    }
    for (const auto& one : seen.addresses()) {
        const auto& address = one.address.address;
        if (address.is_v4() || !address.to_v6().is_link_local()) {
            all[fmt::format("address {} {}", seen.name_of(one.link), one.address.text())] =
                std::string(one.is_permanent ? "permanent" : "with a lifetime") +
                (one.lifetime.is_deprecated() ? " deprecated: " : ": ") +
                to_text(model::add_address{.device = {},
                                           .address = one.address,
                                           .scope = one.scope,
                                           .peer = one.peer,
                                           .settings = one.settings});
        }
    }
    for (const auto& one : seen.link_routes()) {
        all[fmt::format("route {} {} table {}", seen.name_of(one.link), to_text(one.is), one.table)] =
            "there" + one.is.settings;
    }
    for (const auto& [key, value] : node.kernel.sysctls().all()) {
        all["setting " + key] = value;
    }
    all["tables of others"] = node.filter_table.foreign_text();
    all["owner of table inet filter"] =
        (node.filter_table.flags() & model::owned_table) != 0 ? "a running program" : "nobody";
    for (const auto& [path, text] : node.host.files) {
        if (path.starts_with("/etc/")) {
            all["file " + path] = text;
        }
    }
    return all;
}

}  // namespace pvc::sim
