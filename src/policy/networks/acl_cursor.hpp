// Goes through the words of an ACL, and keeps the first thing that is wrong.
#pragma once

#include "acl_tokens.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pvc::policy {

class acl_cursor {
public:
    // With the end as its last one.
    explicit acl_cursor(std::vector<acl_token> tokens) : tokens_(std::move(tokens)) {}

    [[nodiscard]] const acl_token& next() const { return tokens_[at_]; }
    [[nodiscard]] bool is_end() const { return next().is == acl_token::kind::end; }
    [[nodiscard]] bool is_word() const { return next().is == acl_token::kind::word; }
    acl_token take() {
        const auto one = next();
        at_ += is_end() ? 0U : 1U;
        return one;
    }
    bool take_word(std::string_view word) { return take_if(next().is_word(word)); }
    bool take_symbol(std::string_view symbol) { return take_if(next().is_symbol(symbol)); }

    // False, as what all readers answer when they fail. Of what nft refuses too, or must never be given.
    bool fail(std::string_view expected) { return fail_at(next(), expected); }
    bool fail_at(const acl_token& token, std::string_view expected) {
        return refuse(acl_problem(token.at, expected, token.text), false);
    }
    // The same, of what nft may know.
    bool fail_beyond(std::string_view expected) { return fail_beyond_at(next(), expected); }
    bool fail_beyond_at(const acl_token& token, std::string_view expected) {
        return refuse(acl_problem(token.at, expected, token.text), true);
    }
    // Where a value or a word has to stand: nft may know another one, but none that is not there.
    bool fail_missing(std::string_view expected) {
        for (const auto* const end : {"}", ")", "]"}) {
            if (next().is_symbol(end)) {
                return fail(expected);
            }
        }
        return is_end() ? fail(expected) : fail_beyond(expected);
    }
    bool refuse(std::string problem, bool is_beyond) {
        is_beyond_ = is_beyond_ || (is_beyond && problem_.empty());
        if (problem_.empty()) {
            problem_ = std::move(problem);
        }
        return false;
    }
    [[nodiscard]] const std::string& problem() const { return problem_; }
    [[nodiscard]] bool is_beyond() const { return is_beyond_; }

private:
    bool take_if(bool is_it) {
        if (is_it) {
            take();
        }
        return is_it;
    }

    std::vector<acl_token> tokens_;
    std::size_t at_ = 0;
    std::string problem_;
    bool is_beyond_ = false;
};

}  // namespace pvc::policy
