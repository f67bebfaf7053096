#include "pvcnoded/model/domain_command.hpp"

#include "pvcnoded/base/text.hpp"
#include "pvcnoded/base/utf8.hpp"

#include <algorithm>
#include <array>

namespace pvc::model {

namespace {

constexpr std::string_view blanks = " \t\r\n\v\f";
constexpr std::array all_verbs{domain_verb::flush_locks, domain_verb::attach_device, domain_verb::detach_device};

std::string_view take_word(std::string_view& rest) {
    rest.remove_prefix(std::min(rest.find_first_not_of(blanks), rest.size()));
    const auto word = rest.substr(0, rest.find_first_of(blanks));
    rest.remove_prefix(word.size());
    return word;
}

bool is_refused(char c) {
    return is_ascii_control(c) && blanks.find(c) == std::string_view::npos;
}

std::string with_single_blanks(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    for (const auto word : split_blanks(text)) {
        out += (out.empty() ? "" : " ");
        out += word;
    }
    return out;
}

// The hypervisor reads the element; what it must never see is refused here.
std::string_view fault_of_device(std::string_view xml) {
    if (xml.empty()) {
        return "it names no device";
    }
    if (!xml.starts_with('<') || !xml.ends_with('>')) {
        return "its device is no XML element";
    }
    // A device has none: entities are declared there, and those may name files or grow without end.
    if (xml.find("<!DOCTYPE") != std::string_view::npos || xml.find("<!ENTITY") != std::string_view::npos) {
        return "its device has a document type";
    }
    return {};
}

}  // namespace

std::string_view to_text(domain_verb verb) {
    switch (verb) {
        case domain_verb::flush_locks: return "flush_locks";
        case domain_verb::attach_device: return "attach_device";
        case domain_verb::detach_device: return "detach_device";
    }
    return "flush_locks";
}

std::optional<domain_command> parse_domain_command(std::string_view text) {
    auto rest = text;
    const auto word = take_word(rest);
    const auto* const verb = std::ranges::find(all_verbs, word, [](domain_verb one) { return to_text(one); });
    if (verb == all_verbs.end()) {
        return std::nullopt;
    }
    domain_command command;
    command.verb = *verb;
    command.id = parse_any_uuid(take_word(rest));
    if (!command.id) {
        command.fault = "it names no UUID";
    } else if (text.size() > command_bytes_max) {
        command.fault = "it is longer than 128 KiB";
    } else if (std::ranges::any_of(text, is_refused)) {
        command.fault = "it has control characters";
    } else if (*verb == domain_verb::flush_locks) {
        command.fault = trim(rest).empty() ? "" : "something stands behind its UUID";
    } else {
        command.device = with_single_blanks(rest);
        command.fault = fault_of_device(command.device);
    }
    if (!command.fault.empty()) {
        command.device.clear();
    }
    return command;
}

std::string command_answer(bool is_done, std::string_view text) {
    std::string answer(is_done ? "success-" : "failure-");
    answer += text.substr(0, answer_bytes_max - answer.size());
    return answer;
}

}  // namespace pvc::model
