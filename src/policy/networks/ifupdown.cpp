#include "pvcnoded/policy/networks/ifupdown.hpp"

#include "pvcnoded/base/text.hpp"

#include <algorithm>

namespace pvc::policy {

namespace {

// A line that ends in a backslash goes on in the next one.
std::vector<std::string> logical_lines(std::string_view text) {
    std::vector<std::string> lines;
    bool goes_on = false;
    for (auto line : split(text, '\n')) {
        if (line.ends_with('\r')) {
            line.remove_suffix(1);
        }
        const bool is_comment = !goes_on && trim(line).starts_with('#');
        const bool continues = !is_comment && line.ends_with('\\');
        if (continues) {
            line.remove_suffix(1);
        }
        if (goes_on) {
            lines.back() += ' ';
            lines.back() += line;
        } else {
            lines.emplace_back(line);
        }
        goes_on = continues;
    }
    return lines;
}

bool is_word_of_file(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
}

}  // namespace

ifupdown_file parse_ifupdown(std::string_view text) {
    ifupdown_file out;
    for (const auto& line : logical_lines(text)) {
        const auto words = split_blanks(line);
        if (words.size() < 2 || words[0].starts_with('#')) {
            continue;
        }
        const auto add_to = [&](std::vector<std::string>& all, std::size_t last) {
            for (std::size_t at = 1; at < std::min(last, words.size()); ++at) {
                all.emplace_back(
                    words[at].substr(0, &all == &out.names ? words[at].find(':') : std::string_view::npos));
            }
        };
        if (words[0] == "auto" || words[0].starts_with("allow-")) {
            add_to(out.names, words.size());
        } else if (words[0] == "iface") {
            add_to(out.names, 2);
        } else if (words[0] == "source") {
            add_to(out.sources, words.size());
        } else if (words[0] == "source-directory") {
            add_to(out.folders, words.size());
        }
    }
    return out;
}

bool is_ifupdown_name(std::string_view name) {
    return !name.empty() && std::ranges::all_of(name, is_word_of_file);
}

}  // namespace pvc::policy
