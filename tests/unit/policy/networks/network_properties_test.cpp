// What holds of every plan, on thousands of random hosts (seeded): carried out, nothing is left to be done; undone
// backwards, the host is as it was; and nothing is ever done to a link that is somebody else's.
#include "network_fixture.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace pvc::policy {
namespace {

constexpr int hosts = 1000;

bool happens(random_source& random, std::uint64_t in_hundred) {
    return random.below(100) < in_hundred;
}

template <class Values>
auto one_of(random_source& random, const Values& values) {
    return values[random.below(values.size())];
}

struct random_host {
    config::node_config config;
    toy_kernel kernel;
};

const std::vector<config::node_config>& configurations() {
    static const std::vector<config::node_config> all = [] {
        std::vector<network_words> words{{}, network_words::all_on("eth0")};
        auto shared = network_words::all_on("eth0");
        shared.cluster_mtu = shared.storage_mtu = 1500;
        shared.bridge_device = "eth0";
        shared.bridge_mtu = "9000";
        words.push_back(shared);
        network_words vlans;
        vlans.cluster_device = "eth0.100";
        vlans.storage_device = "vlan7";
        vlans.upstream_device = "eth0";
        vlans.upstream_mtu = 9000;
        vlans.bridge_device = "eth0";
        words.push_back(vlans);
        network_words apart;
        apart.storage_device = "eth0";
        apart.upstream_device = "eth1";
        apart.bridge_device = "eth3";
        words.push_back(apart);
        apart.bridge_mtu = "1400";
        apart.upstream_address = "None";
        apart.cluster_device = "eth8";
        words.push_back(apart);
        std::vector<config::node_config> made;
        std::ranges::transform(words, std::back_inserter(made), config_of);
        // No file can say that.
        made.back().networks.cluster.device = "vmbr8";
        std::ranges::find(made.back().host_bridges, "eth8", &config::host_bridge::device)->device = "vmbr8";
        std::ranges::find(made.back().device_mtus, "eth8", &config::device_mtu::device)->device = "vmbr8";
        return made;
    }();
    return all;
}

void add_random_link(toy_kernel& kernel, random_source& random, const std::string& name, const std::string& kind) {
    static const std::vector<int> mtus{1300, 1400, 1450, 1500, 9000};
    auto link = link_named(name, kind, one_of(random, mtus));
    link.is_up = happens(random, 50);
    kernel.add(link);
}

void add_random_vlan(toy_kernel& kernel, random_source& random, const std::string& name, std::uint16_t id) {
    const auto parent = one_of(random, std::vector<std::string>{"eth0", "eth0", "eth0", "eth3"});
    const auto seen = kernel.state();
    for (const auto& other : seen.links()) {
        if (!kernel.has(parent) || (other.vlan_id == id && other.lower == kernel.link(parent).index)) {
            return;
        }
    }
    kernel.apply(model::make_vlan{name, parent, id});
    if (!kernel.has(name)) {
        return;
    }
    kernel.apply(model::set_mtu{name, 1300});  // small enough to stay when its parent gets smaller
    if (happens(random, 50)) {
        kernel.apply(model::set_up{name});
    }
}

void add_random_vxlan(toy_kernel& kernel, random_source& random, const std::string& name, std::uint32_t vni) {
    kernel.apply(model::make_vxlan{name, one_of(random, std::vector<std::string>{"eth0", "eth0", "eth1"}), vni});
    if (kernel.has(name) && happens(random, 20)) {
        auto link = kernel.link(name);
        kernel.remove(name);
        link.vxlan->is_learning = false;
        kernel.add(link);
    }
}

void add_random_addresses(toy_kernel& kernel, random_source& random) {
    const std::vector<std::string> texts{"10.0.0.2/24", "10.0.1.2/24", "10.0.2.2/24", "10.0.2.254/24", "192.0.2.7/24"};
    for (const auto* name : {"eth0", "eth1", "eth2", "eth0.100", "brcluster", "brupstream", "vmbr7", "vmbr9"}) {
        if (kernel.has(name) && happens(random, 30)) {
            kernel.add_address(name, one_of(random, texts));
        }
    }
    if (kernel.has("vmbr7") && happens(random, 30)) {
        kernel.add_address("vmbr7", "2001:db8::7/64", false);
    }
    for (const auto* name : {"eth0", "eth1", "eth2", "eth9", "brupstream"}) {
        if (kernel.has(name) && kernel.link(name).is_up && happens(random, 20)) {
            const auto network = one_of(random, std::vector<std::string>{"10.0.2.", "192.0.2."});
            kernel.add_address(name, network + one_of(random, std::vector<std::string>{"2/24", "9/24"}));
            kernel.add_route(network + "1", name, kernel.state().routes().empty() ? 0 : 100);
        }
    }
}

random_host make_host(random_source random) {
    random_host host{one_of(random, configurations()), {}};
    auto& kernel = host.kernel;
    for (const auto* name : {"eth0", "eth1", "eth2", "eth3", "eth9"}) {
        if (happens(random, 85)) {
            add_random_link(kernel, random, name, "");
        }
    }
    for (const auto* name : {"brcluster", "brstorage", "brupstream", "vmbr7", "vmbr8", "vmbr9", "br0"}) {
        if (happens(random, 40)) {
            add_random_link(kernel, random, name, happens(random, 90) ? "bridge" : "veth");
        }
    }
    for (const auto& [name, id] : {std::pair{"eth0.100", 100}, {"vlan7", 7}, {"vlan8", 8}, {"vlan9", 10}, {"x9", 9}}) {
        if (happens(random, 50)) {
            add_random_vlan(kernel, random, name, static_cast<std::uint16_t>(id));
        }
    }
    for (const auto& [name, vni] : {std::pair{"vxlan7", 7U}, {"vxlan8", 8U}, {"vxlan9", 10U}, {"y9", 9U}}) {
        if (happens(random, 40)) {
            add_random_vxlan(kernel, random, name, vni);
        }
    }
    for (const auto* name : {"vnet0", "vnet1", "vnet2"}) {
        add_random_link(kernel, random, name, "tun");
    }
    const std::vector<std::string> masters{"brcluster", "brupstream", "vmbr7", "vmbr7", "vmbr8", "vmbr9", "br0"};
    const auto seen = kernel.state();
    for (const auto& link : seen.links()) {
        const auto master = one_of(random, masters);
        if (link.kind != "bridge" && happens(random, 40) && kernel.has(master) &&
            kernel.link(master).kind == "bridge") {
            kernel.apply(model::set_master{link.name, master});
        }
    }
    add_random_addresses(kernel, random);
    return host;
}

// The order in which the kernel lists addresses and routes does not matter.
std::string text_of(const model::network_state& state, const std::set<std::string>& without = {}) {
    std::set<std::string> lines;
    for (const auto& link : state.links()) {
        if (!without.contains(link.name)) {
            lines.insert(link.name + " " + std::to_string(link.index) + " mtu " + std::to_string(link.mtu) + " up " +
                         std::to_string(static_cast<int>(link.is_up)) + " master " + std::to_string(link.master) +
                         " lower " + std::to_string(link.lower));
        }
    }
    for (const auto& one : state.addresses()) {
        if (!without.contains(std::string(state.name_of(one.link)))) {
            lines.insert("address " + one.address.text() + " on " + std::string(state.name_of(one.link)));
        }
    }
    for (const auto& one : state.routes()) {
        lines.insert("route " + one.gateway.to_string() + " on " + std::string(state.name_of(one.link)) + " " +
                     std::to_string(one.metric));
    }
    std::string all;
    for (const auto& line : lines) {
        all += line + "\n";
    }
    return all;
}

std::set<std::string> host_names(const config::node_config& config) {
    std::set<std::string> names{config.bridges.device};
    for (const auto& one : config.host_bridges) {
        names.insert(one.name);
        names.insert(one.device);
    }
    return names;
}

model::client_network random_network(random_source& random) {
    model::client_network network;
    network.vni = static_cast<std::uint32_t>(7 + random.below(3));
    network.type = happens(random, 50) ? model::network_type::managed : model::network_type::bridged;
    if (happens(random, 30)) {
        network.mtu = static_cast<int>(68 + random.below(3000));
    }
    return network;
}

std::set<std::string> names_of(std::uint32_t vni) {
    const auto number = std::to_string(vni);
    return {"vmbr" + number, "vxlan" + number, "vlan" + number};
}

// What this daemon could have made under these names: the others must be as they were.
std::set<std::string> own_names(const random_host& host, std::uint32_t vni) {
    std::set<std::string> own;
    for (const auto& name : names_of(vni)) {
        if (!host_names(host.config).contains(name)) {
            own.insert(name);
        }
    }
    return own;
}

TEST(network_properties, a_host_plan_converges_and_touches_the_hosts_own_links_alone) {
    int with_steps = 0;
    for (std::uint64_t seed = 0; seed < hosts; ++seed) {
        SCOPED_TRACE(seed);
        auto host = make_host(random_source(seed));
        const auto before = host.kernel.state();
        const auto plan = plan_host(host.config, before);
        const auto own = host_names(host.config);
        for (const auto& unit : plan.units) {
            EXPECT_FALSE(unit.steps.empty());
            for (const auto& step : unit.steps) {
                EXPECT_TRUE(own.contains(model::device_of(step))) << to_text(step);
            }
        }
        with_steps += plan.units.empty() ? 0 : 1;
        carry_out(host.kernel, plan);
        const auto again = plan_host(host.config, host.kernel.state());
        ASSERT_EQ(steps_of(again), "") << steps_of(plan);
        EXPECT_EQ(again.missing, plan.missing);
        // Whoever was a port elsewhere still is.
        for (const auto& link : before.links()) {
            if (link.master != 0) {
                EXPECT_EQ(host.kernel.link(link.name).master, link.master) << link.name;
            }
        }
    }
    EXPECT_GT(with_steps, hosts / 2);
}

TEST(network_properties, a_host_plan_undone_backwards_leaves_the_host_as_it_was) {
    for (std::uint64_t seed = 0; seed < hosts; ++seed) {
        SCOPED_TRACE(seed);
        random_source random(seed);
        auto host = make_host(random_source(seed));
        const auto before = host.kernel.state();
        std::vector<model::network_change> steps;
        for (const auto& unit : plan_host(host.config, before).units) {
            std::ranges::copy(unit.steps, std::back_inserter(steps));
        }
        steps.resize(random.below(steps.size() + 1));  // a step failed there
        for (const auto& step : steps) {
            host.kernel.apply(step);
        }
        for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
            if (const auto undoing = undo_of(*step, before)) {
                EXPECT_EQ(host.kernel.apply(*undoing), "") << to_text(*undoing);
            }
        }
        ASSERT_EQ(text_of(host.kernel.state()), text_of(before));
    }
}

