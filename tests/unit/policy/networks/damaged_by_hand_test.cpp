// What somebody does to links of the daemon with his hands, and is put right; what is his own is said.
#include "client_plan_fixture.hpp"
#include "host_plan_fixture.hpp"

#include <algorithm>
#include <iterator>

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

// Of IPv6 an address that is the daemon's goes for a moment, and nobody else's does.
TEST(damaged_by_hand, what_is_moved_to_a_bridge_takes_its_packets_again) {
    const auto config = words_of_one();
    auto kernel = bare_host({"eth0"});
    settle(kernel, config);
    kernel.add_address("brcluster", "203.0.113.7/32");
    kernel.add_address("brcluster", "fd55::7/64");
    kernel.flush_local_routes();
    const auto plan = plan_host(config, kernel.state());
    EXPECT_NE(steps_of(plan).find("add local route 203.0.113.7/32 (source 203.0.113.7) on brcluster"),
              std::string::npos)
        << steps_of(plan);
    EXPECT_EQ(steps_of(plan).find("fd55"), std::string::npos) << steps_of(plan);
    EXPECT_NE(remarks_of(plan.remarks).find("takes no packets for fd55::7/64 on brcluster"), std::string::npos);
    // The daemon's own.
    const auto state = kernel.state();
    const auto units = units_of_lost_routes(state, *state.find("brcluster"), {*parse_host_address("fd55::7/64")});
    std::string steps;
    for (const auto& unit : units) {
        for (const auto& one : unit.steps) {
            steps += to_text(one) + ", ";
        }
    }
    EXPECT_NE(steps.find("remove fd55::7/64 from brcluster, add fd55::7/64 to brcluster, "), std::string::npos)
        << steps;
}

// The kernel's own of a client network's bridge is put right; what somebody gave to that is told of.
TEST(damaged_by_hand, of_link_local_addresses_those_are_told_of_that_stay_dead) {
    auto bridge = link_named("vmbr7", "bridge");
    bridge.index = 7;
    auto card = link_named("eth9");
    card.index = 9;
    std::vector<model::link_address> addresses;
    for (const auto& [link, text] : std::vector<std::pair<int, std::string>>{
             {7, "fe80::58:ff:fe00:7/64"}, {7, "fe80::5/64"}, {9, "fe80::58:ff:fe00:9/64"}}) {
        addresses.push_back(
            {.link = link, .address = *parse_host_address(text), .scope = model::link_scope, .is_taken = false});
    }
    const auto said = remark_of_untaken(words_of_one(), {{bridge, card}, addresses, {}});
    ASSERT_TRUE(said);
    EXPECT_NE(said->text.find("no packets for fe80::5/64 on vmbr7, fe80::58:ff:fe00:9/64 on eth9: "), std::string::npos)
        << said->text;
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
    EXPECT_EQ(after_look(record, {}, kernel.state()), record) << "it waits for its name";
    EXPECT_EQ(steps_of(plan_network(managed(7), config, kernel.state(), memory, {})).find("call link"),
              std::string::npos);
    // Without a record it is anybody's.
    kernel.remove("vmbr7");
    memory.own_bridge = 0;
    EXPECT_EQ(steps_of(plan_network(managed(7), config, kernel.state(), memory, {})).find("call link"),
              std::string::npos);
}

struct renamed_bridges {
    config::node_config config = words_of_one();
    toy_kernel kernel = bare_host({"eth0"});
    std::map<std::uint32_t, network_memory> memories{};
    own_bridges record{};

    explicit renamed_bridges(const std::set<std::uint32_t>& networks) {
        settle(kernel, config);
        for (const auto vni : networks) {
            settle(kernel, managed(vni), config, memories[vni]);
            const int index = kernel.link(managed(vni).bridge()).index;
            record[vni] = {index, true};
            memories[vni] = {};
            memories[vni].own_bridge = index;
        }
    }
    void call(const std::string& name, std::uint32_t vni) {
        kernel.apply(model::rename_link{name, record.at(vni).index});
    }
    [[nodiscard]] whose_links whose() const {
        whose_links all;
        const auto state = kernel.state();
        all.bridges = record;
        for (const auto& [vni, one] : record) {
            const auto* base = state.find(managed(vni).base());
            all.bases[managed(vni).base()] = {base == nullptr ? 0 : base->index, true};
        }
        return all;
    }
    // Looks of a daemon, each of which serves all networks; in words what was done.
    std::string heal() {
        std::string done;
        for (int look = 0; look < 5; ++look) {
            const auto seen = kernel.state();
            record = after_look(record, {}, seen);
            for (auto& [vni, memory] : memories) {
                const auto plan = plan_network(managed(vni), config, seen, memory, whose());
                network_plan renames;
                std::ranges::copy_if(plan.steps, std::back_inserter(renames.steps),
                                     [](const auto& one) { return std::holds_alternative<model::rename_link>(one); });
                done += steps_of(renames);
                carry_out(kernel, renames);
            }
        }
        return done;
    }
};

