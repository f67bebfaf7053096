// Commands about a machine that moves (vm-domains.md 14; `node` names the target from the first moment).
#include "domain_migration_fixture.hpp"

namespace pvc::node {
namespace {

class command_migration : public migration_fixture {
protected:
    command_migration() {
        ensemble.put("/schema/version", "9");
        for (const auto* path : {"/cmd", "/cmd/nodes", "/cmd/domains", "/cmd/ceph"}) {
            ensemble.put(path, "");
        }
        put_peer("hv9", "hypervisor", "stop", "client");  // it holds the version at 9
        ensemble.put("/nodes/hv9/latestschema", "9");
    }
    void send(const std::string& text) {
        sent_at = loop.clock().now();
        ensemble.put(pipe, text);
    }
    bool until_answered(const std::string& answer, duration limit = 30s) {
        return run_until([&] { return value(pipe) == answer; }, limit);
    }
    [[nodiscard]] double seconds() const { return seconds_since(sent_at); }

    inline static const std::string pipe = "/cmd/domains";
    inline static const std::string disk = "<disk type='file'><target dev='vdb'/></disk>";
    inline static const std::string attach = "attach_device " + to_text(u1) + " " + disk;
    time_point sent_at{};
};

TEST_F(command_migration, the_target_waits_for_the_arrival) {
    two_of_ours();
    client_places("migrate", "hv2", "hv1");
    ASSERT_TRUE(until_copying());
    send(attach);
    ASSERT_TRUE(until_answered("success-" + attach)) << value(pipe);
    EXPECT_TRUE(run_until([&] { return settled_on("hv2") == true; }, 10s)) << settled_on("hv2").message();
    EXPECT_EQ(machine("hv1").count("attach_device U1 " + disk), 0U);
    EXPECT_EQ(machine("hv2").count("attach_device U1 " + disk), 1U);
    EXPECT_NE(guest("hv2").live_xml().find(disk), std::string::npos);
    pass(2s);
    EXPECT_TRUE(lock_children(pipe).empty());
}

TEST_F(command_migration, at_any_moment_of_a_migration) {
    two_of_ours();
    std::string from = "hv1";
    std::string to = "hv2";
    for (int offset = 0; offset < 3000; offset += 150) {
        client_places("migrate", to, "");
        pass(offset * 1ms);
        send(attach);
        ASSERT_TRUE(run_until([&] { return value(pipe) != attach; }, 30s)) << offset;
        const std::string answer = value(pipe);
        ASSERT_TRUE(run_until([&] { return settled_on(to) == true; }, 40s)) << offset << settled_on(to).message();
        const bool is_there = guest(to).live_xml().find(disk) != std::string::npos;
        EXPECT_EQ(answer, (is_there ? "success-" : "failure-") + attach) << offset;
        guest(to).detach_device(disk);
        ensemble.put(pipe, "");
        pass(2s);
        EXPECT_TRUE(lock_children(pipe).empty());
        std::swap(from, to);
    }
}

TEST_F(command_migration, a_migration_that_does_not_end) {
    two_of_ours({{"/xml", xml(u1, "web", "<!-- sim:dirty -->")}});
    guest("hv1").set_kind(guest_kind::dirty);
    client_places("migrate", "hv2", "hv1");
    ASSERT_TRUE(until_copying());
    send(attach);
    ASSERT_TRUE(until_answered("failure-" + attach)) << value(pipe);
    EXPECT_NEAR(seconds(), 20.0, 0.1);
    EXPECT_EQ(state(), "migrate");
    EXPECT_TRUE(guest("hv1").is_migrating());
    EXPECT_FALSE(was("hv1: attach_device U1 " + disk) || was("hv2: attach_device U1 " + disk));
}

// The look right before the call was asked for too long ago when it is answered.
TEST_F(command_migration, nothing_is_changed_on_a_look_that_took_too_long) {
    two_of_ours();
    nodes.front().connector.link().answer_delay = 1200ms;  // and it is two questions
    for (const auto& command : {attach, "detach_device " + to_text(u1) + " " + disk}) {
        send(command);
        pass(60s);
        EXPECT_NE(value(pipe), "success-" + command);
        ensemble.put(pipe, "");
        pass(5s);
    }
    EXPECT_EQ(machine("hv1").count("attach_device U1 " + disk), 0U) << hv1().log();
    EXPECT_EQ(machine("hv1").count("detach_device U1 " + disk), 0U) << hv1().log();
}

// Right before the call it is looked at again: the text, and the lock that it is carried out under.
TEST_F(command_migration, taken_back_while_it_waits) {
    for (const bool is_text : {true, false}) {
        if (nodes.empty()) {
            two_of_ours();
        }
        client_places("migrate", is_text ? "hv2" : "hv1", "");
        ASSERT_TRUE(is_text ? until_copying() : until_copying("hv2", "hv1"));
        send(attach);
        pass(20ms);
        ASSERT_EQ(lock_children(pipe).size(), 1U);
        if (is_text) {
            ensemble.put(pipe, "");
        } else {
            std::ignore = ensemble.remove(pipe + "/" + lock_children(pipe).front());
        }
        const std::string target = is_text ? "hv2" : "hv1";
        EXPECT_TRUE(run_until([&] { return settled_on(target) == true; }, 30s)) << settled_on(target).message();
        pass(5s);
        EXPECT_FALSE(was(target + ": attach_device U1 " + disk));
        EXPECT_EQ(value(pipe), is_text ? "" : attach);
        EXPECT_TRUE(lock_children(pipe).empty());
    }
}

TEST_F(command_migration, a_migration_waits_for_the_command) {
    two_of_ours();
    guest("hv1").delay_next("attach_device", 3s);
    send(attach);
    pass(1s);
    client_places("migrate", "hv2", "hv1");
    ASSERT_TRUE(until_answered("success-" + attach)) << value(pipe);
    EXPECT_FALSE(guest("hv1").is_migrating());
    EXPECT_TRUE(run_until([&] { return settled_on("hv2") == true; }, 30s)) << settled_on("hv2").message();
    EXPECT_NE(guest("hv2").live_xml().find(disk), std::string::npos);
}

// The answer is under way when the session of the node goes: nothing of the migration or of the lock is left.
TEST_F(command_migration, session_lost_while_it_waits_for_the_arrival) {
    two_of_ours();
    client_places("migrate", "hv2", "hv1");
    ASSERT_TRUE(until_copying());
    send(attach);
    pass(20ms);
    for (const auto session : ensemble.sessions()) {
        ensemble.expire_session(session);
    }
    EXPECT_TRUE(run_until([&] { return state() == "start" && locks_left() == 0; }, 90s)) << state();
    pass(20s);
    EXPECT_EQ(hardware.centre.running_copies(u1), 1U);
    EXPECT_TRUE(lock_children(pipe).empty());
    EXPECT_EQ(value(pipe), attach);
}

}  // namespace
}  // namespace pvc::node
