// Validate and apply (zookeeper-schema.md 9.2) as plans: which containers must be listed to know what an object lacks,
// and which keys are then created, with which values. Existing data is never changed.
//
// The caller runs it: for the base and for every object of checked_objects() it lists containers_to_list(), notes what
// it found with add_children(), creates missing_keys() ("node exists" is success, an object that vanished is skipped,
// a missing container counts as empty) and logs one missing_keys_text() per object. Networks are followed by their
// entries (checked_network_entries()), whose containers exist by then.
#pragma once

#include "pvcnoded/model/key_value.hpp"
#include "pvcnoded/model/schema.hpp"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace pvc::model {

// Where objects are found: below the container, `levels` names deep (volumes: pool, volume = 2).
struct object_source {
    key_group group;
    std::string_view container;  // absolute; in checked_network_entries(): below the network, with leading "/"
    int levels;
};

// Nodes, domains, networks, OSDs, pools, volumes, snapshots, in this order. Other groups are not checked.
[[nodiscard]] std::span<const object_source> checked_objects();
// Reservations and firewall rules of a network. Leases are not checked.
[[nodiscard]] std::span<const object_source> checked_network_entries();

// The paths whose children must be listed, parents first. For group base `object` is ignored (pass "/").
[[nodiscard]] std::vector<std::string> containers_to_list(const schema& table, key_group group,
                                                          std::string_view object);

// Notes the children that a listing of `parent` returned.
void add_children(path_set& existing, std::string_view parent, const std::vector<std::string>& names);

// What the object lacks, in table order, parents first. The object's own root counts as existing: it was listed; the
// root "/" likewise. An empty answer: nothing to do.
[[nodiscard]] std::vector<key_value> missing_keys(const schema& table, key_group group, std::string_view object,
                                                  const path_set& existing);

// The one warning per object (case ZK-47): "domain <uuid>: 3 missing keys created".
[[nodiscard]] std::string missing_keys_text(key_group group, std::string_view object, std::size_t count);

}  // namespace pvc::model
