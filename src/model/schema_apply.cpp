#include "pvcnoded/model/schema_apply.hpp"

#include <algorithm>
#include <array>

namespace pvc::model {

namespace {

std::string absolute_path(const schema_key& key, std::string_view object) {
    if (key.group == key_group::base) {
        return std::string(key.suffix);
    }
    return std::string(object).append(key.suffix);
}

// The object's root, which whoever lists the object has already seen.
bool is_root(const schema_key& key) {
    return key.suffix.empty() || key.suffix == "/";
}

// The names that tell the object from others of its group: without the leading container.
std::string_view object_name(key_group group, std::string_view object) {
    for (const auto& source : checked_objects()) {
        if (source.group == group && object.starts_with(source.container) && object.size() > source.container.size()) {
            return object.substr(source.container.size() + 1);
        }
    }
    return object;
}

}  // namespace

std::span<const object_source> checked_objects() {
    static constexpr std::array sources = {
        object_source{key_group::node, "/nodes", 1},
        object_source{key_group::domain, "/domains", 1},
        object_source{key_group::network, "/networks", 1},
        object_source{key_group::osd, "/ceph/osds", 1},
        object_source{key_group::pool, "/ceph/pools", 1},
        object_source{key_group::volume, "/ceph/volumes", 2},
        object_source{key_group::snapshot, "/ceph/snapshots", 3},
    };
    return sources;
}

std::span<const object_source> checked_network_entries() {
    static constexpr std::array sources = {
        object_source{key_group::reservation, "/dhcp4_reservations", 1},
        object_source{key_group::rule, "/firewall_rules/in", 1},
        object_source{key_group::rule, "/firewall_rules/out", 1},
    };
    return sources;
}

std::vector<std::string> containers_to_list(const schema& table, key_group group, std::string_view object) {
    std::vector<std::string> containers;
    for (const auto* key : table.keys(group)) {
        if (is_root(*key)) {
            continue;
        }
        std::string container(parent_path(absolute_path(*key, object)));
        if (std::ranges::find(containers, container) == containers.end()) {
            containers.push_back(std::move(container));
        }
    }
    return containers;
}

void add_children(path_set& existing, std::string_view parent, const std::vector<std::string>& names) {
    for (const auto& name : names) {
        existing.insert(child_path(parent, name));
    }
}

std::vector<key_value> missing_keys(const schema& table, key_group group, std::string_view object,
                                    const path_set& existing) {
    std::vector<key_value> missing;
    for (const auto* key : table.keys(group)) {
        std::string path = absolute_path(*key, object);
        if (is_root(*key) || existing.contains(path)) {
            continue;
        }
        const bool is_version = path == key_path::schema_version;
        std::string value = is_version ? std::to_string(table.version()) : std::string(key->apply_default);
        missing.push_back({std::move(path), std::move(value)});
    }
    return missing;
}

std::string missing_keys_text(key_group group, std::string_view object, std::size_t count) {
    std::string text(to_text(group));
    if (group != key_group::base) {
        text.append(" ").append(object_name(group, object));
    }
    const std::string_view what = count == 1 ? " missing key created" : " missing keys created";
    return text.append(": ").append(std::to_string(count)).append(what);
}

}  // namespace pvc::model
