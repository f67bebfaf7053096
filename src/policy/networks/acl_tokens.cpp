#include "acl_tokens.hpp"

#include "pvcnoded/base/text.hpp"
#include "pvcnoded/base/utf8.hpp"
#include "pvcnoded/policy/networks/acl.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

namespace pvc::policy {

namespace {

// Each begins a command of its own.
constexpr std::array<std::string_view, 9> commands{"include", "define", "add",   "insert", "create",
                                                   "delete",  "flush",  "table", "chain"};

bool is_of_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("_.:/*-").find(c) != std::string_view::npos;
}

std::string forbidden(std::size_t at, std::string_view what) {
    return fmt::format("at {}: {} is not allowed", at + 1, what);
}

// What could end the rule and begin something else, or show it as something else.
std::optional<std::string> find_forbidden(std::string_view text) {
    if (text.size() > longest_acl) {
        return fmt::format("expected at most {} bytes, got more", longest_acl);
    }
    if (const auto at = first_invalid_utf8(text)) {
        return fmt::format("at {}: expected UTF-8", *at + 1);
    }
    bool is_quoted = false;
    for (std::size_t at = 0; at < text.size(); ++at) {
        const char c = text[at];
        if (is_ascii_control(c)) {
            return forbidden(at, "a control character");
        }
        if (c == '$' || c == '\\') {
            return forbidden(at, fmt::format("\"{}\"", c));
        }
        if (!is_quoted && (c == ';' || c == '#' || c == '@')) {
            return forbidden(at, fmt::format("\"{}\" outside of quotes", c));
        }
        is_quoted = is_quoted != (c == '"');
    }
    return is_quoted ? std::optional<std::string>("the quotes are not closed") : std::nullopt;
}

// A line that nft is given must not end within braces: the next one would be a part of it.
std::optional<std::string> find_unbalanced(const std::vector<acl_token>& tokens) {
    std::vector<std::size_t> open_at;
    for (const auto& one : tokens) {
        if (one.is_symbol("{")) {
            open_at.push_back(one.at);
        } else if (one.is_symbol("}")) {
            if (open_at.empty()) {
                return fmt::format("at {}: \"}}\" without \"{{\"", one.at);
            }
            open_at.pop_back();
        }
    }
    return open_at.empty() ? std::nullopt : std::optional(fmt::format("at {}: \"{{\" is not closed", open_at.back()));
}

// Nothing that nft takes is longer: the longest is a comment. It copies some of them into places of a fixed size, and
// it runs as root.
std::optional<std::string> find_too_long(const std::vector<acl_token>& tokens) {
    constexpr std::size_t longest = 128;
    const auto found = std::ranges::find_if(tokens, [](const acl_token& one) { return one.text.size() > longest; });
    return found == tokens.end() ? std::nullopt
                                 : std::optional(fmt::format("at {}: expected at most {} bytes in one word or text, "
                                                             "got {}",
                                                             found->at, longest, found->text.size()));
}

std::size_t length_of_symbol(std::string_view rest) {
    constexpr std::array<std::string_view, 4> pairs{"==", "!=", "<=", ">="};
    if (std::ranges::any_of(pairs, [&](std::string_view pair) { return rest.starts_with(pair); })) {
        return 2;
    }
    return std::string_view("{}()[],|&^!<>").find(rest.front()) != std::string_view::npos ? 1 : 0;
}

}  // namespace

std::string acl_problem(std::size_t at, std::string_view expected, std::string_view got) {
    return got.empty() ? fmt::format("at {}: expected {}, got the end", at, expected)
                       : fmt::format("at {}: expected {}, got \"{}\"", at, expected, shown(got));
}

acl_tokens split_acl(std::string_view text) {
    acl_tokens split;
    if (auto wrong = find_forbidden(text)) {
        split.problem = *std::move(wrong);
        return split;
    }
    std::size_t at = 0;
    while (at < text.size()) {
        const auto rest = text.substr(at);
        if (rest.front() == ' ') {
            ++at;
        } else if (rest.front() == '"') {
            const auto inside = rest.substr(1, rest.find('"', 1) - 1);
            split.all.push_back({acl_token::kind::quoted, inside, at + 1});
            at += inside.size() + 2;
        } else if (const auto symbol = length_of_symbol(rest); symbol > 0) {
            split.all.push_back({acl_token::kind::symbol, rest.substr(0, symbol), at + 1});
            at += symbol;
        } else if (is_of_word(rest.front())) {
            const auto length = static_cast<std::size_t>(std::ranges::find_if_not(rest, is_of_word) - rest.begin());
            split.all.push_back({acl_token::kind::word, rest.substr(0, length), at + 1});
            at += length;
        } else {
            split.problem = acl_problem(at + 1, "a word", rest.substr(0, decode_utf8(rest).bytes));
            return split;
        }
    }
    split.all.push_back({acl_token::kind::end, {}, text.size() + 1});
    const auto& first = split.all.front();
    if (first.is == acl_token::kind::word && std::ranges::find(commands, first.text) != commands.end()) {
        split.problem = fmt::format("at {}: \"{}\" is a command, not a part of a rule", first.at, first.text);
    } else if (auto wrong = find_unbalanced(split.all)) {
        split.problem = *std::move(wrong);
    } else if (auto length = find_too_long(split.all)) {
        split.problem = *std::move(length);
    }
    return split;
}

}  // namespace pvc::policy
