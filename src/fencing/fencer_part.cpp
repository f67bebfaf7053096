// Who is judged dead, and what is done about it: attempts, their lock and their turn.
#include "fencer_part.hpp"

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
constexpr duration machines_every = 15s;
constexpr duration may_power_on_within = 10min;

bool is_listed_coordinator(const config::node_config& config, const std::string& node) {
    return std::ranges::any_of(config.coordinators,
                               [&](const std::string& host) { return lower(split(host, '.').front()) == lower(node); });
}

bool is_down(const std::optional<daemon_state>& state) {
    return state == daemon_state::dead || state == daemon_state::fenced;
}

}  // namespace

struct fencer_part::tending final : fence_hold {
    tending(fencer_part& owner, std::string of, std::shared_ptr<fence_ledger> record)
        : part(owner), node(std::move(of)), ledger(std::move(record)), wish(owner.lock_) {
        part.tended_.push_back(this);
    }
    ~tending() override {
        std::erase(part.tended_, this);
        part.look_again();
    }
    tending(const tending&) = delete;
    tending& operator=(const tending&) = delete;

    [[nodiscard]] bool holds() const override {
        return part.lock_.held() != nullptr && part.session_.zk.state().value().now != zookeeper::link::lost;
    }
    [[nodiscard]] std::string child() const override {
        return part.lock_.held() != nullptr ? part.lock_.held()->child() : std::string();
    }
    void add_check(zookeeper::transaction& what) const override {
        if (const auto* held = part.lock_.held()) {
            held->add_check(what);
        } else {
            what.check(std::string(model::key_path::fence_lock) + "/lost", zookeeper::any_version);
        }
    }
    async::awaitable<bool> record(policy::fence_entry::any entry) override {
        co_return co_await ledger->record(std::move(entry));
    }
    void note(policy::fence_entry::any entry) override { ledger->note(entry); }
    void name_machine(const uuid& id, std::string name) override { ledger->name_machine(id, std::move(name)); }

    fencer_part& part;
    std::string node;
    std::shared_ptr<fence_ledger> ledger;
    lock_keeper::wish wish;
};

fencer_part::fencer_part(core::session& s, fencer& owner)
    : session_(s),
      node_(s.node),
      owner_(owner),
      boards_(*owner.boards_),
      lock_(s, changes_),
      recovery_(owner.recovery_->begin(s)),
      connected_since_(s.node.clock().now()) {
    owner_.part_ = this;
}

fencer_part::~fencer_part() {
    owner_.part_ = nullptr;
    for (const auto& one : asked_) {
        one->give(failure(errc::unavailable, "fence", "the ZooKeeper session has ended"));
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
    seen.is_coordinator = is_listed_coordinator(*node_.config, one.name);
    if (one.daemon->present()) {
        seen.state = model::parse_daemon_state(one.daemon->data());
        seen.state_id = one.daemon->stat().mzxid;
    }
    seen.heartbeat_id = one.heartbeat_id;
    seen.silent_for = std::min(one.silent_for, node_.clock().now() - connected_since_);
    seen.was_seen_to_beat = owner_.beaten_.contains(one.name);
    const auto machines = machines_.find(one.name);
    seen.has_machines = machines != machines_.end() && machines->second.running > 0;
    const auto board = boards_.known_of(one.name);
    seen.has_probe_heard_on = board.power == policy::board_power::on && boards_.why_unusable(one.name).empty();
    const auto power = powers_.find(one.name);
    if (power != powers_.end() && power->second.heartbeat_id == one.heartbeat_id) {
        const auto& heard = power->second;
        seen.power = heard.heard.is_off()                    ? policy::seen_power::off
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
    constexpr duration young = 10s;
    const auto found = powers_.find(node);
    return found != powers_.end() && found->second.last == policy::board_power::on && found->second.answered &&
           node_.clock().now() - *found->second.answered <= young;
}

bool fencer_part::majority_stays_without(const std::string& node) const {
    return policy::majority_stays(observer(), all_seen(), node, policy::majority_at::before_power_off);
}

void fencer_part::look_again() {
    give_turn();
    changes_.set(changes_.value() + 1);
    changed_.notify();
}

void fencer_part::give_turn() {
    std::vector<policy::fence_in_line> all;
    for (const auto& [node, one] : runs_) {
        const auto board = boards_.known_of(node);
        all.push_back({.node = node,
                       .wants_turn = one->machine().wants_turn,
                       .has_turn = turn_ == node,
                       .has_board_answered = board.power != policy::board_power::unknown});
    }
    for (const auto* one : tended_) {
        all.push_back({.node = one->node, .wants_turn = true, .has_turn = turn_ == one->node});
    }
    auto next = policy::turn_of(all);
    if (next != turn_) {
        turn_ = std::move(next);
        changes_.set(changes_.value() + 1);
    }
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
            look.lease = session_.watches.add(model::node_path(one.name, model::node_key::self_reset), watch_kind::data,
                                              changed_);
        }
        if (!is_down(one.state)) {
            look.dead_since.reset();
        } else if (!look.dead_since) {
            look.dead_since = now;
        }
    }
    closer_ = std::move(kept);
}

