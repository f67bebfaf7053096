#include "pvcnoded/ceph_helper/handle_keeper.hpp"

#include <utility>

namespace pvc::ceph_helper {

result<std::shared_ptr<connection>> handle_keeper::get() {
    const std::lock_guard guard(mutex_);
    if (present_) {
        return present_;
    }
    if (!rules_.may_connect(now_())) {
        return refusal_;
    }
    auto made = make_();
    if (!made) {
        refusal_ = made.error();
        rules_.refused(now_());
        return made;
    }
    present_ = *std::move(made);
    rules_.made(now_());
    return present_;
}

void handle_keeper::note(const std::shared_ptr<connection>& whose, int error) {
    std::shared_ptr<connection> given_up;  // ended without the lock: that may take a while
    const std::lock_guard guard(mutex_);
    if (whose == present_ && rules_.is_worn_after(error, now_())) {
        given_up = std::move(present_);
    }
}

void handle_keeper::close_if_idle() {
    std::shared_ptr<connection> given_up;
    const std::lock_guard guard(mutex_);
    if (present_ && present_.use_count() == 1 && rules_.is_idle(now_())) {
        given_up = std::move(present_);
    }
}

}  // namespace pvc::ceph_helper
