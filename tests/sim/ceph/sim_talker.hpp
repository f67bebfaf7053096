// Double of the port to programs that are talked to: each is a coroutine that has the other end of the stream. It takes
// no time to start and dies with whoever started it.
#pragma once

#include "pvcnoded/async/task_group.hpp"
#include "pvcnoded/services/talking_programs.hpp"
#include "sim/sim_stream.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace pvc::sim {

class sim_talker final : public services::talking_programs {
public:
    // What a program does from its start to its end; what it returns is said of it ("exit status 2").
    using program = std::function<async::awaitable<std::string>(services::stream_connection& with)>;

    sim_talker(async::timers& clock, program played) : clock_(clock), played_(std::move(played)) {}

    async::awaitable<result<std::string>> run(std::vector<std::string> arguments, conversation talk) override;

    std::optional<failure> refusal;  // it cannot be started
    [[nodiscard]] std::uint64_t starts() const { return starts_; }
    [[nodiscard]] int running() const { return running_; }
    [[nodiscard]] const std::vector<std::string>& arguments() const { return arguments_; }
    // As a signal of the kernel: the one that runs ends now.
    void kill();

private:
    async::timers& clock_;
    program played_;
    std::uint64_t starts_ = 0;
    int running_ = 0;
    std::vector<std::string> arguments_;
    async::task_group* present_ = nullptr;
    bool is_killed_ = false;
};

}  // namespace pvc::sim
