// What the actors of one daemon share, beyond any ZooKeeper session: who we are, our role, what was acknowledged when.
// Loop thread only.
#pragma once

#include "pvcnoded/async/latest.hpp"
#include "pvcnoded/base/histogram.hpp"
#include "pvcnoded/config/node_config.hpp"
#include "pvcnoded/core/host_bridges.hpp"
#include "pvcnoded/core/log_hub.hpp"
#include "pvcnoded/core/platform.hpp"
#include "pvcnoded/core/role.hpp"
#include "pvcnoded/model/states.hpp"
#include "pvcnoded/policy/intervals.hpp"

#include <memory>
#include <optional>
#include <string>

namespace pvc::core {

// What became of heartbeats since the process began.
struct heartbeat_figures {
    std::uint64_t acknowledged = 0;
    std::uint64_t missed = 0;   // not acknowledged in time
    std::uint64_t skipped = 0;  // ticks that never began: the one before them took too long
    histogram lateness;         // how much later than it was due a tick began
};

struct node_context {
    node_context(platform& outside, log_hub& logger) : port(outside), log(logger) {}

    platform& port;
    log_hub& log;
    std::shared_ptr<const config::node_config> config;
    services::machine_facts machine;
    model::daemon_mode mode = model::daemon_mode::hypervisor;
    policy::intervals times;
    std::optional<int> schema_limit;

    core::role role;
    host_bridges bridges;
    bool registered = false;  // S8 done: an orderly stop leaves `stop` behind
    bool started = false;     // S13 done
    bool maintenance = false;
    async::latest<bool> stopping{false};

    // The last heartbeat that was acknowledged, by the time of its sending; kept over sessions.
    std::optional<boot_time> heartbeat_sent;
    std::int64_t heartbeat_id = 0;  // mzxid of its keepalive
    std::uint64_t sessions_opened = 0;
    std::uint64_t sessions_lost = 0;      // by a daemon that had started
    heartbeat_figures beats;              // likewise
    zookeeper::request_figures requests;  // of all sessions

    async::latest<int> schema_version{-1};

    [[nodiscard]] const std::string& self() const { return config->node; }
    [[nodiscard]] async::timers& clock() const { return port.clock; }
    [[nodiscard]] duration heartbeat_age() const {
        return heartbeat_sent ? clock().boot_now() - *heartbeat_sent : duration::max();
    }
    // One line for the supervisor.
    void status(const std::string& text) const { port.notifier.send("STATUS=" + text); }
};

// The version that this node publishes and that clients show: the level of the reference whose schema is in use.
[[nodiscard]] inline std::string emulated_version(int schema_version) {
    return schema_version > 10 ? "1.0.3" : "0.9.82";
}

}  // namespace pvc::core
