// How long a lock's guard counts: from the sending of the request whose answer showed our child, never from the answer
// (node-lifecycle.md 3.1 rule 5).
#include "pvcnoded/zookeeper/lock.hpp"
#include "sim/sim_context.hpp"
#include "sim/zookeeper/memory_client.hpp"
#include "sim/zookeeper/memory_ensemble.hpp"

#include "pvcnoded/async/task_group.hpp"

#include <gtest/gtest.h>

namespace pvc::sim {
namespace {

using namespace std::chrono_literals;
using async::awaitable;
using zookeeper::guard_validity;
using zookeeper::held_lock;

struct deaf_logger final : logger {
    void write(log_level /*level*/, std::string /*text*/, std::string /*prefix*/) override {}
};

class guard_age : public ::testing::Test {
protected:
    // Runs `body` with the lock of /k held; answers take `time` from the moment at which it is asked for.
    void with_lock(duration time, std::function<awaitable<void>(held_lock&)> body) {
        ensemble.put("/k", "");
        memory_connector connector(ensemble);
        loop.run([&]() -> awaitable<void> {
            auto zk = connector.open({});
            zookeeper::watch_set watches(*zk, loop.clock());
            zookeeper::lock_service locks(*zk, watches, loop.clock(), random_source(1), "hv1", 4711, log);
            co_await async::with_task_group("session", [&](async::task_group& group) -> awaitable<void> {
                group.spawn("connection", [&] { return zk->run(); });
                group.spawn("watches", [&] { return watches.run(); });
                auto connected = co_await zk->wait_connected(loop.clock().now() + 5s);
                EXPECT_TRUE(connected);
                connector.link().answer_delay = time;
                link = &connector.link();
                zookeeper::lock_request what;
                what.path = "/k";
                what.deadline = loop.clock().now() + 60s;
                auto done = co_await locks.with_lock(what, [&](held_lock& held) -> awaitable<result<void>> {
                    co_await body(held);
                    co_return result<void>();
                });
                EXPECT_TRUE(done);
                group.cancel();
            });
        });
    }
    awaitable<void> pass(duration time) { co_await async::sleep_for(loop.clock(), time, "the test"); }

    sim_loop loop;
    memory_ensemble ensemble{loop.clock()};
    memory_link* link = nullptr;
    deaf_logger log;
};

TEST_F(guard_age, an_acquisition_counts_from_the_sending_of_the_list) {
    with_lock(1500ms, [this](held_lock& held) -> awaitable<void> {
        EXPECT_TRUE(held.valid());  // the answer is here, 1.5 s after the question
        co_await pass(guard_validity - 1500ms - 50ms);
        EXPECT_TRUE(held.valid());
        co_await pass(100ms);
        EXPECT_FALSE(held.valid());
    });
}

TEST_F(guard_age, an_acquisition_whose_list_took_too_long_guards_nothing) {
    with_lock(2100ms, [](held_lock& held) -> awaitable<void> {
        EXPECT_FALSE(held.valid());
        co_return;
    });
}

TEST_F(guard_age, a_verification_counts_from_its_sending) {
    with_lock(0ms, [this](held_lock& held) -> awaitable<void> {
        co_await pass(5s);
        EXPECT_FALSE(held.valid());
        link->answer_delay = 1500ms;
        auto seen = co_await held.verify(loop.clock().now() + 5s);
        EXPECT_TRUE(seen);
        EXPECT_TRUE(held.valid());
        co_await pass(guard_validity - 1500ms - 50ms);
        EXPECT_TRUE(held.valid());
        co_await pass(100ms);
        EXPECT_FALSE(held.valid());
        link->answer_delay = 2100ms;
        seen = co_await held.verify(loop.clock().now() + 5s);
        EXPECT_TRUE(seen);
        EXPECT_FALSE(held.valid());
        link->answer_delay = {};
    });
}

}  // namespace
}  // namespace pvc::sim
