#include "pvcnoded/services/systemctl_reply.hpp"

#include "pvcnoded/base/text.hpp"

#include <algorithm>
#include <string_view>

namespace pvc::services {

namespace {

constexpr int exit_not_active = 3;
constexpr int exit_no_such_unit = 4;

// The first line of what systemctl said.
std::string words(const async::process_outcome& outcome) {
    const std::string_view errors = trim(outcome.error_output);
    const std::string_view said = errors.empty() ? trim(outcome.output) : errors;
    std::string line = ascii_only(said.substr(0, std::min(said.find('\n'), longest_systemctl_cause)));
    return line.empty() ? outcome.text() : line;
}

// Of systemctl 252: the messages for a machine, or a container, without a running systemd.
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

result<void> request_reply(const std::string& unit, const async::process_outcome& outcome) {
    return outcome.succeeded() ? result<void>() : result<void>(not_done(unit, outcome));
}

result<bool> activity_reply(const std::string& unit, const async::process_outcome& outcome) {
    const auto* end = std::get_if<async::exited>(&outcome.how);
    if (end != nullptr && (end->code == 0 || end->code == exit_not_active || end->code == exit_no_such_unit)) {
        return end->code == 0;
    }
    return not_done(unit, outcome);
}

}  // namespace pvc::services
