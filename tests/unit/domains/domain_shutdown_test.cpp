// Shutdown, stop, restart, disable (vm-domains.md B.3).
#include "domain_effects.hpp"

namespace pvc::node {
namespace {

using hypervisor::call_error;

class domain_shutdown : public effects_test {
protected:
    // It runs on hv1, adopted, and effects are counted from now.
    void running_guest(const std::string& kind = "acpi", const std::string& text = {}) {
        define("start", "hv1");
        machine().put_running(u1, "web", text.empty() ? xml(u1, "web", "<!-- sim:" + kind + " -->") : text);
        settled_host();
    }
    void set_at(duration time, const std::string& state) {
        pass(time - (loop.clock().now() - since_));
        set(state);
    }
    void set_now(const std::string& state) {
        mark();
        since_ = loop.clock().now();
        set(state);
    }
    [[nodiscard]] texts states() const { return values_written(key("/state")); }

private:
    time_point since_{};
};

const texts graceful{"shutdown U1", "gone U1", "rd = ", "state = stop", "vnc = "};

TEST_F(domain_shutdown, D23_graceful) {
    running_guest();
    set_now("shutdown");
    pass(20s);
    EXPECT_EQ(effects(), graceful);
    EXPECT_NEAR(moment("gone U1"), 2.6, 0.05);
    EXPECT_NEAR(moment("rd = "), 2.6, 0.1);  // not at 1 s, when the guest is off
    EXPECT_NEAR(moment("state = stop"), 2.6, 0.1);
    EXPECT_LT(moment("shutdown U1"), 0.5);
    EXPECT_EQ(states(), (texts{"start", "shutdown", "stop"}));
}

TEST_F(domain_shutdown, D24_the_guest_ignores_it) {
    running_guest("hang");
    set_now("shutdown");
    pass(4900ms);
    EXPECT_EQ(effects(), texts{"shutdown U1"});
    EXPECT_EQ(state(), "shutdown");
    pass(10s);
    EXPECT_EQ(effects(), (texts{"shutdown U1", "destroy U1", "gone U1", "rd = ", "state = stop", "vnc = "}));
    EXPECT_NEAR(moment("destroy U1"), 5.0, 0.1);
    EXPECT_GE(moment("state = stop"), moment("gone U1"));
}

// The guest's own time runs from the first request, whatever it is to become meanwhile (6.2).
TEST_F(domain_shutdown, D24_the_deadline_does_not_begin_again) {
    running_guest("hang");
    set_now("shutdown");
    set_at(2s, "disable");
    set_at(4s, "restart");
    pass(5s);
    EXPECT_NEAR(moment("destroy U1"), 5.0, 0.1) << pvc::join(effects(), "; ");
    EXPECT_EQ(count("shutdown U1"), 1U);
}

TEST_F(domain_shutdown, D25_start_while_it_shuts_down) {
    running_guest();
    guest().shutdown_time = 3s;
    set_now("shutdown");
    set_at(2s, "start");
    pass(20s);
    EXPECT_EQ(effects(), (texts{"shutdown U1", "gone U1", "create U1"}));
    EXPECT_NEAR(moment("gone U1"), 4.6, 0.05);
    EXPECT_LT(moment("create U1") - moment("gone U1"), 1.0);
    EXPECT_EQ(states(), (texts{"start", "shutdown", "start"}));
    expect_running();
}

TEST_F(domain_shutdown, D25_start_for_a_guest_that_ignores_it) {
    running_guest("hang");
    set_now("shutdown");
    set_at(2s, "start");
    pass(30s);
    EXPECT_EQ(effects(), texts{"shutdown U1"});
    expect_running();
    // Another shutdown has its own time.
    set_now("shutdown");
    pass(4900ms);
    EXPECT_EQ(effects(), texts{"shutdown U1"});
    pass(10s);
    expect_off("stop");
}

TEST_F(domain_shutdown, D26_stop_while_it_shuts_down) {
    running_guest("hang");
    set_now("shutdown");
    set_at(2s, "stop");
    pass(10s);
    EXPECT_EQ(effects(), (texts{"shutdown U1", "destroy U1", "gone U1", "rd = ", "vnc = "}));
    EXPECT_NEAR(moment("destroy U1"), 2.0, 0.5);
    EXPECT_EQ(states(), (texts{"start", "shutdown", "stop"}));
}

TEST_F(domain_shutdown, D27_shutdown_of_what_is_off) {
    define("shutdown", "hv1");
    add_running_host();
    pass(5s);
    EXPECT_EQ(effects(), texts{"state = stop"});
}

TEST_F(domain_shutdown, D28_stop) {
    running_guest();
    set_now("stop");
    pass(20s);
    EXPECT_EQ(effects(), (texts{"destroy U1", "gone U1", "rd = ", "vnc = "}));
    EXPECT_LT(moment("destroy U1"), 0.5);
    EXPECT_EQ(version(key("/state")), 1);
}

TEST_F(domain_shutdown, D29_disable_while_it_stops) {
    running_guest();
    guest().delay_next("destroy", 3s);
    set_now("stop");
    set_at(1s, "disable");
    pass(20s);
    EXPECT_EQ(effects(), (texts{"destroy U1", "gone U1", "rd = ", "vnc = "}));
    EXPECT_EQ(states(), (texts{"start", "stop", "disable"}));
    expect_off("disable");
}

TEST_F(domain_shutdown, D29_start_while_it_stops) {
    running_guest();
    set_now("stop");
    set_at(1s, "start");
    pass(20s);
    EXPECT_EQ(effects(), (texts{"destroy U1", "gone U1", "rd = ", "vnc = ", "rd = U1", "create U1", running_vnc}));
    expect_running();
}

TEST_F(domain_shutdown, D30_the_domain_is_gone_already) {
    running_guest();
    on_call = [&](const std::string& call) {
        if (call == "destroy U1") {
            guest().vanish();  // without a word
        }
    };
    set_now("stop");
    pass(10s);
    expect_off("stop");
    EXPECT_EQ(count("destroy U1"), 1U);
    set("start");
    pass(2s);
    expect_running();
}

TEST_F(domain_shutdown, D31_destroy_fails_for_a_while) {
    define("start", "hv1", "", {}, u2, "db");
    running_guest();
    guest().fail_always("destroy", refusal(call_error::other, "Failed to terminate process: Device or resource busy"));
    set_now("stop");
    pass(3s);
    EXPECT_NE(running().find(to_text(u1)), std::string::npos);
    ensemble.put(model::domain_path(to_text(u2), "/state"), "stop");
    pass(3s);
    EXPECT_FALSE(machine().guest(u2).is_there());
    EXPECT_EQ(running(), to_text(u1));
    EXPECT_EQ(state(), "stop");
    guest().clear_faults("destroy");
    pass(5s);
    const auto at = moments("destroy U1");
    ASSERT_EQ(at.size(), 4U);
    for (std::size_t i = 1; i < at.size(); ++i) {
        EXPECT_NEAR(at[i] - at[i - 1], 2.0, 0.1);
    }
    expect_off("stop");
    EXPECT_EQ(version(key("/state")), 1);
}

class domain_restart : public domain_shutdown {
protected:
    static std::string newer() { return xml(u1, "web", "<emulator>/usr/bin/newer</emulator>"); }
    void running_with_new_xml(const std::string& kind = "acpi") {
        running_guest(kind);
        ensemble.put(key("/xml"), newer());
    }
};

TEST_F(domain_restart, D32_restart_with_another_definition) {
    running_with_new_xml();
    set_now("restart");
    pass(20s);
    EXPECT_EQ(effects(), (texts{"shutdown U1", "gone U1", "rd = ", "rd = U1", "create U1", "state = start"}));
    EXPECT_EQ(guest().xml(), newer());
    EXPECT_EQ(states(), (texts{"start", "restart", "start"}));
    expect_running();
}

TEST_F(domain_restart, D32_the_reason_of_an_earlier_failure_goes_with_it) {
    running_with_new_xml();
    ensemble.put(key("/failedreason"), "x");
    set_now("restart");
    pass(20s);
    EXPECT_EQ(effects().back(), "state = start + failedreason = ");
}

TEST_F(domain_restart, D33_the_guest_ignores_it) {
    running_with_new_xml("hang");
    set_now("restart");
    pass(20s);
    EXPECT_EQ(effects(),
              (texts{"shutdown U1", "destroy U1", "gone U1", "rd = ", "rd = U1", "create U1", "state = start"}));
    EXPECT_NEAR(moment("destroy U1"), 5.0, 0.1);
    EXPECT_EQ(guest().xml(), newer());
    EXPECT_EQ(states(), (texts{"start", "restart", "start"}));
}

TEST_F(domain_restart, D34_stop_while_it_restarts) {
    running_with_new_xml("hang");
    set_now("restart");
    set_at(1s, "stop");
    pass(20s);
    EXPECT_EQ(effects(), (texts{"shutdown U1", "destroy U1", "gone U1", "rd = ", "vnc = "}));
    EXPECT_NEAR(moment("destroy U1"), 1.0, 0.5);
    expect_off("stop");
}

TEST_F(domain_restart, D34_other_states_while_it_restarts) {
    for (const auto& [state, end] : std::map<std::string, std::string>{
             {"shutdown", "stop"}, {"disable", "disable"}, {"mirror", "mirror"}, {"delete", "delete"}}) {
        define("stop", "hv1");
        if (nodes.empty()) {
            settled_host();
        }
        pass(2s);
        set("start");
        pass(2s);
        set_now("restart");
        set_at(500ms, state);
        pass(20s);
        EXPECT_FALSE(guest().is_there()) << state;
        EXPECT_EQ(value(key("/state")), end);
        EXPECT_EQ(running(), "");
        EXPECT_EQ(count("shutdown U1"), 1U) << state << ": " << pvc::join(effects(), "; ");
        EXPECT_EQ(count("destroy U1"), state == "delete" ? 1U : 0U) << state;
        EXPECT_EQ(count("vnc = "), state == "delete" ? 0U : 1U) << state;
        EXPECT_EQ(count("create U1"), 0U) << state;
    }
}

TEST_F(domain_restart, D35_the_creation_fails) {
    running_with_new_xml();
    guest().fail_next("create", refusal(call_error::other, "no such network"));
    set_now("restart");
    pass(20s);
    EXPECT_EQ(effects(), (texts{"shutdown U1", "gone U1", "rd = ", "rd = U1", "create U1",
                                "state = fail + failedreason = no such network", "vnc = ", "rd = "}));
}

TEST_F(domain_restart, D36_restart_of_what_is_off) {
    define("stop", "hv1");
    settled_host();
    set_now("restart");
    pass(10s);
    EXPECT_EQ(effects(), (texts{"rd = U1", "create U1", "state = start + vnc = 127.0.0.1:5900"}));
    expect_running();
}

TEST_F(domain_restart, restart_of_a_paused_guest_destroys_it) {
    running_with_new_xml();
    guest().suspend();
    pass(1s);
    set_now("restart");
    pass(20s);
    EXPECT_EQ(effects(), (texts{"destroy U1", "gone U1", "rd = ", "rd = U1", "create U1", "state = start"}));
}

TEST_F(domain_restart, restart_once_more_while_it_is_created) {
    running_with_new_xml();
    guest().create_time = 2s;
    set_now("restart");
    pass(3500ms);
    ASSERT_EQ(count("create U1"), 1U);
    ensemble.put(key("/xml"), xml(u1, "web", "<emulator>/usr/bin/newest</emulator>"));
    set("restart");
    pass(30s);
    EXPECT_EQ(guest().xml(), xml(u1, "web", "<emulator>/usr/bin/newest</emulator>"));
    expect_running();
}

TEST_F(domain_shutdown, D37_disable) {
    running_guest();
    set_now("disable");
    pass(20s);
    EXPECT_EQ(effects(), (texts{"shutdown U1", "gone U1", "rd = ", "vnc = "}));
    EXPECT_EQ(version(key("/state")), 1);
    expect_off("disable");
}

TEST_F(domain_shutdown, D37_disable_of_a_guest_that_ignores_it) {
    running_guest("hang");
    set_now("mirror");
    pass(20s);
    EXPECT_EQ(effects(), (texts{"shutdown U1", "destroy U1", "gone U1", "rd = ", "vnc = "}));
    expect_off("mirror");
}

TEST_F(domain_shutdown, D38_what_was_written_while_disconnected) {
    running_guest();
    hv1().connector.link().cut();
    pass(500ms);
    set("stop");
    set("disable");
    pass(3s);
    EXPECT_EQ(effects(), texts{});
    hv1().connector.link().mend();
    pass(30s);
    EXPECT_EQ(effects(), (texts{"shutdown U1", "gone U1", "rd = ", "vnc = "}));
    expect_off("disable");
}

TEST_F(domain_shutdown, D39_stop_of_a_paused_guest) {
    running_guest();
    guest().suspend();
    pass(1s);
    set_now("stop");
    pass(10s);
    EXPECT_EQ(effects(), (texts{"destroy U1", "gone U1", "rd = ", "vnc = "}));
}

TEST_F(domain_shutdown, D40_shutdown_of_a_paused_guest) {
    running_guest();
    guest().suspend();
    pass(1s);
    set_now("shutdown");
    pass(20s);
    EXPECT_EQ(effects(), (texts{"resume U1", "shutdown U1", "gone U1", "rd = ", "state = stop", "vnc = "}));
}

TEST_F(domain_shutdown, D40_a_paused_guest_that_cannot_be_resumed) {
    running_guest();
    guest().suspend();
    guest().fail_always("resume", refusal(call_error::other, "no"));
    pass(1s);
    set_now("shutdown");
    pass(20s);
    EXPECT_EQ(effects(), (texts{"resume U1", "destroy U1", "gone U1", "rd = ", "state = stop", "vnc = "}));
    EXPECT_NEAR(moment("destroy U1"), 5.0, 0.1);
}

TEST_F(domain_shutdown, D40a_it_is_still_going_down_elsewhere) {
    put_host("hv2");
    ensemble.put("/nodes/hv2/runningdomains", to_text(u1));
    define("shutdown", "hv1");
    settled_host();
    const auto from = loop.clock().now();
    pass(2s);
    EXPECT_EQ(effects(), texts{});
    ensemble.put("/nodes/hv2/runningdomains", "");
    pass(3s);
    EXPECT_EQ(effects(), texts{"state = stop"});
    EXPECT_LT(moment("state = stop"), std::chrono::duration<double>(2100ms).count());
    (void)from;
}

TEST_F(domain_shutdown, D40a_the_other_node_writes_it) {
    put_host("hv2");
    ensemble.put("/nodes/hv2/runningdomains", to_text(u1));
    define("shutdown", "hv1");
    settled_host();
    set("stop");
    ensemble.put("/nodes/hv2/runningdomains", "");
    pass(30s);
    EXPECT_EQ(effects(), texts{});
}

TEST_F(domain_shutdown, D114_a_list_that_nobody_keeps) {
    for (const char* daemon : {"run", "stop", "dead"}) {
        put_host("hv2", daemon);
        ensemble.put("/nodes/hv2/runningdomains", to_text(u1));
        define("shutdown", "hv1");
        if (nodes.empty()) {
            add_running_host();
        }
        mark();
        pass(9s);
        EXPECT_EQ(effects(), texts{}) << daemon;
        pass(6s);
        EXPECT_EQ(effects(), texts{"state = stop"}) << daemon;
    }
}

TEST_F(domain_shutdown, D114_the_hypervisor_that_lists_it_is_silent) {
    put_host("hv2");
    ensemble.put("/nodes/hv2/runningdomains", to_text(u1));
    machine("hv2").stop_libvirtd();
    define("shutdown", "hv1");
    add_running_host();
    pass(120s);
    EXPECT_EQ(effects(), texts{});
    ensemble.put("/nodes/hv2/daemonstate", "fenced");  // counts as not listed
    pass(15s);
    EXPECT_EQ(effects(), texts{"state = stop"});
}

TEST_F(domain_shutdown, D114_the_other_node_has_it) {
    put_host("hv2");
    ensemble.put("/nodes/hv2/runningdomains", to_text(u1));
    machine("hv2").put_running(u1, "web", xml(u1));
    define("shutdown", "hv1");
    add_running_host();
    pass(60s);
    EXPECT_EQ(effects(), texts{});
}

// A request that the hypervisor may not have got is made again.
TEST_F(domain_shutdown, libvirt_dies_as_it_is_asked) {
    running_guest();
    guest().hang_next("shutdown");
    set_now("shutdown");
    pass(200ms);
    machine().restart_libvirtd();
    pass(20s);
    EXPECT_EQ(effects(), (texts{"shutdown U1", "shutdown U1", "gone U1", "rd = ", "state = stop", "vnc = "}));
}

TEST_F(domain_shutdown, a_request_that_fails_is_repeated_with_ACPI) {
    running_guest();
    hv1().settings.vm_shutdown_timeout = 60;
    hv1().stop();
    hv1().start();
    ASSERT_TRUE(hv1().run_until_ready());
    pass(2s);
    guest().fail_next("shutdown", refusal(call_error::other, "Guest agent is not responding"), 2);
    set_now("shutdown");
    pass(40s);
    EXPECT_EQ(effects(), (texts{"shutdown U1", "shutdown_acpi U1", "shutdown_acpi U1", "gone U1",
                                "rd = ", "state = stop", "vnc = "}));
    const auto at = moments("shutdown_acpi U1");
    EXPECT_NEAR(at.at(0), 10.0, 0.1);
    EXPECT_NEAR(at.at(1), 20.0, 0.1);
}

TEST_F(domain_shutdown, a_reboot_is_no_shutdown) {
    running_guest("hang");
    set_now("shutdown");
    pass(1s);
    guest().reset();
    pass(1s);
    EXPECT_EQ(state(), "shutdown");
    EXPECT_EQ(effects(), texts{"shutdown U1"});
}

}  // namespace
}  // namespace pvc::node
