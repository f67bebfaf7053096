// What is said in the log of Ceph's helper: of each kind once a minute, whatever its words. A member of a subject; loop
// thread only.
#pragma once

#include "pvcnoded/core/node_context.hpp"
#include "pvcnoded/storage/ceph_helper.hpp"

#include <map>
#include <string>
#include <vector>

namespace pvc::ceph {

class helper_teller {
public:
    explicit helper_teller(core::node_context& node) : node_(node) {}
    void tell(const storage::helper_news& news);

private:
    core::node_context& node_;
    std::map<storage::helper_news::kind, time_point> told_;  // when each of them was said last
};

// How it stands with the helper, a line.
[[nodiscard]] std::string helper_text(const storage::helper_view& seen);

}  // namespace pvc::ceph
