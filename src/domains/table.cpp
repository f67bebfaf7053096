#include "table.hpp"

#include "pvcnoded/async/task_group.hpp"
#include "pvcnoded/base/text.hpp"

#include <algorithm>

namespace pvc::domains {

using namespace std::chrono_literals;

namespace {

constexpr duration absent_again = 250ms;
// A key that is missing is not watched for. Somebody who writes a domain key by key, or repairs one, is heard at once
// for so long, and for so many; afterwards with the polls.
constexpr duration incomplete_for = 30s;
constexpr std::size_t incomplete_at_once = 16;

}  // namespace

domain_table::~domain_table() {
    detach();
}

void domain_table::attach(core::session& s) {
    session_ = &s;
    is_listed_ = false;
    list_changes_ = 0;
    armed_nodes_ = 0;
    to_compare_.clear();
    connections_ = s.zk.state().value().connections;
    for (auto& [id, row] : rows_) {
        row.is_known = row.state_armed = row.node_armed = false;
        mark(row);
    }
    unread_ = rows_.size();
    list_ = s.watches.add(std::string(model::key_path::domains), zookeeper::watch_kind::children, work_);
    s.watches.set_prefix_sink(domains_prefix, [this](const zookeeper::watch_event& event) { on_event(event); });
}

void domain_table::detach() {
    if (session_ != nullptr) {
        session_->watches.set_prefix_sink({}, nullptr);
        session_->watches.keep_free(0);
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
    set_state_armed(found->second, false);
    set_node_armed(found->second, false);
    dirty_.erase(id);
    urgent_.erase(id);
    absent_.erase(id);
    incomplete_.erase(id);
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

local_domain& domain_table::keep_here(domain_row& row) {
    if (!row.here) {
        row.here = std::make_unique<local_domain>(row);
        row.here->state_since = row.here->class_since = node_.clock().now();
        mark(row);
    }
    return *row.here;
}

void domain_table::set_state_armed(domain_row& row, bool now) {
    row.state_armed = now;
}

void domain_table::set_node_armed(domain_row& row, bool now) {
    if (std::exchange(row.node_armed, now) != now) {
        armed_nodes_ = now ? armed_nodes_ + 1 : armed_nodes_ - 1;
    }
}

// For `node` of all domains: that one comes here is more than a change of a network that is elsewhere.
void domain_table::keep_room() const {
    session_->watches.keep_free((rows_.size() - std::min(armed_nodes_, rows_.size())) * node_watch_bytes);
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
    if (key == model::domain_key::state) {
        set_state_armed(*row, false);
    } else if (key == model::domain_key::node) {
        set_node_armed(*row, false);
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
                node_.log.warning(message::domain_name,
                                  "/domains/" + ascii_only(name) +
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
    keep_room();
    if (is_first && is_loaded()) {
        loaded_.notify();
        if (on_loaded) {
            on_loaded();
        }
    }
}

async::awaitable<void> domain_table::run(core::session& s) {
    attach(s);
    struct leaving {
        domain_table& table;
        ~leaving() { table.detach(); }
    };
    const leaving guard{*this};
    const async::latest<zookeeper::session_state>::observer follow(s.zk.state(), work_);
    co_await async::with_task_group("domain table", [&](async::task_group& group) -> async::awaitable<void> {
        group.spawn("polls", [this] { return poll_unwatched(); });
        time_point next_look = node_.clock().now();
        for (;;) {
            const auto& now = s.zk.state().value();
            if (now.now == zookeeper::link::connected && now.connections != connections_) {
                connections_ = now.connections;
                to_compare_.clear();
                for (auto& [id, row] : rows_) {
                    to_compare_.push_back(id);
                    if (!row.is_known || is_ours(row)) {
                        mark(row);
                    }
                }
            }
            follow_list();
            if ((dirty_.empty() && urgent_.empty()) || now.now != zookeeper::link::connected) {
                if (absent_.empty() && !awaits_keys()) {
                    co_await work_.wait(async::wait_note::work("changes of virtual machines"));
                } else {
                    next_look = std::min(next_look, node_.clock().now() + absent_again);
                    const bool notified = co_await work_.wait_until(node_.clock(), next_look,
                                                                    "the list of domains, or keys that come back");
                    if (!notified || node_.clock().now() >= next_look) {
                        next_look = node_.clock().now() + absent_again;
                        read_absent_again();
                    }
                }
                continue;
            }
            const bool is_good = co_await read_dirty();
            if (!is_good) {
                co_await async::sleep_for(node_.clock(), 100ms, "another attempt to read virtual machines");
            }
        }
    });
}

bool domain_table::awaits_keys() const {
    return std::ranges::any_of(
        incomplete_, [now = node_.clock().now()](const auto& entry) { return now - entry.second < incomplete_for; });
}

void domain_table::read_absent_again() {
    for (const auto& id : std::exchange(absent_, {})) {
        mark(*find(id));
    }
    std::size_t left = incomplete_at_once;
    for (const auto& [id, since] : incomplete_) {
        if (left > 0 && node_.clock().now() - since < incomplete_for) {
            --left;
            mark(*find(id));
        }
    }
}

async::awaitable<bool> domain_table::wait_loaded(time_point deadline) {
    while (!is_loaded()) {
        const bool notified =
            co_await loaded_.wait_until(node_.clock(), deadline, "the first read of all virtual machines");
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

}  // namespace pvc::domains
