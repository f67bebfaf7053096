// What the readers of Ceph's outputs share: the JSON layout of `osd status`, and which texts are none.
#pragma once

#include "pvcnoded/model/ceph_osds.hpp"

namespace pvc::model {

[[nodiscard]] result<std::vector<osd_status_row>> parse_osd_status_json(std::string_view printed);

// A control character, of which nothing that Ceph prints in a word has one: it is an answer to something else.
[[nodiscard]] bool has_control(std::string_view text);

}  // namespace pvc::model
