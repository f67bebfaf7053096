// The text of an ACL in words, after what is forbidden in it wherever it stands. Specification: networking.md 7.4.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace pvc::policy {

struct acl_token {
    enum class kind { word, quoted, symbol, end };
    kind is = kind::end;
    std::string_view text;  // of a quoted one what is between the quotes
    std::size_t at = 1;     // of its first byte, from 1

    [[nodiscard]] bool is_word(std::string_view word) const { return is == kind::word && text == word; }
    [[nodiscard]] bool is_symbol(std::string_view symbol) const { return is == kind::symbol && text == symbol; }
};

struct acl_tokens {
    std::vector<acl_token> all;  // the last one is the end
    std::string problem;         // empty: none
};

// They look into `text`.
[[nodiscard]] acl_tokens split_acl(std::string_view text);

// "at 11: expected a port, got "nosuch""
[[nodiscard]] std::string acl_problem(std::size_t at, std::string_view expected, std::string_view got);

}  // namespace pvc::policy
