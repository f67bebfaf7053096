// How long things of one kind took, counted in fixed classes, for whoever watches the daemon. Of a fixed size: adding
// allocates nothing and takes a few comparisons. No thread-safety of its own.
#pragma once

#include "pvcnoded/base/clock.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace pvc {

class histogram {
public:
    // Upper bounds, each included in its class; what took longer than the last one is in a class of its own.
    static constexpr std::array<duration, 14> bounds{
        std::chrono::microseconds(500),  std::chrono::milliseconds(1),     std::chrono::microseconds(2500),
        std::chrono::milliseconds(5),    std::chrono::milliseconds(10),    std::chrono::milliseconds(25),
        std::chrono::milliseconds(50),   std::chrono::milliseconds(100),   std::chrono::milliseconds(250),
        std::chrono::milliseconds(500),  std::chrono::milliseconds(1000),  std::chrono::milliseconds(2500),
        std::chrono::milliseconds(5000), std::chrono::milliseconds(10'000)};

    // Less than nothing counts as nothing.
    void add(duration took) {
        const duration one = std::max(took, duration::zero());
        const auto* const at = std::ranges::lower_bound(bounds, one);
        ++counts_[static_cast<std::size_t>(at - bounds.begin())];
        ++total_;
        sum_ += one;
        longest_ = std::max(longest_, one);
    }
    // So many took at most bounds[at], and more than the bound before; at bounds.size(): more than the last one.
    [[nodiscard]] std::uint64_t count(std::size_t at) const { return counts_[at]; }
    [[nodiscard]] std::uint64_t total() const { return total_; }
    [[nodiscard]] duration sum() const { return sum_; }
    [[nodiscard]] duration longest() const { return longest_; }

private:
    std::array<std::uint64_t, bounds.size() + 1> counts_{};
    std::uint64_t total_ = 0;
    duration sum_{};
    duration longest_{};
};

}  // namespace pvc
