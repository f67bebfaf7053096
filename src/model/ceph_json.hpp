// The JSON layout of `osd status`, for the reader of all three.
#pragma once

#include "pvcnoded/model/ceph_osds.hpp"

namespace pvc::model {

[[nodiscard]] result<std::vector<osd_status_row>> parse_osd_status_json(std::string_view printed);

}  // namespace pvc::model
