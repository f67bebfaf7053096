// How the reference fences. 0.9.82: every coordinator looks at all nodes at the end of its tick, by its own wall clock
// and without a lock over the whole; six throws that only look at the state, power off, a fixed pause, on, and success
// by what it remembers of exit status and texts; then the machines of the list, at face value (node-lifecycle.md 10,
// A.4). 1.0.3: one after the other under `/config/fence_lock` (which it knows at schema 15 alone), also during the
// recovery; success is what the last look says, and what its own power-on undoes; the figures are reset whatever came
// of it.
//
// A part of a reference daemon that has boards (foreign_settings::boards).
#pragma once

#include "sim/foreign/foreign_state.hpp"
#include "sim/sim_process.hpp"

#include <functional>
#include <string>
#include <vector>

namespace pvc::sim {

class foreign_fence {
public:
    using body = std::function<async::awaitable<void>()>;
    using starter = std::function<void(std::string name, body what)>;

    foreign_fence(foreign_state& node, starter run_apart);
    foreign_fence(const foreign_fence&) = delete;
    foreign_fence& operator=(const foreign_fence&) = delete;

    // At the end of a tick.
    async::awaitable<void> look_for_dead();

private:
    async::awaitable<std::string> word(std::string path) const;
    [[nodiscard]] bool is_late() const { return node_.settings.level == reference_level::v1_0_3; }
    async::awaitable<bool> is_silent(std::string name) const;
    async::awaitable<void> monitor();
    async::awaitable<void> mark(std::string name);
    async::awaitable<void> fence_alone(std::string name);
    async::awaitable<void> fence(std::string name);
    async::awaitable<bool> switch_off_and_on(std::string name);
    struct answer {
        int status = 1;
        std::string text;
    };
    async::awaitable<answer> power(std::vector<std::string> access, std::string verb);
    async::awaitable<void> recover(std::string name);
    async::awaitable<void> reset_figures(std::string name);
    async::awaitable<std::string> choose_target(std::string but);

    foreign_state& node_;
    starter run_apart_;
    sim_process programs_;
    bool is_monitoring_ = false;
};

}  // namespace pvc::sim
