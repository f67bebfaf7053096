// Locks, with the reference's library as the other side (against the real server; its recipe in memory).
#include "contract/zookeeper/lock_bench.hpp"

#include <gtest/gtest.h>

#include <regex>

namespace pvc::contract {
namespace {

TEST_P(zookeeper_locks, ZK_10_contending_in_vain_ends_in_time_and_leaves_nothing) {
    with_session([&](node_session& hv1) -> awaitable<void> {
        co_await other().put("/config/primary_node", "hv2");
        auto held = co_await other().acquire("theirs", "exclusive", "/config/primary_node", 5s);
        EXPECT_TRUE(held);
        const auto before = env().clock().now();
        auto outcome = co_await touch(hv1, "/config/primary_node", lock_kind::exclusive, 400ms);
        const duration took = env().clock().now() - before;
        EXPECT_EQ(outcome.error().code(), errc::timed_out);
        EXPECT_GE(took, 400ms);
        EXPECT_LE(took, 600ms + slack());
        auto left = co_await contenders("/config/primary_node");
        EXPECT_EQ(left.size(), 1U);
        EXPECT_EQ(hv1.locks.reaper_backlog(), 0U);
        co_await other().release("theirs");
        auto now = co_await touch(hv1, "/config/primary_node", lock_kind::exclusive, 20s);
        EXPECT_EQ(code_of(now), "ok");
        left = co_await contenders("/config/primary_node");
        EXPECT_TRUE(left.empty());
    });
}

TEST_P(zookeeper_locks, ZK_11_the_reference_waits_for_ours) {
    with_session([&](node_session& hv1) -> awaitable<void> {
        co_await other().put("/config/primary_node", "");
        std::string child;
        auto what = request("/config/primary_node", lock_kind::exclusive, 20s);
        auto body = [&](held_lock& lock) -> awaitable<result<void>> {
            child = lock.child();
            EXPECT_TRUE(lock.valid());
            auto names = co_await contenders("/config/primary_node");
            EXPECT_EQ(names.size(), 1U);
            EXPECT_TRUE(std::regex_match(names.front(), std::regex("^[0-9a-f]{32}__lock__[0-9]{10}$")))
                << names.front();
            auto stat = co_await other().stat(child);
            EXPECT_EQ(stat->ephemeral_owner, hv1.zk->state().value().session_id);
            auto theirs = co_await other().acquire("theirs", "exclusive", "/config/primary_node", 1s);
            EXPECT_FALSE(theirs);
            co_return result<void>();
        };
        auto outcome = co_await hv1.locks.with_lock(what, body);
        EXPECT_EQ(code_of(outcome), "ok");
        auto gone = co_await other().stat(child);
        EXPECT_FALSE(gone);
        auto theirs = co_await other().acquire("theirs", "exclusive", "/config/primary_node", 10s);
        EXPECT_TRUE(theirs);
        co_await other().release("theirs");
    });
}

TEST_P(zookeeper_locks, ZK_12_a_foreign_reader_stops_writers_only) {
    with_session([&](node_session& hv1) -> awaitable<void> {
        co_await other().put("/k", "");
        auto reader = co_await other().acquire("theirs", "read", "/k", 5s);
        EXPECT_TRUE(reader);
        auto exclusive = co_await touch(hv1, "/k", lock_kind::exclusive, 10s);
        EXPECT_EQ(code_of(exclusive), "ok");
        auto shared = co_await touch(hv1, "/k", lock_kind::read, 10s);
        EXPECT_EQ(code_of(shared), "ok");
        auto write = co_await touch(hv1, "/k", lock_kind::write, 3s);
        EXPECT_EQ(write.error().code(), errc::timed_out);
        auto left = co_await contenders("/k");
        EXPECT_EQ(left.size(), 1U);

        bool acquired = false;
        co_await with_task_group("writer", [&](task_group& group) -> awaitable<void> {
            group.spawn("write", [&]() -> awaitable<void> {
                auto outcome = co_await touch(hv1, "/k", lock_kind::write, 20s);
                EXPECT_EQ(code_of(outcome), "ok");
                acquired = true;
            });
            co_await sleep(600ms);
            EXPECT_FALSE(acquired);
            co_await other().release("theirs");
            const auto released = env().clock().now();
            auto done = co_await eventually([&] { return acquired; });
            EXPECT_TRUE(done);
            EXPECT_LE(env().clock().now() - released, 300ms + slack());
        });
    });
}

TEST_P(zookeeper_locks, ZK_13_a_reader_does_not_wait_for_a_writer_behind_it) {
    with_session([&](node_session& hv1) -> awaitable<void> {
        co_await other().put("/k", "");
        auto first = co_await other().acquire("w0", "write", "/k", 5s);
        EXPECT_TRUE(first);
        time_point ours{};
        bool ours_released = false;
        bool theirs_acquired = false;
        co_await with_task_group("contenders", [&](task_group& group) -> awaitable<void> {
            group.spawn("reader", [&]() -> awaitable<void> {
                auto what = request("/k", lock_kind::read, 20s);
                auto body = [&](held_lock&) -> awaitable<result<void>> {
                    ours = env().clock().now();
                    co_await sleep(300ms);
                    EXPECT_FALSE(theirs_acquired);
                    ours_released = true;
                    co_return result<void>();
                };
                auto outcome = co_await hv1.locks.with_lock(what, body);
                EXPECT_EQ(code_of(outcome), "ok");
            });
            auto queued = co_await contenders_become("/k", 2);
            EXPECT_TRUE(queued);
            group.spawn("their writer", [&]() -> awaitable<void> {
                auto got = co_await other().acquire("w2", "write", "/k", 20s);
                EXPECT_TRUE(got);
                EXPECT_TRUE(ours_released);
                theirs_acquired = true;
            });
            queued = co_await contenders_become("/k", 3);
            EXPECT_TRUE(queued);
            co_await other().release("w0");
            const auto released = env().clock().now();
            auto done = co_await eventually([&] { return theirs_acquired; });
            EXPECT_TRUE(done);
            EXPECT_LE(ours - released, 100ms + slack());
            co_await other().release("w2");
        });
    });
}

TEST_P(zookeeper_locks, ZK_14_two_hundred_write_phases_against_their_reader) {
    with_session([&](node_session& hv1) -> awaitable<void> {
        co_await other().put("/k", "");
        constexpr int phases = 200;
        duration our_longest{};
        duration their_longest{};
        co_await with_task_group("phases", [&](task_group& group) -> awaitable<void> {
            group.spawn("reader",
                        [&]() -> awaitable<void> { their_longest = co_await other().read_phases("/k", phases); });
            zookeeper::reader_drain drain;
            for (int i = 0; i < phases; ++i) {
                auto what = request("/k", lock_kind::write, 20s);
                what.drain = &drain;
                const auto before = env().clock().now();
                auto body = [&](held_lock& lock) -> awaitable<result<void>> {
                    our_longest = std::max(our_longest, env().clock().now() - before);
                    transaction phase_end;
                    phase_end.overwrite("/k", "");
                    lock.add_check(phase_end);
                    auto written = co_await hv1.zk->commit(soon(), phase_end);
                    EXPECT_EQ(code_of(written), "ok");
                    co_return result<void>();
                };
                auto outcome = co_await hv1.locks.with_lock(what, body);
                EXPECT_EQ(code_of(outcome), "ok") << "phase " << i;
            }
        });
        EXPECT_LE(our_longest, 1s + slack());
        EXPECT_LE(their_longest, 1s + slack());
        auto left = co_await contenders("/k");
        EXPECT_TRUE(left.empty());
    });
}

TEST_P(zookeeper_locks, ZK_17_other_children_of_the_key_are_no_contenders) {
    with_session([&](node_session& hv1) -> awaitable<void> {
        for (const std::string name : {"sync_lock", "foo", "x__lock__12", "__lock__", "a__lock__000000001x"}) {
            co_await other().put("/k/" + name, "");
        }
        for (const auto kind : {lock_kind::exclusive, lock_kind::write, lock_kind::read}) {
            auto outcome = co_await touch(hv1, "/k", kind, 10s);
            EXPECT_EQ(code_of(outcome), "ok");
        }
        auto names = co_await other().children("/k");
        EXPECT_EQ(names.size(), 5U);
    });
}

TEST_P(zookeeper_locks, ZK_18_no_lock_on_an_object_that_is_gone) {
    with_session([&](node_session& hv1) -> awaitable<void> {
        co_await other().put("/domains", "");
        auto outcome = co_await touch(hv1, "/domains/unknown/state", lock_kind::exclusive, 10s);
        EXPECT_EQ(outcome.error().code(), errc::not_found);
        auto names = co_await other().children("/domains");
        EXPECT_TRUE(names.empty());
        auto what = request("/logs/hv1/messages", lock_kind::write, 10s);
        what.create_ancestors = true;
        auto nothing = [](held_lock&) -> awaitable<result<void>> { co_return result<void>(); };
        auto base = co_await hv1.locks.with_lock(what, nothing);
        EXPECT_EQ(code_of(base), "ok");
        auto made = co_await other().get("/logs/hv1/messages");
        EXPECT_EQ(made, "");
    });
}

TEST_P(zookeeper_locks, ZK_40_the_childs_data_says_who_and_why) {
    with_session([&](node_session& hv1) -> awaitable<void> {
        co_await other().put("/k", "");
        std::string data;
        std::string name;
        const auto read = [&](held_lock& lock) -> awaitable<result<void>> {
            const std::string child = lock.child();
            name = child.substr(child.rfind('/') + 1);
            auto got = co_await other().get(child);
            data = got.value_or("missing");
            co_return result<void>();
        };
        auto what = request("/k", lock_kind::exclusive, 10s);
        std::string guid;
        what.guid = &guid;
        auto outcome = co_await hv1.locks.with_lock(what, read);
        EXPECT_EQ(data, "hv1:4711:test:contract");
        EXPECT_TRUE(!guid.empty() && name.starts_with(guid)) << name << " " << guid;
        what = request("/k", lock_kind::exclusive, 10s);
        what.reason =
            "Gr\xc3\xbc\xc3\x9f"
            "e " +
            std::string(500, 'x');
        outcome = co_await hv1.locks.with_lock(what, read);
        EXPECT_TRUE(data.starts_with("hv1:4711:test:Gr????e xxx")) << data;
        EXPECT_EQ(data.size(), 200U);
    });
}

TEST_P(zookeeper_locks, contenders_of_two_nodes_take_turns_in_order) {
    env().run([&]() -> awaitable<void> {
        co_await other().put("/k", "");
        std::string order;
        int holders = 0;
        co_await one_session(env().options(), "hv1", [&](node_session& hv1) -> awaitable<void> {
            co_await one_session(env().options(), "hv2", [&](node_session& hv2) -> awaitable<void> {
                co_await with_task_group("contenders", [&](task_group& group) -> awaitable<void> {
                    for (int i = 0; i < 6; ++i) {
                        group.spawn("contender", [&, i]() -> awaitable<void> {
                            auto what = request("/k", lock_kind::exclusive, 30s);
                            auto body = [&, i](held_lock&) -> awaitable<result<void>> {
                                EXPECT_EQ(++holders, 1);
                                order += static_cast<char>('0' + i);
                                co_await sleep(20ms);
                                --holders;
                                co_return result<void>();
                            };
                            auto outcome = co_await (i % 2 == 0 ? hv1 : hv2).locks.with_lock(what, body);
                            EXPECT_EQ(code_of(outcome), "ok");
                        });
                        co_await sleep(env().is_simulated() ? 10ms : 50ms);
                    }
                });
            });
        });
        EXPECT_EQ(order.size(), 6U);
        if (env().is_simulated()) {
            EXPECT_EQ(order, "012345");
        }
    });
}

TEST_P(zookeeper_locks, a_body_that_fails_throws_or_is_cancelled_releases) {
    with_session([&](node_session& hv1) -> awaitable<void> {
        co_await other().put("/k", "");
        auto what = request("/k", lock_kind::exclusive, 10s);
        auto fails = [](held_lock&) -> awaitable<result<void>> { co_return failure(errc::refused, "body"); };
        auto outcome = co_await hv1.locks.with_lock(what, fails);
        EXPECT_EQ(outcome.error().code(), errc::refused);
        auto left = co_await contenders("/k");
        EXPECT_TRUE(left.empty());

        bool caught = false;
        auto throws = [](held_lock&) -> awaitable<result<void>> {
            throw std::runtime_error("broken");
            co_return result<void>();
        };
        try {
            auto never = co_await hv1.locks.with_lock(what, throws);
            EXPECT_FALSE(never);
        } catch (const std::runtime_error&) {
            caught = true;
        }
        EXPECT_TRUE(caught);
        left = co_await contenders("/k");
        EXPECT_TRUE(left.empty());

        co_await with_task_group("holder", [&](task_group& group) -> awaitable<void> {
            bool holding = false;
            group.spawn("lock", [&]() -> awaitable<void> {
                auto waits = [&](held_lock&) -> awaitable<result<void>> {
                    holding = true;
                    co_await sleep(1h);
                    co_return result<void>();
                };
                auto never = co_await hv1.locks.with_lock(what, waits);
                EXPECT_FALSE(never);
            });
            auto started = co_await eventually([&] { return holding; });
            EXPECT_TRUE(started);
            group.cancel();
        });
        left = co_await contenders("/k");
        EXPECT_TRUE(left.empty());  // when with_lock is left it is free
    });
}

TEST_P(zookeeper_locks, a_contender_that_no_session_owns_is_ignored_and_named) {
    with_session([&](node_session& hv1) -> awaitable<void> {
        co_await other().put("/k/00000000000000000000000000000000__lock__0000000000", "from a backup");
        auto outcome = co_await touch(hv1, "/k", lock_kind::exclusive, 10s);
        EXPECT_EQ(code_of(outcome), "ok");
        EXPECT_EQ(hv1.log.lines.size(), 1U);
        EXPECT_NE(hv1.log.lines.at(0).find("__lock__0000000000"), std::string::npos);
    });
}

TEST_P(zookeeper_locks, waiting_leaves_no_watches_behind) {
    with_session([&](node_session& hv1) -> awaitable<void> {
        co_await other().put("/k", "");
        const auto before = co_await env().watches();
        for (int i = 0; i < 5; ++i) {
            auto theirs = co_await other().acquire("theirs", "exclusive", "/k", 5s);
            EXPECT_TRUE(theirs);
            bool acquired = false;
            co_await with_task_group("contender", [&](task_group& group) -> awaitable<void> {
                group.spawn("lock", [&]() -> awaitable<void> {
                    auto outcome = co_await touch(hv1, "/k", lock_kind::exclusive, 20s);
                    EXPECT_EQ(code_of(outcome), "ok");
                    acquired = true;
                });
                auto queued = co_await contenders_become("/k", 2);
                EXPECT_TRUE(queued);
                co_await sleep(50ms);
                co_await other().release("theirs");
                auto done = co_await eventually([&] { return acquired; });
                EXPECT_TRUE(done);
            });
        }
        const auto after = co_await env().watches();
        EXPECT_LE(after,
                  before);  // each one left would be sent again at every reconnect, for as long as the session lives
    });
}

PVC_INSTANTIATE_REAL_WITHOUT_CHROOT(zookeeper_locks);

}  // namespace
}  // namespace pvc::contract
