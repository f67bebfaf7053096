// When a handle of the cluster is made and given up; it neither makes one nor waits. Specification: storage.md 3.2.
#pragma once

#include "pvcnoded/base/clock.hpp"

#include <optional>

namespace pvc::ceph_helper {

class handle_rules {
public:
    static constexpr duration retry_pause = std::chrono::seconds(1);
    static constexpr duration failure_max = std::chrono::seconds(60);
    static constexpr duration idle_max = std::chrono::seconds(60);

    // Between two attempts the failure of the last one is answered.
    [[nodiscard]] bool may_connect(time_point now) const { return !refused_ || now - *refused_ >= retry_pause; }
    void refused(time_point now) { refused_ = now; }
    void made(time_point now);
    // A call on it ended so; 0: well. Whether it is to be given up, so that the next call has a new one.
    [[nodiscard]] bool is_worn_after(int error, time_point now);
    [[nodiscard]] bool is_idle(time_point now) const { return now - used_ >= idle_max; }

private:
    std::optional<time_point> refused_;
    std::optional<time_point> failing_since_;
    time_point used_{};
};

}  // namespace pvc::ceph_helper
