// /logs/<node>/messages and texts with the same caps (zookeeper-schema.md 6.7 and 11): lines joined by "\n" without a
// final newline, newest last, limited in lines and bytes, oldest dropped first.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace pvc::model {

// No single value of ours is larger (zookeeper-schema.md 1, "Size").
inline constexpr std::size_t value_bytes_limit = 512UL * 1024UL;

// "" is no line at all; otherwise split at every newline.
[[nodiscard]] std::vector<std::string> split_lines(std::string_view value);
[[nodiscard]] std::string join_lines(const std::vector<std::string>& lines);

// The stored value with lines added. A new line that contains newlines counts as several. The newest lines that fit
// both limits are kept; a newest line that is too long by itself is cut at its end (never inside a UTF-8 character).
[[nodiscard]] std::string append_lines(std::string_view old_value, const std::vector<std::string>& new_lines,
                                       std::size_t max_lines, std::size_t max_bytes = value_bytes_limit);

}  // namespace pvc::model
