// The servers of a simulated daemon, as its process has them: the code that answers, over doubles of its sockets.
//
// They have a queue and a clock of their own. What they do is no step of the world, draws nothing from its random
// numbers, and adds no moment to its time: so a cluster that is asked has to go exactly the way of one that is not,
// although its servers run between any two steps of its daemons. Their log, too, is not the daemon's.
#pragma once

#include "pvcnoded/control/answers.hpp"
#include "pvcnoded/control/metrics.hpp"
#include "pvcnoded/control/serving.hpp"
#include "sim/sim_node.hpp"
#include "sim/sim_sockets.hpp"

#include <optional>
#include <string>
#include <vector>

namespace pvc::sim {

// Says what the machine's clock says. Its timers come when the world has come by, and hold up nobody.
class beside_clock final : public async::timers {
public:
    explicit beside_clock(const machine_clock& machine) : machine_(machine) {}
    [[nodiscard]] time_point now() const override { return machine_.now(); }
    [[nodiscard]] boot_time boot_now() const override { return machine_.boot_now(); }
    [[nodiscard]] wall_time wall_now() const override { return machine_.wall_now(); }

protected:
    void deadlines_changed() override {}

private:
    const machine_clock& machine_;
};

class asked_log final : public logger {
public:
    void write(log_level /*level*/, std::string text, std::string /*prefix*/) override {
        lines.push_back(std::move(text));
    }
    std::vector<std::string> lines;
};

// What stays when a daemon ends: sockets, their files, and what was found.
struct asked_machine {
    explicit asked_machine(const machine_clock& of) : clock(of), local(clock), tcp(clock) {}
    beside_clock clock;
    sim_local_sockets local;
    sim_tcp_sockets tcp;
    asked_log log;
    std::optional<std::string> left_behind;  // by a daemon that ended in order, or was killed
};

class asked_servers final : public process_part {
public:
    // Both must outlive it. `order`: of ready work.
    asked_servers(sim_node& of, asked_machine& on, std::uint64_t order);
    asked_servers(const asked_servers&) = delete;
    asked_servers& operator=(const asked_servers&) = delete;
    // The process is killed.
    ~asked_servers() override;

    void end() override;
    // At most so many pieces of what is ready; nothing of a stopped process.
    void run_some(std::uint64_t most);
    void run_all();
    [[nodiscard]] std::string path() const;

private:
    async::awaitable<void> serve();

    sim_node& node_;
    asked_machine& machine_;
    sim_context context_;
    async::runtime runtime_;
    control::answers answers_;
    control::web_pages pages_;
    control::server server_;
    control::web_server web_;
    async::wakeup ended_;
    const std::uint64_t made_before_;  // sockets, by earlier lives
    bool is_over_ = false;
};

}  // namespace pvc::sim
