// Which clients Ceph refuses, as its monitors list them. Total: any bytes give addresses or a failure.
// Specification: storage.md 6.1, 6.4 ("Storage proof").
#pragma once

#include "pvcnoded/base/result.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace pvc::model {

// Of `osd blocklist ls` as JSON: [{"addr": "10.254.0.2:0/3058373081", "until": "..."}, ...]; the addresses as they are
// written. An entry without an address is passed over. Ceph 16 prints a second list right behind it, of networks; those
// are passed over too. Errors: invalid (no such list), too_large (above 100,000).
[[nodiscard]] result<std::vector<std::string>> parse_ceph_blocklist(std::string_view json);

// Whether both name the same client: what kind of address it is ("v1:", "v2:", "any:") aside.
[[nodiscard]] bool is_same_client(std::string_view one, std::string_view other);

}  // namespace pvc::model
