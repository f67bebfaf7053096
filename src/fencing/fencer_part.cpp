// Who is judged dead, and what is done about it: attempts, their lock and their turn.
#include "fencer_part.hpp"
#include "zookeeper_away.hpp"

#include "pvcnoded/async/child.hpp"
#include "pvcnoded/base/text.hpp"
#include "pvcnoded/model/node_payloads.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace pvc::fencing {

using namespace std::chrono_literals;
using model::daemon_state;

namespace {

constexpr duration told_every = 1h;
constexpr duration machines_again = 10min;  // what belongs to a node that is down, and that nobody fences

// As the configuration lists them, without their domain and in lower case.
std::vector<std::string> names_of_coordinators(const config::node_config& config) {
    std::vector<std::string> names;
    for (const auto& host : config.coordinators) {
        names.push_back(lower(split(host, '.').front()));
    }
    return names;
}

bool is_down(const std::optional<daemon_state>& state) {
    return state == daemon_state::dead || state == daemon_state::fenced;
}

std::optional<std::int64_t> state_id_of(const core::other_node& one) {
    return one.daemon->present() ? std::optional(one.daemon->stat().mzxid) : std::nullopt;
}

}  // namespace

fencer_part::fencer_part(core::session& s, fencer& owner)
    : session_(s),
      node_(s.node),
      owner_(owner),
      boards_(*owner.boards_),
      lock_(s, changes_),
      recovery_(owner.recovery_->begin(s)),
      coordinators_(names_of_coordinators(*s.node.config)),
      connected_since_(s.node.clock().now()) {
    owner_.part_ = this;
}

fencer_part::~fencer_part() {
    owner_.part_ = nullptr;
    for (const auto& one : asked_) {
        one->give(zookeeper_away("fence"));
    }
}

void fencer_part::open() {
    is_open_ = true;
    changed_.notify();
}

async::awaitable<void> fencer_part::run() {
    const async::latest<std::uint64_t>::observer ticks(session_.ticks, changed_);
    const async::latest<std::uint64_t>::observer peers(session_.others.changes(), changed_);
    const async::latest<zookeeper::session_state>::observer link(session_.zk.state(), changed_);
    co_await async::with_task_group("fences", [&](async::task_group& scope) -> async::awaitable<void> {
        scope_ = &scope;
        struct leaving {
            fencer_part& of;
            ~leaving() { of.scope_ = nullptr; }
        };
        const leaving guard{*this};
        scope.spawn("fence lock", [this] { return lock_.run(); });
        scope.spawn("leftovers", [this] { return recovery_->tend(*this); });
        for (;;) {
            follow_connection();
            next_question_.reset();  // of a look that is over
            if (is_open_ && session_.zk.is_connected()) {
                judge();
            }
            if (next_question_) {
                co_await changed_.wait_until(node_.clock(), *next_question_, "the next look at a silent node's power");
            } else {
                co_await changed_.wait(async::wait_note::work("a node that is dead"));
            }
        }
    });
}

// No age is older than the connection on which it was seen to grow.
void fencer_part::follow_connection() {
    const auto& state = session_.zk.state().value();
    if (state.now == zookeeper::link::connected && state.connections != connections_) {
        connections_ = state.connections;
        connected_since_ = node_.clock().now();
    }
}

// ---- what is seen ---------------------------------------------------------------------------------------------------

policy::observer_seen fencer_part::observer() const {
    const duration keepalive = node_.times.keepalive;
    const auto connected = session_.zk.is_connected() ? node_.clock().now() - connected_since_ : duration::zero();
    return {.name = node_.self(),
            .is_coordinator = node_.mode == model::daemon_mode::coordinator,
            .is_run = node_.started && !node_.stopping.value(),
            .in_maintenance = node_.maintenance,
            .is_heartbeat_fresh = node_.heartbeat_age() < keepalive,
            .connected_for = connected,
            .fence_intervals = node_.times.fence,
            .keepalive = keepalive,
            .coordinators = node_.config->coordinators.size()};
}

