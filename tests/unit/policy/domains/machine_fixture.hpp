// One machine that is played by hand: what is seen of the domain, what is remembered of it, and a clock, all values. A
// case answers a question and compares the next one, as text. Every resumption checks what holds for all machines:
//
// - a copy that is resumed with the same comes to the same;
// - whoever asks says why;
// - woken once more while nothing is another, it goes on waiting for the same until the same time, or reads again;
// - when it is over it asks nothing.
#pragma once

#include "pvcnoded/policy/domains/operations.hpp"

#include "machine_text.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <type_traits>
#include <utility>
#include <vector>

namespace pvc::policy {

// Text of what is seen is literal: it lives as long as any copy of it.
inline domain_seen running_here() {
    using namespace std::chrono_literals;
    domain_seen seen;
    seen.is_present = seen.is_owner = true;
    seen.state = model::vm_state::start;
    seen.node = seen.self = "hv1";
    seen.wish = {.created = 1, .state_changed = 10, .node_changed = 10};
    seen.state_version = 4;
    seen.guest = model::guest_class::alive;
    seen.shutdown_timeout = 180s;
    seen.stall_limit = 300s;
    return seen;
}

// A part that is told at each resumption whether what it does is still wanted.
template <class Part>
struct told_to_go_on {
    Part part{};
    bool goes_on = true;

    step resume(context& c) { return part.resume(c, goes_on); }
    void hold(holdings& what) const { part.hold(what); }
    friend bool operator==(const told_to_go_on&, const told_to_go_on&) = default;
};

template <class Machine>
class played {
public:
    // Everything that the next resumption depends on.
    Machine machine;
    domain_memory memory{};
    domain_seen seen = running_here();
    time_point now{std::chrono::seconds(1000)};
    step next{};
    // What changes while a question is under way is looked at when it is woken for that, not with the answer: so a live
    // move (live_move_machine_test.cpp), and a receiver that asks whose word a `stop` is.
    bool is_late_by_a_look = false;

    explicit played(Machine one = {}) : machine(std::move(one)) {}

    // Each returns what is asked next.
    std::string begin() { return says(policy::woken{}); }
    // Of a write of the running list: that it is stored.
    std::string woken() {
        return says(asked<ask::set_listed>() != nullptr ? answer(policy::yes{true}) : answer(policy::woken{}));
    }
    std::string after(duration time) {
        now += time;
        return woken();
    }
    std::string at_limit() { return after(std::max(next.until - now, duration::zero())); }
    std::string yes() { return says(policy::yes{true}); }
    std::string no() { return says(policy::yes{false}); }
    std::string nobody_knows() { return says(policy::yes{}); }
    std::string fresh() { return says(row_read{row_read::end::fresh, boot_time(std::chrono::seconds(7))}); }
    std::string unread() { return says(row_read{row_read::end::failed, {}}); }
    std::string call(call_end end, std::string text = {}) { return says(call_answer{end, std::move(text)}); }
    std::string others(std::vector<other_node> nodes) { return says(others_read{true, std::move(nodes)}); }
    std::string nodes(std::vector<std::pair<std::string, remote_answer>> said) {
        return says(nodes_asked{std::move(said)});
    }
    std::string target(remote_answer said) { return says(said); }
    std::string libvirt_silent() {
        seen.guest.reset();
        return no();
    }
    // libvirt said what is here.
    std::string guest(model::guest_class which) {
        seen.guest = which;
        return yes();
    }
    // The write that was asked for is made, and seen.
    std::string written() {
        apply_write();
        return std::holds_alternative<ask::write_started>(next.what) ? yes() : says(write_end::written);
    }
    std::string overtaken() { return says(write_end::overtaken); }
    std::string write_failed() { return says(write_end::failed); }

    // The write that was asked for is in the keys.
    void apply_write();

    // Somebody writes the keys.
    void place(model::vm_state state, std::string_view node) {
        seen.state = state;
        seen.node = node;
        seen.is_owner = node == seen.self;
        const std::int64_t change = std::max(seen.wish.state_changed, seen.wish.node_changed) + 1;
        seen.wish.state_changed = seen.wish.node_changed = change;
        ++seen.state_version;
    }
    void set(model::vm_state state) {
        seen.state = state;
        seen.wish.state_changed = std::max(seen.wish.state_changed, seen.wish.node_changed) + 1;
        ++seen.state_version;
    }
    void remove_keys() {
        seen.is_present = seen.is_owner = false;
        seen.state = model::vm_state::unknown;
        seen.node = seen.last_node = "";
    }

