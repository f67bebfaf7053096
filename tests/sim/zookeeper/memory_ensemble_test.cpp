// What only the ensemble in memory can show: faults that are injected. What it has in common with a real server is in
// tests/contract/zookeeper.
#include "sim/sim_context.hpp"
#include "sim/zookeeper/memory_client.hpp"

#include <gtest/gtest.h>

namespace pvc::sim {
namespace {

using async::awaitable;
using zookeeper::link;
using zookeeper::watching;

struct recorder final : zookeeper::watch_sink {
    void on_watch_event(const zookeeper::watch_event& event) override { seen.push_back(event.path); }
    std::vector<std::string> seen;
};

class memory_ensemble_test : public ::testing::Test {
protected:
    // One connected client; its session is closed at the end.
    void with_client(std::function<awaitable<void>(zookeeper::client&)> body) {
        loop.run([&]() -> awaitable<void> {
            auto client = hv1.open({{{"zk1", 2181}}, "", 6s});
            client->set_watch_sink(&events);
            co_await async::with_task_group("test", [&](async::task_group& group) -> awaitable<void> {
                group.spawn("session", [&client] { return client->run(); });
                auto connected = co_await client->wait_connected(in(5s));
                EXPECT_TRUE(connected);
                co_await body(*client);
                group.cancel();
            });
        });
    }
    time_point in(duration time) { return loop.clock().now() + time; }
    std::vector<std::string> writes() {
        std::vector<std::string> out;
        for (const auto& one : ensemble.trace()) {
            out.push_back(one.text());
        }
        return out;
    }

