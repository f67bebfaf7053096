// The keepalive: heartbeat first and alone, figures after, in one more transaction. Fixed cadence; ticks never overlap;
// missed ones coalesce. Lives as long as the session: it goes on during a hot schema update and during termination.
// Specification: node-lifecycle.md 6, 3.2 (S8, S13), 4; zookeeper-schema.md 3.2.
#pragma once

#include "pvcnoded/async/semaphore.hpp"
#include "pvcnoded/node/session.hpp"
#include "pvcnoded/policy/own_keys.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace pvc::node {

class domains;

class keepalive {
public:
    explicit keepalive(session& s);
    keepalive(const keepalive&) = delete;
    keepalive& operator=(const keepalive&) = delete;

    // Ticks until cancelled. The first heartbeat is due one interval after the call, or at begin_run().
    async::awaitable<void> run();
    // S13: from now on heartbeats write `run` and figures are published; the first tick is due at once.
    void begin_run();
    // Figures stop and go on (hot schema update); the heartbeat is not touched.
    // Of own `daemonstate`, as it was seen last; empty: not known.
    [[nodiscard]] std::optional<std::int32_t> state_version() const;
    void stop_figures();
    void resume_figures();
    // Called in each tick after its heartbeat was acknowledged (to be over when the next tick is due), and after each
    // tick.
    std::function<async::awaitable<void>(time_point until)> after_heartbeat;
    std::function<void()> after_tick;
    std::function<std::string()> cluster_details;  // the second log line, "" for none

    // Writes an own figure at once, beside the ticks, and never at the same time as a tick's figures. `text` is asked
    // when the write is sent. Errors: those of a write.
    async::awaitable<result<void>> publish(std::string_view suffix, std::function<std::string()> text,
                                           time_point deadline);
    // The same in one transaction with `more`. An error may be of either part.
    async::awaitable<result<zookeeper::commit_reply>> publish_with(std::string_view suffix,
                                                                   std::function<std::string()> value,
                                                                   time_point deadline, zookeeper::transaction more);
    // The machines of this node, if it has the function: asked in each tick.
    void set_domains(domains* machines) { domains_ = machines; }

    // One more heartbeat and, if running, the figures: termination step 5, while run() is no longer ticking.
    async::awaitable<void> last_tick();
    // Makes run() stop ticking without ending the task.
    void hold() { held_ = true; }

    // For the watchdog: true if the present tick runs beyond the time at which the next one was due.
    [[nodiscard]] bool is_stuck() const;
    // Suspends until a heartbeat that wrote `run` was acknowledged.
    [[nodiscard]] bool is_running() const { return wrote_run_; }
    async::wakeup ran;  // notified when is_running() becomes true

private:
    async::awaitable<void> run_ticks();
    async::awaitable<void> tick();
    async::awaitable<bool> check_in();
    async::awaitable<void> object();
    [[nodiscard]] bool needs_clean_up() const;
    // Own daemonstate: empty = missing or an unknown word.
    struct own_state {
        std::optional<model::daemon_state> state{};
        std::int32_t version = 0;
    };
    struct beat {
        zookeeper::transaction write;
        std::optional<model::daemon_state> state;        // that it writes
        std::optional<zookeeper::set_handle> heartbeat;  // empty: the key was missing and is created
    };
    // One at a time.
    async::awaitable<bool> heartbeat();
    void tell_contest(bool is_contested);
    async::awaitable<own_state> stored_state(time_point deadline);
    [[nodiscard]] beat make_beat(const own_state& stored, bool with_state) const;
    void take_acknowledgement(const beat& sent, const zookeeper::commit_reply& answer, const own_state& stored);
    async::awaitable<bool> learn_from(const failure& error, time_point deadline, own_state& stored);
    async::awaitable<bool> repair_record(const failure& error, time_point deadline, bool& known_missing);
    async::awaitable<void> figures(time_point deadline);
    async::awaitable<void> write_figures(time_point deadline);
    async::awaitable<void> read_repairs(time_point deadline);
    async::awaitable<void> notice_recreated_keys(time_point deadline);
    void warn_of_foreign_values(const policy::own_keys_plan& plan);
    const std::vector<model::key_value>& wanted_figures();
    void acknowledged(boot_time sent);
    async::awaitable<void> note_heartbeats();
    void log_tick(wall_time started, duration took);

    session& session_;
    domains* domains_ = nullptr;
    std::vector<zookeeper::set_handle> sets_;  // of the transaction of the figures; kept for its memory
    bool is_contested_ = false;
    std::string told_unwritten_;  // of the figures, at the last tick
    async::mutex writing_;        // own figures: those of the tick, publish() and publish_with()
    async::mutex beating_;        // of the tick, of an objection, the last one
    async::wakeup wake_;
    async::wakeup declared_;  // own daemonstate changed
    async::wakeup note_wanted_;
    std::unique_ptr<zookeeper::watched> daemon_state_;
    policy::own_keys own_keys_;
    // What the figures' transaction should leave behind: the constant keys, computed once a schema version, then the
    // figures. Kept from tick to tick, so that a tick only puts numbers into it.
    std::vector<model::key_value> wanted_;
    std::size_t constant_count_ = 0;
    int constants_of_ = -1;     // schema version
    duration wall_at_begin_{};  // only a planted defect asks
    time_point next_{};
    bool in_tick_ = false;
    bool figures_on_ = false;
    bool begin_ = false;
    bool held_ = false;
    bool wrote_run_ = false;
    std::optional<std::int32_t> cleaned_up_;  // version of the `fenced` after which nothing of others runs here
    bool keepalive_missing_ = false;
    bool self_reset_missing_ = false;
    bool note_failed_ = false;
    bool read_again_ = false;             // keys of the entry came or went: read all after this tick's checks
    bool reread_ = false;                 // that reading is due in this tick
    std::vector<std::string> told_;       // keys whose repair was announced already
    bool entry_gone_ = false;             // the present tick found that the whole entry is missing
    std::int64_t entry_created_ = 0;      // identity of the entry, and how often children of it came and went,
    std::int32_t entry_children_ = 0;     // when the own keys were read last
    std::int32_t expected_version_ = -1;  // of the keepalive, if nobody else writes it
    std::uint64_t missed_ = 0;
    std::int64_t used_mib_ = 0;
    std::int64_t free_mib_ = 0;
    double load_ = 0;
};

}  // namespace pvc::node
