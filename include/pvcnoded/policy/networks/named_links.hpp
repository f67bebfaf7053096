// What files of the host itself name: links that its own configuration makes or looks after, which are no client
// network's whatever they are called. Pure. Specification: README ruling 79.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace pvc::policy {

// A link that a bridge or bond gets as its port, or a VLAN with the device that it stands on.
struct named_port {
    std::string name;
    std::string master;

    friend bool operator==(const named_port&, const named_port&) = default;
};

struct named_number {
    std::string name;
    std::uint16_t id = 0;

    friend bool operator==(const named_number&, const named_number&) = default;
};

// What one file names. A name may be a range: "vlan[100-110]".
struct names_in_file {
    // A VLAN also as "bond0.20", by its device and number (the kernel has each once), and as "*.20" where no name tells
    // the device; a VXLAN also as "vxlan1001".
    std::vector<std::string> names;
    std::vector<named_port> ports;
    std::vector<named_number> vlans{};   // by their names, where the device stands elsewhere
    std::vector<named_port> devices{};   // and these
    std::vector<named_number> access{};  // ports of bridges that have one VLAN of theirs
    std::vector<named_port> uuids{};     // links by the UUID that another file may call them by: the latter is the name
    std::vector<named_port> by_uuid{};   // ports whose master is told so

    friend bool operator==(const names_in_file&, const names_in_file&) = default;
};

// The bridges and bonds that are to have a link as their port, by its name.
using named_masters = std::map<std::string, std::set<std::string>, std::less<>>;
using named_numbers = std::map<std::string, std::set<std::uint16_t>, std::less<>>;

// What all files together name, in whatever order they come.
struct named_links {
    std::set<std::string, std::less<>> names;
    named_masters masters;
    // What is known of one half alone.
    named_numbers vlans{};
    named_masters devices{};
    named_numbers access{};
    named_masters uuids{};    // UUID, links
    named_masters by_uuid{};  // UUID, their ports

    void add(const names_in_file& one);
    void add(const named_links& others);

    friend bool operator==(const named_links&, const named_links&) = default;

private:
    void add_vlan(const std::string& name, std::uint16_t id);
    void add_device(const std::string& name, const std::string& device);
    void add_access(const std::string& name, std::uint16_t id);
    void add_port(const std::string& name, const std::string& master);
    void add_uuid(const std::string& uuid, const std::string& name);
    void add_port_by(const std::string& name, const std::string& uuid);
};

inline constexpr std::size_t longest_link_name = 127;  // of a link, also another name of it
inline constexpr std::int64_t largest_vlan = 4094;
inline constexpr std::int64_t largest_vxlan = 16'777'215;

// It can be one, or a range of such.
[[nodiscard]] bool can_be_link_name(std::string_view word);
// "bond0.20", as which ifupdown would make it if it were called so.
[[nodiscard]] std::string vlan_name(std::string_view device, std::int64_t id);
// One of "vlan[100-110]" or "swp[1-4].[20-29]"; what has no such brackets is no range.
[[nodiscard]] bool is_range(std::string_view name);
[[nodiscard]] bool is_in_range(std::string_view range, std::string_view name);

// As text, for whoever reads it after a restart: a name a line, or "port eth0 br0". Only what a client network may want
// to know: names that are like those of its links, or of VLANs. And back; what is not understood is nothing.
[[nodiscard]] std::string names_text(const named_links& all);
[[nodiscard]] named_links parse_names(std::string_view text);

}  // namespace pvc::policy
