#include "pvcnoded/policy/networks/router_settings.hpp"

#include "pvcnoded/policy/networks/client_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace pvc::policy {

namespace {

constexpr std::string_view ipv6_folder = "net/ipv6/conf/";
constexpr std::uint8_t of_router_advertisement = 9;  // RTPROT_RA
constexpr std::string_view ipv6_is_off = "disable_ipv6";
constexpr std::array<std::string_view, 11> of_routers{
    ipv6_is_off,
    "accept_ra",
    "accept_ra_defrtr",
    "accept_ra_pinfo",
    "accept_ra_rt_info_max_plen",
    "use_tempaddr",
    "autoconf",
    "accept_ra_mtu",
    "accept_ra_rtr_pref",
    "accept_ra_min_hop_limit",
    "accept_ra_rt_info_min_plen",
};

// For whom a host answers, what it believes, and how it asks: of the device in whose place the bridge is. Not what says
// how addresses of the link come about (addr_gen_mode): programs that make them do not know of the bridge.
struct carried_settings {
    std::string_view folder;
    std::vector<std::string_view> names;
};
const std::vector<carried_settings>& of_hosts() {
    static const std::vector<std::string_view> of_neighbours{
        "proxy_delay",      "proxy_qlen",    "gc_stale_time", "delay_first_probe_time",
        "ucast_solicit",    "mcast_solicit", "app_solicit",   "mcast_resolicit",
        "unres_qlen_bytes", "anycast_delay", "locktime",
    };
    static const std::vector<carried_settings> all{
        {"net/ipv4/conf/", {"proxy_arp",      "proxy_arp_pvlan",  "arp_ignore",
                            "arp_announce",   "arp_filter",       "arp_accept",
                            "arp_notify",     "rp_filter",        "src_valid_mark",
                            "accept_local",   "route_localnet",   "forwarding",
                            "bc_forwarding",  "accept_redirects", "secure_redirects",
                            "shared_media",   "send_redirects",   "accept_source_route",
                            "log_martians",   "medium_id",        "drop_unicast_in_l2_multicast",
                            "disable_policy", "disable_xfrm",     "force_igmp_version"}},
        {"net/ipv6/conf/",
         {"proxy_ndp", "accept_redirects", "accept_source_route", "accept_untracked_na", "drop_unicast_in_l2_multicast",
          "ndisc_notify", "use_oif_addrs_only", "keep_addr_on_down", "force_tllao", "force_mld_version",
          "disable_policy"}},
        {"net/ipv4/neigh/", of_neighbours},
        {"net/ipv6/neigh/", of_neighbours},
    };
    return all;
}

std::string key_of(std::string_view folder, std::string_view link, std::string_view name) {
    return std::string(folder).append(link).append("/").append(name);
}

std::string ipv6_key(std::string_view link, std::string_view name) {
    return key_of(ipv6_folder, link, name);
}

// Whether a program took what routers say, in the kernel's place (systemd-networkd, NetworkManager).
bool has_route_of_program(const model::network_state& seen, const model::network_link& link) {
    return std::ranges::any_of(seen.link_routes(), [&](const model::link_route& one) {
        return one.link == link.index && one.is.is_default() && one.is.to.address.is_v6() &&
               one.is.protocol == of_router_advertisement;
    });
}

class settings_of_ports {
public:
    settings_of_ports(const host_plan& plan, const model::network_state& seen, const std::set<std::string>& made,
                      const setting_reader& read, const std::vector<sysctl_setting>& own)
        : seen_(seen), read_(read), own_(own), bridges_(made) {
        for (const auto& unit : plan.units) {
            for (const auto& step : unit.steps) {
                if (const auto* bridge = std::get_if<model::make_bridge>(&step)) {
                    bridges_.insert(bridge->name);
                }
            }
        }
    }

