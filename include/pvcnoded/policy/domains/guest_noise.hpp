// What guests can cause as often as they like (a reset, an I/O error, a sleep) must not fill the log of their node: the
// first of each kind and guest is told at once, then their number once a minute, as long as they go on. Pure, on times
// that the caller passes. Bounded by the guests. Specification: README; docs/security.md.
#pragma once

#include "pvcnoded/base/clock.hpp"
#include "pvcnoded/base/uuid.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace pvc::policy {

enum class guest_noise_kind : std::uint8_t { reboot, io_error, watchdog, sleep };

class guest_noise {
public:
    static constexpr duration told_every = std::chrono::minutes(1);

    struct tally {
        uuid guest;
        guest_noise_kind kind{};
        std::uint64_t times = 0;  // beside the one that was told
        std::string last;         // what the last of them said
    };

    // It happened. True: it is the first, to be told now; else it is counted.
    bool is_first(const uuid& guest, guest_noise_kind kind, std::string_view said, time_point now);
    // What is to be told by now, each with the next minute begun; who has been quiet for a minute is forgotten.
    [[nodiscard]] std::vector<tally> take_due(time_point now);
    // When to ask for it; empty: nothing is counted.
    [[nodiscard]] std::optional<time_point> next_due() const;

private:
    struct minute {
        time_point until;
        std::uint64_t times = 0;
        std::string last;
    };
    std::map<std::pair<uuid, guest_noise_kind>, minute> minutes_;
};

// The line about those that were counted.
[[nodiscard]] std::string to_text(const guest_noise::tally& of);

}  // namespace pvc::policy
