// The daemon: start-up phases S0 to S13 in order, the sessions after them, termination. What it is assembled from comes
// from outside (assembly.hpp). One instance per process; in simulations many.
// Specification: node-lifecycle.md 3 to 5; README rulings 1, 10, 11, 18.
#pragma once

#include "pvcnoded/async/task_group.hpp"
#include "pvcnoded/config/load.hpp"
#include "pvcnoded/core/metrics.hpp"
#include "pvcnoded/core/node_context.hpp"
#include "pvcnoded/core/session.hpp"
#include "pvcnoded/node/assembly.hpp"
#include "pvcnoded/policy/startup_plan.hpp"
#include "pvcnoded/services/log_output.hpp"

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace pvc::core {
class log_shipper;
}
namespace pvc::membership {
class keepalive;
}

namespace pvc::node {

namespace exit_status {
inline constexpr int orderly = 0;
inline constexpr int environment = 1;
inline constexpr int configuration = 78;
}  // namespace exit_status

// What the process around a daemon gives it.
struct process {
    // Reads and validates the configuration; asked once at each beginning of start-up. Blocking, bounded by the file's
    // size.
    std::function<config::loaded()> load_configuration;
    // A line before the logger exists, and what must be said when nothing else is configured: standard error.
    std::function<void(const std::string&)> complain;
    std::function<std::shared_ptr<services::log_output>(const std::string& path)> open_log_file;
    std::shared_ptr<services::log_output> standard_output;
    std::shared_ptr<services::log_output> standard_error;
    bool standard_output_is_journal = false;
    std::function<std::uint64_t()> loop_turns;  // the watchdog's proof that the loop turns
    // What reading and checking the cluster's tree took of the heap goes back to the system: called when a start or a
    // new session has come to its end. Empty: it stays.
    std::function<void()> give_memory_back;
    std::optional<std::string> schema_limit;  // PVCD_SCHEMA_LIMIT
    std::string implementation;               // program, version and build, for log and file
};

// The daemon as it is at one moment, from memory: for whoever asks, also while nothing else answers.
struct daemon_view {
    duration uptime{};
    policy::phase phase = policy::phase::configuration;  // entered last
    duration phase_age{};
    std::uint64_t attempts = 0;
    std::optional<zookeeper::session_state> session;  // none is open
    duration session_age{};
    std::optional<duration> outage_age;  // ZooKeeper is away since then
    std::size_t watches = 0;             // keys that are watched
    std::size_t watch_bytes = 0;         // of the packet that arms them again after a reconnect
};

class daemon {
public:
    // `outside` must outlive the daemon.
    daemon(core::platform& outside, process around, assembly of);
    daemon(const daemon&) = delete;
    daemon& operator=(const daemon&) = delete;
    ~daemon();

    // Runs until stopped or until a failure that the phase table ends the process for. Returns the exit status.
    async::awaitable<int> run();

    // Orderly stop; a second request is ignored.
    void request_stop(const std::string& why);
    // Closes and reopens the log file, if there is one.
    void reopen_logs();
    // Writes the task tree, and what the subjects report, into the log.
    void log_tasks();

    [[nodiscard]] const core::node_context& context() const { return context_; }

    // Its directories are there, no other daemon has them, and it has a log: it can be asked from now on.
    [[nodiscard]] async::latest<bool>& can_be_asked() { return can_be_asked_; }
    [[nodiscard]] daemon_view view() const;
    // The tree of all tasks. False: there are more.
    bool view_tasks(std::vector<async::task_view>& all, std::size_t most) const;
    // One of them, by its number; null: there is none.
    [[nodiscard]] std::shared_ptr<async::task> find_task(std::uint64_t id) const;
    // Of the present attempt; for the duration of a call.
    [[nodiscard]] const core::subjects& subjects() const { return subjects_; }
    // Its own figures, then those of each subject that has some.
    void put_metrics(core::metrics_sheet& sheet) const;
    [[nodiscard]] const std::string& implementation() const { return process_.implementation; }

private:
    enum class next_step : std::uint8_t { leave, start_again, new_session };
    struct verdict {
        next_step next = next_step::leave;
        int status = exit_status::orderly;
        std::string reason;
    };
    // A subject's part of the present session.
    struct part_of_session {
        std::string name;
        std::unique_ptr<core::session_part> part;
    };
    // All that lives as long as one session.
    struct session_state;

