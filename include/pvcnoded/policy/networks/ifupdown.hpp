// What a file of ifupdown (interfaces(5)) names: links that the host's own configuration makes or looks after, which
// are no client network's whatever they are called. Total: what is not understood names nothing. Pure. Specification:
// README ruling 79.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace pvc::policy {

struct ifupdown_file {
    std::vector<std::string> names;    // of `auto`, `allow-*`, `iface`; without what follows a colon
    std::vector<std::string> sources;  // files, with * and ? in their last part
    std::vector<std::string> folders;  // each file in them whose name is of letters, digits, - and _

    friend bool operator==(const ifupdown_file&, const ifupdown_file&) = default;
};

[[nodiscard]] ifupdown_file parse_ifupdown(std::string_view text);

// Whether such a file of a folder counts.
[[nodiscard]] bool is_ifupdown_name(std::string_view name);

}  // namespace pvc::policy
