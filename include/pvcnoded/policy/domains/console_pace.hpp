// How much of its guests' consoles one node writes into ZooKeeper. Each publication replaces the whole text, and every
// server keeps it in its log: a guest that writes without end must load neither them nor the other guests' consoles.
// Pure, on times that the caller passes. Specification: vm-domains.md 10 (one publication per 0.5 s is the least
// pause).
#pragma once

#include "pvcnoded/base/clock.hpp"

#include <cstddef>

namespace pvc::policy {

// Of all guests of a node together, in the order in which they ask: so many bytes and publications a second, and what
// two seconds allow at once after a pause.
class console_pace {
public:
    static constexpr std::size_t bytes_per_second = 128UL * 1024;
    static constexpr std::size_t usual_publications = 20;  // a second

    void allow(std::size_t publications_per_second) { publications_per_second_ = publications_per_second; }

    // When the one that asks now may publish. `bytes` is its guess; what became of it is told by published().
    time_point next_turn(time_point now, std::size_t bytes);
    void published(std::size_t guess, std::size_t bytes);
    // The pause of one console after a publication of so many bytes: longer, the more it writes.
    [[nodiscard]] duration pause_after(std::size_t bytes) const;

private:
    [[nodiscard]] duration cost_of(std::size_t bytes) const;

    std::size_t publications_per_second_ = usual_publications;
    time_point free_at_{};
};

}  // namespace pvc::policy
