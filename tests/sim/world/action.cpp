#include "sim/world/action.hpp"

#include "pvcnoded/base/assert.hpp"
#include "pvcnoded/base/text.hpp"
#include "sim/world/registry.hpp"
#include "sim/world/words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace pvc::sim {

using namespace std::chrono_literals;

namespace {

constexpr std::uint64_t steps_max = 1'000'000;
constexpr std::int64_t hours_max = 20'000;  // of one duration: a script of many still fits the clock

template <class Number>
std::optional<Number> parse_number(std::string_view text) {
    Number value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

failure expected(const action_kind& info, std::string_view what, std::string_view got) {
    return failure(errc::invalid, std::string(info.name), fmt::format("expected {}, got \"{}\"", what, got));
}

// The words behind the arguments: "for 10s", "after 5 steps".
result<void> parse_suffix(const action_kind& info, std::string_view rest, action& out) {
    while (!rest.empty()) {
        const auto word = next_word(rest);
        const auto argument = next_word(rest);
        if (word == "for" && info.can_last) {
            out.lasts = parse_duration(argument);
            if (!out.lasts || *out.lasts < duration::zero()) {
                return expected(info, "a duration after `for`", argument);
            }
        } else if (word == "after") {
            const auto steps = parse_number<std::uint64_t>(argument);
            if (!steps || next_word(rest) != "steps") {
                return expected(info, "`after N steps`", argument);
            }
            out.after_steps = *steps;
        } else {
            return expected(info, info.can_last ? "`for DURATION` or `after N steps`" : "`after N steps`", word);
        }
    }
    return {};
}

result<void> parse_argument(const action_kind& info, char kind, std::string_view& rest, action& out) {
    if (kind == 'v') {
        // To the end of the line, but for `after N steps`; `for` belongs to the value unless the kind can last.
        const auto after = rest.ends_with(" steps") ? rest.rfind(" after ") : std::string_view::npos;
        const auto lasts = info.can_last ? rest.find(" for ") : std::string_view::npos;
        const auto end = std::min({after, lasts, rest.size()});
        out.value = std::string(trim(rest.substr(0, end)));
        rest = rest.substr(end);
        return {};
    }
    const auto word = next_word(rest);
    if (word.empty()) {
        return expected(info,
                        kind == 'n'   ? "a node"
                        : kind == 'd' ? "a duration"
                        : kind == 'p' ? "a path"
                                      : "a number",
                        "the end of the line");
    }
    if (kind == 'n') {
        out.node = std::string(word);
    } else if (kind == 'p') {
        if (!word.starts_with('/')) {
            return expected(info, "a path that begins with /", word);
        }
        out.path = std::string(word);
    } else if (kind == 'd') {
        const auto time = parse_duration(word);
        if (!time) {
            return expected(info, "a duration like 1.5s or 20ms", word);
        }
        out.amount = *time;
    } else {
        const auto number = parse_number<std::int64_t>(word);
        if (!number) {
            return expected(info, "a number", word);
        }
        out.number = *number;
    }
    return {};
}

// What a script may ask for without the simulation itself giving way.
result<void> check_bounds(const action_kind& info, const action& what) {
    if (info.numbers && (what.number < info.numbers->first || what.number > info.numbers->second)) {
        return expected(info, fmt::format("{} to {}", info.numbers->first, info.numbers->second),
                        std::to_string(what.number));
    }
    if (!info.may_go_back && what.amount < duration::zero()) {
        return expected(info, "a time that is not negative", duration_text(what.amount));
    }
    if (what.after_steps > steps_max) {
        return expected(info, fmt::format("at most {} steps", steps_max), std::to_string(what.after_steps));
    }
    if (info.words && what.value != info.words->first && what.value != info.words->second) {
        return expected(info, fmt::format("{} or {}", info.words->first, info.words->second), what.value);
    }
    const std::string_view path = what.path;
    const bool is_odd = path.ends_with('/') || path.find("//") != std::string_view::npos ||
                        (std::string(path) + "/").find("/./") != std::string_view::npos ||
                        (std::string(path) + "/").find("/../") != std::string_view::npos || path == "/zookeeper" ||
                        path.starts_with("/zookeeper/");
    if (!path.empty() && is_odd) {
        return expected(info, "the path of a key of the cluster", path);
    }
    return {};
}

}  // namespace

action::action(std::string_view name, std::string whom) : kind(all_subjects().find(name)), node(std::move(whom)) {
    PVC_ASSERT(kind != nullptr);
}

std::string to_text(const action& what) {
    const auto& info = *what.kind;
    std::string line(info.name);
    for (const char kind : info.takes) {
        line += ' ';
        switch (kind) {
            case 'n': line += what.node; break;
            case 'd': line += duration_text(what.amount); break;
            case 'i': line += std::to_string(what.number); break;
            case 'p': line += what.path; break;
            default: line += what.value; break;
        }
    }
    if (what.lasts) {
        line += " for " + duration_text(*what.lasts);
    }
    if (what.after_steps > 0) {
        line += fmt::format(" after {} steps", what.after_steps);
    }
    return line;
}

result<action> parse_action(std::string_view line) {
    std::string_view rest = line;
    const auto name = next_word(rest);
    const action_kind* const found = all_subjects().find(name);
    if (found == nullptr) {
        return failure(errc::invalid, ascii_only(name.substr(0, 40)), "no such action (`pvcnoded-sim list` has all)");
    }
    action out(*found);
    for (const char kind : found->takes) {
        PVC_TRY([[maybe_unused]] const auto done, [&]() -> result<bool> {
            auto parsed = parse_argument(*found, kind, rest, out);
            return parsed ? result<bool>(true) : result<bool>(parsed.error());
        }());
    }
    auto suffix = parse_suffix(*found, trim(rest), out);
    if (suffix) {
        suffix = check_bounds(*found, out);
    }
    if (!suffix) {
        return suffix.error();
    }
    return out;
}

std::string duration_text(duration time) {
    const auto count = time.count();
    if (count % 1'000'000'000 == 0) {
        return fmt::format("{}s", count / 1'000'000'000);
    }
    if (count % 1'000'000 == 0) {
        return fmt::format("{}ms", count / 1'000'000);
    }
    return fmt::format("{}ns", count);
}

std::optional<duration> parse_duration(std::string_view text) {
    const auto unit_at = text.find_first_not_of("+-0123456789.");
    if (unit_at == 0 || unit_at == std::string_view::npos) {
        return std::nullopt;
    }
    const auto unit = text.substr(unit_at);
    const std::int64_t scale = unit == "ns"    ? 1
                               : unit == "us"  ? 1'000
                               : unit == "ms"  ? 1'000'000
                               : unit == "s"   ? 1'000'000'000
                               : unit == "min" ? 60'000'000'000
                               : unit == "h"   ? 3'600'000'000'000
                                               : 0;
    std::string_view digits = text.substr(0, unit_at);
    const bool is_negative = digits.starts_with('-');
    if (is_negative || digits.starts_with('+')) {
        digits.remove_prefix(1);
    }
    const auto point = digits.find('.');
    const auto whole = parse_number<std::int64_t>(digits.substr(0, point));
    if (scale == 0 || !whole || *whole < 0 || *whole > hours_max * 3'600'000'000'000 / scale) {
        return std::nullopt;
    }
    std::int64_t total = *whole * scale;
    if (point != std::string_view::npos) {
        std::int64_t part = scale;
        for (const char c : digits.substr(point + 1)) {
            if (c < '0' || c > '9') {
                return std::nullopt;
            }
            part /= 10;
            total += (c - '0') * part;
        }
    }
    return duration(is_negative ? -total : total);
}

}  // namespace pvc::sim
