// What the port does by itself, above any adapter: deadlines, waiting for the connection, sending reads again, limits.
#include "pvcnoded/zookeeper/client.hpp"

#include "sim/sim_context.hpp"

#include <gtest/gtest.h>

#include <deque>

namespace pvc::zookeeper {
namespace {

using namespace std::chrono_literals;
using async::awaitable;
using sim::sim_loop;

// An adapter in the hands of the test.
class scripted_client final : public client {
public:
    explicit scripted_client(async::timers& clock) : client(clock) {}
    awaitable<void> run() override { co_return; }

    void become(link now) {
        session_state next = state().value();
        next.now = now;
        next.reason = now == link::connected ? "" : "of the test";
        state().set(std::move(next));
    }
    void answer(reply what) {
        auto handler = std::move(handlers.front());
        handlers.pop_front();
        handler(std::move(what));
    }
    static reply good() { return {}; }
    static reply bad(errc code) {
        reply out;
        out.outcome = failure(code, "/a");
        return out;
    }

    std::vector<request> sent;
    std::deque<std::function<void(reply)>> handlers;
    bool was_disconnected_at_send = false;

protected:
    void send(request& what, reply_handler done) override {
        was_disconnected_at_send = was_disconnected_at_send || !is_connected();
        sent.push_back(what.is_write() ? std::exchange(what, {}) : what);
        handlers.push_back(std::move(done));
    }
};

class zookeeper_client : public ::testing::Test {
protected:
    void run(std::function<awaitable<void>()> body) { loop.run(std::move(body)); }
    time_point in(duration time) { return loop.clock().now() + time; }
    void after(duration time, std::function<void()> action) {
        timers_.push_back(std::make_unique<async::timer>(loop.clock()));
        timers_.back()->arm(in(time), std::move(action));
    }