    std::string says(const answer& said) {
        EXPECT_TRUE(is_fitting(said)) << text_of(next, now);
        if (const auto* list = asked<ask::set_listed>()) {
            memory.listing.is_listed = list->runs;
        }
        history_.push_back({machine, memory, seen, now, next});
        Machine twin = machine;
        domain_memory twin_memory = memory;
        const outcome came = policy::resume(machine, {seen, said, now}, memory);
        const outcome again = policy::resume(twin, {seen, said, now}, twin_memory);
        next = came.next;
        last_.clear();
        for (const auto& one : came.actions) {
            last_.push_back(text_of(one));
        }
        all_.insert(all_.end(), last_.begin(), last_.end());
        questions_.push_back(text_of(next, now));
        EXPECT_TRUE(twin == machine && twin_memory == memory) << "a copy is another: " << questions_.back();
        EXPECT_EQ(text_of(again.next, now), questions_.back());
        EXPECT_TRUE(next.is_over() || !next.reason.empty()) << "no reason: " << questions_.back();
        look_again();
        return questions_.back();
    }

    template <class Question>
    [[nodiscard]] const Question* asked() const {
        return std::get_if<Question>(&next.what);
    }
    [[nodiscard]] bool is_over() const { return next.is_over(); }
    [[nodiscard]] std::string last_question() const { return questions_.empty() ? "" : questions_.back(); }
    // Of the last resumption.
    [[nodiscard]] const std::vector<std::string>& acts() const { return last_; }
    // Of all: whether one begins so, and how many do.
    [[nodiscard]] std::ptrdiff_t count(std::string_view act) const { return count_in(all_, act); }
    [[nodiscard]] bool did(std::string_view act) const { return count(act) > 0; }
    [[nodiscard]] std::ptrdiff_t count_asked(std::string_view question) const { return count_in(questions_, question); }
    [[nodiscard]] bool ever_asked(std::string_view question) const { return count_asked(question) > 0; }
    [[nodiscard]] holdings holds() const {
        holdings what;
        if constexpr (std::is_same_v<Machine, domain_machine>) {
            what = holdings_of(machine);
        } else if constexpr (requires { machine.hold(what); }) {
            machine.hold(what);
        }
        return what;
    }

    // As it was before each resumption but the first: to go on from there in another way.
    [[nodiscard]] std::vector<played> on_its_way() const {
        std::vector<played> all;
        for (std::size_t i = 1; i < history_.size(); ++i) {
            played one(history_[i].machine);
            one.memory = history_[i].memory;
            one.seen = history_[i].seen;
            one.now = history_[i].now;
            one.next = history_[i].next;
            one.is_late_by_a_look = is_late_by_a_look;
            all.push_back(std::move(one));
        }
        if (!is_over()) {
            all.push_back(*this);
            all.back().history_.clear();
            all.back().all_.clear();
            all.back().questions_.clear();
        }
        return all;
    }
    [[nodiscard]] std::string story() const {
        std::string text;
        for (const auto& one : questions_) {
            text += one + "; ";
        }
        return text;
    }

private:
    struct moment {
        Machine machine;
        domain_memory memory;
        domain_seen seen;
        time_point now;
        step next;
    };
    std::vector<moment> history_;
    std::vector<std::string> last_;
    std::vector<std::string> all_;
    std::vector<std::string> questions_;

    static std::ptrdiff_t count_in(const std::vector<std::string>& where, std::string_view words) {
        return std::ranges::count_if(where, [&](const auto& one) { return one.starts_with(words); });
    }
    [[nodiscard]] bool is_fitting(const answer& said) const;

