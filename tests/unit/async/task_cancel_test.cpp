// One task ended by its number, its group going on.
#include "pvcnoded/async/task_group.hpp"

#include "pvcnoded/async/deadline.hpp"
#include "sim/sim_context.hpp"

#include <gtest/gtest.h>

#include <set>

namespace pvc::async {
namespace {

using namespace std::chrono_literals;
using sim::sim_loop;

awaitable<task*> own_task() {
    auto executor = co_await boost::asio::this_coro::executor;
    co_return task_of(executor);
}

const task* named(const task& from, std::string_view name) {
    if (from.name() == name) {
        return &from;
    }
    for (const task* child : from.children()) {
        if (const task* found = named(*child, name)) {
            return found;
        }
    }
    return nullptr;
}

// The tree of who asks.
awaitable<std::shared_ptr<task>> root_task() {
    const task* self = co_await own_task();
    co_return self->owner().root();
}

TEST(task_cancel, numbers_are_given_once) {
    sim_loop loop;
    loop.run([&]() -> awaitable<void> {
        std::set<std::uint64_t> seen;
        for (int i = 0; i < 3; ++i) {
            co_await with_task_group("group", [&](task_group& group) -> awaitable<void> {
                group.spawn("child", [&]() -> awaitable<void> {
                    const task* self = co_await own_task();
                    EXPECT_TRUE(seen.insert(self->id()).second);
                });
                co_return;
            });
        }
        EXPECT_EQ(seen.size(), 3U);
        const auto root = co_await root_task();
        for (const auto id : seen) {
            EXPECT_EQ(root->find(id), nullptr) << "it has ended";
        }
    });
}

// It holds a lock, has children of its own, and gives back what it has with cancellation held back.
TEST(task_cancel, ends_what_is_below_it_and_nothing_else) {
    sim_loop loop;
    bool is_given_back = false;
    bool is_child_over = false;
    int others = 0;
    loop.run([&]() -> awaitable<void> {
        co_await with_task_group("group", [&](task_group& group) -> awaitable<void> {
            group.spawn("other", [&]() -> awaitable<void> {
                for (; others < 10; ++others) {
                    co_await loop.sleep(1s);
                }
            });
            group.spawn_cancellable("one", [&]() -> awaitable<void> {
                co_await with_task_group("inside", [&](task_group& inside) -> awaitable<void> {
                    inside.spawn("child", [&]() -> awaitable<void> {
                        struct over {
                            bool& flag;
                            ~over() { flag = true; }
                        } guard{is_child_over};
                        co_await loop.sleep(1h);
                    });
                    co_await with_clean_up(loop.clock(), 5s, loop.sleep(1h), [&]() -> awaitable<void> {
                        co_await loop.sleep(2s);
                        is_given_back = true;
                    });
                });
            });
            co_await loop.sleep(1s);
            const auto root = co_await root_task();
            std::shared_ptr<wakeup> ended;
            {
                const task* one = named(*root, "one");
                EXPECT_TRUE(one->can_be_cancelled());
                const auto found = root->find(one->id());
                EXPECT_EQ(found.get(), one);
                ended = found->watch_end();
                found->cancel();
                found->cancel();  // a second time disturbs nothing
            }
            const bool is_soon = co_await ended->wait_until(loop.clock(), loop.clock().now() + 1s, "its end");
            EXPECT_FALSE(is_soon) << "it still gives back what it has";
            const bool is_told = co_await ended->wait_until(loop.clock(), loop.clock().now() + 10s, "its end");
            EXPECT_TRUE(is_told);
            EXPECT_TRUE(is_given_back);
            EXPECT_TRUE(is_child_over);
            EXPECT_EQ(loop.clock().now().time_since_epoch(), 3s);
            EXPECT_EQ(named(*root, "one"), nullptr);
            EXPECT_FALSE(group.cancelled());
        });
    });
    EXPECT_EQ(others, 10);
}

TEST(task_cancel, before_its_first_step) {
    sim_loop loop;
    bool has_begun = false;
    loop.run([&]() -> awaitable<void> {
        co_await with_task_group("group", [&](task_group& group) -> awaitable<void> {
            group.spawn_cancellable("one", [&]() -> awaitable<void> {
                has_begun = true;
                co_return;
            });
            const auto root = co_await root_task();
            const task* one = named(*root, "one");
            if (one != nullptr && !has_begun) {
                root->find(one->id())->cancel();
                co_await loop.sleep(1s);
                EXPECT_FALSE(has_begun);
            }
            EXPECT_FALSE(group.cancelled());
        });
    });
}

TEST(task_cancel, a_failure_of_it_is_one_of_the_group) {
    sim_loop loop;
    std::string seen;
    loop.run([&]() -> awaitable<void> {
        try {
            co_await with_task_group("group", [&](task_group& group) -> awaitable<void> {
                group.spawn_cancellable("one", [&]() -> awaitable<void> {
                    co_await loop.sleep(1s);
                    throw std::runtime_error("broken");
                });
                co_await loop.sleep(1h);
            });
        } catch (const std::runtime_error& why) {
            seen = why.what();
        }
    });
    EXPECT_EQ(seen, "broken");
}

TEST(task_cancel, what_may_not_be_ended_says_why) {
    sim_loop loop;
    loop.run([&]() -> awaitable<void> {
        co_await with_task_group("group", [&](task_group& group) -> awaitable<void> {
            group.refuse_cancelling("of the whole group");
            group.spawn("plain", [&]() -> awaitable<void> { co_await loop.sleep(1h); });
            group.spawn_cancellable("one", [&]() -> awaitable<void> {
                co_await with_task_group("inside",
                                         [&](task_group& /*inside*/) -> awaitable<void> { co_await loop.sleep(1h); });
            });
            co_await loop.sleep(1s);
            const auto root = co_await root_task();
            const task* plain = named(*root, "plain");
            EXPECT_FALSE(plain->can_be_cancelled());
            EXPECT_EQ(plain->why_not_cancelled(), "of the whole group");
            EXPECT_EQ(plain->cancellable_above(), nullptr);
            const task* one = named(*root, "one");
            EXPECT_EQ(named(*one, "inside")->cancellable_above(), one);
            std::vector<task_view> all;
            one->view(all, 100);
            EXPECT_EQ(all.front().id, one->id());
            EXPECT_TRUE(all.front().can_be_cancelled);
            EXPECT_FALSE(all.at(1).can_be_cancelled);
            group.cancel();
        });
    });
}

}  // namespace
}  // namespace pvc::async