    sim_loop loop;
    scripted_client zk{loop.clock()};

private:
    std::vector<std::unique_ptr<async::timer>> timers_;
};

TEST_F(zookeeper_client, nothing_is_sent_without_a_connection) {
    run([&]() -> awaitable<void> {
        auto read = co_await zk.get(in(1s), "/a");
        EXPECT_EQ(read.error().code(), errc::suspended);
        auto write = co_await zk.create(in(1s), "/a", "");
        EXPECT_EQ(write.error().code(), errc::suspended);
        EXPECT_EQ(loop.clock().now(), time_point(2s));
        EXPECT_TRUE(zk.sent.empty());
    });
}

TEST_F(zookeeper_client, a_request_goes_out_when_the_connection_comes) {
    run([&]() -> awaitable<void> {
        after(3s, [&] { zk.become(link::connected); });
        after(4s, [&] {
            reply answer;
            answer.data = "x";
            answer.sent = boot_time(3s);
            zk.answer(answer);
        });
        auto read = co_await zk.get(in(10s), "/a");
        EXPECT_EQ(read->data, "x");
        EXPECT_EQ(read->sent, boot_time(3s));
        EXPECT_EQ(zk.sent.size(), 1U);
        EXPECT_FALSE(zk.was_disconnected_at_send);
    });
}

TEST_F(zookeeper_client, a_lost_session_ends_waits_and_refuses) {
    run([&]() -> awaitable<void> {
        after(1s, [&] { zk.become(link::lost); });
        auto read = co_await zk.get(in(10s), "/a");
        EXPECT_EQ(read.error().code(), errc::session_lost);
        EXPECT_EQ(read.error().cause(), "of the test");
        auto waited = co_await zk.wait_connected(in(10s));
        EXPECT_EQ(waited.error().code(), errc::session_lost);
        EXPECT_EQ(loop.clock().now(), time_point(1s));
    });
}

TEST_F(zookeeper_client, a_broken_read_goes_out_again_and_a_broken_write_does_not) {
    zk.become(link::connected);
    run([&]() -> awaitable<void> {
        after(1s, [&] {
            zk.become(link::suspended);
            zk.answer(scripted_client::bad(errc::suspended));
        });
        after(2s, [&] { zk.become(link::connected); });
        after(3s, [&] { zk.answer(scripted_client::good()); });
        auto read = co_await zk.exists(in(10s), "/a", watching::yes);
        EXPECT_TRUE(read);
        EXPECT_EQ(zk.sent.size(), 2U);
        EXPECT_EQ(zk.sent[1].path, "/a");
        EXPECT_EQ(zk.sent[1].watch, watching::yes);

        after(1s, [&] {
            zk.become(link::suspended);
            zk.answer(scripted_client::bad(errc::outcome_unknown));
        });
        transaction what;
        what.overwrite("/a", "x");
        auto write = co_await zk.commit(in(10s), what);
        EXPECT_EQ(write.error().code(), errc::outcome_unknown);
        EXPECT_EQ(zk.sent.size(), 3U);
    });
}

TEST_F(zookeeper_client, a_broken_read_is_not_repeated_beyond_its_deadline) {
    zk.become(link::connected);
    run([&]() -> awaitable<void> {
        after(1s, [&] {
            zk.become(link::suspended);
            zk.answer(scripted_client::bad(errc::suspended));
        });
        auto read = co_await zk.get(in(3s), "/a");
        EXPECT_EQ(read.error().code(), errc::suspended);
        EXPECT_EQ(loop.clock().now(), time_point(3s));
        EXPECT_EQ(zk.sent.size(), 1U);
    });
}

TEST_F(zookeeper_client, without_an_answer_a_read_is_late_and_a_write_unknown) {
    zk.become(link::connected);
    run([&]() -> awaitable<void> {
        auto read = co_await zk.children(in(1s), "/a");
        EXPECT_EQ(read.error().code(), errc::timed_out);
        EXPECT_EQ(read.error().subject(), "/a");
        auto removal = co_await zk.remove(in(1s), "/b", 3);
        EXPECT_EQ(removal.error().code(), errc::outcome_unknown);
        EXPECT_EQ(removal.error().subject(), "/b");
        EXPECT_EQ(zk.sent[1].version, 3);
        transaction what;
        what.check("/c", 1);
        what.overwrite("/d", "");
        std::vector<boot_time> acknowledged;
        auto write = co_await zk.commit(in(1s), what, [&](boot_time sent) { acknowledged.push_back(sent); });
        EXPECT_EQ(write.error().code(), errc::outcome_unknown);
        EXPECT_EQ(write.error().subject(), "/c");
        EXPECT_TRUE(acknowledged.empty());
        zk.answer(scripted_client::good());
        zk.answer(scripted_client::good());
        reply late;
        late.sent = boot_time(2s);
        zk.answer(late);
        EXPECT_EQ(acknowledged, std::vector{boot_time(2s)});
    });
}

TEST_F(zookeeper_client, a_late_refusal_is_no_acknowledgement) {
    zk.become(link::connected);
    run([&]() -> awaitable<void> {
        transaction what;
        what.overwrite("/d", "");
        bool acknowledged = false;
        auto write = co_await zk.commit(in(1s), what, [&](boot_time) { acknowledged = true; });
        EXPECT_EQ(write.error().code(), errc::outcome_unknown);
        zk.answer(scripted_client::bad(errc::not_found));
        EXPECT_FALSE(acknowledged);
    });
}

TEST_F(zookeeper_client, what_can_never_succeed_is_not_sent) {
    zk.become(link::connected);
    run([&]() -> awaitable<void> {
        const transaction nothing;
        auto empty = co_await zk.commit(in(1s), nothing);
        EXPECT_TRUE(empty);
        for (const std::string path : {"", "a", "/a/", "//", "/a//b", "/.", "/..", "/a/.", "/a/..", "/./a", "/../a"}) {
            auto read = co_await zk.get(in(1s), path);
            EXPECT_EQ(read.error().code(), errc::invalid) << path;
        }
        auto with_nul = co_await zk.get(in(1s), std::string("/a\0b", 4));
        EXPECT_EQ(with_nul.error().code(), errc::invalid);
        const std::string large(value_limit_bytes + 1, 'x');
        auto too_large = co_await zk.create(in(1s), "/a", large);
        EXPECT_EQ(too_large.error().code(), errc::too_large);
        transaction many;
        for (int i = 0; i < 10'000; ++i) {
            many.check("/a", any_version);
        }
        auto too_many = co_await zk.commit(in(1s), many);
        EXPECT_EQ(too_many.error().code(), errc::too_large);
        EXPECT_GT(many.size_bytes(), transaction_limit_bytes);
        EXPECT_TRUE(zk.sent.empty());
        EXPECT_EQ(loop.clock().now(), time_point(0s));
    });
}

TEST_F(zookeeper_client, a_cancelled_waiter_leaves_the_answer_to_nobody) {
    zk.become(link::connected);
    run([&]() -> awaitable<void> {
        bool threw = false;
        co_await async::with_task_group("group", [&](async::task_group& group) -> awaitable<void> {
            group.spawn("reader", [&]() -> awaitable<void> {
                try {
                    auto read = co_await zk.get(in(1h), "/a");
                    EXPECT_FALSE(read);
                } catch (...) {
                    threw = true;
                    throw;
                }
            });
            co_await loop.sleep(1s);
            group.cancel();
        });
        EXPECT_TRUE(threw);
        EXPECT_EQ(loop.clock().now(), time_point(1s));
        zk.answer(scripted_client::good());
    });
}

// As the library keeps them: one of a kind for each path, with the chroot in front of it and four bytes beside it.
TEST(zookeeper_watches, what_is_set) {
    using kind = set_watches::kind;
    set_watches all(4);
    const auto after = [&all](event_kind what, const std::string& path) {
        all.fired({what, path});
        return all.bytes();
    };
    EXPECT_EQ(all.bytes(), 0U);
    all.add("/a", kind::data);
    all.add("/a", kind::data);
    EXPECT_EQ(all.bytes(), 10U);
    all.add("/a", kind::children);
    all.add("/b", kind::absence);
    all.add("/c/d", kind::children);
    EXPECT_EQ(all.bytes(), 42U);
    EXPECT_EQ(after(event_kind::changed, "/nobody"), 42U);
    EXPECT_EQ(after(event_kind::children_changed, "/b"), 42U);
    EXPECT_EQ(after(event_kind::created, "/b"), 32U);
    EXPECT_EQ(after(event_kind::changed, "/a"), 22U);
    EXPECT_EQ(after(event_kind::changed, "/a"), 22U);
    EXPECT_EQ(after(event_kind::deleted, "/a"), 12U);
    EXPECT_EQ(after(event_kind::children_changed, "/c/d"), 0U);
}

// Only an answer tells that a watch is set, whoever still waits for it.
TEST_F(zookeeper_client, counts_the_watches_of_its_answers) {
    scripted_client zk(loop.clock());
    zk.become(link::connected);
    run([&]() -> awaitable<void> {
        co_await async::with_task_group("reads", [&](async::task_group& group) -> awaitable<void> {
            group.spawn("late", [&]() -> awaitable<void> {
                auto read = co_await zk.get(in(1s), "/late", watching::yes);
                EXPECT_FALSE(read);
            });
            group.spawn("missing", [&]() -> awaitable<void> {
                auto read = co_await zk.get(in(5s), "/missing", watching::yes);
                EXPECT_FALSE(read);
            });
            group.spawn("absent", [&]() -> awaitable<void> {
                auto read = co_await zk.exists(in(5s), "/absent", watching::yes);
                EXPECT_FALSE(read);
            });
            group.spawn("unwatched", [&]() -> awaitable<void> {
                auto read = co_await zk.get(in(5s), "/unwatched");
                EXPECT_TRUE(read);
            });
            co_await loop.sleep(2s);
            EXPECT_EQ(zk.watch_bytes(), 0U);
            zk.answer(scripted_client::good());
            EXPECT_EQ(zk.watch_bytes(), 9U);
            zk.answer(scripted_client::bad(errc::not_found));
            EXPECT_EQ(zk.watch_bytes(), 9U);
            zk.answer(scripted_client::bad(errc::not_found));
            EXPECT_EQ(zk.watch_bytes(), 20U);
            zk.answer(scripted_client::good());
            EXPECT_EQ(zk.watch_bytes(), 20U);
        });
    });
}

TEST(zookeeper_text, servers_and_states) {
    EXPECT_EQ(servers_text({{"hv1", 2181}, {"10.0.0.2", 2182}, {"fd00::3", 2181}}),
              "hv1:2181, 10.0.0.2:2182, [fd00::3]:2181");
    EXPECT_EQ(servers_text({}), "");
    EXPECT_EQ(to_text(link::connecting), "connecting");
    EXPECT_EQ(to_text(link::connected), "connected");
    EXPECT_EQ(to_text(link::suspended), "suspended");
    EXPECT_EQ(to_text(link::lost), "lost");
}

}  // namespace
}  // namespace pvc::zookeeper
