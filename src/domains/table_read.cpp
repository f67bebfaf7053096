// Reads the keys of a domain as one consistent view, and sets their watches as long as the budget lasts.
// Specification: vm-domains.md 5.2 (2); runtime-design.md 2.5.
#include "table.hpp"

#include "pvcnoded/async/for_each.hpp"
#include "pvcnoded/policy/domains/hand_over.hpp"

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

}  // namespace

bool domain_table::is_ours(const domain_row& row) const {
    return row.is_owner || (is_local && is_local(row));
}

std::size_t domain_table::reserve() const {
    return (room_to_grow * rows_.size() - std::min(armed_nodes_, rows_.size())) * node_watch_bytes;
}

bool domain_table::may_arm_node(const domain_row& row) const {
    const std::size_t more = row.node_armed ? 0 : node_watch_bytes;
    return is_ours(row) ? session_->zk.watch_bytes() + more <= limit_bytes : used_bytes() + more <= budget_bytes;
}

bool domain_table::may_arm_state(const domain_row& row) const {
    const std::size_t more = row.state_armed ? 0 : state_watch_bytes;
    if (is_ours(row)) {
        return session_->zk.watch_bytes() + more + (row.node_armed ? 0 : node_watch_bytes) <= limit_bytes;
    }
    return used_bytes() + more + reserve() <= budget_bytes;
}

bool domain_table::lacks_node_watch(const domain_row& row) {
    return row.is_present && !row.node_armed && row.node_version >= 0;
}

bool domain_table::lacks_state_watch(const domain_row& row) {
    return row.is_present && !row.state_armed && row.state_version >= 0;
}

// One round: what was asked, and what came of it.
struct domain_table::reading {
    bool with_own;    // `lastnode` and `migrate_sync_lock` too
    bool arms_state;  // watches that it sets
    bool arms_node;
    bool had_here;
    std::vector<result<zookeeper::read_reply>> answers{};
    bool needs_own = false;

    using answer = const result<zookeeper::read_reply>&;
    [[nodiscard]] answer state() const { return answers[0]; }
    [[nodiscard]] answer node() const { return answers[1]; }
    [[nodiscard]] answer identity() const { return answers[2]; }
    [[nodiscard]] answer last() const { return answers[3]; }
    [[nodiscard]] answer sync() const { return answers[4]; }
    [[nodiscard]] answer state_again() const { return answers.back(); }

    [[nodiscard]] std::vector<zookeeper::read_wish> wishes(const std::string& root) const {
        const auto watch = [](bool arms) { return arms ? zookeeper::watching::yes : zookeeper::watching::no; };
        std::vector<zookeeper::read_wish> all;
        all.reserve(with_own ? 6 : 4);  // and no list in braces, which would be copied
        all.push_back({root + model::domain_key::state, watch(arms_state)});
        all.push_back({root + model::domain_key::node, watch(arms_node)});
        all.push_back({root});
        if (with_own) {
            all.push_back({root + model::domain_key::last_node});
            all.push_back({root + model::domain_key::migrate_sync_lock});
        }
        all.push_back({.path = root + model::domain_key::state, .with_data = false});
        return all;
    }
    [[nodiscard]] bool may_be_hand_over() const {
        return needs_own && had_here && state() && model::vm_state_or_fallback(state()->data) == model::vm_state::stop;
    }
    // Of a key that is used; one that is not there is none.
    [[nodiscard]] std::optional<failure> trouble() const {
        const auto of = [](answer one) {
            return !one && one.error().code() != errc::not_found ? std::optional(one.error()) : std::nullopt;
        };
        for (const auto* one : {may_be_hand_over() ? &sync() : nullptr, &state(), &node(), &identity(), &state_again(),
                                needs_own ? &last() : nullptr}) {
            if (auto found = one != nullptr ? of(*one) : std::nullopt) {
                return found;
            }
        }
        return std::nullopt;
    }
    [[nodiscard]] bool is_consistent() const {
        return state().has_value() == state_again().has_value() &&
               (!state() || state()->stat.mzxid == state_again()->stat.mzxid);
    }
    // Whose word a `stop` is. A key that shows the transaction of that very `state` belongs to this view.
    [[nodiscard]] bool shows_hand_over(const uuid& id) const {
        return may_be_hand_over() && sync() &&
               policy::is_hand_over(id, state()->stat.mzxid, sync()->data, sync()->stat.mzxid);
    }
};