// ---- judging --------------------------------------------------------------------------------------------------------

void fencer_part::judge() {
    for (const auto& one : session_.others.all()) {
        if (one.heartbeat_id) {
            const auto [last, is_new] = owner_.beats_.try_emplace(one.name, *one.heartbeat_id);
            if (!is_new && last->second != *one.heartbeat_id) {
                last->second = *one.heartbeat_id;
                owner_.beaten_.insert(one.name);
            }
        }
    }
    auto all = all_seen();
    look_closer(all);
    const auto self = observer();
    ask_boards(self, all);
    const bool may_detect = policy::why_not_judging(self).empty();
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
        if (is_condemned && !runs_.contains(verdict.name) && !waits_for_disk) {
            begin(*found, verdict.what == policy::node_verdict::dead ? policy::fence_origin::silence
                                                                     : policy::fence_origin::seen_off);
        } else if (is_down(found->state)) {
            take_up_left_over(*found, may_detect);
        } else if (!is_condemned && !runs_.contains(verdict.name)) {
            memories_.erase(verdict.name);
        }
    }
    for (const auto& entry : words_) {
        const std::string& node = entry.first;
        const auto found = std::ranges::find(all, node, &policy::node_seen::name);
        if (!runs_.contains(node) && found != all.end()) {
            begin(*found, policy::fence_origin::operators_word);
        }
    }
}

bool fencer_part::is_to_be_told(const std::string& node) {
    const time_point now = node_.clock().now();
    const auto [told, is_first] = owner_.told_.try_emplace(node, now);
    if (!is_first && now - told->second < told_every) {
        return false;
    }
    told->second = now;
    return true;
}

