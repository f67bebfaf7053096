// The end of a session: by the server's word, by our own clock, with requests under way.
#include "contract/zookeeper/session_bench.hpp"

#include <gtest/gtest.h>

namespace pvc::contract {
namespace {

TEST_P(zookeeper_loss, a_broken_connection_leaves_ephemerals_until_expiry) {
    env().run([&]() -> awaitable<void> {
        const auto before = env().clock().now();
        co_await one_client(short_session(), events_, [&](client& zk) -> awaitable<void> {
            auto made = co_await zk.create(soon(), "/mine", "", create_mode::ephemeral);
            EXPECT_TRUE(made);
            env().refuse_connections();
            auto away = co_await reaches(zk, link::suspended);
            EXPECT_TRUE(away);
        });
        auto seen = co_await other().stat("/mine");
        // On a machine so slow that the session is over already there is nothing to see.
        EXPECT_TRUE(seen || env().clock().now() - before > 2s);
        std::optional<peer_stat> still = seen;
        while (still && env().clock().now() - before < 30s) {
            co_await sleep(50ms);
            still = co_await other().stat("/mine");
        }
        EXPECT_FALSE(still);
        env().accept_connections();
    });
}

TEST_P(zookeeper_loss, silence_suspends_at_two_thirds_and_is_loss_at_the_timeout) {
    with_session(short_session(), [&](client& zk) -> awaitable<void> {
        const auto alive = co_await zk.exists(soon(), "/");
        EXPECT_TRUE(alive);
        const auto from = env().clock().now();
        env().silence();
        std::string write_code;
        co_await with_task_group("requests", [&](task_group& group) -> awaitable<void> {
            group.spawn("write", [&]() -> awaitable<void> {
                auto done = co_await zk.create(soon(), "/a", "");
                write_code = code_of(done);
            });
            auto away = co_await reaches(zk, link::suspended);
            EXPECT_TRUE(away);
            // The last sign of life was at most a third of the timeout before the silence.
            EXPECT_GE(env().clock().now() - from, 900ms);
            auto over = co_await reaches(zk, link::lost);
            EXPECT_TRUE(over);
            EXPECT_GE(env().clock().now() - from, 1900ms);
        });
        EXPECT_EQ(write_code, "outcome unknown");
        EXPECT_GE(env().clock().boot_now() - zk.state().value().contact, 3s);
        EXPECT_FALSE(zk.state().value().reason.empty());
        auto late = co_await zk.get(soon(), "/");
        EXPECT_EQ(late.error().code(), errc::session_lost);
        env().let_pass();
        co_await sleep(100ms);
        EXPECT_EQ(zk.state().value().now, link::lost);  // final
    });
}

TEST_P(zookeeper_loss, loss_by_our_own_clock_while_the_server_is_frozen) {
    with_session(short_session(), [&](client& zk) -> awaitable<void> {
        auto mine = co_await zk.create(soon(), "/mine", "", create_mode::ephemeral);
        EXPECT_TRUE(mine);
        env().freeze_server();
        auto over = co_await reaches(zk, link::lost);
        EXPECT_TRUE(over);
        env().thaw_server();
        std::optional<peer_stat> still = co_await other().stat("/mine");
        for (int i = 0; i < 400 && still; ++i) {
            co_await sleep(50ms);
            still = co_await other().stat("/mine");
        }
        EXPECT_FALSE(still);
    });
}

// runtime-design.md 2.5: no server takes so many watches in one packet, so it would drop each connection. Up to that
// the session goes on.
TEST_P(zookeeper_loss, more_watches_than_a_server_takes_over_end_the_session) {
    const auto watch_many = [&](client& zk, int count) -> awaitable<void> {
        for (int number = 100; number < 100 + count; ++number) {
            const auto none =
                co_await zk.exists(soon(), '/' + std::string(8188, 'w') + std::to_string(number), watching::yes);
            EXPECT_EQ(code_of(none), "not found");
        }
    };
    with_client([&](client& zk) -> awaitable<void> {
        constexpr int some = 110;
        co_await watch_many(zk, some);
        EXPECT_EQ(zk.watch_bytes(), some * (8192U + 4U + env().options().chroot.size()));
        const auto session = zk.state().value().session_id;
        env().drop_connections();
        auto back = co_await eventually([&zk] { return zk.state().value().connections == 2; });
        EXPECT_TRUE(back);
        EXPECT_EQ(zk.state().value().session_id, session);
        co_await sleep(200ms);
        const auto alive = co_await zk.exists(soon(), "/");
        EXPECT_EQ(code_of(alive), "ok");
        EXPECT_EQ(zk.state().value().connections, 2U);
        co_await watch_many(zk, 2 * some);
        EXPECT_GT(zk.watch_bytes(), 1024U * 1024U);
        env().drop_connections();
        auto over = co_await reaches(zk, link::lost);
        EXPECT_TRUE(over);
        EXPECT_NE(zk.state().value().reason.find("watches"), std::string::npos) << zk.state().value().reason;
    });
}

TEST_P(zookeeper_loss, expiry_by_the_servers_word) {
    with_client([&](client& zk) -> awaitable<void> {
        auto mine = co_await zk.create(soon(), "/mine", "", create_mode::ephemeral);
        EXPECT_TRUE(mine);
        const auto session = zk.state().value().session_id;
        co_await env().expire(session);
        auto over = co_await reaches(zk, link::lost);
        EXPECT_TRUE(over);
        EXPECT_NE(zk.state().value().reason.find("expired"), std::string::npos) << zk.state().value().reason;
        auto gone = co_await other().stat("/mine");
        EXPECT_FALSE(gone);
        auto read = co_await zk.get(soon(), "/");
        EXPECT_EQ(read.error().code(), errc::session_lost);
        auto write = co_await zk.create(soon(), "/a", "");
        EXPECT_EQ(write.error().code(), errc::session_lost);
    });
}

TEST_P(zookeeper_loss, run_ends_when_the_session_is_lost) {
    env().run([&]() -> awaitable<void> {
        auto zk = env().clients().open(env().options());
        bool ended = false;
        co_await with_task_group("client", [&](task_group& group) -> awaitable<void> {
            group.spawn("session", [&]() -> awaitable<void> {
                co_await zk->run();
                ended = true;
            });
            auto connected = co_await zk->wait_connected(soon());
            EXPECT_TRUE(connected);
            const auto session = zk->state().value().session_id;
            co_await env().expire(session);
            auto over = co_await eventually([&] { return ended; });
            EXPECT_TRUE(over);
        });
        auto next = env().clients().open(env().options());
        co_await with_task_group("client", [&](task_group& group) -> awaitable<void> {
            group.spawn("session", [&next] { return next->run(); });
            auto connected = co_await next->wait_connected(soon());
            EXPECT_TRUE(connected);
            EXPECT_NE(next->state().value().session_id, zk->state().value().session_id);
            group.cancel();
        });
    });
}

TEST_P(zookeeper_loss, standing_still_beyond_the_timeout_is_loss) {
    with_session(short_session(), [&](client& zk) -> awaitable<void> {
        auto mine = co_await zk.create(soon(), "/mine", "", create_mode::ephemeral);
        EXPECT_TRUE(mine);
        co_await env().stand_still(4500ms);
        auto over = co_await reaches(zk, link::lost, 1s);
        EXPECT_TRUE(over);
    });
}

TEST_P(zookeeper_loss, requests_under_way_at_the_loss_end) {
    with_session(short_session(), [&](client& zk) -> awaitable<void> {
        std::vector<std::string> codes(3);
        env().silence();
        co_await with_task_group("requests", [&](task_group& group) -> awaitable<void> {
            group.spawn("write", [&]() -> awaitable<void> {
                auto done = co_await zk.create(in(60s), "/a", "");
                codes[0] = code_of(done);
            });
            group.spawn("read", [&]() -> awaitable<void> {
                auto got = co_await zk.get(in(60s), "/a");
                codes[1] = code_of(got);
            });
            auto away = co_await reaches(zk, link::suspended);
            EXPECT_TRUE(away);
            group.spawn("waiting", [&]() -> awaitable<void> {
                auto got = co_await zk.get(in(60s), "/a");
                codes[2] = code_of(got);
            });
            auto over = co_await reaches(zk, link::lost);
            EXPECT_TRUE(over);
        });
        const std::vector<std::string> expected{"outcome unknown", "session lost", "session lost"};
        EXPECT_EQ(codes, expected);
        env().let_pass();
    });
}

TEST_P(zookeeper_loss, watches_of_a_lost_session_stay_silent) {
    env().run([&]() -> awaitable<void> {
        co_await other().put("/a", "1");
        co_await one_client(env().options(), events_, [&](client& zk) -> awaitable<void> {
            auto armed = co_await zk.get(soon(), "/a", watching::yes);
            EXPECT_TRUE(armed);
            const auto session = zk.state().value().session_id;
            co_await env().expire(session);
            auto over = co_await reaches(zk, link::lost);
            EXPECT_TRUE(over);
            co_await other().put("/a", "2");
            co_await sleep(100ms);
            EXPECT_EQ(events_.seen, std::vector<std::string>());
        });
    });
}

PVC_INSTANTIATE_WITHOUT_CHROOT(zookeeper_loss);

}  // namespace
}  // namespace pvc::contract
