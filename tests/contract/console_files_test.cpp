// The console files port: what a follower is told, and the end of a file (vm-domains.md 10; cases D88, D90, D91, D93).
#include "contract/console_bench.hpp"

namespace pvc::contract {
namespace {

template <class Bench>
class console_contract : public console_suite<Bench> {};
using benches = testing::Types<real_console, sim_console>;
TYPED_TEST_SUITE(console_contract, benches);

TYPED_TEST(console_contract, a_follower_is_told_at_the_beginning_and_then_of_changes_only) {
    this->bench.run([this]() -> awaitable<void> {
        auto& clock = this->bench.clock();
        this->bench.write("web.log", "old\n");
        async::wakeup changed;
        const auto followed = this->files().follow(this->bench.path("web.log"), changed);
        co_await this->expect_told_of("web.log", "old\n", changed);
        const bool told = co_await changed.wait_until(clock, clock.now() + 1200ms, "nothing");
        EXPECT_FALSE(told);
        this->bench.append("other.log", "x\n");
        const bool told_of_other = co_await changed.wait_until(clock, clock.now() + 600ms, "nothing");
        EXPECT_FALSE(told_of_other);
        this->bench.append("web.log", "login: ");
        co_await this->expect_told_of("web.log", "old\nlogin: ", changed);
    });
}

TYPED_TEST(console_contract, D90_rotation) {
    this->bench.run([this]() -> awaitable<void> {
        this->bench.write("web.log", "a\nb\n");
        async::wakeup changed;
        const auto followed = this->files().follow(this->bench.path("web.log"), changed);
        co_await this->expect_told_of("web.log", "a\nb\n", changed);
        this->bench.rename("web.log", "web.log.0");
        co_await this->expect_told_of("web.log", "", changed);
        this->bench.write("web.log", "new\n");
        co_await this->expect_told_of("web.log", "new\n", changed);
        this->bench.append("web.log", "more\n");
        co_await this->expect_told_of("web.log", "new\nmore\n", changed);
    });
}

TYPED_TEST(console_contract, D91_truncation) {
    this->bench.run([this]() -> awaitable<void> {
        this->bench.write("web.log", "a\nb\n");
        async::wakeup changed;
        const auto followed = this->files().follow(this->bench.path("web.log"), changed);
        co_await this->expect_told_of("web.log", "a\nb\n", changed);
        this->bench.truncate("web.log");
        co_await this->expect_told_of("web.log", "", changed);
        this->bench.append("web.log", "x\n");
        co_await this->expect_told_of("web.log", "x\n", changed);
    });
}

TYPED_TEST(console_contract, a_file_moved_over_it) {
    this->bench.run([this]() -> awaitable<void> {
        this->bench.write("web.log", "old\n");
        this->bench.write("next", "next\n");
        async::wakeup changed;
        const auto followed = this->files().follow(this->bench.path("web.log"), changed);
        co_await this->expect_told_of("web.log", "old\n", changed);
        this->bench.rename("next", "web.log");
        co_await this->expect_told_of("web.log", "next\n", changed);
        this->bench.append("web.log", "and on\n");
        co_await this->expect_told_of("web.log", "next\nand on\n", changed);
    });
}

TYPED_TEST(console_contract, a_missing_file_appears_and_goes_and_appears) {
    this->bench.run([this]() -> awaitable<void> {
        async::wakeup changed;
        const auto followed = this->files().follow(this->bench.path("web.log"), changed);
        co_await this->expect_told_of("web.log", "", changed);
        for (const char* text : {"one\n", "two\n"}) {
            this->bench.write("web.log", text);
            co_await this->expect_told_of("web.log", text, changed);
            this->bench.remove("web.log");
            co_await this->expect_told_of("web.log", "", changed);
        }
    });
}

TYPED_TEST(console_contract, a_missing_folder_appears_and_goes_and_appears) {
    this->bench.run([this]() -> awaitable<void> {
        async::wakeup changed;
        const auto followed = this->files().follow(this->bench.path("sub/web.log"), changed);
        co_await this->expect_told_of("sub/web.log", "", changed);
        for (const char* text : {"one\n", "two\n"}) {
            this->bench.make_folder("sub");
            this->bench.write("sub/web.log", text);
            co_await this->expect_told_of("sub/web.log", text, changed);
            this->bench.append("sub/web.log", "more");
            co_await this->expect_told_of("sub/web.log", text + std::string("more"), changed);
            this->bench.remove("sub/web.log");
            co_await this->expect_told_of("sub/web.log", "", changed);
            this->bench.remove_folder("sub");
        }
    });
}

TYPED_TEST(console_contract, two_followers_of_one_file) {
    this->bench.run([this]() -> awaitable<void> {
        async::wakeup first_changed;
        async::wakeup second_changed;
        auto first = this->files().follow(this->bench.path("web.log"), first_changed);
        auto second = this->files().follow(this->bench.path("web.log"), second_changed);
        co_await this->quiet(first_changed);
        co_await this->quiet(second_changed);
        this->bench.write("web.log", "a\n");
        co_await this->expect_told_of("web.log", "a\n", first_changed);
        co_await this->expect_told_of("web.log", "a\n", second_changed);
        first.reset();
        this->bench.append("web.log", "b\n");
        co_await this->expect_told_of("web.log", "a\nb\n", second_changed);
        EXPECT_FALSE(first_changed.try_consume());
        second.reset();
        second = this->files().follow(this->bench.path("web.log"), second_changed);
        co_await this->quiet(second_changed);
        this->bench.append("web.log", "c\n");
        co_await this->expect_told_of("web.log", "a\nb\nc\n", second_changed);
    });
}

TYPED_TEST(console_contract, D93_the_last_lines) {
    this->bench.run([this]() -> awaitable<void> {
        this->bench.write("web.log", "1\n2\n\n4\nlogin: ");
        EXPECT_EQ(co_await this->end_of("web.log", 1), "login: ");
        EXPECT_EQ(co_await this->end_of("web.log", 3), "\n4\nlogin: ");
        EXPECT_EQ(co_await this->end_of("web.log", 5), "1\n2\n\n4\nlogin: ");
        EXPECT_EQ(co_await this->end_of("web.log", 6), "1\n2\n\n4\nlogin: ");
        EXPECT_EQ(co_await this->end_of("web.log", 0), "");
        EXPECT_EQ(co_await this->end_of("web.log", 5, 9), "4\nlogin: ");
        EXPECT_EQ(co_await this->end_of("web.log", 1, 9), "login: ");
        EXPECT_EQ(co_await this->end_of("web.log", 5, 3), "n: ");
        EXPECT_EQ(co_await this->end_of("web.log", 5, 0), "");
        this->bench.append("web.log", "root\n");
        EXPECT_EQ(co_await this->end_of("web.log", 1), "login: root\n");
        this->bench.write("web.log", "\n");
        EXPECT_EQ(co_await this->end_of("web.log", 1), "\n");
        EXPECT_EQ(co_await this->end_of("none.log"), "");
        EXPECT_EQ(co_await this->end_of("sub/none.log"), "");
    });
}

TYPED_TEST(console_contract, any_bytes) {
    this->bench.run([this]() -> awaitable<void> {
        std::string bytes;
        for (int value = 0; value < 256; ++value) {
            bytes += static_cast<char>(value);
        }
        this->bench.write("web.log", bytes);
        EXPECT_EQ(co_await this->end_of("web.log"), bytes);
        EXPECT_EQ(co_await this->end_of("web.log", 1), bytes.substr(11));
    });
}

TYPED_TEST(console_contract, ensure_makes_an_empty_file_once) {
    this->bench.run([this]() -> awaitable<void> {
        const auto deadline = this->bench.clock().now() + 60s;
        async::wakeup changed;
        const auto followed = this->files().follow(this->bench.path("web.log"), changed);
        EXPECT_TRUE(co_await this->files().ensure(this->bench.path("web.log"), deadline));
        co_await this->expect_told_of("web.log", "", changed);
        this->bench.append("web.log", "kept\n");
        EXPECT_TRUE(co_await this->files().ensure(this->bench.path("web.log"), deadline));
        co_await this->expect_told_of("web.log", "kept\n", changed);
    });
}

}  // namespace
}  // namespace pvc::contract
