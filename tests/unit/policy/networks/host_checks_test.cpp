// How steps are undone, which settings are written (networking.md 3.2, case 9), and plans in words.
#include "network_fixture.hpp"

#include "pvcnoded/policy/networks/describe.hpp"

#include <gtest/gtest.h>

#include <map>

namespace pvc::policy {
namespace {

using read_values = std::map<std::string, std::string>;

std::string written(const std::vector<sysctl_setting>& wanted, const read_values& present) {
    std::string all;
    const auto read = [&](const std::string& key) {
        const auto found = present.find(key);
        return found == present.end() ? std::nullopt : std::optional(found->second);
    };
    for (const auto& one : sysctls_to_set(wanted, read)) {
        all += one.key + "=" + one.value + "\n";
    }
    return all;
}

TEST(host_checks, case_9_settings_that_do_not_read_as_they_shall) {
    const auto wanted = sysctl_settings({"eth0", "brcluster", "eth0", "brcluster"});
    read_values host{{"net/ipv4/ip_forward", "0"},
                     {"net/ipv6/conf/brcluster/accept_ra", "1"},
                     {"net/ipv6/conf/all/forwarding", "0"},
                     {"net/ipv4/conf/all/send_redirects", "1"},
                     {"net/ipv4/conf/all/rp_filter", "1"},
                     {"net/ipv4/conf/eth0/rp_filter", "1"},
                     {"net/ipv4/conf/brcluster/rp_filter", "2"}};
    EXPECT_EQ(written(wanted, host),
              "net/ipv4/ip_forward=1\nnet/ipv6/conf/brcluster/accept_ra=2\nnet/ipv6/conf/all/forwarding=1\n"
              "net/ipv4/conf/eth0/rp_filter=2\n");
    host["net/ipv4/conf/all/rp_filter"] = "0";
    host["net/ipv6/conf/brcluster/accept_ra"] = "2";
    EXPECT_EQ(written(wanted, host),
              "net/ipv4/ip_forward=1\nnet/ipv6/conf/all/forwarding=1\n"
              "net/ipv4/conf/eth0/rp_filter=0\nnet/ipv4/conf/brcluster/rp_filter=0\n");
    EXPECT_EQ(written(wanted, {}), "");  // a kernel without any of them
    host["net/ipv6/conf/brcluster/accept_ra"] = "0";
    EXPECT_EQ(written(wanted, host).find("accept_ra"), std::string::npos);
}

// README ruling 81: that of all links is as it shall be, and says nothing of a single one.
TEST(host_checks, case_9_forwarding_of_one_bridge_that_somebody_switched_off) {
    const auto wanted = sysctl_settings({"eth0", "brcluster", "eth1", "brupstream"});
    read_values host{{"net/ipv4/ip_forward", "1"},
                     {"net/ipv4/conf/brcluster/forwarding", "0"},
                     {"net/ipv4/conf/brupstream/forwarding", "1"},
                     {"net/ipv4/conf/eth0/forwarding", "0"}};
    EXPECT_EQ(written(wanted, host), "net/ipv4/conf/brcluster/forwarding=1\n");
    host["net/ipv4/ip_forward"] = "0";
    EXPECT_EQ(written(wanted, host), "net/ipv4/ip_forward=1\n") << "the kernel switches all of them on";
}

// README ruling 83: their device's, pinned once it is their port; a live one only to what it has.
TEST(host_checks, bridges_keep_the_hardware_address_that_they_have) {
    const auto config = config_of({});
    toy_kernel kernel;
    const model::hardware_address own{0x52, 0x54, 0, 0, 0, 1};
    const model::hardware_address other{0x52, 0x54, 0, 0, 0, 9};
    for (const auto* name : {"eth0", "eth1", "eth2"}) {
        auto device = link_named(name);
        device.hardware = own;
        kernel.add(device);
    }
    auto live = link_named("brstorage", "bridge");
    live.hardware = other;
    kernel.add(live);
    std::set<int> told;
    EXPECT_TRUE(addresses_to_keep(config, kernel.state(), told).empty()) << "eth1 is no port of it yet";
    carry_out(kernel, plan_host(config, kernel.state()));
    EXPECT_EQ(kernel.link("brcluster").hardware, own) << "made with that of its device";
    const auto steps = addresses_to_keep(config, kernel.state(), told);
    EXPECT_EQ(steps, (std::vector<model::set_hardware>{{"brcluster", own}, {"brstorage", other}, {"brupstream", own}}));
    for (const auto& one : steps) {
        told.insert(kernel.link(one.name).index);
    }
    EXPECT_TRUE(addresses_to_keep(config, kernel.state(), told).empty());
    kernel.remove("brstorage");
    carry_out(kernel, plan_host(config, kernel.state()));
    EXPECT_EQ(addresses_to_keep(config, kernel.state(), told), (std::vector<model::set_hardware>{{"brstorage", own}}))
        << "another bridge of the name";
}

TEST(host_checks, case_9_written_once_they_read_as_they_shall) {
    for (const auto* all_rp_filter : {"0", "1", "2"}) {
        const auto wanted = sysctl_settings({"eth0.100", "brcluster", "eth1", "brupstream"});
        read_values host;
        for (const auto& one : wanted) {
            const bool is_of_link = one.key.ends_with("accept_ra") || one.key.ends_with("brcluster/forwarding") ||
                                    one.key.ends_with("brupstream/forwarding");
            host[one.key] = is_of_link ? "1" : "7";
        }
        host["net/ipv4/conf/all/rp_filter"] = all_rp_filter;
        const auto read = [&](const std::string& key) { return std::optional(host[key]); };
        for (const auto& one : sysctls_to_set(wanted, read)) {
            host[one.key] = one.value;
        }
        EXPECT_TRUE(sysctls_to_set(wanted, read).empty());
        EXPECT_EQ(host["net/ipv4/conf/eth0.100/rp_filter"], *all_rp_filter == '1' ? "2" : "0");
        EXPECT_EQ(host["net/ipv6/conf/brupstream/accept_ra"], "2");
    }
}

TEST(host_checks, what_changed_nothing_is_not_undone) {
    toy_kernel kernel;
    auto up = link_named("eth0", "", 9000);
    up.is_up = true;
    kernel.add(up);
    kernel.add(link_named("br0", "bridge"));
    kernel.apply(model::set_master{"eth0", "br0"});
    kernel.add_address("br0", "10.0.0.2/24");
    kernel.apply(model::set_up{"br0"});
    kernel.add_route("10.0.0.1", "br0");
    const auto before = kernel.state();
    const auto address = *parse_host_address("10.0.0.2/24");
    const auto gateway = *parse_address("10.0.0.1");
    const std::vector<model::network_change> so_already{model::make_bridge{"br0"},
                                                        model::set_up{"eth0"},
                                                        model::set_mtu{"eth0", 9000},
                                                        model::set_master{"eth0", "br0"},
                                                        model::add_address{"br0", address},
                                                        model::remove_address{"eth0", address},
                                                        model::add_default_route{gateway, "br0"},
                                                        model::remove_default_route{gateway, "eth0"},
                                                        model::set_sysctl{"net/ipv4/ip_forward", "1"},
                                                        model::tx_checksum_off{"br0"}};
    for (const auto& step : so_already) {
        EXPECT_FALSE(undo_of(step, before)) << to_text(step);
    }
    const auto undone = [&](const model::network_change& step) { return to_text(*undo_of(step, before)); };
    EXPECT_EQ(undone(model::make_vlan{"vlan7", "eth0", 7}), "delete link vlan7");
    EXPECT_EQ(undone(model::set_down{"eth0"}), "set eth0 up");
    EXPECT_EQ(undone(model::set_mtu{"eth0", 1500}), "set MTU 9000 on eth0");
    EXPECT_EQ(undone(model::set_master{"eth0", ""}), "make eth0 a port of br0");
    EXPECT_EQ(undone(model::remove_address{"br0", address}), "add 10.0.0.2/24 to br0");
    EXPECT_EQ(undone(model::add_address{"eth0", address}), "remove 10.0.0.2/24 from eth0");
    EXPECT_EQ(undone(model::remove_default_route{gateway, "br0"}), "add default route via 10.0.0.1 on br0");
}

TEST(host_checks, a_plan_in_words) {
    auto words = network_words::all_on("eth0");
    words.cluster_mtu = words.storage_mtu = 1500;
    words.storage_device = "ens5";
    const auto config = config_of(words);
    toy_kernel kernel;
    auto device = link_named("eth0");
    device.is_up = true;
    kernel.add(device);
    const auto lines = describe(plan_host(config, kernel.state()));
    ASSERT_GE(lines.size(), 3U);
    EXPECT_EQ(lines[0], "error: device ens5 is missing: what needs it is set up when it comes");
    EXPECT_EQ(lines[1], "would create bridge brcluster");
    EXPECT_EQ(lines[2], "would set brcluster up");
    kernel.add(link_named("ens5"));
    carry_out(kernel, plan_host(config, kernel.state()));
    EXPECT_EQ(describe(plan_host(config, kernel.state())), std::vector<std::string>{"nothing to change"});
    model::client_network network;
    network.vni = 7;
    EXPECT_EQ(describe(plan_network(network, config, kernel.state(), {})).at(0), "would create bridge vmbr7");
    network.type = model::network_type::bridged;
    EXPECT_EQ(describe(plan_network(network, config, kernel.state(), {})),
              (std::vector<std::string>{"error: network 7: bridge_device is not configured", "nothing to change"}));
}

// README ruling 81.
TEST(host_checks, links_whose_routes_by_advertisements_must_survive_forwarding) {
    toy_kernel kernel;
    for (const auto* name : {"eth0", "eth9"}) {
        kernel.add(link_named(name));
    }
    for (const auto& [name, kind] : {std::pair("brupstream", "bridge"),
                                     {"vmbr7", "bridge"},
                                     {"vxlan7", "vxlan"},
                                     {"vnet0", "tun"},
                                     {"veth1", "veth"},
                                     {"bond0", "bond"},
                                     {"eth1", "veth"}}) {  // a card of the file
        kernel.add(link_named(name, kind));
    }
    kernel.apply(model::set_master{"eth0", "brupstream"});
    std::vector<std::string> keys;
    for (const auto& one : advertisement_settings(config_of({}), kernel.state())) {
        EXPECT_EQ(one, (sysctl_setting{one.key, {}, one.key, "1", "2"}));
        keys.push_back(one.key);
    }
    EXPECT_EQ(keys, (std::vector<std::string>{"net/ipv6/conf/eth9/accept_ra", "net/ipv6/conf/brupstream/accept_ra",
                                              "net/ipv6/conf/bond0/accept_ra", "net/ipv6/conf/eth1/accept_ra"}));
}

// A card in a bridge makes that the host's, whatever else is in it; a port of a VRF hears advertisements itself.
TEST(host_checks, whose_bridges_have_routes_by_advertisements) {
    toy_kernel kernel;
    for (const auto& [name, kind] : {std::pair("br0", "bridge"),
                                     {"docker0", "bridge"},
                                     {"vmbr1", "bridge"},
                                     {"vmbr7", "bridge"},
                                     {"br9", "bridge"},
                                     {"vrf1", "vrf"}}) {
        kernel.add(link_named(name, kind));
    }
    for (const auto& [name, kind, master] : {std::tuple("ens8", "", "br0"),
                                             {"vnet0", "tun", "br0"},
                                             {"veth1", "veth", "docker0"},
                                             {"ens9", "", "vmbr1"},
                                             {"vnet1", "tun", "vmbr1"},
                                             {"vlan7", "vlan", "vmbr7"},
                                             {"vnet2", "tun", "vmbr7"},
                                             {"uplink", "vlan", "vrf1"}}) {
        kernel.add(link_named(name, kind));
        kernel.apply(model::set_master{name, master});
    }
    std::set<std::string> keys;
    for (const auto& one : advertisement_settings(config_of({}), kernel.state())) {
        keys.insert(one.key.substr(14, one.key.size() - 14 - std::string_view("/accept_ra").size()));
    }
    EXPECT_EQ(keys, (std::set<std::string>{"br0", "br9", "uplink", "vmbr1", "vrf1"}));
}

// A device that becomes a port by the plan gets no such setting, and what is said before does not name it.
TEST(host_checks, a_device_that_becomes_a_port_counts_as_one_before) {
    toy_kernel kernel;
    for (const auto* name : {"eth0", "eth9"}) {
        kernel.add(link_named(name));
    }
    host_plan plan;
    plan.units.push_back({"port eth0 of brcluster", {model::set_master{"eth0", "brcluster"}}});
    const auto settings = advertisement_settings(config_of({}), with_ports_of(plan, kernel.state()));
    ASSERT_EQ(settings.size(), 1U);
    EXPECT_EQ(settings.front().key, "net/ipv6/conf/eth9/accept_ra");
    // Likewise a bridge that it makes.
    plan.units.insert(plan.units.begin(), {"bridge brcluster", {model::make_bridge{"brcluster", {}}}});
    const auto with_bridge = advertisement_settings(config_of({}), with_ports_of(plan, kernel.state()));
    ASSERT_EQ(with_bridge.size(), 2U);
    EXPECT_EQ(with_bridge.front().key, "net/ipv6/conf/brcluster/accept_ra");
}

}  // namespace
}  // namespace pvc::policy
