// Commands of clients about one machine, at schema 9 (vm-domains.md 14, node-lifecycle.md 13 and B.7, storage.md 6.4).
#include "command_fixture.hpp"

namespace pvc::node {
namespace {

class commands : public command_test {};

TEST_F(commands, AC107_what_stands_there_at_the_start_is_not_carried_out) {
    stopped();
    hardware.rbd.lock(sda, "10.254.0.1:0/1");
    ensemble.put(pipe, flush);
    settled_host();
    pass(60s);
    EXPECT_EQ(answers(), texts{});
    EXPECT_TRUE(hardware.rbd.calls().empty());
    EXPECT_EQ(value(pipe), flush);
    EXPECT_EQ(ask(flush), "success-" + flush);  // the same text, written again, is a command
}

TEST_F(commands, AC107_nor_what_names_nobody_also_in_a_new_session) {
    runs_it();
    const std::string text = "attach_device";
    EXPECT_EQ(ask(text), "failure-" + text);
    forget_answers();
    hv1().stop();
    ensemble.put(pipe, text);
    hv1().start();
    ASSERT_TRUE(hv1().run_until_ready());
    pass(10s);
    for (const auto session : ensemble.sessions()) {
        ensemble.expire_session(session);
    }
    pass(30s);
    EXPECT_EQ(state_of(hv1()), "run");
    EXPECT_EQ(answers(), texts{});
    EXPECT_EQ(value(pipe), text);
}

TEST_F(commands, AC109_a_machine_of_another_node) {
    define("stop", "hv9", "", {{"/rbdlist", sda}});
    hardware.rbd.lock(sda, "10.254.0.1:0/1");
    settled_host();
    EXPECT_EQ(ask(flush), flush);
    EXPECT_EQ(ask(attach), attach);
    EXPECT_EQ(answers(), texts{});
    EXPECT_TRUE(hardware.rbd.calls().empty());
    EXPECT_TRUE(calls().empty());
    EXPECT_EQ(ask("attach_device " + id + " no XML"), "attach_device " + id + " no XML");
}

TEST_F(commands, AC110_a_device_for_what_does_not_run) {
    stopped();
    settled_host();
    EXPECT_EQ(ask(attach), "failure-" + attach);
    EXPECT_EQ(ask(detach), "failure-" + detach);
    EXPECT_TRUE(calls().empty());
    EXPECT_EQ(effects(), texts{});
    EXPECT_NE(hv1().log().find("it does not run here"), std::string::npos);
}

TEST_F(commands, devices_come_and_go) {
    runs_it();
    EXPECT_EQ(ask(attach), "success-" + attach);
    EXPECT_NE(guest().live_xml().find(disk), std::string::npos);
    EXPECT_LT(answered_after(), 0.4);
    EXPECT_EQ(ask(attach), "failure-" + attach);  // libvirt has it already
    EXPECT_EQ(ask(detach), "success-" + detach);
    EXPECT_EQ(guest().live_xml().find(disk), std::string::npos);
    EXPECT_EQ(ask(detach), "failure-" + detach);
    EXPECT_EQ(calls(), (texts{"attach_device U1 " + disk, "attach_device U1 " + disk, "detach_device U1 " + disk,
                              "detach_device U1 " + disk}));
    expect_running();
    expect_idle();
}

TEST_F(commands, runs_of_blanks_become_one) {
    runs_it();
    const std::string text = "attach_device \t " + id + "   <disk type='file'>\n  <target   dev='vdb'/>\n</disk>\n";
    EXPECT_EQ(ask(text), "success-" + text);
    EXPECT_EQ(calls(), texts{"attach_device U1 <disk type='file'> <target dev='vdb'/> </disk>"});
}

TEST_F(commands, the_statistics_see_the_new_device) {
    runs_it();
    const std::string with_source =
        "<disk type='network' device='disk'><source protocol='rbd' name='vms/web_sdb'/><target dev='sdb'/></disk>";
    EXPECT_EQ(ask("attach_device " + id + " " + with_source), "success-attach_device " + id + " " + with_source);
    EXPECT_TRUE(run_until([&] { return value(key("/stats")).find("vms/web_sdb") != std::string::npos; }, 15s))
        << value(key("/stats"));
}

// --- texts that nobody carries out ---

TEST_F(commands, words_of_others_and_answers_are_left_alone) {
    runs_it();
    for (const std::string& text :
         {std::string(), std::string("  "), std::string("osd_remove 3,False"), "success-" + attach, "failure-" + attach,
          "ATTACH_DEVICE " + id + " " + disk, std::string(1, '\0'), "attach_device, " + id,
          "attach_device 99999999-aaaa-4bbb-8ccc-000000000001 " + disk}) {
        EXPECT_EQ(ask(text), text);
    }
    EXPECT_EQ(answers(), texts{});
    EXPECT_TRUE(calls().empty());
}

TEST_F(commands, malformed_texts_fail) {
    runs_it();
    const std::string to_us = "attach_device " + id;
    for (const std::string& text :
         {std::string("attach_device"), std::string("flush_locks"), std::string("detach_device web ") + disk,
          "attach_device " + disk, "attach_device " + id.substr(1) + " " + disk, to_us, to_us + "   ", to_us + " disk",
          to_us + " <disk", to_us + " disk>", "flush_locks " + id + " now", to_us + " <a>\x01</a>",
          to_us + std::string(" <a/>\0<b/>", 10), to_us + " <a>\x7f</a>",
          to_us + " <!DOCTYPE d [<!ENTITY x SYSTEM 'file:///etc/shadow'>]><disk>&x;</disk>"}) {
        EXPECT_EQ(ask(text), "failure-" + text);
    }
    EXPECT_TRUE(calls().empty());
    expect_running();
}

TEST_F(commands, a_text_of_ten_megabytes) {
    runs_it();
    const std::string head = "attach_device " + id + " ";
    send(head + "<disk>" + std::string(10'000'000, 'x') + "</disk>");
    const std::string answer = read_answer();
    EXPECT_TRUE(answer.starts_with("failure-" + head + "<disk>xxx"));
    EXPECT_LT(answer.size(), 300'000U);
    EXPECT_TRUE(calls().empty());
    clear();
    ensemble.put(pipe, std::string(10'000'000, ' ') + "attach_device");
    pass(5s);
    EXPECT_EQ(ask(attach), "success-" + attach);
    EXPECT_LT(beat_gaps("hv1", {}).front(), 5.5);
    EXPECT_LT(hv1().log().size(), 100'000U);
}

TEST_F(commands, of_several_nodes_one_answers_what_is_addressed_to_nobody) {
    for (const auto* name : {"hv1", "hv2", "hv3"}) {
        add_running_host(name);
    }
    pass(2s);
    for (const std::string& text : {"attach_device", "flush_locks none"}) {
        forget_answers();
        EXPECT_EQ(ask(text), "failure-" + text);
        EXPECT_EQ(answers().size(), 1U);
    }
    expect_idle();
}

// --- time ---

TEST_F(commands, libvirt_does_not_answer) {
    runs_it();
    guest().hang_next("attach_device");
    EXPECT_EQ(ask(attach), "failure-" + attach);
    EXPECT_NEAR(answered_after(), 20.0, 0.1);
    EXPECT_NE(hv1().log().find("whether it was done is not known"), std::string::npos);
    EXPECT_EQ(ask(attach), "success-" + attach);
    machine().kill_libvirtd();
    pass(1s);
    EXPECT_EQ(ask(detach), "failure-" + detach);
    EXPECT_LT(answered_after(), 0.4);
    machine().start_libvirtd();
    pass(5s);
    EXPECT_EQ(ask(detach), "success-" + detach);
    EXPECT_LT(beat_gaps("hv1", {}).front(), 5.5);
}

TEST_F(commands, it_waits_for_the_operation_and_the_operation_for_it) {
    define_running();
    settled_host();
    guest().set_kind(sim::guest_kind::hang);
    set("restart");  // off after 5 s, up again at once
    pass(100ms);
    send(attach);
    EXPECT_EQ(read_answer(), "failure-" + attach);  // between the end and the new creation
    clear();
    EXPECT_TRUE(run_until([&] { return state() == "start"; }));
    guest().delay_next("attach_device", 10s);
    send(attach);
    pass(1s);
    set("stop");
    pass(8s);
    EXPECT_TRUE(guest().executes());
    EXPECT_EQ(read_answer(), "success-" + attach);
    clear();
    EXPECT_TRUE(run_until([&] { return !guest().is_there(); }, 10s));
    pass(1s);
    expect_off("stop");
    expect_idle();
}

TEST_F(commands, an_operation_that_lasts_longer) {
    define_running();
    settled_host();
    guest().delay_next("destroy", 40s);
    set("stop");
    pass(100ms);
    EXPECT_EQ(ask(attach), "failure-" + attach);
    EXPECT_NEAR(answered_after(), 20.0, 0.1);
    EXPECT_NE(hv1().log().find("its present operation did not end"), std::string::npos);
    EXPECT_TRUE(run_until([&] { return !guest().is_there(); }, 60s));
    pass(1s);
    expect_off("stop");
}

TEST_F(commands, a_machine_that_goes_while_its_command_waits) {
    define_running();
    settled_host();
    guest().delay_next("destroy", 5s);
    set("stop");
    pass(100ms);
    send(attach);
    pass(1s);
    ensemble.put(key("/node"), "hv9");
    EXPECT_EQ(read_answer(), "failure-" + attach);
    EXPECT_LT(answered_after(), 6.0);
    clear();
    ensemble.put(key("/node"), "hv1");
    set("start");
    ASSERT_TRUE(run_until([&] { return guest().executes(); }, 30s));
    guest().delay_next("destroy", 5s);
    set("delete");
    pass(100ms);
    send(attach);
    pass(1s);
    ensemble.remove_tree(key());
    EXPECT_EQ(read_answer(), "failure-" + attach);
    clear();
    pass(10s);
    EXPECT_FALSE(guest().is_there());
    EXPECT_FALSE(ensemble.exists(key()));
}

// --- the key, its lock and the session ---

TEST_F(commands, the_lock_is_taken_at_once_and_behind_a_reader_in_time) {
    runs_it();
    send(attach);
    EXPECT_TRUE(run_until([&] { return is_locked(); }, 100ms));
    read_answer();
    clear();
    // A reader that stands there for ever (its client hangs): stepped around, never executed without the lock.
    const auto session = ensemble.open_session();
    contend("__rlock__", session);
    forget_answers();
    machine().clear_calls();
    send(detach);
    pass(10s);
    EXPECT_EQ(answers(), texts{});
    EXPECT_TRUE(calls().empty());
    ensemble.close_session(session);
    pass(1s);
    expect_idle();
    EXPECT_EQ(ask(detach), "success-" + detach);
}

TEST_F(commands, a_command_that_is_taken_back_before_the_lock) {
    runs_it();
    const auto session = ensemble.open_session();
    contend("__lock__", session);
    send(attach);
    pass(1s);
    ensemble.put(pipe, "");
    pass(1s);
    ensemble.close_session(session);
    pass(5s);
    EXPECT_TRUE(calls().empty());
    EXPECT_EQ(answers(), texts{});
    expect_idle();
}

TEST_F(commands, what_another_client_wrote_meanwhile_is_not_overwritten) {
    runs_it();
    define("stop", "hv1", "", {{"/rbdlist", ""}}, u2, "db");
    pass(1s);
    guest().delay_next("attach_device", 2s);
    send(attach);
    pass(1s);
    const std::string other = "flush_locks " + to_text(u2);
    ensemble.put(pipe, other);
    EXPECT_TRUE(run_until([&] { return value(pipe) == "success-" + other; }, 10s)) << value(pipe);
    EXPECT_EQ(answers(), texts{"success-" + other});
    pass(2s);
    expect_idle();
}

TEST_F(commands, session_lost_at_any_moment) {
    runs_it();
    for (int offset = 0; offset < 2400; offset += 60) {
        guest().delay_next("attach_device", 1s);
        forget_answers();
        send(attach);
        pass(offset * 1ms);
        for (const auto session : ensemble.sessions()) {
            ensemble.expire_session(session);
        }
        pass(15s);
        EXPECT_LE(answers().size(), 1U) << offset;
        EXPECT_LE(machine().count("attach_device U1 " + disk), 1U) << offset << ": carried out again";
        expect_idle();
        machine().clear_calls();
        guest().clear_faults();
        guest().detach_device(disk);
        ensemble.put(pipe, "");
        EXPECT_EQ(ask(attach), "success-" + attach) << offset;
        guest().detach_device(disk);
        machine().clear_calls();
        ASSERT_FALSE(HasFailure()) << offset;
    }
    expect_running();
}

TEST_F(commands, connection_lost_at_any_moment) {
    runs_it();
    for (int offset = 0; offset < 2400; offset += 60) {
        guest().delay_next("attach_device", 1s);
        forget_answers();
        send(attach);
        pass(offset * 1ms);
        hv1().connector.link().cut();
        pass(2s);
        hv1().connector.link().mend();
        pass(8s);
        const std::size_t carried_out = machine().count("attach_device U1 " + disk);
        EXPECT_LE(carried_out, 1U) << offset;
        EXPECT_EQ(answers(), carried_out == 0 ? texts{} : texts{"success-" + attach}) << offset;
        expect_idle();
        machine().clear_calls();
        guest().clear_faults();
        guest().detach_device(disk);
        ensemble.put(pipe, "");
        pass(100ms);
        ASSERT_FALSE(HasFailure()) << offset;
    }
    EXPECT_EQ(ask(attach), "success-" + attach);
}

TEST_F(commands, what_was_written_while_the_connection_was_away_is_old) {
    runs_it();
    hv1().connector.link().cut();
    pass(1s);
    send(attach);
    pass(1s);
    hv1().connector.link().mend();
    pass(10s);
    EXPECT_TRUE(calls().empty());
    EXPECT_EQ(answers(), texts{});
    EXPECT_EQ(ask(attach), "success-" + attach);
}

TEST_F(commands, killed_or_stopped_during_a_command) {
    runs_it();
    for (const bool is_killed : {true, false}) {
        guest().delay_next("attach_device", 5s);
        send(attach);
        pass(1s);
        if (is_killed) {
            hv1().kill();
        } else {
            hv1().stop();
        }
        pass(12s);
        expect_idle();
        EXPECT_EQ(answers(), texts{});
        hv1().start();
        ASSERT_TRUE(hv1().run_until_ready());
        pass(5s);
        EXPECT_EQ(answers(), texts{});
        EXPECT_EQ(value(pipe), attach);
        guest().clear_faults();
        guest().detach_device(disk);
        machine().clear_calls();
        EXPECT_EQ(ask(attach), "success-" + attach);
        forget_answers();
        guest().detach_device(disk);
    }
    expect_running();
}

TEST_F(commands, the_process_stood_still_before_the_call) {
    runs_it();
    for (int offset = 0; offset < 12; ++offset) {
        send(attach);
        pass(offset * 1ms);
        hv1().pause();
        pass(6s);
        hv1().resume();
        pass(8s);
        // Either it was done and said so, or neither.
        const bool is_there = guest().live_xml().find(disk) != std::string::npos;
        EXPECT_EQ(answers().empty() ? "" : answers().back(), is_there            ? "success-" + attach
                                                             : answers().empty() ? ""
                                                                                 : "failure-" + attach)
            << offset;
        guest().detach_device(disk);
        forget_answers();
        ensemble.put(pipe, "");
        pass(1s);
        expect_idle();
    }
}

TEST_F(commands, ZK41_version_10_ends_it) {
    runs_it();
    EXPECT_EQ(ask(attach), "success-" + attach);
    ensemble.put("/schema/version", "10");
    ASSERT_TRUE(run_until([&] { return value("/nodes/hv1/activeschema") == "10"; }, 95s));
    pass(10s);
    EXPECT_FALSE(ensemble.exists(pipe));
    ensemble.put("/cmd", "");
    ensemble.put(pipe, "");
    forget_answers();
    EXPECT_EQ(ask(detach), detach);
    EXPECT_EQ(answers(), texts{});
    EXPECT_NE(guest().live_xml().find(disk), std::string::npos);
    expect_running();
}

TEST_F(commands, an_update_of_the_schema_during_a_command) {
    runs_it();
    guest().delay_next("attach_device", 15s);
    send(attach);
    pass(1s);
    ensemble.put("/schema/version", "10");
    ASSERT_TRUE(run_until([&] { return value("/nodes/hv1/activeschema") == "10"; }, 95s));
    pass(20s);
    EXPECT_EQ(answers(), texts{});
    EXPECT_FALSE(ensemble.exists(pipe));
    set("stop");
    EXPECT_TRUE(run_until([&] { return !guest().is_there(); }, 10s));
}

}  // namespace
}  // namespace pvc::node
