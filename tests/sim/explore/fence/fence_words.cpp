// A move in words, as the way to a finding is told.
#include "sim/explore/fence/fence_world.hpp"

#include <fmt/format.h>

namespace pvc::explore::fences {

namespace {

std::string_view fixed_words(move::kind what) {
    using kind = move::kind;
    switch (what) {
        case kind::boot: return "hv3 has booted, says init and beats";
        case kind::say_run: return "hv3 says run";
        case kind::soft_off: return "hv3 has shut down";
        case kind::reference: return "hv2, of the reference, takes its next step";
        case kind::pass_time: return "time passes";
        case kind::refuse: return "the board refuses from now on";
        case kind::heal: return "the board is well again";
        case kind::soften: return "the board makes a request to shut down of `off`";
        case kind::lie: return "the board has booted, and says off for 4 s";
        case kind::come_back: return "hv3 comes back";
        case kind::client_stop: return "a client stops the machine";
        case kind::begin: return "begins";
        case kind::grant: return "has the fence lock";
        case kind::start: return "starts again";
        case kind::crash: return "crashes";
        case kind::crash_done: return "crashes after what was under way is done";
        case kind::lose_lock: return "loses the fence lock";
        case kind::lose_answer: return "does not hear that its write is made";
        case kind::lose_write: return "is not heard";
        case kind::full_disk: return "cannot write its record";
        case kind::slow: return "waits for a slow board, or a slow Ceph";
        default: return "";
    }
}

}  // namespace

std::string to_text(const move& one, const world& before) {
    using kind = move::kind;
    constexpr std::array<std::string_view, 4> beginnings{"runs on hv3", "runs on hv2, and hv3 lists it",
                                                         "migrates to hv3, and lives on hv2",
                                                         "migrates from hv3 to hv4"};
    if (one.what == kind::choose) {
        return fmt::format("hv3 {}; the machine {}", one.who == 1 ? "loses its power" : "is cut off",
                           beginnings.at(static_cast<std::size_t>(one.other)));
    }
    const auto second = std::chrono::duration_cast<std::chrono::seconds>(before.now - before.fell_silent).count();
    if (one.who == nobody) {
        return fmt::format("{:4} {}", second, fixed_words(one.what));
    }
    const auto& own = before.at(one.who);
    if (one.what == kind::go) {
        return fmt::format("{:4} {}: {}", second, name_of(one.who), policy::to_text(own.attempt->pending.what));
    }
    if (one.what == kind::go_guest) {
        return fmt::format("{:4} {}: the machine: {}", second, name_of(one.who), policy::to_text(own.recovering.what));
    }
    return fmt::format("{:4} {} {}", second, name_of(one.who), fixed_words(one.what));
}

}  // namespace pvc::explore::fences
