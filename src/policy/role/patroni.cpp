#include "pvcnoded/policy/role/patroni.hpp"

#include "pvcnoded/base/planted.hpp"
#include "pvcnoded/base/text.hpp"

#include <algorithm>
#include <array>

namespace pvc::policy {

namespace {

constexpr std::string_view same_words = "target and source are the same";
constexpr std::string_view failed_words = "Switchover failed,";
constexpr std::string_view error_words = "Error:";

// Of a library's logger, as Patroni's tools have it ("2026-01-02 03:04:05,678 - WARNING - …") or Python itself
// ("WARNING:kazoo.client:…"): it says nothing of the switchover, whenever it comes.
bool is_of_logger(std::string_view line) {
    constexpr std::array levels{std::string_view("DEBUG"), std::string_view("INFO"), std::string_view("WARNING"),
                                std::string_view("ERROR"), std::string_view("CRITICAL")};
    const auto beginning = line.substr(0, patroni_reason_max);
    const bool is_dated = !beginning.empty() && beginning.front() >= '0' && beginning.front() <= '9';
    return std::ranges::any_of(levels, [&](std::string_view level) {
        return (beginning.starts_with(level) && beginning.substr(level.size()).starts_with(":")) ||
               (is_dated && beginning.find(" - " + std::string(level) + " - ") != std::string_view::npos);
    });
}

// Each line that is not blank, without the blanks around it.
template <class Use>
void for_each_line(std::string_view text, Use use) {
    while (!text.empty()) {
        const auto end = std::min(text.find_first_of("\r\n"), text.size());
        if (const auto line = trim(text.substr(0, end)); !line.empty()) {
            use(line);
        }
        text.remove_prefix(std::min(end + 1, text.size()));
    }
}

// The last one that no logger wrote, else the last one.
std::string_view last_line_of(std::string_view text) {
    std::string_view last;
    std::string_view last_of_loggers;
    for_each_line(text, [&](std::string_view line) { (is_of_logger(line) ? last_of_loggers : last) = line; });
    return last.empty() ? last_of_loggers : last;
}

std::string_view last_line(const patroni_run& run) {
    const auto line = last_line_of(run.error_output);
    return line.empty() ? last_line_of(run.output) : line;
}

std::string shown_part(std::string_view text) {
    return ascii_only(text.substr(0, patroni_reason_max));
}

// What it printed last, when that does not say that it failed.
std::string ended_badly(const patroni_run& run, std::string_view line) {
    std::string text = run.how_it_ended.empty() ? "it failed" : "it ended with " + shown_part(run.how_it_ended);
    return line.empty() ? text : text + ": " + shown_part(line);
}

// None: the line does not tell how it went.
std::optional<patroni_judgement> said_by(std::string_view line) {
    if (is_of_logger(line)) {
        return std::nullopt;
    }
    // Only the beginning decides: a line may be as long as the output.
    if (lower(line.substr(0, patroni_reason_max)).find(same_words) != std::string::npos) {
        return patroni_judgement{true, {}};
    }
    if (line.starts_with(failed_words) || line.starts_with(error_words)) {
        return patroni_judgement{false, shown_part(line)};
    }
    return std::nullopt;
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
    // What is printed last need not be what was said: loggers write when they like, and to the other stream.
    std::optional<patroni_judgement> said;
    for (const auto text : {run.output, run.error_output}) {
        for_each_line(text, [&](std::string_view line) {
            if (auto one = said_by(line)) {
                said = *std::move(one);
            } else if (is_planted(defect::last_line_decides)) {
                said.reset();
            }
        });
    }
    if (said) {
        return *std::move(said);
    }
    if (run.exit_status == 0) {
        return {true, {}};
    }
    return {false, ended_badly(run, last_line(run))};
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
