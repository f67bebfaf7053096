// Links of the operator's own that are called like those of client networks (README ruling 79).
#include "unit/networks/network_fixture.hpp"

namespace pvc::node {
namespace {

class whose_links_test : public network_fixture {};

TEST_F(whose_links_test, a_vlan_of_the_host_is_there_after_the_start_and_whatever_clients_do) {
    auto& hv1 = add_networked();
    ASSERT_TRUE(hv1.kernel.apply(model::make_vlan{"vlan400", "ens7", 400}));
    ASSERT_TRUE(hv1.kernel.apply(model::set_up{"ens7"}));
    ASSERT_TRUE(hv1.kernel.apply(model::set_up{"vlan400"}));
    hv1.kernel.add("vlan400", "192.0.2.10/24");
    const auto before = link(hv1, "vlan400");
    start(hv1);
    beat(10s);
    EXPECT_EQ(link(hv1, "vlan400"), before);
    EXPECT_EQ(addresses(hv1, "vlan400"), "192.0.2.10/24");
    EXPECT_EQ(hv1.times_logged("links of this host have names of client networks: vlan400 (it has 192.0.2.10/24)"), 1U)
        << hv1.log();
    put_network(400, {{"/nettype", "bridged"}});
    beat(5s);
    EXPECT_EQ(link(hv1, "vlan400"), before);
    EXPECT_EQ(hv1.times_logged("network 400: vlan400 is a link of this host's own: it has 192.0.2.10/24"), 1U)
        << hv1.log();
    remove_network(400);
    beat(5s);
    EXPECT_EQ(link(hv1, "vlan400"), before);
    EXPECT_EQ(addresses(hv1, "vlan400"), "192.0.2.10/24");
}

// One that has no address is known by the host's configuration alone.
TEST_F(whose_links_test, what_the_hosts_configuration_names_is_no_networks) {
    auto& hv1 = add_networked();
    hv1.host.files["/etc/network/interfaces"] = "source /etc/network/interfaces.d/*\n";
    hv1.host.files["/etc/network/interfaces.d/vlans"] =
        "auto vlan400\niface vlan400 inet manual\n  vlan-raw-device ens7\n";
    for (const int id : {400, 401}) {
        ASSERT_TRUE(
            hv1.kernel.apply(model::make_vlan{fmt::format("vlan{}", id), "ens7", static_cast<std::uint16_t>(id)}));
    }
    put_network(400, {{"/nettype", "bridged"}});
    put_network(401, {{"/nettype", "bridged"}});
    start(hv1);
    beat(10s);
    EXPECT_TRUE(hv1.logged("vlan400 is a link of this host's own: the network configuration of this host names it"))
        << hv1.log();
    EXPECT_EQ(link(hv1, "vmbr400"), "gone");
    EXPECT_NE(link(hv1, "vlan401").find("master vmbr401"), std::string::npos) << "a bare one is used";
    remove_network(401);
    beat(5s);
    EXPECT_EQ(link(hv1, "vmbr401"), "gone");
    EXPECT_NE(link(hv1, "vlan401"), "gone") << "and stays behind";
}

// It is the host's whether it is up or not: ifup is to find its place free.
TEST_F(whose_links_test, what_is_named_and_not_there_is_not_made) {
    auto& hv1 = add_networked();
    hv1.host.files["/etc/network/interfaces"] =
        "auto vlan400\niface vlan400 inet manual\n  vlan-raw-device ens7\nauto lan\niface lan inet manual\n"
        "  vlan-id 402\n  vlan-raw-device ens7\nauto vmbr403\niface vmbr403 inet manual\n";
    for (const int vni : {400, 402}) {
        put_network(vni, {{"/nettype", "bridged"}});
    }
    put_network(403);
    start(hv1);
    const auto nothing_of = [&](int vni) {
        return link(hv1, fmt::format("vlan{}", vni)) == "gone" && link(hv1, fmt::format("vxlan{}", vni)) == "gone" &&
               link(hv1, fmt::format("vmbr{}", vni)) == "gone";
    };
    beat(10s);
    for (const int vni : {400, 402, 403}) {
        EXPECT_TRUE(nothing_of(vni)) << vni << hv1.log();
    }
    EXPECT_EQ(hv1.times_logged("network 400: vlan400 is a link of this host's own: the network configuration of this "
                               "host names it, whether it is up or not"),
              1U)
        << hv1.log();
    EXPECT_TRUE(hv1.logged("network 402: VLAN 402 of ens7 is this host's own")) << hv1.log();
    EXPECT_TRUE(hv1.logged("network 403: vmbr403 is a link of this host's own")) << hv1.log();
    // It comes, and goes for a moment.
    const model::make_vlan again{"vlan400", "ens7", 400};
    ASSERT_TRUE(hv1.kernel.apply(again));
    hv1.kernel.add("vlan400", "192.0.2.10/24");
    beat(5s);
    hv1.kernel.remove_device("vlan400");
    beat(5s);
    EXPECT_TRUE(nothing_of(400)) << hv1.log();
    for (const int vni : {400, 402, 403}) {
        remove_network(vni);
    }
    // The stanza is written just before a network that has no link yet, or beside what stands in the way of one.
    hv1.host.files["/etc/network/interfaces"] = "iface vlan404 inet manual\n";
    put_network(404, {{"/nettype", "bridged"}});
    put_network(405, {{"/nettype", "bridged"}});
    beat(5s);
    EXPECT_TRUE(nothing_of(404)) << hv1.log();
    EXPECT_NE(link(hv1, "vlan405"), "gone");
    hv1.host.files["/etc/network/interfaces"] = "iface vlan404 inet manual\niface vlan405 inet manual\n";
    hv1.kernel.remove_device("vlan405");
    ASSERT_TRUE(hv1.kernel.apply(model::make_vlan{"vlan405", "ens7", 405}));
    hv1.kernel.add("vlan405", "192.0.2.11/24");
    beat(5s);
    hv1.kernel.remove_device("vlan405");
    beat(5s);
    EXPECT_EQ(link(hv1, "vlan405"), "gone") << hv1.log();
}

// By its place alone: on the bridge whose port the device is, or in the list of ports of a bridge, where ifup makes it.
TEST_F(whose_links_test, what_is_named_on_a_bridge_or_as_a_port_is_not_made) {
    auto& hv1 = add_networked();
    hv1.host.files["/etc/network/interfaces"] =
        "auto br-lan\niface br-lan inet static\n  bridge_ports ens7\nsource /etc/network/more/*\n";
    hv1.host.files["/etc/network/more/vlans"] =
        "auto br-lan.400\niface br-lan.400 inet static\niface store inet static\n  vlan-raw-device br-lan\n"
        "  vlan-id 401\niface br-dmz inet manual\n  bridge_ports ens7.402\niface br-vms inet manual\n"
        "  bridge-ports vxlan403 ens9\n";
    for (const int vni : {400, 401, 402, 404}) {
        put_network(vni, {{"/nettype", "bridged"}});
    }
    put_network(403);
    start(hv1);
    beat(10s);
    for (const int vni : {400, 401, 402, 403}) {
        for (const auto* prefix : {"vmbr", "vlan", "vxlan"}) {
            EXPECT_EQ(link(hv1, fmt::format("{}{}", prefix, vni)), "gone") << hv1.log();
        }
    }
    EXPECT_TRUE(hv1.logged("network 400: VLAN 400 of br-lan is this host's own")) << hv1.log();
    EXPECT_TRUE(hv1.logged("network 401: VLAN 401 of br-lan is this host's own")) << hv1.log();
    EXPECT_TRUE(hv1.logged("network 402: VLAN 402 of ens7 is this host's own")) << hv1.log();
    EXPECT_TRUE(hv1.logged("network 403: vxlan403 is a link of this host's own")) << hv1.log();
    EXPECT_NE(link(hv1, "vlan404").find("master vmbr404"), std::string::npos) << hv1.log();
    // One that somebody makes where a network has that number already.
    ASSERT_TRUE(hv1.kernel.apply(model::make_bridge{"br-lan"}));
    ASSERT_TRUE(hv1.kernel.apply(model::set_master{"ens7", "br-lan"}));
    ASSERT_TRUE(hv1.kernel.apply(model::make_vlan{"br-lan.404", "br-lan", 404}));
    beat(5s);
    const std::string dead = "br-lan.404 gets no packets: network 404 was there first, and its vlan404 on ens7 takes";
    EXPECT_EQ(hv1.times_logged(dead), 1U) << hv1.log();
    EXPECT_FALSE(hv1.logged("VLAN 404 (there is br-lan.404")) << hv1.log();
    remove_network(404);
    EXPECT_TRUE(within(5s, [&] { return hv1.logged("this is over: " + dead); })) << hv1.log();
}

// In any part of a path, as interfaces(5) has them.
TEST_F(whose_links_test, what_files_name_that_a_pattern_sources_is_no_networks) {
    auto& hv1 = add_networked();
    auto& files = hv1.host.files;
    files["/etc/network/interfaces"] = "auto lo\nsource sites/*/[a-c]*.conf\nsource-directory more*/d\n";
    files["/etc/network/sites/north/a.conf"] = "auto vlan400\nsource ../*/hidden*\n";
    files["/etc/network/sites/south/d.conf"] = "auto vlan404\n";
    files["/etc/network/sites/.old/a.conf"] = "auto vlan405\n";
    files["/etc/network/more1/d/vlans"] = "iface vlan401 inet manual\n";
    files["/etc/network/more1/d/vlans.bak"] = "iface vlan406 inet manual\n";
    for (int id = 400; id <= 406; ++id) {
        ASSERT_TRUE(
            hv1.kernel.apply(model::make_vlan{fmt::format("vlan{}", id), "ens7", static_cast<std::uint16_t>(id)}));
        put_network(id, {{"/nettype", "bridged"}});
    }
    start(hv1);
    beat(10s);
    for (int id = 400; id <= 406; ++id) {
        EXPECT_EQ(hv1.logged(fmt::format("network {0}: vlan{0} is a link of this host's own", id)), id <= 401)
            << id << hv1.log();
    }
}

// Not more than a host has: what it names beyond that is not known, and is said once, with its place.
TEST_F(whose_links_test, patterns_have_a_bound_and_paths_for_a_shell_are_not_followed) {
    auto& hv1 = add_networked();
    auto& files = hv1.host.files;
    files["/etc/network/interfaces"] = "auto lo\n\nsource */*/x\n";
    for (int number = 0; number < 1100; ++number) {
        files[fmt::format("/etc/network/{}/d/x", number)] = "auto vlan400\n";
    }
    start(hv1);
    beat(60s);
    EXPECT_EQ(hv1.times_logged("names is not known: what /etc/network/interfaces:3 sources: more than 1024 folders: "),
              1U)
        << hv1.log();
    files["/etc/network/interfaces"] = "source $SITE/x\n";
    beat(30s);
    EXPECT_EQ(
        hv1.times_logged("what /etc/network/interfaces:1 sources: $SITE/x: unavailable: a path for a shell is not "
                         "followed"),
        1U)
        << hv1.log();
}

// The daemon runs while somebody writes the stanza, makes the link, and a client the network.
TEST_F(whose_links_test, what_is_named_just_before_its_network_comes_is_no_networks) {
    auto& hv1 = add_networked();
    start(hv1);
    put_network(401, {{"/nettype", "bridged"}});
    beat(10s);
    hv1.host.files["/etc/network/interfaces"] = "auto vlan400\niface vlan400 inet manual\n  vlan-raw-device ens7\n";
    ASSERT_TRUE(hv1.kernel.apply(model::make_vlan{"vlan400", "ens7", 400}));
    put_network(400, {{"/nettype", "bridged"}});
    EXPECT_TRUE(within(2s, [&] { return hv1.logged("network 400: vlan400 is a link of this host's own"); }))
        << hv1.log();
    beat(10s);
    EXPECT_EQ(link(hv1, "vmbr400"), "gone");
    EXPECT_EQ(link(hv1, "vlan400").find("master"), std::string::npos);
    // A bare one is used at once, and one that nothing is known of soon, whatever the disk does.
    ASSERT_TRUE(hv1.kernel.apply(model::make_vlan{"vlan402", "ens7", 402}));
    put_network(402, {{"/nettype", "bridged"}});
    EXPECT_TRUE(within(1s, [&] { return link(hv1, "vlan402").find("master vmbr402") != std::string::npos; }));
}

// What is wanted and cannot be made is not recorded over and over.
TEST_F(whose_links_test, a_network_that_cannot_be_made_keeps_nobody_busy) {
    auto& hv1 = add_networked();
    start(hv1);
    beat(2s);
    hv1.kernel.remove_device("ens7");
    ASSERT_TRUE(hv1.kernel.apply(model::make_bridge{"vmbr402"}));
    hv1.kernel.add("vmbr402", "192.0.2.10/24");
    put_network(401, {{"/nettype", "bridged"}});
    put_network(402);
    beat(5s);
    const auto before = hv1.network.looks;
    beat(60s);
    EXPECT_LE(hv1.network.looks - before, 10U);
}

// What the host's configuration names is not known: nothing that was there before the start goes.
TEST_F(whose_links_test, what_cannot_be_read_may_name_anything) {
    auto& hv1 = add_networked();
    const std::string path = "/etc/network/interfaces";
    hv1.host.files[path] = "auto vmbr400\n";
    hv1.host.broken.insert_or_assign(path, failure(errc::io, path, "Input/output error"));
    ASSERT_TRUE(hv1.kernel.apply(model::make_vlan{"vlan400", "ens7", 400}));
    ASSERT_TRUE(hv1.kernel.apply(model::make_bridge{"vmbr400"}));
    ASSERT_TRUE(hv1.kernel.apply(model::set_master{"vlan400", "vmbr400"}));
    start(hv1);
    beat(30s);
    EXPECT_NE(link(hv1, "vmbr400"), "gone");
    EXPECT_EQ(hv1.times_logged("what the network configuration of this host names is not known"), 1U) << hv1.log();
    hv1.host.broken.erase(path);
    beat(30s);
    EXPECT_NE(link(hv1, "vmbr400"), "gone") << "it is named";
    EXPECT_NE(link(hv1, "vlan400"), "gone");
}

// Nor do addresses that a node daemon may have left, on a bridge that may be named: what could not be read is unknown.
TEST_F(whose_links_test, addresses_stay_on_a_bridge_that_may_be_named) {
    auto& hv1 = add_networked();
    const std::string path = "/etc/network/interfaces";
    hv1.host.files[path] = "auto vmbr400\n";
    hv1.host.broken.insert_or_assign(path, failure(errc::io, path, "Input/output error"));
    for (const auto* vni : {"400", "401"}) {
        const std::string bridge = std::string("vmbr") + vni;
        ASSERT_TRUE(hv1.kernel.apply(model::make_bridge{bridge}));
        ASSERT_TRUE(hv1.kernel.apply(
            model::make_vxlan{std::string("vxlan") + vni, "ens5", static_cast<std::uint32_t>(std::stoi(vni))}));
        ASSERT_TRUE(hv1.kernel.apply(model::set_master{std::string("vxlan") + vni, bridge}));
        hv1.kernel.add(bridge, std::string("192.0.2.") + vni[2] + "/32");
    }
    start(hv1);
    beat(30s);
    EXPECT_EQ(addresses(hv1, "vmbr400") + " " + addresses(hv1, "vmbr401"), "192.0.2.0/32 192.0.2.1/32") << hv1.log();
    hv1.host.broken.erase(path);
    EXPECT_TRUE(within(30s, [&] { return link(hv1, "vmbr401") == "gone"; })) << hv1.log();
    beat(30s);
    EXPECT_EQ(addresses(hv1, "vmbr400"), "192.0.2.0/32") << "it is named";
}

// Killed between the creation of a base and what follows: it was recorded before.
TEST_F(whose_links_test, a_base_that_is_made_is_on_record_before) {
    auto& hv1 = add_networked();
    start(hv1);
    beat(2s);
    std::optional<bool> was_recorded;
    hv1.kernel.changed = [&, before = hv1.kernel.changed] {
        if (!was_recorded && link(hv1, "vlan400") != "gone") {
            was_recorded = hv1.host.files["/run/pvc/client-bridges"].find("base vlan400 0 own\n") != std::string::npos;
        }
        if (before) {
            before();
        }
    };
    put_network(400, {{"/nettype", "bridged"}});
    ASSERT_TRUE(within(5s, [&] { return link(hv1, "vlan400") != "gone"; }));
    hv1.kernel.changed = nullptr;  // what it calls lives no longer than this
    EXPECT_EQ(was_recorded, true);
}

// One that shows nothing of being the host's is used, and noted before that: its network may go in the same moment, and
// a port of its bridge would be taken for what a daemon before this one had made.
TEST_F(whose_links_test, a_link_that_is_used_stays_also_if_its_network_goes_at_once) {
    auto& hv1 = stage();
    ASSERT_TRUE(hv1.kernel.apply(model::make_vlan{"vlan401", "ens7", 401}));
    beat(1s);
    hv1.network.call_time = 50ms;
    put_network(401, {{"/nettype", "bridged"}});
    ASSERT_TRUE(within(2s, [&] { return link(hv1, "vlan401").find("master vmbr401") != std::string::npos; }));
    remove_network(401);
    EXPECT_TRUE(within(10s, [&] { return link(hv1, "vmbr401") == "gone"; })) << link(hv1, "vmbr401");
    beat(2s);
    EXPECT_NE(hv1.kernel.link("vlan401"), nullptr) << hv1.log();
}

TEST_F(whose_links_test, a_link_that_is_used_stays_also_if_the_daemon_is_killed_before_its_next_look) {
    auto& hv1 = stage();
    ASSERT_TRUE(hv1.kernel.apply(model::make_vlan{"vlan401", "ens7", 401}));
    beat(1s);
    hv1.network.call_time = 50ms;
    put_network(401, {{"/nettype", "bridged"}});
    ASSERT_TRUE(within(2s, [&] { return link(hv1, "vlan401").find("master vmbr401") != std::string::npos; }));
    hv1.kill();
    remove_network(401);
    start(hv1);
    EXPECT_TRUE(within(10s, [&] { return link(hv1, "vmbr401") == "gone"; })) << link(hv1, "vmbr401");
    beat(2s);
    EXPECT_NE(hv1.kernel.link("vlan401"), nullptr) << hv1.log();
}

// What works on the device of before stays there: unnoted on another one it would be nobody's as soon as the device is
// yet another one.
TEST_F(whose_links_test, a_base_is_made_anew_on_another_device_once_that_could_be_noted) {
    auto& hv1 = stage();
    put_network(401, {{"/nettype", "bridged"}});
    ASSERT_TRUE(within(5s, [&] { return link(hv1, "vlan401").find("master vmbr401") != std::string::npos; }));
    beat(1s);
    hv1.kill();
    hv1.settings.bridge_device = "ens10";
    hv1.kernel.add_card("ens10");
    hv1.host.is_full = true;
    start(hv1);
    beat(10s);
    const auto is_on = [&](const std::string& device) {
        const auto* base = hv1.kernel.link("vlan401");
        return base != nullptr && base->lower == hv1.kernel.link(device)->index &&
               link(hv1, "vlan401").find("master vmbr401") != std::string::npos;
    };
    EXPECT_TRUE(is_on("ens7"));
    EXPECT_TRUE(hv1.logged("vlan401 is on another device, and is not made anew before that could be noted"))
        << hv1.log();
    hv1.host.is_full = false;
    EXPECT_TRUE(within(35s, [&] { return is_on("ens10"); })) << hv1.log();
}

// Between the look and what follows from it: it looks like the one that was to be made, and is somebody's.
TEST_F(whose_links_test, a_vlan_that_the_host_gets_while_its_network_is_made_stays_its_own) {
    auto& hv1 = stage();
    beat(1s);
    ASSERT_TRUE(hv1.kernel.apply(model::set_up{"ens7"}));
    hv1.network.call_time = 50ms;
    put_network(401, {{"/nettype", "bridged"}});
    ASSERT_TRUE(within(2s, [&] { return hv1.network.calls.back().starts_with("create bridge vmbr401"); }));
    ASSERT_TRUE(hv1.kernel.apply(model::make_vlan{"vlan401", "ens7", 401}));
    ASSERT_TRUE(hv1.kernel.apply(model::set_up{"vlan401"}));
    hv1.kernel.add("vlan401", "192.0.2.10/24");
    const auto before = link(hv1, "vlan401");
    EXPECT_FALSE(within(10s, [&] { return link(hv1, "vlan401") != before; })) << hv1.log();
    EXPECT_TRUE(hv1.logged("network 401: vlan401 is a link of this host's own: it has 192.0.2.10/24")) << hv1.log();
    // Nor is it the one that was about to be made once nothing shows that.
    hv1.kernel.remove("vlan401", *parse_host_address("192.0.2.10/24"));
    EXPECT_TRUE(within(5s, [&] { return link(hv1, "vlan401").find("master vmbr401") != std::string::npos; }))
        << hv1.log();
    remove_network(401);
    EXPECT_TRUE(within(10s, [&] { return link(hv1, "vmbr401") == "gone"; })) << hv1.log();
    beat(2s);
    EXPECT_NE(hv1.kernel.link("vlan401"), nullptr) << hv1.log();
}

// In the place of its network's, which the primary has a gateway on, and which is to be of another type: by its name
// alone it is nobody's of the cluster.
TEST_F(whose_links_test, a_bridge_that_somebody_made_in_the_place_of_a_networks_keeps_what_it_has) {
    auto& hv1 = stage_primary();
    put_network(1002, {{"/ip6_network", "fd00:2::/64"}, {"/ip6_gateway", "fd00:2::1"}});
    ASSERT_TRUE(within(2s, [&] { return addresses(hv1, "vmbr1002") == "fd00:2::1/64"; })) << hv1.log();
    const auto make_theirs = [&] {
        ASSERT_TRUE(hv1.kernel.apply(model::delete_link{"vmbr1002"}));
        ASSERT_TRUE(hv1.kernel.apply(model::make_bridge{"vmbr1002"}));
        hv1.kernel.add("vmbr1002", "192.0.2.5/24");
        ASSERT_TRUE(hv1.kernel.apply(model::set_up{"vmbr1002"}));
    };
    make_theirs();
    EXPECT_FALSE(within(35s, [&] { return addresses(hv1, "vmbr1002") != "192.0.2.5/24"; }))
        << addresses(hv1, "vmbr1002") << hv1.log();
    const std::string refused = "network 1002: vmbr1002 is somebody else's: it has the address 192.0.2.5/24";
    EXPECT_EQ(hv1.times_logged(refused + ": its gateway fd00:2::1/64 is not set on this node"), 1U) << hv1.log();
    EXPECT_EQ(hv1.times_logged(refused), 1U) << hv1.log();
    change(1002, {{"/nettype", "bridged"}});
    EXPECT_FALSE(within(35s, [&] { return addresses(hv1, "vmbr1002") != "192.0.2.5/24"; }))
        << addresses(hv1, "vmbr1002") << hv1.log();
    EXPECT_EQ(hv1.times_logged(refused), 2U) << "as what it is to be now, which has no gateway" << hv1.log();
    // Once it has gone the network is what it is to be.
    ASSERT_TRUE(hv1.kernel.apply(model::delete_link{"vmbr1002"}));
    EXPECT_TRUE(within(5s, [&] { return link(hv1, "vlan1002").find("master vmbr1002") != std::string::npos; }))
        << hv1.log();
}

// Also an address of the network that no key names.
TEST_F(whose_links_test, a_bridge_with_an_address_that_no_key_names_is_the_hosts) {
    auto& hv1 = stage_primary();
    ASSERT_TRUE(hv1.kernel.apply(model::make_bridge{"vmbr1003"}));
    hv1.kernel.add("vmbr1003", "10.1.3.77/24");
    put_network(1003, {{"/ip4_network", "10.1.3.0/24"}, {"/ip4_gateway", "10.1.3.1"}});
    EXPECT_FALSE(within(35s, [&] { return addresses(hv1, "vmbr1003") != "10.1.3.77/24"; }))
        << addresses(hv1, "vmbr1003") << hv1.log();
    EXPECT_TRUE(hv1.logged("network 1003: vmbr1003 is somebody else's: it has the address 10.1.3.77/24"));
}

// As a host has it whose VLANs are called as PVC's own deployment tool calls them: nothing is wrong with that, however
// long the record takes.
TEST_F(whose_links_test, a_link_that_is_used_is_no_error_while_that_is_being_noted) {
    auto& hv1 = stage();
    ASSERT_TRUE(hv1.kernel.apply(model::make_vlan{"vlan401", "ens7", 401}));
    beat(1s);
    hv1.host.disk_time = 2s;
    put_network(401, {{"/nettype", "bridged"}});
    EXPECT_FALSE(within(1500ms, [&] { return link(hv1, "vlan401").find("master") != std::string::npos; }))
        << "not before it is noted";
    EXPECT_TRUE(within(3s, [&] { return link(hv1, "vlan401").find("master vmbr401") != std::string::npos; }))
        << hv1.log();
    beat(10s);
    EXPECT_FALSE(hv1.logged("network 401")) << hv1.log();
}

// The host may be reached by it.
TEST_F(whose_links_test, an_address_that_somebody_gave_to_the_bridge_of_a_bridged_network_is_told_of_and_stays) {
    auto& hv1 = stage();
    put_network(401, {{"/nettype", "bridged"}});
    ASSERT_TRUE(within(5s, [&] { return link(hv1, "vlan401").find("master vmbr401") != std::string::npos; }));
    beat(1s);
    hv1.kernel.add("vmbr401", "192.0.2.10/24");
    beat(60s);
    EXPECT_EQ(hv1.times_logged("network 401: vmbr401 has 192.0.2.10/24, which is nobody's of the cluster: it stays"),
              1U)
        << hv1.log();
    for (const bool with_restart : {false, true}) {
        remove_network(401);
        beat(30s);
        EXPECT_EQ(addresses(hv1, "vmbr401"), "192.0.2.10/24") << hv1.log();
        EXPECT_TRUE(hv1.logged("network 401 is gone, but vmbr401 has 192.0.2.10/24, which somebody gave to it"))
            << hv1.log();
        EXPECT_NE(link(hv1, "vlan401"), "gone") << "it leads nowhere without";
        if (!with_restart) {
            hv1.kill();
            start(hv1);
        }
    }
    hv1.kernel.remove("vmbr401", *parse_host_address("192.0.2.10/24"));
    EXPECT_TRUE(within(5s, [&] { return link(hv1, "vmbr401") == "gone" && link(hv1, "vlan401") == "gone"; }))
        << hv1.log();
}

// What its primary left on it goes, and is told of as that alone.
TEST_F(whose_links_test, a_gateway_of_a_network_that_becomes_a_bridged_one_is_nobody_elses) {
    auto& hv1 = stage_primary();
    put_network(1002, {{"/ip4_network", "10.1.2.0/24"}, {"/ip4_gateway", "10.1.2.1"}});
    ASSERT_TRUE(within(2s, [&] { return addresses(hv1, "vmbr1002") == "10.1.2.1/24"; })) << hv1.log();
    change(1002, {{"/nettype", "bridged"}});
    EXPECT_TRUE(within(5s, [&] { return addresses(hv1, "vmbr1002").empty(); })) << hv1.log();
    beat(5s);
    EXPECT_FALSE(hv1.logged("which is nobody's of the cluster")) << hv1.log();
    remove_network(1002);
    EXPECT_TRUE(within(5s, [&] { return link(hv1, "vmbr1002") == "gone"; })) << hv1.log();
}

// Else the daemon after this one would take it for what a daemon had made.
TEST_F(whose_links_test, a_link_is_not_used_before_that_could_be_noted) {
    auto& hv1 = stage();
    ASSERT_TRUE(hv1.kernel.apply(model::make_vlan{"vlan401", "ens7", 401}));
    beat(1s);
    hv1.host.is_full = true;
    put_network(401, {{"/nettype", "bridged"}});
    beat(10s);
    EXPECT_EQ(link(hv1, "vlan401").find("master"), std::string::npos);
    EXPECT_TRUE(hv1.logged("network 401: vlan401 was there, and is not used before that could be noted")) << hv1.log();
    hv1.host.is_full = false;
    EXPECT_TRUE(within(35s, [&] { return link(hv1, "vlan401").find("master vmbr401") != std::string::npos; }))
        << hv1.log();
}

}  // namespace
}  // namespace pvc::node
