// condition, and latest on top of it, under cancellation at every moment.
#include "pvcnoded/async/condition.hpp"
#include "pvcnoded/async/latest.hpp"
#include "pvcnoded/async/task_group.hpp"
#include "sim/sim_context.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <vector>

namespace pvc::async {
namespace {

using namespace std::chrono_literals;
using sim::sim_loop;

constexpr auto its_wait = "a number";

TEST(condition, all_that_wait_are_woken_in_the_order_of_their_coming) {
    sim_loop loop;
    condition changed;
    int number = 0;
    std::vector<int> order;
    loop.run([&]() -> awaitable<void> {
        co_await with_task_group("group", [&](task_group& group) -> awaitable<void> {
            for (int i = 0; i < 4; ++i) {
                group.spawn("waits", [&, i]() -> awaitable<void> {
                    co_await changed.wait([&] { return number > 0; }, wait_note::work(its_wait));
                    order.push_back(i);
                });
            }
            co_await loop.sleep(1s);
            changed.notify_all();  // nothing is other than before
            co_await loop.sleep(1s);
            EXPECT_TRUE(order.empty());
            number = 1;
            changed.notify_all();
            EXPECT_TRUE(order.empty()) << "in a later turn";
        });
    });
    EXPECT_EQ(order, (std::vector{0, 1, 2, 3}));
}

TEST(condition, what_is_so_already_is_not_waited_for) {
    sim_loop loop;
    condition changed;
    loop.run([&]() -> awaitable<void> {
        const auto yes = [] { return true; };
        const auto no = [] { return false; };
        co_await changed.wait(yes, wait_note::work(its_wait));
        const bool is_so = co_await changed.wait_until(yes, loop.clock(), loop.clock().now(), its_wait);
        EXPECT_TRUE(is_so);
        const bool is_late = co_await changed.wait_until(no, loop.clock(), loop.clock().now() - 1s, its_wait);
        EXPECT_FALSE(is_late);
        EXPECT_EQ(loop.clock().now().time_since_epoch(), 0s);
    });
}

// A notification between two looks of a waiter, or before one that has been woken runs, is not lost.
TEST(condition, none_is_lost_and_several_become_one) {
    sim_loop loop;
    condition changed;
    int number = 0;
    int looks = 0;
    loop.run([&]() -> awaitable<void> {
        co_await with_task_group("group", [&](task_group& group) -> awaitable<void> {
            group.spawn("waits", [&]() -> awaitable<void> {
                co_await changed.wait([&] { return ++looks, number == 3; }, wait_note::work(its_wait));
            });
            co_await loop.sleep(1s);
            number = 1;
            changed.notify_all();
            number = 2;
            changed.notify_all();
            co_await yield();
            number = 3;
            changed.notify_all();
        });
    });
    EXPECT_LE(looks, 4);
    EXPECT_EQ(number, 3);
}

TEST(condition, who_wakes_others_from_within_waits_on) {
    sim_loop loop;
    condition changed;
    int number = 0;
    loop.run([&]() -> awaitable<void> {
        co_await with_task_group("group", [&](task_group& group) -> awaitable<void> {
            for (int i = 0; i < 5; ++i) {
                group.spawn("its turn", [&, i]() -> awaitable<void> {
                    co_await changed.wait([&, i] { return number == 4 - i; }, wait_note::work(its_wait));
                    ++number;
                    changed.notify_all();
                });
            }
            co_return;
        });
    });
    EXPECT_EQ(number, 5);
}

TEST(condition, each_waits_until_its_own_deadline) {
    sim_loop loop;
    condition changed;
    bool is_so = false;
    std::vector<bool> seen;
    loop.run([&]() -> awaitable<void> {
        co_await with_task_group("group", [&](task_group& group) -> awaitable<void> {
            for (const duration limit : {duration(1s), duration(3s)}) {
                group.spawn("waits", [&, limit]() -> awaitable<void> {
                    const bool got = co_await changed.wait_until([&] { return is_so; }, loop.clock(),
                                                                 loop.clock().now() + limit, its_wait);
                    seen.push_back(got);
                    EXPECT_EQ(loop.clock().now().time_since_epoch(), got ? 2s : 1s);
                });
            }
            co_await loop.sleep(500ms);
            changed.notify_all();  // a look in vain costs none of the time
            co_await loop.sleep(1500ms);
            is_so = true;
            changed.notify_all();
        });
    });
    EXPECT_EQ(seen, (std::vector{false, true}));
}

TEST(condition, a_change_without_a_word_is_seen_at_the_deadline) {
    sim_loop loop;
    condition changed;
    loop.run([&]() -> awaitable<void> {
        int looks = 0;
        const bool got =
            co_await changed.wait_until([&] { return ++looks > 1; }, loop.clock(), loop.clock().now() + 1s, its_wait);
        EXPECT_TRUE(got);
    });
}

// One of three is cancelled before, at and after the notification: the others go on as if it had never been there.
TEST(condition, cancelled_at_any_moment_it_leaves_the_others) {
    for (int cancelled = 0; cancelled < 3; ++cancelled) {
        for (const duration when : {duration(0s), duration(500ms), duration(1s), duration(1500ms)}) {
            sim_loop loop;
            condition changed;
            bool is_so = false;
            int done = 0;
            loop.run([&]() -> awaitable<void> {
                co_await with_task_group("all", [&](task_group& all) -> awaitable<void> {
                    for (int i = 0; i < 3; ++i) {
                        all.spawn("one", [&, i]() -> awaitable<void> {
                            co_await with_task_group("inner", [&, i](task_group& inner) -> awaitable<void> {
                                if (i == cancelled) {
                                    inner.cancel_at(loop.clock().now() + when);
                                }
                                inner.spawn("child", [&]() -> awaitable<void> {
                                    co_await changed.wait([&] { return is_so; }, wait_note::work(its_wait));
                                    ++done;
                                });
                                co_return;
                            });
                        });
                    }
                    co_await loop.sleep(1s);
                    is_so = true;
                    changed.notify_all();
                });
            });
            EXPECT_GE(done, 2) << cancelled << " at " << when.count();
            EXPECT_LE(done, 3);
            changed.notify_all();  // nobody is left behind
        }
    }
}

// A simulated kill while they wait: the frames go, the condition before or after them.
TEST(condition, destroyed_with_the_frames_that_wait) {
    for (const bool is_condition_first : {true, false}) {
        auto changed = std::make_unique<condition>();
        const auto held = std::make_shared<int>(0);
        {
            sim_loop loop;
            runtime& owner = loop.runtime();
            start_root(
                owner, "main",
                [&]() -> awaitable<void> {
                    co_await with_task_group("group", [&](task_group& group) -> awaitable<void> {
                        for (int i = 0; i < 2; ++i) {
                            group.spawn("waits", [&, mine = held]() -> awaitable<void> {
                                co_await changed->wait([mine] { return false; }, wait_note::work(its_wait));
                            });
                        }
                        co_return;
                    });
                },
                [](std::exception_ptr) {});
            loop.run_for(1s);
            EXPECT_GT(held.use_count(), 2);
            if (is_condition_first) {
                changed.reset();
            }
            owner.cut();
            owner.abandon_tasks([&loop] { loop.run_ready(); });
            EXPECT_EQ(held.use_count(), 1);
        }
        if (changed) {
            changed->notify_all();
        }
    }
}

TEST(condition, observers_of_one_wakeup_are_told_apart) {
    sim_loop loop;
    latest<int> value(1);
    wakeup changed;
    std::optional<latest<int>::observer> first(std::in_place, value, changed);
    const latest<int>::observer second(value, changed);
    first.reset();
    value.set(2);
    EXPECT_TRUE(changed.try_consume()) << "the second one is still there";
    EXPECT_FALSE(changed.try_consume());
    EXPECT_EQ(value.version(), 1U);
}

}  // namespace
}  // namespace pvc::async
