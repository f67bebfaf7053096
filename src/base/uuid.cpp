#include "pvcnoded/base/uuid.hpp"

#include <algorithm>

namespace pvc {

namespace {

constexpr std::string_view digits = "0123456789abcdef";
constexpr std::array<std::size_t, 4> dashes{8, 13, 18, 23};
constexpr std::size_t canonical_size = 36;

std::optional<std::uint8_t> digit_value(char character, bool any_case) {
    if (any_case && character >= 'A' && character <= 'F') {
        return static_cast<std::uint8_t>(character - 'A' + 10);
    }
    const auto at = digits.find(character);
    return at == std::string_view::npos ? std::nullopt : std::optional(static_cast<std::uint8_t>(at));
}

std::optional<uuid> parse_digits(std::string_view text, bool any_case) {
    uuid id;
    std::size_t at = 0;
    for (auto& byte : id.bytes) {
        if (at < text.size() && text[at] == '-') {
            ++at;
        }
        if (at + 2 > text.size()) {
            return std::nullopt;
        }
        const auto high = digit_value(text[at], any_case);
        const auto low = digit_value(text[at + 1], any_case);
        if (!high || !low) {
            return std::nullopt;
        }
        byte = static_cast<std::uint8_t>(*high * 16 + *low);
        at += 2;
    }
    return at == text.size() ? std::optional(id) : std::nullopt;
}

bool has_dashes_in_place(std::string_view text) {
    return text.size() == canonical_size &&
           std::ranges::all_of(dashes, [&](std::size_t at) { return text[at] == '-'; });
}

}  // namespace

std::optional<uuid> parse_uuid(std::string_view text) {
    return has_dashes_in_place(text) ? parse_digits(text, false) : std::nullopt;
}

std::optional<uuid> parse_any_uuid(std::string_view text) {
    constexpr std::size_t bare_size = 32;
    return text.size() == bare_size || has_dashes_in_place(text) ? parse_digits(text, true) : std::nullopt;
}

std::string to_text(const uuid& id) {
    std::string text;
    text.reserve(canonical_size);
    for (const std::uint8_t byte : id.bytes) {
        if (std::ranges::find(dashes, text.size()) != dashes.end()) {
            text += '-';
        }
        text += digits[byte >> 4U];
        text += digits[byte & 15U];
    }
    return text;
}

}  // namespace pvc
