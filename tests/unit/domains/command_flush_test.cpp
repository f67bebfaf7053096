// flush_locks: whose locks are broken, of which machines (storage.md 6.4, node-lifecycle.md B.7).
#include "command_fixture.hpp"

namespace pvc::node {
namespace {

class flush_command : public command_test {};

TEST_F(flush_command, AC108_locks_of_a_machine_that_is_off) {
    stopped();
    hardware.rbd.lock(sda, "10.254.0.2:0/7");
    hardware.rbd.add_image(sdb);
    settled_host();
    EXPECT_EQ(ask(flush), "success-" + flush);
    const auto calls = hardware.rbd.calls();
    ASSERT_GE(calls.size(), 4U);
    EXPECT_EQ((texts{calls[0], calls[1]}), (texts{"list vms/web_sda", "list vms/web_sdb"}));
    EXPECT_TRUE(calls[2].starts_with("open vms/web_sda ") && calls[3].starts_with("break vms/web_sda ")) << calls[2];
    EXPECT_TRUE(hardware.rbd.locks(sda).empty());
    EXPECT_EQ(answers(), texts{"success-" + flush});
    EXPECT_NEAR(answered_after(), 0.8, 0.2);
    const double held = std::chrono::duration<double>(read_at - sent_at).count() - answered_after();
    EXPECT_NEAR(held, 1.0, 0.1);
    EXPECT_EQ(effects(), texts{});  // nothing of the machine was written
    EXPECT_EQ(value(pipe), "");
    expect_idle();
}

TEST_F(flush_command, own_locks_of_a_machine_that_is_to_run) {
    stopped("start", sda);
    machine().guest(u1).fail_always("create", refusal(hypervisor::call_error::being_removed, "being removed"));
    hardware.rbd.add_image(sda);
    settled_host();
    pass(10s);
    hardware.rbd.lock(sda, "10.254.0.1:0/9");
    // Its start holds the slot for as long as it tries (15 s); the command comes right behind it.
    EXPECT_EQ(ask(flush), "success-" + flush);
    EXPECT_TRUE(hardware.rbd.locks(sda).empty());
}

TEST_F(flush_command, a_foreign_lock_of_a_machine_that_is_not_off) {
    define("provision", "hv1", "", {{"/rbdlist", "vms/web_sda,vms/web_sdb"}});
    hardware.rbd.lock(sda, "10.254.0.1:0/1");
    hardware.rbd.lock(sdb, "10.254.0.2:0/7");
    settled_host();
    EXPECT_EQ(ask(flush), "failure-" + flush);
    EXPECT_EQ(breaks(), 0U);
    EXPECT_EQ(state(), "provision");
    EXPECT_NE(hv1().log().find("is held by 10.254.0.2"), std::string::npos);
    hardware.rbd.unlock(sdb);
    EXPECT_EQ(ask(flush), "success-" + flush);
    EXPECT_EQ(breaks(), 1U);
}

TEST_F(flush_command, any_lock_in_the_states_that_are_off) {
    stopped();
    settled_host();
    for (const auto* word : {"stop", "disable", "fail"}) {
        hardware.rbd.lock(sda, "10.254.0.1:0/1");
        hardware.rbd.lock(sdb, "10.254.0.2:0/7");
        set(word);
        pass(1s);
        EXPECT_EQ(ask(flush), "success-" + flush) << word;
        EXPECT_TRUE(hardware.rbd.locks(sda).empty() && hardware.rbd.locks(sdb).empty()) << word;
        EXPECT_EQ(state(), word);
    }
}

TEST_F(flush_command, no_lock_of_a_machine_that_another_node_still_has) {
    stopped("fail");
    put_host("hv2");
    machine("hv2").put_running(u1, "web", xml(u1));
    ensemble.put("/nodes/hv2/runningdomains", to_text(u1));
    hardware.rbd.lock(sda, "10.254.0.2:0/7");
    hardware.rbd.add_image(sdb);
    settled_host();
    EXPECT_EQ(ask(flush), "failure-" + flush);
    EXPECT_EQ(breaks(), 0U);
    EXPECT_TRUE(hv1().logged("node hv2 still has it in its running list")) << hv1().log();
    guest("hv2").power_off();  // its daemon has not said so yet
    ASSERT_TRUE(run_until([&] { return !guest("hv2").is_there(); }));
    EXPECT_EQ(ask(flush), "success-" + flush) << hv1().log();
    EXPECT_EQ(breaks(), 1U);
}

// Its daemon was stopped in order, and leaves its guests running: a silence says nothing. That it is dead is proof
// enough.
TEST_F(flush_command, no_lock_of_a_machine_that_a_stopped_node_lists) {
    stopped("fail", sda);
    put_host("hv2", "stop");
    ensemble.put("/nodes/hv2/runningdomains", to_text(u1));
    machine("hv2").lose_power();
    hardware.rbd.lock(sda, "10.254.0.2:0/7");
    settled_host();
    EXPECT_EQ(ask(flush), "failure-" + flush);
    EXPECT_EQ(breaks(), 0U);
    ensemble.put("/nodes/hv2/daemonstate", "dead");
    EXPECT_EQ(ask(flush), "success-" + flush);
    EXPECT_EQ(breaks(), 1U);
}

TEST_F(flush_command, no_lock_of_a_machine_that_is_active_here) {
    define("fail", "hv1", "", {{"/rbdlist", sda}});
    machine().put_running(u1, "web", xml(u1));
    hardware.rbd.lock(sda, "10.254.0.1:0/1");
    settled_host();
    EXPECT_EQ(ask(flush), "failure-" + flush);
    guest().suspend();
    EXPECT_EQ(ask(flush), "failure-" + flush);
    EXPECT_TRUE(hardware.rbd.calls().empty());
    EXPECT_NE(hv1().log().find("it is active here"), std::string::npos);
}

TEST_F(flush_command, nothing_to_flush_is_success) {
    stopped("stop", "");
    settled_host();
    EXPECT_EQ(ask(flush), "success-" + flush);
    ensemble.put(key("/rbdlist"), "vms/gone");
    EXPECT_EQ(ask(flush), "success-" + flush);
    EXPECT_EQ(hardware.rbd.calls(), texts{"list vms/gone"});
}

TEST_F(flush_command, Ceph_that_cannot_be_asked_or_refuses_is_failure) {
    stopped("stop", sda);
    hardware.rbd.lock(sda, "10.254.0.1:0/1");
    settled_host();
    hv1().ceph->rbd.is_unavailable = true;
    EXPECT_EQ(ask(flush), "failure-" + flush);
    EXPECT_NE(hv1().log().find("Ceph cannot be asked from here"), std::string::npos);
    hv1().ceph->rbd.is_unavailable = false;
    hardware.rbd.fail_next("break", failure(errc::refused, {}, "Operation not permitted"));
    EXPECT_EQ(ask(flush), "failure-" + flush);
    EXPECT_NE(hv1().log().find("could not be removed"), std::string::npos);
    hardware.rbd.hangs = true;
    EXPECT_EQ(ask(flush), "failure-" + flush);
    EXPECT_NEAR(answered_after(), 20.0, 0.1);
    hardware.rbd.hangs = false;
    EXPECT_EQ(ask(flush), "success-" + flush);
}

// Somebody starts it while its locks are listed: what is his is not broken.
TEST_F(flush_command, a_start_between_listing_and_breaking) {
    stopped("stop", sda);
    settled_host();
    for (int offset = 50; offset < 1200; offset += 50) {
        hardware.rbd.lock(sda, "10.254.0.1:0/1");
        hardware.rbd.list_time = 400ms;
        send(flush);
        pass(offset * 1ms);
        set("start");
        const std::string answer = read_answer();
        // Broken for the command, before the answer, or for the start, behind it.
        ASSERT_TRUE(run_until([&] { return breaks() == 1; }, 30s));
        const auto& all = hardware.rbd.all_calls();
        const auto broken = std::ranges::find_if(all, [](const auto& one) { return one.text.starts_with("break "); });
        const bool is_for_us = std::chrono::duration<double>(broken->at - sent_at).count() < answered_after();
        EXPECT_EQ(answer, (is_for_us ? "success-" : "failure-") + flush) << offset;
        EXPECT_EQ(is_for_us, offset > 810) << offset << ": its image is opened before the proof is taken";
        clear();
        ASSERT_TRUE(run_until([&] { return guest().executes(); }, 60s));
        set("stop");
        ASSERT_TRUE(run_until([&] { return !guest().is_there(); }, 60s));
        pass(1s);
        hardware.rbd.unlock(sda);
        hardware.rbd.clear_calls();
    }
}

}  // namespace
}  // namespace pvc::node
