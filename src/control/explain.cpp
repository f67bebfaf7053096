// `explain TOPIC`: whoever offers the topic says which rule decides now, and what would come of it.
#include "answer_parts.hpp"
#include "pvcnoded/base/text.hpp"
#include "pvcnoded/control/answers.hpp"
#include "pvcnoded/policy/fencing/confirm.hpp"

#include <boost/json/array.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace pvc::control {

namespace json = boost::json;
using protocol::problem;

namespace {

json::value value_of(const core::explained_value& what) {
    if (const auto* is_so = std::get_if<bool>(&what)) {
        return *is_so;
    }
    if (const auto* number = std::get_if<double>(&what)) {
        constexpr double largest_whole = 9e15;  // what a double holds exactly
        // Whole numbers as such: the others are written with an exponent.
        return *number == std::floor(*number) && std::abs(*number) < largest_whole
                   ? json::value(static_cast<std::int64_t>(*number))
                   : json::value(*number);
    }
    const auto* text = std::get_if<std::string>(&what);
    return text == nullptr ? json::value() : json::value(*text);
}

json::object object_of(const core::explained_fields& fields) {
    json::object out;
    for (const auto& [name, value] : fields) {
        out[name] = value_of(value);
    }
    return out;
}

protocol::answer answer_of(const result<core::explanation>& got) {
    if (!got) {
        const failure why = got.error();
        const bool is_late = why.code() == errc::timed_out;
        // What is away, or late, is said in whole sentences.
        const bool is_said = (why.code() == errc::unavailable || is_late) && !why.cause().empty();
        return refuse(is_late ? problem::too_late : problem::not_found,
                      "it cannot be explained now: " + (is_said ? why.cause() : why.text()));
    }
    return explained_answer(*got);
}

// No node but a coordinator has a part that fences: nobody is judged here, and who judges is named.
protocol::answer answer_of_hypervisor(const std::string& topic, const std::vector<std::string>& coordinators) {
    policy::confirm_seen seen;
    seen.coordinators = coordinators;
    const auto why = policy::why_not_confirmed(seen);
    if (topic != "fences") {
        return refuse(problem::not_found, why);
    }
    core::explanation said;
    said.facts = {{"judges", false},
                  {"judges_not_because", why},
                  {"has_fence_lock", false},
                  {"fence_lock_of_another", core::explained_value()},
                  {"turn", core::explained_value()}};
    said.lists.emplace_back("nodes", std::vector<core::explained_fields>());
    return explained_answer(said);
}

}  // namespace

protocol::answer explained_answer(const core::explanation& what) {
    protocol::answer said;
    said.result = object_of(what.facts);
    for (const auto& [name, rows] : what.lists) {
        json::array list;
        for (const auto& row : rows) {
            list.push_back(object_of(row));
        }
        said.result[name] = std::move(list);
    }
    return said;
}

// Asked when the answer is waited for, and not kept: a subject lives as long as an attempt.
reply answers::explain(const protocol::request& asked) const {
    const std::string topic = asked.name.substr(asked.name.find(' ') + 1);
    return reply([&of = daemon_, topic](time_point until) -> async::awaitable<protocol::answer> {
        const auto all = core::all_that_are<core::explainer>(of.subjects());
        const auto found = std::ranges::find(all, topic, [](const auto* one) { return one->topic(); });
        const auto& node = of.context();
        const bool is_hypervisor = node.config && node.mode == model::daemon_mode::hypervisor;
        if (found == all.end() && is_hypervisor && (topic == "fences" || topic == "capacity")) {
            co_return answer_of_hypervisor(topic, node.config->coordinators);
        }
        if (found == all.end()) {
            co_return refuse(problem::not_found, "nobody explains \"" + shown(topic) +
                                                     "\" here: the node is still starting, or has no part that does");
        }
        const auto to_come = (*found)->explain(until);
        while (!to_come->answer) {
            const bool is_told =
                co_await to_come->changed.wait_until(of.context().clock(), until, "what a subject explains");
            if (!is_told && !to_come->answer) {
                co_return refuse(problem::too_late, "it could not be read in time; is ZooKeeper away?");
            }
        }
        co_return answer_of(*to_come->answer);
    });
}

}  // namespace pvc::control