async::awaitable<result<boot_time>> domain_table::read(domain_row& row) {
    if (session_ == nullptr) {
        co_return failure(errc::session_lost, "domain " + to_text(row.id));
    }
    core::session& s = *session_;
    const uuid id = row.id;
    const std::string root = model::domain_path(to_text(id));
    const time_point deadline = s.limit(read_limit);
    // The keys that only matter if the domain is ours go along if it was so far, and else in another round.
    bool with_own = is_ours(row);
    for (int attempt = 0; attempt < consistent_tries; ++attempt) {
        domain_row* now = find(id);
        if (now == nullptr) {
            co_return failure(errc::not_found, root);
        }
        reading one{with_own, may_arm_state(*now), may_arm_node(*now), now->here != nullptr};
        one.answers = co_await s.zk.read_together(deadline, one.wishes(root));
        now = find(id);
        if (now == nullptr) {
            co_return failure(errc::not_found, root);
        }
        take_watches(*now, one);
        const bool is_own = one.node() && one.node()->data == node_.self();
        one.needs_own = is_own || (is_local && is_local(*now));
        if (one.needs_own && !with_own) {
            with_own = true;
            --attempt;
            continue;
        }
        if (auto trouble = one.trouble()) {
            co_return *trouble;
        }
        if (!one.identity()) {
            now->is_present = false;
            settle(*now);
            co_return one.identity().error();
        }
        if (one.is_consistent()) {
            take(*now, one);
            settle(*now);
            co_return one.state() ? one.state()->sent : one.identity()->sent;
        }
    }
    co_return failure(errc::version_conflict, root, "it changes all the time");
}

void domain_table::take_watches(domain_row& row, const reading& from) {
    if (from.arms_state && says_watch(from.state())) {
        set_state_armed(row, from.state().has_value());
    }
    if (from.arms_node && says_watch(from.node())) {
        set_node_armed(row, from.node().has_value());
        keep_room();
    }
}

// A consistent view.
void domain_table::take(domain_row& row, const reading& from) {
    const auto& state = from.state();
    const auto& node = from.node();
    if (row.created != from.identity()->stat.czxid) {
        row.stable = {};
        row.state_changed = 0;
        if (row.here && on_replaced) {
            on_replaced(row);
        }
    }
    row.is_present = true;
    row.created = from.identity()->stat.czxid;
    row.state = state ? model::vm_state_or_fallback(state->data) : model::vm_state::unknown;
    row.state_version = state ? state->stat.version : -1;
    const std::int64_t before = std::exchange(row.state_changed, state ? state->stat.mzxid : 0);
    row.node_version = node ? node->stat.version : -1;
    row.node_changed = node ? node->stat.mzxid : 0;
    row.node = node ? &*node_names_.insert(node->data).first : nullptr;
    row.is_owner = node && node->data == node_.self();
    if (row.here) {
        take_own(*row.here, from, row.state_changed != before);
    }
}

void domain_table::take_own(local_domain& here, const reading& from, bool is_other_state) {
    constexpr std::size_t word_max = 64;
    here.name = from.identity()->data;
    const bool is_unknown = here.row.state == model::vm_state::unknown && from.state();
    here.word = is_unknown ? from.state()->data.substr(0, word_max) : std::string();
    here.is_read = here.is_read || (from.needs_own && from.had_here);
    here.is_handed_over = from.shows_hand_over(here.row.id);
    if (from.needs_own && from.last()) {
        here.last_node = from.last()->data;
        here.last_node_version = from.last()->stat.version;
    } else if (from.needs_own) {
        here.last_node.clear();
        here.last_node_version = -1;
    }
    if (is_other_state) {
        here.state_since = node_.clock().now();
    }
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
