#include "sim/subjects/hosts/host_runs.hpp"

#include "pvcnoded/base/text.hpp"
#include "pvcnoded/policy/networks/client_plan.hpp"
#include "pvcnoded/policy/networks/gateway_addresses.hpp"
#include "pvcnoded/policy/networks/host_plan.hpp"
#include "pvcnoded/policy/networks/router_settings.hpp"
#include "sim/subjects/hosts/host_picture.hpp"
#include "sim/subjects/hosts/named_rule.hpp"
#include "sim/subjects/hosts/random_host.hpp"
#include "sim/world/cluster.hpp"

#include <fmt/format.h>

#include <fnmatch.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <ostream>
#include <ranges>

namespace pvc::sim {

using namespace std::chrono_literals;

namespace {

constexpr std::string_view upstream_gateway = "10.98.1.250";
constexpr std::string_view gateway_of_two = "fd00:7::2/127";
constexpr std::uint32_t named_late = 69;
constexpr int least_prefix = 8;  // of IPv4: what is wider is as good as a default route

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
        make_filter();
        before_ = picture_of(node());
        look_at_own_ways([this](const drawn_route& place, const std::string& device) {
            own_ways_.push_back(ways_words(node().kernel.state(), device, place));
        });
        for (const auto& one : probes_of(host_)) {
            ways_[one] = way_to(node().kernel.state(), one);
        }
        const auto expected = said_before();
        first("start hv1");
        first("start hv2");
        pass(60s);
        expect(node().is_ready(), "the daemon is not ready");
        compare_with_said(expected);
        compare_with_swept();
        look_at_router_settings();
        look_at_default_route();
        compare("after the start");
        for (const auto& one : host_.networks) {
            first(fmt::format("network create {} {} {} {}", one.vni, one.is_managed ? "managed" : "bridged",
                              one.gateway.empty() ? "none" : one.gateway, one.vni == 1001 ? gateway_of_two : "none"));
        }
        name_one_more();
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
        renew_leases();
        world_.ensemble.put("/config/primary_node", "hv2");
        pass(30s);
        world_.ensemble.put("/config/primary_node", "hv1");
        pass(30s);
        compare("after the role went away and came back");
        if (host_.filter == drawn_filter::of_host) {
            node().filter_table.take_place("input");  // somebody changes what is the daemon's own by now
        }
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
        look_at_copies();
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
    // With an address and a gateway of the upstream network; a device is called by another name that it has, if it has
    // one for that.
    [[nodiscard]] std::string configuration_of(const node_settings& settings) const {
        auto text = configuration_text(settings);
        const auto put = [&text](std::string_view what, const std::string& with) {
            if (const auto at = text.find(what); at != std::string::npos) {
                text.replace(at, what.size(), with);
            }
        };
        for (const auto& [device, name] : host_.altnames) {
            if (name == alt_name_of_cluster) {
                const auto called = fmt::format("device: {}\n", device);
                while (text.find(called) != std::string::npos) {
                    put(called, fmt::format("device: {}\n", name));
                }
            }
        }
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

    // Somebody writes a stanza, and a client makes the network of its name right after that.
    void name_one_more() {
        const std::string path = "/etc/network/interfaces";
        auto& text = node().host.files[path];
        text += fmt::format("\nauto vmbr{0}\niface vmbr{0} inet manual\n", named_late);
        before_["file " + path] = text;
        first(fmt::format("network create {} managed none none", named_late));
        host_.networks.push_back({.vni = named_late, .is_refused = true, .is_named_late = true});
    }

    // By programs: the host's own service has put its rules there, or one owns the table.
    void make_filter() {
        if (host_.filter == drawn_filter::of_host) {
            first("host-firewall hv1");
            for (const auto& one : host_.tables) {
                node().filter_table.touch_table(one.name);  // it takes all others away first
            }
        } else if (host_.filter == drawn_filter::of_program) {
            node().filter_table.make_owned();
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
        const auto& seen = node().kernel.state();
        const auto config = policy::with_own_names(*loaded.config, policy::names_to_resolve(*loaded.config, seen));
        const policy::setting_reader read = [&](const std::string& key) { return node().kernel.sysctls().read(key); };
        const auto plan = policy::with_router_settings(policy::plan_host(config, seen), seen, {}, read,
                                                       policy::sysctl_settings(policy::core_devices_of(config)));
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
        auto named = named_by(host_.files);
        const policy::whose_links whose{{}, std::move(named.names), {}, std::move(named.masters)};
        foreign_ = policy::foreign_links(config, seen, {}, whose);
        const bool is_known = host_.are_names_known;
        for (auto& name : is_known ? policy::links_to_sweep(config, seen, {}, whose) : std::vector<std::string>()) {
            swept_.insert(std::move(name));
        }
        // No record of this boot says that this node was primary.
        removed_ = policy::found_of_primary(config, seen, {}, is_known ? &whose : nullptr);
        return all;
    }
    // What a node daemon left goes as far as that was said, and stays otherwise.
    void compare_with_swept() {
        const auto& kernel = node().kernel;
        const auto judge = [&](bool is_there, bool is_said, const std::string& what) {
            expect(is_there != is_said,
                   (is_said ? "said before to go, and not gone: " : "gone, and not said before: ") + what);
        };
        for (const auto& link : host_.links) {
            judge(kernel.has_device(link.name), swept_.contains(link.name), link.name);
        }
        for (const auto& one : host_.addresses) {
            const policy::placed_address place{one.device, one.address};
            const bool is_said = std::ranges::find(removed_, place) != removed_.end();
            if (left_.contains(one.device) && kernel.has_device(one.device)) {
                judge(kernel.has(one.device, one.address), is_said, place.text());
            }
        }
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
        const auto made = made_although_named(named_by(node().host.files), before_, node().kernel.state());
        expect(made.empty(), fmt::format("{}: {}", when, made));
        look_at_moved(now, when);
        look_at_moved_routes(when);
        look_at_ways(when);
        look_at_filter(when);
    }
    // Over the same link, or over the bridge whose port that has become.
    void compare_ways(std::string_view when) {
        for (const auto& [where, before] : ways_) {
            const auto now = way_to(node().kernel.state(), where);
            const auto all_now = split_blanks(now);
            const auto all_before = split_blanks(before);
            const bool is_same = std::ranges::all_of(all_before, [&](std::string_view one) {
                return std::ranges::find(all_now, one) != all_now.end() ||
                       (host_.is_keyed(std::string(one)) &&
                        std::ranges::any_of(all_now, [](std::string_view other) { return other.starts_with("br"); }));
            });
            expect(is_same && all_now.size() == all_before.size(),
                   fmt::format("{}: {} was reached over {}, and is over {}", when, where, before,
                               now.empty() ? "nothing" : now));
        }
    }
    [[nodiscard]] bool was_on(const std::string& device, const ip::address& which) const {
        return std::ranges::any_of(host_.addresses, [&](const drawn_address& one) {
            return one.device == device && one.address.address == which;
        });
    }
    // A route over a device that became a port is over its bridge, as it was.
    void look_at_moved_routes(std::string_view when) {
        for (const auto& one : host_.routes) {
            const auto key_on = [&](std::string_view device) {
                return fmt::format("route {} {} table {}", device, to_text(one.is), one.table);
            };
            const auto before = before_.find(key_on(one.device));
            const auto* device = node().kernel.link(one.device);
            if (!host_.is_keyed(one.device) || before == before_.end() || device == nullptr || device->master == 0) {
                continue;
            }
            // Where the bridge has other addresses it names the source that it had.
            const auto& seen = node().kernel.state();
            const auto is_it = [&](const model::link_route& there) {
                const auto place = seen.name_of(there.link);
                const bool is_bridge = place == "brcluster" || place == "brstorage" || place == "brupstream";
                const bool has_source = there.is.source == one.is.source ||
                                        (!one.is.source && there.is.source && was_on(one.device, *there.is.source));
                return is_bridge && there.is.is_like(one.is) && there.table == one.table && has_source;
            };
            expect(std::ranges::any_of(seen.link_routes(), is_it),
                   fmt::format("{}: the {} over {} is nowhere as it was", when, to_text(one.is), one.device));
        }
    }
    void look_at_own_ways(const std::function<void(const drawn_route&, const std::string&)>& look) const {
        for (const auto& one : host_.own_ways) {
            look(one, one.device);
        }
    }
    // Its ways to a place over a device that became a port, those of the kernel too, are over its bridge, in their
    // order and with their settings.
    void look_at_ways(std::string_view when) {
        std::size_t at = 0;
        look_at_own_ways([&](const drawn_route& place, const std::string& name) {
            const auto& expected = own_ways_[at++];
            const auto& seen = node().kernel.state();
            const auto* device = seen.find(name);
            if (device == nullptr || device->master == 0) {
                return;
            }
            const auto now = ways_words(seen, std::string(seen.name_of(device->master)), place);
            expect(now == expected, fmt::format("{}: ways to {} over {} were {}, and are {}", when, place.is.to.text(),
                                                name, expected, now));
        });
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
    // A DHCP client knows of its device alone, and renews there what is on the bridge by now.
    void renew_leases() {
        static constexpr model::address_lifetime near_end{20, 20};
        static constexpr model::address_lifetime renewed{600, 600};
        for (const auto& one : host_.addresses) {
            const auto* device = node().kernel.link(one.device);
            const std::string bridge(device == nullptr ? "" : node().kernel.state().name_of(device->master));
            if (!one.has_lifetime || bridge.empty() || !node().kernel.has(bridge, one.address)) {
                continue;
            }
            ignore(node().kernel.apply(model::add_address{bridge, one.address, near_end}), "it is there");
            ignore(node().kernel.apply(model::add_address{one.device, one.address, renewed}), "the device is");
            pass(15s);
            const auto& seen = node().kernel.state();
            const auto all = seen.addresses_of(node().kernel.link(bridge)->index);
            const auto left = std::ranges::find(all, one.address, &model::link_address::address);
            expect(left != all.end() && left->lifetime.valid == renewed.valid &&
                       !node().kernel.has(one.device, one.address),
                   fmt::format("a lease of {} that was renewed on {} is not on {} for as long", one.address.text(),
                               one.device, bridge));
        }
    }
    // Bridges of the host in which no machine has a port.
    void look_at_filter(std::string_view when) {
        for (const auto& one : host_.links) {
            const bool has_machine = std::ranges::any_of(
                host_.links, [&](const auto& port) { return port.kind == "tun" && port.port_of == one.name; });
            const bool is_hosts = one.kind == "bridge" && one.owner == link_owner::host && !has_machine;
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
            const auto gateway = parse_host_address(one.gateway);
            const bool is_as_default = gateway && gateway->prefix < least_prefix;
            expect(!is_as_default || std::ranges::none_of(world_.members,
                                                          [&](const auto& member) {
                                                              return member->node.kernel.answers(gateway->address);
                                                          }),
                   fmt::format("network {} has a gateway, and is as good as a default route", one.vni));
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
            const bool has_base = before_.contains("link " + base) || seen.find(base) == nullptr;
            expect(has_base && (was_there || seen.find(name) == nullptr),
                   fmt::format("network {} was made although a link of its name is the host's own", one.vni));
            expect(node().logged(fmt::format("network {}: ", one.vni)),
                   fmt::format("nobody said why network {} is refused", one.vni));
            const bool is_said = std::ranges::any_of(foreign_, [&](const auto& text) {
                return text.starts_with(base + " ") || text.starts_with(name + " ") ||
                       text.starts_with(fmt::format("VLAN {} ", one.vni)) ||
                       (text.starts_with("VLANs of ") && (text.find(fmt::format(".{},", one.vni)) != text.npos ||
                                                          text.find(fmt::format(".{};", one.vni)) != text.npos));
            });
            // Whether an address is the network's gateway its keys say.
            const bool may_be_gateway = was_there && !before_.at("link " + name).ends_with("with STP");
            expect(is_said || may_be_gateway || one.is_named_late,
                   base + " is the host's own, and nobody said so before");
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
            for (const auto* name : {"ipv6/conf/{}/disable_ipv6", "ipv6/conf/{}/accept_ra",
                                     "ipv6/conf/{}/accept_ra_pinfo", "ipv6/conf/{}/autoconf", "ipv6/conf/{}/proxy_ndp",
                                     "ipv4/conf/{}/proxy_arp", "ipv4/conf/{}/arp_ignore"}) {
                const auto key_of = [&](std::string_view link) {
                    return "net/" + fmt::format(fmt::runtime(name), link);
                };
                const auto before = before_.find("setting " + key_of(ports.front()->name));
                const auto now = node().kernel.sysctls().read(key_of(bridge));
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
            const bool is_of_network = std::ranges::any_of(host_.networks, [&](const auto& one) {
                return link.name == fmt::format("vmbr{}", one.vni) || link.name == fmt::format("vxlan{}", one.vni);
            });
            const bool may_stay = !host_.are_names_known && !is_of_network;
            expect(!left_.contains(link.name) || may_stay, link.name + " of a network that is gone stays");
        }
    }
    // What the host had in table inet filter is kept once; what somebody did to the daemon's own table is not.
    void look_at_copies() {
        const std::string copy = "/var/lib/pvc/nftables-before";
        const auto& files = node().host.files;
        expect(files.contains(copy) == (host_.filter == drawn_filter::of_host),
               host_.filter == drawn_filter::of_host ? "the host's own firewall is not kept"
                                                     : "a firewall is kept that the host did not have");
        expect(!files.contains(copy + ".2"), "a second firewall is kept, which the host did not have");
        expect(host_.filter != drawn_filter::of_program ||
                   node().logged("table inet filter belongs to another running program"),
               "nobody said that another program owns table inet filter");
    }

    drawn_host host_;
    cluster world_;
    host_picture before_;
    std::map<std::string, std::string> ways_;
    std::vector<std::string> own_ways_;
    std::set<std::string> left_;
    std::set<std::string> used_;
    std::vector<std::string> foreign_;
    std::set<std::string> swept_;
    std::vector<policy::placed_address> removed_;
    std::string wrong_;
};

}  // namespace

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
