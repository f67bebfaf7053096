// `tasks cancel`: ends one task that its owner lets operators end. What may be ended, and what becomes of what it did,
// is its owner's (async::task_group::spawn_cancellable); here it is only found, told to end, and waited for.
#include "answer_parts.hpp"
#include "pvcnoded/control/answers.hpp"

#include <fmt/format.h>

namespace pvc::control {

namespace json = boost::json;
using protocol::problem;

namespace {

std::string why_not(const async::task& found) {
    const std::string_view why = found.why_not_cancelled();
    if (!why.empty()) {
        return fmt::format("this task may not be cancelled: {}", why);
    }
    if (const async::task* above = found.cancellable_above()) {
        return fmt::format("this task may not be cancelled; it is a part of task {} ({}), which may be", above->id(),
                           above->name());
    }
    return "this task may not be cancelled";
}

}  // namespace

reply answers::cancel_task(const protocol::request& asked, const asker& who) const {
    const json::value* which = asked.parameters.if_contains("id");
    if (which == nullptr || !which->is_int64() || which->get_int64() < 1) {
        return refuse(problem::bad_request, "the parameter \"id\" is missing: the number of a task");
    }
    if (!who.may_change) {
        return refuse(problem::refused, "only root and the user of the daemon may cancel a task");
    }
    const auto id = static_cast<std::uint64_t>(which->get_int64());
    const auto found = daemon_.find_task(id);
    if (!found) {
        return refuse(problem::not_found, fmt::format("there is no task {} (any more)", id));
    }
    if (!found->can_be_cancelled()) {
        return refuse(problem::refused, why_not(*found));
    }
    const auto& node = daemon_.context();
    node.log.state(fmt::format("task {} ({}) is cancelled, by {}", id, found->name(), name_of(who)));
    json::object result{{"id", id}, {"name", found->name()}, {"has_ended", false}};
    auto ended = found->watch_end();
    found->cancel();
    return reply([&clock = node.clock(), ended = std::move(ended),
                  result = std::move(result)](time_point until) mutable -> async::awaitable<protocol::answer> {
        result["has_ended"] = co_await ended->wait_until(clock, until, "the end of a task that was cancelled");
        protocol::answer said;
        said.result = std::move(result);
        co_return said;
    });
}

}  // namespace pvc::control
