#include "pvcnoded/zookeeper/client.hpp"

#include "pvcnoded/async/completion.hpp"
#include "pvcnoded/base/planted.hpp"

#include <boost/asio/recycling_allocator.hpp>

#include <algorithm>
#include <bit>
#include <exception>
#include <utility>

namespace pvc::zookeeper {

namespace asio = boost::asio;

namespace {

// What an operation costs on the wire beside its path and data: lengths, version, ACL, header (upper bound).
constexpr std::size_t operation_overhead_bytes = 96;

// Every operation of every transaction comes here: searches that the C library does many bytes at a time.
bool is_valid_part(std::string_view name) {
    return !name.empty() && name != "." && name != "..";
}

bool is_valid_path(std::string_view path) {
    if (!path.starts_with('/') || path.find('\0') != std::string_view::npos) {
        return false;
    }
    for (std::size_t part = 1;;) {
        const auto end = path.find('/', part);
        if (!is_valid_part(path.substr(part, end - part))) {
            return path.size() == 1;
        }
        if (end == std::string_view::npos) {
            return true;
        }
        part = end + 1;
    }
}

result<void> validate(const request& what) {
    if (what.what == request::kind::commit) {
        std::size_t bytes = 0;
        for (const auto& one : what.operations) {
            if (!is_valid_path(one.path)) {
                return failure(errc::invalid, one.path, "not a path");
            }
            if (one.data.size() > value_limit_bytes) {
                return failure(
                    errc::too_large, one.path,
                    std::to_string(one.data.size()) + " bytes; at most " + std::to_string(value_limit_bytes));
            }
            bytes += one.path.size() + one.data.size() + operation_overhead_bytes;
        }
        if (bytes > transaction_limit_bytes) {
            return failure(errc::too_large, what.operations.front().path,
                           "transaction of " + std::to_string(bytes) + " bytes; at most " +
                               std::to_string(transaction_limit_bytes));
        }
        return {};
    }
    if (!is_valid_path(what.path)) {
        return failure(errc::invalid, what.path, "not a path");
    }
    if (what.data.size() > value_limit_bytes) {
        return failure(errc::too_large, what.path,
                       std::to_string(what.data.size()) + " bytes; at most " + std::to_string(value_limit_bytes));
    }
    return {};
}

failure unanswered(bool is_write, const std::string& subject) {
    return failure(is_write ? errc::outcome_unknown : errc::timed_out, subject, "no answer within the deadline");
}

// A server said so, be it a refusal; and not: the connection broke, or the session ended.
bool is_answer(const result<void>& outcome) {
    if (outcome) {
        return true;
    }
    switch (outcome.error().code()) {
        case errc::outcome_unknown:
        case errc::suspended:
        case errc::session_lost: return false;
        default: return true;
    }
}

constexpr std::size_t length_of_text = 4;  // on the wire

}  // namespace

void set_watches::add(const std::string& path, kind which) {
    auto& kinds = kinds_[path];
    if ((kinds & static_cast<std::uint8_t>(which)) == 0) {
        kinds |= static_cast<std::uint8_t>(which);
        bytes_ += path.size() + beside_ + length_of_text;
    }
}

void set_watches::fired(const watch_event& event) {
    const auto found = kinds_.find(event.path);
    if (found == kinds_.end()) {
        return;
    }
    constexpr auto of_children = static_cast<std::uint8_t>(kind::children);
    const std::uint8_t gone = event.kind == event_kind::deleted            ? found->second
                              : event.kind == event_kind::children_changed ? found->second & of_children
                                                                           : found->second & ~of_children;
    bytes_ -= static_cast<std::size_t>(std::popcount(gone)) * (event.path.size() + beside_ + length_of_text);
    found->second &= static_cast<std::uint8_t>(~gone);
    if (found->second == 0) {
        kinds_.erase(found);
    }
}

// One request under way: shared by the waiter and the adapter, which has answered before the client goes.
struct client::exchange_record final : reply_taker {
    void take(reply got) override {
        if (acknowledged && got.outcome) {
            acknowledged(got.sent);
        }
        if (watcher != nullptr) {
            note_watch(got.outcome);
        }
        answer.set(std::move(got));
    }
    // Also for whoever does not wait any more: the library has set it.
    void note_watch(const result<void>& outcome) const {
        using kind = set_watches::kind;
        if (outcome) {
            watcher->watches_.add(path, what == request::kind::children ? kind::children : kind::data);
        } else if (what == request::kind::exists && outcome.error().code() == errc::not_found) {
            watcher->watches_.add(path, kind::absence);
        }
    }
    async::completion<reply> answer;
    std::function<void(boot_time)> acknowledged;
    time_point sent{};
    client* watcher = nullptr;  // of a request that sets a watch, on
    std::string path{};
    request::kind what = request::kind::get;
};

std::shared_ptr<client::exchange_record> client::record_of(const request& what) {
    auto record = std::allocate_shared<exchange_record>(asio::recycling_allocator<exchange_record>());
    record->sent = clock_.now();
    if (what.watch == watching::yes) {
        record->watcher = this;
        record->path = what.path;
        record->what = what.what;
    }
    return record;
}

std::string client::why_not_resumed() const {
    if (watches_.bytes() <= watches_resent_max || is_planted(defect::watches_unbounded)) {
        return {};
    }
    return std::to_string(watches_.bytes()) + " bytes of watches, more than a server takes over";
}

std::size_t transaction::size_bytes() const {
    std::size_t bytes = 0;
    for (const auto& one : operations_) {
        bytes += one.path.size() + one.data.size() + operation_overhead_bytes;
    }
    return bytes;
}

std::string_view to_text(link state) {
    switch (state) {
        case link::connecting: return "connecting";
        case link::connected: return "connected";
        case link::suspended: return "suspended";
        case link::lost: return "lost";
    }
    return "unknown";
}

std::string servers_text(const std::vector<server_address>& servers) {
    std::string text;
    for (const auto& server : servers) {
        text += text.empty() ? "" : ", ";
        const bool is_ipv6 = server.host.find(':') != std::string::npos;
        text += (is_ipv6 ? "[" + server.host + "]" : server.host) + ':' + std::to_string(server.port);
    }
    return text;
}

async::awaitable<result<void>> client::wait_connected(time_point deadline) {
    async::wakeup changed;
    const async::latest<session_state>::observer watch(state_, changed);
    for (;;) {
        if (state_.value().now == link::connected) {
            co_return result<void>();
        }
        if (state_.value().now == link::lost) {
            co_return failure(errc::session_lost, {}, state_.value().reason);
        }
        const bool notified = co_await changed.wait_until(clock_, deadline, "a ZooKeeper connection");
        if (!notified) {
            co_return failure(errc::suspended, {}, state_.value().reason);
        }
    }
}

// Tells how a request ended when its frame goes, unless it was cancelled.
struct client::outcome_notice {
    client& owner;
    const result<void>& outcome;
    int exceptions = std::uncaught_exceptions();
    ~outcome_notice() {
        if (std::uncaught_exceptions() == exceptions) {
            owner.on_outcome(outcome);
        }
    }
};

void client::count(time_point sent, bool is_answered) const {
    if (figures_ == nullptr) {
        return;
    }
    if (is_answered) {
        figures_->answered.add(clock_.now() - sent);
    } else {
        ++figures_->unanswered;
    }
}

// Little lives in this frame, and the answer in the caller's: Asio keeps the memory of frames of up to 1 KB for others.
async::awaitable<void> client::exchange(time_point deadline, request what, std::function<void(boot_time)> acknowledged,
                                        reply& answer) {
    answer.outcome = validate(what);
    if (!answer.outcome) {
        co_return;
    }
    const outcome_notice told{*this, answer.outcome};
    const bool is_write = what.is_write();
    std::string subject;  // of a write, which gives its paths away when it goes out
    if (is_write) {
        subject = what.operations.empty() ? what.path : what.operations.front().path;
    }
    for (;;) {
        if (!is_connected()) {
            answer.outcome = co_await wait_connected(deadline);
            if (!answer.outcome) {
                co_return;
            }
        }
        auto record = record_of(what);
        record->acknowledged = acknowledged;
        // A write goes out once, a read perhaps again.
        send(what, reply_handler(record));
        std::shared_ptr<async::completion<reply>> done(record, &record->answer);
        const bool answered =
            co_await async::completion<reply>::wait(std::move(done), clock_, deadline, "a ZooKeeper reply");
        if (!answered) {
            count(record->sent, false);
            answer.outcome = unanswered(is_write, is_write ? subject : what.path);
            co_return;
        }
        answer = std::move(record->answer.value());
        count(record->sent, is_answer(answer.outcome));
        // A read whose connection broke has done nothing: it goes out again on the next one, while there is time.
        const bool broken = !answer.outcome && answer.outcome.error().code() == errc::suspended;
        if (is_write || !broken || state_.value().now == link::lost) {
            co_return;
        }
        co_await async::yield();  // the loss is published by then
    }
}

async::awaitable<result<read_reply>> client::get(time_point deadline, std::string path, watching watch) {
    request what;
    what.what = request::kind::get;
    what.path = std::move(path);
    what.watch = watch;
    reply answer;
    co_await exchange(deadline, std::move(what), {}, answer);
    if (!answer.outcome) {
        co_return answer.outcome.error();
    }
    co_return read_reply{std::move(answer.data), answer.stat, answer.sent};
}

async::awaitable<std::vector<result<read_reply>>> client::read_together(time_point deadline,
                                                                        std::vector<read_wish> wishes) {
    std::vector<result<read_reply>> answers;
    answers.reserve(wishes.size());
    std::vector<std::shared_ptr<exchange_record>> records(wishes.size());
    for (;;) {
        answers.clear();
        if (!is_connected()) {
            const auto connected = co_await wait_connected(deadline);
            if (!connected) {
                answers.assign(wishes.size(), result<read_reply>(connected.error()));
                co_return answers;
            }
        }
        for (std::size_t i = 0; i < wishes.size(); ++i) {
            request what;
            what.what = wishes[i].with_data ? request::kind::get : request::kind::exists;
            what.path.swap(wishes[i].path);  // given back: it may go out again
            what.watch = wishes[i].watch;
            records[i] = record_of(what);
            if (auto usable = validate(what); !usable) {
                reply refused;
                refused.outcome = usable.error();
                records[i]->answer.set(std::move(refused));
            } else {
                send(what, reply_handler(records[i]));
            }
            what.path.swap(wishes[i].path);
        }
        bool is_broken = false;
        for (std::size_t i = 0; i < wishes.size(); ++i) {
            std::shared_ptr<async::completion<reply>> done(records[i], &records[i]->answer);
            const bool answered =
                co_await async::completion<reply>::wait(std::move(done), clock_, deadline, "a ZooKeeper reply");
            count(records[i]->sent, answered && is_answer(records[i]->answer.value().outcome));
            if (!answered) {
                answers.emplace_back(unanswered(false, wishes[i].path));
            } else if (reply& got = records[i]->answer.value(); got.outcome) {
                answers.emplace_back(read_reply{std::move(got.data), got.stat, got.sent});
            } else {
                answers.emplace_back(got.outcome.error());
                is_broken = is_broken || got.outcome.error().code() == errc::suspended;
            }
        }
        if (!is_broken || state_.value().now == link::lost) {
            for (const auto& one : answers) {
                on_outcome(one ? result<void>() : result<void>(one.error()));
            }
            co_return answers;
        }
        co_await async::yield();  // the loss is published by then
    }
}

async::awaitable<result<stat_reply>> client::exists(time_point deadline, std::string path, watching watch) {
    request what;
    what.what = request::kind::exists;
    what.path = std::move(path);
    what.watch = watch;
    reply answer;
    co_await exchange(deadline, std::move(what), {}, answer);
    if (!answer.outcome) {
        co_return answer.outcome.error();
    }
    co_return stat_reply{answer.stat, answer.sent};
}

async::awaitable<result<children_reply>> client::children(time_point deadline, std::string path, watching watch) {
    request what;
    what.what = request::kind::children;
    what.path = std::move(path);
    what.watch = watch;
    reply answer;
    co_await exchange(deadline, std::move(what), {}, answer);
    if (!answer.outcome) {
        co_return answer.outcome.error();
    }
    co_return children_reply{std::move(answer.names), answer.stat, answer.sent};
}

async::awaitable<result<create_reply>> client::create(time_point deadline, std::string path, std::string data,
                                                      create_mode mode) {
    request what;
    what.what = request::kind::create;
    what.path = std::move(path);
    what.data = std::move(data);
    what.mode = mode;
    reply answer;
    co_await exchange(deadline, std::move(what), {}, answer);
    if (!answer.outcome) {
        co_return answer.outcome.error();
    }
    co_return create_reply{std::move(answer.data), answer.sent};
}

async::awaitable<result<void>> client::remove(time_point deadline, std::string path, std::int32_t expected_version) {
    request what;
    what.what = request::kind::remove;
    what.path = std::move(path);
    what.version = expected_version;
    reply answer;
    co_await exchange(deadline, std::move(what), {}, answer);
    co_return answer.outcome;
}

async::awaitable<result<void>> client::sync(time_point deadline, std::string path) {
    request what;
    what.what = request::kind::sync;
    what.path = std::move(path);
    reply answer;
    co_await exchange(deadline, std::move(what), {}, answer);
    co_return answer.outcome;
}

async::awaitable<result<commit_reply>> client::commit(time_point deadline, transaction what,
                                                      std::function<void(boot_time)> acknowledged) {
    if (what.empty()) {
        co_return commit_reply{};
    }
    request wanted;
    wanted.what = request::kind::commit;
    wanted.operations = std::move(what).operations();
    reply answer;
    co_await exchange(deadline, std::move(wanted), std::move(acknowledged), answer);
    if (!answer.outcome) {
        co_return answer.outcome.error();
    }
    co_return commit_reply{std::move(answer.stats), answer.sent};
}

}  // namespace pvc::zookeeper
