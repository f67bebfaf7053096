#include "sim/ceph/sim_rbd_locks.hpp"
#include "sim/hypervisor/sim_console_files.hpp"
#include "sim/sim_context.hpp"

#include <gtest/gtest.h>

namespace pvc::sim {
namespace {

using async::awaitable;
using lines = std::vector<std::string>;

class rbd_locks_test : public ::testing::Test {
protected:
    time_point in(duration time) { return loop.clock().now() + time; }
    boot_time soon() { return loop.clock().boot_now() + 2s; }

    sim_loop loop;
    sim_rbd_store store;
    sim_rbd_locks hv1{store, "hv1", loop.clock()};
};

TEST_F(rbd_locks_test, listing_and_breaking) {
    store.add_image("vms/web_sda");
    store.lock("vms/web_sda", {"auto 1", "client.1", "10.254.0.2:0/7"});
    loop.run([&]() -> awaitable<void> {
        const auto held = co_await hv1.list("vms/web_sda", in(5s));
        EXPECT_EQ(held->size(), 1U);
        const auto broken = co_await hv1.break_lock("vms/web_sda", held->front(), 0s, soon(), in(5s));
        EXPECT_TRUE(broken);
        const auto again = co_await hv1.break_lock("vms/web_sda", held->front(), 0s, soon(), in(5s));
        EXPECT_TRUE(again);
        const auto none = co_await hv1.list("vms/web_sda", in(5s));
        EXPECT_TRUE(none->empty());
        const auto missing = co_await hv1.list("vms/old_sda", in(5s));
        EXPECT_EQ(missing.error().code(), errc::not_found);
    });
    EXPECT_EQ(store.blocklist(), lines{"10.254.0.2:0/7"});
    EXPECT_EQ(store.calls()[1], "break vms/web_sda auto 1 client.1");
}

TEST_F(rbd_locks_test, faults) {
    store.lock("vms/a", "10.254.0.2:0/7");
    store.fail_next("list", failure(errc::io, "vms/a"));
    loop.run([&]() -> awaitable<void> {
        auto held = co_await hv1.list("vms/a", in(5s));
        EXPECT_EQ(held.error().code(), errc::io);
        store.hangs = true;
        held = co_await hv1.list("vms/a", in(5s));
        EXPECT_EQ(held.error().code(), errc::timed_out);
        store.hangs = false;
        const auto late = co_await hv1.break_lock("vms/a", store.locks("vms/a").front(), 0s,
                                                  boot_time(loop.clock().boot_now() - 1ns), in(5s));
        EXPECT_EQ(late.error().code(), errc::stopped);
        hv1.is_unavailable = true;
        held = co_await hv1.list("vms/a", in(5s));
        EXPECT_EQ(held.error().code(), errc::unavailable);
    });
    EXPECT_EQ(store.locks("vms/a").size(), 1U);
}

class console_files_test : public ::testing::Test {
protected:
    std::string read(std::size_t count, std::size_t bytes = 1000) {
        std::string text;
        loop.run([&]() -> awaitable<void> {
            auto got = co_await files.read_end("/c", count, bytes, loop.clock().now() + 5s);
            text = got ? *got : got.error().text();
        });
        return text;
    }
    sim_loop loop;
    sim_console_files files{loop.clock()};
};

TEST_F(console_files_test, the_end_of_a_file) {
    EXPECT_EQ(read(10), "");
    files.append("/c", "one\ntwo\nthree\n");
    EXPECT_EQ(read(10), "one\ntwo\nthree\n");
    EXPECT_EQ(read(2), "two\nthree\n");
    files.append("/c", "login: ");
    EXPECT_EQ(read(2), "three\nlogin: ");
    EXPECT_EQ(read(10, 9), "e\nlogin: ");
    files.replace("/c", "new\n");
    EXPECT_EQ(read(10), "new\n");
    EXPECT_EQ(files.content("/c.0"), "one\ntwo\nthree\nlogin: ");
    files.fails = failure(errc::io, "/c");
    EXPECT_NE(read(1).find("/c"), std::string::npos);
}

TEST_F(console_files_test, followers_are_told) {
    async::wakeup changed;
    {
        const auto follower = files.follow("/c", changed);
        EXPECT_TRUE(changed.try_consume());
        files.append("/c", "x");
        EXPECT_TRUE(changed.try_consume());
        files.truncate("/c");
        EXPECT_TRUE(changed.try_consume());
        files.remove("/c");
        EXPECT_TRUE(changed.try_consume());
        files.append("/d", "x");
        EXPECT_FALSE(changed.try_consume());
        loop.run([&]() -> awaitable<void> {
            auto made = co_await files.ensure("/c", loop.clock().now() + 5s);
            EXPECT_TRUE(made);
        });
        EXPECT_TRUE(changed.try_consume());
        EXPECT_EQ(files.followers("/c"), 1U);
    }
    files.append("/c", "x");
    EXPECT_FALSE(changed.try_consume());
}

}  // namespace
}  // namespace pvc::sim
