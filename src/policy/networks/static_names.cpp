#include "pvcnoded/base/text.hpp"
#include "pvcnoded/policy/networks/firewall.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>

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

// Words, texts in quotes (with the quotes), and the signs that end or hold statements; without comments.
std::vector<std::string_view> words_of(std::string_view text) {
    std::vector<std::string_view> words;
    std::size_t at = 0;
    while (at < text.size()) {
        const char c = text[at];
        if (c == '#') {
            at = std::min(text.find('\n', at), text.size());
        } else if (c == '"') {
            const auto end = text.find('"', at + 1);
            const auto next = end == std::string_view::npos ? text.size() : end + 1;
            words.push_back(text.substr(at, next - at));
            at = next;
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

bool is_sign(std::string_view word) {
    return word == ";" || word == "\n" || word == "{" || word == "}";
}

// Of the word behind `include`: a file that can be read as nft reads it. Empty: it is none.
std::string path_in(std::string_view word) {
    if (word.size() < 3 || !word.starts_with('"') || !word.ends_with('"')) {
        return {};
    }
    word = word.substr(1, word.size() - 2);
    const bool is_one_file = word.find_first_of("*?[\n") == std::string_view::npos && !word.starts_with('.');
    return is_one_file ? std::string(word) : std::string();
}

// Of the words of a statement that takes something away.
bool is_of_own_table(std::span<const std::string_view> words) {
    return words.size() > 3 && (words[1] == "table" || words[1] == "chain") && words[2] == "inet" &&
           words[3] == "filter";
}

}  // namespace

static_names names_in(std::string_view text) {
    static_names found;
    const auto words = words_of(text);
    const auto object = [&found](std::string_view why) {
        found.objection = found.objection.empty() ? std::string(why) : found.objection;
    };
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
        if (word == "include") {
            auto path = at + 1 < words.size() ? path_in(words[at + 1]) : std::string();
            if (path.empty()) {
                object("what it includes cannot be looked at: expected the path of one file in quotes");
            } else {
                found.included.push_back(std::move(path));
            }
        }
        if (is_begin && word == "flush" && at + 1 < words.size() && words[at + 1] == "ruleset") {
            object("\"flush ruleset\" would remove the tables of others");
        }
        const bool takes_away = word == "flush" || word == "delete" || word == "destroy" || word == "rename";
        if (is_begin && takes_away && is_of_own_table(std::span(words).subspan(at))) {
            object(fmt::format("\"{} {} inet filter\" takes away what the daemon makes", word, words[at + 1]));
        }
        if (is_begin && word == "flags" && table == own && depth == 1) {
            object("it gives table inet filter flags");
        }
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
