// Rules that no daemon breaks any more are told of changes that nobody made.
#include "sim/subjects/core/core.hpp"
#include "sim/subjects/domains/guest_rules.hpp"

#include <gtest/gtest.h>

namespace pvc::sim {

namespace {

class writing_rules : public ::testing::Test {
protected:
    writing_rules() : world(settings()), of(world) {}

    static cluster_settings settings() {
        cluster_settings wanted;
        node_settings node;
        node.name = "hv1";
        node.coordinators = {"hv1"};
        node.hypervisor = true;
        wanted.nodes.push_back(node);
        return wanted;
    }
    [[nodiscard]] member* ours() const { return world.members.front().get(); }

    recorded_change change(const std::string& path, const std::string& data, std::int64_t zxid) const {
        recorded_change one;
        one.what = recorded_kind::set;
        one.path = root + path;
        one.data = data;
        one.zxid = zxid;
        return one;
    }
    void state(const std::string& word, std::int64_t zxid, member* writer = nullptr) {
        const auto one = change("/state", word, zxid);
        clients_have_the_last_word(of, seen_change{one, writer});
    }
    void key(const std::string& path, const std::string& data, std::int64_t zxid, member* writer = nullptr) {
        const auto one = change(path, data, zxid);
        clients_have_the_last_word(of, seen_change{one, writer});
    }
    // The next transaction of anybody shows that the last one had no more parts.
    [[nodiscard]] std::string broken() {
        recorded_change next;
        next.zxid = 1'000;
        clients_have_the_last_word(of, seen_change{next});
        transactions_rest_on_what_was_read(of, next, nullptr);
        return of.broken() ? of.broken()->invariant : "";
    }

