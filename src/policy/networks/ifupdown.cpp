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

constexpr std::int64_t largest_vlan = 4094;
constexpr std::size_t longest_link_name = 127;  // of a link, also another name of it

bool is_word_of_file(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
}

// What a stanza says of its link, which may be a VLAN.
struct vlan_stanza {
    std::string_view name;    // of the link
    std::string_view device;  // `vlan-raw-device`
    std::string_view id;      // `vlan-id`
};

std::string_view without_zeros(std::string_view number) {
    number.remove_prefix(std::min(number.find_first_not_of('0'), number.size()));
    return number;
}

// "bond0.20", as which ifupdown would make it if it were called so; empty: it is no VLAN.
std::string usual_name(vlan_stanza of) {
    const auto at = of.name.rfind('.');
    if (at != std::string_view::npos) {
        of.device = of.device.empty() ? of.name.substr(0, at) : of.device;
        of.id = of.id.empty() ? of.name.substr(at + 1) : of.id;
    } else if (of.id.empty() && of.name.starts_with("vlan")) {
        of.id = of.name.substr(4);
    }
    const auto id = parse_integer(without_zeros(of.id));
    return of.device.empty() || !id || *id < 1 || *id > largest_vlan ? std::string()
                                                                     : fmt::format("{}.{}", of.device, *id);
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

bool can_be_name(std::string_view word) {
    return word.size() <= longest_link_name && word.find('/') == std::string_view::npos;
}

// The names in a list of ports. What fits a regular expression (`regex vlan.*`, until `noregex`) nobody can tell before
// it is there.
std::vector<std::string_view> ports_in(std::span<const std::string_view> words) {
    constexpr std::array<std::string_view, 4> other_words{"none", "all", "glob", "noglob"};
    std::vector<std::string_view> names;
    bool is_regex = false;
    for (const auto word : words) {
        if (word == "regex" || word == "noregex") {
            is_regex = word == "regex";
        } else if (!is_regex && std::ranges::find(other_words, word) == other_words.end() && can_be_name(word)) {
            names.push_back(word);
        }
    }
    return names;
}

}  // namespace

ifupdown_file parse_ifupdown(std::string_view text) {
    ifupdown_file out;
    vlan_stanza vlan;
    const auto end_stanza = [&] {
        const auto was = vlan.name;
        if (auto name = usual_name(std::exchange(vlan, {})); !name.empty() && name != was) {
            out.names.push_back(std::move(name));
        }
    };
    const auto add_port = [&](std::string_view name, std::string_view master) {
        out.names.emplace_back(name);
        if (auto usual = usual_name({.name = name, .device = {}, .id = {}}); !usual.empty() && usual != name) {
            out.names.push_back(std::move(usual));
        }
        if (!master.empty() && can_be_name(master)) {
            out.ports.push_back({std::string(name), std::string(master)});
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
            vlan.name = rest.front().substr(0, rest.front().find(':'));
        } else if (words[0] == "vlan-raw-device" || words[0] == "vlan_raw_device") {
            vlan.device = rest.front();
        } else if (words[0] == "vlan-id" || words[0] == "vlan_id") {
            vlan.id = rest.front();
        } else if (list_of(words[0]) == list_kind::by_bridge) {
            for (const auto name : ports_in(rest)) {
                add_port(name, vlan.name);
            }
        } else if (list_of(words[0]) == list_kind::by_port) {
            if (!vlan.name.empty() && can_be_name(vlan.name) && ports_in(rest.first(1)).size() == 1) {
                out.ports.push_back({std::string(vlan.name), std::string(rest.front())});
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

void named_links::add(const ifupdown_file& one) {
    names.insert(one.names.begin(), one.names.end());
    for (const auto& port : one.ports) {
        masters[port.name].insert(port.master);
    }
}

bool is_for_shell(std::string_view path) {
    return path.find_first_of("$`~\"'\\") != std::string_view::npos;
}

bool is_ifupdown_name(std::string_view name) {
    return !name.empty() && std::ranges::all_of(name, is_word_of_file);
}

}  // namespace pvc::policy
