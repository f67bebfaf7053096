// `fence list`, `fence show` and `fence probe`: what this node knows of fences, and of the boards of others; and
// `fence confirm` and `fence retry`: an operator's word that a node is off, and his order to try a fence again.
#include "answer_parts.hpp"
#include "pvcnoded/base/text.hpp"
#include "pvcnoded/control/answers.hpp"
#include "pvcnoded/core/fence_desk.hpp"
#include "pvcnoded/policy/fencing/confirm.hpp"

#include <fmt/format.h>

namespace pvc::control {

namespace json = boost::json;
using protocol::problem;

namespace {

constexpr std::size_t longest_name = 253;

std::string name_in(const protocol::request& asked, std::string_view parameter = "which") {
    const json::value* found = asked.parameters.if_contains(parameter);
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

async::awaitable<protocol::answer> answered(async::timers& clock, std::shared_ptr<core::awaited_explanation> to_come,
                                            time_point until) {
    while (!to_come->answer) {
        const bool is_told = co_await to_come->changed.wait_until(clock, until, "what is asked");
        if (!is_told && !to_come->answer) {
            co_return refuse(problem::too_late,
                             "there was no answer in time; a board may take a minute (--timeout), and "
                             "ZooKeeper may be away (see status)");
        }
    }
    if (!*to_come->answer) {
        const failure why = to_come->answer->error();
        const bool is_late = why.code() == errc::timed_out;
        co_return refuse(is_late ? problem::too_late : problem::not_found,
                         ascii_only(why.subject().substr(0, longest_name)) + ": " + why.cause());
    }
    co_return explained_answer(**to_come->answer);
}

// What became of a word is a line of the log, also where who gave it has left.
struct word_line {
    core::log_hub& log;
    std::string what;
    std::string end = "who said so left before it was answered";

    word_line(core::log_hub& to, const core::fence_word& word)
        : log(to),
          what(fmt::format("the word of {} that node {} is off{}", word.by, shown(word.node),
                           word.although_on ? ", whatever its board says" : "")) {}
    word_line(const word_line&) = delete;
    word_line& operator=(const word_line&) = delete;
    ~word_line() { log.state(what + ": " + end); }
};

}  // namespace

reply answers::fence(const protocol::request& asked) const {
    const std::string which = name_in(asked);
    if (which.empty() && asked.name != "fence list") {
        return refuse(problem::bad_request, "the parameter \"which\" is missing: a text of 1 to 253 bytes");
    }
    return reply([&of = daemon_, name = asked.name, which](time_point until) -> async::awaitable<protocol::answer> {
        const auto to_come = ask_subjects(of.subjects(), name, which, until);
        if (!to_come) {
            policy::confirm_seen seen;
            seen.coordinators = of.context().config ? of.context().config->coordinators : seen.coordinators;
            co_return refuse(problem::not_found, policy::why_not_confirmed(seen));
        }
        co_return co_await answered(of.context().clock(), to_come, until);
    });
}

// The name comes twice, so that no slip of a script's variable is taken for a word.
reply answers::confirm_fence(const protocol::request& asked, const asker& who) const {
    const std::string which = name_in(asked);
    if (which.empty()) {
        return refuse(problem::bad_request, "the parameter \"which\" is missing: the name of a node");
    }
    if (who.user != 0) {
        return refuse(problem::refused, "only root may say that a node is off");
    }
    if (name_in(asked, "is_off") != which) {
        return refuse(problem::bad_request, "the parameter \"is_off\" does not name the node again");
    }
    const json::value* over = asked.parameters.if_contains("although_on");
    if (over != nullptr && !over->is_bool()) {
        return refuse(problem::bad_request, "the parameter \"although_on\" is neither true nor false");
    }
    core::fence_word word{.node = which, .although_on = over != nullptr && over->get_bool(), .by = name_of(who)};
    return reply([&of = daemon_, word = std::move(word)](time_point until) -> async::awaitable<protocol::answer> {
        const auto& node = of.context();
        const auto found = core::all_that_are<core::fence_confirmer>(of.subjects());
        word_line line(node.log, word);
        if (found.empty() && node.config && node.mode == model::daemon_mode::hypervisor) {
            policy::confirm_seen seen;
            seen.coordinators = node.config->coordinators;
            line.end = "not taken: this node is no coordinator";
            co_return refuse(problem::not_found, policy::why_not_confirmed(seen));
        }
        if (found.empty()) {
            line.end = "not taken: the node is still starting";
            co_return refuse(problem::not_found, "nobody here takes a word yet: the node is still starting");
        }
        auto out = co_await answered(node.clock(), found.front()->confirm_fence(word, until), until);
        line.end = out.error ? "not taken: " + out.error->text : "taken";
        co_return out;
    });
}

reply answers::retry_fence(const protocol::request& asked, const asker& who) const {
    const std::string which = name_in(asked);
    if (which.empty()) {
        return refuse(problem::bad_request, "the parameter \"which\" is missing: the name of a node");
    }
    if (who.user != 0) {
        return refuse(problem::refused, "only root may have a fence tried again");
    }
    return reply([&of = daemon_, which, by = name_of(who)](time_point until) -> async::awaitable<protocol::answer> {
        const auto& node = of.context();
        const auto found = core::all_that_are<core::fence_confirmer>(of.subjects());
        if (found.empty()) {
            policy::retry_seen seen;
            seen.coordinators = node.config ? node.config->coordinators : seen.coordinators;
            const bool is_hypervisor = node.config && node.mode == model::daemon_mode::hypervisor;
            co_return refuse(problem::not_found,
                             is_hypervisor ? policy::why_not_retried(seen) : "the node is still starting");
        }
        co_return co_await answered(node.clock(), found.front()->retry_fence(which, by), until);
    });
}

}  // namespace pvc::control
