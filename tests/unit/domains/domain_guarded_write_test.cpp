// What a write of a machine's keys rests on stands in its transaction: `node` with each `state`, and the locks of a
// migration with all that its sender writes (vm-domains.md 5.2 rule 8, 8.3; zookeeper-schema.md 4.3). Each of these
// changes in the last moment, right before the transaction reaches the server.
#include "domain_migration_fixture.hpp"
#include "pvcnoded/policy/domains/hand_over.hpp"

namespace pvc::node {
namespace {

class guarded_write : public migration_fixture {
protected:
    // Done right before hv1's transaction arrives that sets this key to `value`. The first one only.
    void right_before(const std::string& suffix, const std::string& value, std::function<void()> deed) {
        right_before_path(key(suffix), [value](const std::string& data) { return data == value; }, std::move(deed));
    }
    void right_before_path(const std::string& path, std::function<bool(const std::string&)> is_meant,
                           std::function<void()> deed) {
        hv1().connector.link().on_request = [this, path, is_meant = std::move(is_meant),
                                             deed = std::move(deed)](const zookeeper::request& what) {
            const bool is_it = std::ranges::any_of(what.operations, [&](const zookeeper::operation& one) {
                return one.what == zookeeper::operation::kind::set && one.path == path && is_meant(one.data);
            });
            if (is_it && !std::exchange(has_struck, true)) {
                forget();
                deed();
            }
            return sim::verdict::answer;
        };
    }
    // Whatever is decided on a new look takes several round trips of 1 ms.
    void expect_refused(const std::string& what) {
        ASSERT_TRUE(run_until([&] { return has_struck; }, 90s)) << story() << hv1().log();
        pass(2ms);
        EXPECT_FALSE(was(what)) << story();
    }
    void node_changes_before(const std::string& value) {
        right_before("/state", value, [this] { ensemble.put(key("/node"), "hv3"); });
    }
    void lock_goes_before(const std::string& lock, const std::string& suffix, const std::string& value) {
        right_before(suffix, value, [this, lock] {
            for (const auto& child : lock_children(key(lock))) {
                std::ignore = ensemble.remove(key(lock) + "/" + child);
            }
        });
    }
    void is_shut_down_to_move() {
        hv1_runs_it({{"/migration_method", "shutdown"}});
        add_reference("hv2");
        pass(1s);
    }
    // One that is to run and has to wait for Ceph: `deed` is done right before the reason is stored.
    void waits_for_ceph(std::function<void()> deed) {
        put_hosts({"hv2", "hv3"});
        define("stop", "hv1", {}, {{"/rbdlist", "vms/web_sda"}});
        add_our_host();
        pass(1s);
        hardware.rbd.hangs = true;
        right_before_path(reason(), [](const std::string& data) { return !data.empty(); }, std::move(deed));
        set("start");
    }
    // The same, and the reason is there; then a client stops it.
    void has_waited(std::function<void()> deed) {
        waits_for_ceph([] {});
        ASSERT_TRUE(run_until([&] { return !value(reason()).empty(); }, 90s)) << hv1().log();
        has_struck = false;
        right_before("/failedreason", "", std::move(deed));
        set("stop");
    }
    // One that is started, and whose last failure is stored.
    void starts_after_a_failure(std::function<void()> deed) {
        put_hosts({"hv2", "hv3"});
        define("stop", "hv1", {}, {{"/failedreason", "it was so"}});
        add_our_host();
        pass(1s);
        right_before("/failedreason", "", std::move(deed));
        set("start");
    }
    // What stands there 2 ms after the deed.
    void expect_reason(const std::string& wanted) {
        ASSERT_TRUE(run_until([&] { return has_struck; }, 90s)) << story() << hv1().log();
        pass(2ms);
        EXPECT_EQ(value(reason()), wanted) << story();
    }
    [[nodiscard]] static std::string reason() { return key("/failedreason"); }
    bool has_struck = false;
};

TEST_F(guarded_write, another_node_at_the_end_of_a_shutdown) {
    hv1_runs_it();
    node_changes_before("stop");
    set("shutdown");
    expect_refused("state=stop");
    pass(5s);
    EXPECT_EQ(state(), "shutdown") << "whose it is now sees to it";
}

TEST_F(guarded_write, another_node_at_a_start_that_fails) {
    put_hosts({"hv2", "hv3"});
    define("stop", "hv1", {}, {{"/xml", "<nonsense"}});
    add_our_host();
    pass(1s);
    node_changes_before("fail");
    set("start");
    expect_refused("state=fail");
    pass(5s);
    EXPECT_EQ(state(), "start");
    EXPECT_EQ(value(key("/failedreason")), "");
}

TEST_F(guarded_write, another_node_at_the_end_of_a_restart) {
    hv1_runs_it();
    node_changes_before("start");
    set("restart");
    expect_refused("state=start");
}

TEST_F(guarded_write, another_node_as_it_arrives) {
    hv2_runs_it();
    add_reference("hv2");
    pass(1s);
    node_changes_before("start");
    place("migrate", "hv1", "hv2");
    expect_refused("state=start");
}

TEST_F(guarded_write, another_node_as_it_is_handed_over) {
    is_shut_down_to_move();
    node_changes_before("stop");
    place("migrate", "hv2", "hv1");
    expect_refused("state=stop");
}

TEST_F(guarded_write, another_node_as_it_is_taken_over) {
    hv2_runs_it({{"/migration_method", "shutdown"}});
    add_reference("hv2");
    pass(1s);
    node_changes_before("start");
    place("migrate", "hv1", "hv2");
    expect_refused("state=start");
}

TEST_F(guarded_write, a_lock_that_is_gone_as_it_is_handed_over) {
    is_shut_down_to_move();
    lock_goes_before("/state", "/state", "stop");
    place("migrate", "hv2", "hv1");
    expect_refused("state=stop");
}

TEST_F(guarded_write, the_other_lock_that_is_gone_as_it_is_handed_over) {
    is_shut_down_to_move();
    lock_goes_before("/node", "/state", "stop");
    place("migrate", "hv2", "hv1");
    expect_refused("state=stop");
}

TEST_F(guarded_write, a_lock_that_is_gone_at_a_rollback) {
    hv1_runs_it();
    lock_goes_before("/state", "/state", "start");
    place("migrate", "hv2", "hv1");  // nobody receives it
    expect_refused("state=start");
    EXPECT_FALSE(was("node=hv1"));
}

TEST_F(guarded_write, a_lock_that_is_gone_when_it_is_moved_home) {
    hv1_runs_it();
    lock_goes_before("/node", "/lastnode", "");
    place("migrate", "hv2", "hv2");
    expect_refused("lastnode=");
}

TEST_F(guarded_write, another_word_another_node_or_another_last_node_as_it_is_moved_home) {
    const std::pair<std::string, std::string> changes[] = {{"/state", "stop"}, {"/node", "hv3"}, {"/lastnode", "hv3"}};
    for (const auto& [suffix, to] : changes) {
        if (nodes.empty()) {
            hv1_runs_it();
        }
        has_struck = false;
        right_before("/lastnode", "", [this, suffix = suffix, to = to] { ensemble.put(key(suffix), to); });
        place("migrate", "hv2", "hv2");
        expect_refused("lastnode=");
        hv1().connector.link().on_request = nullptr;
        set("stop");
        pass(40s);
        place("start", "hv1", "");
        ASSERT_TRUE(run_until([&] { return executes("hv1"); }, 60s)) << suffix << hv1().log();
        pass(10s);
    }
}

// The receiver's word, by which the sender begins.
TEST_F(guarded_write, another_word_another_node_or_another_value_as_it_offers_to_receive) {
    const std::string sync = "/migrate_sync_lock";
    const std::pair<std::string, std::string> changes[] = {{"/state", "stop"}, {"/node", "hv3"}, {sync, "other"}};
    hv2_runs_it();
    add_reference("hv2");
    pass(1s);
    for (const auto& [suffix, to] : changes) {
        has_struck = false;
        right_before(sync, to_text(u1), [this, suffix = suffix, to = to] { ensemble.put(key(suffix), to); });
        place("migrate", "hv1", "hv2");
        ASSERT_TRUE(run_until([&] { return has_struck; }, 90s)) << suffix << story() << hv1().log();
        pass(2ms);
        EXPECT_NE(value(key(sync)), to_text(u1)) << suffix;
        hv1().connector.link().on_request = nullptr;
        ensemble.put(key(sync), "");
        place("start", "hv2", "");
        pass(60s);
    }
}

TEST_F(guarded_write, a_hand_over_whose_word_is_another_by_then) {
    is_shut_down_to_move();
    right_before("/migrate_sync_lock", policy::hand_over_mark(u1),
                 [this] { ensemble.put(key("/migrate_sync_lock"), "other"); });
    place("migrate", "hv2", "hv1");
    expect_refused("state=stop");
}

TEST_F(guarded_write, what_is_taken_over_while_its_word_changes) {
    hv2_runs_it({{"/migration_method", "shutdown"}});
    add_reference("hv2");
    pass(1s);
    right_before("/state", "start", [this] { ensemble.put(key("/migrate_sync_lock"), "other"); });
    place("migrate", "hv1", "hv2");
    expect_refused("state=start");
}

TEST_F(guarded_write, what_another_clears_in_the_same_moment_is_no_news) {
    hv1_runs_it();
    right_before("/vnc", "", [this] { ensemble.put(key("/vnc"), ""); });
    set("stop");
    ASSERT_TRUE(run_until([&] { return has_struck; }, 90s)) << story() << hv1().log();
    pass(1s);
    EXPECT_EQ(state(), "stop");
    EXPECT_FALSE(hv1().logged("domain-key-unwritten")) << hv1().log();
}

TEST_F(guarded_write, what_was_written_in_the_last_moment_is_not_cleared) {
    hv1_runs_it();
    right_before("/vnc", "", [this] { ensemble.put(key("/vnc"), "10.0.0.9:5901"); });
    set("stop");
    ASSERT_TRUE(run_until([&] { return has_struck; }, 90s)) << story() << hv1().log();
    pass(2ms);
    EXPECT_EQ(value(key("/vnc")), "10.0.0.9:5901");
}

TEST_F(guarded_write, a_reason_to_wait_is_not_written_over_a_newer_one) {
    waits_for_ceph([this] { ensemble.put(reason(), "an operator's"); });
    expect_reason("an operator's");
}

TEST_F(guarded_write, a_reason_to_wait_is_not_written_once_another_state_is_wanted) {
    waits_for_ceph([this] { set("stop"); });
    expect_reason("");
}

TEST_F(guarded_write, a_reason_to_wait_is_not_written_of_another_nodes_machine) {
    waits_for_ceph([this] { ensemble.put(key("/node"), "hv3"); });
    expect_reason("");
}

TEST_F(guarded_write, a_reason_that_was_just_written_is_not_cleared) {
    has_waited([this] { ensemble.put(reason(), "an operator's"); });
    expect_reason("an operator's");
}

TEST_F(guarded_write, a_reason_is_not_cleared_once_it_is_to_run_again) {
    std::string stored;
    has_waited([&] {
        stored = value(reason());
        set("start");
    });
    expect_reason(stored);
    EXPECT_NE(stored, "");
}

TEST_F(guarded_write, a_failure_that_was_just_written_is_not_cleared_by_a_start) {
    starts_after_a_failure([this] { ensemble.put(reason(), "an operator's"); });
    expect_reason("an operator's");
}

TEST_F(guarded_write, a_failure_is_not_cleared_by_a_start_that_nobody_wants_any_more) {
    starts_after_a_failure([this] { set("stop"); });
    expect_reason("it was so");
}

// Its record is on its way to the disk when somebody stops it.
TEST_F(guarded_write, what_is_stopped_while_its_creation_is_recorded_is_not_created) {
    put_hosts({"hv2", "hv3"});
    define("stop", "hv1");
    add_our_host();
    pass(1s);
    hv1().host.disk_time = 600ms;
    set("start");
    ASSERT_TRUE(
        run_until([&] { return value("/nodes/hv1/runningdomains").find(to_text(u1)) != std::string::npos; }, 5s));
    pass(100ms);
    set("stop");
    pass(5s);
    EXPECT_EQ(machine().count("create U1"), 0U) << story() << hv1().log();
}

// A recovery of this node that stood still for 180 s goes on in the last moment.
TEST_F(guarded_write, a_recovery_that_goes_on_is_not_said_to_be_over) {
    const std::string order = "/nodes/hv1/domainstate";
    put_hosts({"hv2", "hv3"});
    define("stop", "hv1");
    add_our_host();
    pass(6s);
    right_before_path(
        order, [](const std::string& data) { return data == "flushed"; }, [&] { ensemble.put(order, "fence-flush"); });
    ensemble.put({{"/nodes/hv1/daemonstate", "fenced"}, {order, "fence-flush"}});
    ASSERT_TRUE(run_until([&] { return has_struck; }, 250s)) << hv1().log();
    pass(2ms);
    EXPECT_EQ(value(order), "fence-flush");
}

}  // namespace
}  // namespace pvc::node
