// Turns to be created: so many at a time, at most half of them for machines with RBD disks, so that a Ceph that is silent
// keeps no other machine off, and of these one less for a single pool, so that a sick one keeps off no other. They are
// given in the order in which they were asked for, to pools that have fewer first. A turn is held by its object, and
// given back with it. Loop thread only. Specification: vm-domains.md 5.3; README ruling 77.
#pragma once

#include "pvcnoded/async/wakeup.hpp"

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <string>
#include <vector>

namespace pvc::domains {

class creation_turns {
public:
    explicit creation_turns(std::size_t most) : most_(most) {}
    creation_turns(const creation_turns&) = delete;
    creation_turns& operator=(const creation_turns&) = delete;

    // More than are allowed from now on go on.
    void allow(std::size_t most) {
        most_ = most;
        pass_on();
    }
    [[nodiscard]] std::size_t used() const { return used_; }
    [[nodiscard]] std::size_t waiting() const { return waiting_.size(); }

    // In the queue, and from the first successful take() on among those that go ahead. `pools` of Ceph that it has disks
    // in. `wake` is notified when it has its turn, and outlives it.
    class place {
    public:
        place(creation_turns& owner, std::vector<std::string> pools, async::wakeup& wake);
        place(const place&) = delete;
        place& operator=(const place&) = delete;
        ~place();
        // It has its turn, until it goes.
        [[nodiscard]] bool take() const { return has_turn_; }

    private:
        friend class creation_turns;
        creation_turns& owner_;
        const std::vector<std::string> pools_;
        async::wakeup& wake_;
        bool has_turn_ = false;
    };

private:
    [[nodiscard]] std::size_t of_its_pools(const place& one) const;
    [[nodiscard]] bool may_go(const place& one) const;
    void pass_on();

    std::size_t most_;
    std::size_t used_ = 0;
    std::size_t used_with_rbd_ = 0;
    std::map<std::string, std::size_t> used_of_;  // by pool
    std::list<place*> waiting_;                   // in their order
};

}  // namespace pvc::domains
