// One bench a world for the suites of the asynchronous ports: the same test body runs on the real loop and clocks, and
// on simulated ones.
#pragma once

#include "pvcnoded/async/adapter/posix_process.hpp"
#include "pvcnoded/async/adapter/real_loop.hpp"
#include "pvcnoded/async/adapter/thread_offload.hpp"
#include "sim/sim_context.hpp"
#include "sim/sim_offload.hpp"
#include "sim/sim_process.hpp"

#include <gtest/gtest.h>

#include <sys/wait.h>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace pvc::contract {

using namespace std::chrono_literals;
using async::awaitable;

// A folder of its own, gone with the object.
class scratch_folder {
public:
    scratch_folder() {
        std::string name = testing::TempDir() + "pvc_contract_XXXXXX";
        path_ = ::mkdtemp(name.data());
    }
    scratch_folder(const scratch_folder&) = delete;
    scratch_folder& operator=(const scratch_folder&) = delete;
    ~scratch_folder() { std::filesystem::remove_all(path_); }
    [[nodiscard]] std::string operator/(const std::string& name) const { return path_ + '/' + name; }
    [[nodiscard]] const std::string& path() const { return path_; }
    void write(const std::string& name, const std::string& text) const { std::ofstream(*this / name) << text; }
    [[nodiscard]] std::string read(const std::string& name) const {
        std::ifstream file(*this / name);
        return {std::istreambuf_iterator<char>(file), {}};
    }

private:
    std::string path_;
};

class real_world {
public:
    async::timers& clock() { return loop_.clock(); }
    async::real_loop& loop() { return loop_; }
    void run(std::function<awaitable<void>()> body) { loop_.run("test", std::move(body)); }

private:
    async::real_loop loop_;
};

class sim_world {
public:
    async::timers& clock() { return loop_.clock(); }
    sim::sim_loop& loop() { return loop_; }
    void run(std::function<awaitable<void>()> body) { loop_.run(std::move(body)); }

private:
    sim::sim_loop loop_;
};

inline std::size_t open_descriptors() {
    std::size_t count = 0;
    for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
        ++count;
    }
    return count;
}

// Zombies included.
inline bool has_children() {
    return ::waitpid(-1, nullptr, WNOHANG) != -1 || errno != ECHILD;
}

// `body` is cancelled once `started` holds. True if it ended with the cancellation.
inline awaitable<bool> cancel_when(async::timers& clock, std::function<bool()> started,
                                   std::function<awaitable<void>()> body) {
    bool cancelled = false;
    co_await async::with_task_group("scope", [&](async::task_group& group) -> awaitable<void> {
        group.spawn("victim", [&]() -> awaitable<void> {
            try {
                co_await body();
            } catch (const boost::system::system_error& e) {
                cancelled = e.code() == boost::asio::error::operation_aborted;
                throw;
            }
        });
        while (!started()) {
            co_await async::sleep_for(clock, 5ms, "the victim");
        }
        group.cancel();
    });
    co_return cancelled;
}

}  // namespace pvc::contract
