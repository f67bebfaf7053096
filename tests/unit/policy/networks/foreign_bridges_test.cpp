// README ruling 79: bridges of the host that have names of client networks: their addresses, and they, stay.
#include "client_plan_fixture.hpp"
#include "pvcnoded/policy/networks/gateway_addresses.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

namespace pvc::policy {
namespace {

using words = std::vector<std::string>;

// vmbr50 with 10.77.0.1/24 and the port vxlan50, as the daemon of the reference leaves them, but for what is told.
struct left_bridge {
    config::node_config config = config_of(client_words());
    toy_kernel kernel = host_of(config);
    whose_links whose{};

    explicit left_bridge(const std::string& lower = "eth0", std::uint16_t port = 4789, bool has_stp = false) {
        auto bridge = link_named("vmbr50", "bridge");
        bridge.has_stp = has_stp;
        kernel.add(bridge);
        auto base = link_named("vxlan50", "vxlan");
        base.vxlan = model::vxlan_settings{50, port};
        base.lower = kernel.link(lower).index;
        kernel.add(base);
        kernel.apply(model::set_master{"vxlan50", "vmbr50"});
        kernel.add_address("vmbr50", "10.77.0.1/24");
    }
    [[nodiscard]] std::size_t left_addresses() const {
        return gateways_left_behind(config, kernel.state(), {}, &whose).size();
    }
    [[nodiscard]] std::string swept() const { return steps_of(plan_sweep({}, config, kernel.state(), {}, whose)); }
};

TEST(foreign_bridges, only_those_that_are_as_a_node_daemons_lose_their_addresses) {
    const left_bridge ours;
    EXPECT_EQ(ours.left_addresses(), 1U);
    EXPECT_NE(ours.swept(), "");
    EXPECT_EQ(links_to_sweep(ours.config, ours.kernel.state(), {}, {}), (words{"vmbr50", "vxlan50"}));
    // As long as nobody knows what the host's configuration names, only the record counts.
    EXPECT_TRUE(gateways_left_behind(ours.config, ours.kernel.state(), {}, nullptr).empty());
    const own_bridges own{{50, {ours.kernel.link("vmbr50").index, true}}};
    EXPECT_EQ(gateways_left_behind(ours.config, ours.kernel.state(), own, nullptr).size(), 1U);
    // It is known to be a daemon's then: nothing is said of it beforehand.
    EXPECT_EQ(links_to_sweep(ours.config, ours.kernel.state(), own,
                             {.bases = {{"vxlan50", {ours.kernel.link("vxlan50").index, true}}}}),
              words());
    // An operator who switched STP on in one of ours, or put a card into it.
    left_bridge changed("eth0", 4789, true);
    changed.kernel.apply(model::set_master{"eth1", "vmbr50"});
    EXPECT_EQ(changed.left_addresses(), 1U);

    for (const auto& theirs : {left_bridge("eth1"), left_bridge("eth0", 8472), left_bridge("eth1", 8472, true)}) {
        EXPECT_EQ(theirs.left_addresses(), 0U);
        EXPECT_EQ(theirs.swept(), "");
        EXPECT_EQ(links_to_sweep(theirs.config, theirs.kernel.state(), {}, {}), words());
        const auto told = foreign_links(theirs.config, theirs.kernel.state(), {}, {});
        EXPECT_EQ(told.size(), 2U) << "the bridge and its base";
    }
    for (const std::string name : {"vmbr50", "vxlan50", "/vmbr5?", "/vxlan*=vxlan"}) {
        left_bridge named;
        named.whose.named.insert(name);
        EXPECT_EQ(named.left_addresses(), 0U) << name;
        EXPECT_EQ(named.swept(), "") << name;
    }
}

TEST(foreign_bridges, patterns_that_name_no_link_of_theirs) {
    for (const std::string name : {"/*", "/eth*", "vmbr*", "/"}) {
        left_bridge named;
        named.whose.named.insert(name);
        EXPECT_NE(named.swept(), "") << name;
    }
}

// A primary gives addresses to bridges of managed networks alone, and no daemon makes routes.
TEST(foreign_bridges, one_with_its_base_stays_with_what_no_daemon_gives_it) {
    const auto route_by = [](std::uint8_t protocol) {
        model::link_route route{{*parse_host_address("10.78.0.0/16")}};
        route.is.gateway = ip::make_address("10.77.0.2");
        route.is.protocol = protocol;
        return route;
    };
    left_bridge routed;
    routed.kernel.add_route("vmbr50", route_by(3));
    EXPECT_EQ(routed.left_addresses(), 0U);
    EXPECT_EQ(routed.swept(), "");
    EXPECT_EQ(kept_bridges({}, routed.config, routed.kernel.state(), {}, {}), words{"vmbr50 (routes lead over it)"});
    EXPECT_EQ(kept_bridges({50}, routed.config, routed.kernel.state(), {}, {}), words());
    // Its network has it as ever.
    EXPECT_FALSE(plan_network(managed(50), routed.config, routed.kernel.state(), {}).is_refused);
    // Guests tell routing daemons of networks.
    left_bridge learnt;
    learnt.kernel.add_route("vmbr50", route_by(186));  // RTPROT_BGP
    EXPECT_EQ(learnt.left_addresses(), 1U);
    EXPECT_NE(learnt.swept(), "");

    const auto config = config_of(client_words());
    for (const auto& [address, is_permanent, is_kept] :
         std::vector<std::tuple<std::string, bool, bool>>{{"192.0.2.10/24", true, true},
                                                          {"192.0.2.10/24", false, true},
                                                          {"fd00:9::1/64", true, true},
                                                          {"fd00:9::1/64", false, false},  // by an advertisement
                                                          {"fe80::7/64", true, false}}) {
        auto kernel = host_of(config);
        kernel.add(link_named("vmbr60", "bridge"));
        kernel.apply(model::make_vlan{"vlan60", "eth0", 60});
        kernel.apply(model::set_master{"vlan60", "vmbr60"});
        kernel.add_address("vmbr60", address, is_permanent);
        const auto plan = plan_sweep({}, config, kernel.state());
        EXPECT_EQ(steps_of(plan).empty(), is_kept) << address;
        EXPECT_EQ(remarks_of(plan.remarks), "") << address;
        EXPECT_TRUE(plan.left.empty()) << address;
        EXPECT_EQ(kept_bridges({}, config, kernel.state(), {}, {}),
                  is_kept ? words{"vmbr60 (it has " + address + ")"} : words())
            << address;
        // What a daemon of this boot had goes once nobody's address is on it.
        const own_bridges own{{60, {kernel.link("vmbr60").index, false}}};
        EXPECT_EQ(steps_of(plan_sweep({}, config, kernel.state(), own)).empty(), is_kept) << address;
        EXPECT_EQ(plan_sweep({}, config, kernel.state(), own).left.contains(60), is_kept) << address;
        EXPECT_EQ(kept_bridges({}, config, kernel.state(), own, {}), words()) << address;
    }
}

// The record says nothing of it, and a part of that cannot be read.
TEST(foreign_bridges, what_a_broken_record_may_have_named_as_used_is_not_deleted) {
    left_bridge host;
    host.kernel.apply(model::make_vxlan{"vxlan51", "eth0", 51});
    const int index = host.kernel.link("vxlan50").index;
    host.whose.bases = with_unknown_bases({}, host.kernel.state());
    EXPECT_EQ(host.whose.bases, (own_bases{{"vxlan50", {index, false}}})) << "the other is in no bridge";
    EXPECT_EQ(host.swept().find("delete link vxlan50"), std::string::npos);
    EXPECT_EQ(host.left_addresses(), 1U) << "it may be a primary's";
    const own_bases own{{"vxlan50", {index, true}}};
    EXPECT_EQ(with_unknown_bases(own, host.kernel.state()), own);
}

// It is not said to be what a network left, and so nobody waits for its card to go.
TEST(foreign_bridges, one_with_a_card_was_no_networks) {
    const auto config = config_of(client_words());
    auto kernel = host_of(config);
    kernel.add(link_named("vmbr1", "bridge"));
    kernel.apply(model::set_master{"eth1", "vmbr1"});
    auto plan = plan_sweep({}, config, kernel.state());
    EXPECT_EQ(steps_of(plan) + remarks_of(plan.remarks), "");
    EXPECT_TRUE(plan.left.empty());
    EXPECT_EQ(foreign_links(config, kernel.state(), {}, {}), words{"vmbr1 (it has the port eth1)"});
    // The record says that it was one's: it stays for the card alone.
    const own_bridges own{{1, {kernel.link("vmbr1").index, true}}};
    plan = plan_sweep({}, config, kernel.state(), own);
    EXPECT_EQ(remarks_of(plan.remarks),
              "warning network-left-alone: network 1 is gone, but eth1 uses its links: they stay\n");
    EXPECT_EQ(plan.left.size(), 1U);
}

// Nothing showed whose it was, and a network uses it: what somebody changes of it then is put right. It stays behind.
TEST(foreign_bridges, a_base_that_is_only_used_is_put_right_in_its_bridge) {
    const auto config = config_of(client_words());
    auto kernel = host_of(config);
    settle(kernel, managed(7), config);
    auto link = kernel.link("vxlan7");
    link.vxlan->is_learning = false;
    link.vxlan->has_remote = true;
    kernel.remove("vxlan7");
    kernel.add(link);
    whose_links whose;
    whose.bases["vxlan7"] = {kernel.link("vxlan7").index, false};
    const auto plan = plan_network(managed(7), config, kernel.state(), {}, whose);
    EXPECT_FALSE(plan.is_refused) << remarks_of(plan.remarks);
    EXPECT_NE(steps_of(plan).find("switch learning on and take local and remote address away on vxlan7"),
              std::string::npos)
        << steps_of(plan);
    EXPECT_EQ(steps_of(plan_removal(7, config, kernel.state(), 0, whose)).find("delete link vxlan7"),
              std::string::npos);
    kernel.apply(model::set_master{"vxlan7", ""});
    EXPECT_TRUE(plan_network(managed(7), config, kernel.state(), {}, whose).is_refused);
}

}  // namespace

// Neither this daemon nor the reference puts a link on it: with the network it would go, and what stands on it.
TEST(foreign_bridges, a_bridge_with_a_link_on_it_is_somebodys) {
    const auto config = config_of(client_words());
    model::client_network network;
    network.vni = 7;
    network.type = model::network_type::managed;
    for (const auto* kind : {"macvlan", "vlan"}) {
        auto kernel = host_of(config);
        kernel.add(link_named("vmbr7", "bridge"));
        const int index = kernel.link("vmbr7").index;
        auto above = link_named("mv7", kind);
        above.lower = index;
        kernel.add(above);
        EXPECT_EQ(foreign_links(config, kernel.state(), {}, {}), words{"vmbr7 (mv7 stands on it)"});
        const auto plan = plan_network(network, config, kernel.state(), {});
        EXPECT_EQ(remarks_of(plan.remarks),
                  "error network-refused: network 7: vmbr7 is somebody else's: it has mv7 on it\n");
        EXPECT_EQ(steps_of(plan) + steps_of(plan_removal(7, config, kernel.state())) +
                      steps_of(plan_sweep({}, config, kernel.state())),
                  "");
        network_memory known;
        known.own_bridge = index;
        EXPECT_FALSE(plan_network(network, config, kernel.state(), known).is_refused) << "it was ours before";
        kernel.apply(model::make_vxlan{"vxlan7", "eth0", 7});
        kernel.apply(model::set_master{"vxlan7", "vmbr7"});
        EXPECT_FALSE(plan_network(network, config, kernel.state(), {}).is_refused) << "a node daemon made it";
    }
}

// README ruling 79: what the host's own files name is the host's, whether it is up or not, and ifup makes it again.
struct named_host {
    config::node_config config = config_of(client_words());
    toy_kernel kernel = host_of(config);
    whose_links whose{};
    network_memory memory{};

