#include "pvcnoded/async/task_group.hpp"

#include "pvcnoded/async/completion.hpp"
#include "pvcnoded/async/deadline.hpp"
#include "pvcnoded/async/latest.hpp"
#include "sim/sim_context.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

namespace pvc::async {
namespace {

using namespace std::chrono_literals;
using sim::sim_loop;
namespace this_coro = boost::asio::this_coro;

TEST(task_group, joins_every_child) {
    sim_loop loop;
    int ended = 0;
    loop.run([&]() -> awaitable<void> {
        co_await with_task_group("group", [&](task_group& group) -> awaitable<void> {
            for (int i = 1; i <= 3; ++i) {
                group.spawn("child", [&loop, &ended, i]() -> awaitable<void> {
                    co_await loop.sleep(i * 1s);
                    ++ended;
                });
            }
            co_return;
        });
        EXPECT_EQ(ended, 3);
        EXPECT_EQ(loop.clock().now().time_since_epoch(), 3s);
    });
}

TEST(task_group, first_failure_cancels_siblings_and_body_and_reaches_the_caller) {
    sim_loop loop;
    bool sibling_cancelled = false;
    bool body_cancelled = false;
    std::string seen;
    loop.run([&]() -> awaitable<void> {
        try {
            co_await with_task_group("group", [&](task_group& group) -> awaitable<void> {
                group.spawn("fails", [&loop]() -> awaitable<void> {
                    co_await loop.sleep(1s);
                    throw std::runtime_error("first");
                });
                group.spawn("waits", [&]() -> awaitable<void> {
                    try {
                        co_await loop.sleep(1h);
                    } catch (...) {
                        sibling_cancelled = true;
                        throw;
                    }
                });
                try {
                    co_await loop.sleep(1h);
                } catch (...) {
                    body_cancelled = true;
                    throw;
                }
            });
        } catch (const std::runtime_error& e) {
            seen = e.what();
        }
        EXPECT_EQ(loop.clock().now().time_since_epoch(), 1s);
    });
    EXPECT_EQ(seen, "first");
    EXPECT_TRUE(sibling_cancelled);
    EXPECT_TRUE(body_cancelled);
}

TEST(task_group, failure_before_the_first_suspension) {
    sim_loop loop;
    bool caught = false;
    loop.run([&]() -> awaitable<void> {
        try {
            co_await with_task_group("group", [&](task_group& group) -> awaitable<void> {
                group.spawn("fails", []() -> awaitable<void> {
                    throw std::runtime_error("at once");
                    co_return;
                });
                co_await loop.sleep(1h);
            });
        } catch (const std::runtime_error&) {
            caught = true;
        }
    });
    EXPECT_TRUE(caught);
    EXPECT_EQ(loop.clock().now().time_since_epoch(), 0s);
}

TEST(task_group, cancelling_the_caller_waits_for_shielded_clean_up_of_a_child) {
    sim_loop loop;
    bool cleaned = false;
    bool threw = false;
    loop.run([&]() -> awaitable<void> {
        co_await with_task_group("outer", [&](task_group& outer) -> awaitable<void> {
            outer.spawn("owner", [&]() -> awaitable<void> {
                try {
                    co_await with_task_group("inner", [&](task_group& inner) -> awaitable<void> {
                        inner.spawn("child", [&]() -> awaitable<void> {
                            co_await with_clean_up(loop.clock(), 5s, loop.sleep(1h), [&]() -> awaitable<void> {
                                co_await loop.sleep(2s);
                                cleaned = true;
                            });
                        });
                        co_return;
                    });
                } catch (const boost::system::system_error& e) {
                    threw = e.code() == boost::asio::error::operation_aborted;
                    throw;
                }
            });
            co_await loop.sleep(1s);
            outer.cancel();
        });
        EXPECT_EQ(loop.clock().now().time_since_epoch(), 3s);
    });
    EXPECT_TRUE(cleaned);
    EXPECT_TRUE(threw);
}

// A cancellation that comes between the end of a child and the turn of whoever joins it is not lost.
TEST(task_group, cancelled_while_a_child_has_just_ended) {
    for (int turns = 0; turns < 8; ++turns) {
        sim_loop loop;
        loop.run([&]() -> awaitable<void> {
            wakeup end_of_child;
            co_await with_task_group("outer", [&](task_group& outer) -> awaitable<void> {
                outer.spawn("inner", [&]() -> awaitable<void> {
                    co_await with_task_group("group", [&](task_group& inner) -> awaitable<void> {
                        inner.spawn("short", [&]() -> awaitable<void> {
                            co_await end_of_child.wait(wait_note::work("the test"));
                        });
                        inner.spawn("long", [&]() -> awaitable<void> { co_await loop.sleep(1h); });
                        co_return;
                    });
                });
                co_await loop.sleep(1s);
                end_of_child.notify();
                for (int i = 0; i < turns; ++i) {
                    co_await yield();
                }
                outer.cancel();
            });
            EXPECT_EQ(loop.clock().now().time_since_epoch(), 1s) << "after " << turns << " turns";
        });
    }
}

TEST(task_group, spawning_into_a_cancelled_group_starts_cancelled) {
    sim_loop loop;
    bool reached = false;
    loop.run([&]() -> awaitable<void> {
        co_await with_task_group("group", [&](task_group& group) -> awaitable<void> {
            group.cancel();
            group.spawn("late", [&]() -> awaitable<void> {
                co_await loop.sleep(1s);
                reached = true;
            });
            co_return;
        });
    });
    EXPECT_FALSE(reached);
    EXPECT_EQ(loop.clock().now().time_since_epoch(), 0s);
}

TEST(task_group, later_failures_go_to_the_observer) {
    sim_loop loop;
    std::vector<std::string> later;
    loop.run([&]() -> awaitable<void> {
        bool caught = false;
        try {
            co_await with_task_group("group", [&](task_group& group) -> awaitable<void> {
                group.observe_later_failures([&](const std::string& name, const std::exception_ptr& error) {
                    later.push_back(name + ": " + exception_text(error));
                });
                group.spawn("first", [&loop]() -> awaitable<void> {
                    co_await loop.sleep(1s);
                    throw std::runtime_error("one");
                });
                group.spawn("second", [&loop]() -> awaitable<void> {
                    try {
                        co_await loop.sleep(1h);
                    } catch (...) {
                        throw std::runtime_error("two");
                    }
                });
                co_return;
            });
        } catch (const std::runtime_error& e) {
            caught = std::string(e.what()) == "one";
        }
        EXPECT_TRUE(caught);
    });
    EXPECT_EQ(later, std::vector<std::string>{"pvcnoded/test/group/second: two"});
}

TEST(task_group, hundred_thousand_children) {
    sim_loop loop;
    std::size_t count = 0;
    loop.run([&]() -> awaitable<void> {
        co_await with_task_group("group", [&](task_group& group) -> awaitable<void> {
            for (int i = 0; i < 1000; ++i) {
                for (int j = 0; j < 100; ++j) {
                    group.spawn("child", [&count]() -> awaitable<void> {
                        ++count;
                        co_return;
                    });
                }
                co_await yield();
            }
        });
    });
    EXPECT_EQ(count, 100'000U);
}

TEST(task_group, the_tree_names_what_each_task_waits_for) {
    sim_loop loop;
    std::vector<std::string> lines;
    wakeup never;
    loop.run([&]() -> awaitable<void> {
        co_await with_task_group("session", [&](task_group& group) -> awaitable<void> {
            group.spawn("keepalive", [&]() -> awaitable<void> {
                co_await sleep_until(loop.clock(), loop.clock().now() + 5s, "the next tick");
            });
            group.spawn("coordinator", [&]() -> awaitable<void> {
                co_await never.wait(wait_note::work("a change of the primary node"));
            });
            co_await loop.sleep(1s);
            loop.runtime().root()->describe(lines);
            group.cancel();
        });
    });
    const std::vector<std::string> expected{
        "pvcnoded  (1.0 s)",
        "  test  (1.0 s)  waits for its children since 1.0 s",
        "    session  (1.0 s)",
        "      body  (1.0 s)",
        "      keepalive  (1.0 s)  waits for the next tick since 1.0 s, at most 4.0 s more",
        "      coordinator  (1.0 s)  idle, waits for a change of the primary node since 1.0 s",
    };
    EXPECT_EQ(lines, expected);
}

// What a simulated kill does: frames go without joining, innermost first, and destructors see what outer frames hold.
TEST(task_group, abandoned_tasks_are_destroyed_innermost_first) {
    std::vector<std::string> order;
    struct marker {
        marker(std::vector<std::string>& list, std::string what) : out(list), name(std::move(what)) {}
        marker(const marker&) = delete;
        marker& operator=(const marker&) = delete;
        ~marker() { out.push_back(name); }
        std::vector<std::string>& out;
        std::string name;
    };
    sim::sim_context context;
    sim::sim_timers clock;
    runtime owner(context.get_executor(), clock);
    bool ended = false;
    start_root(
        owner, "daemon",
        [&]() -> awaitable<void> {
            const marker outer(order, "outer");
            co_await with_task_group("scope", [&](task_group& group) -> awaitable<void> {
                group.spawn("child", [&]() -> awaitable<void> {
                    const marker inner(order, "inner");
                    wakeup never;
                    co_await never.wait(wait_note::work("nothing"));
                });
                const marker body(order, "body");
                co_await sleep_for(clock, 1h, "nothing");
            });
        },
        [&](const std::exception_ptr&) { ended = true; });
    const auto run_ready = [&context] {
        while (context.run_one()) {
        }
    };
    run_ready();
    owner.cut();
    owner.abandon_tasks(run_ready);
    EXPECT_FALSE(ended);
    ASSERT_EQ(order.size(), 3U);
    EXPECT_EQ(order.back(), "outer");
    EXPECT_TRUE(owner.root()->children().empty());
}

TEST(deadline, in_time_late_and_successful_after_all) {
    sim_loop loop;
    loop.run([&]() -> awaitable<void> {
        auto& clock = loop.clock();
        auto quick = [&]() -> awaitable<result<int>> {
            co_await loop.sleep(1s);
            co_return 7;
        };
        auto in_time = co_await with_deadline(clock, clock.now() + 2s, "quick", quick());
        EXPECT_TRUE(in_time);
        EXPECT_EQ(*in_time, 7);

        auto slow = [&]() -> awaitable<result<int>> {
            co_await loop.sleep(1h);
            co_return 7;
        };
        auto late = co_await with_deadline(clock, clock.now() + 2s, "slow", slow());
        EXPECT_FALSE(late);
        EXPECT_EQ(late.error().code(), errc::timed_out);
        EXPECT_EQ(late.error().subject(), "slow");
        EXPECT_EQ(clock.now().time_since_epoch(), 3s);

        auto stubborn = [&]() -> awaitable<result<int>> {
            try {
                co_await loop.sleep(1h);
            } catch (const boost::system::system_error&) {
            }
            co_return 8;
        };
        auto after_all = co_await with_deadline(clock, clock.now() + 2s, "stubborn", stubborn());
        EXPECT_TRUE(after_all);
    });
}

TEST(deadline, an_exception_passes_through_at_once) {
    sim_loop loop;
    loop.run([&]() -> awaitable<void> {
        auto fails = [&]() -> awaitable<result<int>> {
            co_await loop.sleep(5ms);
            throw std::runtime_error("broken");
        };
        bool caught = false;
        try {
            auto outcome = co_await with_deadline(loop.clock(), loop.clock().now() + 200ms, "op", fails());
            EXPECT_FALSE(outcome);
        } catch (const std::runtime_error&) {
            caught = true;
        }
        EXPECT_TRUE(caught);
        EXPECT_EQ(loop.clock().now().time_since_epoch(), 5ms);
    });
}

TEST(wakeup, remembers_coalesces_and_cancels) {
    sim_loop loop;
    loop.run([&]() -> awaitable<void> {
        wakeup event;
        for (int i = 0; i < 1000; ++i) {
            event.notify();
        }
        co_await event.wait(wait_note::work("test"));
        const bool again = co_await event.wait_until(loop.clock(), loop.clock().now() + 1s, "test");
        EXPECT_FALSE(again);
        EXPECT_EQ(loop.clock().now().time_since_epoch(), 1s);
        int woken = 0;
        co_await with_task_group("group", [&](task_group& group) -> awaitable<void> {
            group.spawn("waiter", [&]() -> awaitable<void> {
                co_await event.wait(wait_note::work("test"));
                ++woken;
            });
            co_await loop.sleep(1s);
            group.cancel();
        });
        EXPECT_EQ(woken, 0);
    });
}

TEST(completion, a_late_value_finds_nobody) {
    sim_loop loop;
    loop.run([&]() -> awaitable<void> {
        auto record = std::make_shared<completion<int>>();
        const bool in_time = co_await completion<int>::wait(record, loop.clock(), loop.clock().now() + 1s, "a reply");
        EXPECT_FALSE(in_time);
        record->set(5);
        EXPECT_TRUE(record->is_set());
        auto second = std::make_shared<completion<int>>();
        timer reply(loop.clock());
        reply.arm(loop.clock().now() + 100ms, [&] { second->set(6); });
        const bool answered = co_await completion<int>::wait(second, loop.clock(), loop.clock().now() + 1s, "a reply");
        EXPECT_TRUE(answered);
        EXPECT_EQ(second->value(), 6);
    });
}

TEST(latest, observers_see_the_newest_value_only) {
    sim_loop loop;
    loop.run([&]() -> awaitable<void> {
        latest<int> cell(1);
        wakeup changed;
        latest<int>::observer watch(cell, changed);
        cell.set(2);
        cell.set(3);
        co_await changed.wait(wait_note::work("test"));
        EXPECT_EQ(cell.value(), 3);
        EXPECT_EQ(cell.version(), 2U);
        EXPECT_FALSE(changed.try_consume());
    });
}

TEST(timers, fire_in_order_of_time_then_of_arming) {
    sim_loop loop;
    std::string order;
    timer a(loop.clock());
    timer b(loop.clock());
    timer c(loop.clock());
    a.arm(time_point(2s), [&] { order += 'a'; });
    b.arm(time_point(1s), [&] { order += 'b'; });
    c.arm(time_point(2s), [&] { order += 'c'; });
    loop.run_for(3s);
    EXPECT_EQ(order, "bac");
}

}  // namespace
}  // namespace pvc::async
