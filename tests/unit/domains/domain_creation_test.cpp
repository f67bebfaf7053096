// Creations that hang, and guests that stay half made (vm-domains.md 6.1, 4.1).
#include "domain_fixture.hpp"

namespace pvc::node {
namespace {

class domain_creation : public domain_test {
protected:
    inline static const std::string record = "/run/pvc/creations/" + to_text(u1);
};

// A creation that libvirtd has and does not carry out, since it stands still: whoever starts the machine elsewhere
// meanwhile is told of it, and waits.
TEST_F(domain_creation, a_creation_that_hangs_keeps_others_from_starting_it) {
    define("stop", "hv1");
    add_running_host("hv1");
    add_running_host("hv2");
    bool is_stopped = false;
    hardware.centre.on_call = [&](const std::string& machine_name, const auto& call) {
        if (call.text == "create U1" && machine_name == "hv1" && !std::exchange(is_stopped, true)) {
            machine("hv1").stop_libvirtd();
        }
    };
    set("start");
    ASSERT_TRUE(run_until([&] { return is_stopped; }));
    set("stop");
    pass(500ms);
    place("stop", "hv2", "");
    pass(500ms);
    set("start");
    pass(8s);
    EXPECT_EQ(machine("hv2").count("create U1"), 0U);
    machine("hv1").continue_libvirtd();
    EXPECT_TRUE(run_until([&] { return machine("hv2").executes(u1); })) << nodes.back().log();
    pass(60s);
    EXPECT_FALSE(machine("hv1").executes(u1));
    EXPECT_EQ(running("hv1"), "");
}

// The daemon died while libvirtd had its call, and the one after it finds nothing: it may yet be made here, and whoever
// starts it elsewhere is told so until it must have been seen.
TEST_F(domain_creation, one_that_its_daemon_did_not_outlive_keeps_others_from_starting_it) {
    define("stop", "hv1");
    add_running_host("hv1");
    add_running_host("hv2");
    machine("hv1").guest(u1).hang_next("create");
    set("start");
    ASSERT_TRUE(run_until([&] { return machine("hv1").count("create U1") == 1; }));
    nodes.front().kill();
    set("stop");
    nodes.front().start();
    ASSERT_TRUE(nodes.front().run_until_ready());
    const time_point back = loop.clock().now();
    pass(1s);
    EXPECT_EQ(running("hv1"), to_text(u1));
    place("start", "hv2", "");
    ASSERT_TRUE(run_until([&] { return running("hv1").empty(); }, 60s)) << nodes.front().log();
    EXPECT_GE(loop.clock().now() - back, 28s);
    pass(1s);
    EXPECT_FALSE(nodes.front().host.read_file(record));
}

// Nobody writes anything more: the daemon after it makes the machine, and so does the next one if that one dies too.
TEST_F(domain_creation, one_that_its_daemon_did_not_outlive_is_begun_anew) {
    define("stop", "hv1");
    add_running_host();
    guest().hang_next("create");
    guest().hang_next("create");
    set("start");
    for (const std::size_t begun : {1U, 2U}) {
        ASSERT_TRUE(run_until([&] { return machine().count("create U1") == begun; })) << nodes.front().log();
        nodes.front().kill();
        nodes.front().start();
        ASSERT_TRUE(nodes.front().run_until_ready());
    }
    ASSERT_TRUE(run_until([&] { return machine().executes(u1); })) << nodes.front().log();
    pass(2s);
    EXPECT_EQ(running(), to_text(u1));
    EXPECT_FALSE(nodes.front().host.read_file(record));
}

// The daemon is stopped in order while libvirtd is at it: the answer is waited for, and what came of it is told.
TEST_F(domain_creation, an_orderly_stop_waits_for_one_that_is_out) {
    for (const std::string wish : {"start", "restart"}) {
        SCOPED_TRACE(wish);
        define("stop", "hv1");
        auto& host = nodes.empty() ? add_running_host("hv1") : nodes.front();
        pass(2s);
        machine().clear_calls();
        guest().delay_next("create", 8s);
        set(wish);
        ASSERT_TRUE(run_until([&] { return machine().count("create U1") == 1; }));
        pass(1100ms);
        host.stop();
        EXPECT_TRUE(machine().executes(u1));
        EXPECT_EQ(running(), to_text(u1));
        EXPECT_EQ(state(), "start");
        EXPECT_EQ(state_of(host), "stop");
        EXPECT_FALSE(host.host.read_file(record));
        host.start();
        ASSERT_TRUE(host.run_until_ready());
        set("stop");
        pass(5s);
        EXPECT_EQ(machine().count("create U1"), 1U);
    }
}

// It takes longer than a stop may: the node goes, and what it was told to make stays in its list.
TEST_F(domain_creation, one_that_is_out_at_the_end_of_a_stop_stays_listed_and_keeps_others_from_starting_it) {
    define("stop", "hv1");
    add_running_host("hv1");
    add_running_host("hv2");
    guest().delay_next("create", 28s);
    set("start");
    ASSERT_TRUE(run_until([&] { return machine().count("create U1") == 1; }));
    pass(1100ms);
    const time_point asked = loop.clock().now();
    nodes.front().stop();
    EXPECT_LT(loop.clock().now() - asked, 25s);
    EXPECT_EQ(state_of(nodes.front()), "stop");
    EXPECT_EQ(running(), to_text(u1));
    machine().stop_libvirtd();  // whoever asks it gets no answer
    set("stop");
    pass(500ms);
    place("start", "hv2", "");
    pass(20s);
    machine().continue_libvirtd();
    pass(60s);
    EXPECT_TRUE(machine().executes(u1));
    EXPECT_EQ(machine("hv2").count("create U1"), 0U);
    EXPECT_EQ(state(), "start");
    nodes.front().start();  // its daemon ends what belongs to another node
    EXPECT_TRUE(run_until([&] { return machine("hv2").executes(u1); }, 60s)) << nodes.back().log();
}

// Of a boot that is over it says nothing; nor of a machine that is there.
TEST_F(domain_creation, a_record_of_another_boot_changes_nothing) {
    define("stop", "hv1");
    auto& host = add_host("hv1");
    host.host.files[record] = "1 another boot\n";
    host.start();
    ASSERT_TRUE(host.run_until_ready());
    pass(1s);
    EXPECT_EQ(running("hv1"), "");
    EXPECT_FALSE(host.host.read_file(record));
}

// One that nobody has answered is out as well: the answer to another one says nothing about it.
TEST_F(domain_creation, the_record_of_a_lost_one_outlives_the_answer_to_the_next) {
    define("start", "hv1");
    guest().hang_next("create");
    guest().fail_next("create", {hypervisor::call_error::other, "no such device"});
    add_running_host();
    ASSERT_TRUE(run_until([&] { return machine().count("create U1") == 1; }));
    machine().break_connection();
    ASSERT_TRUE(run_until([&] { return machine().count("create U1") == 2; }, 30s)) << nodes.front().log();
    pass(500ms);
    EXPECT_EQ(state(), "start") << "the first one may come true yet: no failure is written";
    EXPECT_TRUE(nodes.front().host.read_file(record));
    EXPECT_EQ(running(), to_text(u1));
    ASSERT_TRUE(run_until([&] { return machine().executes(u1); }, 5s));
    pass(1s);
    EXPECT_FALSE(nodes.front().host.read_file(record));
}

TEST_F(domain_creation, an_answer_ends_its_record) {
    define("start", "hv1");
    bool is_recorded = false;
    hardware.centre.on_call = [&](const std::string& /*machine*/, const auto& call) {
        is_recorded = is_recorded || (call.text == "create U1" && nodes.front().host.read_file(record));
    };
    add_running_host();
    ASSERT_TRUE(run_until([&] { return machine().executes(u1); }));
    pass(1s);
    EXPECT_TRUE(is_recorded);
    hardware.centre.on_call = {};
    EXPECT_FALSE(nodes.front().host.read_file(record));
}

// Half made by a libvirtd that died: nobody is making it any more, so it is stopped like any other.
TEST_F(domain_creation, a_guest_that_stays_half_made_is_no_secret) {
    define("start", "hv1");
    machine().put_running(u1, "web", xml(u1));
    guest().set_status({run_state::paused, pause_cause::starting_up});
    add_running_host();
    pass(45s);
    EXPECT_TRUE(nodes.front().logged("it is paused (starting up)")) << nodes.front().log();
    set("stop");
    EXPECT_TRUE(run_until([&] { return machine().count("destroy U1") == 1; }));
}

}  // namespace
}  // namespace pvc::node
