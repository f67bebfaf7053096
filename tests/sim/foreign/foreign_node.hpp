// A scripted foreign node: a member of the simulated cluster that behaves towards ZooKeeper as the reference daemon
// does, with its writes, their order, grouping and times, its locks and its defects. Several share a loop and an
// ensemble with nodes that run ours (sim_node). Left out: virtual machines, the search for dead nodes, what is written
// below /logs, hot schema updates.
//
//   foreign_node hv2(loop, ensemble, {.name = "hv2"});
//   hv2.start();  loop.run_for(20s);  hv2.terminate();
//
// Everything is deterministic: time from the node's own clock, chance from the seed in the settings.
#pragma once

#include "sim/foreign/foreign_daemon.hpp"
#include "sim/foreign/foreign_process.hpp"
#include "sim/network/sim_addresses.hpp"

#include <memory>

namespace pvc::sim {

class foreign_node {
public:
    foreign_node(sim_loop& loop, memory_ensemble& ensemble, foreign_settings wanted = {});
    foreign_node(const foreign_node&) = delete;
    foreign_node& operator=(const foreign_node&) = delete;
    ~foreign_node();

    // Also after kill() or an orderly end; a running one is killed first.
    void start();
    // A terminating signal: the orderly stop begins (is_running() tells when it is over). In the first seconds of a
    // start the process just ends.
    void terminate();
    // Nothing more reaches the ensemble, the session expires in time. Its addresses stay on the machine.
    void kill();
    // The same, and they are gone.
    void lose_power();
    [[nodiscard]] bool is_powered() const { return is_powered_; }
    // Somebody switches the machine on; its daemon starts later.
    void power_on() { is_powered_ = true; }
    [[nodiscard]] bool is_running() const { return process_.is_running(); }
    [[nodiscard]] bool is_ready() const { return is_running() && daemon_->is_ready(); }
    // Of a running daemon: what it believes about itself.
    [[nodiscard]] const foreign_state& state() const { return daemon_->state(); }
    [[nodiscard]] memory_link& link() { return process_.link(); }
    [[nodiscard]] machine_clock& clock() { return process_.clock(); }
    // Always empty: an exception of its tasks is a defect of this simulation.
    [[nodiscard]] const std::string& complaint() const { return process_.complaint(); }

    foreign_settings settings;
    sim_kernel kernel;

private:
    foreign_process process_;
    std::unique_ptr<foreign_daemon> daemon_;
    std::uint64_t starts_ = 0;
    bool is_powered_ = true;
};

}  // namespace pvc::sim
