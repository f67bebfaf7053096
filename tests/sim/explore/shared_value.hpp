// A value that states have in common until one of them changes it: most steps change one node of a state, and a state
// that waits for its steps costs what is its own. One thread.
#pragma once

#include <cstdint>
#include <utility>

namespace pvc::explore {

// `Note`: what was worked out of the value; given up when it changes.
template <class T, class Note>
class shared_value {
public:
    shared_value() : block_(new block) {}
    shared_value(const shared_value& other) : block_(other.block_) { ++block_->users; }
    shared_value(shared_value&& other) noexcept : block_(std::exchange(other.block_, nullptr)) {}
    shared_value& operator=(const shared_value& other) {
        shared_value copy(other);
        std::swap(block_, copy.block_);
        return *this;
    }
    shared_value& operator=(shared_value&& other) noexcept {
        std::swap(block_, other.block_);
        return *this;
    }
    ~shared_value() {
        if (block_ != nullptr && --block_->users == 0) {
            delete block_;
        }
    }

    [[nodiscard]] const T& see() const { return block_->value; }
    // Valid until it is copied or destroyed.
    [[nodiscard]] T& change() {
        if (block_->users > 1) {
            auto* own = new block{block_->value, 1, {}};
            --block_->users;
            block_ = own;
        }
        block_->note = {};
        return block_->value;
    }
    [[nodiscard]] Note& note() const { return block_->note; }

private:
    struct block {
        T value{};
        std::uint32_t users = 1;
        Note note{};
    };
    block* block_;
};

}  // namespace pvc::explore
