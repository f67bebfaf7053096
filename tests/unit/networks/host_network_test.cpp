// The host's own network on a simulated daemon (networking.md 3, cases 1, 2, 5 to 9, 90, 97). What is decided, and in
// which order, has its tests in tests/unit/policy/networks.
#include "pvcnoded/core/explainer.hpp"
#include "unit/networks/network_fixture.hpp"

namespace pvc::node {
namespace {

class host_network_test : public network_fixture {
protected:
    // What `explain networks` says of the host beside steps, a line each.
    static std::string remarks(const sim_node& node) {
        std::string all;
        for (auto* one : core::all_that_are<core::explainer>(node.daemon().subjects())) {
            if (one->topic() != "networks") {
                continue;
            }
            const auto told = **one->explain({})->answer;
            for (const auto& [name, rows] : told.lists) {
                for (const auto& row : name == "host_remarks" ? rows : std::vector<core::explained_fields>()) {
                    for (const auto& [field, value] : row) {
                        all += std::get<std::string>(value) + (field == "text" ? "\n" : ": ");
                    }
                }
            }
            const auto right =
                std::ranges::find(told.facts, "host_is_right", &core::explained_fields::value_type::first);
            all += right->second == core::explained_value(true) ? "right" : "not right";
        }
        return all;
    }
};

TEST_F(host_network_test, what_cannot_be_put_right_is_explained) {
    auto& hv1 = add_networked();
    ASSERT_TRUE(hv1.kernel.apply(model::make_bridge{"br0"}));
    ASSERT_TRUE(hv1.kernel.apply(model::set_master{"ens5", "br0"}));
    ASSERT_TRUE(hv1.kernel.apply(model::make_vlan{"brstorage", "ens6", 7}));
    start(hv1);
    EXPECT_EQ(remarks(hv1),
              "error: network-device-elsewhere: device ens5 is a port of br0 and not of brcluster: it is not moved\n"
              "error: network-bridge-foreign: brstorage is no bridge but a link of kind vlan: nothing is done to it, "
              "and no address is added\n"
              "not right");
    ASSERT_TRUE(hv1.kernel.apply(model::set_master{"ens5", ""}));
    ASSERT_TRUE(hv1.kernel.apply(model::delete_link{"brstorage"}));
    EXPECT_TRUE(within(2s, [&] { return remarks(hv1) == "right"; })) << remarks(hv1);
}

TEST_F(host_network_test, case_1_and_2_a_bare_host_is_set_up_and_a_second_start_changes_nothing) {
    auto& hv1 = stage();
    EXPECT_EQ(link(hv1, "ens5"), "mtu 1500 up master brcluster");
    EXPECT_EQ(link(hv1, "ens6"), "mtu 1500 up master brstorage");
    EXPECT_EQ(link(hv1, "ens4"), "mtu 1500 up master brupstream");
    EXPECT_EQ(addresses(hv1, "brcluster"), "10.98.0.1/24");
    EXPECT_EQ(addresses(hv1, "brstorage"), "10.254.0.1/24");
    EXPECT_EQ(hv1.network.sysctl("net/ipv4/ip_forward").value(), "1");
    EXPECT_EQ(hv1.network.sysctl("net/ipv6/conf/all/forwarding").value(), "1");
    const auto before = hv1.kernel.state();
    hv1.stop();
    hv1.network.calls.clear();
    start(hv1);
    EXPECT_TRUE(hv1.kernel.state() == before);
    for (const auto& call : hv1.network.calls) {
        EXPECT_TRUE(call.starts_with("set hardware address ")) << call << ": the one that they have (ruling 83)";
    }
    EXPECT_EQ(hv1.network.calls.size(), 3U);
    EXPECT_EQ(hv1.times_logged("failed:"), 0U);
    EXPECT_FALSE(hv1.logged("is not as it was"));
    ASSERT_TRUE(hv1.kernel.apply(model::delete_link{"brstorage"}));
    EXPECT_TRUE(within(2s, [&] { return addresses(hv1, "brstorage") == "10.254.0.1/24"; }));
    beat(1s);
    EXPECT_EQ(hv1.times_logged("bridge brstorage is not as it was, setting it up again"), 1U) << hv1.log();
}

TEST_F(host_network_test, case_9_a_bridge_that_is_made_anew_has_its_settings_again) {
    auto& hv1 = stage();
    const std::string key = "net/ipv6/conf/brupstream/accept_ra";
    ASSERT_TRUE(hv1.kernel.apply(model::set_sysctl{key, "1"}));
    hv1.stop();
    start(hv1);
    EXPECT_EQ(hv1.network.sysctl(key).value(), "2");
    ASSERT_TRUE(hv1.kernel.apply(model::set_sysctl{"net/ipv6/conf/default/accept_ra", "1"}));
    ASSERT_TRUE(hv1.kernel.apply(model::delete_link{"brupstream"}));
    ASSERT_TRUE(within(2s, [&] { return link(hv1, "ens4") == "mtu 1500 up master brupstream"; })) << hv1.log();
    beat(1s);
    EXPECT_EQ(hv1.network.sysctl(key).value(), "2") << hv1.log();
}

TEST_F(host_network_test, R81_forwarding_of_a_single_bridge_is_switched_on_again) {
    auto& hv1 = stage();
    beat(31s);
    const std::string key = "net/ipv4/conf/brupstream/forwarding";
    ASSERT_TRUE(hv1.kernel.apply(model::set_sysctl{key, "0"}));
    beat(31s);
    EXPECT_EQ(hv1.network.sysctl(key).value(), "1") << hv1.log();
    EXPECT_EQ(hv1.times_logged("somebody changed " + key + ", setting it to 1 again"), 1U) << hv1.log();
}

TEST_F(host_network_test, R81_forwarding_of_the_bridge_of_a_network_is_switched_on_again) {
    auto& hv1 = stage();
    put_network(1001);
    ASSERT_TRUE(within(5s, [&] { return link(hv1, "vmbr1001").find(" up") != std::string::npos; })) << hv1.log();
    beat(1s);
    const std::string key = "net/ipv4/conf/vmbr1001/forwarding";
    ASSERT_EQ(hv1.network.sysctl(key).value(), "1");
    ASSERT_TRUE(hv1.kernel.apply(model::set_sysctl{key, "0"}));
    EXPECT_TRUE(within(2s, [&] { return hv1.network.sysctl(key).value() == "1"; })) << hv1.log();
    beat(1s);
    EXPECT_EQ(hv1.times_logged("network 1001: IPv4 forwarding was off on vmbr1001, repairing it"), 1U) << hv1.log();
}

TEST_F(host_network_test, case_7_the_device_of_the_cluster_comes_late) {
    auto& hv1 = add_networked();
    hv1.kernel.remove_device("ens5");
    hv1.start();
    loop.run_for(20s);
    EXPECT_EQ(addresses(hv1, "brcluster"), "10.98.0.1/24");
    EXPECT_FALSE(hv1.is_ready());
    EXPECT_EQ(value("/nodes/hv1/daemonstate"), "<missing>") << "ZooKeeper is asked after the device has come, or 30 s";
    hv1.kernel.add_device("ens5");
    EXPECT_TRUE(within(1s, [&] { return link(hv1, "ens5") == "mtu 1500 up master brcluster"; }));
    EXPECT_TRUE(hv1.run_until_ready());
}

TEST_F(host_network_test, another_device_in_the_file_takes_the_place_of_the_one_before) {
    auto& hv1 = stage();
    put_network(1001);
    put_network(400, {{"/nettype", "bridged"}});
    ASSERT_TRUE(within(5s, [&] { return link(hv1, "vlan400").find("up master vmbr400") != std::string::npos; }));
    EXPECT_NE(hv1.host.files["/run/pvc/client-bridges"].find("port ens5 "), std::string::npos);
    hv1.stop();
    hv1.settings.cluster_device = "ens9";
    hv1.settings.bridge_device = "ens10";
    start(hv1);
    EXPECT_EQ(link(hv1, "ens5"), "mtu 1500 up master brcluster") << "until the other one is there";
    EXPECT_NE(link(hv1, "vlan400"), "gone");
    hv1.kernel.add_card("ens9");
    hv1.kernel.add_card("ens10");
    EXPECT_TRUE(within(3s, [&] { return link(hv1, "ens9") == "mtu 1500 up master brcluster"; })) << hv1.log();
    EXPECT_EQ(link(hv1, "ens5"), "mtu 1500 up");
    EXPECT_EQ(addresses(hv1, "brcluster"), "10.98.0.1/24");
    const auto stands_on = [&](const std::string& name, const std::string& lower) {
        const auto& seen = hv1.kernel.state();
        return seen.find(name) != nullptr && seen.name_of(seen.find(name)->lower) == lower;
    };
    EXPECT_TRUE(within(5s, [&] { return stands_on("vxlan1001", "ens9") && stands_on("vlan400", "ens10"); }));
    beat(2s);
    EXPECT_NE(link(hv1, "vlan400").find("up master vmbr400"), std::string::npos) << link(hv1, "vlan400");
    const auto record = hv1.host.files["/run/pvc/client-bridges"];
    EXPECT_EQ(record.find("port ens5 "), std::string::npos) << record;
    EXPECT_NE(record.find(fmt::format("base vlan400 {} own", index_of(hv1, "vlan400"))), std::string::npos) << record;
    remove_network(400);
    beat(3s);
    EXPECT_EQ(link(hv1, "vlan400"), "gone");
}

// A card that nobody has set up yet: the daemon does that, and then it has a carrier or not. Nobody damaged anything.
TEST_F(host_network_test, another_device_that_is_down_at_the_start) {
    auto& hv1 = stage();
    hv1.kernel.add_card("ens9");
    hv1.stop();
    hv1.settings.cluster_device = "ens9";
    start(hv1);
    EXPECT_TRUE(within(3s, [&] { return link(hv1, "ens9") == "mtu 1500 up master brcluster"; })) << hv1.log();
    EXPECT_TRUE(
        hv1.logged("device ens9 is down: once it is up and has a carrier, ens5, which was the device of "
                   "brcluster before, is taken out, and ens9 becomes a port of brcluster"))
        << hv1.log();
    EXPECT_FALSE(hv1.logged("is not as it was")) << hv1.log();
}

// Killed right after, and the file says the first one again.
TEST_F(host_network_test, a_port_is_on_record_before_it_is_one) {
    auto& hv1 = stage();
    beat(2s);
    hv1.kill();
    hv1.settings.cluster_device = "ens9";
    hv1.kernel.add_card("ens9");
    std::optional<std::string> record;
    hv1.kernel.changed = [&, before = hv1.kernel.changed] {
        if (!record && link(hv1, "ens9").find("master brcluster") != std::string::npos) {
            record = hv1.host.files["/run/pvc/client-bridges"];
        }
        if (before) {
            before();
        }
    };
    start(hv1);
    ASSERT_TRUE(within(5s, [&] { return record.has_value(); })) << hv1.log();
    hv1.kernel.changed = nullptr;  // what it calls lives no longer than this
    EXPECT_NE(record->find("port ens9 "), std::string::npos) << *record;
}

TEST_F(host_network_test, each_device_that_comes_late_is_over_by_itself) {
    auto& hv1 = add_networked();
    hv1.kernel.remove_device("ens4");
    hv1.kernel.remove_device("ens6");
    start(hv1);
    EXPECT_TRUE(within(2s, [&] { return hv1.logged("ens4") && hv1.logged("ens6"); })) << hv1.log();
    hv1.kernel.add_device("ens4");
    EXPECT_TRUE(within(2s, [&] { return hv1.times_logged("this is over: ") == 1; })) << hv1.log();
    hv1.kernel.add_device("ens6");
    EXPECT_TRUE(within(2s, [&] { return hv1.times_logged("this is over: ") == 2; })) << hv1.log();
}

TEST_F(host_network_test, the_start_goes_on_after_30_s_without_the_device) {
    auto& hv1 = add_networked();
    hv1.kernel.remove_device("ens5");
    hv1.start();
    EXPECT_TRUE(hv1.run_until_ready(60s));
    EXPECT_EQ(hv1.times_logged("ens5"), 1U);
    hv1.kernel.add_device("ens5");
    EXPECT_TRUE(within(1s, [&] { return link(hv1, "ens5") == "mtu 1500 up master brcluster"; }));
}

TEST_F(host_network_test, a_step_that_fails_in_the_middle_is_undone_told_of_once_and_tried_again) {
    auto& hv1 = add_networked();
    hv1.network.broken.insert_or_assign("add 10.254.0.1/24 to brstorage", failure(errc::refused, "brstorage", "No"));
    hv1.start();
    ASSERT_TRUE(hv1.run_until_ready());
    beat(40s);
    EXPECT_EQ(addresses(hv1, "brstorage"), "");
    EXPECT_EQ(addresses(hv1, "brcluster"), "10.98.0.1/24");
    EXPECT_EQ(hv1.times_logged("10.254.0.1/24 to brstorage"), 1U);
    hv1.network.broken.clear();
    EXPECT_TRUE(within(31s, [&] { return addresses(hv1, "brstorage") == "10.254.0.1/24"; }));
}

// It may be done later, and would leave a port without its addresses.
TEST_F(host_network_test, a_step_that_is_not_answered_is_undone_with_the_others) {
    auto& hv1 = add_networked();
    const std::string step = "make ens5 a port of brcluster";
    hv1.network.broken.insert_or_assign(step, failure(errc::timed_out, step, "the kernel did not answer in time"));
    hv1.start();
    hv1.run_until_ready(5s);
    const auto& calls = hv1.network.calls;
    const auto asked = std::ranges::find(calls, step);
    ASSERT_NE(asked, calls.end());
    EXPECT_NE(std::find(asked, calls.end(), "take ens5 out of its bridge"), calls.end());
    hv1.network.broken.clear();
    EXPECT_TRUE(within(31s, [&] { return link(hv1, "ens5") == "mtu 1500 up master brcluster"; }));
}

TEST_F(host_network_test, routes_of_the_host_go_to_the_bridge_with_its_addresses_and_back_where_that_fails) {
    auto& hv1 = add_networked();
    model::link_route own;
    own.is.to = *parse_host_address("10.77.0.0/16");
    own.is.gateway = *parse_address("10.98.0.250");
    own.is.metric = 7;
    const auto said = to_text(own.is);
    const auto over = [&] {
        const auto seen = hv1.kernel.state();
        const auto found = std::ranges::find(seen.link_routes(), own.is, &model::link_route::is);
        return found == seen.link_routes().end() ? std::string("gone") : std::string(seen.name_of(found->link));
    };
    ASSERT_TRUE(hv1.kernel.apply(model::set_up{"ens5"}));
    hv1.kernel.add("ens5", "10.98.0.1/24");
    hv1.kernel.add_route("ens5", own);
    hv1.network.broken.insert_or_assign("remove 10.98.0.1/24 from ens5", failure(errc::refused, "ens5", "No"));
    hv1.start();
    ASSERT_TRUE(hv1.run_until_ready());
    EXPECT_EQ(over(), "ens5");
    EXPECT_EQ(link(hv1, "ens5"), "mtu 1500 up");
    hv1.network.broken.clear();
    EXPECT_TRUE(within(31s, [&] { return addresses(hv1, "ens5").empty(); }));
    EXPECT_EQ(over(), "brcluster");
    EXPECT_EQ(link(hv1, "ens5"), "mtu 1500 up master brcluster");
    EXPECT_EQ(hv1.times_logged("device ens5 has routes, which are moved to brcluster: " + said), 1U) << hv1.log();
    EXPECT_FALSE(hv1.logged("not undone"));
}

TEST_F(host_network_test, what_a_host_is_managed_over_goes_to_the_bridge_and_back_where_that_fails) {
    auto& hv1 = add_networked();
    ASSERT_TRUE(hv1.kernel.apply(model::set_up{"ens5"}));
    hv1.kernel.add("ens5", "192.168.5.7/24");
    hv1.kernel.add("ens5", "fd55::7/64");
    std::vector<model::link_route> own(2);
    own[0].is.to = *parse_host_address("0.0.0.0/0");
    own[0].is.gateway = *parse_address("192.168.5.250");
    own[1].is.to = *parse_host_address("::/0");
    own[1].is.gateway = *parse_address("fd55::250");
    own[1].is.metric = 1024;
    const auto over = [&] {
        std::string all;
        const auto seen = hv1.kernel.state();
        for (const auto& one : seen.link_routes()) {
            all += (all.empty() ? "" : " ") + std::string(seen.name_of(one.link));
        }
        return all;
    };
    for (const auto& one : own) {
        hv1.kernel.add_route("ens5", one);
    }
    hv1.network.broken.insert_or_assign("remove fd55::7/64 from ens5", failure(errc::refused, "ens5", "No"));
    hv1.start();
    ASSERT_TRUE(hv1.run_until_ready());
    EXPECT_EQ(over(), "ens5 ens5");
    EXPECT_EQ(addresses(hv1, "ens5"), "192.168.5.7/24 fd55::7/64");
    EXPECT_EQ(link(hv1, "ens5"), "mtu 1500 up");
    EXPECT_EQ(addresses(hv1, "brcluster"), "10.98.0.1/24");
    hv1.network.broken.clear();
    EXPECT_TRUE(within(31s, [&] { return addresses(hv1, "ens5").empty(); }));
    EXPECT_EQ(over(), "brcluster brcluster");
    EXPECT_EQ(addresses(hv1, "brcluster"), "10.98.0.1/24 192.168.5.7/24 fd55::7/64");
    EXPECT_EQ(link(hv1, "ens5"), "mtu 1500 up master brcluster");
    EXPECT_FALSE(hv1.logged("not undone"));
    beat(2s);
    EXPECT_TRUE(remarks(hv1).find("192.168.5.7/24") == std::string::npos) << remarks(hv1);
}

TEST_F(host_network_test, a_route_that_cannot_go_along_stays_said_until_it_is_back) {
    auto& hv1 = add_networked();
    ASSERT_TRUE(hv1.kernel.apply(model::set_up{"ens5"}));
    hv1.kernel.add("ens5", "10.98.0.1/24");
    model::link_route own;
    own.more = "it goes by the nexthop object 5, which names the device";
    own.is.to = *parse_host_address("10.93.0.0/16");
    own.is.gateway = *parse_address("10.98.0.250");
    hv1.kernel.add_route("ens5", own);
    start(hv1);
    beat(5s);
    const std::string said =
        to_text(own.is) + " over ens5 cannot be moved to brcluster, because it goes by the nexthop";
    EXPECT_TRUE(hv1.kernel.state().link_routes().empty());
    EXPECT_NE(remarks(hv1).find(said), std::string::npos) << remarks(hv1);
    EXPECT_EQ(hv1.times_logged(said), 1U);
    own.more.clear();
    hv1.kernel.add_route("brcluster", own);
    EXPECT_TRUE(within(31s, [&] { return remarks(hv1).find(said) == std::string::npos; }));
    EXPECT_TRUE(within(2s, [&] { return hv1.logged("this is over: the " + said); })) << hv1.log();
}

TEST_F(host_network_test, an_address_with_a_far_end_goes_to_the_bridge) {
    auto& hv1 = add_networked();
    hv1.kernel.add_with_peer("ens5", *parse_host_address("10.98.0.1/32"), *parse_address("10.98.0.250"));
    start(hv1);
    EXPECT_EQ(addresses(hv1, "ens5"), "");
    EXPECT_EQ(addresses(hv1, "brcluster"), "10.98.0.1/24");
}

TEST_F(host_network_test, devices_that_were_taken_for_each_other_keep_what_works) {
    auto& hv1 = add_networked();
    for (const auto* device : {"ens4", "ens5"}) {
        ASSERT_TRUE(hv1.kernel.apply(model::set_up{device}));
    }
    hv1.kernel.add("ens5", "10.254.0.1/24");  // of the storage network, on the device of the cluster
    start(hv1);
    EXPECT_EQ(addresses(hv1, "ens5"), "10.254.0.1/24");
    EXPECT_EQ(link(hv1, "ens5"), "mtu 1500 up");
    EXPECT_EQ(addresses(hv1, "brstorage"), "");
    EXPECT_EQ(hv1.times_logged("device ens5 has 10.254.0.1/24 of the network of brstorage, which nobody would reach on "
                               "a port of brcluster"),
              1U)
        << hv1.log();
}

TEST_F(host_network_test, a_bridge_is_not_larger_than_a_device_that_refuses_its_mtu) {
    auto& hv1 = add_networked();
    ASSERT_TRUE(hv1.kernel.apply(model::set_mtu{"ens5", 1400}));
    hv1.network.broken.insert_or_assign("set MTU 1500 on ens5", failure(errc::refused, "ens5", "too large"));
    start(hv1);
    beat(20s);
    EXPECT_EQ(link(hv1, "ens5"), "mtu 1400 up master brcluster");
    EXPECT_EQ(link(hv1, "brcluster"), "mtu 1400 up");
    EXPECT_EQ(hv1.times_logged("MTU of brcluster: left as it is as long as MTU of ens5 cannot be set"), 1U)
        << hv1.log();
    hv1.network.broken.clear();
    EXPECT_TRUE(within(31s, [&] { return link(hv1, "brcluster") == "mtu 1500 up"; }));
    EXPECT_EQ(link(hv1, "ens5"), "mtu 1500 up master brcluster");
}

TEST_F(host_network_test, a_kernel_that_cannot_be_looked_at_keeps_the_start_for_a_while_and_nothing_is_changed) {
    auto& hv1 = add_networked();
    hv1.network.are_looks_interrupted = true;
    hv1.start();
    EXPECT_TRUE(hv1.run_until_ready(90s));
    EXPECT_EQ(link(hv1, "brcluster"), "gone");
    EXPECT_EQ(hv1.times_logged("cannot be looked at"), 1U);
    hv1.network.end_faults();
    hv1.network.are_looks_interrupted = false;
    EXPECT_TRUE(within(31s, [&] { return addresses(hv1, "brcluster") == "10.98.0.1/24"; }));
}

TEST_F(host_network_test, case_90_without_the_function_nothing_is_touched) {
    auto& hv1 = add();
    const auto before = hv1.kernel.state();
    put_network(7);
    hv1.start();
    ASSERT_TRUE(hv1.run_until_ready());
    beat(5s);
    EXPECT_TRUE(hv1.kernel.state() == before);
    EXPECT_TRUE(hv1.network.calls.empty());
}

// zebra does that when it is restarted (README ruling 81).
TEST_F(host_network_test, forwarding_that_somebody_switches_off_is_switched_on_again) {
    auto& hv1 = stage();
    const std::string key = "net/ipv6/conf/all/forwarding";
    for (int times = 0; times < 3; ++times) {
        ASSERT_TRUE(hv1.kernel.apply(model::set_sysctl{key, "0"}));
        ASSERT_TRUE(within(2s, [&] { return hv1.kernel.sysctls().read(key) == "1"; }));
        beat(1s);
    }
    EXPECT_EQ(hv1.times_logged("somebody changed net/ipv6/conf/all/forwarding, setting it to 1 again"), 1U)
        << hv1.log();
}

// No event tells when a setting that was refused can be made.
TEST_F(host_network_test, forwarding_that_cannot_be_switched_on_again_is_tried_until_it_can) {
    auto& hv1 = stage();
    const std::string key = "net/ipv6/conf/all/forwarding";
    hv1.network.broken.insert_or_assign("set " + key, failure(errc::refused, key, "Operation not permitted"));
    ASSERT_TRUE(hv1.kernel.apply(model::set_sysctl{key, "0"}));
    beat(20s);  // nothing else makes it look again by then
    EXPECT_EQ(hv1.kernel.sysctls().read(key), "0");
    hv1.network.broken.clear();
    EXPECT_TRUE(within(31s, [&] { return hv1.kernel.sysctls().read(key) == "1"; })) << hv1.log();
}

TEST_F(host_network_test, routes_by_advertisements_survive_forwarding) {
    auto& hv1 = add_networked();
    ASSERT_TRUE(hv1.kernel.apply(model::make_bridge{"br9"}));
    const std::string key = "net/ipv6/conf/br9/accept_ra";
    ASSERT_EQ(hv1.kernel.sysctls().read(key), "1");
    start(hv1);
    EXPECT_EQ(hv1.kernel.sysctls().read(key), "2");
    EXPECT_EQ(hv1.kernel.sysctls().read("net/ipv6/conf/all/forwarding"), "1");
}

// A takeover with IPv6 gateways wants forwarding too; it took the default route of a host whose settings had been
// refused.
TEST_F(host_network_test, routes_by_advertisements_survive_the_forwarding_of_a_takeover) {
    auto& hv1 = add_networked();
    ASSERT_TRUE(hv1.kernel.apply(model::make_bridge{"br9"}));
    ASSERT_TRUE(hv1.kernel.apply(model::set_up{"br9"}));
    hv1.kernel.advertise("br9", *parse_network_v6("2001:db8::/64"));
    const std::string accept = "net/ipv6/conf/br9/accept_ra";
    const std::string forwarding = "net/ipv6/conf/all/forwarding";
    hv1.network.broken.insert_or_assign("set " + accept, failure(errc::refused, accept, "Operation not permitted"));
    const auto has_route = [&] { return hv1.kernel.has_advertised_route("br9"); };
    ASSERT_TRUE(has_route());
    put_network(1001, {{"/ip6_network", "fd00:1::/64"}, {"/ip6_gateway", "fd00:1::1"}});
    start(hv1);
    put_peer("hv2", "coordinator", "run", "secondary");
    ensemble.put(primary_key, "hv1");
    seconds_until([&] { return role_of(hv1) == "primary"; }, 60s);
    beat(5s);
    EXPECT_EQ(addresses(hv1, "vmbr1001"), "fd00:1::1/64") << hv1.log();
    EXPECT_EQ(hv1.kernel.sysctls().read(forwarding), "0");
    EXPECT_TRUE(has_route());
    hv1.network.broken.clear();
    EXPECT_TRUE(within(31s, [&] { return hv1.kernel.sysctls().read(forwarding) == "1"; })) << hv1.log();
    EXPECT_EQ(hv1.kernel.sysctls().read(accept), "2");
    EXPECT_TRUE(has_route());
}

TEST_F(host_network_test, a_new_bridge_takes_what_routers_say_as_its_device_did) {
    auto& hv1 = add_networked();
    const auto set = [&](const std::string& key, const std::string& value) {
        ASSERT_TRUE(hv1.kernel.apply(model::set_sysctl{"net/ipv6/conf/" + key, value})) << key;
    };
    const auto read = [&](const std::string& key) { return hv1.kernel.sysctls().read("net/ipv6/conf/" + key); };
    set("ens4/accept_ra", "0");
    set("ens6/disable_ipv6", "1");
    hv1.kernel.remove_device("ens5");
    hv1.start();
    loop.run_for(10s);
    EXPECT_EQ(read("brupstream/accept_ra"), "0");
    EXPECT_EQ(read("brstorage/disable_ipv6"), "1");
    // A device that comes late: its bridge is there already.
    hv1.kernel.add_device("ens5");
    set("ens5/accept_ra", "0");
    set("ens5/autoconf", "0");
    ASSERT_TRUE(within(1s, [&] { return link(hv1, "ens5") == "mtu 1500 up master brcluster"; }));
    EXPECT_TRUE(hv1.run_until_ready());
    EXPECT_EQ(read("brcluster/accept_ra"), "0");
    EXPECT_EQ(read("brcluster/autoconf"), "0");
    // What is there is its owner's.
    set("brupstream/accept_ra", "2");
    hv1.stop();
    start(hv1);
    beat(2s);
    EXPECT_EQ(read("brupstream/accept_ra"), "2");
    EXPECT_EQ(read("brstorage/disable_ipv6"), "1");
}

// /proc/sys is read-only in many containers.
TEST_F(host_network_test, a_setting_that_is_refused_keeps_no_device_out_of_its_bridge) {
    auto& hv1 = add_networked();
    const std::string step = "set net/ipv6/conf/brupstream/accept_ra to 0";
    ASSERT_TRUE(hv1.kernel.apply(model::set_sysctl{"net/ipv6/conf/ens4/accept_ra", "0"}));
    hv1.network.broken.insert_or_assign(step, failure(errc::refused, step, "Read-only file system"));
    start(hv1);
    beat(5s);
    EXPECT_EQ(link(hv1, "ens4"), "mtu 1500 up master brupstream");
    EXPECT_EQ(hv1.times_logged("failed: host network: port ens4 of brupstream: " + step), 1U) << hv1.log();
    EXPECT_TRUE(hv1.logged("Read-only file system, the rest of it is set up all the same"));
}

}  // namespace
}  // namespace pvc::node
