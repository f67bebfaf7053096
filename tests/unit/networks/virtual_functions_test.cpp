// Virtual functions of network cards on a simulated daemon (networking.md 4, cases 13 to 21, 100).
#include "unit/networks/function_fixture.hpp"

namespace pvc::node {
namespace {

TEST_F(virtual_functions_test, case_13_14_and_100_functions_are_made_and_entered) {
    auto& hv1 = add_node();
    ASSERT_TRUE(hv1.kernel.apply(model::set_mtu{"ens8", 9000}));
    start(hv1);
    EXPECT_TRUE(hv1.functions.has_module);
    EXPECT_EQ(hv1.functions.calls, (texts{"modprobe", "make 2 of ens8", "mtu ens8v0 9000", "mtu ens8v1 9000"}));
    EXPECT_EQ(value("/nodes/hv1/sriov/pf/ens8"), "");
    EXPECT_EQ(value("/nodes/hv1/sriov/pf/ens8/mtu"), "9000");
    EXPECT_EQ(value("/nodes/hv1/sriov/pf/ens8/vfcount"), "2");
    for (const int index : {0, 1}) {
        EXPECT_EQ(nodes_of(vf("", index)), 21U);
    }
    EXPECT_EQ(value(vf("/pf")), "ens8");
    EXPECT_EQ(value(vf("/mac")), "0a:00:00:00:00:00");
    EXPECT_EQ(value(vf("/phy_mac", 1)), "0a:00:00:00:00:01");
    EXPECT_EQ(value(vf("/pci/domain")), "0000");
    EXPECT_EQ(value(vf("/pci/bus")), "3b");
    EXPECT_EQ(value(vf("/pci/slot")), "02");
    EXPECT_EQ(value(vf("/pci/function", 1)), "1");
    EXPECT_EQ(value(vf("/config/spoof_check")), "True");
    EXPECT_EQ(value(vf("/used")), "False");
    for (const auto& call : hv1.network.calls) {
        EXPECT_TRUE(call.find("ens8") == std::string::npos || call.find("accept_ra") != std::string::npos) << call;
    }
    EXPECT_FALSE(hv1.logged("ens8") && hv1.logged("warning: ens8"));
    // Another start of the daemon finds all as it is.
    hv1.stop();
    hv1.functions.calls.clear();
    ensemble.clear_trace();
    start(hv1);
    EXPECT_EQ(hv1.functions.calls, texts{"modprobe"});
    EXPECT_TRUE(changes("/nodes/hv1/sriov/").empty());
}

TEST_F(virtual_functions_test, a_configured_size_and_a_number_that_cannot_be_changed) {
    auto& hv1 = add_node({{"ens8", 8, 9000}, {"ens9", {}, {}}});
    hv1.functions.add_card("ens8", 4);
    hv1.functions.add_card("ens9", 3);
    start(hv1);
    EXPECT_EQ(hv1.times_logged("ens8 has 4 virtual functions, and not the 8 of vfcount"), 1U) << hv1.log();
    EXPECT_EQ(hv1.kernel.state().find("ens8")->mtu, 9000);
    EXPECT_TRUE(hv1.kernel.state().find("ens8")->is_up);
    EXPECT_FALSE(hv1.kernel.state().find("ens9")->is_up);
    EXPECT_EQ(value("/nodes/hv1/sriov/pf/ens8/vfcount"), "8");
    EXPECT_EQ(value("/nodes/hv1/sriov/pf/ens9/vfcount"), "3");
    EXPECT_EQ(ensemble.children("/nodes/hv1/sriov/vf").size(), 7U);
    EXPECT_EQ(value(vf("/mtu")), "9000");
}

TEST_F(virtual_functions_test, a_card_that_cannot_is_told_of_once_and_the_start_goes_on) {
    auto& hv1 = add_node({{"ens8", 2}, {"ens9", 2}});
    hv1.kernel.remove_device("ens9");
    hv1.functions.broken.insert_or_assign("make ens8", failure(errc::refused, "ens8", "Cannot allocate memory"));
    hv1.functions.broken.insert_or_assign("modprobe", failure(errc::refused, "modprobe", "exit status 1"));
    start(hv1);
    loop.run_for(60s);
    EXPECT_EQ(hv1.times_logged("Cannot allocate memory [sriov-count]"), 1U) << hv1.log();
    EXPECT_EQ(hv1.times_logged("[sriov-module]"), 1U);
    EXPECT_EQ(hv1.times_logged("ens9: there is no such network card"), 1U) << hv1.log();
    EXPECT_TRUE(ensemble.exists("/nodes/hv1/sriov/pf/ens8"));
    EXPECT_FALSE(ensemble.exists("/nodes/hv1/sriov/pf/ens9"));
    // It comes later.
    hv1.kernel.add_device("ens9");
    EXPECT_TRUE(run_until([&] { return is_there("/nodes/hv1/sriov/vf/ens9v1/used_by"); }, 10s)) << hv1.log();
    EXPECT_TRUE(hv1.logged("this is over: ens9"));
}

TEST_F(virtual_functions_test, case_15_a_function_that_a_guest_has_is_entered_too) {
    auto& hv1 = add_node();
    hv1.functions.with_guests = {"ens8v1"};
    hv1.functions.mtus = {{"ens8v0", 9000}};
    start(hv1);
    EXPECT_EQ(nodes_of(vf("", 1)), 21U);
    EXPECT_EQ(value(vf("/pci/function", 1)), "1");
    EXPECT_EQ(hv1.functions.mtus.at("ens8v0"), 1500);  // that of its key
    EXPECT_FALSE(hv1.logged("failed:")) << hv1.log();
}

TEST_F(virtual_functions_test, case_16_a_driver_that_tells_half) {
    auto& hv1 = add_node();
    hv1.functions.driver.hides = {"trust", "RSS query", "VLAN"};
    hv1.functions.driver.lacks = {"RSS query"};
    start(hv1);
    EXPECT_EQ(value(vf("/config/trust")), "False");
    EXPECT_EQ(value(vf("/config/query_rss")), "False");
    EXPECT_EQ(value(vf("/config/vlan_id")), "0");
    loop.run_for(60s);
    EXPECT_EQ(settings(hv1).size(), 6U) << "each once";
    EXPECT_FALSE(hv1.logged("[sriov-unsupported]")) << "nobody wants it";
    ensemble.put({{vf("/config/query_rss"), "True"}, {vf("/config/query_rss", 1), "True"}});
    loop.run_for(60s);
    EXPECT_EQ(settings(hv1).size(), 8U);
    EXPECT_EQ(hv1.times_logged("ens8: its driver does not have the setting RSS query"), 1U) << hv1.log();
    EXPECT_EQ(value(vf("/config/query_rss")), "True");
}

TEST_F(virtual_functions_test, case_17_keys_lead_and_the_driver_follows) {
    put_function({{"/config/vlan_id", "101"}, {"/config/vlan_qos", "3"}, {"/config/trust", "True"}});
    auto& hv1 = stage();
    EXPECT_EQ(settings(hv1), (texts{"set ens8v0 VLAN 101, QoS 3", "set ens8v0 trust on"}));
    EXPECT_EQ(hv1.functions.function("ens8", 0)->vlan, (model::function_vlan{101, 3}));
    EXPECT_EQ(hv1.functions.function("ens8", 1)->vlan, model::function_vlan());
    EXPECT_EQ(value(vf("/config/vlan_id")), "101");
    EXPECT_EQ(value(vf("/mac")), "52:54:00:00:00:99") << "the guest's";
    hv1.stop();
    hv1.lose_power();  // its functions are new
    hv1.functions.calls.clear();
    ensemble.clear_trace();
    start(hv1);
    EXPECT_EQ(settings(hv1), (texts{"set ens8v0 VLAN 101, QoS 3", "set ens8v0 trust on"}));
    EXPECT_TRUE(changes("/nodes/hv1/sriov/vf").empty());
}

TEST_F(virtual_functions_test, case_18_and_19_clients_change_settings) {
    auto& hv1 = stage();
    hv1.functions.calls.clear();
    ensemble.put(vf("/config/tx_rate_max"), "1000");
    ASSERT_TRUE(soon([&] { return !settings(hv1).empty(); }));
    EXPECT_EQ(settings(hv1), texts{"set ens8v0 rate 0 to 1000 Mbit/s"});
    hv1.functions.calls.clear();
    ensemble.put(
        {{vf("/config/link_state"), "disable"}, {vf("/config/trust"), "True"}, {vf("/config/spoof_check"), "yes"}});
    ASSERT_TRUE(soon([&] { return settings(hv1).size() == 3; }));
    EXPECT_EQ(settings(hv1),
              (texts{"set ens8v0 spoof check off", "set ens8v0 link state disable", "set ens8v0 trust on"}));
    EXPECT_EQ(value(vf("/config/spoof_check")), "yes");
    hv1.functions.calls.clear();
    ensemble.put({{vf("/config/tx_rate_min"), "500"}, {vf("/config/tx_rate_max"), "2000"}});
    ASSERT_TRUE(soon([&] { return settings(hv1).size() == 2; }));
    EXPECT_EQ(settings(hv1), (texts{"set ens8v0 rate 0 to 2000 Mbit/s", "set ens8v0 rate 500 to 2000 Mbit/s"}));
    loop.run_for(60s);
    EXPECT_EQ(settings(hv1).size(), 2U);
    EXPECT_FALSE(hv1.logged("[sriov-changed]")) << hv1.log();
}

TEST_F(virtual_functions_test, what_cannot_be_used_is_told_once_and_the_rest_is_applied) {
    auto& hv1 = stage();
    ensemble.put({{vf("/config/vlan_id"), "4095"}, {vf("/config/link_state"), "on"}, {vf("/config/trust"), "True"}});
    ASSERT_TRUE(soon([&] { return settings(hv1) == texts{"set ens8v0 trust on"}; }));
    loop.run_for(60s);
    EXPECT_EQ(hv1.times_logged("ens8v0/config/vlan_id: expected a number from 0 to 4094, got `4095`"), 1U) << hv1.log();
    EXPECT_EQ(hv1.times_logged("ens8v0/config/link_state: expected auto, enable or disable, got `on`"), 1U);
    ensemble.put({{vf("/config/vlan_id"), "12"}, {vf("/config/link_state"), "auto"}});
    EXPECT_TRUE(soon([&] { return hv1.functions.function("ens8", 0)->vlan == model::function_vlan{12, 0}; }));
}

TEST_F(virtual_functions_test, case_20_a_card_that_is_not_configured_any_more) {
    put_function({{"/pf", "ens9"}}, 7);
    ensemble.put({{"/nodes/hv1/sriov/pf/ens9", ""}, {"/nodes/hv1/sriov/pf/ens9/mtu", "1500"}});
    ensemble.put(vf("/config/what_somebody_put_there", 7), "");
    put_function({{"/config/vlan_id", "5"}});
    auto& hv1 = stage();
    EXPECT_TRUE(soon([&] { return !is_there(vf("", 7)); })) << hv1.log();
    EXPECT_FALSE(ensemble.exists("/nodes/hv1/sriov/pf/ens9"));
    EXPECT_EQ(value(vf("/config/vlan_id")), "5");
    EXPECT_EQ(nodes_of(vf("", 1)), 21U);
    EXPECT_TRUE(ensemble.exists("/nodes/hv1/sriov/pf/ens8/vfcount"));
}

TEST_F(virtual_functions_test, case_21_a_function_of_a_machine_that_is_no_more_is_free_again) {
    ensemble.put("/domains/" + web, "web");
    auto& hv1 = stage();
    use(web);
    loop.run_for(60s);
    EXPECT_EQ(value(vf("/used")), "True");
    ensemble.clear_trace();
    ensemble.remove_tree("/domains/" + web);
    loop.run_for(9s);
    EXPECT_EQ(value(vf("/used")), "True");
    EXPECT_TRUE(run_until([&] { return value(vf("/used")) == "False"; }, 5s)) << hv1.log();
    EXPECT_EQ(value(vf("/used_by")), "");
    EXPECT_EQ(value(vf("/mac")), "0a:00:00:00:00:00");
    EXPECT_EQ(times(vf("/used")), times(vf("/mac"))) << "in one transaction";
    loop.run_for(60s);
    EXPECT_EQ(times(vf("/used")).size(), 1U);
    EXPECT_EQ(hv1.times_logged("virtual function ens8v0 is free again"), 1U);
}

TEST_F(virtual_functions_test, case_21_at_the_start_and_a_user_that_nobody_can_be) {
    put_function({{"/used", "True"}, {"/used_by", "../../nodes"}});
    auto& hv1 = stage();
    EXPECT_TRUE(run_until([&] { return value(vf("/used")) == "False"; }, 15s)) << hv1.log();
    EXPECT_EQ(value(vf("/mac")), "0a:00:00:00:00:00");
}

TEST_F(virtual_functions_test, a_client_that_defines_its_machine_a_moment_later_keeps_its_function) {
    stage();
    use(web);
    loop.run_for(8s);
    ensemble.put("/domains/" + web, "web");
    loop.run_for(60s);
    EXPECT_EQ(value(vf("/used")), "True");
    EXPECT_EQ(value(vf("/mac")), "52:54:00:00:00:77");
}

TEST_F(virtual_functions_test, while_the_machines_cannot_be_read_nothing_is_freed_and_nobody_is_asked_without_end) {
    auto& hv1 = stage();
    ensemble.put("/domains/" + web, "web");
    use(web);
    loop.run_for(20s);
    std::size_t asked = 0;
    hv1.connector.link().on_request = [&](const zookeeper::request& one) {
        const bool is_machines = one.path.starts_with("/domains");
        asked += is_machines ? 1 : 0;
        return is_machines ? sim::verdict::drop_before : sim::verdict::answer;
    };
    ensemble.put("/domains/" + web + "/state", "stop");
    ensemble.remove_tree("/domains/" + web);
    loop.run_for(60s);
    EXPECT_EQ(value(vf("/used")), "True");
    EXPECT_LT(asked, 200U);
    hv1.connector.link().on_request = nullptr;
    EXPECT_TRUE(run_until([&] { return value(vf("/used")) == "False"; }, 60s)) << hv1.log();
    EXPECT_EQ(hv1.times_logged("[sriov-unwritten]"), 0U) << hv1.log();
}

TEST_F(virtual_functions_test, a_connection_that_breaks_while_a_user_is_absent_delays_and_forgets_nothing) {
    auto& hv1 = stage();
    use(web);
    loop.run_for(5s);
    hv1.connector.link().cut();
    loop.run_for(6s);
    hv1.connector.link().mend();
    loop.run_for(2s);
    EXPECT_EQ(value(vf("/used")), "True");
    EXPECT_TRUE(run_until([&] { return value(vf("/used")) == "False"; }, 40s)) << hv1.log();
}

TEST_F(virtual_functions_test, a_machine_that_this_nodes_server_does_not_know_yet_keeps_its_function) {
    auto& hv1 = stage();
    // Just after a heartbeat, whose answer ends any lag: two more come before the function is due.
    const auto beats = times("/nodes/hv1/keepalive").size();
    ASSERT_TRUE(run_until([&] { return times("/nodes/hv1/keepalive").size() > beats; }, 6s));
    loop.run_for(100ms);
    use(web);
    loop.run_for(9950ms);
    EXPECT_EQ(value(vf("/used")), "True");
    hv1.connector.link().lag = 30s;
    ensemble.put("/domains/" + web, "web");
    loop.run_for(60s);
    EXPECT_EQ(value(vf("/used")), "True");
    EXPECT_TRUE(values_written(vf("/used")).back() == "True") << hv1.log();
}

TEST_F(virtual_functions_test, without_a_list_of_machines_nothing_is_freed) {
    auto& hv1 = stage();
    ensemble.remove_tree("/domains");
    use(web);
    loop.run_for(60s);
    EXPECT_EQ(value(vf("/used")), "True") << hv1.log();
    std::size_t asked = 0;
    hv1.connector.link().on_request = [&](const zookeeper::request& /*one*/) {
        ++asked;
        return sim::verdict::answer;
    };
    loop.run_for(60s);
    EXPECT_LT(asked, 200U);
}

TEST_F(virtual_functions_test, a_refused_setting_is_told_once_tried_again_and_holds_up_no_other) {
    auto& hv1 = stage();
    hv1.functions.broken.insert_or_assign("set ens8v0 VLAN", failure(errc::refused, "ens8v0", "Invalid argument"));
    ensemble.put({{vf("/config/vlan_id"), "5"}, {vf("/config/trust"), "True"}, {vf("/config/vlan_id", 1), "6"}});
    EXPECT_TRUE(soon([&] { return hv1.functions.function("ens8", 1)->vlan == model::function_vlan{6, 0}; }));
    EXPECT_EQ(hv1.functions.function("ens8", 0)->trust, true);
    loop.run_for(120s);
    const auto tries = std::ranges::count(hv1.functions.calls, "set ens8v0 VLAN 5, QoS 0");
    EXPECT_GE(tries, 5);
    EXPECT_LE(tries, 10);
    EXPECT_EQ(hv1.times_logged("virtual function ens8v0: VLAN 5, QoS 0"), 1U) << hv1.log();
    hv1.functions.broken.clear();
    EXPECT_TRUE(run_until([&] { return hv1.functions.function("ens8", 0)->vlan == model::function_vlan{5, 0}; }, 40s));
    loop.run_for(1s);
    EXPECT_EQ(hv1.times_logged("this is over: virtual function ens8v0"), 1U) << hv1.log();
    EXPECT_EQ(value(vf("/config/vlan_id")), "5");
}

TEST_F(virtual_functions_test, a_driver_that_hangs_takes_no_card_away) {
    auto& hv1 = stage();
    loop.run_for(20s);
    const auto from = loop.clock().now();
    ensemble.clear_trace();
    hv1.functions.hang();
    hv1.network.lose_events();
    ensemble.put(vf("/config/vlan_id"), "5");
    loop.run_for(120s);
    EXPECT_FALSE(hv1.logged("there is no such network card")) << hv1.log();
    EXPECT_LE(hv1.times_logged("[sriov-card]") + hv1.times_logged("[sriov-failed]"), 3U) << hv1.log();
    EXPECT_NEAR(beat_gaps("hv1", from).front(), 5.0, 0.1);
    EXPECT_EQ(changes("/nodes/hv1/sriov").size(), 1U) << "the client's alone";
    hv1.functions.end_hang();
    EXPECT_TRUE(run_until([&] { return hv1.functions.function("ens8", 0)->vlan == model::function_vlan{5, 0}; }, 60s))
        << hv1.log();
}

TEST_F(virtual_functions_test, a_card_that_vanishes_and_comes_back_is_as_its_keys_say) {
    put_function({{"/config/vlan_id", "101"}});
    auto& hv1 = stage();
    loop.run_for(20s);
    ensemble.clear_trace();
    hv1.kernel.remove_device("ens8");
    loop.run_for(60s);
    EXPECT_EQ(hv1.times_logged("ens8: there is no such network card, or it does not support SR-IOV [sriov-card]"), 1U)
        << hv1.log();
    EXPECT_TRUE(changes("/nodes/hv1/sriov").empty()) << "its keys stay";
    hv1.functions.calls.clear();
    hv1.kernel.add_device("ens8");
    EXPECT_TRUE(run_until(
        [&] {
            const auto* one = hv1.functions.function("ens8", 0);
            return one != nullptr && one->vlan == model::function_vlan{101, 0};
        },
        15s))
        << hv1.log();
    EXPECT_EQ(hv1.functions.calls.front(), "make 2 of ens8");
    EXPECT_TRUE(changes("/nodes/hv1/sriov").empty());
    EXPECT_FALSE(hv1.logged("[sriov-changed]")) << hv1.log();
}

TEST_F(virtual_functions_test, what_somebody_changes_beside_the_keys_is_put_right_and_never_written_into_them) {
    put_function({{"/config/vlan_id", "101"}});
    auto& hv1 = stage();
    loop.run_for(20s);
    ensemble.clear_trace();
    hv1.functions.function("ens8", 0)->vlan = model::function_vlan{7, 0};
    hv1.functions.function("ens8", 1)->trust = true;
    hv1.network.lose_events();
    EXPECT_TRUE(
        run_until([&] { return hv1.functions.function("ens8", 0)->vlan == model::function_vlan{101, 0}; }, 10s));
    EXPECT_TRUE(run_until([&] { return hv1.functions.function("ens8", 1)->trust == false; }, 10s));
    EXPECT_EQ(hv1.times_logged("virtual function ens8v0: somebody changed it, setting it again: VLAN 101"), 1U)
        << hv1.log();
    EXPECT_TRUE(changes("/nodes/hv1/sriov").empty());
}

TEST_F(virtual_functions_test, a_driver_that_takes_a_setting_and_does_nothing_is_not_asked_without_end) {
    auto& hv1 = add_node();
    hv1.functions.driver.ignores = {"VLAN"};
    start(hv1);
    ensemble.put(vf("/config/vlan_id"), "5");
    for (int i = 0; i < 12; ++i) {
        loop.run_for(10s);
        hv1.network.lose_events();
    }
    EXPECT_EQ(settings(hv1), texts{"set ens8v0 VLAN 5, QoS 0"});
    EXPECT_EQ(value(vf("/config/vlan_id")), "5");
}

TEST_F(virtual_functions_test, a_lost_session_asks_no_driver_again) {
    auto& hv1 = add_node();
    hv1.functions.driver.hides = {"trust"};
    put_function({{"/config/trust", "True"}});
    start(hv1);
    const auto before = settings(hv1).size();
    hv1.connector.link().expire_sessions();
    loop.run_for(60s);
    EXPECT_EQ(settings(hv1).size(), before);
    ensemble.put(vf("/config/trust"), "False");
    EXPECT_TRUE(soon([&] { return settings(hv1).back() == "set ens8v0 trust off"; }));
}

TEST_F(virtual_functions_test, keys_that_somebody_deleted_come_back) {
    auto& hv1 = stage();
    ensemble.remove_tree(vf(""));
    ensemble.remove_tree("/nodes/hv1/sriov/pf/ens8");
    EXPECT_TRUE(soon([&] { return is_there(vf("/used_by")); })) << hv1.log();
    EXPECT_TRUE(soon([&] { return is_there("/nodes/hv1/sriov/pf/ens8/vfcount"); }));
    EXPECT_EQ(nodes_of(vf("")), 21U);
}

TEST_F(virtual_functions_test, without_sriov_nothing_is_done) {
    put_function({{"/used", "True"}, {"/used_by", web}});
    auto& hv1 = start(add({.coordinators = {"hv1"}, .networking = true}));
    loop.run_for(60s);
    EXPECT_TRUE(hv1.functions.calls.empty());
    EXPECT_EQ(value(vf("/used")), "True");
    EXPECT_FALSE(hv1.logged("SR-IOV"));
}

}  // namespace
}  // namespace pvc::node