    // Woken for nothing: it waits as before, or reads again what may have changed, and does nothing else.
    void look_again() {
        if (is_late_by_a_look) {
            return;
        }
        if (!is_over() && (!std::holds_alternative<ask::change>(next.what) || next.until <= now)) {
            return;
        }
        Machine twin = machine;
        domain_memory twin_memory = memory;
        const outcome again = policy::resume(twin, {seen, answer(policy::woken{}), now}, twin_memory);
        const std::string text = text_of(again.next, now);
        EXPECT_TRUE(again.actions.empty()) << "woken for nothing: " << text_of(again.actions.front());
        EXPECT_TRUE(twin_memory == memory) << "woken for nothing, it remembers something else";
        const bool reads = text == "others" || text == "contenders" || text == "whose_stop";
        EXPECT_TRUE(reads || twin == machine) << "woken for nothing, it is another: " << text;
        EXPECT_TRUE(text == questions_.back() || reads) << questions_.back() << ", woken for nothing: " << text;
    }
};

// The alternative of `answer` that the question names (requests.hpp).
template <class Answer>
[[nodiscard]] std::size_t index_of_answer() {
    return answer(Answer{}).index();
}
[[nodiscard]] inline std::size_t fitting_answer(const ask::any& what) {
    static const std::array<std::size_t, std::variant_size_v<ask::any>> table{
        index_of_answer<woken>(),         index_of_answer<woken>(),
        index_of_answer<woken>(),         index_of_answer<row_read>(),
        index_of_answer<write_end>(),     index_of_answer<write_end>(),
        index_of_answer<write_end>(),     index_of_answer<yes>(),
        index_of_answer<yes>(),           index_of_answer<yes>(),
        index_of_answer<wishes_read>(),   index_of_answer<yes>(),
        index_of_answer<others_read>(),   index_of_answer<yes>(),
        index_of_answer<yes>(),           index_of_answer<yes>(),
        index_of_answer<remote_answer>(), index_of_answer<nodes_asked>(),
        index_of_answer<yes>(),           index_of_answer<call_answer>(),
        index_of_answer<call_answer>(),   index_of_answer<call_answer>(),
        index_of_answer<progress_read>(), index_of_answer<call_answer>(),
        index_of_answer<rbd_judged>(),    index_of_answer<rbd_listed>(),
        index_of_answer<call_answer>(),   index_of_answer<disk_users_read>(),
        index_of_answer<call_answer>(),   index_of_answer<contenders_read>(),
        index_of_answer<yes>(),           index_of_answer<keys_compared>(),
        index_of_answer<write_end>(),     index_of_answer<definition_read>(),
        index_of_answer<call_answer>(),   index_of_answer<woken>(),
        index_of_answer<yes>(),           index_of_answer<write_end>(),
        index_of_answer<yes>(),           index_of_answer<yes>(),
        index_of_answer<woken>(),         index_of_answer<yes>(),
        index_of_answer<call_answer>(),   index_of_answer<yes>(),
        index_of_answer<yes>(),           index_of_answer<yes>()};
    return table.at(what.index());
}

template <class Machine>
bool played<Machine>::is_fitting(const answer& said) const {
    return said.index() == fitting_answer(next.what);
}

template <class Machine>
void played<Machine>::apply_write() {
    // Names that are written: literals, as in a case.
    static constexpr std::array<std::string_view, 4> names{"hv1", "hv2", "hv3", ""};
    const auto literal = [](const std::string& name) {
        const auto* found = std::ranges::find(names, name);
        return found == names.end() ? std::string_view("hv4") : *found;
    };
    if (const auto* state = asked<ask::write_state>()) {
        set(state->state);
        seen.is_handed_over = state->sync == sync_word::handed_over;
    } else if (const auto* placement = asked<ask::write_placement>()) {
        place(placement->state, literal(placement->node));
        seen.last_node = literal(placement->last_node);
    } else if (const auto* last = asked<ask::write_last_node>()) {
        seen.last_node = literal(last->last_node);
        place(seen.state, seen.node);
    } else if (const auto* back = asked<ask::take_back>()) {
        place(model::vm_state::start, literal(back->node));
    } else if (asked<ask::write_started>() != nullptr) {
        set(model::vm_state::start);
    } else if (asked<ask::write_failed>() != nullptr) {
        set(model::vm_state::fail);
    } else {
        ADD_FAILURE() << "no write was asked for: " << last_question();
    }
}

}  // namespace pvc::policy
