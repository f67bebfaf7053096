// What a pool has served so far, and how many objects it holds, as librados counts. Specification: storage.md 4.3.
#pragma once

#include <cstdint>
#include <string>

namespace pvc::model {

struct pool_counters {
    std::string pool;
    std::uint64_t object_clones = 0;
    std::uint64_t object_copies = 0;
    std::uint64_t objects_missing_on_primary = 0;
    std::uint64_t objects_unfound = 0;
    std::uint64_t objects_degraded = 0;
    std::uint64_t reads = 0;
    std::uint64_t read_kib = 0;
    std::uint64_t writes = 0;
    std::uint64_t written_kib = 0;

    friend bool operator==(const pool_counters&, const pool_counters&) = default;
};

}  // namespace pvc::model
