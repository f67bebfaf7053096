// Scalars as they are stored (zookeeper-schema.md 1): booleans, integers, floats, "no value", comma lists. All readers
// are total: unreadable text gives an empty optional or the caller's fallback, never an error.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pvc::model {

// Missing data arrives as "" or as the text "None" that the reference writes for an absent value.
[[nodiscard]] bool is_no_value(std::string_view text);

// "y yes t true on 1" and "n no f false off 0", in any case; anything else: empty.
[[nodiscard]] std::optional<bool> parse_boolean(std::string_view text);
// "True" or "False".
[[nodiscard]] std::string_view boolean_text(bool value);

// /config/maintenance: anything but a true word is false, also a missing key (case ZK-23).
[[nodiscard]] bool parse_maintenance(std::string_view text);
// "true" or "false": the one boolean with this spelling.
[[nodiscard]] std::string_view maintenance_text(bool value);

// A decimal integer, blanks around it allowed; else the fallback.
[[nodiscard]] std::int64_t integer_or(std::string_view text, std::int64_t fallback);
// A finite decimal number, blanks around it allowed.
[[nodiscard]] std::optional<double> parse_float(std::string_view text);

// /nodes/<n>/cpuload: two decimals (correct rounding of the binary value), then the shortest form with at least one:
// 0.0, 1.5, 12.35 (case AC31). Not a finite number or negative: "0.0".
[[nodiscard]] std::string cpu_load_text(double load);

// /nodes/<n>/monitoring_health: 0-100; "None", "" and everything else: not available.
[[nodiscard]] std::optional<int> parse_health(std::string_view text);
[[nodiscard]] std::string health_text(std::optional<int> health);

// Lists separated by commas (rbdlist, node_limit, name_servers): empty items, items "None" and blanks around
// items are dropped, so that "" and "None" are the empty list.
[[nodiscard]] std::vector<std::string> parse_comma_list(std::string_view text);
[[nodiscard]] std::string comma_list_text(const std::vector<std::string>& items);

}  // namespace pvc::model
