#include "pvcnoded/base/text.hpp"
#include "pvcnoded/policy/networks/firewall.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

namespace pvc::policy {

namespace {

constexpr std::array<std::string_view, 6> families{"ip", "ip6", "inet", "arp", "bridge", "netdev"};

bool is_family(std::string_view word) {
    return std::ranges::find(families, word) != families.end();
}

bool is_of_name(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
           c == '.' || c == '/';
}

// Words and the signs that end or hold statements, without comments and texts in quotes.
std::vector<std::string_view> words_of(std::string_view text) {
    std::vector<std::string_view> words;
    std::size_t at = 0;
    while (at < text.size()) {
        const char c = text[at];
        if (c == '#') {
            at = std::min(text.find('\n', at), text.size());
        } else if (c == '"') {
            const auto end = text.find('"', at + 1);
            at = end == std::string_view::npos ? text.size() : end + 1;
        } else if (text.substr(at, 2) == "\\\n") {
            at += 2;  // the line goes on
        } else if (is_of_name(c)) {
            const auto begin = at;
            while (at < text.size() && is_of_name(text[at])) {
                ++at;
            }
            words.push_back(text.substr(begin, at - begin));
        } else {
            if (c == ';' || c == '\n' || c == '{' || c == '}') {
                words.push_back(text.substr(at, 1));
            }
            ++at;
        }
    }
    return words;
}

void add_once(std::vector<std::string>& to, std::string one) {
    if (std::ranges::find(to, one) == to.end()) {
        to.push_back(std::move(one));
    }
}

// include "path", at the beginning of a line as nft wants it.
std::vector<std::string> included_in(std::string_view text) {
    constexpr std::string_view word = "include";
    std::vector<std::string> paths;
    for (auto line : split(text, '\n')) {
        line = trim(line);
        if (!line.starts_with(word)) {
            continue;
        }
        const auto begin = line.find('"');
        const auto end = begin == std::string_view::npos ? begin : line.find('"', begin + 1);
        if (end != std::string_view::npos && trim(line.substr(word.size(), begin - word.size())).empty()) {
            paths.emplace_back(line.substr(begin + 1, end - begin - 1));
        }
    }
    return paths;
}

bool is_sign(std::string_view word) {
    return word == ";" || word == "\n" || word == "{" || word == "}";
}

}  // namespace

static_names names_in(std::string_view text) {
    static_names found;
    found.included = included_in(text);
    const auto words = words_of(text);
    const std::string own = "inet filter";
    std::string table;  // whose braces are open
    int depth = 0;
    bool is_begin = true;
    for (std::size_t at = 0; at < words.size(); ++at) {
        const auto word = words[at];
        if (is_sign(word)) {
            depth += word == "{" ? 1 : word == "}" ? -1 : 0;
            if (depth <= 0) {
                table.clear();
            }
            is_begin = true;
            continue;
        }
        if (is_begin && (word == "add" || word == "create")) {
            continue;  // what follows begins the statement all the same
        }
        found.flushes_all =
            found.flushes_all || (is_begin && word == "flush" && at + 1 < words.size() && words[at + 1] == "ruleset");
        if (is_begin && (word == "table" || word == "chain")) {
            std::vector<std::string_view> rest;
            for (auto next = at + 1; next < words.size() && !is_sign(words[next]); ++next) {
                rest.push_back(words[next]);
            }
            const bool has_family = !rest.empty() && is_family(rest.front()) && rest.size() > 1;
            const std::string family(has_family ? rest.front() : "ip");
            if (has_family) {
                rest.erase(rest.begin());
            }
            if (word == "table" && !rest.empty()) {
                table = family + " " + std::string(rest.front());
                if (table != own) {
                    add_once(found.tables, table);
                }
            } else if (word == "chain" && !table.empty() && depth > 0) {
                if (table == own && !rest.empty()) {
                    add_once(found.chains, std::string(rest.front()));
                }
            } else if (word == "chain" && rest.size() > 1 && family + " " + std::string(rest[0]) == own) {
                add_once(found.chains, std::string(rest[1]));
            }
        }
        is_begin = false;
    }
    return found;
}

}  // namespace pvc::policy
