// How much passes over the network cards: samples of their counters in, the object that the node publishes out. A
// value; what it holds is bounded by the number of cards. Specification: networking.md 13 (cases 87 to 89).
#pragma once

#include "pvcnoded/base/clock.hpp"
#include "pvcnoded/model/link_counters.hpp"

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

namespace pvc::policy {

class link_rates {
public:
    // Means are over so many samples, a second apart: a card is published from the sample after that on.
    explicit link_rates(std::size_t window) : window_(window) {}

    // The cards that there are now, and how fast they are. Empty, not positive: it is published as 0.
    void set_hardware(const std::vector<model::hardware_link>& now);
    // Those whose counters are to be asked for.
    [[nodiscard]] std::vector<std::string> names() const;
    // What was read at that time. A card that is not in it is gone; one that was made anew, or is back, begins anew.
    void take(time_point at, const std::vector<model::link_counters>& read);

    // The value of the node's key: an object of the cards by name. One whose last sample is older than the window is
    // left out: nothing is known of it.
    [[nodiscard]] std::string text(time_point now) const;

private:
    struct sample {
        time_point at;
        model::link_counters read;
    };
    struct card {
        std::int64_t speed = 0;  // bit/s
        std::deque<sample> samples;
    };

    std::size_t window_;
    std::map<std::string, card> cards_;
};

}  // namespace pvc::policy
