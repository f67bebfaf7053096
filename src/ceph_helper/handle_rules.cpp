#include "pvcnoded/ceph_helper/handle_rules.hpp"

#include "pvcnoded/ceph_helper/error_table.hpp"

namespace pvc::ceph_helper {

void handle_rules::made(time_point now) {
    refused_.reset();
    failing_since_.reset();
    used_ = now;
}

bool handle_rules::is_worn_after(int error, time_point now) {
    used_ = now;
    if (is_handle_lost(error)) {
        return true;
    }
    if (!is_no_answer(error)) {
        failing_since_.reset();
        return false;
    }
    if (!failing_since_) {
        failing_since_ = now;
    }
    return now - *failing_since_ >= failure_max;
}

}  // namespace pvc::ceph_helper