TEST(network_properties, a_network_plan_converges_and_touches_its_own_links_alone) {
    int refused = 0;
    for (std::uint64_t seed = 0; seed < hosts; ++seed) {
        SCOPED_TRACE(seed);
        random_source random(seed);
        auto host = make_host(random_source(seed));
        const auto wanted = random_network(random);
        network_memory memory;
        for (const auto* name : {"vnet0", "vnet1", "eth9", "eth0"}) {
            if (host.kernel.has(name) && happens(random, 50)) {
                memory.ports.emplace(host.kernel.link(name).index, name);
            }
        }
        memory.was_right = happens(random, 50);
        const auto before = host.kernel.state();
        const auto plan = plan_network(wanted, host.config, before, memory);
        refused += plan.is_refused ? 1 : 0;
        EXPECT_EQ(plan.is_refused && !plan.steps.empty(), false);
        auto own = own_names(host, wanted.vni);
        for (const auto& [index, name] : plan.next.ports) {
            EXPECT_EQ(host.kernel.link(name).kind, "tun");
            own.insert(name);
        }
        for (const auto& step : plan.steps) {
            const auto* setting = std::get_if<model::set_sysctl>(&step);
            const auto& device = model::device_of(step);
            EXPECT_TRUE(setting != nullptr ? setting->key.starts_with("net/ipv6/conf/v") : own.contains(device))
                << to_text(step);
        }
        carry_out(host.kernel, plan);
        EXPECT_EQ(text_of(host.kernel.state(), own), text_of(before, own));
        const auto again = plan_network(wanted, host.config, host.kernel.state(), plan.next);
        ASSERT_EQ(steps_of(again), "") << steps_of(plan);
        EXPECT_EQ(again.is_refused, plan.is_refused);
        const auto thrice = plan_network(wanted, host.config, host.kernel.state(), again.next);
        EXPECT_EQ(thrice.next, again.next);
        EXPECT_TRUE(thrice.damage.empty());
        // Ports of machines stay where they are, or come back.
        for (const auto& link : before.links()) {
            if (link.kind == "tun" && link.master != 0) {
                EXPECT_EQ(host.kernel.link(link.name).master, link.master);
            }
        }
    }
    EXPECT_GT(refused, 0);
    EXPECT_LT(refused, hosts * 2 / 3);
}

