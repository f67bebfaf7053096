// The port to programs that are talked to: one suite for real processes and for the simulated ones.
#include "contract/process_bench.hpp"
#include "pvcnoded/async/adapter/posix_process.hpp"
#include "pvcnoded/services/adapter/spawned_talker.hpp"
#include "sim/ceph/sim_talker.hpp"

#include <gtest/gtest.h>

#include <array>
#include <optional>

namespace pvc::contract {
namespace {

using async::awaitable;
using namespace std::chrono_literals;

enum class talker : std::uint8_t { says_what_it_hears, leaves, is_deaf };

awaitable<std::string> play_talker(talker which, services::stream_connection& with, async::timers& clock) {
    if (which == talker::leaves) {
        co_return "exit status 2: no use";
    }
    if (which == talker::is_deaf) {
        with.write_now("deaf\n");
    }
    std::array<char, 64> room{};
    for (;;) {
        const auto size = co_await with.read(room, clock.now() + 60s);
        if (!size || *size == 0) {
            co_return "exit status 0";
        }
        if (which == talker::says_what_it_hears) {
            with.write_now({room.data(), *size});
        }
    }
}

class real_talkers : public real_world {
public:
    services::talking_programs& having(talker which) {
        which_ = which;
        return port_;
    }
    [[nodiscard]] std::vector<std::string> command() const {
        const std::array<const char*, 3> scripts{"exec cat <&3 >&3", "echo 'no use' >&2; exit 2",
                                                 "trap '' TERM; echo deaf >&3; while :; do sleep 1; done"};
        return {"sh", "-c", scripts[static_cast<std::size_t>(which_)]};
    }

private:
    talker which_ = talker::says_what_it_hears;
    async::posix_process processes_{loop().context(), clock()};
    services::spawned_talker port_{loop().context(), clock(), processes_};
};

class sim_talkers : public sim_world {
public:
    services::talking_programs& having(talker which) {
        port_.emplace(clock(),
                      [this, which](services::stream_connection& with) { return play_talker(which, with, clock()); });
        return *port_;
    }
    [[nodiscard]] static std::vector<std::string> command() { return {"talker"}; }

private:
    std::optional<sim::sim_talker> port_;
};

template <class Bench>
class talker_contract : public testing::Test {
protected:
    Bench bench;
};
using talker_benches = testing::Types<real_talkers, sim_talkers>;
TYPED_TEST_SUITE(talker_contract, talker_benches);

TYPED_TEST(talker_contract, both_hear_each_other_until_the_conversation_ends) {
    this->bench.run([this]() -> awaitable<void> {
        std::string heard;
        auto& port = this->bench.having(talker::says_what_it_hears);
        const auto end =
            co_await port.run(this->bench.command(), [&](services::stream_connection& with) -> awaitable<void> {
                with.write_now("hello");
                std::array<char, 64> room{};
                while (heard.size() < 5) {
                    const auto size = co_await with.read(room, this->bench.clock().now() + 10s);
                    if (!size || *size == 0) {
                        break;
                    }
                    heard.append(room.data(), *size);
                }
            });
        EXPECT_EQ(heard, "hello");
        EXPECT_TRUE(end && *end == "killed") << (end ? *end : end.error().text());
    });
}

TYPED_TEST(talker_contract, a_program_that_ends_ends_the_conversation_and_says_how) {
    this->bench.run([this]() -> awaitable<void> {
        auto& port = this->bench.having(talker::leaves);
        const auto end =
            co_await port.run(this->bench.command(), [&](services::stream_connection& with) -> awaitable<void> {
                std::array<char, 64> room{};
                const auto size = co_await with.read(room, this->bench.clock().now() + 3600s);
                EXPECT_TRUE(size && *size == 0) << "or it is cancelled before";
            });
        EXPECT_TRUE(end && *end == "exit status 2: no use") << (end ? *end : end.error().text());
    });
}

// It ignores what it is told; it has ended when run() returns.
TYPED_TEST(talker_contract, a_deaf_program_is_ended) {
    this->bench.run([this]() -> awaitable<void> {
        auto& port = this->bench.having(talker::is_deaf);
        time_point begun = this->bench.clock().now();
        const auto end =
            co_await port.run(this->bench.command(), [&](services::stream_connection& with) -> awaitable<void> {
                std::array<char, 8> room{};
                const auto size = co_await with.read(room, this->bench.clock().now() + 60s);
                EXPECT_TRUE(size && *size > 0) << "that it is deaf";
                begun = this->bench.clock().now();
            });
        EXPECT_TRUE(end && *end == "killed") << (end ? *end : end.error().text());
        EXPECT_LT(this->bench.clock().now() - begun, 20s);
    });
}

TYPED_TEST(talker_contract, whoever_is_cancelled_leaves_no_program_behind) {
    this->bench.run([this]() -> awaitable<void> {
        auto& port = this->bench.having(talker::is_deaf);
        bool is_over = false;
        bool is_deaf = false;
        co_await async::with_task_group("scope", [&](async::task_group& group) -> awaitable<void> {
            group.spawn("owner", [&]() -> awaitable<void> {
                struct over {
                    bool& flag;
                    ~over() { flag = true; }
                } const guard{is_over};
                ignore(co_await port.run(this->bench.command(),
                                         [&](services::stream_connection& with) -> awaitable<void> {
                                             std::array<char, 8> room{};
                                             const auto size =
                                                 co_await with.read(room, this->bench.clock().now() + 60s);
                                             is_deaf = size && *size > 0;
                                             co_await async::sleep_for(this->bench.clock(), 60s, "the end");
                                         }),
                       "it is cancelled");
            });
            for (int times = 0; times < 3000 && !is_deaf; ++times) {
                co_await async::sleep_for(this->bench.clock(), 10ms, "its start");
            }
            EXPECT_TRUE(is_deaf);
            group.cancel();
        });
        EXPECT_TRUE(is_over);
    });
}

// What it inherits is its standard descriptors and the socket; what is ours is closed again.
TEST(real_talker, no_descriptor_is_left_on_either_side) {
    real_talkers bench;
    bench.run([&]() -> awaitable<void> {
        async::posix_process processes(bench.loop().context(), bench.clock());
        services::spawned_talker port(bench.loop().context(), bench.clock(), processes);
        std::string seen;
        const std::size_t before = open_descriptors();
        const auto end = co_await port.run({"sh", "-c", "ls -x /proc/self/fd >&3"},
                                           [&](services::stream_connection& with) -> awaitable<void> {
                                               std::array<char, 256> room{};
                                               const auto size = co_await with.read(room, bench.clock().now() + 10s);
                                               seen.assign(room.data(), size ? *size : 0);
                                           });
        EXPECT_TRUE(end);
        std::erase_if(seen, [](char c) { return c == ' ' || c == '\n'; });
        EXPECT_EQ(seen, "01234") << "the last one is the folder that is listed";
        EXPECT_EQ(open_descriptors(), before);
        const auto missing =
            co_await port.run({"/nowhere/at/all"}, [&](services::stream_connection&) -> awaitable<void> {
                co_await async::sleep_for(bench.clock(), 60s, "nobody");
            });
        EXPECT_TRUE(!missing && missing.error().code() == errc::not_found);
        EXPECT_EQ(open_descriptors(), before);
    });
}

}  // namespace
}  // namespace pvc::contract
