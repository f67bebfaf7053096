#include "pvcnoded/policy/domains/console_pace.hpp"

#include <algorithm>

namespace pvc::policy {

using namespace std::chrono_literals;

namespace {

constexpr duration burst = 2s;  // what this long allows may be published at once
constexpr duration pause_min = 500ms;
constexpr duration pause_max = 10s;
constexpr int share_of_one = 4;  // a single console uses at most this part of what the node may write

}  // namespace

duration console_pace::cost_of(std::size_t bytes) const {
    const auto time = std::chrono::microseconds(bytes * 1'000'000 / bytes_per_second);
    return std::max<duration>(time, duration(1s) / publications_per_second_);
}

time_point console_pace::next_turn(time_point now, std::size_t bytes) {
    free_at_ = std::max(free_at_, now - burst);
    const time_point turn = std::max(free_at_, now);
    free_at_ += cost_of(bytes);
    return turn;
}

void console_pace::published(std::size_t guess, std::size_t bytes) {
    free_at_ += cost_of(bytes) - cost_of(guess);
}

duration console_pace::pause_after(std::size_t bytes) const {
    const auto time = std::chrono::microseconds(bytes * 1'000'000 / bytes_per_second);
    return std::clamp<duration>(share_of_one * time, pause_min, pause_max);
}

}  // namespace pvc::policy
