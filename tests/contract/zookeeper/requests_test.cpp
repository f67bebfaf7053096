// Requests and transactions: results, failures, limits. Cases of zookeeper-schema.md 14 carry their number.
#include "contract/zookeeper/suite.hpp"

#include <gtest/gtest.h>

namespace pvc::contract {
namespace {

class zookeeper_requests : public zookeeper_contract {};

TEST_P(zookeeper_requests, a_node_from_creation_to_removal) {
    with_client([&](client& zk) -> awaitable<void> {
        auto made = co_await zk.create(soon(), "/a", "first");
        EXPECT_EQ(code_of(made), "ok");
        EXPECT_EQ(made->path, "/a");
        auto got = co_await zk.get(soon(), "/a");
        EXPECT_EQ(got->data, "first");
        EXPECT_EQ(got->stat.version, 0);
        EXPECT_EQ(got->stat.czxid, got->stat.mzxid);
        EXPECT_EQ(got->stat.ephemeral_owner, 0);
        EXPECT_LE(got->sent, env().clock().boot_now());

        transaction change;
        change.set("/a", "second", 0);
        auto changed = co_await zk.commit(soon(), change);
        EXPECT_EQ(code_of(changed), "ok");
        EXPECT_EQ(changed->stats.size(), 1U);
        EXPECT_EQ(changed->stats.at(0).version, 1);
        auto stat = co_await zk.exists(soon(), "/a");
        EXPECT_EQ(stat->stat.mzxid, changed->stats.at(0).mzxid);
        EXPECT_EQ(stat->stat.czxid, got->stat.czxid);

        auto stale = co_await zk.remove(soon(), "/a", 0);
        EXPECT_EQ(code_of(stale), "version conflict");
        auto removed = co_await zk.remove(soon(), "/a", 1);
        EXPECT_EQ(code_of(removed), "ok");
        auto gone = co_await zk.get(soon(), "/a");
        EXPECT_EQ(gone.error().code(), errc::not_found);
        EXPECT_EQ(gone.error().subject(), "/a");
        auto absent = co_await zk.exists(soon(), "/a");
        EXPECT_EQ(absent.error().code(), errc::not_found);
        auto again = co_await zk.remove(soon(), "/a", any_version);
        EXPECT_EQ(again.error().code(), errc::not_found);
    });
}

TEST_P(zookeeper_requests, an_empty_value_is_a_value_and_bytes_are_kept) {
    with_client([&](client& zk) -> awaitable<void> {
        const std::string bytes("\0\xff\n\xc3\xbc", 5);
        auto made = co_await zk.create(soon(), "/empty", "");
        EXPECT_TRUE(made);
        auto empty = co_await zk.get(soon(), "/empty");
        EXPECT_EQ(empty->data, "");
        transaction what;
        what.create("/bytes", bytes);
        what.overwrite("/empty", "");
        what.create("/none", "");
        auto done = co_await zk.commit(soon(), what);
        EXPECT_EQ(code_of(done), "ok");
        auto got = co_await zk.get(soon(), "/bytes");
        EXPECT_EQ(got->data, bytes);
        auto none = co_await other().get("/none");
        EXPECT_EQ(none, "");
    });
}

TEST_P(zookeeper_requests, reads_that_go_together_are_answered_each_and_in_order) {
    with_client([&](client& zk) -> awaitable<void> {
        co_await other().put("/a", "value");
        const auto got = co_await zk.read_together(soon(), {{.path = "/a"},
                                                            {.path = "/missing"},
                                                            {.path = "/a", .with_data = false},
                                                            {.path = "no path"},
                                                            {.path = "/a"}});
        EXPECT_EQ(got.size(), 5U);
        EXPECT_EQ(got[0]->data, "value");
        EXPECT_EQ(got[1].error().code(), errc::not_found);
        EXPECT_EQ(got[1].error().subject(), "/missing");
        EXPECT_EQ(got[2]->data, "");
        EXPECT_EQ(got[2]->stat.mzxid, got[0]->stat.mzxid);
        EXPECT_EQ(got[3].error().code(), errc::invalid);
        EXPECT_EQ(got[4]->data, "value");
        EXPECT_LE(got[0]->sent, got[4]->sent);
        const auto none = co_await zk.read_together(soon(), {});
        EXPECT_TRUE(none.empty());
    });
}

// While somebody writes the same keys one after another, later answers are never older than earlier ones.
TEST_P(zookeeper_requests, reads_that_go_together_show_one_course_of_events) {
    with_client([&](client& zk) -> awaitable<void> {
        co_await other().put("/a", "0");
        co_await with_task_group("both", [&](task_group& group) -> awaitable<void> {
            group.spawn("writer", [&]() -> awaitable<void> {
                for (int i = 1; i <= 50; ++i) {
                    co_await other().put("/a", std::to_string(i));
                }
            });
            for (int round = 0; round < 50; ++round) {
                const auto got = co_await zk.read_together(soon(), {{.path = "/a"}, {.path = "/a"}, {.path = "/a"}});
                EXPECT_LE(got[0]->stat.mzxid, got[1]->stat.mzxid);
                EXPECT_LE(got[1]->stat.mzxid, got[2]->stat.mzxid);
            }
        });
    });
}

TEST_P(zookeeper_requests, children_come_sorted_with_the_parents_stat) {
    with_client([&](client& zk) -> awaitable<void> {
        co_await other().put("/a/zeta", "");
        co_await other().put("/a/beta", "");
        co_await other().put("/a/10", "");
        auto got = co_await zk.children(soon(), "/a");
        const std::vector<std::string> expected{"10", "beta", "zeta"};
        EXPECT_EQ(got->names, expected);
        EXPECT_EQ(got->stat.child_count, 3);
        EXPECT_EQ(got->stat.cversion, 3);
        auto removed = co_await zk.remove(soon(), "/a/10", any_version);
        EXPECT_TRUE(removed);
        got = co_await zk.children(soon(), "/a");
        EXPECT_EQ(got->stat.cversion, 4);
        EXPECT_EQ(got->stat.child_count, 2);
        auto missing = co_await zk.children(soon(), "/b");
        EXPECT_EQ(missing.error().code(), errc::not_found);
        auto leaf = co_await zk.children(soon(), "/a/beta");
        EXPECT_TRUE(leaf);
        EXPECT_TRUE(leaf->names.empty());
        auto root = co_await zk.children(soon(), "/");
        EXPECT_TRUE(root);
        EXPECT_EQ(std::ranges::count(root->names, "a"), 1);
    });
}

TEST_P(zookeeper_requests, each_failure_has_its_code_and_path) {
    with_client([&](client& zk) -> awaitable<void> {
        co_await other().put("/a/b", "x");
        auto exists = co_await zk.create(soon(), "/a", "");
        EXPECT_EQ(exists.error().code(), errc::already_exists);
        EXPECT_EQ(exists.error().subject(), "/a");
        auto orphan = co_await zk.create(soon(), "/no/where", "");
        EXPECT_EQ(orphan.error().code(), errc::not_found);
        EXPECT_EQ(orphan.error().subject(), "/no/where");
        auto full = co_await zk.remove(soon(), "/a", any_version);
        EXPECT_EQ(full.error().code(), errc::not_empty);
        transaction stale;
        stale.set("/a/b", "y", 7);
        auto conflict = co_await zk.commit(soon(), stale);
        EXPECT_EQ(conflict.error().code(), errc::version_conflict);
        EXPECT_EQ(conflict.error().subject(), "/a/b");
        auto under_ephemeral = co_await zk.create(soon(), "/e", "", create_mode::ephemeral);
        EXPECT_TRUE(under_ephemeral);
        auto child = co_await zk.create(soon(), "/e/child", "");
        EXPECT_EQ(child.error().code(), errc::invalid);
    });
}

TEST_P(zookeeper_requests, a_transaction_is_all_or_nothing_and_names_the_first_offender) {
    with_client([&](client& zk) -> awaitable<void> {
        co_await other().put("/a", "1");
        co_await other().put("/b", "1");
        transaction good;
        good.create("/c", "new");
        good.create("/c/d", "below");
        const auto of_a = good.set("/a", "2", 0);
        transaction more;
        more.check("/b", 0);
        more.remove("/b", any_version);
        good.append(std::move(more));
        auto done = co_await zk.commit(soon(), good);
        EXPECT_EQ(code_of(done), "ok");
        EXPECT_EQ(done->stats.size(), 5U);
        EXPECT_EQ(done->of(of_a).version, 1);
        EXPECT_EQ(done->of(of_a).mzxid, done->zxid());
        auto a = co_await zk.exists(soon(), "/a");
        auto d = co_await zk.exists(soon(), "/c/d");
        EXPECT_EQ(a->stat.mzxid, d->stat.czxid);  // one transaction, one number

        transaction bad;
        bad.overwrite("/a", "3");
        bad.create("/e", "");
        bad.set("/c", "x", 4);
        bad.create("/c", "");
        bad.remove("/nowhere", any_version);
        auto refused = co_await zk.commit(soon(), bad);
        EXPECT_EQ(refused.error().code(), errc::version_conflict);
        EXPECT_EQ(refused.error().subject(), "/c");
        auto value = co_await zk.get(soon(), "/a");
        EXPECT_EQ(value->data, "2");
        EXPECT_EQ(value->stat.version, 1);
        auto e = co_await zk.exists(soon(), "/e");
        EXPECT_EQ(e.error().code(), errc::not_found);

        struct attempt {
            transaction what;
            errc code;
            std::string subject;
        };
        std::vector<attempt> attempts(4);
        attempts[0].what.overwrite("/a", "3");
        attempts[0].what.check("/a", 1);  // the set before it has made it 2
        attempts[0].code = errc::version_conflict;
        attempts[0].subject = "/a";
        attempts[1].what.check("/nowhere", any_version);
        attempts[1].what.overwrite("/a", "3");
        attempts[1].code = errc::not_found;
        attempts[1].subject = "/nowhere";
        attempts[2].what.overwrite("/a", "3");
        attempts[2].what.create("/c/d", "");
        attempts[2].code = errc::already_exists;
        attempts[2].subject = "/c/d";
        attempts[3].what.create("/f", "");
        attempts[3].what.remove("/c", any_version);
        attempts[3].code = errc::not_empty;
        attempts[3].subject = "/c";
        for (auto& one : attempts) {
            auto outcome = co_await zk.commit(soon(), one.what);
            EXPECT_EQ(outcome.error().code(), one.code) << one.subject;
            EXPECT_EQ(outcome.error().subject(), one.subject);
        }
        value = co_await zk.get(soon(), "/a");
        EXPECT_EQ(value->data, "2");
        EXPECT_EQ(value->stat.version, 1);
        auto f = co_await zk.exists(soon(), "/f");
        EXPECT_EQ(f.error().code(), errc::not_found);
    });
}

TEST_P(zookeeper_requests, ZK_20_a_transaction_with_a_missing_parent_writes_nothing) {
    with_client([&](client& zk) -> awaitable<void> {
        co_await other().put("/nodes", "");
        transaction what;
        what.create("/nodes/hv1", "coordinator");
        what.create("/domains/x/state", "start");
        auto outcome = co_await zk.commit(soon(), what);
        EXPECT_EQ(outcome.error().code(), errc::not_found);
        EXPECT_EQ(outcome.error().subject(), "/domains/x/state");
        auto names = co_await other().children("/nodes");
        EXPECT_TRUE(names.empty());
    });
}

TEST_P(zookeeper_requests, ZK_19_a_change_by_somebody_else_makes_our_conditional_set_fail) {
    with_client([&](client& zk) -> awaitable<void> {
        co_await other().put("/config/primary_node", "hv2");
        auto seen = co_await zk.get(soon(), "/config/primary_node");
        co_await other().put("/config/primary_node", "hv3");
        transaction what;
        what.set("/config/primary_node", "hv1", seen->stat.version);
        auto outcome = co_await zk.commit(soon(), what);
        EXPECT_EQ(outcome.error().code(), errc::version_conflict);
        auto value = co_await other().get("/config/primary_node");
        EXPECT_EQ(value, "hv3");
    });
}

TEST_P(zookeeper_requests, an_empty_transaction_succeeds) {
    with_client([&](client& zk) -> awaitable<void> {
        const transaction nothing;
        auto outcome = co_await zk.commit(soon(), nothing);
        EXPECT_TRUE(outcome);
        EXPECT_TRUE(outcome->stats.empty());
    });
}

TEST_P(zookeeper_requests, ZK_35_every_node_is_open_to_the_world) {
    with_client([&](client& zk) -> awaitable<void> {
        for (const auto mode : {create_mode::persistent, create_mode::ephemeral, create_mode::ephemeral_sequential}) {
            auto made = co_await zk.create(soon(), "/n" + std::to_string(static_cast<int>(mode)), "", mode);
            EXPECT_TRUE(made);
        }
        transaction what;
        what.create("/multi", "");
        what.create("/multi/below", "");
        auto done = co_await zk.commit(soon(), what);
        EXPECT_TRUE(done);
        auto closed = co_await other().closed_nodes("/");
        EXPECT_EQ(closed, std::vector<std::string>());
    });
}

// By the servers' clock, whatever that says; both from the same one.
TEST_P(zookeeper_requests, a_node_knows_when_it_was_created_and_changed) {
    with_client([&](client& zk) -> awaitable<void> {
        auto made = co_await zk.create(soon(), "/early", "");
        EXPECT_TRUE(made);
        co_await sleep(300ms);
        made = co_await zk.create(soon(), "/late", "");
        EXPECT_TRUE(made);
        auto early = co_await zk.exists(soon(), "/early");
        const auto late = co_await zk.exists(soon(), "/late");
        EXPECT_EQ(early->stat.ctime, early->stat.mtime);
        EXPECT_GE(late->stat.ctime - early->stat.ctime, 290ms);
        EXPECT_LT(late->stat.ctime - early->stat.ctime, 30s);
        co_await sleep(50ms);
        transaction change;
        change.set("/early", "again", any_version);
        EXPECT_EQ(code_of(co_await zk.commit(soon(), change)), "ok");
        const auto before = early->stat.ctime;
        early = co_await zk.exists(soon(), "/early");
        EXPECT_EQ(early->stat.ctime, before);
        EXPECT_GE(early->stat.mtime, late->stat.ctime);
    });
}

TEST_P(zookeeper_requests, sequences_are_one_counter_a_parent_and_the_nodes_ephemeral) {
    with_client([&](client& zk) -> awaitable<void> {
        co_await other().put("/locks/sync_lock", "");  // takes number 0
        auto first = co_await zk.create(soon(), "/locks/a__lock__", "me", create_mode::ephemeral_sequential);
        auto second = co_await zk.create(soon(), "/locks/b__rlock__", "", create_mode::ephemeral_sequential);
        EXPECT_EQ(first->path, "/locks/a__lock__0000000001");
        EXPECT_EQ(second->path, "/locks/b__rlock__0000000002");
        auto removed = co_await zk.remove(soon(), second->path, any_version);
        EXPECT_TRUE(removed);
        auto third = co_await zk.create(soon(), "/locks/b__rlock__", "", create_mode::ephemeral_sequential);
        EXPECT_EQ(third->path, "/locks/b__rlock__0000000003");
        auto stat = co_await zk.exists(soon(), first->path);
        EXPECT_EQ(stat->stat.ephemeral_owner, zk.state().value().session_id);
        auto seen = co_await other().stat("/locks/a__lock__0000000001");
        EXPECT_EQ(seen->ephemeral_owner, zk.state().value().session_id);
    });
}

TEST_P(zookeeper_requests, what_is_too_large_or_no_path_is_refused_before_it_is_sent) {
    with_client([&](client& zk) -> awaitable<void> {
        const std::string large(zookeeper::value_limit_bytes, 'x');
        auto fits = co_await zk.create(soon(), "/large", large);
        EXPECT_EQ(code_of(fits), "ok");
        auto back = co_await zk.get(soon(), "/large");
        EXPECT_EQ(back->data.size(), large.size());
        auto too_large = co_await zk.create(soon(), "/larger", large + 'x');
        EXPECT_EQ(too_large.error().code(), errc::too_large);
        EXPECT_EQ(too_large.error().subject(), "/larger");
        transaction both;
        both.overwrite("/large", large);
        both.create("/larger", large);
        auto together = co_await zk.commit(soon(), both);
        EXPECT_EQ(together.error().code(), errc::too_large);
        transaction nearly;
        nearly.overwrite("/large", large);
        nearly.create("/larger", std::string(350UL * 1024, 'y'));
        auto accepted = co_await zk.commit(soon(), nearly);
        EXPECT_EQ(code_of(accepted), "ok");
        for (const std::string path : {"", "a", "/a/", "//a", "/a//b", "/a/./b", "/a/..", "/."}) {
            auto got = co_await zk.get(soon(), path);
            EXPECT_EQ(got.error().code(), errc::invalid) << path;
            transaction what;
            what.create(path, "");
            auto created = co_await zk.commit(soon(), what);
            EXPECT_EQ(created.error().code(), errc::invalid) << path;
        }
        EXPECT_EQ(zk.state().value().connections, 1U);  // the server was never offended
    });
}

TEST_P(zookeeper_requests, sync_and_the_time_of_sending) {
    with_client([&](client& zk) -> awaitable<void> {
        const auto before = env().clock().boot_now();
        auto synced = co_await zk.sync(soon(), "/");
        EXPECT_TRUE(synced);
        auto got = co_await zk.exists(soon(), "/");
        EXPECT_TRUE(got);
        EXPECT_GE(got->sent, before);
        EXPECT_LE(got->sent, env().clock().boot_now());
        std::vector<boot_time> acknowledged;
        transaction what;
        what.create("/a", "");
        auto done = co_await zk.commit(soon(), what, [&](boot_time at) { acknowledged.push_back(at); });
        EXPECT_TRUE(done);
        EXPECT_EQ(acknowledged, std::vector{done->sent});
        // A refusal is no acknowledgement.
        auto refused = co_await zk.commit(soon(), what, [&](boot_time at) { acknowledged.push_back(at); });
        EXPECT_EQ(refused.error().code(), errc::already_exists);
        EXPECT_EQ(acknowledged.size(), 1U);
    });
}

TEST_P(zookeeper_requests, many_requests_under_way_are_answered_each) {
    with_client([&](client& zk) -> awaitable<void> {
        co_await other().put("/a", "");
        int answered = 0;
        co_await with_task_group("requests", [&](task_group& group) -> awaitable<void> {
            for (int i = 0; i < 500; ++i) {
                group.spawn("request", [&, i]() -> awaitable<void> {
                    const std::string path = "/a/" + std::to_string(i);
                    auto made = co_await zk.create(soon(), path, std::to_string(i));
                    EXPECT_EQ(code_of(made), "ok");
                    auto got = co_await zk.get(soon(), path);
                    EXPECT_TRUE(got);
                    answered += got && got->data == std::to_string(i) ? 1 : 0;
                });
            }
            co_return;
        });
        EXPECT_EQ(answered, 500);
    });
}

TEST_P(zookeeper_requests, a_cancelled_waiter_goes_at_once_and_the_late_answer_finds_nobody) {
    with_client([&](client& zk) -> awaitable<void> {
        int ended = 0;
        bool acknowledged = false;
        env().hold_answers();
        co_await with_task_group("waiters", [&](task_group& group) -> awaitable<void> {
            group.spawn("writer", [&]() -> awaitable<void> {
                transaction what;
                what.create("/a", "");
                try {
                    auto done = co_await zk.commit(soon(), what, [&](boot_time) { acknowledged = true; });
                    EXPECT_FALSE(done);
                } catch (...) {
                    ++ended;
                    throw;
                }
            });
            group.spawn("reader", [&]() -> awaitable<void> {
                try {
                    auto got = co_await zk.get(soon(), "/");
                    EXPECT_FALSE(got);
                } catch (...) {
                    ++ended;
                    throw;
                }
            });
            co_await sleep(50ms);
            const auto before = env().clock().now();
            group.cancel();
            co_await eventually([&] { return ended == 2; });
            EXPECT_LT(env().clock().now() - before, env().is_simulated() ? 1s : 10s);
        });
        EXPECT_EQ(ended, 2);
        EXPECT_FALSE(acknowledged);
        env().let_pass();
        auto answered = co_await eventually([&] { return acknowledged; });
        EXPECT_TRUE(answered);
        auto made = co_await zk.exists(soon(), "/a");
        EXPECT_TRUE(made);
    });
}

TEST_P(zookeeper_requests, paths_are_relative_to_the_chroot) {
    with_client([&](client& zk) -> awaitable<void> {
        auto made = co_await zk.create(soon(), "/here", "1");
        EXPECT_TRUE(made);
        auto seen = co_await other().get("/here");
        EXPECT_EQ(seen, "1");
        auto names = co_await zk.children(soon(), "/");
        EXPECT_EQ(std::ranges::count(names->names, "here"), 1);
        EXPECT_EQ(std::ranges::count(names->names, "zookeeper"), env().options().chroot.empty() ? 1 : 0);
    });
}

TEST_P(zookeeper_requests, a_missing_chroot_is_no_node) {
    if (env().options().chroot.empty()) {
        GTEST_SKIP() << "no chroot here";
    }
    env().run([&]() -> awaitable<void> {
        auto options = env().options();
        options.chroot = "/pvc/missing";
        co_await one_client(options, events_, [&](client& zk) -> awaitable<void> {
            auto root = co_await zk.exists(soon(), "/");
            EXPECT_EQ(root.error().code(), errc::not_found);
            auto made = co_await zk.create(soon(), "/a", "");
            EXPECT_EQ(made.error().code(), errc::not_found);
            EXPECT_EQ(made.error().subject(), "/a");
            auto armed = co_await zk.exists(soon(), "/a", watching::yes);
            EXPECT_EQ(armed.error().code(), errc::not_found);
            co_await other().put("/missing/a", "");
            auto told = co_await eventually([&] { return events_.count("created /a") == 1; });
            EXPECT_TRUE(told);
        });
    });
}

PVC_INSTANTIATE_EVERYWHERE(zookeeper_requests);

}  // namespace
}  // namespace pvc::contract
