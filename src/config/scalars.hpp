// What a scalar means: by the target type of the key, never by YAML's guess (config.md section 3).
#pragma once

#include "pvcnoded/config/yaml.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace pvc::config {

// The type YAML 1.1 gives a node; for messages: string, integer, float, boolean, null, sequence, mapping.
[[nodiscard]] std::string_view type_name(const yaml_node& node);
// "<value> (<type>)" on one line. Strings in quotes where `quoted` (the type was wrong) or where they would be
// invisible.
[[nodiscard]] std::string value_text(const yaml_node& node, bool quoted);

[[nodiscard]] bool is_quoted(const yaml_node& node);  // a scalar that is a string whatever it looks like
[[nodiscard]] bool is_none(const yaml_node& node);    // NONE of 3.2
// What a template leaves where a list or a mapping has nothing in it: null, an empty text, or an empty one of either.
[[nodiscard]] bool is_left_empty(const yaml_node& node);

[[nodiscard]] std::optional<bool> parse_boolean(std::string_view text);          // 3.1
[[nodiscard]] std::optional<std::int64_t> parse_decimal(std::string_view text);  // 3.1: "5", "+5", "5.0"; not "05"

[[nodiscard]] bool has_control_character(std::string_view text);
// Absolute; without empty and "." parts and without a slash at the end.
[[nodiscard]] std::optional<std::string> parse_path(std::string_view text);
[[nodiscard]] bool is_device_name(std::string_view text);  // 3.1
[[nodiscard]] bool is_dns_name(std::string_view text);     // 5.2: at most 253, labels of 1-63 letters, digits, "-"
// A name or an address that something can connect to: host name characters, "_", and IPv6 with or without brackets.
[[nodiscard]] bool is_host(std::string_view text);

}  // namespace pvc::config
