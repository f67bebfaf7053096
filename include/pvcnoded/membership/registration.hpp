// S8: the node's own record. Loop thread only. One that is cancelled may have written its transaction: the next start,
// or the orderly stop, reads what is there. Specification: zookeeper-schema.md 10, node-lifecycle.md 3.7.
#pragma once

#include "pvcnoded/core/subject.hpp"
#include "pvcnoded/model/node_record.hpp"

namespace pvc::membership {

[[nodiscard]] model::node_facts facts_of(const core::node_context& node, int schema_version);

// Own keys that are written once at start and then only guarded (zookeeper-schema.md 3.2): what the statistics
// transaction checks in every tick beside the figures of these sources.
[[nodiscard]] std::vector<model::key_value> constant_keys(const core::session& s,
                                                          const std::vector<core::figure_source*>& sources);

// Creates or renews the record in one transaction. Errors: refused (a daemon with this name is alive elsewhere), and
// those of a session that broke.
async::awaitable<result<void>> register_node(core::session& s);

// Sets /schema/version to our latest if every node can follow. True if it was raised.
async::awaitable<result<bool>> raise_schema(core::session& s);

}  // namespace pvc::membership
