// Start: spacing, release by others, a turn, Ceph and RBD locks, a last guarded look, create, and what is told of it.
// What lies outside of the machine is waited for: the reason is written, all that was held is given back, and the next
// start begins with the wait, and then with the keys and the definition as they are.
// Specification: vm-domains.md 5.3, 6.1; storage.md 6.3; README ruling 77.
#pragma once

#include "pvcnoded/policy/domains/rbd_clearing.hpp"
#include "pvcnoded/policy/domains/release_wait.hpp"
#include "pvcnoded/policy/domains/start_outcomes.hpp"

namespace pvc::policy {

// A reason as clients show it: one line of text that they can decode.
[[nodiscard]] std::string failed_reason(std::string_view said);

struct starting {
    enum class at : std::uint8_t {
        begin,
        spacing,
        held_up,              // what kept it from being started last may be over
        clearing_old_reason,  // somebody wants something else
        releasing,
        noting_holder,
        reading_definition,
        taking_turn,
        noting_turn,
        reading_again,   // after the turn was waited for
        asking_network,  // whether the one that nobody here knows is none
        asking_monitors,
        clearing_locks,
        asking_again,  // the monitors, as the locks took their time
        announcing,
        reading_last,  // what is created
        proving,
        yielding,
        creating,
        asking_own_guest,
        looking_at_bridges,  // after it was refused
        asking_images,       // after it was refused: whether Ceph answers for its disks
        noting,              // why it waits
        clearing_word_held,
        ending_console_held,
        unlisting_held,
        ending_crashed,
        pausing,
        listing,
        reading_live,
        telling,
        clearing_word,
        looking_before_failing,
        failing,
        taking_back,
        clearing_vnc,
        ending_console,
        unlisting,
        over,
    };

    at where = at::begin;
    wish began_with{};  // this attempt
    wish spaced_for{};
    release_wait released{};
    clearing_rbd_locks locks{};
    std::optional<time_point> again_until{};  // what is in the way is waited for, over attempts
    bool wants_turn = false;
    std::vector<std::string> volumes{};  // RBD disks, as read last
    time_point turn_wanted{};
    time_point read_at{};      // the definition
    std::uint64_t losses = 0;  // of bridges, by then
    time_point monitors_at{};  // they answered
    std::string held_by{};     // while it is held up: the reason
    call_end refused = call_end::done;
    std::string reason{};  // of a failure
    int tries = 0;         // to tell that it was started

    [[nodiscard]] step resume(context& c);
    void hold(holdings& what) const;
    // What it waits for, where that is no static text; empty: nothing of that kind.
    [[nodiscard]] std::string awaited() const;
    friend bool operator==(const starting&, const starting&) = default;

private:
    [[nodiscard]] static bool is_ours_to_start(const context& c);
    [[nodiscard]] bool goes_on(const context& c) const;
    // The created guest is still what is wanted. `restart` must be the very one that began the start.
    [[nodiscard]] bool is_still_wanted(const context& c) const;
    step space(context& c);
    step hold_on(context& c);
    step leave(context& c);
    step act_on(context& c, start_outcome what);
    step hold_up(context& c, start_outcome what);
    step noted();
    step clear_word(context& c);
    step unlist_held(context& c);
    step attempt(context& c);
    step release(context& c);
    [[nodiscard]] bool is_holder_noted(context& c) const;
    step note_holder(context& c);
    step read_definition(at which);
    step has_definition(context& c);
    step judge_definition(context& c);
    step act_on_bridges(context& c, start_outcome what);
    step network_asked(context& c);
    step want_turn(context& c);
    step take_turn(context& c);
    step await_turn(context& c);
    step ask_monitors(context& c, at which);
    step monitors_said(context& c);
    step clear_locks(context& c);
    step locks_cleared(context& c);
    step announce_creation();
    step announced(context& c);
    step prove();
    step proven(context& c);
    step created(context& c);
    step refused_creation(context& c);
    step bridges_looked(context& c);
    step ask_images(context& c);
    step looked_at_refused(context& c);
    step images_asked(context& c);
    step again_or_fail(context& c);
    step announce(context& c);
    step tell(context& c);
    step told(context& c, bool is_written);
    step fail(context& c, std::string why);
    step write_failure(context& c);
    step failed(context& c);
    step finish();
};

}  // namespace pvc::policy
