// `fence list`, `fence show` and `fence probe`: what this node knows of fences, and of the boards of others.
#include "answer_parts.hpp"
#include "pvcnoded/base/text.hpp"
#include "pvcnoded/control/answers.hpp"
#include "pvcnoded/core/fence_desk.hpp"

namespace pvc::control {

namespace json = boost::json;
using protocol::problem;

namespace {

constexpr std::size_t longest_name = 253;

std::string name_in(const protocol::request& asked) {
    const json::value* found = asked.parameters.if_contains("which");
    const json::string* text = found == nullptr ? nullptr : found->if_string();
    return text == nullptr || text->size() > longest_name ? std::string() : std::string(text->data(), text->size());
}

// Null: nobody here answers that.
std::shared_ptr<core::awaited_explanation> ask_subjects(const core::subjects& all, const std::string& name,
                                                        const std::string& which, time_point until) {
    if (name == "fence probe") {
        const auto found = core::all_that_are<core::board_prober>(all);
        return found.empty() ? nullptr : found.front()->probe_board(which, until);
    }
    const auto found = core::all_that_are<core::fence_teller>(all);
    if (found.empty()) {
        return nullptr;
    }
    return name == "fence list" ? found.front()->list_fences(until) : found.front()->show_fence(which, until);
}

}  // namespace

reply answers::fence(const protocol::request& asked) const {
    const std::string which = name_in(asked);
    if (which.empty() && asked.name != "fence list") {
        return refuse(problem::bad_request, "the parameter \"which\" is missing: a text of 1 to 253 bytes");
    }
    return reply([&of = daemon_, name = asked.name, which](time_point until) -> async::awaitable<protocol::answer> {
        const auto to_come = ask_subjects(of.subjects(), name, which, until);
        if (!to_come) {
            co_return refuse(problem::not_found, "this node fences nobody and probes no boards: it is no coordinator");
        }
        while (!to_come->answer) {
            const bool is_told = co_await to_come->changed.wait_until(of.context().clock(), until, "what is asked");
            if (!is_told && !to_come->answer) {
                co_return refuse(problem::too_late,
                                 "there was no answer in time; a board may take a minute (--timeout)");
            }
        }
        if (!*to_come->answer) {
            const failure why = to_come->answer->error();
            const bool is_late = why.code() == errc::timed_out;
            co_return refuse(is_late ? problem::too_late : problem::not_found, why.subject() + ": " + why.cause());
        }
        co_return explained_answer(**to_come->answer);
    });
}

}  // namespace pvc::control
