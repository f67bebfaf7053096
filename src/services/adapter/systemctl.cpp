#include "pvcnoded/services/adapter/systemctl.hpp"

#include "pvcnoded/base/text.hpp"

#include <algorithm>
#include <string_view>

namespace pvc::services {

namespace {

constexpr std::size_t longest_cause = 300;
constexpr int exit_not_active = 3;
constexpr int exit_no_such_unit = 4;

// The first line of what systemctl said.
std::string words(const async::process_outcome& outcome) {
    const std::string_view errors = trim(outcome.error_output);
    const std::string_view said = errors.empty() ? trim(outcome.output) : errors;
    std::string line = ascii_only(said.substr(0, std::min(said.find('\n'), longest_cause)));
    return line.empty() ? outcome.text() : line;
}

// systemd 252, src/systemctl: the messages for a machine, or a container, without a running systemd.
bool no_manager(std::string_view said) {
    return said.find("not been booted with systemd") != std::string_view::npos ||
           said.find("Failed to connect to bus") != std::string_view::npos;
}

failure not_done(const std::string& unit, const async::process_outcome& outcome) {
    if (std::holds_alternative<async::timed_out>(outcome.how)) {
        return failure(errc::timed_out, unit, "systemctl does not answer");
    }
    std::string said = words(outcome);
    const bool is_answer = std::holds_alternative<async::exited>(outcome.how) && !no_manager(said);
    return failure(is_answer ? errc::refused : errc::unavailable, unit, std::move(said));
}

}  // namespace

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

async::awaitable<result<void>> systemctl::request(std::string verb, std::string unit) {
    std::vector<std::string> arguments{"systemctl", std::move(verb), "--no-block", unit};
    PVC_CO_TRY(const auto outcome, co_await call(unit, std::move(arguments)));
    if (!outcome.succeeded()) {
        co_return not_done(unit, outcome);
    }
    co_return result<void>();
}

async::awaitable<result<void>> systemctl::start(std::string unit) {
    return request("start", std::move(unit));
}

async::awaitable<result<void>> systemctl::restart(std::string unit) {
    return request("restart", std::move(unit));
}

async::awaitable<result<void>> systemctl::stop(std::string unit) {
    return request("stop", std::move(unit));
}

async::awaitable<result<bool>> systemctl::is_active(std::string unit) {
    std::vector<std::string> arguments{"systemctl", "is-active", unit};
    PVC_CO_TRY(const auto outcome, co_await call(unit, std::move(arguments)));
    const auto* end = std::get_if<async::exited>(&outcome.how);
    if (end != nullptr && (end->code == 0 || end->code == exit_not_active || end->code == exit_no_such_unit)) {
        co_return end->code == 0;
    }
    co_return not_done(unit, outcome);
}

}  // namespace pvc::services
