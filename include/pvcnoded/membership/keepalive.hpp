// The keepalive: heartbeat first and alone, figures after, in one more transaction. Fixed cadence; ticks never overlap;
// missed ones coalesce. Lives as long as the session: it goes on during a hot schema update and during termination.
// Loop thread only. Cancelling run() ends it at its present request; whether a heartbeat that was out arrived is then
// not known, and the age that others rely on counts from the last one that was acknowledged. Specification:
// node-lifecycle.md 6, 3.2 (S8, S13), 4; zookeeper-schema.md 3.2.
#pragma once

#include "pvcnoded/async/condition.hpp"
#include "pvcnoded/async/semaphore.hpp"
#include "pvcnoded/core/session.hpp"
#include "pvcnoded/core/subject.hpp"
#include "pvcnoded/membership/figures.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace pvc::membership {

class keepalive {
public:
    // Sources and survivors outlive it.
    keepalive(core::session& s, std::vector<core::figure_source*> sources,
              std::vector<core::fence_survivor*> survivors);
    keepalive(const keepalive&) = delete;
    keepalive& operator=(const keepalive&) = delete;

    // Ticks until cancelled. The first heartbeat is due one interval after the call, or at begin_run().
    async::awaitable<void> run();
    // S13: from now on heartbeats write `run` and figures are published; the first tick is due at once.
    void begin_run();
    // Figures stop and go on (hot schema update); the heartbeat is not touched.
    void stop_figures();
    void resume_figures();
    // Of own `daemonstate`, as it was seen last; empty: not known.
    [[nodiscard]] std::optional<std::int32_t> state_version() const;

    // One more heartbeat and, if running, the figures: termination step 5, while run() is no longer ticking.
    async::awaitable<void> last_tick();
    // Makes run() stop ticking without ending the task.
    void hold() { held_ = true; }

    // For the watchdog: true if the present tick runs beyond the time at which the next one was due.
    [[nodiscard]] bool is_stuck() const;
    // Suspends until a heartbeat that wrote `run` was acknowledged.
    async::awaitable<void> wait_running();

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
    async::awaitable<void> clean_up_after_fence(std::function<bool()> goes_on);
    void acknowledged(boot_time sent);
    async::awaitable<void> note_heartbeats();
    void log_tick(wall_time started, duration took);

    core::session& session_;
    figures figures_;
    std::vector<core::fence_survivor*> survivors_;
    bool is_contested_ = false;
    async::mutex beating_;  // of the tick, of an objection, the last one
    async::condition ran_;  // wrote_run_ is set
    async::wakeup wake_;
    async::wakeup declared_;  // own daemonstate changed
    async::wakeup note_wanted_;
    std::unique_ptr<zookeeper::watched> daemon_state_;
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
    bool entry_gone_ = false;             // the present tick found that the whole entry is missing
    std::int32_t expected_version_ = -1;  // of the keepalive, if nobody else writes it
    std::uint64_t missed_ = 0;
};

}  // namespace pvc::membership
