#include "pvcnoded/policy/fencing/power_answer.hpp"

#include "pvcnoded/base/planted.hpp"
#include "pvcnoded/base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace pvc::policy {

namespace {

constexpr std::string_view states_power = "chassis power is ";
constexpr std::size_t longest_line = 120;
constexpr std::string_view refused_privilege = "set session privilege level to administrator failed";

std::string lower_case(std::string_view text) {
    std::string lower(text);
    std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return lower;
}

std::string_view next_line(std::string_view& rest) {
    const auto end = rest.find('\n');
    const auto line = rest.substr(0, end);
    rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
    return trim(line);
}

std::string first_line_of(std::string_view text) {
    while (!text.empty()) {
        if (const auto line = next_line(text); !line.empty()) {
            return shown(line.substr(0, longest_line));
        }
    }
    return {};
}

struct lines_about_power {
    int on = 0;
    int off = 0;
    std::string first;     // of all lines about the power, as it is shown
    std::string second;    // likewise
    bool is_else = false;  // a line about the power that says neither
};

lines_about_power lines_in(std::string_view output) {
    lines_about_power found;
    while (!output.empty()) {
        const auto line = next_line(output);
        // Longer lines are no answer, whatever they begin with.
        if (line.size() < states_power.size() || lower_case(line.substr(0, states_power.size())) != states_power) {
            continue;
        }
        (found.first.empty() ? found.first : found.second) = shown(line);
        auto word = line.size() > longest_line ? std::string() : lower_case(line.substr(states_power.size()));
        if (is_planted(defect::power_by_letter_case) && !line.ends_with("Off") && word == "off") {
            word = "Off";
        }
        found.on += word == "on" ? 1 : 0;
        found.off += word == "off" ? 1 : 0;
        found.is_else = found.is_else || (word != "on" && word != "off");
    }
    return found;
}

std::string why_unknown(std::optional<int> status, std::string_view output, std::string_view errors) {
    const auto said = first_line_of(errors).empty() ? first_line_of(output) : first_line_of(errors);
    if (!status) {
        return said.empty() ? "it did not end by itself" : "it did not end by itself, and said: " + said;
    }
    if (*status != 0) {
        return said.empty() ? fmt::format("exit status {}", *status) : fmt::format("exit status {}, {}", *status, said);
    }
    const auto found = lines_in(output);
    if (!found.second.empty()) {
        return fmt::format("more than one answer: \"{}\", \"{}\"", found.first, found.second);
    }
    return said.empty() ? "it said nothing"
                        : fmt::format("expected \"Chassis Power is on\" or \"off\", got \"{}\"", first_line_of(output));
}

}  // namespace

std::string_view to_text(board_power what) {
    switch (what) {
        case board_power::on: return "on";
        case board_power::off: return "off";
        case board_power::unknown: break;
    }
    return "unknown";
}

power_answer read_power(std::optional<int> status, std::string_view output, std::string_view errors) {
    const auto found = lines_in(output);
    if (status == 0 && !found.is_else && found.on + found.off == 1) {
        return {.power = found.on == 1 ? board_power::on : board_power::off, .why = {}, .needs_operator = false};
    }
    const bool is_refused = lower_case(errors).find(refused_privilege) != std::string::npos;
    return {.power = board_power::unknown, .why = why_unknown(status, output, errors), .needs_operator = is_refused};
}

void off_watch::beaten() {
    heard_on_ = false;
    has_beaten_ = true;
    first_off_.reset();
    last_off_.reset();
}

void off_watch::heard(board_power what, time_point at) {
    if (what != board_power::off) {
        heard_on_ = what == board_power::on;
        first_off_.reset();
        last_off_.reset();
        return;
    }
    if (!first_off_ || at - *last_off_ > in_a_row) {
        first_off_ = at;
    }
    last_off_ = at;
}

bool off_watch::is_off() const {
    if (!first_off_) {
        return false;
    }
    return (is_accepted_ && heard_on_ && !has_beaten_) || *last_off_ - *first_off_ >= apart;
}

}  // namespace pvc::policy
