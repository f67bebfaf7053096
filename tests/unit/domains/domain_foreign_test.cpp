// Unexpected ends and what others do (vm-domains.md B.4).
#include "domain_effects.hpp"

namespace pvc::node {
namespace {

using hypervisor::call_error;

class domain_foreign : public effects_test {
protected:
    void running_guest(const std::string& kind = "acpi") {
        define("start", "hv1");
        machine().put_running(u1, "web", xml(u1, "web", "<!-- sim:" + kind + " -->"));
        settled_host();
    }
};

TEST_F(domain_foreign, D41_the_guest_powers_off) {
    running_guest();
    guest().power_off();
    pass(20s);
    EXPECT_EQ(effects(), (texts{"gone U1", "create U1"}));
    EXPECT_LT(moment("create U1") - moment("gone U1"), 1.0);
    EXPECT_EQ(version(key("/state")), 0);
    EXPECT_EQ(values_written("/nodes/hv1/runningdomains").back(), to_text(u1));
    expect_running();
}

TEST_F(domain_foreign, D42_QEMU_is_killed) {
    running_guest();
    guest().crash();
    // Somebody looks closer: libvirt says it is gone, its process is still being removed.
    guest().fail_next("create", refusal(call_error::being_removed, "operation failed: being removed"), 2);
    pass(20s);
    EXPECT_EQ(effects(), (texts{"gone U1", "create U1", "create U1", "create U1"}));
    EXPECT_EQ(version(key("/state")), 0);
    EXPECT_LT(moments("create U1").back(), 10.0);
    expect_running();
}

TEST_F(domain_foreign, D43_a_crash_loop_is_spaced) {
    define("start", "hv1", "", {{"/xml", xml(u1, "web", "<!-- sim:off -->")}});
    guest().off_time = 1s;
    guest().going_time = 0ms;
    settled_host();
    pass(500s);
    const auto at = machine().times("create U1");
    ASSERT_GE(at.size(), 9U);
    const std::vector<double> wanted{0, 2, 4, 8, 16, 32, 60, 60};
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        const double life_and_creation = 1.25;
        EXPECT_NEAR(std::chrono::duration<double>(at[i + 1] - at[i]).count(), wanted[i] + life_and_creation, 0.1) << i;
    }
    EXPECT_EQ(version(key("/state")), 0);
    EXPECT_EQ(running(), to_text(u1));
}

TEST_F(domain_foreign, D43_a_client_ends_the_spacing) {
    define("start", "hv1", "", {{"/xml", xml(u1, "web", "<!-- sim:off -->")}});
    guest().off_time = 1s;
    settled_host();
    pass(150s);
    ASSERT_FALSE(guest().is_there());
    guest().set_kind(sim::guest_kind::acpi);
    mark();
    set("start");  // a nudge
    pass(2s);
    EXPECT_EQ(effects(), texts{"create U1"});
    expect_running();
    // Its next end is the first one.
    guest().power_off();
    mark();
    pass(4s);
    EXPECT_EQ(effects(), (texts{"gone U1", "create U1"}));
    EXPECT_LT(moment("create U1") - moment("gone U1"), 0.5);
}

TEST_F(domain_foreign, D43_stop_and_start_end_the_spacing) {
    define("start", "hv1", "", {{"/xml", xml(u1, "web", "<!-- sim:off -->")}});
    guest().off_time = 1s;
    settled_host();
    pass(150s);
    ASSERT_FALSE(guest().is_there());
    guest().set_kind(sim::guest_kind::acpi);
    set("stop");
    pass(1s);
    expect_off("stop");
    mark();
    set("start");
    pass(2s);
    EXPECT_LT(moment("create U1"), 0.5);
    expect_running();
    guest().power_off();
    mark();
    pass(4s);
    EXPECT_EQ(effects(), (texts{"gone U1", "create U1"}));
    EXPECT_LT(moment("create U1") - moment("gone U1"), 0.5);
}

TEST_F(domain_foreign, D43_stop_while_it_waits_for_its_next_start) {
    define("start", "hv1", "", {{"/xml", xml(u1, "web", "<!-- sim:off -->")}});
    guest().off_time = 1s;
    settled_host();
    pass(150s);
    const auto created = guest().starts();
    set("stop");
    pass(100s);
    EXPECT_EQ(guest().starts(), created);
    expect_off("stop");
}

TEST_F(domain_foreign, D43_the_creation_after_a_crash_fails) {
    running_guest();
    guest().fail_next("create", refusal(call_error::other, "no such image"));
    guest().power_off();
    pass(90s);
    EXPECT_EQ(effects(),
              (texts{"gone U1", "create U1", "state = fail + failedreason = no such image", "vnc = ", "rd = "}));
}

TEST_F(domain_foreign, D44_a_reboot) {
    running_guest();
    guest().reset();
    pass(10s);
    EXPECT_EQ(effects(), texts{});
    EXPECT_EQ(hv1().times_logged("rebooted"), 1U);
}

// What a guest can cause as often as it likes is a line for the first, and one a minute (docs/security.md).
TEST_F(domain_foreign, a_guest_that_makes_noise_does_not_fill_the_log) {
    running_guest();
    for (int i = 0; i < 900; ++i) {
        guest().reset();
        guest().pause_by_io_error("sda");
        guest().resume();
        guest().set_status({model::run_state::suspended, model::pause_cause::none});
        pass(50ms);
        guest().set_status({model::run_state::running, model::pause_cause::none});
        pass(50ms);
    }
    pass(70s);
    EXPECT_EQ(hv1().times_logged("the guest rebooted"), 3U);
    EXPECT_EQ(hv1().times_logged("I/O error of a disk: sda"), 1U);
    EXPECT_EQ(hv1().times_logged("more I/O error(s) of its disks in the last minute, the last one of sda"), 2U);
    EXPECT_EQ(hv1().times_logged("it is paused (the guest sleeps)"), 1U);
    EXPECT_EQ(hv1().times_logged("the guest fell asleep"), 2U);
    EXPECT_EQ(effects(), texts{});
}

TEST_F(domain_foreign, D45_started_by_somebody_else) {
    define("stop", "hv1");
    settled_host();
    guest().appear("web", xml(u1));
    pass(10s);
    ASSERT_FALSE(effects().empty());
    EXPECT_EQ(effects().front(), "destroy U1");
    EXPECT_EQ(version(key("/state")), 0);
    expect_off("stop");
}

TEST_F(domain_foreign, D46_it_belongs_to_another_node) {
    put_host("hv2");
    running_guest();
    place("start", "hv2", "hv1");
    pass(10s);
    EXPECT_EQ(effects(), (texts{"destroy U1", "gone U1", "rd = "}));
    EXPECT_LT(moment("destroy U1"), 1.0);
    EXPECT_EQ(value(key("/vnc")), "127.0.0.1:5900");
}

// `node` alone is watched too.
TEST_F(domain_foreign, D46_only_the_node_changes) {
    put_host("hv2");
    running_guest();
    ensemble.put(key("/node"), "hv2");
    pass(10s);
    EXPECT_EQ(effects(), (texts{"destroy U1", "gone U1", "rd = "}));
    ensemble.put(key("/node"), "hv1");
    pass(10s);
    EXPECT_EQ(effects(), (texts{"destroy U1", "gone U1", "rd = ", "rd = U1", "create U1"}));
}

TEST_F(domain_foreign, D47_the_only_good_copy) {
    put_host("hv2");
    define("fail", "hv2");
    machine().put_running(u1, "web", xml(u1));
    add_running_host();
    pass(20s);
    EXPECT_EQ(effects(), texts{"rd = U1"});
    EXPECT_EQ(running(), to_text(u1));
    EXPECT_EQ(hv1().times_logged("failed to start it, and it runs here"), 1U);
    pass(100s);
    EXPECT_GE(hv1().times_logged("failed to start it, and it runs here"), 2U);
    EXPECT_TRUE(guest().executes());
}

TEST_F(domain_foreign, D48_a_state_that_nobody_knows) {
    put_host("hv2");
    define("frobnicate", "hv2");
    machine().put_running(u1, "web", xml(u1));
    add_running_host();
    pass(60s);
    EXPECT_TRUE(calls().empty());
    EXPECT_TRUE(guest().executes());
    for (const auto& text : effects()) {
        EXPECT_EQ(text, "rd = U1");
    }
    EXPECT_EQ(hv1().times_logged("frobnicate"), 1U);
}

TEST_F(domain_foreign, D49_a_guest_that_the_cluster_does_not_know) {
    settled_host();
    machine().put_running(u1, "web", xml(u1));
    pass(60s);
    EXPECT_EQ(effects(), texts{});
    EXPECT_TRUE(guest().executes());
    EXPECT_EQ(running(), "");
    EXPECT_EQ(hv1().times_logged("does not know"), 1U);
}

TEST_F(domain_foreign, suspended_and_resumed_by_somebody_else) {
    running_guest();
    guest().suspend();
    pass(10s);
    guest().resume();
    pass(10s);
    EXPECT_EQ(effects(), texts{});
    expect_running();
}

// Its events are lost (the connection broke as it ended): the next listing says it.
TEST_F(domain_foreign, gone_without_a_word) {
    running_guest();
    guest().vanish();
    pass(6s);
    EXPECT_EQ(effects(), (texts{"gone U1", "create U1"}));
    expect_running();
}

// --- libvirt ---

TEST_F(domain_foreign, libvirt_is_restarted_under_guests) {
    running_guest();
    for (int i = 0; i < 5; ++i) {
        machine().restart_libvirtd();
        pass(7s);
    }
    machine().kill_libvirtd();
    pass(60s);
    machine().start_libvirtd();
    pass(20s);
    EXPECT_EQ(effects(), texts{});
    expect_running();
}

TEST_F(domain_foreign, a_guest_ends_while_libvirt_is_away) {
    running_guest();
    machine().kill_libvirtd();
    guest().vanish();
    pass(20s);
    EXPECT_EQ(effects(), texts{"gone U1"});
    EXPECT_EQ(running(), to_text(u1));
    machine().start_libvirtd();
    mark();
    pass(5s);
    EXPECT_EQ(effects(), texts{"create U1"});
    expect_running();
}

TEST_F(domain_foreign, libvirt_hangs) {
    for (const std::string wish : {"stop", "shutdown", "restart", "start", "disable"}) {
        define("stop", "hv1");
        if (nodes.empty()) {
            settled_host();
        }
        pass(3s);
        set("start");
        pass(3s);
        machine().stop_libvirtd();
        const auto from = loop.clock().now();
        set(wish);
        pass(60s);
        EXPECT_EQ(state(), wish);
        const auto gaps = beat_gaps("hv1", from);
        ASSERT_GE(gaps.size(), 10U);
        EXPECT_LT(gaps.front(), 5.1);
        machine().continue_libvirtd();
        pass(40s);
        EXPECT_LT(beat_gaps("hv1", from).front(), 5.1);
        if (wish == "start" || wish == "restart") {
            expect_running();
        } else {
            expect_off(wish == "shutdown" ? "stop" : wish);
        }
        ASSERT_FALSE(HasFailure()) << wish << ": " << pvc::join(effects(), "; ");
        EXPECT_EQ(hardware.centre.running_copies(u1), wish == "start" || wish == "restart" ? 1U : 0U);
    }
}

TEST_F(domain_foreign, libvirt_hangs_before_a_start) {
    define("stop", "hv1");
    settled_host();
    machine().stop_libvirtd();
    const auto from = loop.clock().now();
    set("start");
    pass(300s);
    EXPECT_EQ(state(), "start");
    EXPECT_LT(beat_gaps("hv1", from).front(), 5.1);
    machine().continue_libvirtd();
    pass(30s);
    expect_running();
    EXPECT_EQ(guest().starts(), 1U);
}

TEST_F(domain_foreign, libvirt_hangs_at_each_moment_of_a_start) {
    define("stop", "hv1");
    settled_host();
    for (int offset = 0; offset < 400; offset += 20) {
        set("start");
        pass(offset * 1ms);
        machine().stop_libvirtd();
        pass(40s);
        machine().continue_libvirtd();
        pass(30s);
        expect_running();
        set("stop");
        pass(10s);
        expect_off("stop");
        ASSERT_FALSE(HasFailure()) << offset;
    }
}

}  // namespace
}  // namespace pvc::node
