// The schema version: adopted at start, followed while running, changed in the same process and on the same ZooKeeper
// session while the heartbeat goes on. Loop thread only; whatever is cut short is done again from what is stored, and a
// lock that was held is released. Specification: zookeeper-schema.md 8.4, 9.
#pragma once

#include "pvcnoded/core/session.hpp"

#include <memory>
#include <optional>

namespace pvc::membership {

// Waits until the cluster is initialised (logging every 60 s) and adopts its version.
// Errors: refused (a version above 15: exit status 1), and those of a session that broke.
async::awaitable<result<void>> adopt_schema(core::session& s);

// Follows /schema/version. Returns the version to change to; refused for one above 15.
class schema_watch {
public:
    explicit schema_watch(core::session& s);
    // Suspends until the stored version differs from the active one.
    async::awaitable<result<int>> wait_for_change();

private:
    core::session& session_;
    async::wakeup changed_;
    std::unique_ptr<zookeeper::watched> key_;
    std::string warned_;
};

// Steps (2) to (5) of a hot update to `version`; the caller has ended the session's actors and re-enters start-up
// after. Bounded by 90 s. Errors: those of a session that broke.
async::awaitable<result<void>> update_schema(core::session& s, int version);

}  // namespace pvc::membership
