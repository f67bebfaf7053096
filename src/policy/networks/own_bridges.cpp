#include "pvcnoded/policy/networks/own_bridges.hpp"

#include "own_links.hpp"
#include "pvcnoded/base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <span>

namespace pvc::policy {

namespace {

constexpr std::string_view boot_word = "boot ";
constexpr std::int64_t largest_vni = 16777215;

bool has_given_address(const model::network_state& seen, int index) {
    const auto all = seen.addresses_of(index);
    return std::ranges::any_of(all, [](const model::link_address& one) {
        const auto& address = one.address.address;
        return one.is_global() && one.is_permanent && !(address.is_v6() && address.to_v6().is_link_local());
    });
}

// False: it is none.
bool add_base_line(own_bases& to, std::span<const std::string_view> parts) {
    if (parts.size() != 4 || (parts[3] != "own" && parts[3] != "used")) {
        return false;
    }
    const auto number =
        model::vni_of(parts[1], "vlan") ? model::vni_of(parts[1], "vlan") : model::vni_of(parts[1], "vxlan");
    const auto index = parse_integer(parts[2]);
    if (!number || !index || *index < 0 || *index > std::numeric_limits<int>::max()) {
        return false;
    }
    to[std::string(parts[1])] = {static_cast<int>(*index), parts[3] == "own"};
    return true;
}

// False: it is none.
bool add_port_line(host_ports* to, std::span<const std::string_view> parts) {
    const auto index = parts.size() == 4 ? parse_integer(parts[2]) : std::nullopt;
    if (!index || *index < 1 || *index > std::numeric_limits<int>::max()) {
        return false;
    }
    if (to != nullptr) {
        (*to)[std::string(parts[1])] = {static_cast<int>(*index), std::string(parts[3])};
    }
    return true;
}

// False: it is none.
bool add_further_line(further_notes* to, std::span<const std::string_view> parts) {
    if (parts[0] == "made") {
        if (to != nullptr && parts.size() == 2) {
            to->made.emplace(parts[1]);
        }
        return parts.size() == 2;
    }
    auto route = parse_bound(parts);
    const bool is_route = route.has_value();
    if (is_route && to != nullptr) {
        to->routes.push_back(*std::move(route));
    }
    return is_route;
}

// Also by another name that somebody gave it, unless that is its name by the record too.
bool is_there(const model::network_state& seen, const own_bridges& all, std::uint32_t vni, int index) {
    const auto* link = seen.find(index);
    const auto named = link == nullptr ? std::nullopt : model::vni_of(link->name, "vmbr");
    return link != nullptr && link->kind == "bridge" && (!named || *named == vni || index_of(all, *named) != index);
}

// False: it is none.
bool add_line(own_bridges& to, own_bases& bases, host_ports* ports, further_notes* further, std::string_view line) {
    const auto parts = split_blanks(line);
    if (!parts.empty() && (parts[0] == "made" || parts[0] == "route")) {
        return add_further_line(further, parts);
    }
    if (!parts.empty() && parts[0] == "port") {
        return add_port_line(ports, parts);
    }
    if (!parts.empty() && parts[0] == "base") {
        return add_base_line(bases, parts);
    }
    if (parts.size() != 3 || (parts[2] != "m" && parts[2] != "b")) {
        return false;
    }
    const auto vni = parse_integer(parts[0]);
    const auto index = parse_integer(parts[1]);
    if (!vni || *vni < 1 || *vni > largest_vni || !index || *index < 1 || *index > std::numeric_limits<int>::max()) {
        return false;
    }
    to[static_cast<std::uint32_t>(*vni)] = {static_cast<int>(*index), parts[2] == "m"};
    return true;
}

}  // namespace

const recorded_base* whose_links::find(const model::network_link& link) const {
    auto found = bases.find(link.name);
    const bool is_it =
        found != bases.end() && (found->second.index == link.index || found->second.index == recorded_base::coming);
    if (!is_it) {  // somebody may have called it otherwise
        found = std::ranges::find_if(bases, [&](const auto& one) { return one.second.index == link.index; });
    }
    return found != bases.end() ? &found->second : nullptr;
}

int index_of(const own_bridges& all, std::uint32_t vni) {
    const auto found = all.find(vni);
    return found == all.end() ? 0 : found->second.index;
}

bool has_index(const own_bridges& all, int index) {
    return std::ranges::any_of(all, [&](const auto& one) { return one.second.index == index; });
}

own_bridges after_look(const own_bridges& before, const own_bridges& taken, const model::network_state& seen) {
    own_bridges now = before;
    for (const auto& [vni, one] : taken) {
        auto& entry = now[vni];
        // A network that has become a bridged one: gateways of before may still be there.
        const bool had_gateways = entry.index == one.index && entry.has_gateways && has_given_address(seen, one.index);
        entry = {one.index, one.has_gateways || had_gateways};
    }
    const auto all = now;
    std::erase_if(now, [&](const auto& one) { return !is_there(seen, all, one.first, one.second.index); });
    return now;
}

own_bases bases_after_look(const own_bases& before, const own_bases& taken, const model::network_state& seen) {
    own_bases now = before;
    for (const auto& [name, one] : taken) {
        now[name] = one;
    }
    std::erase_if(now, [&](const auto& one) {
        const auto& [name, entry] = one;
        const auto* link = seen.find(name);
        if (entry.index == recorded_base::coming) {
            return link == nullptr && !taken.contains(name);
        }
        // What is its own stays that by any name.
        const auto* it =
            entry.is_own || (link != nullptr && link->index == entry.index) ? seen.find(entry.index) : nullptr;
        const bool is_let_go = it != nullptr && !entry.is_own && it->master == 0 && !taken.contains(name);
        return it == nullptr || is_let_go;
    });
    return now;
}

host_ports ports_after_look(const host_ports& before, const config::node_config& config,
                            const model::network_state& seen) {
    host_ports now = before;
    for (const auto& bridge : config.host_bridges) {
        if (const auto* device = seen.find(bridge.device)) {
            if (device->master != 0 && seen.name_of(device->master) == bridge.name) {
                now[device->name] = {device->index, bridge.name};
            }
        }
    }
    // Somebody may have called it otherwise since: its index tells. Or its bridge: who has that port tells (host_plan).
    host_ports there;
    for (const auto& [name, one] : now) {
        const auto* link = seen.find(one.index);
        if (link != nullptr && link->master != 0 &&
            (seen.name_of(link->master) == one.bridge || seen.find(one.bridge) == nullptr)) {
            there[link->name] = one;
        }
    }
    return there;
}

bool is_recorded(const host_ports& ports, const model::network_state& seen, const model::network_link& link) {
    return link.master != 0 && std::ranges::any_of(ports, [&](const auto& one) {
               return one.second.index == link.index && one.second.bridge == seen.name_of(link.master);
           });
}

host_ports with_ports_of(host_ports before, std::span<const model::network_change> steps,
                         const model::network_state& seen) {
    for (const auto& step : steps) {
        const auto* const port = std::get_if<model::set_master>(&step);
        const auto* const link = port == nullptr || port->master.empty() ? nullptr : seen.find(port->name);
        if (link == nullptr) {
            continue;
        }
        // Where it is now it is on record until it is gone from there, whenever the daemon dies.
        const auto is_elsewhere = [&](const auto& one) {
            return one.second.index == link->index && one.second.bridge != port->master;
        };
        const bool is_leaving = std::ranges::any_of(before, is_elsewhere);
        before[is_leaving ? fmt::format("{}:{}", link->name, port->master) : link->name] = {link->index, port->master};
    }
    return before;
}

std::vector<std::string> record_texts(const own_bridges& all, const own_bases& bases, std::string_view boot_id,
                                      std::size_t limit, const host_ports& ports, const further_notes& further) {
    const std::string first = fmt::format("{}{}\n", boot_word, boot_id);
    std::vector<std::string> texts{first};
    const auto add = [&](const std::string& line) {
        if (texts.back().size() + line.size() > limit && texts.back().size() > first.size()) {
            texts.push_back(first);
        }
        texts.back() += line;
    };
    for (const auto& [vni, one] : all) {
        add(fmt::format("{} {} {}\n", vni, one.index, one.has_gateways ? 'm' : 'b'));
    }
    for (const auto& [name, one] : bases) {
        add(fmt::format("base {} {} {}\n", name, one.index, one.is_own ? "own" : "used"));
    }
    for (const auto& [name, one] : ports) {
        add(fmt::format("port {} {} {}\n", name, one.index, one.bridge));
    }
    for (const auto& name : further.made) {
        add(fmt::format("made {}\n", name));
    }
    for (const auto& one : further.routes) {
        add(bound_line(one) + '\n');
    }
    return texts;
}

std::string record_name(std::size_t part) {
    return part == 0 ? "client-bridges" : fmt::format("client-bridges.{}", part + 1);
}

own_bases with_unknown_bases(own_bases known, const model::network_state& seen) {
    for (const auto& link : seen.links()) {
        for (const auto* prefix : {"vxlan", "vlan"}) {
            const auto vni = model::vni_of(link.name, prefix);
            const auto found = known.find(link.name);
            const bool is_known = found != known.end() && found->second.index == link.index;
            if (vni && !is_known && link.master != 0 && seen.name_of(link.master) == bridge_name(*vni)) {
                known[link.name] = {link.index, false};
            }
        }
    }
    return known;
}

std::string add_record(own_bridges& to, own_bases& bases, std::string_view text, std::string_view boot_id,
                       host_ports* ports, further_notes* further) {
    if (text.empty()) {
        return "the file is empty";
    }
    std::string ignored;
    std::size_t number = 0;
    while (!text.empty()) {
        const auto end = text.find('\n');
        const auto line = text.substr(0, end);
        text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
        ++number;
        const bool is_boot = number == 1 && line.starts_with(boot_word);
        if (end == std::string_view::npos) {
            return ignored.empty() ? fmt::format("line {} has no end: \"{}\"", number, shown(line)) : ignored;
        }
        if (is_boot && (boot_id.empty() || line.substr(boot_word.size()) != boot_id)) {
            return {};
        }
        if (number == 1 && !is_boot) {
            return fmt::format("line 1: expected `boot` and the identity of the boot, got \"{}\"", shown(line));
        }
        if (!is_boot && !add_line(to, bases, ports, further, line) && ignored.empty()) {
            ignored = fmt::format("line {}: expected `VNI index m|b` or `base name index own|used`, got \"{}\"", number,
                                  shown(line));
        }
    }
    return ignored;
}

}  // namespace pvc::policy
