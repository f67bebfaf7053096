// A file descriptor that is closed with its owner.
#pragma once

#include <unistd.h>

#include <chrono>
#include <utility>

namespace pvc::ctl {

class descriptor {
public:
    explicit descriptor(int number = -1) : number_(number) {}
    descriptor(descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
    descriptor& operator=(descriptor&& other) noexcept {
        std::swap(number_, other.number_);
        return *this;
    }
    descriptor(const descriptor&) = delete;
    descriptor& operator=(const descriptor&) = delete;
    ~descriptor() { close(); }

    [[nodiscard]] int number() const { return number_; }
    void close() {
        if (number_ >= 0) {
            ::close(std::exchange(number_, -1));
        }
    }

private:
    int number_;
};

// Becomes readable after that time, once.
[[nodiscard]] descriptor timer_of(std::chrono::milliseconds time);

}  // namespace pvc::ctl
