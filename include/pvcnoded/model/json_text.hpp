// JSON as the cluster's other programs write it (zookeeper-schema.md 1): one line, separators ", " and ": ", everything
// outside ASCII as \uXXXX. Members keep the order in which they were added.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace pvc::model {

// A quoted string. Malformed UTF-8 becomes \ufffd.
[[nodiscard]] std::string json_string(std::string_view text);
// Shortest decimal with at least one fraction digit; "null" if not finite.
[[nodiscard]] std::string json_number(double value);

class json_object {
public:
    json_object& add(std::string_view name, std::string_view text);
    json_object& add(std::string_view name, const char* text) { return add(name, std::string_view(text)); }
    json_object& add(std::string_view name, std::int64_t value);
    json_object& add(std::string_view name, int value) { return add(name, std::int64_t{value}); }
    json_object& add(std::string_view name, double value);
    // `json` is finished JSON text and is taken as it is.
    json_object& add_raw(std::string_view name, std::string_view json);

    [[nodiscard]] std::string text() const { return "{" + members_ + "}"; }

private:
    void begin(std::string_view name);

    std::string members_;
};

class json_array {
public:
    json_array& add(std::string_view text) { return add_raw(json_string(text)); }
    json_array& add_raw(std::string_view json);

    [[nodiscard]] std::string text() const { return "[" + items_ + "]"; }

private:
    std::string items_;
};

}  // namespace pvc::model
