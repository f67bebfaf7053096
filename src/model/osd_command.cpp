#include "pvcnoded/model/osd_command.hpp"

#include "pvcnoded/base/text.hpp"
#include "pvcnoded/base/utf8.hpp"
#include "pvcnoded/model/device_name.hpp"
#include "pvcnoded/model/scalar.hpp"
#include "pvcnoded/model/scsi_disks.hpp"

#include <algorithm>
#include <array>
#include <vector>

namespace pvc::model {

namespace {

constexpr std::string_view osd_blanks = " \t\r\n\v\f";
constexpr std::int64_t osd_number_max = 2'147'483'647;

struct osd_grammar {
    osd_verb verb;
    std::size_t least;
    std::size_t most;
};
constexpr std::array osd_grammars{
    osd_grammar{osd_verb::osd_add, 4, 5},     osd_grammar{osd_verb::osd_replace, 6, 6},
    osd_grammar{osd_verb::osd_refresh, 4, 4}, osd_grammar{osd_verb::osd_remove, 2, 2},
    osd_grammar{osd_verb::db_vg_add, 2, 2},
};

std::vector<std::string> osd_arguments(std::string_view rest) {
    std::vector<std::string> all;
    for (const auto part : split(rest, ',')) {
        std::string argument;
        for (const auto word : split_blanks(part)) {
            argument += argument.empty() ? "" : " ";
            argument += word;
        }
        all.push_back(std::move(argument));
    }
    return all;
}

// Each takes one argument into the command; false: it is none of its kind.
bool take_osd_number(std::string_view text, std::string& into) {
    auto number = parse_osd_number(text);
    into = number.value_or("");
    return number.has_value();
}

bool take_osd_device(std::string_view text, std::string& into) {
    into = text;
    return is_detect_text(text) ? parse_detect_wish(text).has_value() : is_device_path(text);
}

// It becomes an argument: a sign in front would make an option of it.
bool take_weight(std::string_view text, std::string& into) {
    const auto weight = parse_float(text);
    into = text;
    return weight && *weight >= 0 && text.find_first_not_of("0123456789.eE+-") == std::string_view::npos &&
           text.front() != '-' && text.front() != '+';
}

bool take_flag(std::string_view text, bool& into) {
    const auto flag = parse_boolean(text);
    into = flag.value_or(false);
    return flag.has_value();
}

bool take_ratio(std::string_view text, double& into) {
    const auto ratio = parse_float(text);
    into = ratio.value_or(default_db_ratio);
    return ratio && *ratio > 0 && *ratio < 1;
}

constexpr std::string_view bad_number = "its OSD is no number";
constexpr std::string_view bad_device = "its device is neither a path below /dev nor a detect string";
constexpr std::string_view bad_weight = "its weight is no number from 0 up";
constexpr std::string_view bad_flag = "its flag is neither True nor False";
constexpr std::string_view bad_ratio = "its ratio is not between 0 and 1";

std::string_view take_osd_arguments(osd_command& c, const std::vector<std::string>& given) {
    switch (c.verb) {
        case osd_verb::osd_add:
            return !take_osd_device(given[1], c.device)                    ? bad_device
                   : !take_weight(given[2], c.weight)                      ? bad_weight
                   : !take_flag(given[3], c.has_db)                        ? bad_flag
                   : given.size() > 4 && !take_ratio(given[4], c.db_ratio) ? bad_ratio
                                                                           : "";
        case osd_verb::osd_replace:
            return !take_osd_number(given[1], c.id)                                                   ? bad_number
                   : !take_osd_device(given[2], c.old_device) || !take_osd_device(given[3], c.device) ? bad_device
                   : !take_weight(given[4], c.weight)                                                 ? bad_weight
                   : !take_flag(given[5], c.has_db)                                                   ? bad_flag
                                                                                                      : "";
        case osd_verb::osd_refresh:
            return !take_osd_number(given[1], c.id)       ? bad_number
                   : !take_osd_device(given[2], c.device) ? bad_device
                   : !take_flag(given[3], c.has_db)       ? bad_flag
                                                          : "";
        case osd_verb::osd_remove:
            return !take_osd_number(given[0], c.id) ? bad_number : !take_flag(given[1], c.is_forced) ? bad_flag : "";
        case osd_verb::db_vg_add: return take_osd_device(given[1], c.device) ? "" : bad_device;
    }
    return "";
}

}  // namespace

std::string_view to_text(osd_verb verb) {
    switch (verb) {
        case osd_verb::osd_add: return "osd_add";
        case osd_verb::osd_replace: return "osd_replace";
        case osd_verb::osd_refresh: return "osd_refresh";
        case osd_verb::osd_remove: return "osd_remove";
        case osd_verb::db_vg_add: return "db_vg_add";
    }
    return "osd_add";
}

std::optional<std::string> parse_osd_number(std::string_view text) {
    const bool has_digits = !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
    const auto number = has_digits ? parse_integer(text) : std::nullopt;
    return number && *number <= osd_number_max ? std::optional(std::to_string(*number)) : std::nullopt;
}

std::optional<osd_command> parse_osd_command(std::string_view text) {
    auto rest = text;
    rest.remove_prefix(std::min(rest.find_first_not_of(osd_blanks), rest.size()));
    const auto word = rest.substr(0, rest.find_first_of(osd_blanks));
    rest.remove_prefix(word.size());
    const auto* const grammar =
        std::ranges::find(osd_grammars, word, [](const osd_grammar& one) { return to_text(one.verb); });
    if (grammar == osd_grammars.end()) {
        return std::nullopt;
    }
    osd_command command;
    command.verb = grammar->verb;
    const auto given = osd_arguments(rest.substr(0, osd_command_bytes_max));
    if (command.verb != osd_verb::osd_remove) {
        command.node = given.front();
    }
    const auto is_refused = [](char c) { return is_ascii_control(c) && osd_blanks.find(c) == std::string_view::npos; };
    if (text.size() > osd_command_bytes_max) {
        command.fault = "it is longer than 4 KiB";
    } else if (std::ranges::any_of(text, is_refused)) {
        command.fault = "it has control characters";
    } else if (given.size() < grammar->least || given.size() > grammar->most) {
        command.fault = "it has not as many arguments as it should";
    } else if (command.verb != osd_verb::osd_remove && command.node.empty()) {
        command.fault = "it names no node";
    } else {
        command.fault = take_osd_arguments(command, given);
    }
    if (!command.fault.empty()) {
        osd_command bare;
        bare.verb = command.verb;
        bare.node = std::move(command.node);
        bare.id = std::move(command.id);
        bare.fault = std::move(command.fault);
        return bare;
    }
    return command;
}

}  // namespace pvc::model
