// The daemon: start-up phases S0 to S13 in order, the sessions after them, termination. One instance per process; in
// simulations many. Specification: node-lifecycle.md 3 to 5; README rulings 1, 10, 11, 18.
#pragma once

#include "pvcnoded/async/task_group.hpp"
#include "pvcnoded/node/node_context.hpp"
#include "pvcnoded/node/session.hpp"
#include "pvcnoded/policy/startup_plan.hpp"

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace pvc::node {

class coordinator;
class domain_state_actor;
class domains;
class keepalive;
class log_shipper;

namespace exit_status {
inline constexpr int orderly = 0;
inline constexpr int environment = 1;
inline constexpr int configuration = 78;
}  // namespace exit_status

class daemon {
public:
    // `outside` must outlive the daemon.
    explicit daemon(ports& outside);
    daemon(const daemon&) = delete;
    daemon& operator=(const daemon&) = delete;
    ~daemon();

    // Runs until stopped or until a failure that the phase table ends the process for. Returns the exit status.
    async::awaitable<int> run();

    // Orderly stop; a second request is ignored.
    void request_stop(const std::string& why);
    // Closes and reopens the log file, if there is one.
    void reopen_logs();
    // Writes the task tree into the log.
    void log_tasks();

    [[nodiscard]] const node_context& context() const { return context_; }

private:
    enum class next_step : std::uint8_t { leave, start_again, new_session };
    struct verdict {
        next_step next = next_step::leave;
        int status = exit_status::orderly;
        std::string reason;
    };

    async::awaitable<verdict> attempt();
    // S0. Empty: go on.
    std::optional<verdict> load_configuration();
    void adopt_configuration();
    std::optional<verdict> refuse(std::vector<std::string> problems, verdict end);
    async::awaitable<result<void>> make_directories();
    result<void> take_lock_file();
    async::awaitable<void> open_logs(async::task_group& scope);
    async::awaitable<void> note_implementation();
    void start_shipping(async::task_group& scope);
    async::awaitable<void> start_services();
    async::awaitable<verdict> run_sessions();
    async::awaitable<verdict> run_session();
    async::awaitable<verdict> work(session& s, keepalive& beat, coordinator& roles, async::task_group& session_scope);
    async::awaitable<std::optional<verdict>> enter_cluster(session& s, keepalive& beat,
                                                           async::task_group& session_scope);
    async::awaitable<std::optional<verdict>> serve(session& s, keepalive& beat, coordinator& roles);
    async::awaitable<result<void>> probe_hypervisor();
    async::awaitable<void> objects_and_run(session& s, keepalive& beat, coordinator& roles);
    async::awaitable<void> follow_maintenance(session& s);
    async::awaitable<void> terminate(session& s, keepalive& beat, coordinator& roles);
    async::awaitable<void> tell_outage(zookeeper::client& client);
    async::awaitable<void> watch_isolation();
    // Runs `body`, cancelled when a stop is requested. True if it was.
    async::awaitable<bool> unless_stopped(std::string name, std::function<async::awaitable<void>()> body);
    void enter(policy::phase which);
    [[nodiscard]] verdict failed(policy::phase which, const failure& why) const;

    ports& port_;
    log_hub log_;
    node_context context_;
    std::vector<config::diagnostic> remarks_;  // of the configuration, until the logger is there
    std::set<std::string> told_remarks_;
    struct outage_seen {
        time_point since;
        duration told;  // how long it had lasted at the last line; zero: none yet
    };
    std::optional<outage_seen> outage_;  // of ZooKeeper, over sessions
    std::vector<std::string> troubles_;  // that do not prevent a start, until the logger is there
    std::unique_ptr<services::file_lock> lock_file_;
    std::unique_ptr<log_shipper> shipper_;
    std::unique_ptr<domains> domains_;  // with the function `hypervisor`
    keepalive* beat_ = nullptr;
    domain_state_actor* orders_ = nullptr;  // of the session
    bool is_cut_off_ = false;               // it left without having been able to say so
    async::task_group* scope_ = nullptr;
    std::uint64_t attempts_ = 0;
    bool ready_sent_ = false;
    std::shared_ptr<async::task> root_;
};

}  // namespace pvc::node
