#include "adapter/kernel_lane.hpp"

#include <algorithm>

namespace pvc::netlink {

namespace {

using namespace std::chrono_literals;

// A call that nobody waits for any more tells nobody that it has come back.
constexpr duration between_looks = 10ms;

}  // namespace

kernel_lane::kernel_lane(async::timers& clock, async::offload& pool)
    : clock_(clock), pool_(pool), requests_(std::make_shared<kernel_requests>()) {}

kernel_lane::~kernel_lane() = default;

bool kernel_lane::is_busy() const {
    const auto last = last_.lock();
    return last && !*last;
}

async::awaitable<result<async::mutex::guard>> kernel_lane::turn(std::string about, time_point deadline) {
    auto guard = co_await turns_.lock_until(clock_, deadline, "the routing socket");
    while (guard && is_busy() && clock_.now() < deadline) {
        const time_point again = std::min(clock_.now() + between_looks, deadline);
        co_await async::sleep_until(clock_, again, "an earlier request that is with the kernel");
    }
    if (!guard || clock_.now() >= deadline) {
        co_return too_late(std::move(about));
    }
    co_return std::move(*guard);
}

}  // namespace pvc::netlink
