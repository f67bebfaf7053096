// Locks whose connection, session or process fails at the worst moment.
#include "contract/zookeeper/lock_bench.hpp"

#include <gtest/gtest.h>

namespace pvc::contract {
namespace {

TEST_P(zookeeper_locks, ZK_15_the_lock_of_a_node_that_died_is_free_after_the_session_timeout) {
    auto options = env().options();
    options.session_timeout = 2s;
    env().run([&]() -> awaitable<void> {
        co_await other().put("/k", "");
        co_await one_session(options, "hv1", [&](node_session& hv1) -> awaitable<void> {
            auto what = request("/k", lock_kind::exclusive, 20s);
            auto body = [&](held_lock&) -> awaitable<result<void>> {
                env().refuse_connections();  // nothing that it still does reaches anybody
                const auto died = env().clock().now();
                auto theirs = co_await other().acquire("theirs", "exclusive", "/k", 20s);
                EXPECT_TRUE(theirs);
                // Tick of the server: half a second.
                EXPECT_LE(env().clock().now() - died, 2s + 1s + slack());
                co_await other().release("theirs");
                co_return result<void>();
            };
            auto outcome = co_await hv1.locks.with_lock(what, body);
            EXPECT_EQ(code_of(outcome), "ok");
        });
        env().accept_connections();
    });
}

TEST_P(zookeeper_locks, ZK_16_when_the_session_expires_the_holder_is_told_and_finishes_nothing) {
    env().run([&]() -> awaitable<void> {
        co_await other().put("/k", "started");
        co_await one_session(env().options(), "hv1", [&](node_session& hv1) -> awaitable<void> {
            auto what = request("/k", lock_kind::exclusive, 20s);
            auto body = [&](held_lock& lock) -> awaitable<result<void>> {
                EXPECT_TRUE(lock.valid());
                const auto session = hv1.zk->state().value().session_id;
                co_await env().expire(session);
                auto over = co_await reaches(*hv1.zk, link::lost);
                EXPECT_TRUE(over);
                EXPECT_FALSE(lock.valid());
                auto verified = co_await lock.verify(soon());
                EXPECT_EQ(verified.error().code(), errc::refused);
                transaction finish;
                finish.overwrite("/k", "finished");
                lock.add_check(finish);
                auto written = co_await hv1.zk->commit(soon(), finish);
                EXPECT_EQ(written.error().code(), errc::session_lost);
                co_return failure(errc::session_lost);
            };
            auto outcome = co_await hv1.locks.with_lock(what, body);
            EXPECT_EQ(outcome.error().code(), errc::session_lost);
            EXPECT_EQ(hv1.locks.reaper_backlog(), 0U);
        });
        auto value = co_await other().get("/k");
        EXPECT_EQ(value, "started");
        const auto before = env().clock().now();
        co_await one_session(env().options(), "hv1", [&](node_session& hv1) -> awaitable<void> {
            auto outcome = co_await touch(hv1, "/k", lock_kind::exclusive, 20s);
            EXPECT_EQ(code_of(outcome), "ok");
        });
        EXPECT_LE(env().clock().now() - before, 5s + slack());
    });
}

TEST_P(zookeeper_locks, a_write_under_a_lock_that_somebody_took_away_writes_nothing) {
    with_session([&](node_session& hv1) -> awaitable<void> {
        co_await other().put("/k", "started");
        auto what = request("/k", lock_kind::exclusive, 20s);
        auto body = [&](held_lock& lock) -> awaitable<result<void>> {
            const std::string child = lock.child();
            co_await other().remove(child);
            transaction finish;
            finish.overwrite("/k", "finished");
            lock.add_check(finish);
            auto written = co_await hv1.zk->commit(soon(), finish);
            EXPECT_EQ(written.error().code(), errc::not_found);
            EXPECT_EQ(written.error().subject(), child);
            auto verified = co_await lock.verify(soon());
            EXPECT_EQ(verified.error().code(), errc::refused);
            EXPECT_FALSE(lock.valid());
            co_return result<void>();
        };
        auto outcome = co_await hv1.locks.with_lock(what, body);
        EXPECT_EQ(code_of(outcome), "ok");
        auto value = co_await other().get("/k");
        EXPECT_EQ(value, "started");
    });
}

TEST_P(zookeeper_locks, ZK_36_the_create_was_done_and_its_answer_lost) {
    with_session([&](node_session& hv1) -> awaitable<void> {
        co_await other().put("/k", "");
        env().set_lag(2s);
        env().hold_answers_from_create();
        std::vector<std::string> held;
        co_await with_task_group("contender", [&](task_group& group) -> awaitable<void> {
            group.spawn("lock", [&]() -> awaitable<void> {
                auto what = request("/k", lock_kind::exclusive, 20s);
                auto body = [&](held_lock&) -> awaitable<result<void>> {
                    held = co_await contenders("/k");
                    co_return result<void>();
                };
                auto outcome = co_await hv1.locks.with_lock(what, body);
                EXPECT_EQ(code_of(outcome), "ok");
            });
            auto made = co_await contenders_become("/k", 1);
            EXPECT_TRUE(made);
            env().drop_connections();
            env().let_pass();
        });
        EXPECT_EQ(held.size(), 1U);
        auto left = co_await contenders("/k");
        EXPECT_TRUE(left.empty());
        EXPECT_EQ(hv1.locks.reaper_backlog(), 0U);
        env().set_lag(0s);
    });
}

TEST_P(zookeeper_locks, ZK_37_a_waiter_cancelled_while_its_create_is_under_way_leaves_nothing) {
    with_session([&](node_session& hv1) -> awaitable<void> {
        co_await other().put("/k", "");
        for (int i = 0; i < 20; ++i) {
            // Cancelled at another moment each time: before the create, under way, after it.
            co_await with_task_group("contender", [&](task_group& group) -> awaitable<void> {
                group.spawn("lock", [&]() -> awaitable<void> {
                    auto outcome = co_await touch(hv1, "/k", lock_kind::exclusive, 20s);
                    EXPECT_EQ(code_of(outcome), "ok");
                });
                co_await sleep(i * 150us);
                group.cancel();
            });
        }
        auto idle = co_await eventually([&] { return hv1.locks.reaper_backlog() == 0; });
        EXPECT_TRUE(idle);
        auto swept = co_await contenders_become("/k", 0, 1s + slack());
        EXPECT_TRUE(swept);
        env().hold_answers_from_create();
        co_await with_task_group("contender", [&](task_group& group) -> awaitable<void> {
            group.spawn("lock", [&]() -> awaitable<void> {
                auto outcome = co_await touch(hv1, "/k", lock_kind::exclusive, 20s);
                EXPECT_FALSE(outcome);
            });
            auto made = co_await contenders_become("/k", 1);
            EXPECT_TRUE(made);
            group.cancel();
        });
        env().drop_connections();
        env().let_pass();
        auto back = co_await reaches(*hv1.zk, link::connected);
        EXPECT_TRUE(back);
        swept = co_await contenders_become("/k", 0, 1s + slack());
        EXPECT_TRUE(swept);
        idle = co_await eventually([&] { return hv1.locks.reaper_backlog() == 0; });
        EXPECT_TRUE(idle);
    });
}

TEST_P(zookeeper_locks, ZK_37_a_connection_lost_during_the_delete_of_a_release) {
    with_session([&](node_session& hv1) -> awaitable<void> {
        co_await other().put("/k", "");
        for (const bool is_done : {true, false}) {
            auto what = request("/k", lock_kind::exclusive, 20s);
            co_await with_task_group("holder", [&](task_group& group) -> awaitable<void> {
                bool releasing = false;
                group.spawn("lock", [&]() -> awaitable<void> {
                    auto body = [&](held_lock&) -> awaitable<result<void>> {
                        if (is_done) {
                            env().hold_answers_from_delete();
                        } else {
                            env().silence();
                        }
                        releasing = true;
                        co_return result<void>();
                    };
                    auto outcome = co_await hv1.locks.with_lock(what, body);
                    EXPECT_EQ(code_of(outcome), "ok");
                });
                auto started = co_await eventually([&] { return releasing; });
                EXPECT_TRUE(started);
                if (is_done) {
                    auto deleted = co_await contenders_become("/k", 0);
                    EXPECT_TRUE(deleted);
                } else {
                    co_await sleep(50ms);
                }
                env().drop_connections();
                env().let_pass();
            });
            auto back = co_await reaches(*hv1.zk, link::connected);
            EXPECT_TRUE(back);
            auto swept = co_await contenders_become("/k", 0, 1s + slack());
            EXPECT_TRUE(swept);
            auto idle = co_await eventually([&] { return hv1.locks.reaper_backlog() == 0; });
            EXPECT_TRUE(idle);
        }
    });
}

TEST_P(zookeeper_locks, a_wait_outlives_a_broken_connection) {
    with_session([&](node_session& hv1) -> awaitable<void> {
        co_await other().put("/k", "");
        auto theirs = co_await other().acquire("theirs", "exclusive", "/k", 5s);
        EXPECT_TRUE(theirs);
        for (const bool is_released_meanwhile : {false, true}) {
            bool acquired = false;
            co_await with_task_group("contender", [&](task_group& group) -> awaitable<void> {
                group.spawn("lock", [&]() -> awaitable<void> {
                    auto outcome = co_await touch(hv1, "/k", lock_kind::exclusive, 30s);
                    EXPECT_EQ(code_of(outcome), "ok");
                    acquired = true;
                });
                auto queued = co_await contenders_become("/k", 2);
                EXPECT_TRUE(queued);
                env().refuse_connections();
                auto away = co_await reaches(*hv1.zk, link::suspended);
                EXPECT_TRUE(away);
                if (is_released_meanwhile) {
                    co_await other().release("theirs");
                }
                co_await sleep(100ms);
                EXPECT_FALSE(acquired);
                env().accept_connections();
                auto back = co_await reaches(*hv1.zk, link::connected);
                EXPECT_TRUE(back);
                if (!is_released_meanwhile) {
                    co_await sleep(100ms);
                    EXPECT_FALSE(acquired);
                    co_await other().release("theirs");
                }
                auto done = co_await eventually([&] { return acquired; });
                EXPECT_TRUE(done);
            });
            if (!is_released_meanwhile) {
                theirs = co_await other().acquire("theirs", "exclusive", "/k", 5s);
                EXPECT_TRUE(theirs);
            }
        }
    });
}

TEST_P(zookeeper_locks, a_waiter_hears_of_the_loss_of_its_session) {
    env().run([&]() -> awaitable<void> {
        co_await other().put("/k", "");
        auto theirs = co_await other().acquire("theirs", "exclusive", "/k", 5s);
        EXPECT_TRUE(theirs);
        co_await one_session(env().options(), "hv1", [&](node_session& hv1) -> awaitable<void> {
            std::string code;
            co_await with_task_group("contender", [&](task_group& group) -> awaitable<void> {
                group.spawn("lock", [&]() -> awaitable<void> {
                    auto outcome = co_await touch(hv1, "/k", lock_kind::exclusive, 60s);
                    code = code_of(outcome);
                });
                auto queued = co_await contenders_become("/k", 2);
                EXPECT_TRUE(queued);
                const auto session = hv1.zk->state().value().session_id;
                co_await env().expire(session);
            });
            EXPECT_EQ(code, "session lost");
        });
        co_await other().release("theirs");
    });
}

TEST_P(zookeeper_locks, a_proof_is_good_for_two_seconds_and_while_connected) {
    with_session([&](node_session& hv1) -> awaitable<void> {
        co_await other().put("/k", "");
        auto what = request("/k", lock_kind::exclusive, 20s);
        auto body = [&](held_lock& lock) -> awaitable<result<void>> {
            EXPECT_TRUE(lock.valid());
            co_await sleep(2100ms);
            EXPECT_FALSE(lock.valid());
            auto verified = co_await lock.verify(soon());
            EXPECT_EQ(code_of(verified), "ok");
            EXPECT_TRUE(lock.valid());
            env().refuse_connections();
            auto away = co_await reaches(*hv1.zk, link::suspended);
            EXPECT_TRUE(away);
            EXPECT_FALSE(lock.valid());
            auto in_vain = co_await lock.verify(in(100ms));
            EXPECT_EQ(in_vain.error().code(), errc::suspended);
            env().accept_connections();
            auto back = co_await reaches(*hv1.zk, link::connected);
            EXPECT_TRUE(back);
            verified = co_await lock.verify(soon());
            EXPECT_EQ(code_of(verified), "ok");
            EXPECT_TRUE(lock.valid());
            co_return result<void>();
        };
        auto outcome = co_await hv1.locks.with_lock(what, body);
        EXPECT_EQ(code_of(outcome), "ok");
    });
}

TEST_P(zookeeper_locks, ZK_38_a_pause_with_the_answer_in_the_socket_starts_no_protected_step) {
    auto options = env().options();
    options.session_timeout = 3s;
    with_session(options, [&](node_session& hv1) -> awaitable<void> {
        co_await other().put("/k", "");
        bool was_valid = false;
        std::string code;
        co_await with_task_group("contender", [&](task_group& group) -> awaitable<void> {
            group.spawn("lock", [&]() -> awaitable<void> {
                auto what = request("/k", lock_kind::exclusive, 30s);
                auto body = [&](held_lock& lock) -> awaitable<result<void>> {
                    auto verified = co_await lock.verify(soon());
                    was_valid = was_valid || lock.valid();
                    code = code_of(verified);
                    co_return result<void>();
                };
                env().hold_answers();
                auto outcome = co_await hv1.locks.with_lock(what, body);
                EXPECT_FALSE(was_valid);
                if (!outcome) {
                    code = code_of(outcome);
                }
            });
            co_await sleep(50ms);
            env().let_pass();
            co_await env().stand_still(5s);
        });
        EXPECT_FALSE(was_valid);
        auto over = co_await reaches(*hv1.zk, link::lost);
        EXPECT_TRUE(over);
    });
}

}  // namespace
}  // namespace pvc::contract
