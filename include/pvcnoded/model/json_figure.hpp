// A number as JSON has it: whole numbers stay whole and floats stay floats, wherever they are published again.
#pragma once

#include <cstdint>
#include <string>
#include <variant>

namespace pvc::model {

using json_figure = std::variant<std::int64_t, std::uint64_t, double>;

// "2097152", "0.0019989013671875": shortest text that reads as the same number; what is not finite is "0".
[[nodiscard]] std::string to_text(const json_figure& number);
// Without its fraction, at the ends of the range cut off.
[[nodiscard]] std::int64_t whole_number(const json_figure& number);
[[nodiscard]] double as_double(const json_figure& number);

}  // namespace pvc::model
