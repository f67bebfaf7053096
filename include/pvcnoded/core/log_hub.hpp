// The daemon's logger and its sinks. Writing a record never blocks and never fails: each sink has a bounded queue, and
// a task that hands batches to the offload pool. A sink that hangs (a full pipe, a dead disk) loses lines, counted and
// said once it works again; nobody else notices. Written to on the loop thread only; a sink that is
// cancelled drops what it still holds, so flush() comes before. Specification: config.md 5.6, style-examples.md 4.5.
#pragma once

#include "pvcnoded/async/offload.hpp"
#include "pvcnoded/async/task_group.hpp"
#include "pvcnoded/base/result.hpp"
#include "pvcnoded/core/log_format.hpp"
#include "pvcnoded/core/log_levels.hpp"
#include "pvcnoded/services/log_output.hpp"

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace pvc::core {

class log_follower;

// One queue in front of one output.
class log_sink {
public:
    log_sink(std::string name, log_style style, std::shared_ptr<services::log_output> output);
    log_sink(const log_sink&) = delete;
    log_sink& operator=(const log_sink&) = delete;

    void push(const log_record& record);
    void reopen();
    [[nodiscard]] bool idle() const { return queue_.empty() && !busy_ && !reopen_; }
    [[nodiscard]] std::uint64_t dropped() const { return dropped_total_; }
    [[nodiscard]] std::size_t queued() const { return queue_.size(); }
    [[nodiscard]] const std::string& name() const { return name_; }
    // Writes what is queued until cancelled.
    async::awaitable<void> run(async::offload& pool, async::timers& clock);

private:
    friend class log_hub;
    std::string take_batch();
    void lose(std::uint64_t lines);

    std::string name_;
    log_style style_;
    std::shared_ptr<services::log_output> output_;
    std::deque<std::string> queue_;
    std::size_t queued_bytes_ = 0;
    std::uint64_t dropped_ = 0;  // since the last line that said so
    std::uint64_t dropped_total_ = 0;
    std::string last_problem_;
    bool busy_ = false;
    bool reopen_ = false;
    async::wakeup work_;
    async::wakeup* drained_ = nullptr;
    std::uint64_t* lost_ = nullptr;
};

class log_hub final : public logger {
public:
    log_hub(async::timers& clock, async::offload& pool);
    ~log_hub() override;

    struct outputs {
        std::shared_ptr<services::log_output> standard;  // null: not wanted
        std::shared_ptr<services::log_output> file;      // null: not wanted
        std::shared_ptr<services::log_output> errors;    // for "e" and "w" when nothing else is wanted
        log_style standard_style;
        log_style file_style;
        bool debug = false;
    };
    // Replaces the sinks (start-up begins again with a new configuration). Lines of the old ones that are still queued
    // stay with them until they are written or the group that runs them ends.
    void configure(outputs wanted, async::task_group& scope);
    // A further consumer of records (log shipping); null: none.
    void set_observer(std::function<void(const log_record&)> observer) { observer_ = std::move(observer); }

    void write(log_level level, std::string text, std::string prefix) override;
    // Sets how much is logged, for at most so long: all records (`subject` is empty), or those of one subject; empty
    // `detail`: back to what is configured. It is logged, whatever is set; `who` says on whose order. Errors: too_large
    // (too many subjects are set), not_found (there is nothing to take back).
    result<void> set_level(std::string subject, std::optional<log_detail> detail, duration time,
                           const std::string& who);
    // Those whose time is over are taken out by the next record.
    [[nodiscard]] const log_levels& levels() const { return levels_; }
    [[nodiscard]] std::size_t followers() const { return followers_.size(); }
    // The sinks, for whoever asks; for the duration of a call.
    [[nodiscard]] std::vector<const log_sink*> sinks() const;
    // Lines that a sink could not take or write, of all sinks that there were.
    [[nodiscard]] std::uint64_t lost() const { return lost_; }
    // Reopens the file after it was rotated. False if there is no file sink.
    bool reopen_files();
    // Waits until everything is written, at most until the deadline.
    async::awaitable<void> flush(time_point deadline);

private:
    friend class log_follower;
    void expire_levels();
    void deliver(log_level level, std::string text, std::string prefix);

    async::timers& clock_;
    async::offload& pool_;
    std::vector<std::shared_ptr<log_sink>> sinks_;
    std::shared_ptr<log_sink> file_;
    std::shared_ptr<log_sink> errors_only_;
    std::function<void(const log_record&)> observer_;
    async::wakeup drained_;
    log_levels levels_;
    std::vector<log_follower*> followers_;
    std::uint64_t lost_ = 0;
};

}  // namespace pvc::core
