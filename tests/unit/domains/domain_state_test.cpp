// Flush and unflush of a whole node: node-lifecycle.md 8, 9, cases AC89-AC106; vm-domains.md D15.
#include "domain_state_fixture.hpp"

namespace pvc::node {
namespace {

using texts = std::vector<std::string>;

class domain_state : public domain_state_fixture {};

// --- flush ---

TEST_F(domain_state, ac89_one_machine_after_the_other_each_to_the_best_of_its_moment) {
    three_nodes_two_machines();
    bool was_early = false;
    ensemble.observe([&](const recorded_change& change) {
        if (change.path == key_of(u1, "/state") && change.data == "start") {
            plans.after(0s, [this] { ensemble.put("/nodes/hv2/memfree", "100"); });  // what u1 takes shows
        }
        if (change.path == key_of(u2, "/state") && change.data == "migrate") {
            was_early = state_of(u1) != "start";
        }
    });
    order("flush");
    ASSERT_TRUE(until_word("flushed")) << hv1().log();
    EXPECT_EQ(jobs(), (texts{"U1 state=migrate node=hv2 lastnode=hv1", "U2 state=migrate node=hv4 lastnode=hv1",
                             "runningdomains= domainstate=flushed"}));
    EXPECT_FALSE(was_early) << "strictly one after the other";
    EXPECT_TRUE(machine("hv2").executes(u1));
    EXPECT_TRUE(machine("hv4").executes(u2));
    EXPECT_TRUE(hv1().logged("flush: 2 virtual machine(s) are to leave this node"));
    EXPECT_TRUE(hv1().logged("flush: moving it to hv2, which has the most free memory (8000 MiB)"));
    EXPECT_TRUE(hv1().logged("flush: moving it to hv4, which has the most free memory (6000 MiB)"));
    EXPECT_TRUE(hv1().logged("no virtual machine runs here any more"));
    pass(20s);
    EXPECT_EQ(running(), "") << "the ticks agree with what the flush wrote";
    EXPECT_EQ(hv1().times_logged("was changed by somebody else"), 0U) << hv1().log();
    EXPECT_EQ(locks_left(), 0U);
}

TEST_F(domain_state, the_write_rests_on_everything_that_was_read) {
    three_nodes_two_machines();
    order("flush");
    ASSERT_TRUE(until_word("flushed")) << hv1().log();
    const texts checked = checked_with(key("/node"), "hv2");
    for (const std::string& path :
         {key("/node_autostart"), key("/node_limit"), key("/node_selector"), std::string("/nodes/hv2/daemonstate"),
          std::string("/nodes/hv2/domainstate"), std::string("/nodes/hv1/domainstate"), key("/state/<lock>")}) {
        EXPECT_EQ(std::ranges::count(checked, path), 1) << path << " is not among " << pvc::join(checked, " ");
    }
}

TEST_F(domain_state, ac90_where_nobody_can_take_it_it_is_shut_down_and_marked) {
    machine_on(u1, "hv1");
    add_ready("hv1", 1000);
    add_ready("hv2", 8000, "flushed");
    settle();
    order("flush");
    ASSERT_TRUE(until_word("flushed")) << hv1().log();
    EXPECT_EQ(jobs(), (texts{"U1 state=shutdown node_autostart=True", "runningdomains= domainstate=flushed"}));
    EXPECT_EQ(place_of(u1), "stop hv1 ");
    EXPECT_EQ(value(key("/node_autostart")), "True");
    EXPECT_FALSE(guest().is_there());
    EXPECT_TRUE(hv1().logged("flush: no node can take it, shutting it down"));
}

TEST_F(domain_state, ac91_a_machine_away_from_home_goes_home) {
    machine_on(u1, "hv1", "start", "hv2");
    add_ready("hv1", 1000);
    add_ready("hv2", 8000);
    settle();
    order("flush");
    ASSERT_TRUE(until_word("flushed")) << hv1().log();
    EXPECT_EQ(jobs().front(), "U1 state=migrate node=hv2 lastnode=");
    EXPECT_EQ(place_of(u1), "start hv2 ");
    EXPECT_TRUE(hv1().logged("flush: moving it back to hv2, where it belongs"));
}

TEST_F(domain_state, ac92_a_machine_away_from_home_keeps_its_home) {
    machine_on(u1, "hv1", "start", "hv2");
    add_ready("hv1", 1000);
    add_ready("hv2", 100);
    add_ready("hv4", 8000);
    settle();
    order("flush");
    ASSERT_TRUE(until_word("flushed")) << hv1().log();
    EXPECT_EQ(jobs().front(), "U1 state=migrate node=hv4 lastnode=hv2");
    EXPECT_EQ(place_of(u1), "start hv4 hv2");
}

TEST_F(domain_state, ac93_unflush_ends_a_flush_after_the_machine_under_way) {
    three_nodes_two_machines();
    hardware.centre.times.bandwidth_bytes_per_second = 64.0 * 1024 * 1024 / 5;  // 5 s each
    order("flush");
    ASSERT_TRUE(until_copying()) << hv1().log();
    order("unflush");
    ASSERT_TRUE(until_word("ready")) << hv1().log();
    EXPECT_EQ(jobs(), (texts{"U1 state=migrate node=hv2 lastnode=hv1",
                             "U1 state=migrate node=hv1 lastnode=", "domainstate=ready"}));
    EXPECT_EQ(place_of(u1), "start hv1 ") << "it finished on its own, and came back";
    EXPECT_EQ(hardware.centre.machine("hv1").count("migrate U2 hv2.pvc.local tcp://hv2.pvc.local"), 0U);
    EXPECT_TRUE(hv1().logged("flush: another order came, ending this one"));
    pass(10s);
    EXPECT_EQ(jobs().size(), 3U);
}

TEST_F(domain_state, ac94_a_restart_is_waited_for) {
    three_nodes_two_machines();
    machine().guest(u1).set_kind(guest_kind::hang);  // ended after vm_shutdown_timeout, 5 s
    ensemble.put(key_of(u1, "/state"), "restart");
    pass(100ms);
    order("flush");
    ASSERT_TRUE(until_word("flushed")) << hv1().log();
    EXPECT_EQ(values_written(key("/state")), (texts{"start", "restart", "start", "migrate", "start"}));
    EXPECT_EQ(place_of(u1), "start hv2 hv1");
    EXPECT_EQ(machine("hv1").guest(u1).starts(), 2U);
}

TEST_F(domain_state, ac94_a_restart_without_end_is_not_waited_for) {
    three_nodes_two_machines();
    machine().guest(u1).set_kind(guest_kind::hang);
    machine().guest(u1).destroy_time = 3600s;
    ensemble.put(key_of(u1, "/state"), "restart");
    pass(100ms);
    const time_point from = loop.clock().now();
    order("flush");
    ASSERT_TRUE(until_word("flushed")) << hv1().log();
    EXPECT_NEAR(seconds_since(from), 35.0 + 1.0, 2.0) << "vm_shutdown_timeout + 30 s, then the other machine";
    EXPECT_EQ(jobs().front(), "U2 state=migrate node=hv2 lastnode=hv1");
    EXPECT_EQ(jobs().back(), "runningdomains=U1 domainstate=flushed");
    EXPECT_TRUE(hv1().logged("flush: it is still being restarted or shut down after 35 s, going on without it"));
    EXPECT_TRUE(hv1().logged("but still running here: web")) << hv1().log();
    machine().guest(u1).vanish();
}

TEST_F(domain_state, ac95_a_migration_without_end_is_not_waited_for) {
    machine_on(u1, "hv1", "start", {}, {{"/migration_method", "live"}});
    machine_on(u2, "hv1");
    add_ready("hv1", 1000);
    add_ready("hv2", 8000);
    settle();
    guest().set_kind(guest_kind::dirty);
    const time_point from = loop.clock().now();
    order("flush");
    ASSERT_TRUE(until_word("flushed", 200s)) << hv1().log();
    EXPECT_NEAR(seconds_since(from), 121.0, 2.0);
    EXPECT_EQ(jobs(), (texts{"U1 state=migrate node=hv2 lastnode=hv1", "U2 state=migrate node=hv2 lastnode=hv1",
                             "runningdomains=U1 domainstate=flushed"}));
    EXPECT_TRUE(hv1().logged("flush: it is still on its way after 120 s, going on with the next one"));
    EXPECT_TRUE(hv1().logged("but still running here: web"));
    guest().set_kind(guest_kind::acpi);
    ASSERT_TRUE(run_until([&] { return running().empty(); }, 600s));
}

TEST_F(domain_state, a_machine_that_must_move_live_and_may_not_stays) {
    machine_on(u1, "hv1", "start", {}, {{"/migration_method", "live"}});
    add_ready("hv1", 1000);
    add_ready("hv2", 8000);
    settle();
    for (int i = 0; i < 3; ++i) {
        guest().fail_migration(migration_step::prepare, {call_error::other, "unsafe"});
    }
    order("flush");
    ASSERT_TRUE(until_word("flushed")) << hv1().log();
    EXPECT_EQ(place_of(u1), "start hv1 ");
    EXPECT_EQ(jobs().back(), "runningdomains=U1 domainstate=flushed");
    EXPECT_TRUE(hv1().logged("flush: it could not be moved, it stays here"));
    EXPECT_TRUE(executes("hv1"));
}

TEST_F(domain_state, ac96_a_stored_flush_is_resumed_once_everything_was_looked_at) {
    add_ready("hv2", 8000);
    machine_on(u1, "hv1");
    auto& node = add_host("hv1");
    node.connector.link().number = 1;
    node.start();
    ASSERT_TRUE(node.run_until_ready());
    settle();
    node.kill();
    order("flush");
    pass(1s);
    mark();
    node.start();
    while (!node.is_ready()) {
        ASSERT_TRUE(jobs().empty()) << jobs().front();
        pass(10ms);
    }
    ASSERT_TRUE(until_word("flushed")) << node.log();
    EXPECT_EQ(jobs(), (texts{"U1 state=migrate node=hv2 lastnode=hv1", "runningdomains= domainstate=flushed"}));
    EXPECT_EQ(place_of(u1), "start hv2 hv1");
}

TEST_F(domain_state, ac97_what_is_not_to_run_is_left_alone) {
    three_nodes_two_machines();
    machine().guest(u1).set_kind(guest_kind::hang);
    ensemble.put(key_of(u1, "/state"), "disable");
    pass(100ms);
    order("flush");
    ASSERT_TRUE(until_word("flushed")) << hv1().log();
    EXPECT_EQ(jobs(), (texts{"U2 state=migrate node=hv2 lastnode=hv1", "runningdomains=U1 domainstate=flushed"}))
        << "its quiet shutdown is still under way";
    EXPECT_EQ(place_of(u1), "disable hv1 ");
}

TEST_F(domain_state, a_node_without_machines_is_flushed_at_once) {
    add_ready("hv1", 1000);
    settle();
    order("flush");
    const time_point from = loop.clock().now();
    ASSERT_TRUE(until_word("flushed"));
    EXPECT_LT(seconds_since(from), 0.2);
    EXPECT_TRUE(hv1().logged("flush: no virtual machine runs here"));
}

TEST_F(domain_state, a_hypervisor_only_node_is_flushed_as_well) {
    machine_on(u1, "hv4");
    add_ready("hv4", 1000);
    add_ready("hv2", 8000);
    pass(7s);
    mark();
    order("flush", "hv4");
    ASSERT_TRUE(until_word("flushed", 60s, "hv4"));
    EXPECT_EQ(jobs(4).front(), "U1 state=migrate node=hv2 lastnode=hv4");
    order("unflush", "hv4");
    ASSERT_TRUE(until_word("ready", 60s, "hv4"));
    EXPECT_EQ(place_of(u1), "start hv4 ");
}

TEST_F(domain_state, a_node_without_the_hypervisor_function_has_nothing_to_do_and_stays_flushed) {
    sim::node_settings settings;
    settings.name = "hv1";
    auto& node = nodes.emplace_back(loop, ensemble, settings);
    node.connector.link().number = 1;
    node.start();
    ASSERT_TRUE(node.run_until_ready());
    settle();
    order("flush");
    ASSERT_TRUE(until_word("flushed"));
    order("unflush");
    ASSERT_TRUE(until_word("flushed"));
    EXPECT_EQ(jobs(), (texts{"runningdomains= domainstate=flushed", "domainstate=flushed"}));
    EXPECT_TRUE(node.logged("this node runs no virtual machines"));
    order("ready");
    ASSERT_TRUE(until_word("flushed")) << "nobody is to send it a machine";
    pass(20s);
    EXPECT_EQ(node.times_logged("was changed by somebody else"), 0U) << node.log();
}

TEST_F(domain_state, ac02_a_node_without_the_hypervisor_function_stays_as_it_was_found) {
    sim::node_settings settings;
    settings.name = "hv1";
    {
        auto& before = nodes.emplace_back(loop, ensemble, settings);
        before.connector.link().number = 1;
        before.start();
        ASSERT_TRUE(before.run_until_ready());
        before.kill();
    }
    ensemble.put("/nodes/hv1/domainstate", "ready");
    auto& node = nodes.emplace_back(loop, ensemble, settings);
    node.connector.link().number = 2;
    node.start();
    ASSERT_TRUE(node.run_until_ready());
    mark();
    pass(20s);
    EXPECT_EQ(jobs(), texts{});
    EXPECT_TRUE(node.logged("was found `ready`"));
    order("unflush");
    EXPECT_TRUE(until_word("flushed")) << "R13";
}

// --- selection, as far as keys are read for it ---

TEST_F(domain_state, ac104_ac105_ac106_the_rules_of_the_machine_and_of_the_cluster) {
    three_nodes_two_machines();
    hv1().settings.name = "hv1";
    ensemble.put(key_of(u1, "/node_limit"), "hv3, hv4");         // hv3 has no entry
    ensemble.put(key_of(u2, "/node_limit"), ",");                // no limit
    ensemble.put(key_of(u2, "/node_selector"), "None");          // the cluster's
    ensemble.put("/config/migration_target_selector", "vcpus");  // hv4 has u1's by then
    ensemble.observe([&](const recorded_change& change) {
        if (change.path == key_of(u1, "/state") && change.data == "start") {
            plans.after(0s, [this] { ensemble.put("/nodes/hv4/vcpualloc", "1"); });
        }
    });
    order("flush");
    ASSERT_TRUE(until_word("flushed")) << hv1().log();
    EXPECT_EQ(place_of(u1), "start hv4 hv1");
    EXPECT_EQ(place_of(u2), "start hv2 hv1");
    EXPECT_TRUE(hv1().logged("flush: moving it to hv2, which has the fewest allocated vCPUs (0)"));
}

TEST_F(domain_state, ac106_a_node_whose_figures_cannot_be_read_is_passed_over) {
    three_nodes_two_machines();
    ensemble.put("/nodes/hv2/memfree", "");
    order("flush");
    ASSERT_TRUE(run_until([&] { return state_of(u1) == "migrate"; }));
    EXPECT_EQ(value(key("/node")), "hv4");
    ASSERT_TRUE(until_word("flushed")) << hv1().log();
}

// --- unflush ---

TEST_F(domain_state, ac98_what_comes_back_and_what_does_not) {
    machine_on(u1, "hv1", "stop", {}, {{"/node_autostart", "True"}});
    machine_on(u2, "hv2", "start", "hv1");
    machine_on(u3, "hv2", "stop", "hv1");
    machine_on(u4, "hv2", "start", "hv3");
    add_ready("hv1", 1000, "flushed");
    add_ready("hv2", 8000);
    settle();
    order("unflush");
    ASSERT_TRUE(until_word("ready")) << hv1().log();
    EXPECT_EQ(jobs(), (texts{"U1 state=start node=hv1 lastnode= node_autostart=False",
                             "U2 state=migrate node=hv1 lastnode=", "U3 node=hv1 lastnode=", "domainstate=ready"}));
    EXPECT_EQ(place_of(u2), "start hv1 ") << "waited for";
    EXPECT_EQ(place_of(u3), "stop hv1 ");
    EXPECT_EQ(place_of(u4), "start hv2 hv3");
    EXPECT_TRUE(hv1().logged("unflush: 3 virtual machine(s) come back"));
    EXPECT_TRUE(hv1().logged("this node takes virtual machines again"));
    EXPECT_EQ(value(key_of(u4, "/node_autostart")), "False");
}

// Flushed from hv1 to hv2, which was fenced while no node was ready.
TEST_F(domain_state, R44_what_a_recovery_parked_is_started_by_the_node_that_takes_it_back) {
    machine_on(u1, "hv2", "stop", "hv1");
    machine_on(u2, "hv2", "stop", "hv1");
    add_ready("hv1", 1000, "flushed");
    put_host("hv2", "fenced");
    for (const auto& one : {u1, u2}) {
        zookeeper::transaction parked;
        parked.set(key_of(one, "/state"), "stop", zookeeper::any_version);
        parked.set(key_of(one, "/node_autostart"), "True", zookeeper::any_version);
        ASSERT_TRUE(ensemble.commit(parked));
    }
    ensemble.put(key_of(u2, "/state"), "stop");  // an operator's word, of later
    settle();
    order("unflush");
    ASSERT_TRUE(until_word("ready")) << hv1().log();
    EXPECT_EQ(jobs(), (texts{"U1 state=start node=hv1 lastnode= node_autostart=False",
                             "U2 node=hv1 lastnode=", "domainstate=ready"}));
    ASSERT_TRUE(run_until([&] { return executes("hv1"); }));
    EXPECT_EQ(place_of(u2), "stop hv1 ");
}

TEST_F(domain_state, d15_a_marked_machine_is_started_by_unflush_and_not_before) {
    machine_on(u1, "hv1", "stop", {}, {{"/node_autostart", "True"}});
    add_ready("hv1", 1000, "flushed");
    pass(10s);
    EXPECT_EQ(state(), "stop");
    EXPECT_TRUE(calls().empty());
    order("unflush");
    ASSERT_TRUE(until_word("ready")) << hv1().log();
    ASSERT_TRUE(run_until([&] { return executes("hv1"); }));
    EXPECT_EQ(state(), "start");
    EXPECT_EQ(value(key("/node_autostart")), "False");
    EXPECT_EQ(machine().count("create U1"), 1U);
}

TEST_F(domain_state, flush_without_a_target_and_unflush_are_a_round_trip) {
    machine_on(u1, "hv1");
    add_ready("hv1", 1000);
    settle();
    order("flush");
    ASSERT_TRUE(until_word("flushed"));
    order("unflush");
    ASSERT_TRUE(until_word("ready"));
    ASSERT_TRUE(run_until([&] { return running() == to_text(u1); }));
    EXPECT_EQ(place_of(u1), "start hv1 ");
    EXPECT_EQ(value(key("/node_autostart")), "False");
}

TEST_F(domain_state, unflush_waits_for_a_restart_elsewhere) {
    machine_on(u1, "hv2", "start", "hv1");
    add_ready("hv1", 1000, "flushed");
    add_ready("hv2", 8000);
    settle();
    ensemble.put(key("/state"), "restart");
    pass(100ms);
    order("unflush");
    ASSERT_TRUE(until_word("ready")) << hv1().log();
    EXPECT_EQ(values_written(key("/state")), (texts{"start", "restart", "start", "migrate", "start"}));
    EXPECT_EQ(place_of(u1), "start hv1 ");
}

TEST_F(domain_state, a_machine_that_is_being_removed_is_not_touched) {
    machine_on(u1, "hv2", "stop", "hv1");
    add_ready("hv1", 1000, "flushed");
    add_ready("hv2", 8000);
    settle();
    ensemble.put(key("/state"), "delete");
    order("unflush");
    ASSERT_TRUE(until_word("ready"));
    EXPECT_EQ(jobs(), texts{"domainstate=ready"});
}

// --- orders ---

TEST_F(domain_state, ac99_other_words_are_no_orders) {
    three_nodes_two_machines();
    for (const auto* const one : {"ready", "flushed", "fence-flush", "ready"}) {
        order(one);
        pass(3s);
        EXPECT_EQ(word(), one);
    }
    EXPECT_TRUE(jobs().empty());
}

TEST_F(domain_state, garbage_is_no_order_and_is_said) {
    three_nodes_two_machines();
    for (const std::string& text :
         {std::string(), std::string("FLUSH"), std::string("flush\n"), std::string("fl\0ush", 6),
          std::string("\xff\xfe\x1b[2J"), std::string(100'000, 'x')}) {
        order(text);
        pass(1s);
        EXPECT_EQ(word(), text);
    }
    EXPECT_TRUE(jobs().empty());
    EXPECT_EQ(hv1().times_logged("which is none: nothing is done"), 6U);
    EXPECT_FALSE(hv1().logged("\x1b[2J"));
    ensemble.remove_tree("/nodes/hv1/domainstate");
    pass(1s);
    EXPECT_TRUE(hv1().logged("/nodes/hv1/domainstate is missing"));
    order("flush");
    ASSERT_TRUE(until_word("flushed")) << hv1().log();
}

TEST_F(domain_state, keys_full_of_garbage_do_not_stop_a_flush) {
    three_nodes_two_machines();
    ensemble.put({{key("/node_limit"), std::string("\xff,\x01,,hv2,") + std::string(10'000, 'y')},
                  {key("/node_selector"), std::string(10'000, 's')},
                  {key("/node_autostart"), "perhaps"},
                  {key("/lastnode"), "None"},
                  {"/nodes/hv9", "?"},
                  {"/nodes/hv9/daemonstate", "run"},
                  {"/nodes/hv9/domainstate", "ready"},
                  {"/nodes/hv9/memfree", "all of it"}});
    ensemble.remove_tree(key_of(u2, "/lastnode"));
    order("flush");
    ASSERT_TRUE(until_word("flushed")) << hv1().log();
    EXPECT_EQ(place_of(u1), "start hv2 hv1");
    EXPECT_EQ(state_of(u2), "start");
    EXPECT_EQ(running(), "") << "a missing key counts as its default: what lacks one is moved too";
}

TEST_F(domain_state, the_same_order_again_changes_nothing) {
    three_nodes_two_machines();
    hardware.centre.times.bandwidth_bytes_per_second = 64.0 * 1024 * 1024 / 5;
    order("flush");
    ASSERT_TRUE(until_copying());
    order("flush");
    pass(1s);
    order("flush");
    ASSERT_TRUE(until_word("flushed")) << hv1().log();
    EXPECT_EQ(hv1().times_logged("are to leave this node"), 1U);
    EXPECT_EQ(jobs().size(), 3U);
    order("flush");
    ASSERT_TRUE(until_word("flushed"));
    EXPECT_EQ(jobs().size(), 4U) << "a new order is a new job";
}

// Ready and flush once more while a flush is under way, seen as one change: what came to the node meanwhile leaves too.
TEST_F(domain_state, an_order_of_later_is_for_what_came_since) {
    three_nodes_two_machines();
    hardware.centre.times.bandwidth_bytes_per_second = 64.0 * 1024 * 1024 / 5;
    order("flush");
    ASSERT_TRUE(until_copying());
    define("start", "hv1", {}, {}, u3, "late");
    ASSERT_TRUE(run_until([&] { return machine().executes(u3); }, 5s));
    order("ready");
    order("flush");
    ASSERT_TRUE(until_word("flushed")) << hv1().log();
    EXPECT_EQ(running(), "");
    EXPECT_EQ(place_of(u3), "start hv2 hv1");
}

// Its keys are gone, the guest is not: whoever takes the node down is told.
TEST_F(domain_state, a_guest_that_the_cluster_does_not_know_is_named_at_the_end) {
    three_nodes_two_machines();
    ensemble.remove_tree(key_of(u2, ""));
    pass(1s);
    EXPECT_TRUE(machine().executes(u2));
    order("flush");
    ASSERT_TRUE(until_word("flushed")) << hv1().log();
    EXPECT_TRUE(hv1().logged("but still running here: " + to_text(u2) + " (which the cluster does not know)"))
        << hv1().log();
}

// A start that does not succeed for now: nothing of this node's is left to be started here later.
TEST_F(domain_state, what_is_about_to_be_started_leaves_too) {
    three_nodes_two_machines();
    define("start", "hv1", {}, {}, u3, "late");
    machine().guest(u3).fail_always("create", {call_error::being_removed, "it is still being removed"});
    pass(2s);
    order("flush");
    ASSERT_TRUE(until_word("flushed")) << hv1().log();
    EXPECT_EQ(value(key_of(u3, "/node")), "hv2");
    ASSERT_TRUE(run_until([&] { return machine("hv2").executes(u3); }, 60s)) << hv1().log();
}

TEST_F(domain_state, orders_in_quick_succession_end_in_the_last) {
    three_nodes_two_machines();
    for (int i = 0; i < 20; ++i) {
        order(i % 2 == 0 ? "flush" : "unflush");
        pass(std::chrono::milliseconds(7 * i));
    }
    ASSERT_TRUE(until_word("ready", 300s)) << hv1().log();
    pass(5s);
    EXPECT_EQ(word(), "ready");
    EXPECT_EQ(place_of(u1), "start hv1 ");
    EXPECT_EQ(place_of(u2), "start hv1 ");
    EXPECT_EQ(locks_left(), 0U);
}

}  // namespace
}  // namespace pvc::node
