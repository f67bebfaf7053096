// The reference's daemon of one node, with virtual machines if it is told where (foreign_migration): start, watches,
// hand-overs, jobs, stop (node-lifecycle.md 3 to 8, the columns of the reference). Its defects are part of it: it acts
// once per change, on one callback task, and forgets what it missed.
//
// Owned by a foreign_node. Everything it starts is a child of run().
#pragma once

#include "pvcnoded/async/task_group.hpp"
#include "sim/foreign/foreign_fence.hpp"
#include "sim/foreign/foreign_health.hpp"
#include "sim/foreign/foreign_keepalive.hpp"
#include "sim/foreign/foreign_migration.hpp"
#include "sim/foreign/foreign_state.hpp"

#include <set>
#include <string>

namespace pvc::sim {

class foreign_daemon {
public:
    foreign_daemon(const foreign_settings& settings, async::timers& clock, zookeeper::connector& connector,
                   random_source random);

    // From the start to the end of an orderly stop.
    async::awaitable<void> run();
    // A terminating signal.
    void request_stop();
    // Before this a terminating signal ends the process at once.
    [[nodiscard]] bool handles_signals() const { return handles_signals_; }
    // The ticker has been started.
    [[nodiscard]] bool is_ready() const { return is_ready_; }
    [[nodiscard]] const foreign_state& state() const { return state_; }

private:
    using stored = foreign_session::stored;

    async::awaitable<void> start_up();
    async::awaitable<void> load_schema();
    async::awaitable<void> register_node();
    async::awaitable<void> claim_vacant_role();
    async::awaitable<void> make_bridges();
    async::awaitable<void> follow_networks();
    void watch_everything();
    async::awaitable<void> terminate();
    async::awaitable<void> give_up_role();

    async::awaitable<void> on_role(stored value);
    async::awaitable<void> on_daemon_state(stored value);
    async::awaitable<void> on_running_domains(stored value);
    async::awaitable<void> on_domain_state(stored value);
    async::awaitable<void> on_primary(stored value);
    async::awaitable<void> contend(std::int32_t version);
    async::awaitable<void> tick_after(duration time);
    async::awaitable<void> job(model::domain_state wanted);
    void run_apart(std::string name, std::function<async::awaitable<void>()> body);

    foreign_session session_;
    random_source random_;
    foreign_state state_;
    foreign_keepalive keepalive_;
    foreign_health_checks health_;
    std::optional<foreign_migration> machines_;
    std::optional<foreign_fence> fence_;
    async::task_group* tasks_ = nullptr;
    async::wakeup stop_;
    async::wakeup job_done_;
    std::set<std::string> bridges_;  // of client networks, as it made them
    bool has_job_ = false;
    bool handles_signals_ = false;
    bool is_ready_ = false;
};

}  // namespace pvc::sim
