// Devices that the configuration calls by another name that they have (altname), and others' devices with such names.
#include "client_plan_fixture.hpp"

namespace pvc::policy {
namespace {

// eth0 is enp0s0, and so on.
toy_kernel host_with_other_names() {
    toy_kernel kernel;
    for (const auto* number : {"0", "1", "2", "3"}) {
        auto link = link_named(std::string("eth") + number);
        link.alt_names = {std::string("enx00000000000") + number, std::string("enp0s") + number};
        kernel.add(link);
    }
    return kernel;
}

TEST(other_names, the_kernel_resolves_them_for_all_that_is_planned) {
    network_words words;
    words.cluster_device = "enp0s0";
    words.storage_device = "enp0s1";
    words.upstream_device = "enp0s2";
    words.bridge_device = "enp0s3";
    words.cluster_mtu = words.storage_mtu = 1500;
    const auto config = config_of(words);
    auto kernel = host_with_other_names();
    const auto names = names_to_resolve(config, kernel.state());
    EXPECT_EQ(names, (device_names{{"enp0s0", "eth0"}, {"enp0s1", "eth1"}, {"enp0s2", "eth2"}, {"enp0s3", "eth3"}}));
    const auto named = with_own_names(config, names);
    EXPECT_EQ(core_devices_of(named).cluster_device, "eth0");
    auto plan = plan_host(named, kernel.state());
    EXPECT_TRUE(plan.missing.empty() && !plan.is_cluster_device_missing);
    carry_out(kernel, plan);
    plan = plan_host(named, kernel.state());
    EXPECT_EQ(steps_of(plan) + remarks_of(plan.remarks), "");
    EXPECT_EQ(kernel.master_of("eth0"), "brcluster");
    EXPECT_EQ(kernel.master_of("eth2"), "brupstream");
    EXPECT_FALSE(plan_network(managed(7), named, kernel.state(), {}).is_refused);
    const auto bridged_plan = plan_network(bridged(8), named, kernel.state(), {});
    EXPECT_NE(steps_of(bridged_plan).find("create VLAN vlan8 (id 8) on eth3"), std::string::npos);
    EXPECT_TRUE(names_to_resolve(named, kernel.state()).empty());
}

TEST(other_names, one_device_by_two_names_is_no_port_of_two_bridges) {
    network_words words;
    words.cluster_device = "enp0s0";
    words.upstream_device = "eth0";
    words.cluster_mtu = words.storage_mtu = 1500;
    const auto config = config_of(words);
    auto kernel = host_with_other_names();
    const auto named = with_own_names(config, names_to_resolve(config, kernel.state()));
    host_ports ports;
    for (int look = 0; look < 3; ++look) {
        ports = ports_after_look(ports, named, kernel.state());
        const auto plan = plan_host(named, kernel.state(), ports);
        carry_out(kernel, plan);
        EXPECT_NE(remarks_of(plan.remarks).find("device eth0 is that of brcluster too, under another name"),
                  std::string::npos);
        EXPECT_EQ(kernel.master_of("eth0"), "brcluster");
    }
    EXPECT_EQ(steps_of(plan_host(named, kernel.state(), ports)), "");
}

// The kernel takes another name for a name: what is asked of it would be done to that link.
TEST(other_names, a_network_whose_name_somebody_has_so_is_refused) {
    const auto config = config_of(client_words());
    for (const auto* name : {"vmbr7", "vxlan7"}) {
        auto kernel = host_of(config);
        auto link = link_named("ens9", "bridge");
        link.alt_names = {name};
        kernel.add(link);
        const auto plan = plan_network(managed(7), config, kernel.state(), {});
        EXPECT_EQ(remarks_of(plan.remarks),
                  std::string("error network-refused: network 7: ") + name + " is another name of ens9\n");
        EXPECT_EQ(steps_of(plan) + steps_of(plan_removal(7, config, kernel.state())) +
                      steps_of(plan_sweep({}, config, kernel.state())),
                  "");
        EXPECT_EQ(foreign_links(config, kernel.state(), {}, {}),
                  std::vector<std::string>{std::string(name) + " (it is another name of ens9)"});
    }
}

TEST(other_names, a_bridge_of_the_host_whose_name_somebody_has_so_is_not_made) {
    const auto config = config_of(network_words());
    toy_kernel kernel;
    for (const auto* name : {"eth0", "eth1", "eth2", "ens9"}) {
        kernel.add(link_named(name));
    }
    kernel.edit("ens9").alt_names = {"brupstream"};
    const auto plan = plan_host(config, kernel.state());
    EXPECT_EQ(remarks_of(plan.remarks),
              "error network-bridge-foreign: brupstream is another name of ens9: nothing is done to it, and no address "
              "is added\n");
    EXPECT_EQ(steps_of(plan).find("brupstream"), std::string::npos) << steps_of(plan);
    carry_out(kernel, plan);
    EXPECT_TRUE(plan_host(config, kernel.state()).is_right());
    EXPECT_TRUE(bridges_not_running(config, kernel.state()).empty()) << "nobody waits for it";
}

// README ruling 79.
TEST(other_names, a_link_with_a_traffic_filter_is_somebodys) {
    const auto config = config_of(client_words());
    auto kernel = host_of(config);
    settle(kernel, managed(7), config);
    kernel.edit("vxlan7").has_traffic_filter = true;
    const auto plan = plan_network(managed(7), config, kernel.state(), {});
    EXPECT_EQ(remarks_of(plan.remarks),
              "error network-refused: network 7: vxlan7 is a link of this host's own: it has a traffic filter\n");
    EXPECT_EQ(steps_of(plan_sweep({}, config, kernel.state())).find("delete link vxlan7"), std::string::npos);
    EXPECT_EQ(foreign_links(config, kernel.state(), {}, {}),
              (std::vector<std::string>{"vmbr7 (it has the port vxlan7)", "vxlan7 (it has a traffic filter)"}));
    // Not one that the record has.
    const whose_links whose{{{"vxlan7", {kernel.link("vxlan7").index, true}}}};
    EXPECT_FALSE(plan_network(managed(7), config, kernel.state(), {}, whose).is_refused);
}

}  // namespace
}  // namespace pvc::policy
