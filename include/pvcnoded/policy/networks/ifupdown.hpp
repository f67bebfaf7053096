// What a file of ifupdown (interfaces(5)) names: links that the host's own configuration makes or looks after, which
// are no client network's whatever they are called. Total: what is not understood names nothing. Pure. Specification:
// README ruling 79.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace pvc::policy {

struct ifupdown_source {
    std::string path;
    std::size_t line = 0;

    friend bool operator==(const ifupdown_source&, const ifupdown_source&) = default;
};

// A link that a bridge or bond gets as its port.
struct ifupdown_port {
    std::string name;
    std::string master;

    friend bool operator==(const ifupdown_port&, const ifupdown_port&) = default;
};

struct ifupdown_file {
    // Of `auto`, `allow-*`, `iface`, without what follows a colon, and of lists of ports (`bridge_ports`,
    // `bond-slaves`, …): ifup makes a VLAN for them that has no stanza. A VLAN that is called otherwise also as
    // "bond0.20", by its device and number (`vlan-raw-device`, `vlan-id`): the kernel has each once.
    std::vector<std::string> names;
    std::vector<ifupdown_port> ports;
    std::vector<ifupdown_source> sources;  // files; any part of a path may be a pattern
    std::vector<ifupdown_source> folders;  // each file in them whose name is of letters, digits, - and _; likewise

    friend bool operator==(const ifupdown_file&, const ifupdown_file&) = default;
};

// The bridges and bonds that are to have a link as their port, by its name.
using named_masters = std::map<std::string, std::set<std::string>, std::less<>>;

// What all files together name.
struct named_links {
    std::set<std::string, std::less<>> names;
    named_masters masters;

    void add(const ifupdown_file& one);
};

[[nodiscard]] ifupdown_file parse_ifupdown(std::string_view text);

// A shell would make something else of it: of variables, quotes, somebody's home.
[[nodiscard]] bool is_for_shell(std::string_view path);

// Whether such a file of a folder counts.
[[nodiscard]] bool is_ifupdown_name(std::string_view name);

}  // namespace pvc::policy
