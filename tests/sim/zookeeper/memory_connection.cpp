#include "sim/zookeeper/memory_connection.hpp"

#include <algorithm>
#include <utility>

namespace pvc::sim {

namespace {

using zookeeper::event_kind;
using kind = zookeeper::operation::kind;
using request_kind = zookeeper::request::kind;

constexpr std::size_t bytes_beside = 96;  // what an operation costs on the wire beside its path and data

std::size_t size_of(const zookeeper::request& what) {
    std::size_t bytes = what.path.size() + what.data.size() + bytes_beside;
    for (const auto& one : what.operations) {
        bytes += one.path.size() + one.data.size() + bytes_beside;
    }
    return bytes;
}

}  // namespace

// --- the pipe
// -----------------------------------------------------------------------------------------------------------

void memory_pipe::enqueue(duration delay, std::unique_ptr<message> what) {
    what->due = clock_.now() + delay;
    if (!queue_.empty()) {
        what->due = std::max(what->due, queue_.back()->due);
    }
    queue_.push_back(std::move(what));
    if (queue_.size() == 1) {
        timer_.arm(queue_.front()->due, [this] { flow(); });
    }
}

void memory_pipe::flow() {
    // Kept to the end: it may hold the last reference to who owns this pipe.
    std::unique_ptr<message> current;
    const time_point now = clock_.now();
    while (!queue_.empty() && queue_.front()->due <= now && !is_blocked_()) {
        auto next = std::move(queue_.front());
        queue_.pop_front();
        std::swap(current, next);
        current->arrive();
    }
    if (!queue_.empty() && queue_.front()->due > now) {
        timer_.arm(queue_.front()->due, [this] { flow(); });
    }
}

void memory_pipe::flush() {
    std::unique_ptr<message> current;
    while (!queue_.empty()) {
        auto next = std::move(queue_.front());
        queue_.pop_front();
        std::swap(current, next);
        current->arrive();
    }
    timer_.disarm();
}

void memory_pipe::clear() {
    timer_.disarm();
    auto dropped = std::exchange(queue_, {});
}

// --- the connection
// -----------------------------------------------------------------------------------------------------

memory_connection::memory_connection(memory_ensemble& ensemble, std::shared_ptr<memory_link> link,
                                     memory_client& client)
    : ensemble_(&ensemble),
      link_(std::move(link)),
      client_(&client),
      to_server_(ensemble.clock(),
                 [this] { return ensemble_ == nullptr || ensemble_->is_frozen() || link_->is_silent_; }),
      to_client_(ensemble.clock(), [this] { return is_client_deaf(); }),
      pongs_(ensemble.clock(), [this] { return is_client_deaf(); }) {}

bool memory_connection::is_client_deaf() const {
    return link_->is_silent_ || link_->is_holding_ || link_->is_paused_;
}

void memory_connection::send_hello(std::int64_t session, std::chrono::milliseconds timeout, std::int64_t last_zxid) {
    to_server_.push(link_->latency / 2, [self = shared_from_this(), session, timeout, last_zxid] {
        self->on_hello(session, timeout, last_zxid);
    });
}

void memory_connection::send_request(std::uint64_t number, request&& what) {
    to_server_.push(link_->latency / 2, [self = shared_from_this(), number, what = std::move(what)]() mutable {
        self->on_request(number, what);
    });
}

void memory_connection::send_watches(const std::vector<std::string>& data, const std::vector<std::string>& presence,
                                     const std::vector<std::string>& children, std::int64_t since) {
    to_server_.push(link_->latency / 2, [self = shared_from_this(), data, presence, children, since] {
        self->on_watches(data, presence, children, since);
    });
}

void memory_connection::send_ping() {
    to_server_.push(link_->latency / 2, [self = shared_from_this()] {
        if (!self->touch()) {
            return;
        }
        ++self->ensemble_->counters_.pings;
        self->pongs_.push(self->link_->latency / 2, [self] {
            if (self->client_ != nullptr) {
                self->client_->on_pong();
            }
        });
    });
}

void memory_connection::leave(in_flight what) {
    const auto keep = shared_from_this();
    client_ = nullptr;
    to_client_.clear();
    pongs_.clear();
    const bool is_frozen = ensemble_ != nullptr && ensemble_->is_frozen();
    if (link_->is_off_ || (what == in_flight::lost && !is_frozen)) {
        to_server_.clear();
        is_open_ = false;
        return;
    }
    // It arrives in its own time, and then the end of the connection.
    to_server_.push(duration::zero(), [self = keep] { self->is_open_ = false; });
}

bool memory_connection::say_good_bye() {
    const auto keep = shared_from_this();
    const bool is_heard = is_open_ && session_ != 0 && ensemble_ != nullptr && ensemble_->is_up() &&
                          !ensemble_->is_frozen() && !link_->is_cut_ && !link_->is_silent_ && !link_->is_paused_ &&
                          !link_->is_off_;
    if (!is_heard) {
        return false;
    }
    client_ = nullptr;
    to_client_.clear();
    pongs_.clear();
    to_server_.flush();
    if (is_open_) {
        is_open_ = false;
        ensemble_->end_session(session_, recorded_kind::close_session);
    }
    return true;
}

void memory_connection::break_now(in_flight what, const std::string& reason) {
    const auto keep = shared_from_this();
    memory_client* client = std::exchange(client_, nullptr);
    if (what == in_flight::applied) {
        to_server_.flush();
    }
    is_open_ = false;
    to_server_.clear();
    to_client_.clear();
    pongs_.clear();
    if (client != nullptr) {
        client->on_dropped(reason);
    }
}

void memory_connection::flow() {
    const auto keep = shared_from_this();
    to_server_.flow();
    to_client_.flow();
    pongs_.flow();
}

void memory_connection::ensemble_gone() {
    const auto keep = shared_from_this();
    ensemble_ = nullptr;
    is_open_ = false;
    to_server_.clear();
    to_client_.clear();
    pongs_.clear();
}

template <std::invocable<memory_client&> Function>
void memory_connection::to_client(duration extra, Function deliver) {
    if (client_ == nullptr) {
        return;
    }
    to_client_.push(link_->latency / 2 + extra, [self = shared_from_this(), deliver = std::move(deliver)]() mutable {
        if (self->client_ != nullptr) {
            deliver(*self->client_);
        }
    });
}

// --- the server's side
// --------------------------------------------------------------------------------------------------

bool memory_connection::touch() {
    auto* session = is_open_ && ensemble_ != nullptr ? ensemble_->find_session(session_) : nullptr;
    if (session == nullptr) {
        return false;
    }
    ensemble_->touch(*session);
    return true;
}

void memory_connection::on_hello(std::int64_t session, std::chrono::milliseconds timeout, std::int64_t last_zxid) {
    if (!is_open_ || ensemble_ == nullptr) {
        return;
    }
    const auto& limits = ensemble_->settings();
    const auto agreed = std::clamp(timeout, limits.session_timeout_min, limits.session_timeout_max);
    auto* found = session == 0 ? &ensemble_->add_session(agreed, link_->number) : ensemble_->find_session(session);
    if (found == nullptr) {
        is_open_ = false;
        to_client(duration::zero(), [](memory_client& client) { client.on_refused_session(); });
        return;
    }
    if (auto older = found->connection.lock(); older && older.get() != this) {
        older->data_watches_.clear();
        older->child_watches_.clear();
    }
    session_ = found->id;
    found->connection = weak_from_this();
    found->timeout = agreed;
    ensemble_->touch(*found);
    link_->catch_up(last_zxid);  // a server that is behind what the client has seen refuses it: we are at another one
    to_client(duration::zero(), [id = session_, agreed](memory_client& client) { client.on_established(id, agreed); });
}

void memory_connection::on_request(std::uint64_t number, request& what) {
    if (!touch()) {
        return;
    }
    if (size_of(what) > ensemble_->settings().request_limit_bytes) {
        break_now(in_flight::lost, "connection lost");
        return;
    }
    const verdict decided = link_->on_request ? link_->on_request(what) : verdict::answer;
    if (decided == verdict::drop_before || ensemble_ == nullptr || !is_open_) {
        break_now(in_flight::lost, "connection lost");
        return;
    }
    auto answer = execute(what);
    if (decided == verdict::drop_after) {
        break_now(in_flight::lost, "connection lost");
        return;
    }
    if (what.is_write() && !link_->is_holding_) {
        link_->catch_up(ensemble_->zxid());
    } else if (what.is_write()) {
        own_zxid_ = ensemble_->zxid();  // whoever reconnects before the answer may meet a server that has not got it
    }
    const std::int64_t zxid = link_->view().zxid();
    const duration hold = link_->answer_delay + (what.is_write() ? link_->write_answer_delay : duration::zero());
    to_client(hold, [number, answer = std::move(answer), zxid](memory_client& client) mutable {
        client.on_answer(number, std::move(answer), zxid);
    });
}

zookeeper::reply memory_connection::execute(request& what) {
    if (what.is_write()) {
        ++ensemble_->counters_.writes;
        auto answer = write(what);
        if (!answer.outcome) {
            ++ensemble_->counters_.refused_writes;
        }
        return answer;
    }
    if (what.what == request_kind::sync) {
        ++ensemble_->counters_.syncs;
        link_->catch_up(ensemble_->zxid());
        return {};
    }
    ++ensemble_->counters_.reads;
    return read(what);
}

// Takes the paths and values out of the request.
zookeeper::reply memory_connection::write(request& what) {
    std::vector<tree_change> writes;
    writes.reserve(std::max<std::size_t>(what.operations.size(), 1));
    if (what.what == request_kind::commit) {
        for (auto& one : what.operations) {
            writes.push_back({one.what, std::move(one.path), std::move(one.data), one.version});
        }
    } else if (what.what == request_kind::create) {
        writes.push_back({kind::create, std::move(what.path), std::move(what.data), zookeeper::any_version,
                          what.mode == zookeeper::create_mode::ephemeral_sequential,
                          what.mode == zookeeper::create_mode::persistent ? 0 : session_});
    } else {
        writes.push_back({kind::remove, std::move(what.path), {}, what.version});
    }
    zookeeper::reply answer;
    auto done = ensemble_->write(session_, writes);
    if (!done) {
        answer.outcome = std::move(done);
        return answer;
    }
    if (what.what == request_kind::create) {
        answer.data = std::move(writes.front().path);
    } else if (what.what == request_kind::commit) {
        answer.stats.reserve(writes.size());
        for (const auto& one : writes) {
            answer.stats.push_back(one.what == kind::set ? one.stat : zookeeper::node_stat{});
        }
    }
    return answer;
}

zookeeper::reply memory_connection::read(const request& what) {
    zookeeper::reply answer;
    const bool is_watched = what.watch == zookeeper::watching::yes;
    if (own_zxid_ > 0) {
        link_->catch_up(std::exchange(own_zxid_, 0));
    }
    const auto* found = link_->view().find(what.path);
    if (is_watched && (found != nullptr || what.what == request_kind::exists)) {
        watch(what.what == request_kind::children ? child_watches_ : data_watches_, what.path);
    }
    if (found == nullptr) {
        answer.outcome = failure(errc::not_found, what.path, "no node");
        return answer;
    }
    answer.stat = found->stat();
    if (what.what == request_kind::get) {
        answer.data = found->data;
    } else if (what.what == request_kind::children) {
        answer.names.assign(found->children.begin(), found->children.end());
    }
    return answer;
}

void memory_connection::on_watches(const std::vector<std::string>& data, const std::vector<std::string>& presence,
                                   const std::vector<std::string>& children, std::int64_t since) {
    if (!touch()) {
        return;
    }
    std::size_t bytes = bytes_beside;
    for (const auto* list : {&data, &presence, &children}) {
        for (const auto& path : *list) {
            bytes += path.size() + 4;
        }
    }
    if (bytes > ensemble_->settings().request_limit_bytes) {
        break_now(in_flight::lost, "connection lost");
        return;
    }
    const memory_tree& tree = link_->view();
    for (const auto& path : data) {
        const auto* node = tree.find(path);
        if (node == nullptr) {
            emit(event_kind::deleted, path);
        } else if (node->mzxid > since) {
            emit(event_kind::changed, path);
        } else {
            watch(data_watches_, path);
        }
    }
    for (const auto& path : presence) {
        if (tree.find(path) != nullptr) {
            emit(event_kind::created, path);
        } else {
            watch(data_watches_, path);
        }
    }
    for (const auto& path : children) {
        const auto* node = tree.find(path);
        if (node == nullptr) {
            emit(event_kind::deleted, path);
        } else if (node->pzxid > since) {
            emit(event_kind::children_changed, path);
        } else {
            watch(child_watches_, path);
        }
    }
}

void memory_connection::watch(std::unordered_set<std::string>& watches, const std::string& path) {
    watches.insert(path);
    ensemble_->watched_.insert(path);
}

void memory_connection::emit(event_kind what, const std::string& path) {
    ++ensemble_->counters_.watch_events;
    to_client(link_->watch_delay,
              [event = zookeeper::watch_event{what, path}](memory_client& client) { client.on_event(event); });
}

void memory_connection::trigger(const std::vector<tree_change>& changes) {
    if (!is_open_ || client_ == nullptr) {
        return;
    }
    for (const auto& one : changes) {
        if (one.what == kind::check) {
            continue;
        }
        const bool had_data = data_watches_.erase(one.path) > 0;
        if (one.what == kind::set) {
            if (had_data) {
                emit(event_kind::changed, one.path);
            }
            continue;
        }
        if (one.what == kind::create && had_data) {
            emit(event_kind::created, one.path);
        } else if (one.what == kind::remove) {
            const bool had_children = child_watches_.erase(one.path) > 0;
            if (had_data || had_children) {
                emit(event_kind::deleted, one.path);
            }
        }
        const std::string parent(parent_of(one.path));
        if (child_watches_.erase(parent) > 0) {
            emit(event_kind::children_changed, parent);
        }
    }
}

std::size_t memory_connection::watches(std::string_view path) const {
    if (!is_open_ || client_ == nullptr) {
        return 0;
    }
    if (path.empty()) {
        return data_watches_.size() + child_watches_.size();
    }
    const std::string key(path);
    return data_watches_.count(key) + child_watches_.count(key) > 0 ? 1 : 0;
}

}  // namespace pvc::sim
