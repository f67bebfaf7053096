// What came to this node by a move: for whoever empties it (README ruling 21).
#pragma once

#include "pvcnoded/async/latest.hpp"
#include "pvcnoded/base/uuid.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace pvc::domains {

class arrivals {
public:
    void add(const uuid& id) {
        if (std::ranges::find(waiting_, id) == waiting_.end()) {
            waiting_.push_back(id);
        }
        changes_.set(changes_.value() + 1);
    }
    // Dealt with, or none of anybody's business.
    void drop(const uuid& id) { std::erase(waiting_, id); }
    void drop_all() { waiting_.clear(); }
    [[nodiscard]] const uuid& first() const { return waiting_.front(); }
    [[nodiscard]] bool any() const { return !waiting_.empty(); }
    [[nodiscard]] async::latest<std::uint64_t>& changes() { return changes_; }

private:
    std::vector<uuid> waiting_;
    async::latest<std::uint64_t> changes_;
};

}  // namespace pvc::domains