    async::awaitable<verdict> attempt();
    // A phase: its own step, then those of the subjects that take part. Empty: go on.
    using own_step = std::function<async::awaitable<result<void>>()>;
    async::awaitable<std::optional<verdict>> pass(policy::phase which, own_step own, core::session* in_session);
    // What a failure means, by the table of phases. Empty: go on.
    [[nodiscard]] std::optional<verdict> answer_to(policy::phase which, const failure& why) const;
    [[nodiscard]] std::vector<core::subject*> who_takes_part(policy::phase which) const;
    // S0. Empty: go on.
    std::optional<verdict> load_configuration();
    void adopt_configuration();
    std::optional<verdict> refuse(std::vector<std::string> problems, verdict end);
    async::awaitable<result<void>> make_directories();
    result<void> take_lock_file();
    async::awaitable<void> open_logs(async::task_group& scope);
    core::log_hub::outputs wanted_logs();
    async::awaitable<void> open_log_file(core::log_hub::outputs& wanted);
    void tell_remarks();
    async::awaitable<void> note_implementation();
    void start_shipping(async::task_group& scope);
    async::awaitable<std::optional<verdict>> before_zookeeper();
    async::awaitable<result<void>> start_services();
    async::awaitable<verdict> run_sessions();
    async::awaitable<verdict> run_session();
    async::awaitable<void> run_session_scope(session_state& now, async::task_group& scope, verdict& end);
    async::awaitable<verdict> work(session_state& now);
    async::awaitable<std::optional<verdict>> enter_cluster(session_state& now);
    async::awaitable<result<void>> join(session_state& now);
    async::awaitable<result<void>> take_entry(session_state& now);
    async::awaitable<std::optional<verdict>> serve(session_state& now);
    async::awaitable<result<void>> follow_schema(session_state& now, int version);
    async::awaitable<void> objects_and_run(session_state& now);
    async::awaitable<void> follow_maintenance(core::session& s);
    async::awaitable<void> terminate(session_state& now);
    async::awaitable<bool> announce_stop(session_state& now);
    async::awaitable<void> end_subjects();
    async::awaitable<void> within(std::string name, duration limit,
                                  std::function<async::awaitable<void>(time_point)> what);
    async::awaitable<void> tell_outage(zookeeper::client& client);
    // Runs `body`, cancelled when a stop is requested. True if it was.
    async::awaitable<bool> unless_stopped(std::string name, std::function<async::awaitable<void>()> body);
    void enter(policy::phase which);

    core::platform& port_;
    process process_;
    assembly assembly_;
    core::log_hub log_;
    core::node_context context_;
    std::vector<config::diagnostic> remarks_;  // of the configuration, until the logger is there
    std::set<std::string> told_remarks_;
    struct outage_seen {
        time_point since;
        duration told;  // how long it had lasted at the last line; zero: none yet
    };
    std::optional<outage_seen> outage_;  // of ZooKeeper, over sessions
    std::vector<std::string> troubles_;  // that do not prevent a start, until the logger is there
    std::unique_ptr<services::file_lock> lock_file_;
    std::unique_ptr<core::log_shipper> shipper_;
    core::subjects subjects_;             // of the attempt
    async::task_group* scope_ = nullptr;  // of the attempt
    membership::keepalive* beat_ = nullptr;
    const session_state* session_ = nullptr;
    bool is_cut_off_ = false;  // it left without having been able to say so
    std::uint64_t attempts_ = 0;
    const time_point begun_;
    policy::phase phase_ = policy::phase::configuration;
    time_point phase_since_;
    async::latest<bool> can_be_asked_{false};
    bool ready_sent_ = false;
    std::shared_ptr<async::task> root_;
};

}  // namespace pvc::node
