// What a file of ifupdown or ifupdown2 (interfaces(5)) names. Total: what is not understood names nothing. Pure.
// Specification: README ruling 79.
#pragma once

#include "pvcnoded/policy/networks/named_links.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace pvc::policy {

struct ifupdown_source {
    std::string path;
    std::size_t line = 0;

    friend bool operator==(const ifupdown_source&, const ifupdown_source&) = default;
};

// Names are those of `auto`, `allow-*`, `iface`, without what follows a colon, and of lists of ports (`bridge_ports`,
// `bond-slaves`, …): ifup makes a VLAN for them that has no stanza. A VLAN or VXLAN that is called otherwise is known
// by its number too (`vlan-id`, `vxlan-id`, a port's `bridge-access`).
struct ifupdown_file : names_in_file {
    std::vector<ifupdown_source> sources;  // files; any part of a path may be a pattern
    std::vector<ifupdown_source> folders;  // each file in them whose name is of letters, digits, - and _; likewise

    friend bool operator==(const ifupdown_file&, const ifupdown_file&) = default;
};

[[nodiscard]] ifupdown_file parse_ifupdown(std::string_view text);

// A shell would make something else of it: of variables, quotes, somebody's home.
[[nodiscard]] bool is_for_shell(std::string_view path);

// Whether such a file of a folder counts.
[[nodiscard]] bool is_ifupdown_name(std::string_view name);

}  // namespace pvc::policy
