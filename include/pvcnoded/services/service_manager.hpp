// The service manager port. Starts and restarts are requests that return at once (a blocking start of a unit ordered
// after our own would deadlock); whether a unit is up is asked separately. Specification: config.md 7.2.
#pragma once

#include "pvcnoded/async/wakeup.hpp"
#include "pvcnoded/base/result.hpp"

#include <string>

namespace pvc::services {

class service_manager {
public:
    service_manager() = default;
    service_manager(const service_manager&) = delete;
    service_manager& operator=(const service_manager&) = delete;
    virtual ~service_manager() = default;

    // Each bounded by 5 s. Errors: unavailable (no service manager), refused (it said no; the cause holds its words),
    // timed_out. Cancellation: the helper process is ended.
    virtual async::awaitable<result<void>> start(std::string unit) = 0;
    virtual async::awaitable<result<void>> restart(std::string unit) = 0;
    virtual async::awaitable<result<void>> stop(std::string unit) = 0;
    // Starts it, now and at each boot from now on; stops it, and no boot starts it. The second half is a request, as
    // above.
    virtual async::awaitable<result<void>> enable_now(std::string unit) = 0;
    virtual async::awaitable<result<void>> disable_now(std::string unit) = 0;
    virtual async::awaitable<result<bool>> is_active(std::string unit) = 0;
};

}  // namespace pvc::services
