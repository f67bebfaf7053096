// What somebody does to links of the daemon with his hands, and is put right; what is his own is said.
#include "client_plan_fixture.hpp"
#include "host_plan_fixture.hpp"

namespace pvc::policy {
namespace {

config::node_config words_of_one() {
    auto words = network_words::all_on("eth0");
    words.cluster_mtu = words.storage_mtu = 1500;
    return config_of(words);
}

// ip route flush table local
TEST(damaged_by_hand, the_routes_to_its_own_addresses_come_back) {
    const auto config = words_of_one();
    auto kernel = bare_host({"eth0", "eth9"});
    kernel.apply(model::set_up{"eth9"});
    kernel.add_address("eth9", "192.0.2.7/24");
    settle(kernel, config);
    kernel.flush_local_routes();
    const auto plan = plan_host(config, kernel.state());
    EXPECT_EQ(steps_of(plan),
              "add local route 10.0.0.2/32 (source 10.0.0.2) on brcluster\n"
              "add local route 10.0.1.2/32 (source 10.0.1.2) on brcluster\n"
              "add local route 10.0.2.2/32 (source 10.0.2.2) on brcluster\n");
    EXPECT_EQ(remarks_of(plan.remarks),
              "warning network-left-alone: this host takes no packets for 192.0.2.7/24 on eth9: the kernel's routes to "
              "them in table local are gone (`ip route flush table local`, say): take each address away and add it "
              "again\n");
    carry_out(kernel, plan);
    EXPECT_EQ(steps_of(plan_host(config, kernel.state())), "");
}

TEST(damaged_by_hand, arp_is_switched_on_again) {
    const auto config = words_of_one();
    auto kernel = bare_host({"eth0"});
    settle(kernel, config);
    network_memory memory;
    settle(kernel, managed(7), config, memory);
    kernel.edit("brcluster").is_arp_off = true;
    kernel.edit("vmbr7").is_arp_off = true;
    EXPECT_EQ(steps_of(plan_host(config, kernel.state())), "switch ARP on on brcluster\n");
    memory.was_right = true;
    const auto plan = plan_network(managed(7), config, kernel.state(), memory, {});
    EXPECT_EQ(steps_of(plan), "switch ARP on on vmbr7\n");
    EXPECT_EQ(plan.damage, std::vector<std::string>{"ARP was off on vmbr7"});
}

// README ruling 79: the record says whose it is.
TEST(damaged_by_hand, a_bridge_that_somebody_called_otherwise_gets_its_name_back) {
    const auto config = words_of_one();
    auto kernel = bare_host({"eth0"});
    settle(kernel, config);
    network_memory memory;
    settle(kernel, managed(7), config, memory);
    const int index = kernel.link("vmbr7").index;
    const own_bridges record{{7, {index, true}}};
    memory = {};
    memory.own_bridge = index;
    kernel.apply(model::rename_link{"mine", index});
    EXPECT_EQ(after_look(record, {}, kernel.state()), record);
    const auto plan = plan_network(managed(7), config, kernel.state(), memory, {});
    EXPECT_EQ(plan.damage, std::vector<std::string>{"vmbr7 was called mine"});
    EXPECT_EQ(steps_of(plan), "call link " + std::to_string(index) + " vmbr7 again\n");
    carry_out(kernel, plan);
    EXPECT_EQ(kernel.link("vmbr7").index, index);
    // Where somebody has another link of that name, or names this one in the host's own files, it is his.
    kernel.apply(model::rename_link{"mine", index});
    whose_links named;
    named.named = {"mine"};
    EXPECT_EQ(steps_of(plan_network(managed(7), config, kernel.state(), memory, named)).find("call link"),
              std::string::npos);
    kernel.add(link_named("vmbr7", "bridge"));
    EXPECT_EQ(after_look(record, {}, kernel.state()), own_bridges());
    EXPECT_EQ(steps_of(plan_network(managed(7), config, kernel.state(), memory, {})).find("call link"),
              std::string::npos);
    // Without a record it is anybody's.
    kernel.remove("vmbr7");
    memory.own_bridge = 0;
    EXPECT_EQ(steps_of(plan_network(managed(7), config, kernel.state(), memory, {})).find("call link"),
              std::string::npos);
}

}  // namespace
}  // namespace pvc::policy