    cluster world;
    judge of;
    std::string root = "/domains/" + pvc::to_text(guest_id(1));
};

}  // namespace

TEST_F(writing_rules, a_daemon_does_not_start_what_a_client_stopped) {
    state("start", 1);
    state("migrate", 2);
    state("stop", 3);
    state("start", 4, ours());
    EXPECT_EQ(broken(), "clients_word");
}

TEST_F(writing_rules, a_hand_over_may_pass_through_stop_and_not_end_there) {
    state("start", 1);
    state("migrate", 2);
    state("stop", 3, ours());
    EXPECT_NE(against_the_wish(of, 1), std::nullopt);
    state("start", 4, ours());
    EXPECT_EQ(against_the_wish(of, 1), std::nullopt);
    EXPECT_EQ(broken(), "");
}

TEST_F(writing_rules, a_flush_with_nowhere_to_go_parks_it) {
    state("start", 1);
    state("shutdown", 2, ours());
    state("stop", 3, ours());
    EXPECT_EQ(against_the_wish(of, 1), std::nullopt);
    state("start", 4, ours());
    EXPECT_EQ(against_the_wish(of, 1), std::nullopt);
    EXPECT_EQ(broken(), "");
}

TEST_F(writing_rules, an_unflush_starts_what_was_to_be_started) {
    state("start", 1);
    state("stop", 2);
    state("start", 3, ours());
    key("/node_autostart", "False", 3, ours());
    EXPECT_EQ(broken(), "");
    EXPECT_EQ(against_the_wish(of, 1), std::nullopt);
}

TEST_F(writing_rules, an_unflush_does_not_start_what_a_client_started_and_stopped_since) {
    state("start", 1);
    state("shutdown", 2, ours());
    key("/node_autostart", "True", 2, ours());
    state("start", 3);
    of.state<wishes_seen>().wishes[root].is_mark_over = true;  // it ran
    state("stop", 4);
    state("start", 5, ours());
    key("/node_autostart", "False", 5, ours());
    EXPECT_EQ(broken(), "clients_word");
}

TEST_F(writing_rules, a_client_that_moves_what_is_off_does_not_want_it_on) {
    state("stop", 1);
    key("/node", "hv2", 2);
    state("stop", 2);
    EXPECT_EQ(against_the_wish(of, 1), std::nullopt);
    state("start", 3);
    state("restart", 4);
    state("fail", 5, ours());
    EXPECT_EQ(broken(), "");
}

TEST_F(writing_rules, a_flush_takes_along_a_restart_that_has_nothing_to_end) {
    state("restart", 1);
    state("migrate", 2, ours());
    EXPECT_EQ(broken(), "");
}

TEST_F(writing_rules, a_flush_that_shuts_down_a_restart_that_has_nothing_to_end) {
    state("restart", 1);
    state("shutdown", 2, ours());
    EXPECT_EQ(broken(), "");
}

TEST_F(writing_rules, a_restart_whose_guest_runs_is_not_moved_by_a_daemon) {
    ours()->node.guests().put_running(guest_id(1), "vm1", "<domain><name>vm1</name></domain>");
    state("restart", 1);
    state("migrate", 2, ours());
    EXPECT_EQ(broken(), "clients_word");
}

TEST_F(writing_rules, a_restart_that_has_nothing_to_end_is_not_stopped_by_a_daemon) {
    state("restart", 1);
    state("stop", 2, ours());
    EXPECT_EQ(broken(), "clients_word");
}

TEST_F(writing_rules, a_state_rests_on_the_node) {
    auto one = change("/state", "start", 1);
    one.expected = 4;
    transactions_rest_on_what_was_read(of, one, ours());
    EXPECT_EQ(broken(), "guarded_writes");
}

TEST_F(writing_rules, a_state_that_rests_on_the_node) {
    auto one = change("/state", "start", 1);
    one.expected = 4;
    auto two = change("/node", "", 1);
    two.what = recorded_kind::check;
    two.expected = 0;
    transactions_rest_on_what_was_read(of, one, ours());
    transactions_rest_on_what_was_read(of, two, ours());
    EXPECT_EQ(broken(), "");
}

TEST_F(writing_rules, a_lock_that_the_writer_has_is_checked) {
    world.ensemble.put(root + "/state", "migrate");
    const auto session = world.ensemble.open_session();
    const auto lock = world.ensemble.create(root + "/state/6f892bb59b4541c699e870a841d1568b__lock__", "",
                                            zookeeper::create_mode::ephemeral_sequential, session);
    ASSERT_TRUE(lock);
    of.state<locks_seen>().locks[*lock] = {ours(), session, world.now()};
    const auto write = [&](std::int64_t zxid, bool checks) {
        auto one = change("/state", "stop", zxid);
        auto two = change("/node", "", zxid);
        two.what = recorded_kind::check;
        one.expected = two.expected = 0;
        one.session = two.session = session;
        transactions_rest_on_what_was_read(of, one, ours());
        transactions_rest_on_what_was_read(of, two, ours());
        if (checks) {
            two.path = *lock;
            transactions_rest_on_what_was_read(of, two, ours());
        }
    };
    write(1, true);
    EXPECT_EQ(broken(), "");
    write(2'000, false);
    EXPECT_EQ(broken(), "lock_is_held");
}

// A sender's lock on `node`, and what is written beside it: by the sender with both of its locks, by another task under
// a lock of its own, and by whoever comes when only that one is left.
TEST_F(writing_rules, a_lock_of_another_task_or_one_that_is_given_back_is_not_checked) {
    world.ensemble.put(root + "/state", "migrate");
    world.ensemble.put(root + "/node", "hv1");
    const auto session = world.ensemble.open_session();
    const auto take = [&](const std::string& suffix, const std::string& says) {
        const auto lock = world.ensemble.create(root + suffix + "/6f892bb59b4541c699e870a841d1568b__lock__", says,
                                                zookeeper::create_mode::ephemeral_sequential, session);
        EXPECT_TRUE(lock);
        of.state<locks_seen>().locks[*lock] = {ours(), session, world.now()};
        return *lock;
    };
    const auto give_back = [&](const std::string& lock) {
        std::ignore = world.ensemble.remove(lock);
        of.state<locks_seen>().locks.erase(lock);
    };
    std::int64_t zxid = 0;
    const auto write = [&](const std::vector<std::string>& checked) {
        zxid += 1'000;
        auto one = change("/state", "migrate", zxid);
        auto two = change("/node", "hv1", zxid);
        one.expected = two.expected = 0;
        one.session = two.session = session;
        transactions_rest_on_what_was_read(of, one, ours());
        transactions_rest_on_what_was_read(of, two, ours());
        for (const auto& lock : checked) {
            auto check = change("", "", zxid);
            check.what = recorded_kind::check;
            check.path = lock;
            check.session = session;
            transactions_rest_on_what_was_read(of, check, ours());
        }
    };
    const auto of_node = take("/node", "hv1:1:migration:sending vm1");
    write({});
    EXPECT_EQ(broken(), "") << "alone it is no lock to write under";
    const auto placing = take("/state", "hv1:1:unflush:placing vm1");
    write({placing});
    EXPECT_EQ(broken(), "");
    give_back(placing);
    const auto of_state = take("/state", "hv1:1:migration:sending vm1");
    write({of_node, of_state});
    EXPECT_EQ(broken(), "");
    give_back(of_node);
    write({});
    EXPECT_EQ(broken(), "") << "left of a sender that is over";
    const auto again = take("/node", "hv1:1:migration:sending vm1");
    write({of_state});
    EXPECT_EQ(broken(), "lock_is_held") << "one of two";
    std::ignore = again;
}

TEST_F(writing_rules, a_lock_that_no_task_checks) {
    world.ensemble.put(root + "/state", "migrate");
    world.ensemble.put(root + "/node", "hv1");
    const auto session = world.ensemble.open_session();
    for (const std::string suffix : {"/node", "/state"}) {
        const auto lock =
            world.ensemble.create(root + suffix + "/6f892bb59b4541c699e870a841d1568b__lock__",
                                  "hv1:1:migration:sending vm1", zookeeper::create_mode::ephemeral_sequential, session);
        ASSERT_TRUE(lock);
        of.state<locks_seen>().locks[*lock] = {ours(), session, world.now()};
    }
    auto one = change("/state", "stop", 1);
    auto two = change("/node", "", 1);
    two.what = recorded_kind::check;
    one.expected = two.expected = 0;
    one.session = two.session = session;
    transactions_rest_on_what_was_read(of, one, ours());
    transactions_rest_on_what_was_read(of, two, ours());
    EXPECT_EQ(broken(), "lock_is_held");
}

TEST_F(writing_rules, a_reason_rests_on_something) {
    const auto reason = change("/failedreason", "", 1);
    transactions_rest_on_what_was_read(of, reason, ours());
    EXPECT_EQ(broken(), "guarded_writes");
}

TEST_F(writing_rules, the_domain_state_rests_on_what_was_read) {
    auto order = change("", "flushed", 1);
    order.path = "/nodes/hv1/domainstate";
    transactions_rest_on_what_was_read(of, order, ours());
    EXPECT_EQ(broken(), "guarded_writes");
}

}  // namespace pvc::sim
