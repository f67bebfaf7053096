#include "pvcnoded/async/fair_turns.hpp"

#include <algorithm>

namespace pvc::async {

fair_turns::place::place(fair_turns& owner, std::vector<std::string> groups, wakeup& wake)
    : owner_(owner), groups_(std::move(groups)), wake_(wake) {
    owner_.waiting_.push_back(this);
    owner_.pass_on();
}

fair_turns::place::~place() {
    if (!has_turn_) {
        std::erase(owner_.waiting_, this);
        return;
    }
    if (is_aside_) {
        --owner_.aside_;
    } else {
        owner_.take_from(*this);
    }
}

void fair_turns::place::step_aside() {
    if (has_turn_ && !is_aside_ && owner_.aside_ < owner_.most_) {
        is_aside_ = true;
        ++owner_.aside_;
        owner_.take_from(*this);
    }
}

void fair_turns::take_from(const place& one) {
    --used_;
    used_by_grouped_ -= one.groups_.empty() ? 0 : 1;
    for (const auto& group : one.groups_) {
        const auto of = used_by_.find(group);
        if (--of->second == 0) {
            used_by_.erase(of);
        }
    }
    pass_on();
}

std::size_t fair_turns::used_by_its_groups(const place& one) const {
    std::size_t most = 0;
    for (const auto& group : one.groups_) {
        const auto of = used_by_.find(group);
        most = std::max(most, of == used_by_.end() ? 0 : of->second);
    }
    return most;
}

bool fair_turns::may_go(const place& one) const {
    if (used_ >= most_) {
        return false;
    }
    if (one.groups_.empty()) {
        return true;
    }
    const std::size_t of_grouped = std::max<std::size_t>(1, most_ / 2);
    return used_by_grouped_ < of_grouped && !is_held_back(one, std::max<std::size_t>(1, of_grouped - 1));
}

// Where those that have a turn belong to several groups, all of these are full, and which of them is sick nobody knows:
// who belongs to fewer goes.
bool fair_turns::is_held_back(const place& one, std::size_t of_one_group) const {
    const auto is_full = [&](const auto& group) { return group.second >= of_one_group; };
    const auto is_its_own = [&](const auto& group) {
        return !is_full(group) || std::ranges::find(one.groups_, group.first) != one.groups_.end();
    };
    return std::ranges::any_of(used_by_, is_full) && std::ranges::all_of(used_by_, is_its_own);
}

void fair_turns::pass_on() {
    for (;;) {
        auto next = waiting_.end();
        for (auto one = waiting_.begin(); one != waiting_.end(); ++one) {
            if (may_go(**one) && (next == waiting_.end() || used_by_its_groups(**one) < used_by_its_groups(**next))) {
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
        used_by_grouped_ += lucky.groups_.empty() ? 0 : 1;
        for (const auto& group : lucky.groups_) {
            ++used_by_[group];
        }
        lucky.wake_.notify();
    }
}

}  // namespace pvc::async
