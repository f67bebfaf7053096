#include "pvcnoded/policy/role/patroni.hpp"

#include "pvcnoded/base/text.hpp"

#include <algorithm>

namespace pvc::policy {

namespace {

constexpr std::string_view same_words = "target and source are the same";
constexpr std::string_view failed_words = "Switchover failed,";
constexpr std::string_view error_words = "Error:";

// Of standard output and then standard error, each with lines of its own.
std::string_view last_line(const patroni_run& run) {
    const std::string_view errors = trim(run.error_output);
    const std::string_view text = errors.empty() ? trim(run.output) : errors;
    const auto newline = text.find_last_of("\r\n");
    return trim(newline == std::string_view::npos ? text : text.substr(newline + 1));
}

std::string shown_part(std::string_view text) {
    return ascii_only(text.substr(0, patroni_reason_max));
}

// What it printed last, when that does not say that it failed.
std::string ended_badly(const patroni_run& run, std::string_view line) {
    std::string text = run.how_it_ended.empty() ? "it failed" : "it ended with " + shown_part(run.how_it_ended);
    return line.empty() ? text : text + ": " + shown_part(line);
}

}  // namespace

std::vector<std::string> patroni_command(std::string_view self) {
    return {"patronictl", "-c", "/etc/patroni/config.yml", "switchover", "--candidate", std::string(self),
            "--force",    "pvc"};
}

patroni_judgement judge_patroni(const patroni_run& run) {
    if (run.is_truncated) {
        return {false, "it printed more than can be judged"};
    }
    const std::string_view line = last_line(run);
    // Only the beginning decides: a line may be as long as the output.
    const std::string beginning = lower(line.substr(0, patroni_reason_max));
    if (beginning.find(same_words) != std::string::npos) {
        return {true, {}};
    }
    if (line.starts_with(failed_words) || line.starts_with(error_words)) {
        return {false, shown_part(line)};
    }
    if (run.exit_status == 0) {
        return {true, {}};
    }
    return {false, ended_badly(run, line)};
}

claiming_database::step claiming_database::run(time_point now) {
    where = at::running;
    return {ask::run, now + run_limit, "Patroni, to lead the database from this node"};
}

claiming_database::step claiming_database::pause() const {
    return {ask::wait, again_at, "another try to lead the database from this node"};
}

claiming_database::step claiming_database::take(const event& e) {
    if (e.ended && e.ended->is_ours) {
        *this = {};
        where = at::over;
        return {};
    }
    reason = e.ended ? e.ended->reason : std::string("nothing is known of it");
    tries = std::min(tries + 1, first_tries);
    is_given_up = is_given_up || e.is_missing || tries == first_tries;
    where = at::pausing;
    again_at = e.now + (is_given_up ? between_later_tries : between_first_tries);
    return pause();
}

claiming_database::step claiming_database::resume(const event& e) {
    switch (where) {
        case at::begin: return run(e.now);
        case at::running: return take(e);
        case at::pausing: return e.now < again_at ? pause() : run(e.now);
        case at::over: break;
    }
    return {};
}

}  // namespace pvc::policy
