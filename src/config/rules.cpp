#include "readers.hpp"

#include <fmt/format.h>

namespace pvc::config {

namespace {
std::optional<std::string> parse_non_empty(std::string_view text) {
    return text.empty() ? std::nullopt : std::optional<std::string>(text);
}

std::optional<std::string> parse_device(std::string_view text) {
    return is_device_name(text) ? std::optional<std::string>(text) : std::nullopt;
}
}  // namespace

const text_rule any_text{"not a string", "a string"};
const text_rule non_empty_text{"empty", "a non-empty string", parse_non_empty};
const text_rule secret_text{"empty", "a non-empty string", parse_non_empty, true};
const text_rule path_rule{"not an absolute path", "an absolute path", parse_path};
const text_rule device_rule{"not a device name", "a network device name of 1 to 15 characters", parse_device};

void check_directory(const section& in, const host_facts& facts, const setting<std::string>& directory) {
    if (facts.directory_exists && !directory.value.empty() && !facts.directory_exists(directory.value)) {
        in.report(severity::warning, directory.line, directory.path,
                  fmt::format("no such directory; expected an existing directory, got {}", printable(directory.value)));
    }
}

}  // namespace pvc::config
