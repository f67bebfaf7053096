#include "pvcnoded/protocol/pool_turns.hpp"

#include "pvcnoded/base/planted.hpp"

namespace pvc::protocol {

namespace {
// Names are what clients wrote: those that have no place are forgotten beyond so many.
constexpr std::size_t pools_remembered = 64;
}  // namespace

pool_turns::rank pool_turns::rank_of(std::string_view pool) const {
    const auto found = pools_.find(pool);
    const turns_of its = found == pools_.end() ? turns_of{} : found->second;
    const std::size_t most = std::max<std::size_t>(1, places_ / 2);
    const std::size_t left = places_ - taken_;
    if (is_planted(defect::pools_without_turns)) {
        return {left > 0, 0, 0};
    }
    return {left > 0 && (its.taken == 0 || (its.taken < most && left > 1)), its.taken, its.last};
}

void pool_turns::take(std::string_view pool) {
    auto found = pools_.find(pool);
    if (found == pools_.end()) {
        if (pools_.size() >= pools_remembered) {
            std::erase_if(pools_, [](const auto& one) { return one.second.taken == 0; });
        }
        found = pools_.emplace(std::string(pool), turns_of{}).first;
    }
    ++taken_;
    ++found->second.taken;
    found->second.last = ++turns_;
}

void pool_turns::give_back(std::string_view pool) {
    const auto found = pools_.find(pool);
    if (found != pools_.end() && found->second.taken > 0) {
        --found->second.taken;
        --taken_;
    }
}

}  // namespace pvc::protocol
