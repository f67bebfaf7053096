// fair_turns: so many at a time, in the order in which they were asked for; but at most half of them for those that
// belong to groups (pools of a storage, say, of which one may be sick), and of these one less for a single group, so
// that what one group waits for keeps off no other, and none of them who belongs to none. A group that has fewer comes
// first.
//
// A turn is held by its object and given back with it, also by cancellation and at whatever moment. Loop thread only.
// Specification: vm-domains.md 5.3; README ruling 77.
#pragma once

#include "pvcnoded/async/wakeup.hpp"

#include <cstddef>
#include <list>
#include <map>
#include <string>
#include <vector>

namespace pvc::async {

class fair_turns {
public:
    explicit fair_turns(std::size_t most) : most_(most) {}
    fair_turns(const fair_turns&) = delete;
    fair_turns& operator=(const fair_turns&) = delete;

    // More than are allowed from now on go on.
    void allow(std::size_t most) {
        most_ = most;
        pass_on();
    }
    [[nodiscard]] std::size_t used() const { return used_; }
    [[nodiscard]] std::size_t waiting() const { return waiting_.size(); }

    // In the queue, and then among those that go ahead, until it goes. `groups`: each once. `wake` is notified when it
    // has its turn, and outlives it.
    class place {
    public:
        place(fair_turns& owner, std::vector<std::string> groups, wakeup& wake);
        place(const place&) = delete;
        place& operator=(const place&) = delete;
        ~place();
        [[nodiscard]] bool has_turn() const { return has_turn_; }
        // It has one, and takes long: another one goes instead of it, unless as many as are allowed have stepped aside.
        // It still has its turn.
        void step_aside();

    private:
        friend class fair_turns;
        fair_turns& owner_;
        const std::vector<std::string> groups_;
        wakeup& wake_;
        bool has_turn_ = false;
        bool is_aside_ = false;
    };

private:
    // Of its groups, the one with the most.
    [[nodiscard]] std::size_t used_by_its_groups(const place& one) const;
    [[nodiscard]] bool may_go(const place& one) const;
    [[nodiscard]] bool is_held_back(const place& one, std::size_t of_one_group) const;
    void pass_on();
    void take_from(const place& one);

    std::size_t most_;
    std::size_t used_ = 0;
    std::size_t aside_ = 0;
    std::size_t used_by_grouped_ = 0;
    std::map<std::string, std::size_t> used_by_;
    std::list<place*> waiting_;  // in their order
};

}  // namespace pvc::async