policy::node_seen fencer_part::seen_of(const core::other_node& one) const {
    policy::node_seen seen;
    seen.name = one.name;
    seen.is_coordinator = std::ranges::find(coordinators_, lower(one.name)) != coordinators_.end();
    if (one.daemon->present()) {
        seen.state = model::parse_daemon_state(one.daemon->data());
    }
    seen.state_id = state_id_of(one);
    seen.heartbeat_id = one.heartbeat_id;
    seen.silent_for = std::min(one.silent_for, node_.clock().now() - connected_since_);
    if (const auto state = states_.find(one.name); state != states_.end()) {
        seen.in_state_for = state->second.age();
    }
    seen.was_seen_to_beat = owner_.beats_.was_seen_to_beat(one.name);
    const auto machines = machines_.find(one.name);
    seen.has_machines = machines != machines_.end() && machines->second.running > 0;
    // Only of those who are silent: it takes a look at all boards.
    const auto board = boards_.known().find(one.name);
    seen.has_probe_heard_on = seen.silent_for > node_.times.keepalive && board != boards_.known().end() &&
                              board->second.power == policy::board_power::on && boards_.why_unusable(one.name).empty();
    const auto power = powers_.find(one.name);
    if (power != powers_.end() && power->second.heartbeat_id == one.heartbeat_id &&
        power->second.state_id == seen.state_id) {
        const auto& heard = power->second;
        // What was heard before a pause (maintenance, a lost connection) says nothing now.
        const bool is_fresh = heard.answered && node_.clock().now() - *heard.answered <= policy::fence_limits::fresh;
        seen.power = !is_fresh                               ? policy::seen_power::untold
                     : heard.heard.is_off()                  ? policy::seen_power::off
                     : heard.last == policy::board_power::on ? policy::seen_power::on
                                                             : policy::seen_power::untold;
    }
    const auto closer = closer_.find(one.name);
    if (closer != closer_.end() && closer->second.lease && closer->second.lease->present()) {
        const auto armed = model::parse_self_reset(closer->second.lease->data());
        seen.is_lease_over = armed && one.heartbeat_id == closer->second.lease->stat().mzxid &&
                             seen.silent_for >= *armed + node_.times.keepalive;
    }
    return seen;
}

std::vector<policy::node_seen> fencer_part::all_seen() const {
    std::vector<policy::node_seen> all;
    for (const auto& one : session_.others.all()) {
        all.push_back(seen_of(one));
    }
    return all;
}

bool fencer_part::has_heard_on(const std::string& node) const {
    const auto found = powers_.find(node);
    return found != powers_.end() && found->second.last == policy::board_power::on && found->second.answered &&
           node_.clock().now() - *found->second.answered <= policy::fence_limits::fresh;
}

bool fencer_part::was_silent_to_question(const std::string& node) const {
    const auto found = powers_.find(node);
    if (found == powers_.end() || !found->second.is_unheard || !found->second.answered) {
        return false;
    }
    const auto board = boards_.known().find(node);
    const bool is_probed_since =
        board != boards_.known().end() && board->second.probed && *board->second.probed > *found->second.answered;
    return !is_probed_since;
}

std::vector<std::string> fencer_part::other_coordinators(const std::string& without) const {
    std::vector<std::string> names;
    for (const auto& one : all_seen()) {
        if (one.is_coordinator && one.name != without) {
            names.push_back(one.name);
        }
    }
    return names;
}

bool fencer_part::majority_stays_by(const std::string& node, const std::vector<coordinator_read>& read) const {
    auto all = all_seen();
    for (auto& one : all) {
        if (const auto found = std::ranges::find(read, one.name, &coordinator_read::name); found != read.end()) {
            one.state = found->state;
        }
        one.silent_for = owner_.beats_.silent_at_most(one.name, node_.clock().now());
    }
    return policy::majority_stays(observer(), all, node, policy::majority_at::before_power_off);
}

