// Has one handle of the cluster while it is of use: made with the first call, made anew when it is of none any more.
// Any thread; a connection that is being made is waited for. Specification: storage.md 3.2.
#pragma once

#include "pvcnoded/ceph_helper/connection.hpp"
#include "pvcnoded/ceph_helper/handle_rules.hpp"

#include <functional>
#include <memory>
#include <mutex>
#include <optional>

namespace pvc::ceph_helper {

class handle_keeper {
public:
    using maker = std::function<result<std::shared_ptr<connection>>()>;
    using clock = std::function<time_point()>;

    handle_keeper(maker make, clock now) : make_(std::move(make)), now_(std::move(now)) {}

    // Errors: timed_out, unavailable; within a second of an attempt that failed, the failure of that one.
    [[nodiscard]] result<std::shared_ptr<connection>> get();
    // How a call on it ended. Whoever still has it may go on with it.
    void note(const std::shared_ptr<connection>& whose, int error);
    void close_if_idle();

private:
    maker make_;
    clock now_;
    std::mutex mutex_;
    handle_rules rules_;
    std::shared_ptr<connection> present_;
    failure refusal_;
};

}  // namespace pvc::ceph_helper
