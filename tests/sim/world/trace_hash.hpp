// A running hash of everything that happened in a simulated run: equal for equal runs, on every machine and preset.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

namespace pvc::sim {

class trace_hash {
public:
    void add(std::uint64_t word) {
        state_ = (state_ ^ word) * 0x9e37'79b9'7f4a'7c15ULL;
        state_ ^= state_ >> 29;
    }
    void add(std::string_view text) {
        add(static_cast<std::uint64_t>(text.size()));
        while (text.size() >= 8) {
            std::uint64_t word = 0;
            std::memcpy(&word, text.data(), 8);  // little-endian machines only, as all that this is built for
            add(word);
            text.remove_prefix(8);
        }
        std::uint64_t rest = 0;
        std::memcpy(&rest, text.data(), text.size());
        add(rest);
    }
    [[nodiscard]] std::uint64_t value() const { return state_; }

private:
    std::uint64_t state_ = 0x243f'6a88'85a3'08d3ULL;
};

}  // namespace pvc::sim
