// What became of operations, counted for whoever watches the node. The assembly owns it, so that it lives as long as
// the daemon: subjects are made anew with each attempt to start, and go on counting. Loop thread only.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace pvc::domains {

struct domain_counts {
    // How a migration from here ended.
    enum class departure : std::uint8_t {
        moved,        // live
        handed_over,  // shut down, for its new node to start it
        stayed,       // it did not work, and runs on here
        given_up,     // somebody wanted something else meanwhile, or the daemon stops
        unclear,      // off, and the hand-over was not written: it is decided anew
        interrupted,  // the session ended meanwhile: it is looked at anew
    };
    static constexpr std::array<std::string_view, 6> departure_names{"moved",    "handed_over", "stayed",
                                                                     "given_up", "unclear",     "interrupted"};

    std::array<std::uint64_t, departure_names.size()> departures{};
    std::uint64_t arrivals = 0;    // by a move
    std::uint64_t operations = 0;  // begun, of any kind
    void note(departure how) { ++departures[static_cast<std::size_t>(how)]; }
};

}  // namespace pvc::domains
