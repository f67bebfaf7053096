// mutex, ordered_semaphore, for_each_bounded and child, under cancellation at every moment.
#include "pvcnoded/async/child.hpp"
#include "pvcnoded/async/for_each.hpp"
#include "pvcnoded/async/semaphore.hpp"
#include "sim/sim_context.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <stdexcept>
#include <vector>

namespace pvc::async {
namespace {

using namespace std::chrono_literals;
using sim::sim_loop;

TEST(mutex, first_come_first_served_and_never_two) {
    sim_loop loop;
    mutex one;
    std::vector<int> order;
    int inside = 0;
    loop.run([&]() -> awaitable<void> {
        co_await with_task_group("group", [&](task_group& group) -> awaitable<void> {
            for (int i = 0; i < 5; ++i) {
                group.spawn("child", [&, i]() -> awaitable<void> {
                    const auto held = co_await one.lock("its turn");
                    EXPECT_EQ(++inside, 1);
                    order.push_back(i);
                    co_await loop.sleep(1s);
                    --inside;
                });
            }
            co_return;
        });
    });
    EXPECT_EQ(order, (std::vector{0, 1, 2, 3, 4}));
    EXPECT_FALSE(one.is_locked());
}

TEST(mutex, who_does_not_get_it_in_time_leaves_the_queue) {
    sim_loop loop;
    mutex one;
    loop.run([&]() -> awaitable<void> {
        co_await with_task_group("group", [&](task_group& group) -> awaitable<void> {
            group.spawn("holds", [&]() -> awaitable<void> {
                const auto held = co_await one.lock("its turn");
                co_await loop.sleep(10s);
            });
            group.spawn("late", [&]() -> awaitable<void> {
                const auto held = co_await one.lock_until(loop.clock(), loop.clock().now() + 5s, "its turn");
                EXPECT_FALSE(held);
                EXPECT_EQ(loop.clock().now().time_since_epoch(), 5s);
            });
            group.spawn("next", [&]() -> awaitable<void> {
                const auto held = co_await one.lock_until(loop.clock(), loop.clock().now() + 15s, "its turn");
                EXPECT_TRUE(held);
                EXPECT_EQ(loop.clock().now().time_since_epoch(), 10s);
            });
            co_return;
        });
    });
    EXPECT_FALSE(one.is_locked());
}

// One waits, one that was just let in, one that holds it: each is cancelled, and the others go on as if it had never
// been there.
TEST(mutex, cancelled_at_any_moment_it_passes_on) {
    for (int cancelled = 0; cancelled < 4; ++cancelled) {
        for (const duration when : {duration(0s), duration(500ms), duration(1s), duration(1500ms), duration(2s)}) {
            sim_loop loop;
            mutex one;
            int done = 0;
            loop.run([&]() -> awaitable<void> {
                co_await with_task_group("all", [&](task_group& all) -> awaitable<void> {
                    for (int i = 0; i < 4; ++i) {
                        all.spawn("one", [&, i]() -> awaitable<void> {
                            co_await with_task_group("inner", [&, i](task_group& inner) -> awaitable<void> {
                                if (i == cancelled) {
                                    inner.cancel_at(loop.clock().now() + when);
                                }
                                inner.spawn("child", [&]() -> awaitable<void> {
                                    const auto held = co_await one.lock("its turn");
                                    co_await loop.sleep(1s);
                                    ++done;
                                });
                                co_return;
                            });
                        });
                    }
                    co_return;
                });
            });
            EXPECT_GE(done, 3) << cancelled << " at " << when.count();
            EXPECT_FALSE(one.is_locked());
        }
    }
}

TEST(ordered_semaphore, the_lowest_key_is_next) {
    sim_loop loop;
    ordered_semaphore<int> places(2);
    std::vector<int> order;
    loop.run([&]() -> awaitable<void> {
        co_await with_task_group("group", [&](task_group& group) -> awaitable<void> {
            for (const int key : {5, 4, 3, 2, 1}) {
                group.spawn("child", [&, key]() -> awaitable<void> {
                    const auto held = co_await places.take(key, "its turn");
                    order.push_back(key);
                    EXPECT_LE(places.used(), 2U);
                    co_await loop.sleep(1s);
                });
            }
            co_return;
        });
    });
    EXPECT_EQ(order, (std::vector{5, 4, 1, 2, 3}));
    EXPECT_EQ(places.used(), 0U);
}

TEST(ordered_semaphore, more_are_allowed_while_some_wait) {
    sim_loop loop;
    ordered_semaphore<int> places(1);
    loop.run([&]() -> awaitable<void> {
        co_await with_task_group("group", [&](task_group& group) -> awaitable<void> {
            for (int key = 0; key < 4; ++key) {
                group.spawn("child", [&, key]() -> awaitable<void> {
                    const auto held = co_await places.take(key, "its turn");
                    co_await loop.sleep(10s);
                });
            }
            co_await loop.sleep(1s);
            EXPECT_EQ(places.used(), 1U);
            places.allow(3);
            co_await loop.sleep(1s);
            EXPECT_EQ(places.used(), 3U);
            places.allow(1);  // those that go on go on
            co_await loop.sleep(1s);
            EXPECT_EQ(places.used(), 3U);
        });
        EXPECT_EQ(loop.clock().now().time_since_epoch(), 21s);
    });
}

TEST(ordered_semaphore, a_place_beside_other_waits) {
    sim_loop loop;
    ordered_semaphore<int> places(1);
    loop.run([&]() -> awaitable<void> {
        wakeup first_woken;
        wakeup second_woken;
        std::optional<ordered_semaphore<int>::place> first(std::in_place, places, 1, first_woken);
        ordered_semaphore<int>::place second(places, 2, second_woken);
        EXPECT_FALSE(second.take());  // not before the first
        EXPECT_TRUE(first->take());
        EXPECT_TRUE(first->take());
        EXPECT_FALSE(second.take());
        first.reset();
        EXPECT_TRUE(second_woken.try_consume());
        EXPECT_TRUE(second.take());
        co_return;
    });
    EXPECT_EQ(places.used(), 0U);
}

TEST(for_each_bounded, all_of_them_and_never_more_at_once) {
    for (const std::size_t at_once : {1UL, 3UL, 100UL}) {
        sim_loop loop;
        std::vector<int> items(20);
        std::iota(items.begin(), items.end(), 1);
        std::size_t inside = 0;
        std::size_t most = 0;
        loop.run([&]() -> awaitable<void> {
            co_await for_each_bounded("items", at_once, items, [&](int& item) -> awaitable<void> {
                most = std::max(most, ++inside);
                co_await loop.sleep(1s);
                item = -item;
                --inside;
            });
        });
        EXPECT_EQ(std::accumulate(items.begin(), items.end(), 0), -210);
        EXPECT_EQ(most, std::min<std::size_t>(at_once, 20));
    }
}

TEST(for_each_bounded, nothing_to_do) {
    sim_loop loop;
    std::vector<int> none;
    loop.run([&]() -> awaitable<void> {
        co_await for_each_bounded("items", 4, none, [](int& /*item*/) -> awaitable<void> {
            ADD_FAILURE();
            co_return;
        });
    });
}

TEST(for_each_bounded, an_exception_ends_the_rest_and_reaches_the_caller) {
    sim_loop loop;
    std::vector<int> items(10);
    int begun = 0;
    bool is_caught = false;
    loop.run([&]() -> awaitable<void> {
        try {
            co_await for_each_bounded("items", 2, items, [&](int& item) -> awaitable<void> {
                const bool is_first = ++begun == 1;
                item = 1;
                co_await loop.sleep(is_first ? duration(1s) : duration(10s));
                if (is_first) {
                    throw std::runtime_error("first");
                }
            });
        } catch (const std::runtime_error&) {
            is_caught = true;
        }
        EXPECT_EQ(loop.clock().now().time_since_epoch(), 1s);
    });
    EXPECT_TRUE(is_caught);
    EXPECT_EQ(begun, 2);
}

TEST(for_each_bounded, cancelled_it_has_ended_its_children) {
    sim_loop loop;
    std::vector<int> items(10);
    int inside = 0;
    struct visit {
        int& count;
        explicit visit(int& of) : count(of) { ++count; }
        visit(const visit&) = delete;
        visit& operator=(const visit&) = delete;
        ~visit() { --count; }
    };
    loop.run([&]() -> awaitable<void> {
        co_await with_task_group("outer", [&](task_group& group) -> awaitable<void> {
            group.cancel_at(loop.clock().now() + 1500ms);
            group.spawn("items", [&]() -> awaitable<void> {
                co_await for_each_bounded("items", 3, items, [&](int& /*item*/) -> awaitable<void> {
                    const visit here(inside);
                    co_await loop.sleep(1s);
                });
            });
            co_return;
        });
        EXPECT_EQ(inside, 0);
    });
}

// What is put in while the work goes on is taken as well.
TEST(drain_bounded, takes_what_comes_meanwhile) {
    sim_loop loop;
    std::vector<int> todo{3};
    int done = 0;
    loop.run([&]() -> awaitable<void> {
        const auto next = [&]() -> std::optional<int> {
            if (todo.empty()) {
                return std::nullopt;
            }
            const int one = todo.back();
            todo.pop_back();
            return one;
        };
        co_await drain_bounded("numbers", 2, 2, next, [&](int number) -> awaitable<void> {
            ++done;
            for (int below = 0; below < number; ++below) {
                todo.push_back(below);
            }
            co_await yield();
        });
    });
    EXPECT_EQ(done, 8);
}

TEST(child, its_value_is_told) {
    sim_loop loop;
    loop.run([&]() -> awaitable<void> {
        wakeup changed;
        co_await with_task_group("group", [&](task_group& group) -> awaitable<void> {
            child<int> answer(
                group, "question",
                [&]() -> awaitable<int> {
                    co_await loop.sleep(3s);
                    co_return 42;
                },
                changed);
            EXPECT_FALSE(answer.has_ended());
            EXPECT_FALSE(co_await changed.wait_until(loop.clock(), loop.clock().now() + 1s, "an answer"));
            while (!answer.has_ended()) {
                co_await changed.wait(wait_note::work("an answer"));
            }
            EXPECT_EQ(answer.value(), 42);
            EXPECT_EQ(loop.clock().now().time_since_epoch(), 3s);
        });
    });
}

TEST(child, cancelled_it_has_no_value) {
    sim_loop loop;
    loop.run([&]() -> awaitable<void> {
        wakeup changed;
        std::optional<child<int>> answer;
        co_await with_task_group("group", [&](task_group& group) -> awaitable<void> {
            answer.emplace(
                group, "question",
                [&]() -> awaitable<int> {
                    co_await loop.sleep(1h);
                    co_return 42;
                },
                changed);
            co_await loop.sleep(1s);
            group.cancel();
        });
        EXPECT_FALSE(answer->has_ended());
        EXPECT_FALSE(changed.try_consume());
    });
}

}  // namespace
}  // namespace pvc::async