TEST(damaged_by_hand, a_bridge_that_is_called_as_another_networks_gets_its_name_back) {
    for (const bool is_there : {false, true}) {
        renamed_bridges host(is_there ? std::set<std::uint32_t>{7, 9} : std::set<std::uint32_t>{7});
        const auto record = host.record;
        if (is_there) {
            host.call("vmbr11", 9);
        }
        host.call("vmbr9", 7);
        // It is no network's of that number, and none that was left behind.
        EXPECT_TRUE(plan_sweep(is_there ? std::set<std::uint32_t>{7, 9} : std::set<std::uint32_t>{7}, host.config,
                               host.kernel.state(), record, host.whose())
                        .steps.empty());
        EXPECT_TRUE(foreign_links(host.config, host.kernel.state(), record, host.whose()).empty());
        const auto theirs = plan_network(managed(9), host.config, host.kernel.state(), {}, host.whose());
        EXPECT_EQ(remarks_of(theirs.remarks),
                  "error network-refused: network 9: vmbr9 is the bridge of network 7, which somebody called so\n");
        host.heal();
        for (const auto& [vni, one] : record) {
            EXPECT_EQ(host.kernel.link(managed(vni).bridge()).index, one.index) << vni;
        }
        EXPECT_EQ(host.record, record);
    }
}

TEST(damaged_by_hand, bridges_that_exchanged_their_names_get_them_back) {
    renamed_bridges host({7, 8, 9});
    const auto record = host.record;
    host.call("x", 7);
    host.call("vmbr7", 9);
    host.call("vmbr9", 8);
    host.call("vmbr8", 7);
    host.heal();
    for (const auto& [vni, one] : record) {
        EXPECT_EQ(host.kernel.link(managed(vni).bridge()).index, one.index) << vni;
    }
    EXPECT_EQ(host.record, record);
    EXPECT_EQ(host.heal(), "");
}

// As its bridge: index, number, device and place are what the record has.
TEST(damaged_by_hand, a_base_that_somebody_called_otherwise_gets_its_name_back) {
    for (const bool is_managed : {true, false}) {
        auto words = network_words::all_on("eth0");
        words.bridge_device = "eth0";
        const auto config = config_of(words);
        auto kernel = bare_host({"eth0"});
        settle(kernel, config);
        auto wanted = managed(7);
        wanted.type = is_managed ? model::network_type::managed : model::network_type::bridged;
        network_memory memory;
        settle(kernel, wanted, config, memory);
        const auto base = wanted.base();
        const int index = kernel.link(base).index;
        whose_links whose;
        whose.bases = {{base, {index, true}}};
        kernel.apply(model::rename_link{"foo1", index});
        EXPECT_EQ(bases_after_look(whose.bases, {}, kernel.state()), whose.bases);
        const auto plan = plan_network(wanted, config, kernel.state(), memory, whose);
        EXPECT_FALSE(plan.is_refused) << remarks_of(plan.remarks);
        EXPECT_EQ(plan.damage, std::vector<std::string>{base + " was called foo1"});
        EXPECT_EQ(steps_of(plan), "call link " + std::to_string(index) + " " + base + " again\n");
        // With its network it goes, whatever it is called, and with the bridge that it is in.
        auto gone = kernel;
        carry_out(gone, plan_removal(7, config, gone.state(), gone.link("vmbr7").index, whose));
        EXPECT_FALSE(gone.has("foo1") || gone.has("vmbr7"));
        auto swept = kernel;
        swept.remove("vmbr7");
        carry_out(swept, plan_sweep({}, config, swept.state(), {}, whose));
        EXPECT_FALSE(swept.has("foo1"));
        // Not what the host's own files name, one that is only used, or another link.
        for (const std::string& name : {std::string("foo1"), base}) {
            auto named = whose;
            named.named = {name};
            EXPECT_TRUE(plan_network(wanted, config, kernel.state(), memory, named).is_refused) << name;
        }
        for (const auto& other : {recorded_base{index, false}, recorded_base{index + 50, true}}) {
            whose_links of_others;
            of_others.bases = {{base, other}};
            EXPECT_TRUE(plan_network(wanted, config, kernel.state(), memory, of_others).is_refused);
        }
        carry_out(kernel, plan);
        EXPECT_EQ(kernel.link(base).index, index);
        EXPECT_EQ(steps_of(plan_network(wanted, config, kernel.state(), plan.next, whose)), "");
    }
}

TEST(damaged_by_hand, a_bridge_by_another_name_goes_with_its_network) {
    renamed_bridges host({7, 8});
    host.call("mine", 7);
    host.call("vmbr9", 8);
    EXPECT_TRUE(reach_of_host({}, host.config, host.kernel.state(), host.record).size() ==
                reach_of_host({7, 8}, host.config, bare_host({"eth0"}).state(), {}).size());
    carry_out(host.kernel, plan_removal(7, host.config, host.kernel.state(), host.record[7].index, host.whose()));
    EXPECT_FALSE(host.kernel.has("mine") || host.kernel.has("vxlan7"));
    EXPECT_TRUE(host.kernel.has("vmbr9"));
    carry_out(host.kernel, plan_sweep({}, host.config, host.kernel.state(), host.record, host.whose()));
    EXPECT_FALSE(host.kernel.has("vmbr9") || host.kernel.has("vxlan8"));
}

}  // namespace
}  // namespace pvc::policy
