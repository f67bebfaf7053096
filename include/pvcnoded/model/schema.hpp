// The key table of schema versions 0-15 (zookeeper-schema.md 6 and 7): which key exists in which version, and where.
//
// Keys are named by the dotted id that the schema files and log messages use ("node.keepalive", "domain.meta.tags").
// Two keys are used at every version although the table of the reference has them later or not at all:
// "base.config.fence_lock" and "node.selfreset" (zookeeper-schema.md 8.4, last row).
#pragma once

#include "pvcnoded/base/result.hpp"
#include "pvcnoded/model/key_names.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace pvc::model {

inline constexpr int lowest_schema = 0;
inline constexpr int highest_schema = 15;

// Every key belongs to a group; all keys of a group hang below one kind of object. The comment says which names path()
// wants, in order.
enum class key_group : std::uint8_t {
    base,               // none
    node,               // node
    monitoring_plugin,  // node, plugin
    sriov_pf,           // node, physical function
    sriov_vf,           // node, virtual function
    domain,             // uuid
    tag,                // uuid, tag
    domain_snapshot,    // uuid, snapshot
    network,            // vni
    rule,               // vni, "in" or "out", description
    reservation,        // vni, mac
    lease,              // vni, mac
    osd,                // id
    pool,               // pool
    volume,             // pool, volume
    snapshot,           // pool, volume, snapshot
    logs,               // node
    faults,             // id
};

// The group's name in messages: "node", "domain", "volume" …
[[nodiscard]] std::string_view to_text(key_group group);

// One row of the table.
struct schema_key {
    std::string_view id;
    key_group group;
    std::string_view suffix;  // below the object, "" for its root; the whole path in group base
    int since;                // first and last version whose table has the key; since > until: in none
    int until;
    std::string_view apply_default;  // what apply creates it with ("/schema/version": the version applied instead)
    bool every_version = false;      // ours uses it whatever the active version is

    [[nodiscard]] constexpr bool in_table_of(int version) const { return since <= version && version <= until; }
};

// All rows, groups together, parents before children.
[[nodiscard]] std::span<const schema_key> schema_table();
// The row with this id, or nullptr.
[[nodiscard]] const schema_key* find_schema_key(std::string_view id);

// The key table of one version. A small value; copies are cheap.
class schema {
public:
    // Fails with errc::invalid unless 0 <= version <= 15.
    [[nodiscard]] static result<schema> of(int version);

    [[nodiscard]] int version() const { return version_; }

    // Whether the key may be used at this version. Unknown ids: false.
    [[nodiscard]] bool has(std::string_view id) const;

    // The path of a key; empty if the key does not exist in this version (reads then yield "no value", writes are
    // skipped). An id that no version has, or the wrong number of names for its group, is a broken invariant.
    [[nodiscard]] std::optional<std::string> path(std::string_view id, std::string_view first = {},
                                                  std::string_view second = {}, std::string_view third = {}) const;

    // The keys that this version's table has in a group, parents first: what validate and apply look at. Does not
    // contain keys that only ours uses at this version.
    [[nodiscard]] std::vector<const schema_key*> keys(key_group group) const;

    // Paths of base keys that other versions have and this one lacks, children before parents: deleted with their
    // content when the cluster comes to this version (8.4 step 2). Never a key that ours uses at every version.
    [[nodiscard]] std::vector<std::string> foreign_base_paths() const;

    friend bool operator==(const schema&, const schema&) = default;

private:
    explicit schema(int version) : version_(version) {}

    int version_;
};

// The root of an object: object_path(key_group::volume, "vms", "web") = "/ceph/volumes/vms/web"; group base: "/".
[[nodiscard]] std::string object_path(key_group group, std::string_view first = {}, std::string_view second = {},
                                      std::string_view third = {});

// Paths that exist in every version, for those who do not need the table. The suffix begins with "/" or is empty.
[[nodiscard]] std::string node_path(std::string_view node, std::string_view suffix = {});
[[nodiscard]] std::string domain_path(std::string_view uuid, std::string_view suffix = {});
[[nodiscard]] std::string network_path(std::string_view vni, std::string_view suffix = {});

// "/a/b" + "c" = "/a/b/c"; "/" + "c" = "/c".
[[nodiscard]] std::string child_path(std::string_view parent, std::string_view name);
// "/a/b" -> "/a"; "/a" and "/" -> "/".
[[nodiscard]] std::string_view parent_path(std::string_view path);

}  // namespace pvc::model
