// What is particular to the console files on Linux: modes, long and odd files, descriptors, watches that cannot be had.
#include "contract/console_bench.hpp"

#include <sys/resource.h>

namespace pvc::contract {
namespace {

class inotify_console : public console_suite<real_console> {
protected:
    awaitable<void> expect_not_read(std::string name) {
        const auto text = co_await files().read_end(bench.path(name), 10, 1000, bench.clock().now() + 60s);
        EXPECT_TRUE(!text && text.error().code() == errc::io) << name;
    }
};

TEST_F(inotify_console, the_mode_of_a_new_file_is_0600_whatever_the_umask_is) {
    const auto old = ::umask(0777);
    bench.run([this]() -> awaitable<void> {
        EXPECT_TRUE(co_await files().ensure(bench.path("web.log"), bench.clock().now() + 60s));
    });
    ::umask(old);
    struct stat found{};
    EXPECT_EQ(::stat(bench.path("web.log").c_str(), &found), 0);
    EXPECT_EQ(found.st_mode, S_IFREG | 0600U);
}

TEST_F(inotify_console, a_folder_is_not_made) {
    bench.run([this]() -> awaitable<void> {
        const auto refused = co_await files().ensure(bench.path("sub/web.log"), bench.clock().now() + 60s);
        EXPECT_TRUE(!refused && refused.error().code() == errc::io);
    });
}

TEST_F(inotify_console, a_folder_goes_with_all_its_files) {
    bench.run([this]() -> awaitable<void> {
        bench.make_folder("sub");
        bench.write("sub/web.log", "a\n");
        async::wakeup changed;
        const auto followed = files().follow(bench.path("sub/web.log"), changed);
        co_await expect_told_of("sub/web.log", "a\n", changed);
        bench.remove_folder("sub");
        co_await expect_told_of("sub/web.log", "", changed);
        EXPECT_EQ(bench.adapter().looked_at(), 1U);
    });
}

TEST_F(inotify_console, long_files_are_read_at_their_end_only) {
    bench.run([this]() -> awaitable<void> {
        bench.write("line.log", std::string(10'000'000, 'x'));
        EXPECT_EQ((co_await end_of("line.log", 1000, 1'048'578)).size(), 1'048'578U);
        EXPECT_EQ((co_await end_of("line.log", 1, 20'000'000)).size(), 10'000'000U);
        std::string lines;
        for (int i = 0; i < 100'000; ++i) {
            lines += "line " + std::to_string(i) + '\n';
        }
        bench.write("lines.log", lines);
        EXPECT_EQ(co_await end_of("lines.log", 2), "line 99998\nline 99999\n");
        for (const std::size_t count : {6000U, 6001U, 20'000U, 100'000U, 200'000U}) {
            const auto text = co_await end_of("lines.log", count, 10'000'000);
            const auto first = "line " + std::to_string(100'000 - std::min(count, std::size_t{100'000})) + '\n';
            EXPECT_TRUE(text.starts_with(first)) << count;
            EXPECT_TRUE(lines.ends_with(text));
        }
        // Newlines at the borders of the blocks that are read.
        for (const std::size_t size : {65'535U, 65'536U, 65'537U, 131'071U, 131'072U, 131'073U}) {
            bench.write("border.log", "first\n" + std::string(size, 'y') + "\n");
            EXPECT_EQ(co_await end_of("border.log", 1), std::string(size, 'y') + "\n");
            bench.write("border.log", "first\n" + std::string(size, 'y'));
            EXPECT_EQ(co_await end_of("border.log", 1), std::string(size, 'y'));
        }
        // A hole: the size says nothing of the memory that it takes.
        bench.write("hole.log", "");
        EXPECT_EQ(::truncate(bench.path("hole.log").c_str(), off_t{1} << 40), 0);
        EXPECT_EQ((co_await end_of("hole.log", 1000, 1000)).size(), 1000U);
    });
}

TEST_F(inotify_console, only_regular_files_are_read) {
    bench.run([this]() -> awaitable<void> {
        EXPECT_EQ(::mkfifo(bench.path("pipe.log").c_str(), 0600), 0);
        bench.make_folder("folder.log");
        bench.write("real", "text\n");
        std::filesystem::create_symlink(bench.path("real"), bench.path("link.log"));
        std::filesystem::create_symlink("/dev/zero", bench.path("zero.log"));
        for (const char* name : {"pipe.log", "folder.log", "link.log", "zero.log"}) {
            co_await expect_not_read(name);
            async::wakeup changed;
            const auto followed = files().follow(bench.path(name), changed);
            EXPECT_TRUE(changed.try_consume());
            EXPECT_TRUE(co_await files().ensure(bench.path(name), bench.clock().now() + 60s)) << "left as it is";
        }
        EXPECT_EQ(bench.folder().read("real"), "text\n");
        co_await expect_not_read("pipe.log");
    });
}

TEST_F(inotify_console, a_folder_that_is_followed_and_files_in_it) {
    bench.run([this]() -> awaitable<void> {
        bench.make_folder("sub");
        async::wakeup folder_changed;
        async::wakeup changed;
        const auto followed = files().follow(bench.path("sub/web.log"), changed);
        co_await quiet(changed);
        const auto folder = files().follow(bench.path("sub"), folder_changed);
        bench.write("sub/web.log", "a\n");
        co_await expect_told_of("sub/web.log", "a\n", changed);
        bench.rename("sub/web.log", "sub/old");
        co_await expect_told_of("sub/web.log", "", changed);
    });
}

TEST_F(inotify_console, a_folder_that_moves_away_takes_its_files_along) {
    bench.run([this]() -> awaitable<void> {
        bench.make_folder("sub");
        bench.write("sub/web.log", "a\n");
        async::wakeup changed;
        const auto followed = files().follow(bench.path("sub/web.log"), changed);
        co_await expect_told_of("sub/web.log", "a\n", changed);
        EXPECT_EQ(bench.adapter().looked_at(), 0U);
        bench.rename("sub", "elsewhere");
        co_await expect_told_of("sub/web.log", "", changed);
        EXPECT_EQ(bench.adapter().looked_at(), 1U);
        bench.make_folder("sub");
        bench.write("sub/web.log", "b\n");
        co_await expect_told_of("sub/web.log", "b\n", changed);
        bench.append("sub/web.log", "c\n");
        co_await expect_told_of("sub/web.log", "b\nc\n", changed);
        EXPECT_EQ(bench.adapter().looked_at(), 0U);
    });
}

TEST_F(inotify_console, one_descriptor_as_long_as_anything_is_followed) {
    bench.run([this]() -> awaitable<void> {
        bench.write("a.log", "");
        co_await end_of("a.log");
        const auto before = open_descriptors();
        async::wakeup changed;
        std::vector<std::unique_ptr<services::followed_file>> followed;
        for (int i = 0; i < 200; ++i) {
            followed.push_back(files().follow(bench.path(std::to_string(i) + ".log"), changed));
        }
        co_await quiet(changed);
        EXPECT_EQ(open_descriptors(), before + 1);
        EXPECT_EQ(bench.adapter().looked_at(), 0U);
        bench.write("150.log", "x\n");
        co_await expect_told_of("150.log", "x\n", changed);
        followed.clear();
        EXPECT_EQ(open_descriptors(), before);
    });
}

TEST_F(inotify_console, without_a_descriptor_the_file_is_looked_at_until_there_is_one) {
    bench.run([this]() -> awaitable<void> {
        bench.write("web.log", "a\n");
        rlimit limit{};
        ::getrlimit(RLIMIT_NOFILE, &limit);
        rlimit none = limit;
        none.rlim_cur = 0;
        async::wakeup changed;
        {
            // The sanitizer's first look at a type takes descriptors itself: all are seen once before there are none.
            const auto seen = files().follow(bench.path("web.log"), changed);
            EXPECT_EQ(bench.adapter().looked_at(), 0U);
        }
        co_await quiet(changed);
        ::setrlimit(RLIMIT_NOFILE, &none);
        const auto followed = files().follow(bench.path("web.log"), changed);
        EXPECT_EQ(bench.adapter().looked_at(), 1U);
        for (int times = 0; times < 3; ++times) {
            const auto before = bench.clock().now();
            EXPECT_TRUE(co_await changed.wait_until(bench.clock(), before + 20s, "a look at the file"));
        }
        EXPECT_EQ(bench.adapter().looked_at(), 1U);
        ::setrlimit(RLIMIT_NOFILE, &limit);
        bench.append("web.log", "b\n");
        co_await expect_told_of("web.log", "a\nb\n", changed);
        while (bench.adapter().looked_at() > 0) {
            EXPECT_TRUE(co_await changed.wait_until(bench.clock(), bench.clock().now() + 20s, "a watch"));
        }
        co_await quiet(changed);
        bench.append("web.log", "c\n");
        co_await expect_told_of("web.log", "a\nb\nc\n", changed);
    });
}

TEST_F(inotify_console, more_events_than_the_queue_holds) {
    bench.run([this]() -> awaitable<void> {
        async::wakeup changed;
        const auto followed = files().follow(bench.path("web.log"), changed);
        co_await quiet(changed);
        // Names come and go while the loop stands: what the kernel cannot keep it says it has lost.
        for (int i = 0; i < 20'000; ++i) {
            bench.write("other" + std::to_string(i % 2), "");
            bench.remove("other" + std::to_string(i % 2));
        }
        bench.write("web.log", "a\n");
        co_await expect_told_of("web.log", "a\n", changed);
        bench.append("web.log", "b\n");
        co_await expect_told_of("web.log", "a\nb\n", changed);
    });
}

TEST_F(inotify_console, what_is_followed_may_outlive_the_adapter) {
    bench.run([this]() -> awaitable<void> {
        bench.write("web.log", "a\n");
        async::wakeup changed;
        auto followed = files().follow(bench.path("web.log"), changed);
        auto missing = files().follow(bench.path("sub/web.log"), changed);
        bench.append("web.log", "b\n");
        bench.drop_adapter();
        changed.try_consume();
        const bool told = co_await changed.wait_until(bench.clock(), bench.clock().now() + 700ms, "nothing");
        EXPECT_FALSE(told);
    });
}

TEST_F(inotify_console, a_deadline_that_has_passed) {
    bench.run([this]() -> awaitable<void> {
        const auto text = co_await files().read_end(bench.path("web.log"), 1, 1, bench.clock().now() - 1s);
        EXPECT_TRUE(!text && text.error().code() == errc::timed_out);
    });
}

}  // namespace
}  // namespace pvc::contract
