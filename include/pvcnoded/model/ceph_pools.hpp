// Figures of a pool: what `df` says of its room, and /ceph/pools/<pool>/stats. Specification: storage.md 1.4, 4.3.
#pragma once

#include "pvcnoded/base/result.hpp"
#include "pvcnoded/model/json_figure.hpp"
#include "pvcnoded/model/pool_counters.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace pvc::model {

inline constexpr std::size_t ceph_pools_max = 1'000;

struct pool_room {
    std::string pool;
    std::int64_t id = 0;
    json_figure stored;  // bytes, as the next two
    json_figure available;
    json_figure used;
    json_figure used_fraction;  // 0 to 1
    json_figure objects;

    friend bool operator==(const pool_room&, const pool_room&) = default;
};

// What `df` printed as JSON, in its order. Errors: too_large, invalid; the cause names the place.
[[nodiscard]] result<std::vector<pool_room>> parse_pool_rooms(std::string_view printed);

// What the manager says of a pool that is not whole (`osd pool stats`). librados counts objects that only lie where
// they are not to stay among those that lack a copy; `rados df`, and this, do not.
struct pool_recovery {
    std::string pool;
    std::int64_t objects_degraded = 0;

    friend bool operator==(const pool_recovery&, const pool_recovery&) = default;
};

// What `osd pool stats` printed as JSON, in its order. Errors as above.
[[nodiscard]] result<std::vector<pool_recovery>> parse_pool_recovery(std::string_view printed);

// The pool's `stats`.
[[nodiscard]] std::string pool_stats_text(const pool_room& room, const pool_counters& counters);

}  // namespace pvc::model
