// Table `inet filter` of the Linux kernel in this network namespace.
//
// A batch takes the kernel some milliseconds to tens of them, and waits for whoever else changes a table just then; a
// look at thousands of rules takes as long. So both are made on a thread of the pool, and the loop's thread never
// waits. One batch at a time; one that was given up and has not reached the kernel when the next one does never will:
// what was asked later holds. The namespace is that of the thread that calls, which starts those of the pool.
#pragma once

#include "pvcnoded/async/offload.hpp"
#include "pvcnoded/async/semaphore.hpp"
#include "pvcnoded/async/timers.hpp"
#include "pvcnoded/netlink/packet_filter.hpp"

#include <boost/asio/any_io_executor.hpp>

#include <cstdint>
#include <memory>

namespace pvc::netlink {

class change_monitor;

// `clock`, `pool` and what `executor` runs on must outlive it. Watches may live longer, and are told nothing any more
// then.
class kernel_packet_filter final : public packet_filter {
public:
    kernel_packet_filter(boost::asio::any_io_executor executor, async::timers& clock, async::offload& pool);
    ~kernel_packet_filter() override;

    async::awaitable<result<model::filter_state>> look(time_point deadline) override;
    async::awaitable<result<std::optional<batch_refusal>>> commit(std::vector<model::filter_change> changes,
                                                                  std::optional<std::uint32_t> generation,
                                                                  time_point deadline) override;
    [[nodiscard]] std::unique_ptr<filter_watch> watch(async::wakeup& changed) override;

    // Looks that were made anew, so far.
    [[nodiscard]] std::uint64_t interrupted_looks() const { return interrupted_; }

private:
    struct order;

    async::timers& clock_;
    async::offload& pool_;
    async::mutex turns_;
    std::shared_ptr<order> order_;  // also of the pool's threads
    std::uint64_t begun_ = 0;
    std::shared_ptr<change_monitor> monitor_;
    std::uint64_t interrupted_ = 0;
};

}  // namespace pvc::netlink