bool fencer_part::majority_stays_without(const std::string& node, const std::vector<coordinator_read>& read,
                                         time_point asked) {
    for (const auto& one : read) {
        if (one.heartbeat_id) {
            owner_.beats_.hear(one.name, *one.heartbeat_id, asked);
        }
    }
    return majority_stays_by(node, read);
}

void fencer_part::look_again() {
    give_turn();
    changes_.set(changes_.value() + 1);
    changed_.notify();
}

// Keys of nodes that are silent or down are followed; those of others are nobody's business.
void fencer_part::look_closer(const std::vector<policy::node_seen>& all) {
    const time_point now = node_.clock().now();
    const duration quiet = std::max<duration>(2 * node_.times.keepalive, 10s);
    std::map<std::string, closer_look> kept;
    for (const auto& one : all) {
        const bool is_looked_at = is_down(one.state) || one.silent_for > quiet || runs_.contains(one.name);
        if (!is_looked_at) {
            continue;
        }
        auto found = closer_.find(one.name);
        auto& look = kept[one.name];
        if (found != closer_.end()) {
            look = std::move(found->second);
        } else {
            using zookeeper::watch_kind;
            look.domain_state = session_.watches.add(model::node_path(one.name, model::node_key::domain_state),
                                                     watch_kind::data, changed_);
            look.proof = session_.watches.add(model::node_path(one.name, "/fenceproof"), watch_kind::data, changed_);
            look.power = session_.watches.add(model::node_path(one.name, "/fencepower"), watch_kind::data, changed_);
            look.lease = session_.watches.add(model::node_path(one.name, model::node_key::self_reset), watch_kind::data,
                                              changed_);
        }
        if (!is_down(one.state)) {
            look.dead_since.reset();
            look.was_seen_to_die = true;
        } else if (!look.dead_since) {
            look.dead_since = now;
        }
    }
    closer_ = std::move(kept);
}

// ---- judging --------------------------------------------------------------------------------------------------------

void fencer_part::judge() {
    for (const auto& one : session_.others.all()) {
        if (one.heartbeat_id && one.is_beat) {
            owner_.beats_.hear(one.name, *one.heartbeat_id, one.looked);
        }
        states_[one.name].observe(state_id_of(one), one.heartbeat_id, one.silent_for);
    }
    auto all = all_seen();
    forget_removed(all);
    look_closer(all);
    const auto self = observer();
    ask_boards(self, all);
    const bool may_detect = policy::why_not_judging(self).empty();
    may_queue_ = may_stand_in_line();
    const auto verdicts = policy::judge_nodes(self, all);
    for (const auto& verdict : verdicts) {
        const auto found = std::ranges::find(all, verdict.name, &policy::node_seen::name);
        if (found == all.end()) {
            continue;
        }
        tell(verdict, *found);
        const bool is_condemned =
            verdict.what == policy::node_verdict::dead || verdict.what == policy::node_verdict::seen_off;
        auto& memory = memories_[verdict.name];
        const bool waits_for_disk = memory.not_before && node_.clock().now() < *memory.not_before;
        const bool is_back = found->heartbeat_id &&
                             memory.is_known_back(*found->heartbeat_id, node_.clock().now(), node_.times.keepalive);
        if (has_begun_in_tick(verdict.name)) {
            continue;
        }
        const bool is_worded = has_recorded_word(*found);
        if (is_condemned && !is_worded && !runs_.contains(verdict.name) && !waits_for_disk && !is_back) {
            begin(*found, verdict.what == policy::node_verdict::dead ? policy::fence_origin::silence
                                                                     : policy::fence_origin::seen_off);
        } else if ((is_down(found->state) || is_worded || closer_.contains(verdict.name)) && !is_back) {
            take_up_left_over(*found, may_detect);
        } else if (!is_condemned && !is_back && !runs_.contains(verdict.name)) {
            memories_.erase(verdict.name);
        }
    }
    drop_old_words(all);
    for (const auto& entry : words_) {
        const std::string& node = entry.first;
        const auto run = runs_.find(node);
        if (!may_queue_ && run != runs_.end() && run->second->machine().where == policy::fence_attempt::at::locking) {
            waiting_.insert(node);
        }
        const auto found = std::ranges::find(all, node, &policy::node_seen::name);
        if (!runs_.contains(node) && found != all.end() && !has_begun_in_tick(node) && has_word(node)) {
            begin(*found, policy::fence_origin::operators_word);
        }
    }
    tell_who_has_lock();
}

