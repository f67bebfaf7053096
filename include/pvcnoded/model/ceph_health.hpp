// /ceph/health and the two texts beside it, as clients want them. Specification: storage.md 1.4, 4.2, 4.7.
#pragma once

#include "pvcnoded/base/result.hpp"

#include <chrono>
#include <string>
#include <string_view>

namespace pvc::model {

// What Ceph prints at the most for one command.
inline constexpr std::size_t ceph_output_max = 16UL << 20U;

struct ceph_health {
    std::string status;  // HEALTH_OK, HEALTH_WARN, HEALTH_ERR
    std::string text;    // what is published: as Ceph printed it, as UTF-8, `nan` and the like as 0

    friend bool operator==(const ceph_health&, const ceph_health&) = default;
};

// What `health` printed as JSON. Errors: too_large, invalid: no JSON, or what every client's status would break on:
// without `status` or `checks`, with a check without severity or message, or a control character in a text. The cause
// names the place.
[[nodiscard]] result<ceph_health> parse_ceph_health(std::string_view printed);

// What is published in its place when Ceph has said nothing for so long.
[[nodiscard]] std::string unreachable_health_text(std::chrono::seconds silence);

// What a command printed for people (`status`, `df`): as UTF-8. Errors: too_large, invalid (nothing but blanks, or a
// control character but those that end lines, and tabs).
[[nodiscard]] result<std::string> parse_ceph_text(std::string_view printed);

}  // namespace pvc::model
