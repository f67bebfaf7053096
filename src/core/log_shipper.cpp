#include "pvcnoded/core/log_shipper.hpp"

#include "pvcnoded/base/utf8.hpp"
#include "pvcnoded/core/session.hpp"
#include "pvcnoded/model/log_value.hpp"
#include "pvcnoded/model/schema.hpp"
#include "pvcnoded/zookeeper/lock.hpp"

#include <fmt/format.h>

namespace pvc::core {

using namespace std::chrono_literals;

namespace {

constexpr std::size_t kept_lines_max = 10'000;
constexpr std::size_t kept_bytes_max = 8UL * 1024 * 1024;
// Each write replaces the whole key, and servers keep every one of them in their logs.
constexpr duration company = 30s;
constexpr duration pace = 1s;  // at most one write in this time
constexpr duration log_lock_limit = 5s;
constexpr duration session_pause = 2s;
constexpr int first_version_with_logs = 4;
constexpr int first_version_shared = 11;

// A failure of log shipping is never logged: it would ship itself.
class silent_logger final : public logger {
public:
    void write(log_level /*level*/, std::string /*text*/, std::string /*prefix*/) override {}
};

}  // namespace

struct log_shipper::session_tools {
    session_tools(zookeeper::client& session, async::timers& clock, random_source random,
                  const shipping_settings& settings)
        : watches(session, clock), locks(session, watches, clock, random, settings.node, settings.pid, silent) {}
    silent_logger silent;
    zookeeper::watch_set watches;
    zookeeper::lock_service locks;
};

log_shipper::log_shipper(zookeeper::connector& connector, async::timers& clock, random_source random,
                         shipping_settings settings)
    : connector_(connector),
      clock_(clock),
      random_(random),
      settings_(std::move(settings)),
      key_(std::string(model::key_path::logs) + "/" + settings_.node + "/messages") {}

void log_shipper::push(const log_record& record) {
    if (schema_version_ < 0) {
        // The form of a line depends on the version.
        if (early_.size() >= kept_lines_max) {
            early_.pop_front();
            ++dropped_;
        }
        early_.push_back(record);
        return;
    }
    const std::string text = format_shipped(record, settings_.style, schema_version_);
    for (auto& line : model::split_lines(valid_utf8(text))) {
        while (!lines_.empty() && (lines_.size() >= kept_lines_max || kept_bytes_ + line.size() > kept_bytes_max)) {
            kept_bytes_ -= lines_.front().size();
            lines_.pop_front();
            ++dropped_;
        }
        kept_bytes_ += line.size();
        lines_.push_back(std::move(line));
    }
    due_ = std::min(due_, clock_.now() + (record.level == log_level::tick ? company : duration::zero()));
    work_.notify();
}

void log_shipper::set_schema_version(int version) {
    schema_version_ = version;
    if (version >= 0) {
        for (const auto& record : std::exchange(early_, {})) {
            push(record);
        }
    }
    work_.notify();
}

std::vector<std::string> log_shipper::pending_lines() const {
    std::vector<std::string> all;
    if (dropped_ != 0) {
        all.push_back(fmt::format("warning: {} log lines were lost while ZooKeeper was away [{}]", dropped_,
                                  to_text(message::log_lines_lost)));
    }
    all.insert(all.end(), lines_.begin(), lines_.end());
    return all;
}

async::awaitable<result<void>> log_shipper::prepare(zookeeper::client& session) {
    const time_point deadline = clock_.now() + request_limit;
    const std::string parent = "/logs/" + settings_.node;
    // A tree that is not initialised (any more) is not touched (zookeeper-schema.md 8.4).
    auto initialised = co_await session.exists(deadline, std::string(model::key_path::schema_version));
    if (!initialised) {
        co_return initialised.error();
    }
    auto root = co_await session.create(deadline, std::string(model::key_path::logs), "");
    if (!root && root.error().code() != errc::already_exists) {
        co_return root.error();
    }
    auto own = co_await session.create(deadline, parent, "");
    if (!own && own.error().code() != errc::already_exists) {
        co_return own.error();
    }
    if (!own) {
        zookeeper::transaction rewrite;
        rewrite.overwrite(parent, "");  // as the reference does at each log connect
        auto done = co_await session.commit(deadline, std::move(rewrite));
        if (!done) {
            co_return done.error();
        }
    }
    co_return result<void>();
}

async::awaitable<result<void>> log_shipper::store(zookeeper::client& session) {
    const time_point deadline = clock_.now() + request_limit;
    auto old = co_await session.get(deadline, key_);
    if (!old && old.error().code() != errc::not_found) {
        co_return old.error();
    }
    const std::size_t taken = lines_.size();
    const std::uint64_t dropped = dropped_;
    const std::string value =
        model::append_lines(old ? old->data : "", pending_lines(), settings_.lines_max, zookeeper::value_limit_bytes);
    zookeeper::transaction write;
    if (old) {
        write.set(key_, value, old->stat.version);
    } else {
        write.create(key_, value);
    }
    auto done = co_await session.commit(deadline, std::move(write));
    ++writes_;
    if (!done && done.error().code() == errc::outcome_unknown) {
        // Stored or not: compare what is there now with what was sent.
        auto check = co_await session.get(clock_.now() + request_limit, key_);
        if (!check || check->data != value) {
            co_return done.error();
        }
    } else if (!done) {
        co_return done.error();
    }
    // Lines that were dropped from the front meanwhile were among those just stored.
    const std::size_t lost_meanwhile = static_cast<std::size_t>(dropped_ - dropped);
    const std::size_t rest = taken > lost_meanwhile ? taken - lost_meanwhile : 0;
    for (std::size_t i = 0; i < rest && !lines_.empty(); ++i) {
        kept_bytes_ -= lines_.front().size();
        lines_.pop_front();
    }
    dropped_ = lost_meanwhile > taken ? lost_meanwhile - taken : 0;
    co_return result<void>();
}

async::awaitable<void> log_shipper::ship(zookeeper::client& session, session_tools& tools) {
    bool prepared = false;
    if (!lines_.empty()) {
        due_ = std::min(due_, clock_.now());  // of a session that was lost
    }
    for (;;) {
        if (lines_.empty() || schema_version_ < first_version_with_logs) {
            drained_.notify();
            co_await work_.wait(async::wait_note::work("log lines to ship"));
            continue;
        }
        if (!flushing_ && clock_.now() < due_) {
            drained_.notify();
            const bool is_company = co_await work_.wait_until(clock_, due_, "company for a tick's line");
            ignore(result<bool>(is_company), "either way it is time to look again");
            continue;
        }
        const time_point was_due = std::exchange(due_, time_point::max());
        result<void> outcome;
        writing_ = true;
        if (!prepared) {
            outcome = co_await prepare(session);
            prepared = static_cast<bool>(outcome);
        }
        if (outcome && schema_version_ >= first_version_shared) {
            zookeeper::lock_request lock;
            lock.path = key_;
            lock.kind = model::lock_kind::write;
            lock.deadline = clock_.now() + log_lock_limit;
            lock.create_ancestors = true;
            lock.task = "logs";
            lock.reason = "append";
            outcome = co_await tools.locks.with_lock(
                std::move(lock), [this, &session](zookeeper::held_lock&) { return store(session); });
        } else if (outcome) {
            outcome = co_await store(session);
        }
        // Somebody deleted the keys above: they are made anew, if the tree is still there.
        prepared = prepared && (outcome || outcome.error().code() != errc::not_found);
        writing_ = false;
        if (!outcome) {
            due_ = std::min(due_, was_due);
        }
        if (lines_.empty()) {
            drained_.notify();
        }
        if (!flushing_ || !outcome) {
            // Cut short once by flush(): the last lines of a stopping daemon do not wait for their turn.
            const bool hurried = co_await hurry_.wait_until(clock_, clock_.now() + pace, "the pace of log shipping");
            ignore(result<bool>(hurried), "either way it is time to look again");
        }
    }
}

async::awaitable<void> log_shipper::session() {
    auto client = connector_.open(settings_.connection);
    session_tools tools(*client, clock_, random_.split("locks").split(++sessions_), settings_);
    co_await async::with_task_group("log session", [&](async::task_group& group) -> async::awaitable<void> {
        group.spawn("zookeeper", [&]() -> async::awaitable<void> {
            co_await client->run();
            group.cancel();
        });
        group.spawn("watches", [&] { return tools.watches.run(); });
        group.spawn("locks", [&] { return tools.locks.run(); });
        co_await ship(*client, tools);
    });
}

async::awaitable<void> log_shipper::run() {
    for (;;) {
        co_await session();
        writing_ = false;
        co_await async::sleep_for(clock_, session_pause, "a new log session");
    }
}

async::awaitable<void> log_shipper::flush(time_point deadline) {
    flushing_ = true;
    work_.notify();
    hurry_.notify();
    while (!lines_.empty() || writing_) {
        const bool notified = co_await drained_.wait_until(clock_, deadline, "the last shipped log lines");
        if (!notified) {
            co_return;
        }
    }
}

}  // namespace pvc::core
