// UTF-8, in one place: decoding, cutting between characters, and making bytes that somebody else wrote fit to be shown.
// All total: any bytes are allowed. Where a character is cut off, its bytes are one malformed sequence, and each is
// replaced by one U+FFFD: Python's clients replace it likewise (decode("utf-8", "replace")). What is reduced to ASCII,
// byte by byte, is in base/text.hpp.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace pvc {

// U+FFFD, for what is no character.
inline constexpr std::string_view replacement_character = "\xef\xbf\xbd";
// U+FEFF as some editors write it at the beginning of a file.
inline constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";

struct utf8_character {
    char32_t code = 0xfffd;
    std::size_t bytes = 1;  // of a malformed sequence as much as could have been the beginning of a character
    bool valid = false;
};

// The character at the beginning of a text that is not empty. Overlong forms, surrogates and codes above U+10FFFF are
// malformed (RFC 3629).
[[nodiscard]] utf8_character decode_utf8(std::string_view text);

// Adds the character at the beginning of a text that is not empty, or U+FFFD; how many bytes of the text it was.
std::size_t append_character(std::string& out, std::string_view text);

// Offset of the first byte that does not belong to a well-formed character; empty: there is none.
[[nodiscard]] std::optional<std::size_t> first_invalid_utf8(std::string_view text);

// The text with every malformed sequence replaced by U+FFFD.
[[nodiscard]] std::string valid_utf8(std::string_view text);

// The same, with control characters but newline and tab as "?": a key or a program that is quoted in the log cannot
// drive the terminal of who reads it.
[[nodiscard]] std::string tame_text(std::string_view text);

// A byte that is not the first one of a character.
[[nodiscard]] constexpr bool is_continuation(char byte) {
    return (static_cast<unsigned char>(byte) & 0xc0U) == 0x80U;
}

// The beginning of a text, at most so many bytes, and no part of a character at its end. Bytes that belong to no
// character are cut anywhere.
[[nodiscard]] std::string_view start_to_character(std::string_view text, std::size_t max_bytes);
// The end of a text, at most so many bytes, and no part of a character at its beginning.
[[nodiscard]] std::string_view end_from_character(std::string_view text, std::size_t max_bytes);

// A control character of ASCII: below U+0020, or U+007F. No byte of a longer character is one.
[[nodiscard]] constexpr bool is_ascii_control(char byte) {
    return static_cast<unsigned char>(byte) < 0x20 || byte == 0x7f;
}
// Also U+0080 to U+009F, which some terminals obey.
[[nodiscard]] constexpr bool is_control(char32_t code) {
    return code < 0x20 || (code >= 0x7f && code < 0xa0);
}
// What turns the direction of a line around (marks, embeddings, overrides and isolates), or breaks it where no line of
// a terminal ends (U+2028, U+2029).
[[nodiscard]] constexpr bool is_direction_mark(char32_t code) {
    return code == 0x061c || code == 0x200e || code == 0x200f || (code >= 0x2028 && code <= 0x202e) ||
           (code >= 0x2066 && code <= 0x2069);
}

}  // namespace pvc
