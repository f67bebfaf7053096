// What an operator says of a fence: that a node is off (README ruling 43), or that it is to be tried again.
#include "fencer_part.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <variant>

namespace pvc::fencing {

void fencer_part::confirm(core::fence_word word, time_point until, asked answer) {
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

std::string fencer_part::why_not_confirmed(const core::fence_word& word, policy::board_power board) const {
    const auto self = observer();
    const auto all = all_seen();
    const auto found = std::ranges::find(all, word.node, &policy::node_seen::name);
    const auto run = runs_.find(word.node);
    policy::confirm_seen seen;
    seen.node = word.node;
    seen.self = node_.self();
    seen.is_coordinator = self.is_coordinator;
    std::ranges::copy_if(node_.config->coordinators, std::back_inserter(seen.coordinators),
                         [&](const auto& name) { return name != node_.self(); });
    seen.is_known = found != all.end() || word.node == node_.self();
    if (found != all.end()) {
        seen.state = found->state;
        seen.silent_for = found->silent_for;
    }
    seen.looked_for = self.connected_for;
    seen.fence_intervals = self.fence_intervals;
    seen.keepalive = self.keepalive;
    seen.board = board;
    seen.although_on = word.although_on;
    seen.is_under_way = run != runs_.end() && !run->second->machine().is_let_go &&
                        (run->second->machine().is_fenced || run->second->machine().proof != policy::fence_proof::none);
    return policy::why_not_confirmed(seen);
}

result<core::explanation> fencer_part::retry(const std::string& node, const std::string& by) {
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
                         [&](const auto& name) { return name != node_.self(); });
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
                answer->give(failure(errc::unavailable, node, "the ZooKeeper session has ended"));
            }
        }
    };
    const std::string node = word.node;
    leaving guard{*this, answer, node};
    const auto refuse = [&](const std::string& why) { answer->give(failure(errc::refused, node, why)); };
    const bool is_known = session_.others.daemon_state(node).has_value() || node == node_.self();
    if (const auto why = why_not_confirmed(word, policy::board_power::unknown); !why.empty()) {
        answer->give(failure(is_known ? errc::refused : errc::not_found, node, why));
        co_return;
    }
    auto power = policy::board_power::unknown;
    auto to = boards_.access_of(node);
    if (to.address.empty()) {  // no probe has reached it yet
        auto keys = co_await read_board_keys(session_, node);
        if (keys) {
            const auto found = co_await reach_board_of(session_, boards_, node, *std::move(keys));
            to = found ? *found : to;
        }
    }
    const auto at_board = runs_.find(node);
    const bool has_fence_asked = at_board != runs_.end() && at_board->second->last_look() &&
                                 std::holds_alternative<policy::fence_ask::power>(at_board->second->step().what);
    if (has_fence_asked) {
        power = *at_board->second->last_look();  // the question would wait behind that of the fence
    } else if (!to.address.empty()) {
        const auto heard = co_await boards_.question(to, power::board_command::status);
        if (!heard && heard.error().code() == errc::stopped) {
            // A fence has the board: what it heard last is as young as an answer would be.
            const auto run = runs_.find(node);
            const auto last = run == runs_.end() ? std::nullopt : run->second->last_look();
            if (!last && !word.although_on) {
                refuse("a fence is asking its board now: ask again; --although-on does not wait for that");
                co_return;
            }
            power = last.value_or(power);
        }
        power = heard ? policy::read_power(heard->status, heard->output, heard->errors).power : power;
    }
    if (const auto why = why_not_confirmed(word, power); !why.empty()) {
        refuse(why);
        co_return;
    }
    if (node_.clock().now() >= until) {
        answer->give(failure(errc::timed_out, node));
        co_return;
    }
    node_.log.warning(message::fence_word, "node " + node + " is off by the word of " + word.by +
                                               ": it counts as fenced, and its machines are started elsewhere, as soon "
                                               "as this node has the fence lock");
    guard.number = ++words_given_;
    const auto all = all_seen();
    const auto as_it_is = std::ranges::find(all, node, &policy::node_seen::name);
    const auto then = as_it_is == all.end()
                          ? policy::node_of_word()
                          : policy::node_of_word{as_it_is->heartbeat_id, as_it_is->state_id, as_it_is->state};
    words_[node] = {word, then, guard.number};
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
            refuse("its fence has ended: " + std::string(to_text(run->machine().end)));
            co_return;
        }
        const auto mine = words_.find(node);
        if (mine == words_.end() || mine->second.number != guard.number) {
            refuse(mine == words_.end() ? "it has checked in since" : "somebody else has confirmed it since");
            co_return;
        }
        const bool is_notified = co_await changed.wait_until(node_.clock(), until, "an operator's word to be recorded");
        if (!is_notified) {
            answer->give(
                failure(errc::timed_out, node,
                        policy::why_word_waits(other_holder(), run ? run->step().reason : std::string_view())));
            co_return;
        }
    }
}

}  // namespace pvc::fencing
