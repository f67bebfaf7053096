// Start: spacing, release by others, RBD locks, a last guarded look, create, and what is told of it.
// Specification: vm-domains.md 5.3, 6.1; storage.md 6.3.
#pragma once

#include "pvcnoded/policy/domains/rbd_clearing.hpp"
#include "pvcnoded/policy/domains/release_wait.hpp"

namespace pvc::policy {

// A reason as clients show it: one line of text that they can decode.
[[nodiscard]] std::string failed_reason(std::string_view said);

struct starting {
    enum class at : std::uint8_t {
        begin,
        spacing,
        releasing,
        reading_definition,
        clearing_locks,
        taking_turn,
        announcing,
        proving,
        yielding,
        creating,
        asking_own_guest,
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
    step attempt(context& c);
    step release(context& c);
    step has_definition(context& c);
    step clear_locks(context& c);
    step take_turn(context& c);
    step announced(context& c);
    step prove();
    step proven(context& c);
    step created(context& c);
    step refused_creation(context& c);
    step looked_at_refused(context& c);
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
