// Somebody who reads the log as it is written: a bounded buffer of records. What does not fit is counted and never
// waited for, so that whoever logs is not delayed. Loop thread only.
#pragma once

#include "pvcnoded/async/wakeup.hpp"
#include "pvcnoded/base/log_record.hpp"

#include <cstdint>
#include <deque>
#include <vector>

namespace pvc::core {

class log_hub;

class log_follower {
public:
    static constexpr std::size_t records_max = 2000;
    static constexpr std::size_t bytes_max = 512UL * 1024;
    // Of a longer text the front is kept.
    static constexpr std::size_t text_bytes_max = 16UL * 1024;

    // From now on. `hub` must outlive it.
    explicit log_follower(log_hub& hub);
    log_follower(const log_follower&) = delete;
    log_follower& operator=(const log_follower&) = delete;
    ~log_follower();

    void push(const log_record& record);

    struct batch {
        std::vector<log_record> records;
        std::uint64_t missed = 0;  // after those of the batch before; then there are no records in this one
    };
    // Suspends until there is something, then takes at most so many. One waiter.
    async::awaitable<batch> next(std::size_t most);

private:
    log_hub& hub_;
    std::deque<log_record> records_;
    std::size_t bytes_ = 0;
    std::uint64_t missed_ = 0;
    async::wakeup work_;
};

}  // namespace pvc::core
