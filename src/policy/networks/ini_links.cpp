#include "pvcnoded/policy/networks/ini_links.hpp"

#include "pvcnoded/base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <utility>

namespace pvc::policy {

namespace {

constexpr std::string_view any_device = "*";
constexpr std::string_view port_of_networks = "4789";  // neither program's own is (8472)

// Each key by its section, "VLAN.Id", with all that it is set to.
using ini_keys = std::map<std::string, std::vector<std::string>, std::less<>>;

ini_keys read_ini(std::string_view text) {
    ini_keys all;
    std::string section;
    for (const auto whole : split(text, '\n')) {
        const auto line = trim(whole);
        const auto equals = line.find('=');
        if (line.starts_with('[') && line.ends_with(']')) {
            section = line.substr(1, line.size() - 2);
        } else if (!line.starts_with('#') && !line.starts_with(';') && equals != std::string_view::npos) {
            all[fmt::format("{}.{}", section, trim(line.substr(0, equals)))].emplace_back(
                trim(line.substr(equals + 1)));
        }
    }
    return all;
}

// The last one counts.
std::string_view value_of(const ini_keys& all, std::string_view key) {
    const auto found = all.find(key);
    return found == all.end() ? std::string_view() : std::string_view(found->second.back());
}

// What is set several times adds up.
std::vector<std::string_view> words_of(const ini_keys& all, std::string_view key) {
    std::vector<std::string_view> words;
    if (const auto found = all.find(key); found != all.end()) {
        for (const auto& one : found->second) {
            std::ranges::copy(split_blanks(one), std::back_inserter(words));
        }
    }
    return words;
}

std::optional<std::int64_t> number_of(std::string_view word, std::int64_t most) {
    const auto number = parse_integer(word);
    return number && *number >= 1 && *number <= most ? number : std::nullopt;
}

bool has_link_name(std::string_view word) {
    return can_be_link_name(word) && split_blanks(word).size() == 1;
}

// Plainly: no pattern, and not what is to be matched by none.
bool is_plain(std::string_view word) {
    return has_link_name(word) && word.find_first_of("*?[!") == std::string_view::npos;
}

void add_vxlan(names_in_file& out, std::string_view number, std::string_view port) {
    const auto vni = number_of(number, largest_vxlan);
    if (vni && port == port_of_networks) {
        out.names.push_back(fmt::format("vxlan{}", *vni));
    }
}

// By other means than names, or by a pattern, it may be any.
std::vector<std::string_view> devices_of(const ini_keys& all) {
    auto names = words_of(all, "Match.Name");
    if (names.empty() || !std::ranges::all_of(names, is_plain)) {
        return {any_device};
    }
    return names;
}

bool is_uuid(std::string_view word) {
    constexpr std::size_t length = 36;
    return word.size() == length && std::ranges::count(word, '-') == 4;
}

}  // namespace

bool is_netdev_file(std::string_view name) {
    return name.ends_with(".netdev");
}

bool is_network_file(std::string_view name) {
    return name.ends_with(".network");
}

bool is_keyfile(std::string_view name) {
    return !name.starts_with('.') && !name.ends_with('~') && !name.ends_with(".bak");
}

names_in_file parse_netdev(std::string_view text) {
    names_in_file out;
    const auto all = read_ini(text);
    const std::string name(value_of(all, "NetDev.Name"));
    const auto kind = value_of(all, "NetDev.Kind");
    if (!has_link_name(name)) {
        return out;
    }
    out.names.push_back(name);
    if (kind == "vlan") {
        if (const auto id = number_of(value_of(all, "VLAN.Id"), largest_vlan)) {
            out.vlans.push_back({name, static_cast<std::uint16_t>(*id)});
        }
    } else if (kind == "vxlan") {
        const auto vni = value_of(all, "VXLAN.VNI");
        add_vxlan(out, vni.empty() ? value_of(all, "VXLAN.Id") : vni, value_of(all, "VXLAN.DestinationPort"));
    }
    return out;
}

names_in_file parse_network_file(std::string_view text) {
    names_in_file out;
    const auto all = read_ini(text);
    for (const auto device : devices_of(all)) {
        for (const auto vlan : words_of(all, "Network.VLAN")) {
            if (has_link_name(vlan)) {
                out.devices.push_back({std::string(vlan), std::string(device)});
            }
        }
        for (const auto* key : {"Network.Bridge", "Network.Bond"}) {
            const auto master = value_of(all, key);
            if (has_link_name(master) && device != any_device) {
                out.ports.push_back({std::string(device), std::string(master)});
            }
        }
    }
    return out;
}

names_in_file parse_keyfile(std::string_view text) {
    names_in_file out;
    const auto all = read_ini(text);
    const auto type = value_of(all, "connection.type");
    auto name = value_of(all, "connection.interface-name");
    if (name.empty() && type == "vlan") {
        name = value_of(all, "vlan.interface-name");
    }
    constexpr std::array<std::string_view, 4> made{"vlan", "vxlan", "bridge", "bond"};
    if (has_link_name(name) && std::ranges::find(made, type) != made.end()) {
        out.names.emplace_back(name);
    }
    if (const auto id = type == "vlan" ? number_of(value_of(all, "vlan.id"), largest_vlan) : std::nullopt) {
        // By the UUID of another connection, or by a hardware address, it may be any.
        const auto parent = value_of(all, "vlan.parent");
        out.names.push_back(vlan_name(is_plain(parent) && !is_uuid(parent) ? parent : any_device, *id));
    } else if (type == "vxlan") {
        add_vxlan(out, value_of(all, "vxlan.id"), value_of(all, "vxlan.destination-port"));
    }
    if (const auto uuid = value_of(all, "connection.uuid"); is_uuid(uuid) && has_link_name(name)) {
        out.uuids.push_back({lower(uuid), std::string(name)});
    }
    for (const auto* key : {"connection.master", "connection.controller"}) {
        const auto master = value_of(all, key);
        if (has_link_name(name) && is_uuid(master)) {
            out.by_uuid.push_back({std::string(name), lower(master)});
        } else if (has_link_name(name) && has_link_name(master)) {
            out.ports.push_back({std::string(name), std::string(master)});
        }
    }
    return out;
}

}  // namespace pvc::policy
