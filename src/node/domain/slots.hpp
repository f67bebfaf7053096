// How many machines are created at the same time: eight, and of those that wait the one with the lowest UUID is next.
// Specification: vm-domains.md 5.3.
#pragma once

#include "pvcnoded/async/wakeup.hpp"
#include "pvcnoded/base/uuid.hpp"

#include <map>

namespace pvc::node {

class creation_slots {
public:
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
        if (used_ < slots_max && !waiting_.empty()) {
            waiting_.begin()->second->notify();
        }
    }

    static constexpr unsigned slots_max = 8;
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
    while (used_ >= slots_max || waiting_.begin()->first != id) {
        co_await mine.wait(async::wait_note::work("its turn to be created"));
    }
    co_return slot(*this);
}

}  // namespace pvc::node