TEST(network_properties, removals_take_away_whole_what_is_nobody_elses) {
    int removed = 0;
    for (std::uint64_t seed = 0; seed < hosts; ++seed) {
        SCOPED_TRACE(seed);
        random_source random(seed);
        auto host = make_host(random_source(seed));
        const auto wanted = random_network(random);
        if (happens(random, 50)) {
            carry_out(host.kernel, plan_network(wanted, host.config, host.kernel.state(), {}));
        }
        const auto before = host.kernel.state();
        const bool is_sweep = happens(random, 50);
        const std::set<std::uint32_t> known{8};
        const auto plan_it = [&] {
            return is_sweep ? plan_sweep(known, host.config, host.kernel.state())
                            : plan_removal(wanted.vni, host.config, host.kernel.state());
        };
        const auto plan = plan_it();
        removed += plan.steps.empty() ? 0 : 1;
        std::set<std::string> own;
        for (const auto vni : is_sweep ? std::vector{7U, 9U} : std::vector{wanted.vni}) {
            own.merge(own_names(host, vni));
        }
        for (const auto& step : plan.steps) {
            EXPECT_TRUE(own.contains(model::device_of(step))) << to_text(step);
        }
        carry_out(host.kernel, plan);
        EXPECT_EQ(text_of(host.kernel.state(), own), text_of(before, own));
        EXPECT_EQ(steps_of(plan_it()), "") << steps_of(plan);
    }
    EXPECT_GT(removed, hosts / 10);
}

}  // namespace
}  // namespace pvc::policy