    explicit named_host(const std::set<std::string, std::less<>>& names) { whose.named = names; }
    // What a look does, and the record after it.
    network_plan look(const model::client_network& wanted) {
        auto plan = plan_network(wanted, config, kernel.state(), memory, whose);
        carry_out(kernel, plan);
        if (!plan.is_refused) {
            memory = plan.next;
            whose.bases = bases_after_look(whose.bases, plan.bases, kernel.state());
            memory.own_bridge = kernel.has(wanted.bridge()) ? kernel.link(wanted.bridge()).index : 0;
        }
        return plan;
    }
};

// The host reaches its upstream network by a VLAN of the bridge whose port `bridge_device` is.
TEST(foreign_bridges, a_vlan_on_one_is_not_taken_away_by_its_port) {
    auto of_file = client_words();
    of_file.bridge_device = "eth0";
    const auto config = config_of(of_file);
    auto kernel = host_of(config);
    network_memory memory;
    settle(kernel, bridged(60), config, memory);
    EXPECT_EQ(kernel.apply(model::make_vlan{"brcluster.50", "brcluster", 50}), "");
    EXPECT_EQ(kernel.apply(model::make_vlan{"brcluster.60", "brcluster", 60}), "");
    const auto plan = plan_network(bridged(50), config, kernel.state(), {});
    EXPECT_TRUE(plan.is_refused && plan.steps.empty());
    EXPECT_EQ(remarks_of(plan.remarks),
              "error network-refused: network 50: VLAN 50 is there already as brcluster.50, from which vlan50 on eth0 "
              "would take its packets\n");
    const auto said = foreign_links(config, kernel.state(), {}, {});
    EXPECT_NE(std::ranges::find(said, "VLAN 50 (there is brcluster.50 on brcluster, above eth0)"), said.end());
    EXPECT_FALSE(plan_network(bridged(51), config, kernel.state(), {}).is_refused);
    EXPECT_FALSE(plan_network(managed(50), config, kernel.state(), {}).is_refused) << "it has no VLAN";
    EXPECT_FALSE(plan_network(bridged(60), config, kernel.state(), memory).is_refused) << "it was there first";
    // What that means for the host's own one is said, and no network is.
    const auto dead = dead_links(config, kernel.state(), {});
    EXPECT_EQ(dead,
              (words{"brcluster.60 gets no packets: network 60 was there first, and its vlan60 on eth0 takes those "
                     "of VLAN 60: remove that network, or give one of the two another number"}));
    EXPECT_EQ(std::ranges::count_if(said, [](const auto& one) { return one.find("60") != one.npos; }), 0);
    EXPECT_EQ(describe_sweep(config, kernel.state(), {}, {}, true).size(), dead.size() + said.size() + 1);
}

// What one host has where a VLAN of it is named, and not there.
struct host_with_vlans {
    config::node_config config;
    toy_kernel kernel;
    whose_links whose{};
};

host_with_vlans host_with_trunk(const std::string& device) {
    auto of_file = client_words();
    of_file.bridge_device = device;
    auto config = config_of(of_file);
    auto kernel = host_of(config);
    return {std::move(config), std::move(kernel)};
}

TEST(named_vlans, above_the_device_they_are_refused_too) {
    const std::string is_cluster = "eth0";  // brcluster has it as its port
    const struct {
        const char* what;
        std::string device;
        std::string name;
        named_masters masters;
        bool is_port = false;  // of br9, in the kernel
        bool is_refused = true;
    } rows[] = {
        {"on a bridge of the daemon's", is_cluster, "brcluster.50", {}},
        {"on one that the file has", "eth3", "br9.50", {{"eth3", {"br9"}}}},
        {"on one that the kernel has", "eth3", "br9.50", {}, true},
        {"above a bond that the file has", "eth3", "br9.50", {{"eth3", {"bond9"}}, {"bond9", {"br9"}}}},
        {"in a ring", "eth3", "br8.50", {{"eth3", {"br9"}}, {"br9", {"br8"}}, {"br8", {"br9", "eth3"}}}},
        {"above what the kernel has", "eth3", "br8.50", {{"br9", {"br8"}}}, true},
        {"another number", is_cluster, "brcluster.51", {}, false, false},
        {"another device", "eth3", "brcluster.50", {{"eth4", {"brcluster"}}}, false, false},
        {"a VLAN on a VLAN", is_cluster, "brcluster.50.50", {}, false, false},
        {"what is a port of it", is_cluster, "br9.50", {{"br9", {"eth0"}}}, false, false},
        {"a range", is_cluster, "brcluster.[49-50]", {}},
        {"a range of others", is_cluster, "brcluster.[51-60]", {}, false, false},
        {"above what a range has", "eth3", "br9.50", {{"eth[1-4]", {"br9"}}}},
    };
    for (const auto& row : rows) {
        auto host = host_with_trunk(row.device);
        if (row.is_port) {
            ASSERT_EQ(host.kernel.apply(model::make_bridge{"br9"}), "") << row.what;
            ASSERT_EQ(host.kernel.apply(model::set_master{row.device, "br9"}), "") << row.what;
        }
        host.whose.named = {row.name};
        host.whose.masters = row.masters;
        const auto plan = plan_network(bridged(50), host.config, host.kernel.state(), {}, host.whose);
        EXPECT_EQ(plan.is_refused, row.is_refused) << row.what;
        EXPECT_EQ(plan.steps.empty(), row.is_refused) << row.what;
        const auto device = row.name.substr(0, row.name.rfind('.'));
        EXPECT_EQ(remarks_of(plan.remarks),
                  row.is_refused
                      ? fmt::format("error network-refused: network 50: VLAN 50 of {} is this host's own: the network "
                                    "configuration of this host names {}, whether it is up or not, and vlan50 on {} "
                                    "would take its packets\n",
                                    device, row.name, row.device)
                      : std::string())
            << row.what;
        EXPECT_FALSE(plan_network(managed(50), host.config, host.kernel.state(), {}, host.whose).is_refused);
        const auto said = foreign_links(host.config, host.kernel.state(), {}, host.whose);
        const auto line =
            fmt::format("VLANs of {}, above {} (the network configuration of this host names {}; not there)", device,
                        row.device, row.name);
        const bool is_other_number = row.name == "brcluster.51" || row.name == "brcluster.[51-60]";
        EXPECT_EQ(std::ranges::find(said, line) != said.end(), row.is_refused || is_other_number) << row.what;
    }
}

TEST(named_links, of_what_is_named_and_not_there_nothing_is_made) {
    const std::string is_named =
        " is a link of this host's own: the network configuration of this host names it, whether it is up or not\n";
    const struct {
        std::string name;
        bool is_managed;
        std::string why;
    } rows[] = {
        {"vlan400", false, "vlan400" + is_named},
        {"vmbr400", false, "vmbr400" + is_named},
        {"vxlan400", true, "vxlan400" + is_named},
        {"vmbr400", true, "vmbr400" + is_named},
        {"/vxlan4*", true,
         "vxlan400 is a link of this host's own: the network configuration of this host names it (by the pattern "
         "/vxlan4*), whether it is up or not\n"},
        {"eth0.400", false,
         "VLAN 400 of eth0 is this host's own: the network configuration of this host names eth0.400, whether it is up "
         "or not\n"},
        {"eth0.[1-400]", false,
         "VLAN 400 of eth0 is this host's own: the network configuration of this host names eth0.[1-400], whether it "
         "is "
         "up or not\n"},
        {"*.400", false,
         "VLAN 400 of eth0 is this host's own: the network configuration of this host names *.400, whether it is up or "
         "not\n"},
        {"vlan[399-400]", false,
         "vlan400 is a link of this host's own: the network configuration of this host names it (by the pattern "
         "vlan[399-400]), whether it is up or not\n"},
    };
    for (const auto& row : rows) {
        named_host host({row.name});
        const auto before = host.kernel.state();
        const auto plan = host.look(row.is_managed ? managed(400) : bridged(400));
        EXPECT_TRUE(plan.is_refused) << row.name;
        EXPECT_EQ(remarks_of(plan.remarks), "error network-refused: network 400: " + row.why);
        EXPECT_EQ(host.kernel.state(), before) << row.name;
    }
    for (const std::string none : {"eth1.400", "eth0.40", "vlan401", "/eth0*", "vlan400.5", "eth0.[1-399]", "*.401"}) {
        EXPECT_FALSE(named_host({none}).look(bridged(400)).is_refused) << none;
    }
    EXPECT_FALSE(named_host({"vlan400", "eth0.400"}).look(managed(400)).is_refused);
    EXPECT_FALSE(named_host({"vxlan400"}).look(bridged(400)).is_refused);
}

TEST(named_links, what_is_not_there_is_said_before) {
    named_host host({"vlan[1-9]", "*.20", "eth0.[30-40]", "vxlan1111", "vxlan1112", "vm[1-9]"});
    ASSERT_EQ(host.kernel.apply(model::make_vxlan{"overlay", "eth0", 1112}), "");
    const std::string names = "the network configuration of this host names ";
    EXPECT_EQ(foreign_links(host.config, host.kernel.state(), {}, host.whose),
              (words{"VLANs of eth0 (" + names + "*.20, eth0.[30-40]; not there)",
                     "vlan[1-9] (" + names + "it; it is not there)", "vxlan1111 (" + names + "it; it is not there)",
                     "vxlan1112 (" + names + "it; it is there as overlay)"}));
}

// The record says that it is the network's: guests keep it. Once it is gone it is the host's.
TEST(named_links, what_is_there_by_the_record_stays_and_is_not_made_again) {
    for (const std::string name : {"vlan400", "eth0.400", "vmbr400"}) {
        named_host host({});
        host.look(bridged(400));
        host.look(bridged(400));
        host.whose.named = {name};
        EXPECT_FALSE(host.look(bridged(400)).is_refused) << name;
        EXPECT_EQ(steps_of(host.look(bridged(400))), "") << name;
        host.kernel.remove(name == "vmbr400" ? "vmbr400" : "vlan400");
        const auto plan = host.look(bridged(400));
        EXPECT_TRUE(plan.is_refused && plan.steps.empty()) << name << steps_of(plan);
    }
}

// Nor on another device, or with another type.
TEST(named_links, what_is_named_since_is_not_taken_away_either) {
    named_host moved({});
    moved.look(bridged(400));
    moved.look(bridged(400));
    moved.whose.named = {"vlan400"};
    auto others = client_words();
    others.bridge_device = "eth3";
    moved.config = config_of(others);
    const auto kept = moved.look(bridged(400));
    EXPECT_EQ(steps_of(kept).find("delete"), std::string::npos);
    EXPECT_NE(
        remarks_of(kept.remarks).find("vlan400 is not made anew on eth3, as vlan400 is a link of this host's own"),
        std::string::npos);
    named_host other({});
    other.look(bridged(400));
    other.look(bridged(400));
    other.whose.named = {"vlan400"};
    other.look(managed(400));
    EXPECT_EQ(other.kernel.master_of("vlan400"), "");
    EXPECT_EQ(other.kernel.master_of("vxlan400"), "vmbr400");
    EXPECT_FALSE(other.look(managed(400)).is_refused);
}

TEST(named_links, a_base_that_stays_behind_is_told_of) {
    named_host host({});
    host.look(bridged(400));
    host.look(bridged(400));
    host.whose.named = {"vlan400"};
    carry_out(host.kernel, plan_removal(400, host.config, host.kernel.state(), host.memory.own_bridge, host.whose));
    EXPECT_FALSE(host.kernel.has("vmbr400"));
    EXPECT_TRUE(host.kernel.has("vlan400"));
    const auto plan = plan_removal(400, host.config, host.kernel.state(), 0, host.whose);
    EXPECT_TRUE(plan.steps.empty());
    EXPECT_EQ(remarks_of(plan.remarks),
              "warning network-left-alone: network 400 is gone, but the network configuration of this host names "
              "vlan400, which a node daemon made: it stays\n");
    EXPECT_EQ(plan_sweep({}, host.config, host.kernel.state(), {}, host.whose).left, (std::set<std::uint32_t>{400}));
    host.whose.named.clear();
    carry_out(host.kernel, plan_sweep({}, host.config, host.kernel.state(), {}, host.whose));
    EXPECT_FALSE(host.kernel.has("vlan400"));
}

TEST(named_links, against_host_lists_what_is_not_there) {
    const named_host host({"vxlan7", "vmbr8", "eth0.20", "eth0.30", "eth1.40", "lo", "eth2"});
    EXPECT_EQ(foreign_links(host.config, host.kernel.state(), {}, host.whose),
              (words{"VLANs of eth0 (the network configuration of this host names eth0.20, eth0.30; not there)",
                     "vmbr8 (the network configuration of this host names it; it is not there)",
                     "vxlan7 (the network configuration of this host names it; it is not there)"}));
}

}  // namespace pvc::policy
