#include "sim/subjects/hosts/host_runs.hpp"

#include "pvcnoded/policy/networks/client_plan.hpp"
#include "pvcnoded/policy/networks/gateway_addresses.hpp"
#include "pvcnoded/policy/networks/host_plan.hpp"
#include "pvcnoded/policy/networks/ifupdown.hpp"
#include "pvcnoded/policy/networks/router_settings.hpp"
#include "sim/subjects/hosts/random_host.hpp"
#include "sim/world/cluster.hpp"

#include <fmt/format.h>

#include <fnmatch.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <map>
#include <ostream>
#include <ranges>

namespace pvc::sim {

using namespace std::chrono_literals;

namespace {

constexpr std::string_view heading = "### What of a host changes";
constexpr std::string_view upstream_gateway = "10.98.1.250";
constexpr std::string_view gateway_of_two = "fd00:7::2/127";

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

using host_picture = std::map<std::string, std::string>;

// The link over which packets to that address go, by the main table, and not by a default route; "": by none.
std::string way_to(const model::network_state& seen, const std::string& where) {
    const auto to = *parse_address(where);
    int best = 0;
    std::uint32_t best_metric = 0;
    std::string by;
    const auto take = [&](const host_address& network, int link, std::uint32_t metric) {
        const auto* over = seen.find(link);
        const bool is_better = network.prefix > best || (network.prefix == best && metric < best_metric);
        const bool fits =
            network.address.is_v4() && network.prefix > 0 && is_better && over != nullptr && over->is_up &&
            ip::network_v4(to.to_v4(), static_cast<std::uint16_t>(network.prefix)).canonical() ==
                ip::network_v4(network.address.to_v4(), static_cast<std::uint16_t>(network.prefix)).canonical();
        if (fits) {
            best = network.prefix;
            best_metric = metric;
            by = over->name;
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
    for (const auto& [path, text] : node.host.files) {
        if (path.starts_with("/etc/")) {
            all["file " + path] = text;
        }
    }
    return all;
}

// One run.
class hosted_cluster {
public:
    hosted_cluster(std::uint64_t seed, bool all) : host_(draw_host(seed, {.all = all})), world_(settings_of(host_)) {
        auto& node = world_.members.front()->node;
        node.configuration = configuration_of(node.settings);
        furnish(host_, *world_.members.front());
        for (const auto& link : host_.links) {
            if (link.owner == link_owner::left) {
                left_.insert(link.name);
            } else if (link.owner == link_owner::bare) {
                used_.insert(link.name);
            }
        }
    }

    host_run run() {
        before_ = picture_of(node());
        for (const auto& one : probes_of(host_)) {
            ways_[one] = way_to(node().kernel.state(), one);
        }
        const auto expected = said_before();
        first("start hv1");
        first("start hv2");
        pass(60s);
        expect(node().is_ready(), "the daemon is not ready");
        compare_with_said(expected);
        look_at_router_settings();
        look_at_default_route();
        compare("after the start");
        for (const auto& one : host_.networks) {
            first(fmt::format("network create {} {} {} {}", one.vni, one.is_managed ? "managed" : "bridged",
                              one.gateway.empty() ? "none" : one.gateway, one.vni == 1001 ? gateway_of_two : "none"));
        }
        pass(60s);
        compare("with client networks");
        look_at_networks();
        first("network set 1001 mtu 1400");
        first("network set 1002 ip4_gateway 10.1.2.9");
        if (host_.upstream != host_.bridge) {
            first("network-type 1002 bridged");
        }
        pass(30s);
        compare("with networks that were changed");
        world_.ensemble.put("/config/primary_node", "hv2");
        pass(30s);
        world_.ensemble.put("/config/primary_node", "hv1");
        pass(30s);
        compare("after the role went away and came back");
        // As zebra does, which then looks at what routers said.
        ignore(node().kernel.apply(model::set_sysctl{"net/ipv6/conf/all/forwarding", "0"}), "it can be set");
        pass(60s);
        expect(node().kernel.sysctls().read("net/ipv6/conf/all/forwarding") == "1",
               "IPv6 forwarding that somebody switched off stays off");
        compare("after somebody switched forwarding off");
        world_.later.after(5s, [this] { first("start hv1"); });
        first("kill hv1");
        pass(60s);
        compare("after a kill and another start");
        first("terminate hv1");
        pass(30s);
        compare("after a stop");
        first("start hv1");
        pass(60s);
        for (const auto& one : host_.networks) {
            first(fmt::format("network remove {}", one.vni));
        }
        pass(60s);
        compare("after all networks were removed");
        look_for_rest();
        return {host_.seed, wrong_, {host_.kinds.begin(), host_.kinds.end()}};
    }

private:
    static cluster_settings settings_of(const drawn_host& host) {
        cluster_settings all;
        all.seed = host.seed;
        for (const std::string name : {"hv1", "hv2"}) {
            auto& one = all.nodes.emplace_back();
            one.name = name;
            one.coordinators = {"hv1", "hv2"};
            one.networking = true;
            one.storage_address = "10.254.0." + name.substr(2) + "/24";
        }
        auto& drawn = all.nodes.front();
        drawn.upstream_device = host.upstream;
        drawn.cluster_device = host.cluster;
        drawn.storage_device = host.storage;
        drawn.bridge_device = host.bridge;
        return all;
    }
    // With an address and a gateway of the upstream network.
    [[nodiscard]] std::string configuration_of(const node_settings& settings) const {
        auto text = configuration_text(settings);
        const auto put = [&text](std::string_view what, const std::string& with) {
            if (const auto at = text.find(what); at != std::string::npos) {
                text.replace(at, what.size(), with);
            }
        };
        if (host_.has_gateway) {
            put("      upstream:\n        domain: None\n",
                fmt::format("      upstream:\n        domain: None\n        gateway: {}\n", upstream_gateway));
            put("          address: None\n", "          address: by-id\n");
        }
        return text;
    }

    [[nodiscard]] sim_node& node() { return world_.members.front()->node; }
    void first(const std::string& line) {
        const auto what = parse_action(line);
        if (!what || !world_.perform(*what)) {
            expect(false, "cannot be done: " + line);
        }
    }
    void pass(duration time) {
        const time_point end = world_.now() + time;
        world_.later.after(time, [] {});
        while (world_.now() < end && world_.step()) {
        }
    }
    void expect(bool holds, std::string text) {
        if (!holds && wrong_.empty()) {
            wrong_ = std::move(text);
        }
    }

    // The steps of the text that an operator reads before (app/against_host.cpp), from the same functions.
    std::vector<std::string> said_before() {
        std::vector<std::string> all;
        const auto loaded = config::load_text(*node().configuration, "/etc/pvc/pvcnoded.yaml", node().settings.name);
        if (!loaded.config) {
            expect(false, "the configuration cannot be read");
            return all;
        }
        const auto& config = *loaded.config;
        const auto& seen = node().kernel.state();
        const policy::setting_reader read = [&](const std::string& key) { return node().kernel.sysctls().read(key); };
        const auto plan = policy::with_router_settings(policy::plan_host(config, seen), seen, {}, read);
        for (const auto& unit : plan.units) {
            for (const auto& step : unit.steps) {
                all.push_back(model::to_text(step));
            }
        }
        auto settings = policy::advertisement_settings(config, policy::with_ports_of(plan, seen));
        std::ranges::move(policy::sysctl_settings(policy::core_devices_of(config)), std::back_inserter(settings));
        for (const auto& one : policy::sysctls_to_set(settings, policy::read_after(plan, read))) {
            all.push_back(model::to_text(one));
        }
        policy::whose_links whose;
        for (const auto& [path, text] : host_.files) {
            for (auto& name : policy::parse_ifupdown(text).names) {
                whose.named.insert(std::move(name));
            }
        }
        foreign_ = policy::foreign_links(config, seen, {}, whose);
        return all;
    }
    void compare_with_said(std::vector<std::string> said) {
        const auto& done = node().network.calls;
        for (const auto& one : said) {
            expect(std::ranges::find(done, one) != done.end(), "said before, and not done: " + one);
        }
        for (const auto& one : done) {
            expect(is_of_left(one) || std::ranges::find(said, one) != said.end(), "done, and not said before: " + one);
        }
    }

    // A device of the file, one of its bridges, or one that a network uses by the words of the manual.
    [[nodiscard]] bool is_excepted(const std::string& key) const {
        static constexpr std::array bridges{"brcluster", "brstorage", "brupstream"};
        const auto matches = [&](std::string pattern, std::string_view token, const std::string& with) {
            const auto at = pattern.find(token);
            if (at != std::string::npos) {
                pattern.replace(at, token.size(), with);
            }
            return ::fnmatch(pattern.c_str(), key.c_str(), 0) == 0;
        };
        return std::ranges::any_of(host_exceptions(), [&](const std::string& pattern) {
            if (pattern.find("DEVICE") != std::string::npos) {
                return std::ranges::any_of(std::array{host_.upstream, host_.cluster, host_.storage, host_.bridge},
                                           [&](const auto& one) { return matches(pattern, "DEVICE", one); }) ||
                       std::ranges::any_of(bridges, [&](const auto* one) { return matches(pattern, "DEVICE", one); });
            }
            if (pattern.find("USED") != std::string::npos) {
                return std::ranges::any_of(used_, [&](const auto& one) { return matches(pattern, "USED", one); });
            }
            return matches(pattern, "", "");
        });
    }
    [[nodiscard]] bool is_of_left(const std::string& key) const {
        return std::ranges::any_of(left_, [&](const auto& one) { return key.find(one) != std::string::npos; });
    }
    void compare(std::string_view when) {
        const auto now = picture_of(node());
        for (const auto& [key, value] : before_) {
            const auto found = now.find(key);
            if (is_of_left(key) || (found != now.end() && found->second == value) || is_excepted(key)) {
                continue;
            }
            expect(false, fmt::format("{}: {} was {}, and is {}", when, key, value,
                                      found == now.end() ? "gone" : found->second));
        }
        compare_ways(when);
        look_at_moved(now, when);
        look_at_moved_routes(now, when);
        look_at_filter(when);
    }
    // Over the same link, or over the bridge whose port that has become.
    void compare_ways(std::string_view when) {
        for (const auto& [where, before] : ways_) {
            const auto now = way_to(node().kernel.state(), where);
            const bool is_bridged = host_.is_keyed(before) && now.starts_with("br");
            expect(now == before || is_bridged, fmt::format("{}: {} was reached over {}, and is over {}", when, where,
                                                            before, now.empty() ? "nothing" : now));
        }
    }
    // A route over a device that became a port is over its bridge, as it was.
    void look_at_moved_routes(const host_picture& now, std::string_view when) {
        for (const auto& one : host_.routes) {
            const auto key_on = [&](std::string_view device) {
                return fmt::format("route {} {} table {}", device, to_text(one.is), one.table);
            };
            const auto before = before_.find(key_on(one.device));
            const auto* device = node().kernel.link(one.device);
            if (!host_.is_keyed(one.device) || before == before_.end() || device == nullptr || device->master == 0) {
                continue;
            }
            static constexpr std::array places{"brcluster", "brstorage", "brupstream"};
            expect(std::ranges::any_of(places,
                                       [&](const char* place) {
                                           const auto found = now.find(key_on(place));
                                           return found != now.end() && found->second == before->second;
                                       }),
                   fmt::format("{}: the {} over {} is nowhere as it was", when, to_text(one.is), one.device));
        }
    }
    // An address of a device that became a port is on the bridge, as it was.
    void look_at_moved(const host_picture& now, std::string_view when) {
        for (const auto& one : host_.addresses) {
            const auto key_on = [&](std::string_view device) {
                return fmt::format("address {} {}", device, one.address.text());
            };
            const auto before = before_.find(key_on(one.device));
            if (!host_.is_keyed(one.device) || before == before_.end()) {
                continue;
            }
            // What has a lifetime may stay, which is said.
            const auto* device = node().kernel.link(one.device);
            const bool may_stay = device == nullptr || device->master == 0 || one.has_lifetime;
            const std::array<std::string, 4> places{may_stay ? one.device : "brcluster", "brcluster", "brstorage",
                                                    "brupstream"};
            expect(std::ranges::any_of(places,
                                       [&](const std::string& place) {
                                           const auto found = now.find(key_on(place));
                                           return found != now.end() && found->second == before->second;
                                       }),
                   fmt::format("{}: {} of {} is nowhere as it was", when, one.address.text(), one.device));
        }
    }
    // Bridges of the host in which no machine has a port.
    void look_at_filter(std::string_view when) {
        for (const auto& one : host_.links) {
            const bool is_hosts = one.kind == "bridge" && one.owner == link_owner::host;
            expect(!is_hosts || node().filter_table.text().find(one.name) == std::string::npos,
                   fmt::format("{}: {}, which is the host's own, is filtered", when, one.name));
        }
    }
    void look_at_networks() {
        const auto& seen = node().kernel.state();
        for (const auto gateway : {gateway_of_two, std::string_view("10.1.1.1/24")}) {
            expect(std::ranges::any_of(
                       world_.members,
                       [&](const auto& one) { return one->node.kernel.has("vmbr1001", *parse_host_address(gateway)); }),
                   fmt::format("no primary has {} of network 1001", gateway));
        }
        for (const auto& one : host_.networks) {
            const auto name = fmt::format("vmbr{}", one.vni);
            const bool was_there = before_.contains("link " + name);
            const auto base = fmt::format("{}{}", one.is_managed ? "vxlan" : "vlan", one.vni);
            if (!one.is_refused) {
                const auto* link = seen.find(base);
                const auto* bridge = seen.find(name);
                expect(link != nullptr && bridge != nullptr && link->master == bridge->index,
                       fmt::format("network {} is not set up", one.vni));
                continue;
            }
            expect(was_there || seen.find(name) == nullptr,
                   fmt::format("network {} was made although a link of its name is the host's own", one.vni));
            expect(node().logged(fmt::format("network {}: ", one.vni)),
                   fmt::format("nobody said why network {} is refused", one.vni));
            const bool is_said = std::ranges::any_of(foreign_, [&](const auto& text) {
                return text.starts_with(base + " ") || text.starts_with(name + " ");
            });
            // Whether an address is the network's gateway its keys say.
            const bool may_be_gateway = was_there && !before_.at("link " + name).ends_with("with STP");
            expect(is_said || may_be_gateway, base + " is the host's own, and nobody said so before");
        }
    }
    // None of those that hosts have is without a metric.
    void look_at_default_route() {
        const auto& routes = node().kernel.state().routes();
        const auto wanted = *parse_address(upstream_gateway);
        const bool is_there =
            std::ranges::any_of(routes, [&](const auto& one) { return one.gateway == wanted && one.metric == 0; });
        expect(is_there == (host_.has_gateway && host_.has_upstream_port),
               is_there ? "there is a default route that nobody wants"
                        : "the default route of the upstream network is missing");
    }
    // A new bridge takes what routers say as its device did.
    void look_at_router_settings() {
        const auto& seen = node().kernel.state();
        for (const std::string bridge : {"brcluster", "brstorage", "brupstream"}) {
            const auto* link = seen.find(bridge);
            const auto ports = link == nullptr ? std::vector<const model::network_link*>() : seen.ports_of(link->index);
            if (ports.size() != 1 || before_.contains("link " + bridge)) {
                continue;
            }
            for (const auto* name : {"disable_ipv6", "accept_ra", "accept_ra_pinfo", "autoconf"}) {
                const auto before = before_.find(fmt::format("setting net/ipv6/conf/{}/{}", ports.front()->name, name));
                const auto now = node().kernel.sysctls().read(fmt::format("net/ipv6/conf/{}/{}", bridge, name));
                const bool is_raised = now == "2" && before != before_.end() && before->second == "1";
                expect(before == before_.end() || is_raised || now == before->second,
                       fmt::format("{} of {} is {}, and was {} on {}", name, bridge, now.value_or("gone"),
                                   before == before_.end() ? "gone" : before->second, ports.front()->name));
            }
        }
    }
    void look_for_rest() {
        for (const auto& link : node().kernel.state().links()) {
            const bool is_hosts = link.name == "brcluster" || link.name == "brstorage" || link.name == "brupstream";
            expect(is_hosts || before_.contains("link " + link.name), link.name + " is left behind");
            expect(!left_.contains(link.name), link.name + " of a network that is gone stays");
        }
    }

    drawn_host host_;
    cluster world_;
    host_picture before_;
    std::map<std::string, std::string> ways_;
    std::set<std::string> left_;
    std::set<std::string> used_;
    std::vector<std::string> foreign_;
    std::string wrong_;
};

}  // namespace

const std::vector<std::string>& host_exceptions() {
    static const auto all = read_exceptions();
    return all;
}

host_run run_host(std::uint64_t seed, bool all) {
    return hosted_cluster(seed, all).run();
}

int run_hosts(const host_runs& wanted, std::ostream& out) {
    std::size_t failed = 0;
    std::map<std::string, std::size_t> kinds;
    if (host_exceptions().empty()) {
        out << "docs/operating.md has no table of what of a host changes\n";
        return 2;
    }
    for (std::uint64_t seed = wanted.first; seed <= wanted.last; ++seed) {
        if (wanted.is_text) {
            const bool more = wanted.has_vlans;
            out << host_text(draw_host(seed, {.vlans = more, .bonds = more, .dummies = more, .all = wanted.all}))
                << '\n';
            continue;
        }
        const auto run = run_host(seed, wanted.all);
        for (const auto& one : run.kinds) {
            ++kinds[one];
        }
        if (!run.wrong.empty() || wanted.verbose) {
            out << fmt::format("host {}: {}\n    {}\n", seed, run.wrong.empty() ? "ok" : run.wrong,
                               fmt::join(run.kinds, ", "));
        }
        if (!run.wrong.empty()) {
            ++failed;
            out << fmt::format("    again: pvcnoded-sim hosts --seed {}{}\n", seed, wanted.all ? " --all" : "");
        }
    }
    if (!wanted.is_text) {
        for (const auto& [kind, count] : kinds) {
            out << fmt::format("{:5} {}\n", count, kind);
        }
        out << fmt::format("{} passed, {} failed\n", wanted.last - wanted.first + 1 - failed, failed);
    }
    return failed == 0 ? 0 : 1;
}

}  // namespace pvc::sim
