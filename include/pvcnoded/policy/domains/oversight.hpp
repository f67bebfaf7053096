// One look at a domain between two operations: what is remembered of it changes with what is seen, the tables are
// asked, and what they say may have been done already. Pure functions of what is seen and remembered. Specification:
// vm-domains.md 4, 5.2, 11.3.
#pragma once

#include "pvcnoded/policy/domains/domain_memory.hpp"
#include "pvcnoded/policy/domains/domain_seen.hpp"
#include "pvcnoded/policy/domains/domain_table.hpp"

#include <optional>

namespace pvc::policy {

// What the placement that is seen now says: `seen.stable` is still the one before.
struct placement_news {
    bool is_stable = false;  // outside a migration: it is the last stable placement from here on
    enum class origin : std::uint8_t {
        kept,
        forgotten,  // it has been off, or goes: where it came from is of no concern
        before,     // it is to run here and ran where the last stable placement was
    } came_from = origin::kept;
};
[[nodiscard]] placement_news look_at_placement(const domain_seen& seen);
// What goes with a stable placement. `is_sending`: our operation with it still runs.
void note_stable_placement(const domain_seen& seen, bool is_sending, domain_memory& memory);

// What the tables decide on.
[[nodiscard]] domain_view view_of(const domain_seen& seen, const domain_memory& memory);

// What the tables say; and what is left behind ends, whatever they say.
struct next_action {
    domain_action what = domain_action::nothing;
    std::optional<time_point> look_again;  // it is not to stay as it is for ever
};
[[nodiscard]] next_action action_for(const domain_seen& seen, const domain_memory& memory, time_point now);

// Whether it was done for this very guest and state; notes what goes with the answer. Of actions that only tell
// something, and of `start`, the caller knows more.
[[nodiscard]] bool is_done_already(domain_action action, const domain_seen& seen, domain_memory& memory,
                                   time_point now);

// A start may begin. True: it is one of a guest that ended by itself, which is to be told.
[[nodiscard]] bool note_start(const domain_seen& seen, domain_memory& memory, time_point now);

// Membership of the running list, where no machine sees to it. `known_since`: libvirt is connected.
void note_listing(const domain_seen& seen, time_point known_since, time_point now, domain_memory& memory);
// Operations after which the guest is not here: what is gone runs here no more, whatever they still wait for.
[[nodiscard]] bool ends_the_guest(domain_action operation);
// A creation that nobody answered is forgotten when its domain is here, or long enough after libvirt is back.
void settle_lost_creation(model::guest_class guest, time_point known_since, time_point now, listing& memory);

}  // namespace pvc::policy
