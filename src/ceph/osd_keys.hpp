// The keys of one OSD's object: read as one view, written in one transaction that fails if any of them has changed
// since. Loop thread only. Specification: storage.md 5 and 8.3; zookeeper-schema.md 3.2.
#pragma once

#include "pvcnoded/core/session.hpp"
#include "pvcnoded/policy/ceph/device_refresh.hpp"

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace pvc::ceph {

struct osd_keys {
    std::string id;
    policy::stored_osd stored{};                                       // those that the active schema has
    std::map<std::string, zookeeper::node_stat, std::less<>> stats{};  // by name in the table; of those that are there

    [[nodiscard]] bool is_there() const { return stats.contains("osd.id"); }
};

// An object that is not there has no key. Errors: those of a read.
[[nodiscard]] async::awaitable<result<osd_keys>> read_osd_keys(core::session& s, std::string id);

// Sets and creations of these, and a check of every other key that says whose OSD it is and where.
[[nodiscard]] zookeeper::transaction write_of(const core::session& s, const osd_keys& read,
                                              const std::vector<policy::key_value>& writes);

// Adds to a transaction what must hold when it is applied.
using write_guard = std::function<void(zookeeper::transaction&)>;

// Whatever stands there is overwritten, as it is seen then. Errors: those of a write.
[[nodiscard]] async::awaitable<result<void>> write_osd(core::session& s, std::string id,
                                                       std::vector<policy::key_value> wanted, write_guard guard);

// The object with all that is below it, in one transaction; one that is gone is success. Errors: those of a write,
// too_large (more below it than an OSD has).
[[nodiscard]] async::awaitable<result<void>> remove_osd(core::session& s, std::string id, write_guard guard);

}  // namespace pvc::ceph
