// Reading one mapping of the file key by key. Every accessor notes the key it was asked for, reports what is wrong, and
// returns a usable value whatever it found; what nobody asked for is reported as unknown by finish().
#pragma once

#include "scalars.hpp"

#include <fmt/format.h>

#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pvc::config {

// What reading shares: the problems found so far, and every key that means something ("pvc.functions.enable_api").
struct reading {
    diagnostics problems;
    std::set<std::string> known_keys;
};

// config.md section 5, "Presence codes".
enum class presence : std::uint8_t {
    required,   // R: absent = fatal
    defaulted,  // D: absent = default and a warning
    optional,   // O: absent = default
};

// `code` where the function that needs the key is enabled, optional elsewhere ("R/net").
[[nodiscard]] constexpr presence only_if(bool enabled, presence code) {
    return enabled ? code : presence::optional;
}

// A value and where it stands. `given`: it was there and valid; else `value` is the default.
template <class T>
struct setting {
    T value{};
    bool given = false;
    int line = 0;  // of the key, or of the innermost ancestor that exists
    std::string path;
    std::string got;  // "<value> (<type>)" for a later complaint; empty for what is absent or secret
};

struct range {
    std::int64_t low;
    std::int64_t high;
};
[[nodiscard]] std::string range_text(range allowed);  // "an integer from 1 to 3600"

struct text_rule {
    std::string_view what;         // "not an absolute path"
    std::string_view expectation;  // "an absolute path"
    // The value to keep, or nothing if the text does not fit. Null = any text.
    std::optional<std::string> (*parse)(std::string_view) = nullptr;
    bool is_secret = false;
};

class section {
public:
    // `map` is null where the section is absent or no mapping.
    section(reading& shared, const yaml_node* map, std::string path, int line);

    [[nodiscard]] bool exists() const { return map_ != nullptr; }
    [[nodiscard]] reading& shared() const { return *shared_; }
    [[nodiscard]] const std::string& path() const { return path_; }
    [[nodiscard]] int line() const { return line_; }

    // Notes the key as known; null if absent.
    const yaml_entry* look_up(std::string_view key);

    // A nested mapping. Absent and required: one problem here and none for the keys in it.
    section child(std::string_view key, presence code = presence::optional);
    // The items of a list of mappings.
    std::vector<section> items(std::string_view key);
    // The entries of a mapping with names that the file chooses: values as sections, or as they are.
    std::vector<std::pair<std::string, section>> named_sections(std::string_view key);
    std::vector<setting<int>> named_numbers(std::string_view key, range allowed);  // path: the name alone

    setting<bool> boolean(std::string_view key, presence code, bool fallback = false);
    setting<int> integer(std::string_view key, presence code, range allowed, int fallback = 0);
    setting<std::optional<int>> optional_integer(std::string_view key, presence code, range allowed, bool or_none,
                                                 std::string_view absent_means);
    setting<std::string> text(std::string_view key, presence code, const text_rule& rule, std::string fallback = {});
    // NONE gives an empty value that is `given`.
    setting<std::optional<std::string>> text_or_none(std::string_view key, presence code, const text_rule& rule);
    // One of `words` in any case; gives it in lower case. `or_none`: the tokens of NONE give "none".
    setting<std::string> word(std::string_view key, presence code, std::span<const std::string_view> words,
                              std::string_view fallback, bool or_none = false);
    setting<std::vector<setting<std::string>>> list(std::string_view key, presence code, const text_rule& item_rule);
    setting<std::vector<int>> integers(std::string_view key, range allowed, std::vector<int> fallback);

    // Reports an absent key; `used` names the default, if any.
    void missing(std::string_view key, presence code, std::string_view expectation, std::string_view used = {}) const;
    // "<path>: <text>".
    void report(severity level, int line, std::string_view path, std::string_view text) const;
    // Warns of every key that nobody asked for.
    void finish() const;

private:
    section(const section& parent, const yaml_node* map, std::string_view part, std::string_view known_part, int line);

    template <class T>
    setting<T> absent(std::string_view key, T fallback) const;
    template <class T>
    setting<T> found(const yaml_entry& entry, std::string path, T fallback) const;
    // A value of the wrong kind, or one that does not fit.
    template <class T>
    void wrong(const setting<T>& what_is_there, std::string_view what, std::string_view expectation,
               std::string_view got) const;
    [[nodiscard]] std::string_view nearest_to(std::string_view key) const;
    const yaml_entry* mapping_or_list(std::string_view key, yaml_kind kind, presence code,
                                      std::string_view expectation);
    bool is_section(const yaml_entry& item, std::string_view part) const;
    void read_integer(const yaml_node& node, range allowed, std::string_view expectation, setting<int>& out) const;
    void read_text(const yaml_node& node, const text_rule& rule, setting<std::string>& out) const;

    reading* shared_;
    const yaml_node* map_;
    std::string path_;
    std::string known_path_;  // the same with "[]" and "<name>" for what the file chooses
    int line_;
    bool is_muted_ = false;  // absent and reported as a whole, or below such a section
    std::set<std::string, std::less<>> asked_;
};

template <class T>
setting<T> section::absent(std::string_view key, T fallback) const {
    return {std::move(fallback), false, line_, fmt::format("{}.{}", path_, key), {}};
}

template <class T>
setting<T> section::found(const yaml_entry& entry, std::string path, T fallback) const {
    return {std::move(fallback), false, entry.line, std::move(path), value_text(*entry.value, false)};
}

template <class T>
void section::wrong(const setting<T>& what_is_there, std::string_view what, std::string_view expectation,
                    std::string_view got) const {
    report(severity::fatal, what_is_there.line, what_is_there.path,
           fmt::format("{}; expected {}, got {}", what, expectation, got));
}

}  // namespace pvc::config
