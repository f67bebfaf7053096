// What a write of a machine's keys rests on stands in its transaction: `node` with each `state`, and the locks of a
// migration with all that its sender writes (vm-domains.md 5.2 rule 8, 8.3; zookeeper-schema.md 4.3). Each of these
// changes in the last moment, right before the transaction reaches the server.
#include "domain_migration_fixture.hpp"

namespace pvc::node {
namespace {

class guarded_write : public migration_fixture {
protected:
    // Done right before hv1's transaction arrives that sets this key to `value`. The first one only.
    void right_before(const std::string& suffix, const std::string& value, std::function<void()> deed) {
        hv1().connector.link().on_request = [this, path = key(suffix), value,
                                             deed = std::move(deed)](const zookeeper::request& what) {
            const bool is_it = std::ranges::any_of(what.operations, [&](const zookeeper::operation& one) {
                return one.what == zookeeper::operation::kind::set && one.path == path && one.data == value;
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

}  // namespace
}  // namespace pvc::node
