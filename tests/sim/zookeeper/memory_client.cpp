#include "sim/zookeeper/memory_client.hpp"

#include "sim/zookeeper/memory_connection.hpp"

#include <algorithm>
#include <utility>

namespace pvc::sim {

using namespace std::chrono_literals;
using zookeeper::link;
using request_kind = zookeeper::request::kind;

namespace {

constexpr duration back_off_shortest = 100ms;
constexpr duration back_off_longest = 1s;
constexpr duration lasting_connection = 1s;

// What the C library allows itself: two thirds of the time without a word, a ping after one third without a request.
duration silence_limit(std::chrono::milliseconds timeout) {
    return duration(timeout) * 2 / 3;
}
duration ping_interval(std::chrono::milliseconds timeout) {
    return duration(timeout) / 3;
}

}  // namespace

memory_client::memory_client(std::shared_ptr<memory_link> link, zookeeper::connection_options options)
    : client(link->client_clock_, options.chroot.size()),
      link_(std::move(link)),
      options_(std::move(options)),
      housekeeping_(clock()) {
    link_->clients_.push_back(this);
}

memory_client::~memory_client() {
    std::erase(link_->clients_, this);
    if (connection_) {
        connection_->leave(link_->at_loss);  // no good-bye: the session lives on until it expires
    }
}

async::awaitable<void> memory_client::run() {
    is_running_ = true;
    attempt_at_ = clock().now();
    plan_housekeeping();
    try {
        co_await ended_.wait(async::wait_note::work("the ZooKeeper session"));
    } catch (...) {
        close_orderly();
        throw;
    }
    close_orderly();
}

void memory_client::close_orderly() {
    is_running_ = false;
    housekeeping_.disarm();
    lose("closed");
    if (connection_) {
        const auto connection = std::exchange(connection_, nullptr);
        if (!connection->say_good_bye()) {
            connection->leave(link_->at_loss);
        }
    }
    fail_pending(now_state().reason, true);
}

// --- requests
// -----------------------------------------------------------------------------------------------------------

std::string memory_client::full_path(const std::string& path) const {
    if (options_.chroot.empty()) {
        return path;
    }
    return path == "/" ? options_.chroot : options_.chroot + path;
}

std::string memory_client::own_path(std::string path) const {
    if (!options_.chroot.empty() && path.starts_with(options_.chroot)) {
        path.erase(0, options_.chroot.size());
        return path.empty() ? "/" : path;
    }
    return path;
}

void memory_client::on_outcome(const result<void>& outcome) {
    ++link_->outcomes[outcome ? link_->outcomes.size() - 1 : static_cast<std::size_t>(outcome.error().code())];
}

void memory_client::send(zookeeper::request& asked, reply_handler done) {
    zookeeper::request what = asked.is_write() ? std::exchange(asked, {}) : asked;
    pending record;
    record.number = ++last_number_;
    record.is_write = what.is_write();
    record.subject = what.operations.empty() ? what.path : what.operations.front().path;  // as the caller says it
    record.what = what.what;
    record.watch = what.watch;
    record.sent = clock().boot_now();
    record.done = std::move(done);
    if (!options_.chroot.empty()) {
        what.path = what.path.empty() ? what.path : full_path(what.path);
        for (auto& one : what.operations) {
            one.path = full_path(one.path);
        }
    }
    if (what.watch == zookeeper::watching::yes) {
        record.path = what.path;
    }
    if (link_->is_paused_) {
        held_by_pause_.emplace_back(std::move(what), std::move(record));
        return;
    }
    transmit(std::move(what), std::move(record));
}

void memory_client::transmit(zookeeper::request&& what, pending&& record) {
    last_sent_ = clock().now();
    const std::uint64_t number = record.number;
    pending_.push_back(std::move(record));
    if (connection_) {
        connection_->send_request(number, std::move(what));
    }
}

void memory_client::on_answer(std::uint64_t number, zookeeper::reply answer, std::int64_t zxid) {
    heard();
    last_zxid_ = std::max(last_zxid_, zxid);
    const auto at = std::ranges::find(pending_, number, &pending::number);
    if (at == pending_.end()) {
        return;
    }
    const pending record = std::move(*at);
    pending_.erase(at);
    if (record.watch == zookeeper::watching::yes) {
        const bool is_found = static_cast<bool>(answer.outcome);
        if (is_found && record.what == request_kind::children) {
            watches_.children.insert(record.path);
        } else if (is_found) {
            watches_.data.insert(record.path);
        } else if (record.what == request_kind::exists && answer.outcome.error().code() == errc::not_found) {
            watches_.presence.insert(record.path);
        }
    }
    answer.sent = record.sent;
    if (!answer.outcome && !options_.chroot.empty()) {
        const failure& error = answer.outcome.error();
        answer.outcome = failure(error.code(), own_path(error.subject()), error.cause());
    }
    if (record.what == request_kind::create) {
        answer.data = own_path(std::move(answer.data));
    }
    if (record.is_proof) {
        if (awaiting_proof_ && now_state().now == link::suspended) {
            awaiting_proof_ = false;
            connect();
        }
        return;
    }
    record.done(std::move(answer));
}

void memory_client::fail_pending(const std::string& reason, bool session_over) {
    auto all = std::exchange(pending_, {});
    for (auto& [what, record] : std::exchange(held_by_pause_, {})) {
        all.push_back(std::move(record));
    }
    for (auto& record : all) {
        if (record.is_proof) {
            continue;
        }
        zookeeper::reply answer;
        answer.sent = record.sent;
        const errc code = record.is_write ? errc::outcome_unknown : session_over ? errc::session_lost : errc::suspended;
        answer.outcome = failure(code, record.subject, reason);
        record.done(std::move(answer));
    }
}

// --- watches
// ------------------------------------------------------------------------------------------------------------

void memory_client::on_event(const zookeeper::watch_event& event) {
    heard();
    bool is_wanted = false;
    const auto take = [&is_wanted, &event](auto& from) { is_wanted = from.erase(event.path) > 0 || is_wanted; };
    if (event.kind == zookeeper::event_kind::children_changed) {
        take(watches_.children);
    } else {
        take(watches_.data);
        take(watches_.presence);
        if (event.kind == zookeeper::event_kind::deleted) {
            take(watches_.children);
        }
    }
    if (is_wanted) {
        deliver({event.kind, own_path(event.path)});
    }
}

void memory_client::resend_watches() {
    const auto list = [](const auto& from) { return std::vector<std::string>(from.begin(), from.end()); };
    if (!watches_.data.empty() || !watches_.presence.empty() || !watches_.children.empty()) {
        connection_->send_watches(list(watches_.data), list(watches_.presence), list(watches_.children), last_zxid_);
    }
}

// --- the connection
// -----------------------------------------------------------------------------------------------------

const zookeeper::session_state& memory_client::now_state() const {
    return const_cast<memory_client*>(this)->state().value();
}

bool memory_client::is_over() const {
    return now_state().now == link::lost;
}

void memory_client::attempt() {
    memory_ensemble* ensemble = link_->ensemble_;
    if (ensemble == nullptr || link_->is_off_) {
        return;
    }
    ++ensemble->counters_.connection_attempts;
    if (link_->is_cut_ || !ensemble->is_up()) {
        attempt_failed("connection refused");
        return;
    }
    connection_ = std::make_shared<memory_connection>(*ensemble, link_, *this);
    const auto is_gone = [](const auto& weak) { return weak.expired(); };
    std::erase_if(ensemble->connections_, is_gone);
    std::erase_if(link_->connections_, is_gone);
    ensemble->connections_.push_back(connection_);
    link_->connections_.push_back(connection_);
    is_attempting_ = true;
    last_heard_ = clock().now();
    connection_->send_hello(session_id_, options_.session_timeout, last_zxid_);
}

void memory_client::attempt_failed(const std::string& reason) {
    is_attempting_ = false;
    back_off();
    if (now_state().now == link::connecting && now_state().reason != reason) {
        auto next = now_state();
        next.reason = reason;
        ++link_->states[static_cast<std::size_t>(next.now)];
        state().set(std::move(next));
    }
}

void memory_client::back_off() {
    attempt_at_ = clock().now() + std::min(back_off_longest, back_off_shortest * (1 << std::min(failures_, 6U)));
    ++failures_;
}

void memory_client::on_established(std::int64_t session, std::chrono::milliseconds timeout) {
    is_attempting_ = false;
    established_at_ = last_heard_ = last_sent_ = clock().now();
    session_id_ = session;
    link_->newest_session_ = session;
    awaiting_proof_ = false;
    resend_watches();
    auto next = now_state();
    next.session_id = session;
    next.timeout = timeout;
    ++link_->states[static_cast<std::size_t>(next.now)];
    state().set(std::move(next));
    connect();
    plan_housekeeping();
}

void memory_client::on_refused_session() {
    const auto gone = std::exchange(connection_, nullptr);
    lose("the server says that the session has expired");
}

void memory_client::on_pong() {
    heard();
}

void memory_client::on_dropped(const std::string& reason) {
    const auto gone = std::exchange(connection_, nullptr);
    if (is_over() || link_->is_off_) {
        return;
    }
    awaiting_proof_ = false;  // a new connection proves the session by itself
    if (is_attempting_) {
        attempt_failed(reason);
    } else {
        if (clock().now() - established_at_ >= lasting_connection) {
            failures_ = 0;
        }
        attempt_at_ = clock().now();
        if (failures_ > 0) {
            back_off();  // it is accepted and dropped again and again
        } else {
            ++failures_;
        }
        if (now_state().now == link::connected) {
            suspend(reason);
        }
        if (auto why = why_not_resumed(); !why.empty()) {
            lose(std::move(why));
        }
    }
    fail_pending(reason, is_over());
    plan_housekeeping();
}

void memory_client::heard() {
    last_heard_ = clock().now();
    if (!awaiting_proof_ && now_state().now == link::connected) {
        contact_ = clock().boot_now();
    }
}

void memory_client::connect() {
    auto next = now_state();
    next.now = link::connected;
    next.contact = contact_ = clock().boot_now();
    next.reason.clear();
    ++next.connections;
    ++link_->states[static_cast<std::size_t>(next.now)];
    state().set(std::move(next));
}

void memory_client::suspend(std::string reason) {
    auto next = now_state();
    next.now = link::suspended;
    next.reason = std::move(reason);
    next.contact = contact_;
    ++link_->states[static_cast<std::size_t>(next.now)];
    state().set(std::move(next));
}

void memory_client::lose(std::string reason) {
    if (is_over()) {
        return;
    }
    auto next = now_state();
    next.now = link::lost;
    next.reason = std::move(reason);
    next.contact = contact_;
    ++link_->states[static_cast<std::size_t>(next.now)];
    state().set(std::move(next));
    housekeeping_.disarm();
    ended_.notify();
}

bool memory_client::check_lost() {
    const auto& now = now_state();
    if (now.now == link::suspended && clock().boot_now() - contact_ >= now.timeout) {
        lose("no contact with a server for " + std::to_string(now.timeout.count()) + " ms");
    }
    return is_over();
}

// --- time
// ---------------------------------------------------------------------------------------------------------------

void memory_client::housekeep() {
    if (!is_running_ || link_->is_paused_ || link_->is_off_ || check_lost()) {
        return;
    }
    const time_point now = clock().now();
    const auto timeout = session_id_ == 0 ? options_.session_timeout : now_state().timeout;
    if (!connection_) {
        if (now >= attempt_at_) {
            attempt();
        }
    } else if (now - last_heard_ >= silence_limit(timeout)) {
        const auto silent = connection_;
        silent->leave(link_->at_loss);
        on_dropped("connection timed out");
    } else if (!is_attempting_ && now - last_sent_ >= ping_interval(timeout)) {
        last_sent_ = now;
        connection_->send_ping();
    }
    plan_housekeeping();
}

void memory_client::plan_housekeeping() {
    if (!is_running_ || link_->is_paused_ || link_->is_off_ || is_over() || link_->ensemble_ == nullptr) {
        housekeeping_.disarm();
        return;
    }
    const time_point now = clock().now();
    const auto timeout = session_id_ == 0 ? options_.session_timeout : now_state().timeout;
    time_point next = attempt_at_;
    if (connection_) {
        next = last_heard_ + silence_limit(timeout);
        if (!is_attempting_) {
            next = std::min(next, last_sent_ + ping_interval(timeout));
        }
    }
    if (now_state().now == link::suspended) {
        // The boot clock may run ahead of ours: look at it at least once a second.
        const duration left = now_state().timeout - (clock().boot_now() - contact_);
        next = std::min(next, now + std::clamp<duration>(left, 0s, 1s));
    }
    housekeeping_.arm(std::max(next, now), [this] { housekeep(); });
}

void memory_client::send_proof() {
    if (!connection_ || is_attempting_) {
        return;
    }
    zookeeper::request what;
    what.what = request_kind::exists;
    what.path = full_path("/");
    pending record;
    record.number = ++last_number_;
    record.is_proof = true;
    record.what = what.what;
    record.sent = clock().boot_now();
    transmit(std::move(what), std::move(record));
}

void memory_client::on_pause_end(boot_time before) {
    if (now_state().now == link::connected) {
        awaiting_proof_ = true;
        contact_ = std::min(contact_, before);
        suspend("the process stood still");
    }
    if (!check_lost() && awaiting_proof_) {
        send_proof();
    }
}

}  // namespace pvc::sim
