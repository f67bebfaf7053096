// Small text and number encodings that every layer needs. All total: bad input gives an empty optional.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pvc {

// A decimal integer with an optional sign and nothing else around it.
[[nodiscard]] std::optional<std::int64_t> parse_integer(std::string_view text);
// Shortest decimal with at least one fraction digit: 0.0, 1.05 (zookeeper-schema.md 1, "Float"); not finite: "0.0".
[[nodiscard]] std::string float_text(double value);
[[nodiscard]] std::string lower(std::string_view text);      // ASCII only
[[nodiscard]] std::string_view trim(std::string_view text);  // ASCII white space
[[nodiscard]] bool equal_ignoring_case(std::string_view a, std::string_view b);
[[nodiscard]] std::vector<std::string_view> split(std::string_view text, char separator);  // keeps empty parts
[[nodiscard]] std::vector<std::string_view> split_blanks(std::string_view text);           // no empty parts
[[nodiscard]] std::string join(const std::vector<std::string>& parts, std::string_view separator);
// Bytes outside printable ASCII become '?'.
[[nodiscard]] std::string ascii_only(std::string_view text);
// What a client wrote, as it is shown in a message: printable, at most 64 characters.
[[nodiscard]] std::string shown(std::string_view text);
// Number of edits (insert, delete, replace) between two short texts.
[[nodiscard]] std::size_t edit_distance(std::string_view a, std::string_view b);

}  // namespace pvc
