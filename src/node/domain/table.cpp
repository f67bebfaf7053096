#include "domain/table.hpp"

#include "pvcnoded/async/task_group.hpp"
#include "pvcnoded/base/text.hpp"

#include <algorithm>
#include <span>

// Scopes, locks and deadlines keep the callable they are given until its coroutine has ended.
// NOLINTBEGIN(cppcoreguidelines-avoid-capturing-lambda-coroutines)

namespace pvc::node {

using namespace std::chrono_literals;

namespace {

constexpr std::size_t reads_in_flight_max = 32;
constexpr std::size_t reads_in_a_row_max = 512;  // then the list of domains and the connection are looked at again
constexpr std::size_t polls_in_flight_max = 8;
constexpr int poll_slices = 20;  // of an interval, so that ten thousand of them are no burst
constexpr duration read_limit = 5s;
constexpr int consistent_tries = 5;
constexpr duration absent_again = 250ms;
constexpr std::string_view domains_prefix = "/domains/";
constexpr std::size_t uuid_size = 36;
// Watches of domains may take this much of the packet in which a reconnect re-sends all (runtime-design.md 2.3): those
// of others, and all of them. Ours are watched before others, but not even they may make the packet too large.
constexpr std::size_t budget_bytes = 448UL * 1024;
constexpr std::size_t limit_bytes = 496UL * 1024;
constexpr std::size_t state_watch_bytes = domains_prefix.size() + uuid_size + 6 + 4;
constexpr std::size_t node_watch_bytes = domains_prefix.size() + uuid_size + 5 + 4;

template <class Reply>
result<void> outcome_of(const result<Reply>& read) {
    return read ? result<void>() : result<void>(read.error());
}

}  // namespace

domain_table::~domain_table() {
    detach();
}

void domain_table::attach(session& s) {
    session_ = &s;
    is_listed_ = false;
    list_changes_ = 0;
    armed_bytes_ = 0;
    connections_ = s.zk.state().value().connections;
    for (auto& [id, row] : rows_) {
        row.is_known = row.state_armed = row.node_armed = false;
        mark(row);
    }
    unread_ = rows_.size();
    list_ = s.watches.add("/domains", zookeeper::watch_kind::children, work_);
    s.watches.set_prefix_sink(domains_prefix, [this](const zookeeper::watch_event& event) { on_event(event); });
}

void domain_table::detach() {
    if (session_ != nullptr) {
        session_->watches.set_prefix_sink({}, nullptr);
        list_.reset();
        session_ = nullptr;
    }
    is_listed_ = false;  // the next session reads everything anew
    for (auto& [id, row] : rows_) {
        row.is_known = false;
    }
}

domain_row* domain_table::find(const uuid& id) {
    const auto found = rows_.find(id);
    return found == rows_.end() ? nullptr : &found->second;
}

void domain_table::erase(const uuid& id) {
    const auto found = rows_.find(id);
    if (found == rows_.end()) {
        return;
    }
    set_armed(found->second.state_armed, false, state_watch_bytes);
    set_armed(found->second.node_armed, false, node_watch_bytes);
    dirty_.erase(id);
    urgent_.erase(id);
    absent_.erase(id);
    if (!found->second.is_known && unread_ > 0) {
        --unread_;
    }
    rows_.erase(found);
}

void domain_table::mark(domain_row& row) {
    // What is ours comes first: among ten thousand definitions an operator's command does not wait for the others.
    (row.is_owner || row.here ? urgent_ : dirty_).insert(row.id);
    work_.notify();
}

void domain_table::set_armed(bool& armed, bool now, std::size_t bytes) {
    if (std::exchange(armed, now) != now) {
        armed_bytes_ = now ? armed_bytes_ + bytes : armed_bytes_ - bytes;
    }
}

void domain_table::on_event(const zookeeper::watch_event& event) {
    const std::string_view path = event.path;
    if (event.kind == zookeeper::event_kind::children_changed || path.size() <= domains_prefix.size() + uuid_size) {
        return;
    }
    const auto id = parse_uuid(path.substr(domains_prefix.size(), uuid_size));
    domain_row* row = id ? find(*id) : nullptr;
    if (row == nullptr) {
        return;
    }
    const std::string_view key = path.substr(domains_prefix.size() + uuid_size);
    if (key == "/state") {
        set_armed(row->state_armed, false, state_watch_bytes);
    } else if (key == "/node") {
        set_armed(row->node_armed, false, node_watch_bytes);
    } else {
        return;
    }
    mark(*row);
}

void domain_table::follow_list() {
    if (!list_->known() || list_->changes() == list_changes_) {
        return;
    }
    list_changes_ = list_->changes();
    const bool is_first = !std::exchange(is_listed_, true);
    std::set<uuid> present;
    for (const auto& name : list_->names()) {
        const auto id = parse_uuid(name);
        if (!id) {
            if (told_names_.size() < 100 && told_names_.insert(name).second) {
                node_.log.warning("/domains/" + ascii_only(name) +
                                  ": expected a UUID in lower case as the name, the domain is ignored");
            }
            continue;
        }
        present.insert(*id);
        const auto [at, is_new] = rows_.try_emplace(*id);
        if (is_new) {
            at->second.id = *id;
            ++unread_;
            mark(at->second);
        } else if (std::exchange(at->second.is_gone, false)) {
            mark(at->second);
        }
    }
    for (auto& [id, row] : rows_) {
        if (!present.contains(id) && !row.is_gone) {
            row.is_gone = true;
            mark(row);
        }
    }
    if (is_first && is_loaded()) {
        loaded_.notify();
        if (on_loaded) {
            on_loaded();
        }
    }
}

bool domain_table::is_ours(const domain_row& row) const {
    return row.is_owner || (is_local && is_local(row));
}

bool domain_table::may_arm(const domain_row& row) const {
    const std::size_t more = (row.state_armed ? 0 : state_watch_bytes) + (row.node_armed ? 0 : node_watch_bytes);
    return armed_bytes_ + more <= (is_ours(row) ? limit_bytes : budget_bytes);
}

bool domain_table::lacks_watch(const domain_row& row) {
    return row.is_present &&
           ((!row.state_armed && row.state_version >= 0) || (!row.node_armed && row.node_version >= 0));
}

// What the answer to a read says of the watch that it was to set. That of a key that is not there has set none, and
// what was set before went with the key.
void domain_table::take_watch(const uuid& id, bool domain_row::* armed, std::size_t bytes,
                              const result<zookeeper::read_reply>& answer) {
    domain_row* row = find(id);
    if (row != nullptr && (answer || answer.error().code() == errc::not_found)) {
        set_armed(row->*armed, answer.has_value(), bytes);
    }
}

async::awaitable<result<boot_time>> domain_table::read(domain_row& row) {
    if (session_ == nullptr) {
        co_return failure(errc::session_lost, "domain " + to_text(row.id));
    }
    session& s = *session_;
    const uuid id = row.id;
    const std::string root = model::domain_path(to_text(id));
    const time_point deadline = s.limit(read_limit);
    for (int attempt = 0; attempt < consistent_tries; ++attempt) {
        domain_row* now = find(id);
        if (now == nullptr) {
            co_return failure(errc::not_found, root);
        }
        const bool arm = may_arm(*now);
        const auto watch = arm ? zookeeper::watching::yes : zookeeper::watching::no;
        auto state = co_await s.zk.get(deadline, root + "/state", watch);
        if (arm) {
            take_watch(id, &domain_row::state_armed, state_watch_bytes, state);
        }
        auto node = co_await s.zk.get(deadline, root + "/node", watch);
        if (arm) {
            take_watch(id, &domain_row::node_armed, node_watch_bytes, node);
        }
        auto identity = co_await s.zk.get(deadline, root);
        const bool needs_last =
            node && (node->data == node_.self() || (find(id) != nullptr && is_local && is_local(*find(id))));
        std::optional<result<zookeeper::read_reply>> last;
        if (needs_last) {
            last.emplace(co_await s.zk.get(deadline, root + "/lastnode"));
        }
        auto again = co_await s.zk.exists(deadline, root + "/state");
        now = find(id);
        if (now == nullptr) {
            co_return failure(errc::not_found, root);
        }
        for (const result<void>& one : {outcome_of(state), outcome_of(node), outcome_of(identity), outcome_of(again)}) {
            if (!one && one.error().code() != errc::not_found) {
                co_return one.error();
            }
        }
        if (!identity) {
            now->is_present = false;
            settle(*now);
            co_return identity.error();
        }
        const bool is_consistent =
            state.has_value() == again.has_value() && (!state || state->stat.mzxid == again->stat.mzxid);
        if (!is_consistent) {
            continue;
        }
        if (now->created != identity->stat.czxid) {
            now->stable = {};
            now->state_changed = 0;
            if (now->here) {
                now->here->is_adopted = false;
                now->here->is_clean = now->here->is_forgotten = false;
                now->here->is_sent_by_us = false;
                now->here->spacing.reset();
            }
        }
        now->is_present = true;
        now->created = identity->stat.czxid;
        now->state = state ? model::vm_state_or_fallback(state->data) : model::vm_state::unknown;
        now->state_version = state ? state->stat.version : -1;
        const std::int64_t changed = state ? state->stat.mzxid : 0;
        const bool is_other = changed != now->state_changed;
        now->state_changed = changed;
        now->node_version = node ? node->stat.version : -1;
        now->node_changed = node ? node->stat.mzxid : 0;
        now->node = node ? &*node_names_.insert(node->data).first : nullptr;
        now->is_owner = node && node->data == node_.self();
        if (now->here) {
            local_domain& here = *now->here;
            here.name = identity->data;
            here.word = now->state == model::vm_state::unknown && state ? state->data.substr(0, 64) : std::string();
            here.is_read = here.is_read || last.has_value();
            if (last && *last) {
                here.last_node = (*last)->data;
                here.last_node_version = (*last)->stat.version;
            } else if (needs_last) {
                here.last_node.clear();
                here.last_node_version = -1;
            }
            if (is_other) {
                here.state_since = node_.clock().now();
            }
        }
        settle(*now);
        co_return state ? state->sent : identity->sent;
    }
    co_return failure(errc::version_conflict, root, "it changes all the time");
}

void domain_table::settle(domain_row& row) {
    if (!std::exchange(row.is_known, true) && unread_ > 0) {
        --unread_;
        if (is_loaded()) {
            loaded_.notify();
            if (on_loaded) {
                on_loaded();
            }
        }
    }
    if (row.is_present || row.is_gone) {
        absent_.erase(row.id);
    } else {
        absent_.insert(row.id);
    }
    if (is_ours(row) && lacks_watch(row) && may_arm(row)) {
        mark(row);  // it became ours: read again, with a watch
    }
    if (on_read) {
        on_read(row);
    }
}

// False: it could not be read.
async::awaitable<bool> domain_table::read_one(uuid id) {
    domain_row* row = find(id);
    if (row == nullptr) {
        co_return true;
    }
    auto done = co_await read(*row);
    row = find(id);
    if (row == nullptr || done || done.error().code() == errc::not_found) {
        co_return true;
    }
    mark(*row);
    co_return false;
}

std::optional<uuid> domain_table::take_dirty() {
    auto& from = urgent_.empty() ? dirty_ : urgent_;
    if (from.empty()) {
        return std::nullopt;
    }
    const uuid id = *from.begin();
    urgent_.erase(id);
    dirty_.erase(id);
    return id;
}

// False: some could not be read.
async::awaitable<bool> domain_table::read_dirty() {
    const std::size_t number = urgent_.size() + dirty_.size();
    if (number == 1) {
        co_return co_await read_one(*take_dirty());
    }
    std::size_t left = reads_in_a_row_max;
    bool is_good = true;
    const auto work = [&]() -> async::awaitable<void> {
        while (left > 0 && is_good) {
            const auto id = take_dirty();
            if (!id) {
                co_return;
            }
            --left;
            const bool is_read = co_await read_one(*id);
            is_good = is_good && is_read;
        }
    };
    co_await async::with_task_group("reads of domains", [&](async::task_group& group) -> async::awaitable<void> {
        for (std::size_t reader = std::min(number, reads_in_flight_max); reader > 0; --reader) {
            group.spawn("read", work);
        }
        co_return;
    });
    co_return is_good;
}

// Looks at the keys that are not watched; at all of them when a watch may not be relied on.
async::awaitable<void> domain_table::poll_one(uuid id, bool trusts_watches) {
    const std::string root = model::domain_path(to_text(id));
    const time_point deadline = session_->limit(read_limit);
    const domain_row* row = find(id);
    bool is_other = false;
    if (row != nullptr && row->is_known && !(trusts_watches && row->state_armed)) {
        auto state = co_await session_->zk.exists(deadline, root + "/state");
        row = find(id);
        if (row == nullptr || (!state && state.error().code() != errc::not_found)) {
            co_return;
        }
        is_other = (state ? state->stat.mzxid : 0) != row->state_changed;
    }
    if (row != nullptr && row->is_known && !is_other && !(trusts_watches && row->node_armed)) {
        auto node = co_await session_->zk.exists(deadline, root + "/node");
        row = find(id);
        if (row == nullptr || (!node && node.error().code() != errc::not_found)) {
            co_return;
        }
        is_other = (node ? node->stat.mzxid : 0) != row->node_changed;
    }
    if (is_other) {
        mark(*find(id));
    }
}

async::awaitable<void> domain_table::poll_slice(std::span<const uuid> ids, bool trusts_watches) {
    std::size_t at = 0;
    const auto work = [&]() -> async::awaitable<void> {
        while (at < ids.size() && session_->zk.is_connected()) {
            const uuid& id = ids[at++];
            co_await poll_one(id, trusts_watches);
        }
    };
    co_await async::with_task_group("polls of domains", [&](async::task_group& group) -> async::awaitable<void> {
        for (std::size_t poller = std::min(ids.size(), polls_in_flight_max); poller > 0; --poller) {
            group.spawn("poll", work);
        }
        co_return;
    });
}

// Once in each interval, spread over it: the domains beyond the watch budget, and after a reconnection all of them.
// (The server tells of what changed meanwhile as it takes over the watches; this is for whatever it may have missed.)
async::awaitable<void> domain_table::poll_unwatched() {
    const duration interval = node_.times.keepalive;
    time_point round = node_.clock().now();
    std::vector<uuid> todo;
    for (;;) {
        round = std::max(round + interval, node_.clock().now());
        co_await async::sleep_until(node_.clock(), round, "the next look at domains that are not watched");
        if (!session_->zk.is_connected()) {
            continue;
        }
        const bool trusts_watches = !std::exchange(compares_all_, false);
        todo.clear();
        std::size_t spare = budget_bytes - std::min(armed_bytes_, budget_bytes);
        for (auto& [id, row] : rows_) {
            if (!row.is_known || !row.is_present || (trusts_watches && row.state_armed && row.node_armed)) {
                continue;
            }
            if (lacks_watch(row) && spare >= state_watch_bytes + node_watch_bytes) {
                spare -= state_watch_bytes + node_watch_bytes;
                mark(row);  // there is room for its watches again
            } else {
                todo.push_back(id);
            }
        }
        if (!told_budget_ && trusts_watches && spare < state_watch_bytes + node_watch_bytes && !todo.empty()) {
            told_budget_ = true;
            node_.log.warning(std::to_string(todo.size()) +
                              " domains are beyond the watch budget: they are looked at " +
                              "once in each keepalive interval");
        }
        const std::size_t each = std::max(todo.size() / poll_slices + 1, polls_in_flight_max);
        for (std::size_t first = 0; first < todo.size(); first += each) {
            if (first > 0) {
                const auto part = static_cast<duration::rep>(first / each);
                co_await async::sleep_until(node_.clock(), round + interval * part / (poll_slices + 1),
                                            "the next of the domains that are not watched");
            }
            co_await poll_slice(std::span(todo).subspan(first, std::min(each, todo.size() - first)), trusts_watches);
        }
    }
}

async::awaitable<void> domain_table::run(session& s) {
    attach(s);
    struct leaving {
        domain_table& table;
        ~leaving() { table.detach(); }
    };
    const leaving guard{*this};
    const async::latest<zookeeper::session_state>::observer follow(s.zk.state(), work_);
    co_await async::with_task_group("domain table", [&](async::task_group& group) -> async::awaitable<void> {
        group.spawn("polls", [this] { return poll_unwatched(); });
        for (;;) {
            const auto& now = s.zk.state().value();
            if (now.now == zookeeper::link::connected && now.connections != connections_) {
                connections_ = now.connections;
                compares_all_ = true;
                for (auto& [id, row] : rows_) {
                    if (!row.is_known || is_ours(row)) {
                        mark(row);
                    }
                }
            }
            follow_list();
            if ((dirty_.empty() && urgent_.empty()) || now.now != zookeeper::link::connected) {
                if (absent_.empty()) {
                    co_await work_.wait(async::wait_note::work("changes of domains"));
                } else {
                    co_await work_.wait_until(node_.clock(), node_.clock().now() + absent_again,
                                              "the list of domains, or keys that come back");
                    for (const auto& id : std::exchange(absent_, {})) {
                        mark(*find(id));
                    }
                }
                continue;
            }
            const bool is_good = co_await read_dirty();
            if (!is_good) {
                co_await async::sleep_for(node_.clock(), 100ms, "another attempt to read domains");
            }
        }
    });
}

async::awaitable<bool> domain_table::wait_loaded(time_point deadline) {
    while (!is_loaded()) {
        const bool notified = co_await loaded_.wait_until(node_.clock(), deadline, "the first read of all domains");
        if (!notified && !is_loaded()) {
            co_return false;
        }
    }
    co_return true;
}

std::size_t domain_table::unwatched() const {
    return static_cast<std::size_t>(std::ranges::count_if(
        rows_, [](const auto& entry) { return !entry.second.state_armed || !entry.second.node_armed; }));
}

}  // namespace pvc::node

// NOLINTEND(cppcoreguidelines-avoid-capturing-lambda-coroutines)
