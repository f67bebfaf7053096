// What is done for each question, with a handle that may have to be made anew in between; by a worker's thread.
// Specification: storage.md 3.3, 6.
#pragma once

#include "pvcnoded/base/clock.hpp"
#include "pvcnoded/ceph_helper/handle_keeper.hpp"
#include "pvcnoded/ceph_helper/prepared_breaks.hpp"
#include "pvcnoded/protocol/ceph_messages.hpp"

#include <functional>

namespace pvc::ceph_helper {

using said = decltype(protocol::ceph::answer::what);

struct surroundings {
    handle_keeper& handle;
    own_identities& identities;
    prepared_breaks& prepared;
    std::function<time_point()> now;
    std::function<boot_time()> boot_now;
};

// Nothing is begun after `until`, and what has been begun takes as long as the call that is under way then.
[[nodiscard]] said carry_out(const decltype(protocol::ceph::request::what)& what, time_point until,
                             const surroundings& with);

}  // namespace pvc::ceph_helper
