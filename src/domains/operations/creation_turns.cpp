#include "operations/creation_turns.hpp"

#include <algorithm>

namespace pvc::domains {

creation_turns::place::place(creation_turns& owner, std::vector<std::string> pools, async::wakeup& wake)
    : owner_(owner), pools_(std::move(pools)), wake_(wake) {
    owner_.waiting_.push_back(this);
    owner_.pass_on();
}

creation_turns::place::~place() {
    if (!has_turn_) {
        std::erase(owner_.waiting_, this);
        return;
    }
    --owner_.used_;
    owner_.used_with_rbd_ -= pools_.empty() ? 0 : 1;
    for (const auto& pool : pools_) {
        const auto of = owner_.used_of_.find(pool);
        if (--of->second == 0) {
            owner_.used_of_.erase(of);
        }
    }
    owner_.pass_on();
}

// The one of them with the most.
std::size_t creation_turns::of_its_pools(const place& one) const {
    std::size_t most = 0;
    for (const auto& pool : one.pools_) {
        const auto of = used_of_.find(pool);
        most = std::max(most, of == used_of_.end() ? 0 : of->second);
    }
    return most;
}

bool creation_turns::may_go(const place& one) const {
    if (used_ >= most_) {
        return false;
    }
    if (one.pools_.empty()) {
        return true;
    }
    const std::size_t with_rbd = std::max<std::size_t>(1, most_ / 2);
    const std::size_t of_one_pool = std::max<std::size_t>(1, with_rbd - 1);
    return used_with_rbd_ < with_rbd && of_its_pools(one) < of_one_pool;
}

void creation_turns::pass_on() {
    for (;;) {
        auto next = waiting_.end();
        for (auto one = waiting_.begin(); one != waiting_.end(); ++one) {
            if (may_go(**one) && (next == waiting_.end() || of_its_pools(**one) < of_its_pools(**next))) {
                next = one;
            }
        }
        if (next == waiting_.end()) {
            return;
        }
        place& lucky = **next;
        waiting_.erase(next);
        lucky.has_turn_ = true;
        ++used_;
        used_with_rbd_ += lucky.pools_.empty() ? 0 : 1;
        for (const auto& pool : lucky.pools_) {
            ++used_of_[pool];
        }
        lucky.wake_.notify();
    }
}

}  // namespace pvc::domains
