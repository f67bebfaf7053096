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
    // A node whose daemon was stopped in order may still run it, or make it yet: only its hypervisor's own word says
    // that it does not (README ruling 89).
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
        if (answer != remote_answer::absent) {
            still_there.insert(name);
        }
    }
}

bool release_wait::is_stopped(const std::string& name) const {
    return std::ranges::find(stopped, name) != stopped.end();
}

// A wait that may last is told as one.
void release_wait::tell(context& c) {
    const std::string& first = holders.front();
    if (is_stopped(first) && !std::exchange(told_stopped, true)) {
        c.info("waiting: node " + first +
               ", whose daemon is stopped, has it in its running list, and its libvirt does not say that it is off");
    } else if (!is_stopped(first) && !std::exchange(told, true)) {
        c.info("waiting: node " + first + " still has it in its running list");
    }
}

step release_wait::weigh(context& c) {
    std::ranges::copy_if(stopped, std::back_inserter(holders),
                         [this](const auto& one) { return still_there.contains(one); });
    if (holders.empty()) {
        return finish(outcome::clear);
    }
    tell(c);
    if (c.now >= next_question) {
        next_question = c.now + look_again_after;
        where = at::asking_holders;
        return {ask::nodes{holders}, time_point::max(), "the hypervisors of nodes that list it"};
    }
    return wait(c);
}

step release_wait::wait(context& c) {
    // Nobody sees to what a stopped node has: that is no failure of the domain, and waited for as long as it lasts.
    const bool is_at_work = !is_stopped(holders.front());
    held_since = is_at_work ? std::optional(held_since.value_or(c.now)) : std::nullopt;
    const auto give_up_at =
        is_at_work && rules.give_up_after ? std::optional(*held_since + *rules.give_up_after) : std::nullopt;
    if (give_up_at && c.now >= *give_up_at) {
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
    if (give_up_at) {
        until = std::min(until, *give_up_at);
    }
    where = at::waiting;
    return {ask::change{}, until, "another node to let go of it"};
}

std::string release_wait::stopped_holder() const {
    return where == at::waiting && is_stopped(holders.front()) ? holders.front() : std::string();
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
            held_since = next_look_at_stopped = c.now;
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
