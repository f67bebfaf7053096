// What tells two states apart: 128 bits of their bytes, taken as they come.
#pragma once

#include "pvcnoded/base/clock.hpp"

#include <boost/container/static_vector.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>

namespace pvc::explore {

struct identity {
    std::uint64_t a = 0;
    std::uint64_t b = 0;

    friend bool operator==(const identity&, const identity&) = default;
};

class identity_builder {
public:
    void byte(std::uint8_t value) {
        if (filled_ == buffer_.size()) {
            flush();
        }
        buffer_[filled_++] = value;
    }
    void half_word(std::uint32_t value) { put(value); }
    void word(std::uint64_t value) { put(value); }
    // Of all that was given.
    [[nodiscard]] identity finish() {
        length_ += filled_;
        flush();
        return {mixed(state_.a ^ length_), mixed(state_.b + length_)};
    }

private:
    template <class T>
    void put(T value) {
        if (filled_ + sizeof value > buffer_.size()) {
            flush();
        }
        std::memcpy(&buffer_[filled_], &value, sizeof value);
        filled_ += sizeof value;
    }
    static std::uint64_t mixed(std::uint64_t x) {
        x ^= x >> 33;
        x *= 0xff51afd7ed558ccdULL;
        x ^= x >> 33;
        x *= 0xc4ceb9fe1a85ec53ULL;
        return x ^ (x >> 33);
    }
    // Two lanes, each a reversible step a word: what differs in one word can only be lost in both at once.
    void flush() {
        while (filled_ % sizeof(std::uint64_t) != 0) {
            buffer_[filled_++] = 0;
        }
        for (std::size_t i = 0; i < filled_; i += sizeof(std::uint64_t)) {
            std::uint64_t value = 0;
            std::memcpy(&value, &buffer_[i], sizeof value);
            state_.a = (state_.a ^ value) * 0x9e3779b97f4a7c15ULL;
            state_.a ^= state_.a >> 32;
            state_.b = (state_.b + value) * 0xc2b2ae3d27d4eb4fULL;
            state_.b ^= state_.b >> 29;
        }
        length_ += filled_;
        filled_ = 0;
    }

    identity state_{0x243f6a8885a308d3ULL, 0x13198a2e03707344ULL};
    std::uint64_t length_ = 0;
    std::size_t filled_ = 0;
    std::array<std::uint8_t, 1024> buffer_;
};

// A part of a state: its bytes without the transaction numbers, and these in the order in which they stand there. What
// they are to each other is a matter of the whole state.
struct part_identity {
    identity bytes;
    boost::container::static_vector<std::int16_t, 192> stamps;  // a way has some hundred writes at most
    std::optional<time_point> taken_at;                         // ages are as of then; empty: not taken yet
};

// For tables of what is known by its identity: that is a hash already.
struct as_it_is {
    using is_avalanching = void;
    std::size_t operator()(const identity& of) const { return of.a; }
};

}  // namespace pvc::explore
