// Decoding of UTF-8, one character at a time (private to the layer).
#pragma once

#include <cstddef>
#include <string_view>

namespace pvc::model {

// U+FFFD, for what is none.
inline constexpr std::string_view replacement_character = "\xef\xbf\xbd";

struct utf8_character {
    char32_t code = 0xfffd;
    std::size_t bytes = 1;  // of a malformed sequence as much as could have been the beginning of a character
    bool valid = false;
};

// The character at the beginning of a text that is not empty. Overlong forms, surrogates and codes above U+10FFFF are
// malformed. Where a character is cut off, its bytes are one malformed sequence: Python's clients replace it likewise.
[[nodiscard]] utf8_character decode_utf8(std::string_view text);

}  // namespace pvc::model
