// Which names of devices cannot be those of the host's own devices (config.md 3.1, 5.7), however well they are written.
#include "networking.hpp"

#include "pvcnoded/base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace pvc::config {

namespace {

bool is_numbered(std::string_view text, std::string_view prefix) {
    return text.size() > prefix.size() && text.starts_with(prefix) &&
           text.find_first_not_of("0123456789", prefix.size()) == std::string_view::npos;
}

// "": it can be one.
std::string_view why_no_device(const yaml_node& node) {
    constexpr std::array<std::string_view, 3> nothing{"none", "null", "~"};
    constexpr std::array<std::string_view, 2> all_of_them{"all", "default"};
    if (std::ranges::find(nothing, lower(node.text)) != nothing.end()) {
        return "a word for none";
    }
    if (type_name(node) != "string") {
        return "not a string";
    }
    if (node.text == "lo") {
        return "the loopback device";
    }
    if (std::ranges::find(all_of_them, node.text) != all_of_them.end()) {
        return "the kernel's word for the settings of many devices";
    }
    return is_numbered(node.text, "vmbr") || is_numbered(node.text, "vxlan")
               ? "a name that the daemon gives to links of client networks"
               : "";
}

}  // namespace

void check_device(section& in, std::string_view key) {
    const auto* entry = in.look_up(key);
    const auto why = entry == nullptr ? std::string_view() : why_no_device(*entry->value);
    if (!why.empty()) {
        in.report(
            severity::fatal, entry->line, fmt::format("{}.{}", in.path(), key),
            fmt::format("{}; expected a network device of this host, got {}", why, value_text(*entry->value, false)));
    }
}

}  // namespace pvc::config
