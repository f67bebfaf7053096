// Figures of an OSD: what `osd dump`, `osd df` and `osd status` say of it, and /ceph/osds/<id>/stats.
// Specification: storage.md 1.3, 1.4, 4.4, 4.5.
#pragma once

#include "pvcnoded/base/result.hpp"
#include "pvcnoded/model/json_figure.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace pvc::model {

inline constexpr std::size_t ceph_osds_max = 10'000;

// A row of `osd dump`: what the monitors know.
struct osd_map_row {
    std::int64_t id = 0;
    std::string uuid;
    bool is_up = false;
    bool is_in = false;
    json_figure primary_affinity;
    std::string state;  // words of the dump, joined by commas

    friend bool operator==(const osd_map_row&, const osd_map_row&) = default;
};

// A row of `osd df`: what the manager knows of its room. KiB where not said otherwise.
struct osd_room_row {
    std::int64_t id = 0;
    json_figure utilization;  // percent
    json_figure variance;     // 1: as full as the mean
    std::int64_t pgs = 0;
    std::int64_t kib = 0;
    std::int64_t used = 0;
    std::int64_t used_data = 0;
    std::int64_t used_omap = 0;
    std::int64_t used_meta = 0;
    std::int64_t available = 0;
    json_figure weight;
    json_figure reweight;
    std::string device_class;

    friend bool operator==(const osd_room_row&, const osd_room_row&) = default;
};

// The columns of `osd status`, as text: a number, then at most one letter.
struct osd_columns {
    std::string used;
    std::string available;
    std::string writes;
    std::string written;
    std::string reads;
    std::string read;

    friend bool operator==(const osd_columns&, const osd_columns&) = default;
};
struct osd_status_row {
    std::int64_t id = 0;
    std::string host;  // to its first dot; empty: Ceph does not say (an OSD that is down and out)
    osd_columns columns;
    std::string state;

    friend bool operator==(const osd_status_row&, const osd_status_row&) = default;
};

// What these commands printed. Errors: too_large (more OSDs than above, or too many bytes), invalid: it is not what the
// command prints; the cause names the place.
[[nodiscard]] result<std::vector<osd_map_row>> parse_osd_dump(std::string_view printed);
[[nodiscard]] result<std::vector<osd_room_row>> parse_osd_df(std::string_view printed);
// In any of its three layouts: JSON, a table with bars, a plain table. Lines of a table that are no rows are left out.
[[nodiscard]] result<std::vector<osd_status_row>> parse_osd_status(std::string_view printed);

// As the manager writes figures: "47.0k". Of bytes by 1024, of operations by 1000; less than 0 is 0.
[[nodiscard]] std::string byte_figure(double bytes);
[[nodiscard]] std::string operation_figure(double operations);
// A number, then at most one letter: what clients can read back.
[[nodiscard]] bool is_figure(std::string_view text);

// What is published of an OSD.
struct osd_stats {
    osd_map_row map;  // its `state` is not
    osd_room_row room;
    std::string node;
    osd_columns columns;
    std::string state;

    friend bool operator==(const osd_stats&, const osd_stats&) = default;
};
[[nodiscard]] std::string osd_stats_text(const osd_stats& of);

}  // namespace pvc::model
