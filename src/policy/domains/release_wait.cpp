#include "pvcnoded/policy/domains/release_wait.hpp"

#include "pvcnoded/base/planted.hpp"

#include <algorithm>

namespace pvc::policy {

using namespace std::chrono_literals;
using model::daemon_state;

namespace {
constexpr duration look_again_after = 5s;
constexpr duration read_again = 1s;
}  // namespace

bool may_be_a_node(std::string_view name) {
    return !name.empty() && name.find('/') == std::string_view::npos && name != "." && name != "..";
}

step release_wait::finish(outcome how, std::string of) {
    where = at::over;
    end = how;
    node = std::move(of);
    return over();
}

step release_wait::read() {
    where = at::reading;
    return {ask::others{}, time_point::max(), "the other nodes' running lists"};
}

// Who has it in his list, and whose list counts.
step release_wait::sort(context& c, const std::vector<other_node>& others) {
    holders.clear();
    stopped.clear();
    for (const auto& one : others) {
        if (one.name == rules.receiver) {
            continue;
        }
        const bool counts = one.daemon == daemon_state::run || one.daemon == daemon_state::init ||
                            one.daemon == daemon_state::shutdown ||
                            (rules.includes_stopped && one.daemon != daemon_state::fenced);
        if (one.lists_it && counts && !does_not_have_it.contains(one.name)) {
            holders.push_back(one.name);
        } else if (one.lists_it && !counts && one.daemon == daemon_state::stop) {
            stopped.push_back(one.name);
        }
    }
    // A node whose daemon was stopped in order may still run it. Only its own word counts, as it may as well be off,
    // unless the domain was seen to run there and has not been off since, or its libvirtd is there and hangs: then what
    // it was told to create it may yet create.
    if (!stopped.empty() && c.now >= next_look_at_stopped) {
        next_look_at_stopped = c.now + look_again_after;
        where = at::asking_stopped;
        return {ask::nodes{stopped}, time_point::max(), "the hypervisors of stopped nodes that list it"};
    }
    return weigh(c);
}

void release_wait::take_stopped(context& c) {
    still_there.clear();
    for (const auto& [name, answer] : c.answer_as<nodes_asked>().answers) {
        const bool ran_there = c.seen.came_from == name;
        const bool may_have_it = !is_no_answer(answer) || answer == remote_answer::hanging || ran_there;
        if (answer != remote_answer::absent && may_have_it) {
            still_there.insert(name);
        }
    }
}

step release_wait::weigh(context& c) {
    std::ranges::copy_if(stopped, std::back_inserter(holders),
                         [this](const auto& one) { return still_there.contains(one); });
    if (holders.empty()) {
        return finish(outcome::clear);
    }
    if (!std::exchange(told, true)) {
        c.info("waiting: node " + holders.front() + " still has it in its running list");
    }
    if (c.now >= next_question) {
        next_question = c.now + look_again_after;
        where = at::asking_holders;
        return {ask::nodes{holders}, time_point::max(), "the hypervisors of nodes that list it"};
    }
    return wait(c);
}

step release_wait::wait(context& c) {
    if (rules.give_up_after && c.now >= began + *rules.give_up_after) {
        return finish(outcome::still_there, holders.front());
    }
    for (const auto& one : holders) {
        if (std::ranges::find(followed, one) == followed.end()) {
            followed.push_back(one);
        }
    }
    time_point until = next_question;
    if (!stopped.empty()) {
        until = std::min(until, next_look_at_stopped);
    }
    if (rules.give_up_after) {
        until = std::min(until, began + *rules.give_up_after);
    }
    where = at::waiting;
    return {ask::change{}, until, "another node to let go of it"};
}

step release_wait::resume(context& c, bool goes_on) {
    if (where == at::begin && is_planted(defect::placement_unchecked)) {
        return finish(outcome::clear);
    }
    if (where != at::begin && where != at::over && !goes_on) {
        return finish(outcome::changed);
    }
    switch (where) {
        case at::begin:
            began = next_look_at_stopped = c.now;
            next_question = c.now + rules.ask_after;
            return read();
        case at::reading: {
            const auto& others = c.answer_as<others_read>();
            if (!others.is_known) {
                where = at::pausing;
                return {ask::change{}, c.now + read_again, "the other nodes' running lists"};
            }
            return sort(c, others.nodes);
        }
        case at::asking_stopped: take_stopped(c); return weigh(c);
        case at::asking_holders:
            for (const auto& [name, answer] : c.answer_as<nodes_asked>().answers) {
                if (answer == remote_answer::absent) {
                    does_not_have_it.insert(name);
                }
            }
            if (std::ranges::all_of(holders, [this](const auto& one) { return does_not_have_it.contains(one); })) {
                return read();  // look at the lists once more: somebody else may have it by now
            }
            return wait(c);
        case at::pausing:
        case at::waiting: return read();
        case at::over: break;
    }
    return over();
}

}  // namespace pvc::policy
