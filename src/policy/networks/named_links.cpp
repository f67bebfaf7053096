#include "pvcnoded/policy/networks/named_links.hpp"

#include "pvcnoded/base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

namespace pvc::policy {

namespace {

constexpr std::string_view digits = "0123456789";

// "[100-110]" at the beginning of a text.
struct bracket {
    std::int64_t first = 0;
    std::int64_t last = 0;
    std::size_t size = 0;
};

std::optional<bracket> bracket_at(std::string_view text) {
    const auto end = text.find(']');
    if (!text.starts_with('[') || end == std::string_view::npos) {
        return std::nullopt;
    }
    const auto parts = split(text.substr(1, end - 1), '-');
    const auto number = [](std::string_view word) {
        return word.find_first_not_of(digits) == std::string_view::npos ? parse_integer(word) : std::nullopt;
    };
    if (parts.size() != 2 || !number(parts[0]) || !number(parts[1])) {
        return std::nullopt;
    }
    return bracket{*number(parts[0]), *number(parts[1]), end + 1};
}

}  // namespace

bool can_be_link_name(std::string_view word) {
    return !word.empty() && word.size() <= longest_link_name && word.find('/') == std::string_view::npos;
}

std::string vlan_name(std::string_view device, std::int64_t id) {
    return fmt::format("{}.{}", device, id);
}

bool is_range(std::string_view name) {
    if (name.starts_with('/')) {
        return false;  // a pattern of ifupdown, which means other things by its brackets
    }
    for (auto at = name.find('['); at != std::string_view::npos; at = name.find('[', at + 1)) {
        if (bracket_at(name.substr(at))) {
            return true;
        }
    }
    return false;
}

bool is_in_range(std::string_view range, std::string_view name) {
    while (!range.empty()) {
        const auto numbers = bracket_at(range);
        if (!numbers) {
            if (name.empty() || name.front() != range.front()) {
                return false;
            }
            name.remove_prefix(1);
            range.remove_prefix(1);
            continue;
        }
        const auto size = std::min(name.find_first_not_of(digits), name.size());
        const auto number = parse_integer(name.substr(0, size));
        if (!number || *number < numbers->first || *number > numbers->last) {
            return false;
        }
        name.remove_prefix(size);
        range.remove_prefix(numbers->size);
    }
    return name.empty();
}

void named_links::add_vlan(const std::string& name, std::uint16_t id) {
    vlans[name].insert(id);
    if (const auto found = devices.find(name); found != devices.end()) {
        for (const auto& device : found->second) {
            names.insert(vlan_name(device, id));
        }
    }
}

void named_links::add_device(const std::string& name, const std::string& device) {
    devices[name].insert(device);
    if (const auto found = vlans.find(name); found != vlans.end()) {
        for (const auto id : found->second) {
            names.insert(vlan_name(device, id));
        }
    }
}

// The port has that VLAN of its bridge.
void named_links::add_access(const std::string& name, std::uint16_t id) {
    access[name].insert(id);
    if (const auto found = masters.find(name); found != masters.end()) {
        for (const auto& bridge : found->second) {
            names.insert(vlan_name(bridge, id));
        }
    }
}

void named_links::add_port(const std::string& name, const std::string& master) {
    masters[name].insert(master);
    if (const auto found = access.find(name); found != access.end()) {
        for (const auto id : found->second) {
            names.insert(vlan_name(master, id));
        }
    }
}

void named_links::add_uuid(const std::string& uuid, const std::string& name) {
    uuids[uuid].insert(name);
    if (const auto found = by_uuid.find(uuid); found != by_uuid.end()) {
        for (const auto& port : found->second) {
            add_port(port, name);
        }
    }
}

void named_links::add_port_by(const std::string& name, const std::string& uuid) {
    by_uuid[uuid].insert(name);
    if (const auto found = uuids.find(uuid); found != uuids.end()) {
        for (const auto& master : found->second) {
            add_port(name, master);
        }
    }
}

void named_links::add(const names_in_file& one) {
    names.insert(one.names.begin(), one.names.end());
    for (const auto& each : one.ports) {
        add_port(each.name, each.master);
    }
    for (const auto& each : one.vlans) {
        add_vlan(each.name, each.id);
    }
    for (const auto& each : one.devices) {
        add_device(each.name, each.master);
    }
    for (const auto& each : one.access) {
        add_access(each.name, each.id);
    }
    for (const auto& each : one.uuids) {
        add_uuid(each.name, each.master);
    }
    for (const auto& each : one.by_uuid) {
        add_port_by(each.name, each.master);
    }
}

// Halves of what was read before meet no others: what they made then is a name.
void named_links::add(const named_links& others) {
    names.insert(others.names.begin(), others.names.end());
    for (const auto& [name, all] : others.masters) {
        masters[name].insert(all.begin(), all.end());
    }
}

std::string names_text(const named_links& all) {
    constexpr std::array<std::string_view, 3> prefixes{"vmbr", "vxlan", "vlan"};
    std::string text;
    for (const auto& name : all.names) {
        const bool is_wanted = name.starts_with('/') || name.find('.') != std::string::npos ||
                               std::ranges::any_of(prefixes, [&](auto one) { return name.starts_with(one); });
        if (is_wanted && split_blanks(name).size() == 1) {
            text += name + '\n';
        }
    }
    for (const auto& [name, masters] : all.masters) {
        for (const auto& master : masters) {
            text += fmt::format("port {} {}\n", name, master);
        }
    }
    return text;
}

named_links parse_names(std::string_view text) {
    named_links all;
    for (const auto line : split(text, '\n')) {
        const auto words = split_blanks(line);
        if (words.size() == 1) {
            all.names.emplace(words[0]);
        } else if (words.size() == 3 && words[0] == "port") {
            all.masters[std::string(words[1])].emplace(words[2]);
        }
    }
    return all;
}

}  // namespace pvc::policy
