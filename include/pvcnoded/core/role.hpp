// The role of this node, primary or not, as every part of the daemon may read it. It has one owner, the role subject,
// which alone changes it (role/owner.hpp). Loop thread only. Specification: node-lifecycle.md 7.
#pragma once

#include "pvcnoded/async/latest.hpp"
#include "pvcnoded/base/guard.hpp"
#include "pvcnoded/model/states.hpp"

namespace pvc::role {
class owner;
}

namespace pvc::core {

class role {
public:
    role() = default;
    role(const role&) = delete;
    role& operator=(const role&) = delete;

    // What this node does, whatever its key says.
    [[nodiscard]] model::router_state now() const { return changes_.value(); }
    [[nodiscard]] bool is_primary(const guard_place& where = guard_place::current()) const {
        return guarded(now() == model::router_state::primary, where);
    }
    // To observe.
    [[nodiscard]] async::latest<model::router_state>& changes() { return changes_; }

private:
    friend class pvc::role::owner;
    void become(model::router_state to) {
        if (to != now()) {
            changes_.set(to);
        }
    }
    async::latest<model::router_state> changes_{model::router_state::secondary};
};

}  // namespace pvc::core