// One that is added again under the same name is another.
void fencer_part::forget_removed(const std::vector<policy::node_seen>& all) {
    const auto is_removed = [&](const auto& entry) {
        return !runs_.contains(entry.first) &&
               std::ranges::find(all, entry.first, &policy::node_seen::name) == all.end();
    };
    std::erase_if(states_, is_removed);
    std::erase_if(memories_, is_removed);
    std::erase_if(begun_in_, is_removed);
}

void fencer_part::drop_old_words(const std::vector<policy::node_seen>& all) {
    const auto dropped = std::erase_if(words_, [&](const auto& one) {
        const auto found = std::ranges::find(all, one.first, &policy::node_seen::name);
        return found == all.end() ||
               !policy::word_stands(one.second.then, {found->heartbeat_id, found->state_id, found->state});
    });
    if (dropped > 0) {
        changes_.set(changes_.value() + 1);
    }
}

// What ended at once would end at once again: what it fell over is read anew by the next tick.
bool fencer_part::has_begun_in_tick(const std::string& node) const {
    const auto found = begun_in_.find(node);
    return found != begun_in_.end() && found->second == session_.ticks.value();
}

bool fencer_part::is_hour_over(const std::string& node) const {
    const auto told = owner_.told_.find(node);
    return told == owner_.told_.end() || node_.clock().now() - told->second >= told_every;
}

bool fencer_part::is_to_be_told(const std::string& node) {
    const bool is_due = is_hour_over(node);
    if (is_due) {
        owner_.told_[node] = node_.clock().now();
    }
    return is_due;
}

void fencer_part::tell(const policy::verdict_on_node& verdict, const policy::node_seen& one) {
    using policy::node_verdict;
    const std::string node = "node " + one.name;
    const auto silent = one.silent_for / 1s;
    switch (verdict.what) {
        case node_verdict::well: {
            const bool may_have_machines = one.silent_for > 300s && !is_down(one.state);
            if (may_have_machines && observer().is_run) {
                want_machines(machines_again);
            }
            return;
        }
        case node_verdict::storm:
            if (is_to_be_told(one.name)) {
                node_.log.error(message::fence_storm,
                                fmt::format("{} and most of the cluster fell silent together, {} s ago: it is fenced "
                                            "once its board says off, or in {} s",
                                            node, silent, verdict.after.value_or(duration::zero()) / 1s));
            }
            return;
        case node_verdict::needed:
            if (is_to_be_told(one.name)) {
                node_.log.error(message::fence_held_back,
                                fmt::format("{} is dead (no heartbeat for {} s) and not fenced: no majority of "
                                            "coordinators would run without it",
                                            node, silent));
            }
            return;
        case node_verdict::forgotten: tell_forgotten(one); return;
        case node_verdict::may_boot:
            if (is_to_be_told(one.name + "/boots")) {  // no name of a node: what comes after it is told, too
                node_.log.warning(message::fence_may_boot,
                                  fmt::format("{} has sent no heartbeat for {} s, and none since this daemon started: "
                                              "it may still be booting; {}",
                                              node, silent, policy::outlook_of(verdict)));
            }
            return;
        case node_verdict::silent:
        case node_verdict::seen_off:
        case node_verdict::dead: return;
    }
}

// Whether machines belong to it is looked up right before: what was so when it died is an hour old.
void fencer_part::tell_forgotten(const policy::node_seen& one) {
    constexpr duration counted_within = 30s;
    if (runs_.contains(one.name) || !is_hour_over(one.name)) {
        return;
    }
    if (!machines_read_ || node_.clock().now() - *machines_read_ > counted_within) {
        want_machines(counted_within);
        return;
    }
    const auto closer = closer_.find(one.name);
    if (closer != closer_.end() && !closer->second.left_off.empty() && closer->second.records_of == one.state_id) {
        keeps_off(one.name, closer->second.left_off);
        return;
    }
    if (is_to_be_told(one.name)) {
        const std::string holder = other_holder();
        node_.log.error(message::fence_forgotten,
                        policy::words_of_forgotten(one, victim_of(one), holder.substr(0, holder.find(':'))));
    }
}

