// What the process measures of itself: the loop's delay, the pool of blocking calls, memory.
#pragma once

#include "pvcnoded/async/adapter/real_loop.hpp"
#include "pvcnoded/async/adapter/thread_offload.hpp"
#include "pvcnoded/core/metrics.hpp"
#include "pvcnoded/services/host.hpp"

namespace pvc::app {

class process_metrics final : public core::metrics_source {
public:
    // All must outlive it.
    process_metrics(const async::real_loop& loop, const async::thread_offload& pool, services::host& host)
        : loop_(loop), pool_(pool), host_(host) {}

    void put_metrics(core::metrics_sheet& sheet) const override;

private:
    const async::real_loop& loop_;
    const async::thread_offload& pool_;
    services::host& host_;
};

}  // namespace pvc::app
