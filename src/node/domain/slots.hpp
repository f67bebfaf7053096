// How many machines are created or migrate at the same time; of those that wait the one with the lowest UUID is next.
// Specification: vm-domains.md 5.3; README ruling 25.
#pragma once

#include "pvcnoded/async/wakeup.hpp"
#include "pvcnoded/base/uuid.hpp"

#include <map>

namespace pvc::node {

class creation_slots {
public:
    explicit creation_slots(unsigned most = 8) : most_(most) {}
    // More than are allowed from now on go on.
    void allow(unsigned most) {
        most_ = most;
        pass_on();
    }
    // Held for one creation.
    class slot {
    public:
        explicit slot(creation_slots& owner) : owner_(&owner) { ++owner.used_; }
        slot(slot&& other) noexcept : owner_(std::exchange(other.owner_, nullptr)) {}
        slot(const slot&) = delete;
        slot& operator=(const slot&) = delete;
        slot& operator=(slot&&) = delete;
        ~slot() {
            if (owner_ != nullptr) {
                --owner_->used_;
                owner_->pass_on();
            }
        }

    private:
        creation_slots* owner_;
    };

    // Suspends until one is free.
    async::awaitable<slot> take(uuid id);

private:
    void pass_on() {
        if (used_ < most_ && !waiting_.empty()) {
            waiting_.begin()->second->notify();
        }
    }

    unsigned most_;
    unsigned used_ = 0;
    std::map<uuid, async::wakeup*> waiting_;
};

// How many live migrations run at the same time: as many as the hypervisor has threads for them (README ruling 25). A
// place in the queue wakes its owner when it may be its turn; whoever waits has other things to heed as well.
class migration_slots {
public:
    explicit migration_slots(unsigned most = 4) : most_(most) {}
    void allow(unsigned most) {
        most_ = most;
        pass_on();
    }
    class place {
    public:
        place(migration_slots& owner, uuid id, async::wakeup& wake) : owner_(owner), id_(id) {
            owner_.waiting_[id_] = &wake;
        }
        place(const place&) = delete;
        place& operator=(const place&) = delete;
        ~place() {
            if (std::exchange(has_turn_, false)) {
                --owner_.used_;
            } else {
                owner_.waiting_.erase(id_);
            }
            owner_.pass_on();
        }
        // True from the first time that it is its turn, until it goes.
        bool take() {
            if (!has_turn_ && owner_.used_ < owner_.most_ && owner_.waiting_.begin()->first == id_) {
                has_turn_ = true;
                ++owner_.used_;
                owner_.waiting_.erase(id_);
                owner_.pass_on();
            }
            return has_turn_;
        }

    private:
        migration_slots& owner_;
        uuid id_;
        bool has_turn_ = false;
    };

private:
    void pass_on() {
        if (used_ < most_ && !waiting_.empty()) {
            waiting_.begin()->second->notify();
        }
    }

    unsigned most_;
    unsigned used_ = 0;
    std::map<uuid, async::wakeup*> waiting_;
};

inline async::awaitable<creation_slots::slot> creation_slots::take(uuid id) {
    async::wakeup mine;
    struct place {
        creation_slots& owner;
        uuid id;
        ~place() {
            owner.waiting_.erase(id);
            owner.pass_on();
        }
    };
    waiting_[id] = &mine;
    const place here{*this, id};
    while (used_ >= most_ || waiting_.begin()->first != id) {
        co_await mine.wait(async::wait_note::work("its turn to be created"));
    }
    co_return slot(*this);
}

}  // namespace pvc::node