void fencer_part::keeps_off(const std::string& node, const std::string& why) {
    owner_.told_[node] = node_.clock().now();
    node_.log.error(message::fence_kept_off,
                    fmt::format("node {} stays off until somebody switches it on: {}", node, why));
}

// ---- the power of silent nodes --------------------------------------------------------------------------------------

void fencer_part::ask_boards(const policy::observer_seen& self, const std::vector<policy::node_seen>& all) {
    // With the orders to silent boards (boards.hpp) fewer than there are places for programs.
    constexpr std::size_t most_questions = 6;
    constexpr std::size_t most_to_unheard = 3;  // which take 20 s each
    constexpr duration after_answer = 5s;
    const time_point now = node_.clock().now();
    const auto unheard_under_way = [this] {
        return static_cast<std::size_t>(std::ranges::count_if(
            powers_, [](const auto& entry) { return entry.second.is_under_way && entry.second.is_unheard; }));
    };
    next_question_.reset();
    std::erase_if(powers_, [&](const auto& entry) {
        const auto found = std::ranges::find(all, entry.first, &policy::node_seen::name);
        return !entry.second.is_under_way && (found == all.end() || found->heartbeat_id != entry.second.heartbeat_id);
    });
    for (const auto& one : all) {
        if (!policy::asks_for_power(self, one) || boards_.is_claimed(one.name)) {
            continue;
        }
        auto& asked = powers_[one.name];
        if (asked.is_under_way) {
            continue;
        }
        if (asked.heartbeat_id != *one.heartbeat_id) {
            asked = {.heartbeat_id = *one.heartbeat_id, .state_id = *one.state_id};
        } else if (asked.state_id != *one.state_id) {  // its board is as silent as it was
            asked = {.heartbeat_id = *one.heartbeat_id,
                     .state_id = *one.state_id,
                     .answered = asked.answered,
                     .is_unheard = asked.is_unheard};
        }
        time_point due = asked.asked ? *asked.asked + node_.times.keepalive : now;
        due = asked.answered ? std::max(due, *asked.answered + after_answer) : due;
        if (due > now) {
            next_question_ = std::min(next_question_.value_or(due), due);
        } else if (questions_ < most_questions && (!asked.is_unheard || unheard_under_way() < most_to_unheard)) {
            asked.asked = now;
            asked.is_under_way = true;
            ++questions_;
            scope_->spawn("power of " + one.name,
                          [this, node = one.name, id = *one.heartbeat_id] { return ask_board(node, id); });
        }
    }
}

async::awaitable<void> fencer_part::ask_board(std::string node, std::int64_t heartbeat_id) {
    struct ending {
        fencer_part& part;
        const std::string& node;
        ~ending() {
            --part.questions_;
            part.powers_[node].is_under_way = false;
            part.changed_.notify();
        }
    };
    const ending guard{*this, node};
    const auto heard = co_await boards_.question(boards_.access_of(node), power::board_command::status);
    auto& asked = powers_[node];
    const bool has_moved = std::ranges::any_of(session_.others.all(), [&](const core::other_node& one) {
        return one.name == node && one.heartbeat_id != heartbeat_id;
    });
    asked.answered = node_.clock().now();
    asked.is_unheard = went_unanswered(heard).value_or(asked.is_unheard);
    if (has_moved) {
        asked.heard.beaten();
        co_return;
    }
    const auto read = heard ? policy::read_power(heard->status, heard->output, heard->errors) : policy::power_answer();
    asked.last = read.power;
    asked.heard.heard(read.power, node_.clock().now());
}

}  // namespace pvc::fencing
