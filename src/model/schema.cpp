#include "pvcnoded/model/schema.hpp"

#include "pvcnoded/base/assert.hpp"

#include <algorithm>
#include <array>

namespace pvc::model {

namespace {

// Where the objects of a group live: the parts between the names of an object's path.
struct group_place {
    std::string_view name;
    std::size_t names;
    std::array<std::string_view, 3> before;  // the text in front of each name
};

group_place place_of(key_group group) {
    switch (group) {
        case key_group::base: return {"cluster", 0, {}};
        case key_group::node: return {"node", 1, {"/nodes/"}};
        case key_group::monitoring_plugin: return {"health plugin", 2, {"/nodes/", "/monitoring_data/"}};
        case key_group::sriov_pf: return {"SR-IOV PF", 2, {"/nodes/", "/sriov/pf/"}};
        case key_group::sriov_vf: return {"SR-IOV VF", 2, {"/nodes/", "/sriov/vf/"}};
        case key_group::domain: return {"domain", 1, {"/domains/"}};
        case key_group::tag: return {"tag", 2, {"/domains/", "/tags/"}};
        case key_group::domain_snapshot: return {"domain snapshot", 2, {"/domains/", "/snapshots/"}};
        case key_group::network: return {"network", 1, {"/networks/"}};
        case key_group::rule: return {"firewall rule", 3, {"/networks/", "/firewall_rules/", "/"}};
        case key_group::reservation: return {"DHCP reservation", 2, {"/networks/", "/dhcp4_reservations/"}};
        case key_group::lease: return {"DHCP lease", 2, {"/networks/", "/dhcp4_leases/"}};
        case key_group::osd: return {"OSD", 1, {"/ceph/osds/"}};
        case key_group::pool: return {"pool", 1, {"/ceph/pools/"}};
        case key_group::volume: return {"volume", 2, {"/ceph/volumes/", "/"}};
        case key_group::snapshot: return {"snapshot", 3, {"/ceph/snapshots/", "/", "/"}};
        case key_group::logs: return {"log", 1, {"/logs/"}};
        case key_group::faults: return {"fault", 1, {"/faults/"}};
    }
    return {"key", 0, {}};
}

std::string joined(std::string_view a, std::string_view b, std::string_view c) {
    std::string path;
    path.reserve(a.size() + b.size() + c.size());
    path.append(a).append(b).append(c);
    return path;
}

}  // namespace

std::string_view to_text(key_group group) {
    return place_of(group).name;
}

std::string object_path(key_group group, std::string_view first, std::string_view second, std::string_view third) {
    const auto place = place_of(group);
    const std::array given = {first, second, third};
    if (place.names == 0) {
        return "/";
    }
    std::string path;
    for (std::size_t i = 0; i < given.size(); ++i) {
        PVC_ASSERT(given[i].empty() == (i >= place.names));
        path.append(place.before[i]).append(given[i]);
    }
    return path;
}

result<schema> schema::of(int version) {
    if (version < lowest_schema || version > highest_schema) {
        return failure(errc::invalid, "schema version " + std::to_string(version),
                       "supported are " + std::to_string(lowest_schema) + " to " + std::to_string(highest_schema));
    }
    return schema(version);
}

bool schema::has(std::string_view id) const {
    const auto* const key = find_schema_key(id);
    return key != nullptr && (key->every_version || key->in_table_of(version_));
}

std::optional<std::string> schema::path(std::string_view id, std::string_view first, std::string_view second,
                                        std::string_view third) const {
    const auto* const key = find_schema_key(id);
    PVC_ASSERT(key != nullptr);
    if (!key->every_version && !key->in_table_of(version_)) {
        return std::nullopt;
    }
    if (key->group == key_group::base) {
        return std::string(key->suffix);
    }
    return object_path(key->group, first, second, third).append(key->suffix);
}

std::vector<const schema_key*> schema::keys(key_group group) const {
    std::vector<const schema_key*> found;
    for (const auto& key : schema_table()) {
        if (key.group == group && key.in_table_of(version_)) {
            found.push_back(&key);
        }
    }
    return found;
}

std::vector<std::string> schema::foreign_base_paths() const {
    std::vector<std::string> found;
    for (const auto& key : schema_table()) {
        if (key.group == key_group::base && !key.every_version && !key.in_table_of(version_)) {
            found.emplace_back(key.suffix);
        }
    }
    std::ranges::reverse(found);
    return found;
}

std::string node_path(std::string_view node, std::string_view suffix) {
    return joined("/nodes/", node, suffix);
}

std::string domain_path(std::string_view uuid, std::string_view suffix) {
    return joined("/domains/", uuid, suffix);
}

std::string network_path(std::string_view vni, std::string_view suffix) {
    return joined("/networks/", vni, suffix);
}

std::string child_path(std::string_view parent, std::string_view name) {
    return parent == "/" ? joined("/", name, {}) : joined(parent, "/", name);
}

std::string_view parent_path(std::string_view path) {
    const auto slash = path.rfind('/');
    return slash == std::string_view::npos || slash == 0 ? "/" : path.substr(0, slash);
}

}  // namespace pvc::model
