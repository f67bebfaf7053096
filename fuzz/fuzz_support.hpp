// What several targets need to say of a text.
#pragma once

#include "pvcnoded/base/assert.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace pvc::fuzz {

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
    return {reinterpret_cast<const char*>(data), size};
}

// Takes the next `count` bytes, or as many as there are.
inline std::string_view take(std::string_view& rest, std::size_t count) {
    const auto part = rest.substr(0, count);
    rest.remove_prefix(part.size());
    return part;
}

// Takes a number of one byte; 0 at the end.
inline unsigned take_byte(std::string_view& rest) {
    const auto part = take(rest, 1);
    return part.empty() ? 0U : static_cast<unsigned char>(part.front());
}

// Takes what stands before the next separator, and the separator.
inline std::string_view take_until(std::string_view& rest, char separator) {
    const auto part = rest.substr(0, rest.find(separator));
    rest.remove_prefix(std::min(part.size() + 1, rest.size()));
    return part;
}

inline bool is_one_line(std::string_view text) {
    return text.find_first_of("\n\r") == std::string_view::npos;
}

inline bool is_printable_ascii(std::string_view text) {
    return std::ranges::all_of(text, [](char c) { return c >= 0x20 && c <= 0x7e; });
}

}  // namespace pvc::fuzz
