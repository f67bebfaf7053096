#include "pvcnoded/core/log_hub.hpp"

#include "pvcnoded/base/text.hpp"
#include "pvcnoded/core/log_follower.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace pvc::core {

using namespace std::chrono_literals;

namespace {
constexpr std::size_t queue_lines_max = 10'000;
constexpr std::size_t queue_bytes_max = 1024UL * 1024;
constexpr std::size_t batch_bytes_max = 64UL * 1024;
// Longer than any hiccup of a disk; a write that hangs longer keeps its pool thread and the sink is given up.
constexpr duration write_limit = 24h;
constexpr duration after_failure = 1s;
}  // namespace

log_sink::log_sink(std::string name, log_style style, std::shared_ptr<services::log_output> output)
    : name_(std::move(name)), style_(style), output_(std::move(output)) {}

void log_sink::push(const log_record& record) {
    std::string line = format_record(record, style_);
    line += '\n';
    if (queue_.size() >= queue_lines_max || queued_bytes_ + line.size() > queue_bytes_max) {
        ++dropped_;
        lose(1);
        return;
    }
    queued_bytes_ += line.size();
    queue_.push_back(std::move(line));
    work_.notify();
}

void log_sink::lose(std::uint64_t lines) {
    dropped_total_ += lines;
    if (lost_ != nullptr) {
        *lost_ += lines;
    }
}

void log_sink::reopen() {
    reopen_ = true;
    work_.notify();
}

std::string log_sink::take_batch() {
    std::string batch;
    if (dropped_ != 0) {
        batch = fmt::format("warning: {} log lines were lost{}{} [{}]\n", dropped_, last_problem_.empty() ? "" : ": ",
                            last_problem_, to_text(message::log_lines_lost));
        dropped_ = 0;
        last_problem_.clear();
    }
    while (!queue_.empty() && batch.size() < batch_bytes_max) {
        queued_bytes_ -= queue_.front().size();
        batch += queue_.front();
        queue_.pop_front();
    }
    return batch;
}

async::awaitable<void> log_sink::run(async::offload& pool, async::timers& clock) {
    for (;;) {
        if (idle()) {
            if (drained_ != nullptr) {
                drained_->notify();
            }
            co_await work_.wait(async::wait_note::work("log lines"));
            continue;
        }
        const bool reopen = std::exchange(reopen_, false);
        const auto lines = static_cast<std::uint64_t>(queue_.size());
        const std::uint64_t reported = dropped_;  // by this batch, unless it fails
        std::string batch = take_batch();
        const std::uint64_t taken = lines - queue_.size();
        busy_ = true;
        auto written = co_await pool.run<bool>(clock, clock.now() + write_limit, "writing the log (" + name_ + ")",
                                               [output = output_, reopen, batch = std::move(batch)]() -> result<bool> {
                                                   if (reopen) {
                                                       auto opened = output->reopen();
                                                       if (!opened) {
                                                           return opened.error();
                                                       }
                                                   }
                                                   if (!batch.empty()) {
                                                       auto done = output->write(batch);
                                                       if (!done) {
                                                           return done.error();
                                                       }
                                                   }
                                                   return true;
                                               });
        busy_ = false;
        if (!written) {
            dropped_ += taken + reported;
            lose(taken);
            last_problem_ = written.error().text();
            reopen_ = reopen_ || reopen;
            // Not as fast as the lines come: the disk may stay full for hours.
            co_await async::sleep_for(clock, after_failure, "another attempt to write the log");
        }
    }
}

log_hub::log_hub(async::timers& clock, async::offload& pool) : clock_(clock), pool_(pool) {}

log_hub::~log_hub() = default;

void log_hub::configure(outputs wanted, async::task_group& scope) {
    sinks_.clear();
    file_.reset();
    errors_only_.reset();
    levels_.configure(wanted.debug ? log_detail::debug : log_detail::info);
    const auto add = [&](std::string name, const log_style& style, std::shared_ptr<services::log_output> output) {
        auto sink = std::make_shared<log_sink>(name, style, std::move(output));
        sink->drained_ = &drained_;
        sink->lost_ = &lost_;
        scope.spawn("log sink " + name, [this, sink] { return sink->run(pool_, clock_); });
        return sink;
    };
    if (wanted.standard) {
        sinks_.push_back(add("stdout", wanted.standard_style, std::move(wanted.standard)));
    }
    if (wanted.file) {
        file_ = add("file", wanted.file_style, std::move(wanted.file));
        sinks_.push_back(file_);
    }
    if (wanted.errors) {
        errors_only_ = add("stderr", wanted.standard_style, std::move(wanted.errors));
    }
}

void log_hub::write(log_level level, std::string text, std::string prefix) {
    if (!levels_.settings().empty()) {
        expire_levels();
    }
    if (levels_.shows(level, prefix)) {
        deliver(level, std::move(text), std::move(prefix));
    }
}

void log_hub::deliver(log_level level, std::string text, std::string prefix) {
    log_record record{level, clock_.wall_now(), std::move(prefix), std::move(text)};
    for (const auto& sink : sinks_) {
        sink->push(record);
    }
    if (errors_only_ && (level == log_level::error || level == log_level::warning)) {
        errors_only_->push(record);
    }
    if (observer_) {
        observer_(record);
    }
    for (auto* one : followers_) {
        one->push(record);
    }
}

// By the next record, not by a timer: until then nobody notices.
void log_hub::expire_levels() {
    for (const auto& one : levels_.expire(clock_.now())) {
        deliver(log_level::state,
                fmt::format("the log level {}{} is over", to_text(one.detail),
                            one.subject.empty() ? "" : " of " + shown(one.subject)),
                {});
    }
}

result<void> log_hub::set_level(std::string subject, std::optional<log_detail> detail, duration time,
                                const std::string& who) {
    expire_levels();
    const std::string of = subject.empty() ? "" : " of " + shown(subject);
    if (!detail) {
        if (!levels_.reset(subject)) {
            return failure(errc::not_found, "log level", "no level is set" + (of.empty() ? " for all" : of));
        }
        deliver(log_level::state, fmt::format("the log level{} is taken back, by {}", of, who), {});
        return {};
    }
    if (!levels_.set({std::move(subject), *detail, clock_.now() + time})) {
        return failure(errc::too_large, "log level",
                       fmt::format("{} levels are set already", log_levels::settings_max));
    }
    deliver(log_level::state,
            fmt::format("the log level{} is {} for {} min, by {}", of, to_text(*detail),
                        std::chrono::duration_cast<std::chrono::minutes>(time).count(), who),
            {});
    return {};
}

std::vector<const log_sink*> log_hub::sinks() const {
    std::vector<const log_sink*> all;
    for (const auto& one : sinks_) {
        all.push_back(one.get());
    }
    if (errors_only_) {
        all.push_back(errors_only_.get());
    }
    return all;
}

bool log_hub::reopen_files() {
    if (!file_) {
        return false;
    }
    file_->reopen();
    return true;
}

async::awaitable<void> log_hub::flush(time_point deadline) {
    const auto all_idle = [this] {
        return std::ranges::all_of(sinks_, [](const auto& sink) { return sink->idle(); }) &&
               (!errors_only_ || errors_only_->idle());
    };
    while (!all_idle()) {
        const bool notified = co_await drained_.wait_until(clock_, deadline, "the last log lines");
        if (!notified) {
            co_return;
        }
    }
}

}  // namespace pvc::core