    [[nodiscard]] std::vector<model::network_change> before(const model::network_change& step) const {
        std::vector<model::network_change> all;
        const auto* port = std::get_if<model::set_master>(&step);
        const auto* device = port == nullptr ? nullptr : seen_.find(port->name);
        if (device == nullptr || !bridges_.contains(port->master)) {
            return all;
        }
        // What the host has of IPv6 is on the bridge that it leaves.
        const auto* left = seen_.find(device->master);
        const auto& from = left == nullptr ? *device : *left;
        const auto* bridge = seen_.find(port->master);
        const bool is_taken_by_program =
            read_(ipv6_key(from.name, "accept_ra")) == "0" && has_route_of_program(seen_, from);
        for (const auto name : of_routers) {
            const auto wanted = read_(ipv6_key(from.name, name));
            const auto has = read_(ipv6_key(bridge == nullptr ? "default" : bridge->name, name));
            // 1 was raised already, as forwarding is on.
            const bool is_raised = name == "accept_ra" && wanted == "1" && has == "2";
            const bool is_left = is_taken_by_program && name != ipv6_is_off;
            if (wanted && has && wanted != has && !is_raised && !is_left) {
                all.emplace_back(model::set_sysctl{ipv6_key(port->master, name), *wanted});
            }
        }
        return all;
    }
    // What else the bridge is to have of the device, each by itself: a kernel that refuses one keeps nothing else back.
    [[nodiscard]] std::vector<host_unit> beside(const host_unit& unit) const {
        std::vector<host_unit> all;
        for (const auto& step : unit.steps) {
            const auto* port = std::get_if<model::set_master>(&step);
            const auto* device = port == nullptr ? nullptr : seen_.find(port->name);
            if (device == nullptr || !bridges_.contains(port->master)) {
                continue;
            }
            const auto* left = seen_.find(device->master);
            const auto& from = left == nullptr ? *device : *left;
            const auto* bridge = seen_.find(port->master);
            for (const auto& [folder, names] : of_hosts()) {
                for (const auto name : names) {
                    auto key = key_of(folder, port->master, name);
                    const auto wanted = read_(key_of(folder, from.name, name));
                    const auto has = read_(key_of(folder, bridge == nullptr ? "default" : bridge->name, name));
                    const bool is_own = std::ranges::find(own_, key, &sysctl_setting::key) != own_.end();
                    if (wanted && has && wanted != has && !is_own) {
                        auto what = fmt::format("{} = {}, as {} has it", key, *wanted, from.name);
                        all.push_back({std::move(what), {model::set_sysctl{std::move(key), *wanted}}, unit.needs});
                    }
                }
            }
        }
        return all;
    }

private:
    const model::network_state& seen_;
    const setting_reader& read_;
    const std::vector<sysctl_setting>& own_;
    std::set<std::string> bridges_;
};

}  // namespace

host_plan with_router_settings(host_plan plan, const model::network_state& seen, const std::set<std::string>& made,
                               const setting_reader& read, const std::vector<sysctl_setting>& own) {
    const settings_of_ports settings(plan, seen, made, read, own);
    std::vector<host_unit> units;
    for (auto& unit : plan.units) {
        std::ranges::move(settings.beside(unit), std::back_inserter(units));
        std::vector<model::network_change> steps;
        for (auto& step : unit.steps) {
            std::ranges::move(settings.before(step), std::back_inserter(steps));
            steps.push_back(std::move(step));
        }
        unit.steps = std::move(steps);
        units.push_back(std::move(unit));
    }
    plan.units = std::move(units);
    return plan;
}

std::set<std::string> made_after_look(std::set<std::string> made, const model::network_state& seen) {
    std::erase_if(made, [&](const auto& name) { return seen.find(name) == nullptr; });
    return made;
}

void note_made(std::set<std::string>& made, const host_unit& unit, made_when when) {
    for (const auto& step : unit.steps) {
        if (const auto* bridge = std::get_if<model::make_bridge>(&step)) {
            if (when == made_when::failed) {
                made.erase(bridge->name);
            } else {
                made.insert(bridge->name);
            }
        } else if (const auto* port = std::get_if<model::set_master>(&step);
                   port != nullptr && when == made_when::afterwards) {
            made.erase(port->master);
        }
    }
}

bool has_ipv6_on_bridge(const model::client_network& network) {
    return network.type == model::network_type::managed && network.ip6.network.has_value();
}

std::vector<model::set_sysctl> settings_of_bridge(const model::client_network& network) {
    std::vector<model::set_sysctl> all;
    const auto set = [&](std::string_view key, std::string value) {
        all.push_back({fmt::format("net/ipv6/conf/{}/{}", network.bridge(), key), std::move(value)});
    };
    if (network.type == model::network_type::bridged) {
        set("disable_ipv6", "1");
        return all;
    }
    if (has_ipv6_on_bridge(network)) {
        set("disable_ipv6", "0");   // whatever this host has for new links
        set("addr_gen_mode", "0");  // likewise: guests that have no other address yet ask its own
    }
    set("accept_dad", "0");
    set("accept_ra", "0");
    set("autoconf", "0");
    return all;
}

setting_reader read_after(const host_plan& plan, setting_reader read) {
    std::set<std::string, std::less<>> bridges;
    std::map<std::string, std::string> set;
    for (const auto& unit : plan.units) {
        for (const auto& step : unit.steps) {
            if (const auto* bridge = std::get_if<model::make_bridge>(&step)) {
                bridges.insert(bridge->name);
            } else if (const auto* setting = std::get_if<model::set_sysctl>(&step)) {
                set.insert_or_assign(setting->key, setting->value);
            }
        }
    }
    return [bridges = std::move(bridges), set = std::move(set),
            read = std::move(read)](const std::string& key) -> std::optional<std::string> {
        if (const auto found = set.find(key); found != set.end()) {
            return found->second;
        }
        // net/ipv6/conf/<link>/<name>
        const auto end = key.rfind('/');
        const auto begin = end == std::string::npos || end == 0 ? std::string::npos : key.rfind('/', end - 1);
        if (begin != std::string::npos && bridges.contains(key.substr(begin + 1, end - begin - 1))) {
            return read(key.substr(0, begin + 1) + "default" + key.substr(end));
        }
        return read(key);
    };
}

}  // namespace pvc::policy
