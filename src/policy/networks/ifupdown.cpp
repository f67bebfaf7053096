#include "pvcnoded/policy/networks/ifupdown.hpp"

#include "pvcnoded/base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <utility>

namespace pvc::policy {

namespace {

struct logical_line {
    std::size_t number = 0;  // of its first part
    std::string text;
};

// A line that ends in a backslash goes on in the next one.
std::vector<logical_line> logical_lines(std::string_view text) {
    std::vector<logical_line> lines;
    bool goes_on = false;
    std::size_t number = 0;
    for (auto line : split(text, '\n')) {
        ++number;
        if (line.ends_with('\r')) {
            line.remove_suffix(1);
        }
        const bool is_comment = !goes_on && trim(line).starts_with('#');
        const bool continues = !is_comment && line.ends_with('\\');
        if (continues) {
            line.remove_suffix(1);
        }
        if (goes_on) {
            lines.back().text += ' ';
            lines.back().text += line;
        } else {
            lines.push_back({number, std::string(line)});
        }
        goes_on = continues;
    }
    return lines;
}

bool is_word_of_file(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
}

constexpr std::string_view port_of_vxlans = "4789";  // also where a stanza says none

// What a stanza says of its link, which may be a VLAN or a VXLAN.
struct link_stanza {
    std::string_view name;      // of the link
    std::string_view device;    // `vlan-raw-device`
    std::string_view id;        // `vlan-id`
    std::string_view vni{};     // `vxlan-id`
    std::string_view port{};    // `vxlan-port`
    std::string_view access{};  // `bridge-access`
};

std::string_view without_zeros(std::string_view number) {
    number.remove_prefix(std::min(number.find_first_not_of('0'), number.size()));
    return number;
}

// "bond0.20", as which ifupdown would make it if it were called so; empty: it is no VLAN.
std::string usual_name(link_stanza of) {
    const auto at = of.name.rfind('.');
    if (at != std::string_view::npos) {
        of.device = of.device.empty() ? of.name.substr(0, at) : of.device;
        of.id = of.id.empty() ? of.name.substr(at + 1) : of.id;
    } else if (of.id.empty() && of.name.starts_with("vlan")) {
        of.id = of.name.substr(4);
    }
    if (of.device.empty()) {
        return {};
    }
    const auto id = parse_integer(without_zeros(of.id));
    if (id && *id >= 1 && *id <= largest_vlan) {
        return vlan_name(of.device, *id);
    }
    return is_range(of.id) ? fmt::format("{}.{}", of.device, of.id) : std::string();
}

// Where it is of the port that those of client networks have: the kernel has each number once.
std::string usual_vxlan(const link_stanza& of) {
    const auto vni = parse_integer(without_zeros(of.vni));
    const bool is_it = vni && *vni >= 1 && *vni <= largest_vxlan && (of.port.empty() || of.port == port_of_vxlans);
    return is_it ? fmt::format("vxlan{}", *vni) : std::string();
}

// "bond0.20-29", as it stands after `glob`, is "bond0.[20-29]".
std::string as_range(std::string_view word) {
    constexpr std::string_view digits = "0123456789";
    const auto dash = word.find('-');
    if (is_range(word) || dash == std::string_view::npos || dash == 0) {
        return std::string(word);
    }
    const auto before = word.find_last_not_of(digits, dash - 1);
    const auto begin = before == std::string_view::npos ? 0 : before + 1;
    const auto end = std::min(word.find_first_not_of(digits, dash + 1), word.size());
    auto range = fmt::format("{}[{}]{}", word.substr(0, begin), word.substr(begin, end - begin), word.substr(end));
    return is_range(range) ? range : std::string(word);
}

enum class list_kind { none, by_bridge, by_port };

// Of an option of a stanza; both spellings of each are used.
list_kind list_of(std::string_view option) {
    constexpr std::array<std::string_view, 9> lists{"bridge_ports", "bridge-ports", "slaves",
                                                    "bond_slaves",  "bond-slaves",  "ovs_ports",
                                                    "ovs_bonds",    "ovs-ports",    "ovs-bonds"};
    constexpr std::array<std::string_view, 4> masters{"bond_master", "bond-master", "ovs_bridge", "ovs-bridge"};
    if (std::ranges::find(lists, option) != lists.end()) {
        return list_kind::by_bridge;
    }
    return std::ranges::find(masters, option) != masters.end() ? list_kind::by_port : list_kind::none;
}

// The names in a list of ports. What fits a regular expression (`regex vlan.*`, until `noregex`) nobody can tell before
// it is there, and nothing is made for it.
std::vector<std::string> ports_in(std::span<const std::string_view> words) {
    constexpr std::array<std::string_view, 4> switches{"regex", "noregex", "glob", "noglob"};
    std::vector<std::string> names;
    bool is_regex = false;
    bool is_glob = false;
    for (const auto word : words) {
        if (std::ranges::find(switches, word) != switches.end()) {
            is_regex = word == "regex";
            is_glob = word == "glob";
        } else if (!is_regex && word != "none" && word != "all" && can_be_link_name(word)) {
            names.push_back(is_glob ? as_range(word) : std::string(word));
        }
    }
    return names;
}

}  // namespace

ifupdown_file parse_ifupdown(std::string_view text) {
    ifupdown_file out;
    link_stanza of;
    const auto end_stanza = [&] {
        const auto was = std::exchange(of, {});
        for (auto name : {usual_name(was), usual_vxlan(was)}) {
            if (!name.empty() && name != was.name) {
                out.names.push_back(std::move(name));
            }
        }
        const auto access = parse_integer(was.access);
        if (access && *access >= 1 && *access <= largest_vlan && can_be_link_name(was.name)) {
            out.access.push_back({std::string(was.name), static_cast<std::uint16_t>(*access)});
        }
    };
    const auto add_port = [&](const std::string& name, std::string_view master) {
        out.names.push_back(name);
        if (auto usual = usual_name({.name = name, .device = {}, .id = {}}); !usual.empty() && usual != name) {
            out.names.push_back(std::move(usual));
        }
        if (can_be_link_name(master)) {
            out.ports.push_back({name, std::string(master)});
        }
    };
    const auto lines = logical_lines(text);
    for (const auto& line : lines) {
        const auto words = split_blanks(line.text);
        if (words.size() < 2 || words[0].starts_with('#')) {
            continue;
        }
        const auto rest = std::span(words).subspan(1);
        const auto add_names = [&out](std::span<const std::string_view> names) {
            for (const auto name : names) {
                out.names.emplace_back(name.substr(0, name.find(':')));
            }
        };
        const auto add_sources = [&](std::vector<ifupdown_source>& all) {
            for (const auto path : rest) {
                all.push_back({std::string(path), line.number});
            }
        };
        if (words[0] == "auto" || words[0].starts_with("allow-")) {
            add_names(rest);
        } else if (words[0] == "iface") {
            add_names(rest.first(1));
            end_stanza();
            of.name = rest.front().substr(0, rest.front().find(':'));
        } else if (words[0] == "vlan-raw-device" || words[0] == "vlan_raw_device") {
            of.device = rest.front();
        } else if (words[0] == "vlan-id" || words[0] == "vlan_id") {
            of.id = rest.front();
        } else if (words[0] == "vxlan-id") {
            of.vni = rest.front();
        } else if (words[0] == "vxlan-port") {
            of.port = rest.front();
        } else if (words[0] == "bridge-access") {
            of.access = rest.front();
        } else if (list_of(words[0]) == list_kind::by_bridge) {
            for (const auto& name : ports_in(rest)) {
                add_port(name, of.name);
            }
        } else if (list_of(words[0]) == list_kind::by_port) {
            if (can_be_link_name(of.name) && ports_in(rest.first(1)).size() == 1) {
                out.ports.push_back({std::string(of.name), std::string(rest.front())});
            }
        } else if (words[0] == "source") {
            add_sources(out.sources);
        } else if (words[0] == "source-directory") {
            add_sources(out.folders);
        }
    }
    end_stanza();
    return out;
}

bool is_for_shell(std::string_view path) {
    return path.find_first_of("$`~\"'\\") != std::string_view::npos;
}

bool is_ifupdown_name(std::string_view name) {
    return !name.empty() && std::ranges::all_of(name, is_word_of_file);
}

}  // namespace pvc::policy