void fencer_part::tell(const policy::verdict_on_node& verdict, const policy::node_seen& one) {
    using policy::node_verdict;
    const std::string node = "node " + one.name;
    const auto silent = one.silent_for / 1s;
    switch (verdict.what) {
        case node_verdict::well: {
            const bool may_have_machines = one.silent_for > 300s && !is_down(one.state);
            if (may_have_machines && observer().is_run) {
                want_machines(told_every);
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
        case node_verdict::forgotten:
            if (!runs_.contains(one.name) && is_to_be_told(one.name)) {
                node_.log.error(message::fence_forgotten,
                                fmt::format("{} is down (state {}, no heartbeat for {} s){}: start it, or see that it "
                                            "is off and say so: pvcnodectl fence confirm {}",
                                            node, one.state ? to_text(*one.state) : "unknown", silent,
                                            one.has_machines ? ", and machines belong to it" : "", one.name));
            }
            return;
        case node_verdict::silent:
        case node_verdict::seen_off:
        case node_verdict::dead:
        case node_verdict::may_boot: return;
    }
}

void fencer_part::keeps_off(const std::string& node) {
    owner_.told_[node] = node_.clock().now();
    node_.log.error(
        message::fence_kept_off,
        "node " + node + " was fenced for the third time within an hour: it stays off until somebody switches it on");
}

// ---- the power of silent nodes --------------------------------------------------------------------------------------

void fencer_part::ask_boards(const policy::observer_seen& self, const std::vector<policy::node_seen>& all) {
    constexpr std::size_t most_questions = 4;
    constexpr duration after_answer = 5s;
    const time_point now = node_.clock().now();
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
            asked = {.heartbeat_id = *one.heartbeat_id};
        }
        time_point due = asked.asked ? *asked.asked + node_.times.keepalive : now;
        due = asked.answered ? std::max(due, *asked.answered + after_answer) : due;
        if (due > now) {
            next_question_ = std::min(next_question_.value_or(due), due);
        } else if (questions_ < most_questions) {
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
    if (has_moved) {
        asked.heard.beaten();
        co_return;
    }
    const auto read = heard ? policy::read_power(heard->status, heard->output, heard->errors) : policy::power_answer();
    asked.last = read.power;
    asked.heard.heard(read.power, node_.clock().now());
}

// ---- what was left --------------------------------------------------------------------------------------------------

std::optional<policy::victim_seen> fencer_part::victim_of(const policy::node_seen& one) const {
    const auto found = closer_.find(one.name);
    if (found == closer_.end() || !one.state_id || !one.heartbeat_id || !found->second.domain_state->known() ||
        !found->second.proof->known()) {
        return std::nullopt;
    }
    const auto& look = found->second;
    policy::victim_seen seen;
    seen.state = one.state;
    seen.state_id = *one.state_id;
    seen.heartbeat_id = *one.heartbeat_id;
    seen.is_recovering = look.domain_state->present() &&
                         model::parse_domain_state(look.domain_state->data()) == model::domain_state::fence_flush;
    const auto proof = look.proof->present() ? model::parse_fence_proof(look.proof->data()) : std::nullopt;
    if (proof) {
        const auto written = look.proof->stat().mzxid;
        seen.proof = policy::stored_proof{.record = proof->record,
                                          .by = proof->coordinator,
                                          .which = proof_of(proof->kind),
                                          .is_valid = seen.state_id <= written && seen.heartbeat_id <= written};
    }
    return seen;
}

void fencer_part::take_up_left_over(const policy::node_seen& one, bool may_detect) {
    const auto victim = victim_of(one);
    if (!victim || runs_.contains(one.name)) {
        return;
    }
    auto& look = closer_.at(one.name);
    const bool is_unsettled = victim->state == daemon_state::dead || victim->is_recovering;
    if (!is_unsettled) {
        return;
    }
    if (look.records_of != victim->state_id) {
        look.are_records_read = false;
    }
    if (!look.are_records_read) {
        if (!look.is_reading_records) {
            look.is_reading_records = true;
            scope_->spawn("records of " + one.name,
                          [this, node = one.name, state = victim->state_id, beat = victim->heartbeat_id] {
                              return read_records(node, state, beat);
                          });
        }
        return;
    }
    want_machines(machines_every);
    auto& memory = memories_[one.name];
    const time_point now = node_.clock().now();
    memory.look({.mark_id = victim->state_id,
                 .heartbeat_id = victim->heartbeat_id,
                 .is_recovering = victim->is_recovering,
                 .machines = machines_[one.name].hash},
                now);
    const auto next = policy::next_attempt({.victim = *victim,
                                            .may_detect = may_detect,
                                            .record = look.record,
                                            .is_recoverable_here = recovery_->can_recover(),
                                            .is_ours = false},
                                           memory, now);
    if (next.why) {
        begin(one, *next.why);
    }
}

async::awaitable<void> fencer_part::read_records(std::string node, std::int64_t state_id, std::int64_t heartbeat_id) {
    constexpr duration looked_back = 24h * 7;
    const auto since = node_.clock().wall_now() - looked_back;
    const auto all = co_await owner_.ledgers_.records().about(node, since);
    changed_.notify();
    const auto found = closer_.find(node);
    if (found == closer_.end()) {
        co_return;
    }
    auto& look = found->second;
    look.is_reading_records = false;
    look.are_records_read = true;
    look.records_of = state_id;
    look.record = policy::own_record::none;
    look.found.reset();
    if (!all) {
        co_return;  // a disk that does not answer: others have records, too
    }
    for (const auto& one : *all) {
        const bool is_open = one.outcome == model::fence_outcome::under_way ||
                             one.outcome == model::fence_outcome::abandoned ||
                             one.outcome == model::fence_outcome::handed_on;
        const bool is_power = one.proof && one.proof->kind == model::fence_proof_kind::power;
        if (one.coordinator != node_.self() || !is_open) {
            continue;
        }
        if (one.fenced_id == state_id && one.proof) {
            look.record = policy::own_record::fenced;
        } else if (is_power && one.proof->keepalive_id == heartbeat_id && one.proof->mark_id == state_id) {
            look.record = policy::own_record::proven;
        } else if (!one.proof && !one.fenced_id && one.keepalive_id == heartbeat_id && one.mark_id == state_id) {
            look.record = policy::own_record::opened;
        } else {
            continue;
        }
        look.found = one;
        co_return;
    }
}

// ---- attempts -------------------------------------------------------------------------------------------------------

void fencer_part::begin(const policy::node_seen& one, policy::fence_origin why) {
    if (!one.state_id || !one.heartbeat_id) {
        return;
    }
    using action = config::fence_action;
    policy::fence_attempt machine;
    machine.node = one.name;
    machine.rules = {.keepalive = node_.times.keepalive,
                     .recovers = node_.config->fencing.successful == action::migrate,
                     .recovers_after_failure = node_.config->fencing.failed == action::migrate};
    machine.origin = why;
    machine.is_coordinator = one.is_coordinator;
    machine.heartbeat_id = *one.heartbeat_id;
    machine.mark_id = *one.state_id;
    machine.silent_since = node_.clock().now() - one.silent_for;
    auto ledger = owner_.ledgers_.begin(one.name);
    const auto closer = closer_.find(one.name);
    const auto* found = closer != closer_.end() && closer->second.found ? &*closer->second.found : nullptr;
    const bool goes_on = why == policy::fence_origin::proven || why == policy::fence_origin::resumed ||
                         why == policy::fence_origin::recovering;
    if (goes_on && found != nullptr) {
        ledger->follow(found->id);
        machine.proof_words = found->proof ? found->proof->text : std::string();
    }
    if (why == policy::fence_origin::recovering) {
        const auto victim = victim_of(one);
        const bool is_word = victim && victim->proof && victim->proof->which == policy::fence_proof::operators_word;
        const bool is_own_word =
            found != nullptr && found->proof && found->proof->kind == model::fence_proof_kind::operator_word;
        wall_time proven{};
        if (found != nullptr && found->proof) {
            proven = found->proof->at.wall;
        } else if (closer != closer_.end() && closer->second.proof->present()) {
            proven = wall_time(closer->second.proof->stat().mtime);
            ledger->follow(victim && victim->proof ? victim->proof->record : std::string());
        }
        if (machine.proof_words.empty()) {
            machine.proof_words = victim && victim->proof ? fmt::format("proven by node {}, record {}",
                                                                        victim->proof->by, victim->proof->record)
                                                          : std::string("proven before");
        }
        machine.may_power_on = !is_word && !is_own_word && node_.clock().wall_now() - proven <= may_power_on_within;
    }
    auto made = std::make_shared<fence_run>(fence_tools{session_, *this, lock_, boards_, owner_.ledgers_, *recovery_},
                                            std::move(machine), std::move(ledger));
    if (const auto word = words_.find(one.name); word != words_.end()) {
        made->take_word(word->second.although_on, word->second.by);
    }
    runs_[one.name] = made;
    scope_->spawn("fence of " + one.name, [this, made] { return carry_out(made); });
}

async::awaitable<void> fencer_part::carry_out(std::shared_ptr<fence_run> which) {
    struct ending {
        fencer_part& part;
        fence_run& run;
        ~ending() {
            const auto& machine = run.machine();
            const auto end = machine.end;
            ++part.owner_.counts_->attempts.at(static_cast<std::size_t>(end));
            auto& memory = part.memories_[machine.node];
            memory.ended(end, machine.mark_id, machine.heartbeat_id, part.node_.clock().now());
            if (run.has_had_lock()) {
                memory.had_lock();
                part.words_.erase(machine.node);
            }
            if (const auto closer = part.closer_.find(machine.node); closer != part.closer_.end()) {
                closer->second.are_records_read = false;
            }
            part.runs_.erase(machine.node);
            part.give_turn();
            part.changed_.notify();
        }
    };
    bool is_locked_out = false;
    const std::string node = which->machine().node;
    {
        const ending guard{*this, *which};
        co_await which->run();
    }
    if (!which->has_had_lock()) {
        is_locked_out = memories_[node].is_locked_out(node_.clock().now());
    }
    if (is_locked_out) {
        co_await tell_locked_out(node);
    }
}

async::awaitable<void> fencer_part::tell_locked_out(std::string node) {
    const std::string path(model::key_path::fence_lock);
    std::string holder = "somebody";
    const auto all = co_await session_.zk.children(session_.limit(), path);
    if (all) {
        const auto first = model::contenders(all->names, model::lock_tag::lock);
        if (!first.empty()) {
            const auto child = co_await session_.zk.get(session_.limit(), path + "/" + first.front().name);
            holder = child && !child->data.empty() ? shown(child->data) : first.front().name;
        }
    }
    node_.log.error(message::fence_lock_awaited,
                    fmt::format("node {} is dead and has waited 300 s for {}, which {} holds", node, path, holder));
}

async::awaitable<result<void>> fencer_part::with_hold(std::string dead_node,
                                                      std::function<async::awaitable<result<void>>(fence_hold&)> body) {
    if (runs_.contains(dead_node)) {
        co_return failure(errc::refused, dead_node, "the node is being fenced or recovered here");
    }
    const auto others = session_.others.all();
    const auto found = std::ranges::find(others, dead_node, &core::other_node::name);
    const auto closer = closer_.find(dead_node);
    if (found == others.end() || !found->heartbeat_id || closer == closer_.end()) {
        co_return failure(errc::refused, dead_node, "the node is not down");
    }
    const std::int64_t mark_id = found->daemon->stat().mzxid;
    const std::int64_t heartbeat_id = *found->heartbeat_id;
    auto ledger = owner_.ledgers_.begin(dead_node);
    if (const auto proof =
            closer->second.proof->present() ? model::parse_fence_proof(closer->second.proof->data()) : std::nullopt) {
        ledger->follow(proof->record);
    }
    tending hold(*this, dead_node, ledger);
    give_turn();
    async::wakeup changed;
    const async::latest<std::uint64_t>::observer follow(changes_, changed);
    const time_point deadline = session_.limit(policy::fence_lock_limit(node_.times.keepalive));
    while (lock_.held() == nullptr || turn_ != dead_node) {
        const bool is_notified = co_await changed.wait_until(node_.clock(), deadline, "the fence lock, for leftovers");
        if (!is_notified) {
            co_return failure(errc::timed_out, dead_node, "somebody else has the fence lock, or the turn");
        }
    }
    const bool is_recorded = co_await hold.record(
        policy::fence_entry::opened{dead_node, policy::fence_origin::recovering, heartbeat_id, mark_id});
    if (!is_recorded) {
        co_return failure(errc::io, dead_node, ledger->trouble());
    }
    result<void> out = failure(errc::refused, dead_node, "the fence lock is lost");
    co_await async::with_task_group(
        "leftovers of " + dead_node, [&](async::task_group& scope) -> async::awaitable<void> {
            async::child<result<void>> work(scope, "recovery", [&] { return body(hold); }, changed);
            while (!work.has_ended() && hold.holds()) {
                co_await changed.wait(async::wait_note::work("a try at leftovers"));
            }
            if (work.has_ended()) {
                out = work.value();
            }
            scope.cancel();
        });
    hold.note(policy::fence_entry::outcome{out ? policy::fence_end::done : policy::fence_end::abandoned,
                                           out ? std::string() : out.error().text()});
    co_return out;
}

}  // namespace pvc::fencing
