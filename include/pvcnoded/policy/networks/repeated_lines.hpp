// What a host can cause as often as it likes (an address that comes and goes, a link that goes up and down) must not
// fill the log of its node: the first is told at once, then their number once a minute, as long as they go on, as with
// guests (policy/domains/guest_noise.hpp). Pure, on times that the caller passes. What has been quiet for a minute is
// forgotten.
#pragma once

#include "pvcnoded/base/clock.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pvc::policy {

// Something happened.
class repeated_events {
public:
    static constexpr duration told_every = std::chrono::minutes(1);

    struct tally {
        std::string what;
        std::uint64_t times = 0;  // beside what was told
    };

    // True: it is to be told now; else it is counted.
    bool is_first(std::string_view what, time_point now);
    // What is to be told by now, each with the next minute begun.
    [[nodiscard]] std::vector<tally> take_due(time_point now);
    // When to ask for it; empty: nothing is counted.
    [[nodiscard]] std::optional<time_point> next_due() const;

private:
    struct minute {
        time_point until;
        std::uint64_t times = 0;
        [[nodiscard]] bool has_more() const { return times != 0; }
    };
    std::map<std::string, minute, std::less<>> minutes_;
};

// Something is so, or is so no more: in each minute either is told once at once, and at its end what it is by then.
class repeated_states {
public:
    struct tally {
        std::string what;
        std::uint64_t times = 0;  // that it came to be so, beside what was told
        bool is_so = false;
    };

    // True: it is to be told now; else it is counted.
    bool is_first(std::string_view what, bool is_so, time_point now);
    [[nodiscard]] std::vector<tally> take_due(time_point now);
    [[nodiscard]] std::optional<time_point> next_due() const;

private:
    struct minute {
        time_point until;
        std::uint64_t times = 0;
        bool is_so = false;
        bool is_told_so = false;  // what was told last
        bool was_told_so = false;
        bool was_told_over = false;
        [[nodiscard]] bool has_more() const { return times != 0 || is_so != is_told_so; }
    };
    std::map<std::string, minute, std::less<>> minutes_;
};

}  // namespace pvc::policy
