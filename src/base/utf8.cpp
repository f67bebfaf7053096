#include "pvcnoded/base/utf8.hpp"

#include "pvcnoded/base/plain_text.hpp"

#include <algorithm>

namespace pvc {

namespace {

// What a first byte says: how many bytes, its own bits of the code, and what the second byte may be.
struct first_byte {
    std::size_t length = 0;
    unsigned bits = 0;
    unsigned second_from = 0x80;
    unsigned second_to = 0xbf;
};

first_byte read_first(unsigned byte) {
    if (byte >= 0xc2U && byte <= 0xdfU) {
        return {2, byte & 0x1fU};
    }
    if (byte >= 0xe0U && byte <= 0xefU) {
        // No overlong forms, no surrogates.
        return {3, byte & 0x0fU, byte == 0xe0U ? 0xa0U : 0x80U, byte == 0xedU ? 0x9fU : 0xbfU};
    }
    if (byte >= 0xf0U && byte <= 0xf4U) {
        // Nothing above U+10FFFF.
        return {4, byte & 0x07U, byte == 0xf0U ? 0x90U : 0x80U, byte == 0xf4U ? 0x8fU : 0xbfU};
    }
    return {};
}

}  // namespace

utf8_character decode_utf8(std::string_view text) {
    const auto byte = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned first = byte(0);
    if (first < 0x80U) {
        return {first, 1, true};
    }
    const first_byte form = read_first(first);
    if (form.length == 0) {
        return {};
    }
    char32_t code = form.bits;
    for (std::size_t i = 1; i < form.length; ++i) {
        const unsigned from = i == 1 ? form.second_from : 0x80U;
        const unsigned to = i == 1 ? form.second_to : 0xbfU;
        if (i == text.size() || byte(i) < from || byte(i) > to) {
            utf8_character cut;
            cut.bytes = i;
            return cut;
        }
        code = (code << 6U) | (byte(i) & 0x3fU);
    }
    return {code, form.length, true};
}

std::size_t append_character(std::string& out, std::string_view text) {
    const auto character = decode_utf8(text);
    out += character.valid ? text.substr(0, character.bytes) : replacement_character;
    return character.bytes;
}

std::optional<std::size_t> first_invalid_utf8(std::string_view text) {
    for (std::size_t at = plain_length(text); at < text.size();) {
        const auto character = decode_utf8(text.substr(at));
        if (!character.valid) {
            return at;
        }
        at += character.bytes;
    }
    return std::nullopt;
}

std::string valid_utf8(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    const auto take_plain = [&] {
        const auto plain = text.substr(0, plain_length(text));
        out += plain;
        text.remove_prefix(plain.size());
    };
    for (take_plain(); !text.empty(); take_plain()) {
        text.remove_prefix(append_character(out, text));
    }
    return out;
}

std::string tame_text(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    while (!text.empty()) {
        const auto plain = text.substr(0, plain_length(text));
        out += plain;
        text.remove_prefix(plain.size());
        if (text.empty()) {
            break;
        }
        const auto character = decode_utf8(text);
        if (is_control(character.code) && character.code != '\n' && character.code != '\t') {
            out += '?';
        } else {
            out += character.valid ? text.substr(0, character.bytes) : replacement_character;
        }
        text.remove_prefix(character.bytes);
    }
    return out;
}

std::string_view start_to_character(std::string_view text, std::size_t max_bytes) {
    if (text.size() <= max_bytes) {
        return text;
    }
    std::size_t end = max_bytes;
    // No further than one character is long.
    for (int step = 0; step < 3 && end > 0 && is_continuation(text[end]); ++step) {
        --end;
    }
    return text.substr(0, end);
}

std::string_view end_from_character(std::string_view text, std::size_t max_bytes) {
    text.remove_prefix(text.size() - std::min(text.size(), max_bytes));
    while (!text.empty() && is_continuation(text.front())) {
        text.remove_prefix(1);
    }
    return text;
}

}  // namespace pvc
