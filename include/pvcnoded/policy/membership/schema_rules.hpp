// Schema version negotiation (zookeeper-schema.md 8.4): what to do about /schema/version, which version to advertise,
// when to raise the cluster's, and who leads a hot update.
#pragma once

#include "pvcnoded/base/result.hpp"
#include "pvcnoded/model/states.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pvc::policy {

// At start.
enum class schema_start : std::uint8_t {
    wait,  // not initialised: wait for the key, say so every 60 s, touch nothing
    run,   // work with `version`
    exit,  // newer than we know: change nothing, exit status 1
};

struct schema_start_decision {
    schema_start action = schema_start::wait;
    int version = 0;     // for run
    std::string reason;  // for wait and exit, one line
};

// `stored`: the text of /schema/version; empty if the key is missing. Missing, not a number, negative: wait.
[[nodiscard]] schema_start_decision decide_schema_start(std::optional<std::string_view> stored);

// While running with version `active`.
enum class schema_change : std::uint8_t {
    none,    // the version in use, or unreadable: go on (see `warning`)
    update,  // hot update to `version`
    exit,    // newer than we know
};

struct schema_change_decision {
    schema_change action = schema_change::none;
    int version = 0;      // for update
    std::string message;  // a warning if not empty: missing or unreadable versions are never taken for 0
};

[[nodiscard]] schema_change_decision decide_schema_change(int active, std::optional<std::string_view> stored);

// PVCD_SCHEMA_LIMIT: absent or "" is no limit; otherwise 10-15, else errc::invalid.
[[nodiscard]] result<std::optional<int>> parse_schema_limit(std::optional<std::string_view> text);

// What this node writes as latestschema: 10 while the cluster is at 10 or below, otherwise the cluster's version;
// a limit raises it, never lowers it.
[[nodiscard]] int advertised_latest(int cluster_version, std::optional<int> limit);

// Whether this node sets /schema/version to its own latest, conditionally on the version read. `all_latest` holds the
// latestschema text of every node including this one; empty where the key is missing.
[[nodiscard]] bool must_raise(int cluster_version, int own_latest,
                              const std::vector<std::optional<std::string>>& all_latest);

// Who runs apply for a new version.
enum class update_part : std::uint8_t {
    lead,    // primary: exclusive lock on /schema/version, apply, delete foreign base keys
    stand,   // nobody is primary: the same for whoever gets the lock first (apply is idempotent)
    follow,  // read lock, released at once
};

// `primary`: who /config/primary_node names; `primary_state`: that node's daemon state, empty if it has no entry.
[[nodiscard]] update_part part_in_update(std::string_view self, const std::optional<std::string>& primary,
                                         std::optional<model::daemon_state> primary_state);

}  // namespace pvc::policy
