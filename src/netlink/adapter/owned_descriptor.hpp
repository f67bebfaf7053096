// A file descriptor that is closed with its owner.
#pragma once

#include <unistd.h>

#include <utility>

namespace pvc::netlink {

class owned_descriptor {
public:
    explicit owned_descriptor(int number = -1) : number_(number) {}
    owned_descriptor(owned_descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
    owned_descriptor& operator=(owned_descriptor&& other) noexcept {
        std::swap(number_, other.number_);
        return *this;
    }
    owned_descriptor(const owned_descriptor&) = delete;
    owned_descriptor& operator=(const owned_descriptor&) = delete;
    ~owned_descriptor() {
        if (number_ >= 0) {
            ::close(number_);
        }
    }
    // Negative: there is none.
    [[nodiscard]] int number() const { return number_; }

private:
    int number_;
};

}  // namespace pvc::netlink
