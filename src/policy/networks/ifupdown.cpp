#include "pvcnoded/policy/networks/ifupdown.hpp"

#include "pvcnoded/base/text.hpp"

#include <algorithm>
#include <span>

namespace pvc::policy {

namespace {

struct logical_line {
    std::size_t number = 0;  // of its first part
    std::string text;
};

// A line that ends in a backslash goes on in the next one.
std::vector<logical_line> logical_lines(std::string_view text) {
    std::vector<logical_line> lines;
    bool goes_on = false;
    std::size_t number = 0;
    for (auto line : split(text, '\n')) {
        ++number;
        if (line.ends_with('\r')) {
            line.remove_suffix(1);
        }
        const bool is_comment = !goes_on && trim(line).starts_with('#');
        const bool continues = !is_comment && line.ends_with('\\');
        if (continues) {
            line.remove_suffix(1);
        }
        if (goes_on) {
            lines.back().text += ' ';
            lines.back().text += line;
        } else {
            lines.push_back({number, std::string(line)});
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
        const auto words = split_blanks(line.text);
        if (words.size() < 2 || words[0].starts_with('#')) {
            continue;
        }
        const auto rest = std::span(words).subspan(1);
        const auto add_names = [&out](std::span<const std::string_view> names) {
            for (const auto name : names) {
                out.names.emplace_back(name.substr(0, name.find(':')));
            }
        };
        const auto add_sources = [&](std::vector<ifupdown_source>& all) {
            for (const auto path : rest) {
                all.push_back({std::string(path), line.number});
            }
        };
        if (words[0] == "auto" || words[0].starts_with("allow-")) {
            add_names(rest);
        } else if (words[0] == "iface") {
            add_names(rest.first(1));
        } else if (words[0] == "source") {
            add_sources(out.sources);
        } else if (words[0] == "source-directory") {
            add_sources(out.folders);
        }
    }
    return out;
}

bool is_for_shell(std::string_view path) {
    return path.find_first_of("$`~\"'\\") != std::string_view::npos;
}

bool is_ifupdown_name(std::string_view name) {
    return !name.empty() && std::ranges::all_of(name, is_word_of_file);
}

}  // namespace pvc::policy