    sim_loop loop;
    memory_ensemble ensemble{loop.clock()};
    memory_connector hv1{ensemble};
    recorder events;
};

TEST_F(memory_ensemble_test, latency_and_the_record_of_writes) {
    ensemble.put("/a", "1");
    ensemble.clear_trace();
    with_client([&](zookeeper::client& client) -> awaitable<void> {
        hv1.link().latency = 10ms;
        const auto before = loop.clock().now();
        zookeeper::transaction what;
        what.create("/a/b", "x");
        what.set("/a", "2", 0);
        what.check("/a", 1);
        auto done = co_await client.commit(in(1s), what);
        EXPECT_TRUE(done);
        EXPECT_EQ(loop.clock().now() - before, 10ms);
        EXPECT_EQ(done->stats[1].version, 1);
    });
    const std::vector<std::string> expected{"open session", "create /a/b = x", "set /a = 2", "check /a",
                                            "close session"};
    EXPECT_EQ(writes(), expected);
    EXPECT_EQ(ensemble.trace()[1].zxid, ensemble.trace()[3].zxid);
    EXPECT_EQ(ensemble.trace()[1].session, hv1.link().session_id());
    EXPECT_EQ(ensemble.trace()[1].when - ensemble.trace()[0].when, 5ms + 500us);
}

TEST_F(memory_ensemble_test, a_lagging_server_shows_the_past_until_sync_or_an_answered_write) {
    ensemble.put("/a", "old");
    with_client([&](zookeeper::client& client) -> awaitable<void> {
        hv1.link().lag = 2s;
        auto armed = co_await client.get(in(1s), "/a", watching::yes);
        EXPECT_TRUE(armed);
        ensemble.set("/a", "new");
        auto first = co_await client.get(in(1s), "/a");
        EXPECT_EQ(first->data, "old");
        EXPECT_TRUE(events.seen.empty());
        co_await loop.sleep(2s);
        auto second = co_await client.get(in(1s), "/a");
        EXPECT_EQ(second->data, "new");
        EXPECT_EQ(events.seen.size(), 1U);

        ensemble.set("/a", "newer");
        auto synced = co_await client.sync(in(1s), "/a");
        EXPECT_TRUE(synced);
        auto third = co_await client.get(in(1s), "/a");
        EXPECT_EQ(third->data, "newer");

        ensemble.set("/a", "newest");
        auto written = co_await client.create(in(1s), "/b", "");
        EXPECT_TRUE(written);
        auto fourth = co_await client.get(in(1s), "/a");
        EXPECT_EQ(fourth->data, "newest");
        EXPECT_EQ(fourth->stat.mzxid, ensemble.exists("/a")->mzxid);
    });
}

TEST_F(memory_ensemble_test, a_write_whose_connection_breaks_before_or_after_the_deed) {
    for (const auto when : {verdict::drop_before, verdict::drop_after}) {
        ensemble.remove_tree("/a");
        with_client([&](zookeeper::client& client) -> awaitable<void> {
            hv1.link().on_request = [&](const zookeeper::request& what) {
                return what.is_write() ? when : verdict::answer;
            };
            auto written = co_await client.create(in(1s), "/a", "");
            EXPECT_EQ(written.error().code(), errc::outcome_unknown);
            EXPECT_EQ(client.state().value().now, link::suspended);
            hv1.link().on_request = nullptr;
            auto again = co_await client.wait_connected(in(5s));
            EXPECT_TRUE(again);
            EXPECT_EQ(client.state().value().connections, 2U);
        });
        EXPECT_EQ(ensemble.exists("/a").has_value(), when == verdict::drop_after);
    }
}

TEST_F(memory_ensemble_test, dropped_with_or_without_what_is_in_flight) {
    for (const auto fate : {in_flight::lost, in_flight::applied}) {
        ensemble.remove_tree("/a");
        with_client([&](zookeeper::client& client) -> awaitable<void> {
            hv1.link().latency = 1s;
            async::timer breaking(loop.clock());
            breaking.arm(in(100ms), [&] { hv1.link().drop(fate); });
            auto written = co_await client.create(in(10s), "/a", "");
            EXPECT_EQ(written.error().code(), errc::outcome_unknown);
        });
        EXPECT_EQ(ensemble.exists("/a").has_value(), fate == in_flight::applied);
    }
}

TEST_F(memory_ensemble_test, silence_suspends_after_two_thirds_and_loses_at_the_timeout) {
    with_client([&](zookeeper::client& client) -> awaitable<void> {
        const auto session = client.state().value().session_id;
        ensemble.put("/a", "");
        hv1.link().silence();
        const auto from = loop.clock().now();
        async::wakeup changed;
        const async::latest<zookeeper::session_state>::observer watch(client.state(), changed);
        co_await changed.wait(async::wait_note::work("the suspension"));
        EXPECT_EQ(client.state().value().now, link::suspended);
        EXPECT_GE(loop.clock().now() - from, 3900ms);
        EXPECT_LE(loop.clock().now() - from, 4s);
        co_await changed.wait(async::wait_note::work("the loss"));
        EXPECT_EQ(client.state().value().now, link::lost);
        EXPECT_GE(loop.clock().now() - from, 5900ms);
        EXPECT_LE(loop.clock().now() - from, 6s);
        auto late = co_await client.get(in(1min), "/a");
        EXPECT_EQ(late.error().code(), errc::session_lost);
        co_await loop.sleep(100ms);
        EXPECT_FALSE(ensemble.has_session(session));
    });
}

TEST_F(memory_ensemble_test, answers_that_are_held_back_keep_the_session_and_acknowledge_late) {
    ensemble.put("/a", "");
    with_client([&](zookeeper::client& client) -> awaitable<void> {
        hv1.link().write_answer_delay = 30s;
        zookeeper::transaction what;
        what.overwrite("/a", "beat");
        std::vector<boot_time> acknowledged;
        const auto sent = loop.clock().boot_now();
        auto written = co_await client.commit(in(2s), what, [&](boot_time at) { acknowledged.push_back(at); });
        EXPECT_EQ(written.error().code(), errc::outcome_unknown);
        EXPECT_EQ(ensemble.get("/a"), "beat");
        co_await loop.sleep(27s);
        EXPECT_TRUE(acknowledged.empty());
        co_await loop.sleep(2s);
        EXPECT_EQ(acknowledged, std::vector{sent});
        EXPECT_TRUE(client.is_connected());
        EXPECT_EQ(client.state().value().connections, 1U);
    });
}

TEST_F(memory_ensemble_test, power_off_leaves_ephemerals_until_the_session_expires) {
    with_client([&](zookeeper::client& client) -> awaitable<void> {
        auto made = co_await client.create(in(1s), "/mine", "", zookeeper::create_mode::ephemeral);
        EXPECT_TRUE(made);
        hv1.link().power_off();
    });
    EXPECT_TRUE(ensemble.exists("/mine"));
    loop.run_for(5900ms);
    EXPECT_TRUE(ensemble.exists("/mine"));
    loop.run_for(200ms);
    EXPECT_FALSE(ensemble.exists("/mine"));
    EXPECT_EQ(writes().back(), "expire session");
}

TEST_F(memory_ensemble_test, an_orderly_close_removes_ephemerals_at_once) {
    with_client([&](zookeeper::client& client) -> awaitable<void> {
        auto made = co_await client.create(in(1s), "/mine", "", zookeeper::create_mode::ephemeral);
        EXPECT_TRUE(made);
    });
    EXPECT_FALSE(ensemble.exists("/mine"));
    EXPECT_EQ(writes().back(), "close session");
}

TEST_F(memory_ensemble_test, what_lay_in_the_socket_during_a_pause_proves_nothing) {
    ensemble.put("/a", "1");
    with_client([&](zookeeper::client& client) -> awaitable<void> {
        hv1.link().latency = 100ms;
        const auto sent = loop.clock().boot_now();
        async::timer pause(loop.clock());
        async::timer resume(loop.clock());
        pause.arm(in(20ms), [&] { hv1.link().pause(); });
        resume.arm(in(3020ms), [&] { hv1.link().resume(); });
        auto read = co_await client.get(in(1min), "/a");
        EXPECT_TRUE(read);  // it is delivered, but it is as old as its request
        EXPECT_EQ(read->sent, sent);
        EXPECT_EQ(loop.clock().boot_now() - sent, 3020ms);
        EXPECT_EQ(client.state().value().now, link::suspended);
        EXPECT_LE(client.state().value().contact, sent + 20ms);
        auto again = co_await client.wait_connected(in(1s));
        EXPECT_TRUE(again);
        EXPECT_EQ(loop.clock().boot_now() - sent, 3120ms);
        EXPECT_EQ(client.state().value().connections, 2U);
    });
}

TEST_F(memory_ensemble_test, a_short_pause_goes_unnoticed_and_a_long_one_loses_the_session) {
    with_client([&](zookeeper::client& client) -> awaitable<void> {
        hv1.link().pause();
        co_await loop.sleep(2s);
        hv1.link().resume();
        co_await loop.sleep(1s);
        EXPECT_TRUE(client.is_connected());
        EXPECT_EQ(client.state().value().connections, 1U);
        hv1.link().pause();
        co_await loop.sleep(20s);
        EXPECT_FALSE(ensemble.has_session(client.state().value().session_id));
        hv1.link().resume();
        EXPECT_EQ(client.state().value().now, link::lost);
    });
}

TEST_F(memory_ensemble_test, a_frozen_ensemble_does_late_what_it_was_asked_for) {
    with_client([&](zookeeper::client& client) -> awaitable<void> {
        ensemble.freeze();
        auto written = co_await client.create(in(1s), "/a", "");
        EXPECT_EQ(written.error().code(), errc::outcome_unknown);
        EXPECT_FALSE(ensemble.exists("/a"));
        ensemble.thaw();
        co_await loop.sleep(10ms);
        EXPECT_TRUE(ensemble.exists("/a"));
        EXPECT_TRUE(client.is_connected());
    });
}

TEST_F(memory_ensemble_test, watch_events_are_delayed_and_keep_their_place) {
    ensemble.put("/a", "1");
    with_client([&](zookeeper::client& client) -> awaitable<void> {
        auto armed = co_await client.get(in(1s), "/a", watching::yes);
        EXPECT_TRUE(armed);
        hv1.link().watch_delay = 700ms;
        ensemble.set("/a", "2");
        const auto before = loop.clock().now();
        auto read = co_await client.get(in(1s), "/a");
        EXPECT_EQ(events.seen, std::vector<std::string>{"/a"});
        EXPECT_GE(loop.clock().now() - before, 700ms);
        EXPECT_EQ(read->data, "2");
    });
}

// No server takes them: the client does not try (README ruling 82).
TEST_F(memory_ensemble_test, more_watches_than_fit_in_one_packet_never_reconnect) {
    with_client([&](zookeeper::client& client) -> awaitable<void> {
        const std::string stem = "/" + std::string(80, 'x');
        for (int i = 0; i < 14'000; ++i) {
            auto armed = co_await client.exists(in(1s), stem + std::to_string(i), watching::yes);
            EXPECT_EQ(armed.error().code(), errc::not_found);
        }
        EXPECT_EQ(ensemble.watches(""), 14'000U);
        const auto attempts = ensemble.counters().connection_attempts;
        hv1.link().drop();
        co_await loop.sleep(5s);
        EXPECT_EQ(ensemble.counters().connection_attempts, attempts);
        EXPECT_EQ(client.state().value().now, link::lost);
    });
}

// As a server does that takes less than others: whoever sends them is dropped, over and over.
TEST_F(memory_ensemble_test, a_packet_that_is_too_long_for_the_servers_drops_the_connection) {
    memory_ensemble small(loop.clock(), {.request_limit_bytes = 100'000});
    memory_connector way(small);
    loop.run([&]() -> awaitable<void> {
        auto client = way.open({});
        co_await async::with_task_group("client", [&](async::task_group& group) -> awaitable<void> {
            group.spawn("session", [&] { return client->run(); });
            const auto connected = co_await client->wait_connected(in(5s));
            EXPECT_TRUE(connected);
            for (int i = 100; i < 300; ++i) {
                auto armed =
                    co_await client->exists(in(1s), "/" + std::string(997, 'x') + std::to_string(i), watching::yes);
                EXPECT_FALSE(armed);
            }
            const auto attempts = small.counters().connection_attempts;
            way.link().drop();
            co_await loop.sleep(5s);
            EXPECT_GT(small.counters().connection_attempts, attempts + 2);
            group.cancel();
        });
    });
}

TEST_F(memory_ensemble_test, refused_connections_back_off) {
    with_client([&](zookeeper::client& client) -> awaitable<void> {
        const auto before = ensemble.counters().connection_attempts;
        hv1.link().cut();
        co_await loop.sleep(5s);
        EXPECT_EQ(client.state().value().now, link::suspended);
        const auto attempts = ensemble.counters().connection_attempts - before;
        EXPECT_GE(attempts, 3U);
        EXPECT_LE(attempts, 10U);
        hv1.link().mend();
    });
}

TEST_F(memory_ensemble_test, the_test_acts_as_a_session_of_its_own) {
    const auto foreign = ensemble.open_session();
    ensemble.put("/a", "");
    const auto first = ensemble.create("/a/x-", "", zookeeper::create_mode::ephemeral_sequential, foreign);
    const auto second = ensemble.create("/a/y-", "", zookeeper::create_mode::ephemeral_sequential, foreign);
    EXPECT_EQ(*first, "/a/x-0000000000");
    EXPECT_EQ(*second, "/a/y-0000000001");
    EXPECT_EQ(ensemble.exists(*first)->ephemeral_owner, foreign);
    ensemble.close_session(foreign);
    EXPECT_TRUE(ensemble.children("/a").empty());
    EXPECT_EQ(ensemble.exists("/a")->cversion, 4);
    const auto short_lived = ensemble.open_session(3s);
    ensemble.create("/a/z", "", zookeeper::create_mode::ephemeral, short_lived);
    loop.run_for(3s);
    EXPECT_TRUE(ensemble.children("/a").empty());
}

}  // namespace
}  // namespace pvc::sim
