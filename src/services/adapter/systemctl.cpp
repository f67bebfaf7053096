#include "pvcnoded/services/adapter/systemctl.hpp"

#include "pvcnoded/services/systemctl_reply.hpp"

#include <algorithm>
#include <iterator>

namespace pvc::services {

async::awaitable<result<async::process_outcome>> systemctl::call(std::string unit, std::vector<std::string> arguments) {
    async::command what{std::move(arguments)};
    what.environment.emplace_back("LC_ALL", "C");
    async::process_limits limits;
    limits.time = limit_;
    limits.grace = grace;
    auto outcome = co_await processes_.run(std::move(what), limits);
    if (!outcome && outcome.error().code() != errc::timed_out) {
        co_return failure(errc::unavailable, unit, outcome.error().text());
    }
    co_return outcome;
}

async::awaitable<result<void>> systemctl::request(std::vector<std::string> verb, std::string unit) {
    std::vector<std::string> arguments{"systemctl"};
    std::ranges::move(verb, std::back_inserter(arguments));
    arguments.insert(arguments.end(), {"--no-block", unit});
    PVC_CO_TRY(const auto outcome, co_await call(unit, std::move(arguments)));
    co_return request_reply(unit, outcome);
}

async::awaitable<result<void>> systemctl::start(std::string unit) {
    return request({"start"}, std::move(unit));
}

async::awaitable<result<void>> systemctl::restart(std::string unit) {
    return request({"restart"}, std::move(unit));
}

async::awaitable<result<void>> systemctl::stop(std::string unit) {
    return request({"stop"}, std::move(unit));
}

async::awaitable<result<void>> systemctl::enable_now(std::string unit) {
    return request({"enable", "--now"}, std::move(unit));
}

async::awaitable<result<void>> systemctl::disable_now(std::string unit) {
    return request({"disable", "--now"}, std::move(unit));
}

async::awaitable<result<bool>> systemctl::is_active(std::string unit) {
    std::vector<std::string> arguments{"systemctl", "is-active", unit};
    PVC_CO_TRY(const auto outcome, co_await call(unit, std::move(arguments)));
    co_return activity_reply(unit, outcome);
}

}  // namespace pvc::services
