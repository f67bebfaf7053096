#include "pvcnoded/netlink/adapter/kernel_packet_filter.hpp"

#include "adapter/change_monitor.hpp"
#include "adapter/filter_calls.hpp"
#include "adapter/monitor_watch.hpp"

#include <mutex>
#include <utility>

namespace pvc::netlink {

namespace {

using namespace std::chrono_literals;

// As looks at links: after pauses that grow, a second in all.
constexpr int look_attempts = 10;
constexpr duration look_pause = 2ms;

failure too_late(errc code) {
    return failure(code, "the packet filter", "the kernel did not answer in time");
}

}  // namespace

// Whatever became of its caller, a batch is with the kernel while this is held: the next one waits for it.
struct kernel_packet_filter::order {
    std::mutex with_the_kernel;
    std::uint64_t newest = 0;
};

kernel_packet_filter::kernel_packet_filter(boost::asio::any_io_executor executor, async::timers& clock,
                                           async::offload& pool)
    : clock_(clock),
      pool_(pool),
      order_(std::make_shared<order>()),
      monitor_(std::make_shared<change_monitor>(std::move(executor), clock, monitored::packet_filter)) {}

kernel_packet_filter::~kernel_packet_filter() {
    monitor_->close();
}

async::awaitable<result<model::filter_state>> kernel_packet_filter::look(time_point deadline) {
    using attempt_result = std::optional<model::filter_state>;
    for (int attempt = 0; attempt < look_attempts; ++attempt) {
        if (clock_.now() >= deadline) {
            co_return too_late(errc::timed_out);
        }
        PVC_CO_TRY(auto seen, co_await pool_.run<attempt_result>(clock_, deadline, "a look at the packet filter",
                                                                 [] { return look_at_filter(); }));
        if (seen) {
            co_return *std::move(seen);
        }
        ++interrupted_;
        const time_point again = clock_.now() + look_pause * (1 << attempt);
        co_await async::sleep_until(clock_, std::min(again, deadline), "a packet filter that changes");
    }
    co_return failure(errc::unavailable, "the packet filter", "it changed again and again");
}

async::awaitable<result<std::optional<batch_refusal>>> kernel_packet_filter::commit(
    std::vector<model::filter_change> changes, std::optional<std::uint32_t> generation, time_point deadline) {
    using outcome = std::optional<batch_refusal>;
    const auto turn = co_await turns_.lock_until(clock_, deadline, "the packet filter");
    if (!turn || clock_.now() >= deadline) {
        co_return too_late(errc::outcome_unknown);
    }
    std::function<result<outcome>()> work = [shared = order_, number = ++begun_, generation,
                                             changes = std::move(changes)]() -> result<outcome> {
        const std::lock_guard lock(shared->with_the_kernel);
        if (number < shared->newest) {
            return failure(errc::unavailable, "the packet filter", "given up before it was begun");
        }
        shared->newest = number;
        return commit_batch(changes, generation);
    };
    auto done = co_await pool_.run<outcome>(clock_, deadline, "a batch for the packet filter", std::move(work));
    if (!done && done.error().code() == errc::timed_out) {
        co_return too_late(errc::outcome_unknown);
    }
    co_return done;
}

std::unique_ptr<filter_watch> kernel_packet_filter::watch(async::wakeup& changed) {
    return std::make_unique<monitor_watch<filter_watch>>(monitor_, changed);
}

}  // namespace pvc::netlink
