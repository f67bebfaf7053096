// Reads the keys of a domain as one consistent view, and sets their watches as long as the budget lasts.
// Specification: vm-domains.md 5.2 (2); runtime-design.md 2.5.
#include "table.hpp"

#include "pvcnoded/async/for_each.hpp"
#include "pvcnoded/policy/hand_over.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace pvc::domains {

using namespace std::chrono_literals;

namespace {

constexpr std::size_t reads_in_flight_max = 32;
constexpr std::size_t reads_in_a_row_max = 512;  // then the list of domains and the connection are looked at again
constexpr int consistent_tries = 5;

// Whether the answer to a read says what became of the watch that it was to set. That of a key that is not there has
// set none, and what was set before went with the key.
bool says_watch(const result<zookeeper::read_reply>& answer) {
    return answer || answer.error().code() == errc::not_found;
}

template <class Reply>
result<void> outcome_of(const result<Reply>& read) {
    return read ? result<void>() : result<void>(read.error());
}

}  // namespace

bool domain_table::is_ours(const domain_row& row) const {
    return row.is_owner || (is_local && is_local(row));
}

std::size_t domain_table::reserve() const {
    return (room_to_grow * rows_.size() - std::min(armed_nodes_, rows_.size())) * node_watch_bytes;
}

bool domain_table::may_arm_node(const domain_row& row) const {
    const std::size_t more = row.node_armed ? 0 : node_watch_bytes;
    return armed_bytes_ + more <= (is_ours(row) ? limit_bytes : budget_bytes);
}

bool domain_table::may_arm_state(const domain_row& row) const {
    const std::size_t more = row.state_armed ? 0 : state_watch_bytes;
    if (is_ours(row)) {
        return armed_bytes_ + more + (row.node_armed ? 0 : node_watch_bytes) <= limit_bytes;
    }
    return armed_bytes_ + more + reserve() <= budget_bytes;
}

bool domain_table::lacks_node_watch(const domain_row& row) {
    return row.is_present && !row.node_armed && row.node_version >= 0;
}

bool domain_table::lacks_state_watch(const domain_row& row) {
    return row.is_present && !row.state_armed && row.state_version >= 0;
}

async::awaitable<result<boot_time>> domain_table::read(domain_row& row) {
    if (session_ == nullptr) {
        co_return failure(errc::session_lost, "domain " + to_text(row.id));
    }
    core::session& s = *session_;
    const uuid id = row.id;
    const std::string root = model::domain_path(to_text(id));
    const time_point deadline = s.limit(read_limit);
    // The keys that only matter if the machine is ours go along if it was so far, and else in another round.
    bool with_own = is_ours(row);
    for (int attempt = 0; attempt < consistent_tries; ++attempt) {
        domain_row* now = find(id);
        if (now == nullptr) {
            co_return failure(errc::not_found, root);
        }
        const bool arms_state = may_arm_state(*now);
        const bool arms_node = may_arm_node(*now);
        const bool had_here = now->here != nullptr;
        const auto watch = [](bool arms) { return arms ? zookeeper::watching::yes : zookeeper::watching::no; };
        std::vector<zookeeper::read_wish> wishes{
            {root + "/state", watch(arms_state)}, {root + "/node", watch(arms_node)}, {root}};
        if (with_own) {
            wishes.push_back({root + "/lastnode"});
            wishes.push_back({root + "/migrate_sync_lock"});
        }
        wishes.push_back({.path = root + "/state", .with_data = false});
        const auto answers = co_await s.zk.read_together(deadline, std::move(wishes));
        const auto& state = answers[0];
        const auto& node = answers[1];
        const auto& identity = answers[2];
        const auto& again = answers.back();
        now = find(id);
        if (now == nullptr) {
            co_return failure(errc::not_found, root);
        }
        if (arms_state && says_watch(state)) {
            set_state_armed(*now, state.has_value());
        }
        if (arms_node && says_watch(node)) {
            set_node_armed(*now, node.has_value());
        }
        const bool is_own = node && node->data == node_.self();
        const bool needs_last = is_own || (is_local && is_local(*now));
        if (needs_last && !with_own) {
            with_own = true;
            --attempt;
            continue;
        }
        const result<zookeeper::read_reply>* last = needs_last ? &answers[3] : nullptr;
        // Whose word a `stop` is. A key that shows the transaction of that very `state` belongs to this view.
        const bool may_be_hand_over =
            needs_last && had_here && state && model::vm_state_or_fallback(state->data) == model::vm_state::stop;
        bool is_handed_over = false;
        if (may_be_hand_over) {
            const auto& sync = answers[4];
            if (!sync && sync.error().code() != errc::not_found) {
                co_return sync.error();
            }
            is_handed_over = sync && policy::is_hand_over(id, state->stat.mzxid, sync->data, sync->stat.mzxid);
        }
        const result<void> of_last = last != nullptr ? outcome_of(*last) : result<void>();
        for (const result<void>& one :
             {outcome_of(state), outcome_of(node), outcome_of(identity), outcome_of(again), of_last}) {
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
            here.is_read = here.is_read || (last != nullptr && had_here);
            here.is_handed_over = is_handed_over;
            if (last != nullptr && *last) {
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
    if (row.is_present && (row.state_version < 0 || row.node_version < 0)) {
        incomplete_.try_emplace(row.id, node_.clock().now());
    } else {
        incomplete_.erase(row.id);
    }
    const bool has_room =
        (lacks_node_watch(row) && may_arm_node(row)) || (lacks_state_watch(row) && may_arm_state(row));
    if (is_ours(row) && has_room) {
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
    const auto next = [&]() -> std::optional<uuid> {
        if (left == 0 || !is_good) {
            return std::nullopt;
        }
        --left;
        return take_dirty();
    };
    co_await async::drain_bounded("reads of domains", reads_in_flight_max, number, next,
                                  [&](uuid id) -> async::awaitable<void> {
                                      const bool is_read = co_await read_one(id);
                                      is_good = is_good && is_read;
                                  });
    co_return is_good;
}

}  // namespace pvc::domains
