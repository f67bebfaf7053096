#include "pvcnoded/policy/domains/oversight.hpp"

#include "pvcnoded/base/planted.hpp"
#include "pvcnoded/policy/domains/resolving.hpp"

#include <algorithm>

namespace pvc::policy {

using namespace std::chrono_literals;
using model::guest_class;
using model::vm_state;

namespace {
constexpr duration lost_creation_limit = 30s;  // longer than a connection to a libvirtd that stands still lasts
}  // namespace

placement_news look_at_placement(const domain_seen& seen) {
    placement_news news;
    if (!seen.is_present || is_migration(seen.state) || seen.state == vm_state::unknown ||
        seen.wish.state_changed == 0) {
        return news;
    }
    if (seen.state == vm_state::stop && seen.is_handed_over && !is_planted(defect::hand_over_is_off)) {
        return news;  // in the middle of a move: nobody wanted it to be off
    }
    news.is_stable = true;
    const bool ran = is_to_run(seen.stable.state);
    if (is_off_state(seen.state) || seen.state == vm_state::deleted) {
        news.came_from = placement_news::origin::forgotten;
    } else if (seen.stable.is_known && ran && !seen.stable.was_owner && seen.is_owner) {
        news.came_from = placement_news::origin::before;
    }
    return news;
}

void note_stable_placement(const domain_seen& seen, bool is_sending, domain_memory& memory) {
    memory.migration.stable_last_node = seen.last_node;
    memory.migration.was_going_off = false;
    // What we sent stays so as long as half of it stands here, unresolved.
    const bool is_half = seen.guest.value_or(guest_class::incoming) == guest_class::incoming;
    memory.migration.is_sent_by_us = memory.migration.is_sent_by_us && (is_sending || is_half);
    if (!memory.migration.is_sent_by_us) {
        memory.migration.sent_to.clear();
    }
    memory.migration.noted_last_node.reset();
}

domain_view view_of(const domain_seen& seen, const domain_memory& memory) {
    domain_view view;
    view.state = is_nobodys(seen) ? vm_state::unknown : seen.state;
    view.is_owner = seen.is_owner;
    // What has never executed has not arrived, however long it is there.
    const bool is_to_come = seen.is_owner && is_migration(view.state);
    view.guest = is_to_come && seen.is_half_made ? guest_class::incoming : seen.guest.value_or(guest_class::absent);
    // Once its live migration began, that it is not here does not say that it ended. Nor does it while a creation is
    // out that nobody has answered: it may yet come to run.
    view.ran_here_before =
        !memory.listing.lost_creation &&
        (memory.migration.was_going_off || (seen.stable.is_known && seen.stable.was_owner &&
                                            !memory.migration.is_sent_by_us && is_to_run(seen.stable.state)));
    view.was_sent_by_us = memory.migration.is_sent_by_us;
    view.is_handed_over = seen.is_handed_over;
    return view;
}

next_action action_for(const domain_seen& seen, const domain_memory& memory, time_point now) {
    const domain_view view = view_of(seen, memory);
    const bool is_to_come = seen.is_owner && is_migration(view.state);
    if (view.guest == guest_class::incoming && memory.migration.is_stale_half && !is_to_come) {
        return {domain_action::destroy, std::nullopt};
    }
    const domain_action action = decide(view);
    const auto limit = ending_limit(view);
    if (action != domain_action::wait || !limit) {
        return {action, std::nullopt};
    }
    const time_point due = seen.class_since + *limit;
    return now >= due ? next_action{domain_action::end_hung, std::nullopt} : next_action{action, due};
}

bool is_done_already(domain_action action, const domain_seen& seen, domain_memory& memory, time_point now) {
    adoption& here = memory.adoption;
    switch (action) {
        case domain_action::nothing:
        case domain_action::wait:
        case domain_action::report_unknown: return true;
        case domain_action::adopt:
            memory.going_down.over();
            here.untidy();
            if (here.is_adopted && here.state != seen.wish.state_changed) {
                here.spacing.reset();
                here.state = seen.wish.state_changed;
                here.owes_word = true;  // of a migration that somebody ended by writing this
            }
            return here.is_adopted && !here.owes_vnc && !here.owes_word;
        case domain_action::keep: return here.is_adopted && !(seen.is_owner && here.owes_vnc);
        case domain_action::report_fail: return here.is_adopted;
        case domain_action::clean_up: return here.is_clean && !here.owes_word;
        case domain_action::forget: return here.is_tidy();
        case domain_action::start:
            return seen.holds_starts || (is_planted(defect::unexpected_end_ignored) && here.is_adopted &&
                                         here.state == seen.wish.state_changed && seen.state == vm_state::start);
        case domain_action::terminate:
            // It has nowhere to go, and was not asked again since: what else becomes of it is looked at meanwhile.
            return is_to_run(seen.state) && memory.told.nowhere == seen.wish.node_changed &&
                   now < memory.told.nowhere_until;
        default: return false;
    }
}

bool note_start(const domain_seen& seen, domain_memory& memory, time_point now) {
    adoption& here = memory.adoption;
    if (here.state != seen.wish.state_changed) {
        here.spacing.reset();  // somebody wants it anew: nothing of an earlier crash loop counts
        here.not_before = {};
        memory.waits.begin_anew();
        here.state = seen.wish.state_changed;
    }
    if (!here.is_adopted || seen.state != vm_state::start) {
        return false;
    }
    here.is_adopted = false;
    here.is_restarting = true;
    here.not_before = here.spacing.ended(now);
    return true;
}

void settle_lost_creation(guest_class guest, time_point known_since, time_point now, listing& memory) {
    const time_point since = std::max(memory.lost_creation.value_or(time_point{}), known_since);
    if (guest != guest_class::absent || now - since >= lost_creation_limit) {
        memory.lost_creation.reset();
    }
}

void note_listing(const domain_seen& seen, time_point known_since, time_point now, domain_memory& memory) {
    if (!seen.guest) {
        return;
    }
    const guest_class guest = view_of(seen, memory).guest;
    const bool is_receiving = seen.is_owner && is_migration(seen.state);
    const bool runs = guest == guest_class::alive || guest == guest_class::paused || guest == guest_class::ending ||
                      (guest == guest_class::incoming && !is_receiving);
    const bool is_wanted = seen.is_owner && seen.state == vm_state::start;
    adoption& here = memory.adoption;
    here.is_restarting = here.is_restarting && is_wanted && guest == guest_class::absent;
    const bool will_restart = memory.listing.is_listed && is_wanted && (here.is_adopted || here.is_restarting);
    settle_lost_creation(guest, known_since, now, memory.listing);
    memory.listing.is_listed = runs || will_restart || memory.listing.lost_creation;
}

bool ends_the_guest(domain_action operation) {
    switch (operation) {
        case domain_action::send:
        case domain_action::stop:
        case domain_action::destroy:
        case domain_action::terminate:
        case domain_action::shutdown:
        case domain_action::quiet_shutdown:
        case domain_action::drop_incoming: return true;
        default: return false;
    }
}

}  // namespace pvc::policy
