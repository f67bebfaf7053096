// Start and adopt (vm-domains.md B.1), and AC09, AC112 of node-lifecycle.md.
#include "domain_effects.hpp"

namespace pvc::node {
namespace {

using hypervisor::call_error;
using domain_start = effects_test;

const texts started{"rd = U1", "create U1", "vnc = 127.0.0.1:5900"};

TEST_F(domain_start, D01_started_at_daemon_start) {
    define("start", "hv1");
    add_running_host();
    pass(30s);
    EXPECT_EQ(effects(), started);
    EXPECT_EQ(guest().xml(), xml(u1));
    EXPECT_EQ(version(key("/state")), 0);
    EXPECT_EQ(version(key("/failedreason")), 0);
    expect_running();
}

TEST_F(domain_start, D02_adopted_at_daemon_start) {
    define("start", "hv1", "", {{"/failedreason", "x"}});
    machine().put_running(u1, "web", xml(u1));
    add_running_host();
    pass(30s);
    EXPECT_EQ(effects(), (texts{"rd = U1", running_vnc}));
    EXPECT_EQ(value(key("/failedreason")), "x");
    expect_running();
}

TEST_F(domain_start, D03_set_start) {
    define("stop", "hv1");
    settled_host();
    set("start");
    pass(30s);
    EXPECT_EQ(effects(), started);
    EXPECT_LT(moment(running_vnc), 0.5);
    EXPECT_EQ(version(key("/state")), 1);
    expect_running();
}

TEST_F(domain_start, D04_create_fails) {
    define("stop", "hv1");
    settled_host();
    const std::string reason = "Cannot access storage file '/x': No such file or directory";
    guest().fail_next("create", refusal(call_error::other, reason));
    set("start");
    pass(65s);
    EXPECT_EQ(effects(), (texts{"rd = U1", "create U1", "state = fail + failedreason = " + reason, "rd = "}));
    EXPECT_EQ(running(), "");
    EXPECT_EQ(value(key("/vnc")), "");
}

// The creation fails after the client has changed its mind, and when the daemon knows of that.
TEST_F(domain_start, D04_a_failure_that_nobody_wants_to_know_any_more) {
    define("stop", "hv1");
    settled_host();
    for (const std::string wish : {"stop", "disable", "delete"}) {
        guest().delay_next("create", 2s);
        mark();
        set("start");
        pass(1s);
        ASSERT_EQ(count("create U1"), 1U);
        set(wish);
        pass(100ms);
        guest().destroy();
        pass(5s);
        EXPECT_EQ(state(), wish);
        EXPECT_EQ(value(key("/failedreason")), "");
        EXPECT_EQ(effects(), (texts{"rd = U1", "create U1", "gone U1", "rd = "})) << wish;
    }
}

TEST_F(domain_start, D05_start_after_a_failure) {
    define("fail", "hv1", "", {{"/failedreason", "x"}});
    settled_host();
    set("start");
    pass(5s);
    EXPECT_EQ(effects(), (texts{"rd = U1", "create U1", "failedreason =  + vnc = 127.0.0.1:5900"}));
    expect_running();
}

TEST_F(domain_start, D06_already_active) {
    define("stop", "hv1");
    settled_host();
    on_call = [&](const std::string& /*call*/) { machine().put_running(u1, "web", xml(u1)); };
    set("start");
    pass(10s);
    EXPECT_EQ(effects(), started);
    EXPECT_EQ(guest().starts(), 1U);
    expect_running();
}

TEST_F(domain_start, D07_an_old_instance_is_being_removed) {
    define("stop", "hv1");
    settled_host();
    guest().fail_next("create", refusal(call_error::being_removed, "operation failed: being removed"), 3);
    set("start");
    pass(10s);
    EXPECT_EQ(effects(), (texts{"rd = U1", "create U1", "create U1", "create U1", "create U1", running_vnc}));
    const auto at = moments("create U1");
    for (std::size_t i = 1; i < at.size(); ++i) {
        EXPECT_GE(at[i] - at[i - 1], 0.5);
        EXPECT_LT(at[i] - at[i - 1], 0.6);
    }
    expect_running();
}

TEST_F(domain_start, D07_an_old_instance_that_stays) {
    define("stop", "hv1");
    settled_host();
    guest().fail_always("create", refusal(call_error::being_removed, "operation failed: being removed"));
    set("start");
    pass(60s);
    EXPECT_EQ(state(), "fail");
    EXPECT_EQ(value(key("/failedreason")), "operation failed: being removed");
    EXPECT_NEAR(moments("create U1").back(), 15.0, 0.6);
}

TEST_F(domain_start, D08_another_uuid_in_the_XML) {
    define("stop", "hv1", "", {{"/xml", xml(u2)}});
    settled_host();
    set("start");
    pass(10s);
    EXPECT_EQ(effects(), (texts{"state = fail + failedreason = domain XML has UUID " + to_text(u2) + ", expected " +
                                to_text(u1)}));
}

TEST_F(domain_start, D09_on_another_node) {
    put_host("hv2");
    define("stop", "hv2");
    settled_host();
    set("start");
    pass(20s);
    EXPECT_EQ(effects(), texts{});
}

TEST_F(domain_start, D10_libvirt_is_away) {
    define("stop", "hv1");
    settled_host();
    machine().kill_libvirtd();
    set("start");
    pass(8s);
    EXPECT_EQ(effects(), texts{});
    machine().start_libvirtd();
    ASSERT_TRUE(run_until([&] { return machine().is_watched(); }, 6s));  // the next attempt to connect (9.1)
    mark();
    pass(10s);
    EXPECT_EQ(effects(), started);
    EXPECT_LT(moment("create U1"), 1.0);
}

TEST_F(domain_start, D10_libvirt_dies_while_it_creates) {
    define("stop", "hv1");
    settled_host();
    guest().delay_next("create", 3s);
    set("start");
    pass(1s);
    machine().kill_libvirtd();
    pass(5s);
    machine().start_libvirtd();
    pass(10s);
    EXPECT_EQ(count("create U1"), 2U);
    EXPECT_EQ(values_written(key("/state")), (texts{"stop", "start"}));
    expect_running();
}

// `stop` at every moment from before the start to after its end: what was seen before the creation prevents it.
TEST_F(domain_start, D11_stop_before_the_creation) {
    hardware.rbd.add_image("vms/web_sda");
    define("stop", "hv1", "", {{"/rbdlist", "vms/web_sda"}});
    settled_host();
    for (int offset = 0; offset < 400; offset += offset < 40 ? 1 : 20) {
        mark();
        set("start");
        pass(offset * 1ms);
        const bool was_created = count("create U1") > 0;
        set("stop");
        const auto at = std::chrono::duration<double>(offset * 1ms).count();
        pass(6s);
        if (!was_created && count("create U1") > 0) {
            EXPECT_LT(moment("create U1") - at, 0.004) << offset;
        }
        expect_off("stop");
        EXPECT_EQ(value(key("/failedreason")), "");
        ASSERT_FALSE(HasFailure()) << offset;
    }
}

TEST_F(domain_start, D11_moved_before_the_creation) {
    hardware.rbd.add_image("vms/web_sda");
    put_host("hv2");
    define("stop", "hv1", "", {{"/rbdlist", "vms/web_sda"}});
    settled_host();
    set("start");
    ASSERT_TRUE(run_until([&] { return !hardware.rbd.calls().empty(); }));
    place("start", "hv2", "");
    pass(10s);
    EXPECT_EQ(effects(), texts{});
}

TEST_F(domain_start, D12_eight_at_a_time) {
    constexpr int many = 40;
    for (int i = 0; i < many; ++i) {
        define("start", "hv1", "", {}, numbered(i), "vm" + std::to_string(i));
        machine().guest(numbered(i)).create_time = 1s;
    }
    add_running_host();
    pass(15s);
    EXPECT_EQ(machine().most_creations(), 8U);
    EXPECT_EQ(machine().guests().size(), static_cast<std::size_t>(many));
    EXPECT_EQ(split_blanks(running()).size(), static_cast<std::size_t>(many));
    // In ascending order of the UUIDs.
    std::vector<std::string> created;
    for (const auto& call : calls()) {
        created.push_back(call);
    }
    EXPECT_EQ(created.size(), static_cast<std::size_t>(many));
    EXPECT_TRUE(std::ranges::is_sorted(std::vector(created.begin() + 8, created.end())));
}

TEST_F(domain_start, D13_a_paused_guest_is_adopted) {
    define("start", "hv1", "", {{"/rbdlist", "vms/web_sda"}});
    hardware.rbd.lock("vms/web_sda", "10.254.0.1:0/1");
    machine().put_running(u1, "web", xml(u1)).pause_by_io_error("vda");
    sim_node& node = add_running_host();
    pass(10s);
    set("start");
    pass(20s);
    EXPECT_EQ(effects(), (texts{"rd = U1", running_vnc}));
    EXPECT_TRUE(hardware.rbd.calls().empty());
    EXPECT_EQ(node.times_logged("it is paused"), 1U);
    EXPECT_EQ(state(), "start");
}

TEST_F(domain_start, D14_a_flushed_node_starts_its_machines) {
    define("start", "hv1");
    settled_host();
    hv1().stop();
    ensemble.put("/nodes/hv1/domainstate", "flushed");
    machine().guest(u1).vanish();
    mark();
    hv1().start();
    ASSERT_TRUE(run_until([&] { return count("create U1") == 1; }));
    pass(1s);
    EXPECT_EQ(value("/nodes/hv1/domainstate"), "flushed");
    expect_running();
}

TEST_F(domain_start, D15_autostart_is_not_consulted) {
    define("stop", "hv1", "", {{"/node_autostart", "True"}});
    add_running_host();
    pass(20s);
    EXPECT_EQ(effects(), texts{});
}

// The process is stopped at every moment of a start for 90 s, and the machine is moved meanwhile.
TEST_F(domain_start, D111_stopped_process) {
    hardware.rbd.add_image("vms/web_sda");
    put_host("hv2");
    define("stop", "hv1", "", {{"/rbdlist", "vms/web_sda"}});
    settled_host();
    for (int offset = 0; offset <= 30; ++offset) {
        mark();
        set("start");
        pass(offset * 1ms);
        if (count("create U1") > 0) {
            EXPECT_GT(offset, 5);
            return;
        }
        hv1().pause();
        pass(45s);
        place("start", "hv2", "");
        machine("hv2").put_running(u1, "web", xml(u1));
        pass(45s);
        hv1().resume();
        pass(30s);
        EXPECT_EQ(count("create U1"), 0U) << offset;
        EXPECT_EQ(running(), "");
        machine("hv2").guest(u1).vanish();
        place("stop", "hv1", "");
        pass(5s);
        ASSERT_FALSE(HasFailure()) << offset;
    }
    FAIL() << "it was never created";
}

TEST_F(domain_start, D112_another_node_lists_it_for_a_while) {
    put_host("hv2");
    define("stop", "hv1");
    settled_host();
    ensemble.put("/nodes/hv2/runningdomains", to_text(u2) + " " + to_text(u1));
    set("start");
    pass(4s);
    EXPECT_EQ(effects(), texts{});
    ensemble.put("/nodes/hv2/runningdomains", to_text(u2));
    pass(5s);
    EXPECT_EQ(effects(), started);
    EXPECT_LT(moment("create U1"), 4.1);
}

TEST_F(domain_start, D112_another_node_lists_it_and_does_not_have_it) {
    put_host("hv2");
    define("stop", "hv1");
    settled_host();
    ensemble.put("/nodes/hv2/runningdomains", to_text(u1));
    set("start");
    pass(60s);
    EXPECT_EQ(effects(), started);
    EXPECT_NEAR(moment("create U1"), 15.0, 0.2);
    expect_running();
}

TEST_F(domain_start, D112_another_node_has_it) {
    put_host("hv2");
    define("stop", "hv1");
    settled_host();
    ensemble.put("/nodes/hv2/runningdomains", to_text(u1));
    machine("hv2").put_running(u1, "web", xml(u1));
    set("start");
    pass(200s);
    const std::string failed = "state = fail + failedreason = the domain is still running on hv2";
    EXPECT_EQ(effects(), texts{failed});
    EXPECT_NEAR(moment(failed), 150.0, 0.5);
}

TEST_F(domain_start, D112_the_other_node_is_silent) {
    put_host("hv2");
    define("stop", "hv1");
    settled_host();
    ensemble.put("/nodes/hv2/runningdomains", to_text(u1));
    machine("hv2").stop_libvirtd();
    set("start");
    pass(200s);
    const std::string failed = "state = fail + failedreason = the domain is still running on hv2";
    EXPECT_EQ(effects(), texts{failed});
    EXPECT_NEAR(moment(failed), 150.0, 5.5);
}

// Its libvirtd leaves the first destroy without an answer, which shows after a minute: the second one is waited for.
TEST_F(domain_start, D112_the_other_node_has_to_destroy_it_twice) {
    define("stop", "hv2");
    settled_host();
    add_running_host("hv2");
    set("start");
    ASSERT_TRUE(run_until([&] { return machine("hv2").executes(u1); }));
    pass(2s);
    guest("hv2").hang_next("destroy");
    place("start", "hv1", "");
    ASSERT_TRUE(run_until([&] { return machine("hv1").executes(u1); }, 100s)) << nodes.front().log();
    EXPECT_EQ(machine("hv2").count("destroy U1"), 2U);
    EXPECT_EQ(state(), "start");
    EXPECT_EQ(value(key("/failedreason")), "");
}

TEST_F(domain_start, D112_stop_while_it_waits) {
    put_host("hv2");
    define("stop", "hv1");
    settled_host();
    ensemble.put("/nodes/hv2/runningdomains", to_text(u1));
    set("start");
    pass(3s);
    set("stop");
    pass(60s);
    EXPECT_EQ(effects(), texts{});
}

TEST_F(domain_start, D112_a_dead_node_is_not_waited_for) {
    for (const char* daemon : {"dead", "fenced", "stop"}) {
        put_host("hv2", daemon);
        define("stop", "hv1");
        if (nodes.empty()) {
            settled_host();
        }
        ensemble.put("/nodes/hv2/runningdomains", to_text(u1));
        mark();
        set("start");
        pass(3s);
        EXPECT_EQ(effects(), started) << daemon;
        EXPECT_LT(moment("create U1"), 0.5);
        set("stop");
        pass(5s);
    }
}

TEST_F(domain_start, D113_AC112_held_while_the_node_is_being_recovered) {
    define("start", "hv1");
    settled_host();
    hv1().stop();
    machine().guest(u1).vanish();
    ensemble.put("/nodes/hv1/domainstate", "fence-flush");
    mark();
    hv1().start();
    ASSERT_TRUE(hv1().run_until_ready());
    pass(60s);
    EXPECT_EQ(count("create U1"), 0U);
    ensemble.put("/nodes/hv1/domainstate", "flushed");
    mark();
    pass(10s);
    EXPECT_EQ(count("create U1"), 1U);
    EXPECT_LT(moment("create U1"), 1.0);
    expect_running();
}

TEST_F(domain_start, AC112_the_recovery_that_never_ends) {
    define("start", "hv1");
    define("start", "hv1", "", {}, u2, "db");
    settled_host();
    hv1().stop();
    machine().guest(u1).vanish();
    machine().guest(u2).vanish();
    ensemble.put("/nodes/hv1/domainstate", "fence-flush");
    hv1().start();
    ASSERT_TRUE(hv1().run_until_ready());
    pass(100s);
    ensemble.put(model::domain_path(to_text(u2), "/node"), "hv2");  // the fencer is at work
    mark();
    pass(178s);
    EXPECT_EQ(calls().size(), 2U);  // those of the life before
    EXPECT_EQ(value("/nodes/hv1/domainstate"), "fence-flush");
    pass(10s);
    EXPECT_EQ(value("/nodes/hv1/domainstate"), "flushed");
    EXPECT_EQ(count("create U1"), 1U);
    EXPECT_EQ(count("create U2"), 0U);
    EXPECT_NEAR(moment("create U1"), 182.5, 3.5);
}

TEST_F(domain_start, AC09_libvirt_cannot_be_opened) {
    machine().kill_libvirtd();
    sim_node& node = add_host();
    node.start();
    ASSERT_TRUE(run_until([&] { return node.exit_status.has_value(); }, 300s)) << node.log();
    EXPECT_EQ(*node.exit_status, 1);
    EXPECT_EQ(values_written("/nodes/hv1/daemonstate"), (texts{"init", "shutdown", "stop"}));
    // No heartbeat while it started: what the termination writes last comes after `shutdown`.
    const auto entered = times("/nodes/hv1/daemonstate");
    for (const double at : times("/nodes/hv1/keepalive")) {
        EXPECT_TRUE(at == entered[0] || at > entered[1]) << at;
    }
}

// --- what a definition can be ---

TEST_F(domain_start, bad_definitions_fail_with_a_reason_and_disturb_nobody) {
    const std::string good = xml(u1);
    const std::vector<std::pair<std::string, std::string>> cases{
        {"", "line 1"},
        {"not XML at all", "line 1"},
        {"<domain>\n<name>web</name>\n<uuid>", "line 3"},
        {good.substr(0, good.size() / 2), "line 1"},
        {"<!DOCTYPE d [<!ENTITY x SYSTEM \"file:///etc/passwd\">]>\n<domain><name>&x;</name></domain>", "line "},
        {"<domain type='qemu'><name>web</name></domain>", "no UUID"},
        {"<domain><uuid>zz</uuid></domain>", "UUID zz"},
        {std::string(2 * 1024 * 1024 / 3, ' ') + good.substr(0, 20), "line 1"},
    };
    define("start", "hv1", "", {}, u2, "db");
    define("stop", "hv1");
    settled_host();
    for (const auto& [text, reason] : cases) {
        ensemble.put(key("/xml"), text);
        mark();
        set("start");
        pass(3s);
        EXPECT_EQ(state(), "fail") << text.substr(0, 100);
        EXPECT_NE(value(key("/failedreason")).find(reason), std::string::npos) << value(key("/failedreason"));
        EXPECT_EQ(value(key("/failedreason")).find('\n'), std::string::npos);
        EXPECT_EQ(effects().size(), 1U);
    }
    EXPECT_TRUE(machine().guest(u2).executes());
    EXPECT_EQ(running(), to_text(u2));
    ensemble.put(key("/xml"), good);
    set("start");
    pass(3s);
    EXPECT_EQ(running(), to_text(u2) + " " + to_text(u1));
    EXPECT_EQ(value(key("/failedreason")), "");
}

TEST_F(domain_start, the_XML_is_missing) {
    define("stop", "hv1");
    settled_host();
    (void)ensemble.remove(key("/xml"));
    set("start");
    pass(3s);
    EXPECT_EQ(effects(), texts{"state = fail + failedreason = the domain has no XML"});
}

TEST_F(domain_start, the_rbdlist_is_missing) {
    define("stop", "hv1");
    settled_host();
    (void)ensemble.remove(key("/rbdlist"));
    set("start");
    pass(3s);
    EXPECT_EQ(effects(), started);
}

TEST_F(domain_start, the_node_key_is_missing) {
    for (const bool is_empty : {false, true}) {
        define_running();
        if (nodes.empty()) {
            settled_host();
        }
        pass(3s);
        mark();
        if (is_empty) {
            ensemble.put(key("/node"), "");
        } else {
            (void)ensemble.remove(key("/node"));
        }
        pass(20s);
        EXPECT_EQ(effects(), texts{});
        EXPECT_TRUE(guest().executes());
        EXPECT_EQ(hv1().times_logged("its key `node` is missing or empty"), is_empty ? 2U : 1U);
        ensemble.put(key("/node"), "hv1");
        set("stop");  // what must be off is
        pass(5s);
        expect_off("stop");
    }
}

TEST_F(domain_start, keys_that_are_missing_do_no_harm) {
    for (const char* suffix : {"/state", "/lastnode", "/vnc", "/failedreason", "/consolelog", "/stats"}) {
        define_running();
        if (nodes.empty()) {
            settled_host();
        }
        pass(3s);
        mark();
        (void)ensemble.remove(key(suffix));
        pass(12s);
        set("start");
        pass(12s);
        EXPECT_TRUE(guest().executes()) << suffix;
        for (const auto& text : effects()) {
            EXPECT_FALSE(text.starts_with("make ")) << text;
        }
        set("stop");
        pass(5s);
        EXPECT_FALSE(guest().is_there()) << suffix;
        EXPECT_EQ(ensemble.get(key(suffix)).has_value(), std::string(suffix) == "/state") << suffix;
    }
}

TEST_F(domain_start, an_unknown_state_is_told_once) {
    define("frobnicate", "hv1");
    settled_host();
    pass(30s);
    EXPECT_EQ(effects(), texts{});
    EXPECT_EQ(hv1().times_logged("frobnicate"), 1U);
    set("frobnicate");  // one warning per change
    pass(30s);
    EXPECT_EQ(hv1().times_logged("frobnicate"), 2U);
    set("start");
    pass(1s);
    expect_running();
}

TEST_F(domain_start, a_child_of_domains_that_is_no_uuid) {
    settled_host();
    ensemble.put("/domains/lost+found/state", "start");
    ensemble.put("/domains/lost+found/node", "hv1");
    ensemble.put("/domains/" + std::string(500, 'x'), "start");
    define("start", "hv1");
    pass(10s);
    EXPECT_EQ(effects(), started);
    EXPECT_EQ(hv1().times_logged("expected a UUID in lower case"), 2U);
}

// A client that writes `start` again while the creation runs: everything is published all the same.
TEST_F(domain_start, start_written_twice) {
    for (int offset = 0; offset < 400; offset += 10) {
        define("fail", "hv1", "", {{"/failedreason", "x"}});
        if (nodes.empty()) {
            settled_host();
        }
        mark();
        set("start");
        pass(offset * 1ms);
        set("start");
        pass(2s);
        EXPECT_EQ(count("create U1"), 1U);
        EXPECT_EQ(value(key("/failedreason")), "");
        expect_running();
        set("stop");
        pass(5s);
        ASSERT_FALSE(HasFailure()) << offset;
    }
}

}  // namespace
}  // namespace pvc::node
