// One process of the reference on the simulated loop: its clock, its way to the ensemble, its tasks. It ends by itself,
// or is killed: then its connections are cut, so that nothing it still does reaches the world, and its frames are
// destroyed; its session expires in time.
#pragma once

#include "sim/sim_context.hpp"
#include "sim/zookeeper/memory_client.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace pvc::sim {

class machine_connector;

class foreign_process {
public:
    foreign_process(sim_loop& loop, memory_ensemble& ensemble);
    foreign_process(const foreign_process&) = delete;
    foreign_process& operator=(const foreign_process&) = delete;
    // The owner kills it before the objects go that its tasks use.
    ~foreign_process();

    void start(const std::string& name, std::function<async::awaitable<void>()> body);
    // Nothing happens if it does not run. Never from one of its own tasks.
    void kill();
    [[nodiscard]] bool is_running() const { return runtime_ && !has_ended_; }
    // What it ended with, if that was an exception.
    [[nodiscard]] const std::string& complaint() const { return complaint_; }

    [[nodiscard]] machine_clock& clock() { return clock_; }
    [[nodiscard]] zookeeper::connector& connector();
    // Faults of the machine's network outlive the process.
    [[nodiscard]] memory_link& link();

private:
    sim_loop& loop_;
    machine_clock clock_;
    std::unique_ptr<machine_connector> connector_;
    std::uint32_t tag_;
    std::optional<async::runtime> runtime_;
    bool has_ended_ = false;
    std::string complaint_;
};

}  // namespace pvc::sim
