// What an operator says of a fence: that a node is off (README ruling 43), or that it is to be tried again.
#include "fencer_part.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <variant>

namespace pvc::fencing {

using namespace std::chrono_literals;

void fencer_part::confirm(core::fence_word word, time_point until, asked answer) {
    if (!session_.zk.is_connected()) {
        answer->give(failure(errc::unavailable, word.node, std::string(policy::zookeeper_is_away)));
        return;
    }
    if (scope_ == nullptr || !is_open_) {
        answer->give(failure(errc::unavailable, word.node, "this node does not run yet, or stops"));
        return;
    }
    asked_.push_back(answer);
    std::string name = "word about " + word.node;
    scope_->spawn(std::move(name), [this, word = std::move(word), until, answer = std::move(answer)] {
        return take_word(word, until, answer);
    });
}

bool fencer_part::is_recovered_here(const std::string& node) const {
    const auto run = runs_.find(node);
    return run != runs_.end() && !run->second->machine().is_let_go &&
           (run->second->machine().is_fenced || run->second->machine().proof != policy::fence_proof::none);
}

std::string fencer_part::why_not_confirmed(const core::fence_word& word, policy::board_power board,
                                           const word_note* note) const {
    const auto self = observer();
    const auto all = all_seen();
    const auto found = std::ranges::find(all, word.node, &policy::node_seen::name);
    policy::confirm_seen seen;
    seen.node = word.node;
    seen.self = node_.self();
    seen.is_coordinator = self.is_coordinator;
    std::ranges::copy_if(node_.config->coordinators, std::back_inserter(seen.coordinators),
                         [&](const auto& name) { return name != node_.self() && name != word.node; });
    seen.is_known = found != all.end() || word.node == node_.self();
    if (found != all.end()) {
        seen.state = found->state;
        seen.silent_for = found->silent_for;
        const auto victim = victim_of(*found);
        const bool is_over = victim && victim->state == model::daemon_state::fenced && !victim->is_recovering;
        const bool is_word = is_over && victim->proof && victim->proof->is_valid &&
                             victim->proof->which == policy::fence_proof::operators_word;
        seen.taken_before = is_word ? victim->proof->record + " of " + victim->proof->by : std::string();
    }
    seen.looked_for = self.connected_for;
    seen.fence_intervals = self.fence_intervals;
    seen.keepalive = self.keepalive;
    seen.board = board;
    seen.although_on = word.although_on;
    seen.is_under_way = is_recovered_here(word.node);
    seen.is_noted = note != nullptr;
    seen.ordered = note != nullptr ? note->ordered : std::nullopt;
    return policy::why_not_confirmed(seen);
}

result<core::explanation> fencer_part::retry(const std::string& node, const std::string& by) {
    if (!session_.zk.is_connected()) {
        return failure(errc::unavailable, node, std::string(policy::zookeeper_is_away));
    }
    if (scope_ == nullptr || !is_open_) {
        return failure(errc::unavailable, node, "this node does not run yet, or stops");
    }
    const auto self = observer();
    const auto all = all_seen();
    const auto found = std::ranges::find(all, node, &policy::node_seen::name);
    const auto memory = memories_.find(node);
    policy::retry_seen seen{.node = node,
                            .self = node_.self(),
                            .is_coordinator = self.is_coordinator,
                            .coordinators = {},
                            .is_known = found != all.end() || node == node_.self(),
                            .state = {},
                            .not_judging = policy::why_not_judging(self),
                            .is_under_way = runs_.contains(node)};
    std::ranges::copy_if(node_.config->coordinators, std::back_inserter(seen.coordinators),
                         [&](const auto& name) { return name != node_.self() && name != node; });
    if (found != all.end()) {
        seen.state = found->state;
        seen.has_failed = memory != memories_.end() && found->state_id && found->heartbeat_id &&
                          memory->second.has_failed_at(*found->state_id, *found->heartbeat_id);
    }
    if (const auto why = policy::why_not_retried(seen); !why.empty()) {
        return failure(seen.is_known ? errc::refused : errc::not_found, node, why);
    }
    memory->second.end_pause(node_.clock().now());
    node_.log.info(fmt::format("the fence of node {} is tried again, as {} says", node, by));
    changed_.notify();
    core::explanation told;
    told.facts = {{"node", node}, {"failed_before", static_cast<double>(memory->second.failures)}};
    return told;
}

bool fencer_part::is_proven_off(const std::string& node) const {
    const auto run = runs_.find(node);
    if (run != runs_.end() && run->second->machine().is_fenced) {
        return true;
    }
    const auto others = session_.others.all();
    const auto found = std::ranges::find(others, node, &core::other_node::name);
    const auto seen = found == others.end() ? std::nullopt : victim_of(seen_of(*found));
    return seen && seen->state == model::daemon_state::fenced && seen->proof && seen->proof->is_valid &&
           seen->proof->which != policy::fence_proof::operators_word;
}

bool fencer_part::has_word(const std::string& node) const {
    const auto found = words_.find(node);
    return found != words_.end() && (!found->second.is_late || is_proven_off(node));
}

// What a fence heard last is as young as an answer would be: a question would wait behind its own.
async::awaitable<std::optional<policy::board_power>> fencer_part::power_for_word(core::fence_word word,
                                                                                 time_point until) {
    constexpr duration again_after = 5s;  // one that ends tells nobody
    const std::string node = word.node;
    auto to = boards_.access_of(node);
    if (to.address.empty()) {  // no probe has reached it yet
        auto keys = co_await read_board_keys(session_, node);
        if (keys) {
            const auto found = co_await reach_board_of(session_, boards_, node, *std::move(keys));
            to = found ? *found : to;
        }
    }
    bool is_of_fence = false;
    async::wakeup changed;
    const async::latest<std::uint64_t>::observer follow(changes_, changed);
    while (node_.clock().now() < until) {
        const auto run = runs_.find(node);
        const auto last = run == runs_.end() ? std::nullopt : run->second->last_look();
        const bool is_asking = last && std::holds_alternative<policy::fence_ask::power>(run->second->step().what);
        if (last && (is_asking || is_of_fence)) {
            co_return last;
        }
        if (to.address.empty()) {
            co_return policy::board_power::unknown;
        }
        if (is_of_fence && run != runs_.end()) {
            co_await changed.wait_until(node_.clock(), std::min(until, node_.clock().now() + again_after),
                                        "what a fence hears of the board");
            continue;
        }
        const auto heard = co_await boards_.question(
            to, power::board_command::status, std::min<duration>(power::command_limit, until - node_.clock().now()));
        if (heard) {
            co_return policy::read_power(heard->status, heard->output, heard->errors).power;
        }
        if (heard.error().code() != errc::stopped || word.although_on) {
            co_return policy::board_power::unknown;
        }
        if (is_of_fence) {
            co_await changed.wait_until(node_.clock(), std::min(until, node_.clock().now() + 1s),
                                        "a board that a fence has");
        } else {
            is_of_fence = true;
            node_.log.info(
                fmt::format("the word of {} that node {} is off waits for what its board says to the fence "
                            "that asks it now",
                            word.by, node));
        }
    }
    co_return std::nullopt;
}

async::awaitable<void> fencer_part::take_word(core::fence_word word, time_point until, asked answer) {
    struct leaving {
        fencer_part& part;
        asked& answer;
        const std::string& node;
        bool is_taken = false;
        std::uint64_t number = 0;  // of the word, once it was given
        ~leaving() {
            const auto mine = part.words_.find(node);
            if (!is_taken && number != 0 && mine != part.words_.end() && mine->second.number == number) {
                part.words_.erase(mine);
                part.changes_.set(part.changes_.value() + 1);  // a fence that rests on it ends
            }
            std::erase(part.asked_, answer);
            if (!answer->answer) {
                answer->give(failure(errc::unavailable, node, std::string(policy::zookeeper_is_away)));
            }
        }
    };
    const std::string node = word.node;
    leaving guard{*this, answer, node};
    const auto refuse = [&](const std::string& why) { answer->give(failure(errc::refused, node, why)); };
    const bool is_known = session_.others.daemon_state(node).has_value() || node == node_.self();
    const auto at_first = why_not_confirmed(word, policy::board_power::unknown, nullptr);
    if (!at_first.empty() && !is_recovered_here(node)) {
        answer->give(failure(is_known ? errc::refused : errc::not_found, node, at_first));
        co_return;
    }
    const auto all = all_seen();
    const auto as_it_is = std::ranges::find(all, node, &policy::node_seen::name);
    const auto then = as_it_is == all.end()
                          ? policy::node_of_word()
                          : policy::node_of_word{as_it_is->heartbeat_id, as_it_is->state_id, as_it_is->state};
    // From here on no fence switches it on, whoever fences it; what was ordered before that is known.
    const auto note = co_await note_word(session_, node, until);
    if (!note) {
        answer->give(failure(errc::unavailable, node,
                             "the word could not be noted in ZooKeeper (" + note.error().text() + "): ask again"));
        co_return;
    }
    if (const auto why = why_not_confirmed(word, policy::board_power::unknown, &*note); !why.empty()) {
        node_.log.warning(message::fence_word,
                          fmt::format("node {} is not switched on by its fence, by the word of {}, which proves "
                                      "nothing: {}",
                                      node, word.by, why));
        refuse(why);
        co_return;
    }
    const auto heard = co_await power_for_word(word, until);
    if (!heard || node_.clock().now() >= until) {
        answer->give(failure(errc::timed_out, node,
                             runs_.contains(node)
                                 ? "a fence is asking its board, which has not answered yet: ask again; "
                                   "--although-on does not wait for that"
                                 : "its board has not answered yet: ask again, and wait for it (--timeout 60)"));
        co_return;
    }
    const auto power = *heard;
    if (const auto why = why_not_confirmed(word, power, &*note); !why.empty()) {
        const bool is_proven_meanwhile = is_recovered_here(node);  // it is off, and is left so
        refuse(why);
        if (!is_proven_meanwhile) {
            co_await take_note_back(session_, node, *note);
        }
        co_return;
    }
    node_.log.warning(message::fence_word, "node " + node + " is off by the word of " + word.by +
                                               ": it counts as fenced, and its machines are started elsewhere, as soon "
                                               "as this node has the fence lock");
    guard.number = ++words_given_;
    words_[node] = {.word = word, .then = then, .number = guard.number};
    if (const auto run = runs_.find(node); run != runs_.end() && !run->second->machine().is_let_go) {
        run->second->take_word(word.although_on, word.by);
    }
    async::wakeup changed;
    const async::latest<std::uint64_t>::observer follow(changes_, changed);
    look_again();
    for (std::shared_ptr<fence_run> run;;) {
        const auto found = runs_.find(node);
        // One that has only the power-on left ends for the word, and another one rests on it.
        if (found != runs_.end() && (found->second->machine().has_word || !found->second->machine().is_let_go)) {
            run = found->second;
        }
        if (run && run->machine().is_proof_recorded && run->machine().proof == policy::fence_proof::operators_word) {
            guard.is_taken = true;  // it goes with its fence
            core::explanation told;
            told.facts = {
                {"node", node}, {"record", run->ledger().now().id}, {"power", std::string(policy::to_text(power))}};
            answer->give(std::move(told));
            co_return;
        }
        const bool is_over = run && run->has_had_lock() && run->machine().where == policy::fence_attempt::at::over;
        if (is_over && run->machine().end == policy::fence_end::unrecordable) {
            answer->give(failure(errc::io, node,
                                 "the word cannot be recorded here: make room below /var/lib/pvc, or say it to another "
                                 "coordinator (" +
                                     run->ledger().trouble() + ")"));
            co_return;
        }
        if (is_over) {
            const auto& fence = run->machine();
            refuse(fence.is_fenced && fence.keeps_off
                       ? fmt::format("node {} is proven to be off already, and its machines were dealt with; it is "
                                     "not switched on afterwards, by this word",
                                     node)
                       : "its fence has ended: " + std::string(to_text(fence.end)));
            co_return;
        }
        const auto mine = words_.find(node);
        if (mine == words_.end() || mine->second.number != guard.number) {
            const bool is_back = mine == words_.end();
            const auto state = session_.others.daemon_state(node);
            refuse(!is_back ? std::string("somebody else has confirmed it since")
                   : state  ? fmt::format("it has checked in, or somebody has written its state, which is {}",
                                          to_text(*state))
                            : std::string("it was removed from the cluster"));
            if (is_back) {
                co_await take_note_back(session_, node, *note);
            }
            co_return;
        }
        const bool is_notified = co_await changed.wait_until(node_.clock(), until, "an operator's word to be recorded");
        if (!is_notified) {
            const std::string holder = other_holder();
            const bool is_node = session_.others.daemon_state(holder.substr(0, holder.find(':'))).has_value();
            const auto why = policy::why_word_waits(holder, is_node, run ? run->step().reason : std::string_view());
            words_[node].is_late = true;
            guard.is_taken = true;
            look_again();  // a fence that rests on it ends
            node_.log.warning(message::fence_word,
                              fmt::format("the word of {} that node {} is off was not taken in time, and proves "
                                          "nothing: {}. If that fence sees it off, it is left off all the same",
                                          word.by, node, why));
            answer->give(failure(errc::timed_out, node, why));
            co_return;
        }
    }
}

}  // namespace pvc::fencing
