// Why a machine was not moved: for whoever empties this node (README rulings 21, 78), who follows one at a time.
#pragma once

#include "pvcnoded/base/uuid.hpp"
#include "pvcnoded/policy/domains/requests.hpp"

#include <optional>
#include <string>
#include <utility>

namespace pvc::domains {

class stays {
public:
    // What was noted before is of a move of before.
    void follow(const uuid& id) {
        followed_ = id;
        last_ = {};
    }
    void unfollow() { followed_.reset(); }
    void note(const uuid& id, policy::act::note_stay what) {
        if (id == followed_) {
            last_ = std::move(what);
        }
    }
    // Of the one that is followed, if it was to go to `target`.
    [[nodiscard]] policy::move_fault of(const std::string& target) const {
        return last_.target == target ? last_.fault : policy::move_fault::neither;
    }

private:
    std::optional<uuid> followed_;
    policy::act::note_stay last_;
};

}  // namespace pvc::domains
