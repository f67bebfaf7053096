// The offload port, on real threads and on simulated time (include/pvcnoded/async/offload.hpp).
#include "contract/process_bench.hpp"

#include <future>

namespace pvc::contract {
namespace {

using async::offload_limits;
using async::thread_offload;

using work = std::function<result<int>()>;

// Two threads, two places in the queue.
class real_offload : public real_world {
public:
    ~real_offload() { release(); }
    async::offload& pool() { return pool_; }
    // A call that does not return before release().
    work hanging() {
        return [gate = gate_]() -> result<int> {
            gate.wait();
            return 1;
        };
    }
    void fill() {}
    void release() {
        if (!std::exchange(released_, true)) {
            opener_.set_value();
        }
    }
    static constexpr std::size_t capacity = 4;

private:
    static offload_limits small() {
        offload_limits limits;
        limits.threads = 2;
        limits.waiting = 2;
        return limits;
    }
    std::promise<void> opener_;
    std::shared_future<void> gate_ = opener_.get_future().share();
    bool released_ = false;
    thread_offload pool_{loop().context(), small()};
};

class sim_offloads : public sim_world {
public:
    async::offload& pool() { return pool_; }
    work hanging() {
        pool_.next_hangs();
        return [] { return result<int>(1); };
    }
    void fill() { pool_.set_full(true); }
    void release() {
        pool_.set_full(false);
        pool_.release();
    }
    static constexpr std::size_t capacity = 4;

private:
    sim::sim_offload pool_{clock()};
};

template <class Bench>
class offload_contract : public testing::Test {
protected:
    awaitable<result<int>> call(work what, duration limit = 60s) {
        return bench.pool().template run<int>(bench.clock(), bench.clock().now() + limit, "a call", std::move(what));
    }
    Bench bench;
};

using benches = testing::Types<real_offload, sim_offloads>;
TYPED_TEST_SUITE(offload_contract, benches);

TYPED_TEST(offload_contract, values_and_failures_come_back) {
    this->bench.run([&]() -> awaitable<void> {
        auto value = co_await this->call([] { return result<int>(7); });
        EXPECT_TRUE(value && *value == 7);
        auto refused = co_await this->call([] { return result<int>(failure(errc::refused, "it")); });
        EXPECT_TRUE(!refused && refused.error().code() == errc::refused);
        std::function<result<void>()> nothing = [] { return result<void>(); };
        auto done = co_await this->bench.pool().template run<void>(this->bench.clock(), this->bench.clock().now() + 60s,
                                                                   "nothing", std::move(nothing));
        EXPECT_TRUE(done);
    });
}

TYPED_TEST(offload_contract, a_hanging_call_times_out_and_the_others_go_on) {
    this->bench.run([&]() -> awaitable<void> {
        const time_point before = this->bench.clock().now();
        auto hung = co_await this->call(this->bench.hanging(), 50ms);
        EXPECT_TRUE(!hung && hung.error().code() == errc::timed_out);
        EXPECT_GE(this->bench.clock().now() - before, 50ms);
        auto other = co_await this->call([] { return result<int>(2); });
        EXPECT_TRUE(other && *other == 2);
        this->bench.release();
        auto after = co_await this->call([] { return result<int>(3); });
        EXPECT_TRUE(after && *after == 3);
    });
}

TYPED_TEST(offload_contract, a_full_pool_refuses_at_once) {
    this->bench.run([&]() -> awaitable<void> {
        co_await async::with_task_group("callers", [&](async::task_group& group) -> awaitable<void> {
            for (std::size_t i = 0; i < TypeParam::capacity; ++i) {
                group.spawn("caller",
                            [&]() -> awaitable<void> { auto hung = co_await this->call(this->bench.hanging()); });
            }
            // Until each of them has been taken over.
            co_await async::sleep_for(this->bench.clock(), 20ms, "the callers");
            this->bench.fill();
            auto refused = co_await this->call([] { return result<int>(1); });
            EXPECT_TRUE(!refused && refused.error().code() == errc::unavailable);
            this->bench.release();
        });
        auto accepted = co_await this->call([] { return result<int>(5); });
        EXPECT_TRUE(accepted && *accepted == 5);
    });
}

TYPED_TEST(offload_contract, cancelling_lets_the_waiter_go_at_once) {
    this->bench.run([&]() -> awaitable<void> {
        bool begun = false;
        const bool cancelled = co_await cancel_when(
            this->bench.clock(), [&] { return begun; },
            [&]() -> awaitable<void> {
                begun = true;
                auto hung = co_await this->call(this->bench.hanging(), 10h);
            });
        EXPECT_TRUE(cancelled);
    });
    this->bench.release();
}

TYPED_TEST(offload_contract, many_calls_at_once_within_the_limits) {
    int sum = 0;
    this->bench.run([&]() -> awaitable<void> {
        co_await async::with_task_group("callers", [&](async::task_group& group) -> awaitable<void> {
            for (int caller = 0; caller < 3; ++caller) {
                group.spawn("caller", [&]() -> awaitable<void> {
                    for (int i = 1; i <= 100; ++i) {
                        auto value = co_await this->call([i] { return result<int>(i); });
                        sum += value ? *value : 0;
                    }
                });
            }
            co_return;
        });
    });
    EXPECT_EQ(sum, 3 * 5050);
}

}  // namespace
}  // namespace pvc::contract
