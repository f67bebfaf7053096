// The service manager port on the systemctl program (found on PATH). Specification: config.md 7.2,
// node-lifecycle.md 3.5.
#pragma once

#include "pvcnoded/async/process.hpp"
#include "pvcnoded/services/service_manager.hpp"

#include <chrono>

namespace pvc::services {

// `processes` must outlive it.
class systemctl final : public service_manager {
public:
    // With `grace` between SIGTERM and SIGKILL, below the 5 s of the port.
    static constexpr duration usual_limit = std::chrono::milliseconds(4500);
    static constexpr duration grace = std::chrono::milliseconds(250);

    explicit systemctl(async::process_runner& processes, duration limit = usual_limit)
        : processes_(processes), limit_(limit) {}

    async::awaitable<result<void>> start(std::string unit) override;
    async::awaitable<result<void>> restart(std::string unit) override;
    async::awaitable<result<void>> stop(std::string unit) override;
    async::awaitable<result<void>> enable_now(std::string unit) override;
    async::awaitable<result<void>> disable_now(std::string unit) override;
    // Exit status 0 is active; 3 (not active) and 4 (no such unit) are not.
    async::awaitable<result<bool>> is_active(std::string unit) override;

private:
    async::awaitable<result<void>> request(std::vector<std::string> verb, std::string unit);
    async::awaitable<result<async::process_outcome>> call(std::string unit, std::vector<std::string> arguments);

    async::process_runner& processes_;
    duration limit_;
};

}  // namespace pvc::services
