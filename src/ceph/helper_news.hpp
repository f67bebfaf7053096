// What is said in the log of Ceph's helper: once for each reason, and again after a minute. A member of a subject; loop
// thread only.
#pragma once

#include "pvcnoded/core/node_context.hpp"
#include "pvcnoded/storage/ceph_helper.hpp"

#include <string>
#include <vector>

namespace pvc::ceph {

class helper_teller {
public:
    explicit helper_teller(core::node_context& node) : node_(node) {}
    void tell(const storage::helper_news& news);

private:
    core::node_context& node_;
    std::string told_;  // why it is not there, as it was said last
    time_point told_at_{};
};

// How it stands with the helper, a line.
[[nodiscard]] std::string helper_text(const storage::helper_view& seen);

}  // namespace pvc::ceph
