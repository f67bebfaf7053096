// The keys of conf/pvcnoded.sample.yaml with their comments, which no reader of YAML keeps, and what the loader says of
// each when it is left out, or has a value of the wrong kind.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pvc::config::test {

struct sample_key {
    std::string path;     // as in loaded::known_keys
    std::string place;    // as in messages: "checks.disk" for "checks.<name>", "sriov_device[0]" for "sriov_device[]"
    std::string comment;  // as running text
    std::string begin;    // of its line: the indentation, and "- " if it begins an item
    std::size_t first = 0;
    std::size_t end = 0;  // the line after what belongs to it
    bool has_keys = false;
};

[[nodiscard]] std::string sample();
[[nodiscard]] const std::vector<sample_key>& sample_keys();
// Keys that would cause a warning, and stand in comments only.
[[nodiscard]] bool is_only_in_comments(std::string_view path);

// The sample without a key, or with another value of it.
[[nodiscard]] std::string sample_without(const sample_key& key);
[[nodiscard]] std::string sample_with(const sample_key& key, std::string_view value);

// "Required", "Required with enable_networking", "Expected" or "Optional", as the loader has it.
[[nodiscard]] std::string presence_of(const sample_key& key);
// "an integer from 1 to 3600", as the loader has it; empty: it takes everything.
[[nodiscard]] std::string expectation_of(const sample_key& key);
// What a comment says first: one of these words, or nothing.
[[nodiscard]] std::string stated_presence(std::string_view comment);
// What it says behind "default: ", without explanations.
[[nodiscard]] std::optional<std::string> stated_default(std::string_view comment);

}  // namespace pvc::config::test
