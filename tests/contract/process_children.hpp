// What the tests of real programs share.
#pragma once

#include "contract/process_bench.hpp"
#include "pvcnoded/base/text.hpp"

#include <csignal>
#include <fstream>
#include <thread>

namespace pvc::contract {

using async::command;
using async::exited;
using async::posix_process;
using async::process_limits;
using async::process_outcome;
using async::timed_out;

inline process_limits limits_of(duration time, duration grace = 30s) {
    process_limits limits;
    limits.time = time;
    limits.grace = grace;
    return limits;
}

inline command shell(std::string script) {
    return command{{"sh", "-c", std::move(script)}};
}

// Gone, or a zombie that somebody else has to reap. Waits for it a while: the kernel ends a killed process when it
// likes.
inline bool ends_soon(pid_t process) {
    for (int attempt = 0; attempt < 2000; ++attempt) {
        std::ifstream status("/proc/" + std::to_string(process) + "/stat");
        std::string number;
        std::string name;
        std::string state;
        if (!(status >> number >> name >> state) || state == "Z") {
            return true;
        }
        std::this_thread::sleep_for(5ms);
    }
    return false;
}

class children : public testing::Test {
protected:
    result<process_outcome> run(command what, process_limits limits = limits_of(30s)) {
        std::optional<result<process_outcome>> seen;
        world.run([&]() -> awaitable<void> {
            auto outcome = co_await processes.run(std::move(what), limits);
            seen.emplace(std::move(outcome));
        });
        return std::move(*seen);
    }
    // With a limit within which it has begun, which on a busy machine takes a program a while: it has said something.
    result<process_outcome> run_begun(const command& what, duration time, duration grace = 30s) {
        for (const int times : {1, 5, 25}) {
            auto outcome = run(what, limits_of(times * time, grace));
            if (!outcome || !outcome->output.empty()) {
                return outcome;
            }
        }
        return run(what, limits_of(125 * time, grace));
    }
    static pid_t number_in(const std::string& text) {
        const auto number = parse_integer(trim(text));
        return number ? static_cast<pid_t>(*number) : -1;
    }

    real_world world;
    posix_process processes{world.loop().context(), world.clock()};
};

}  // namespace pvc::contract
