// What `ceph-volume lvm list --format json <device>` says of OSDs on this host. Specification: storage.md 5.
#pragma once

#include "pvcnoded/base/result.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace pvc::model {

// The volume with an OSD's data. What is missing, or no name that may be used, is empty.
struct listed_osd {
    std::string id;      // its number
    std::string device;  // below the volume: /dev/sdb
    std::string group;   // of LVM
    std::string volume;
    std::string osd_fsid;
    std::string cluster_fsid;

    friend bool operator==(const listed_osd&, const listed_osd&) = default;
};

// Which of its parts it lacks, in words; empty: none.
[[nodiscard]] std::string missing_parts(const listed_osd& osd);

inline constexpr std::size_t ceph_volume_list_bytes_max = 1024UL * 1024;

// Those with an element of type "block", in their order; of several of one number the first. Errors: invalid.
[[nodiscard]] result<std::vector<listed_osd>> parse_ceph_volume_list(std::string_view text);

// The one of this number, complete. Errors: invalid (also what does not parse), not_found.
[[nodiscard]] result<listed_osd> find_listed_osd(std::string_view text, std::string_view id);

}  // namespace pvc::model
