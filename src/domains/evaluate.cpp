// Looks at one domain: what it was, what is to be, what is here; asks the tables, and has what they say begun.
// Specification: vm-domains.md 4, 5.2.
#include "manager.hpp"

#include "console.hpp"
#include "flush_mark.hpp"
#include "pvcnoded/base/planted.hpp"
#include "pvcnoded/base/text.hpp"

#include <algorithm>

namespace pvc::domains {

using namespace std::chrono_literals;
using model::guest_class;
using model::vm_state;
using policy::domain_action;

void manager::note_placement(domain_row& row) {
    const policy::domain_seen seen = seen_of(parts, row);
    const policy::placement_news news = policy::look_at_placement(seen);
    if (!news.is_stable) {
        return;
    }
    using origin = policy::placement_news::origin;
    if (news.came_from != origin::kept) {
        row.came_from = news.came_from == origin::before ? row.stable.node : nullptr;
    }
    row.stable = {row.state, row.is_owner, row.node, row.state_changed, row.state_version};
    if (row.here) {
        policy::note_stable_placement(seen, row.here->doing == domain_action::send, *row.here);
    }
}

// Puts down what is known, whether anything is decided now or not. True: it is this node's business, and free.
bool manager::prepare_evaluation(domain_row& row) {
    if (row.here && row.here->console && row.is_known && row.state == vm_state::deleted) {
        row.here->console->silence();  // nothing is written below a domain that is being deleted
    }
    if (row.here && !row.here->operation.empty()) {
        row.here->changed.notify();
        if (row.is_known) {
            note_placement(row);
        }
        unlist_gone(row);
        return false;
    }
    if (gives_turn(row)) {
        return false;
    }
    if (calls.has(row.id)) {  // of the session before; its end looks at it again
        unlist_gone(row);
        return false;
    }
    return row.is_known && session_ != nullptr && session_->zk.is_connected() && !is_stopping_;
}

void manager::evaluate(domain_row& row) {
    if (!prepare_evaluation(row)) {
        return;
    }
    const auto guest = observed.class_of(row.id);
    if (!row.is_present) {
        evaluate_gone(row, guest);
        return;
    }
    if (!row.here) {
        note_placement(row);
        if (row.is_owner || (guest && *guest != guest_class::absent)) {
            table.keep_here(row);
        }
        return;
    }
    if (!row.here->is_read) {
        return;  // its reading is under way
    }
    note_placement(row);
    note_journal(row);
    end_mark(row, guest);
    if (!guest) {
        return;
    }
    ++evaluations_;
    const bool is_paused =
        row.here->pause_until && node.clock().now() < *row.here->pause_until;  // the dispatcher comes back
    if (!is_paused && !observed.is_being_made(row.id, row.here->class_since)) {
        decide(row, *guest);
    }
}

void manager::tell_unknown_word(const domain_row& row) const {
    local_domain& here = *row.here;
    if (row.state == vm_state::unknown && row.is_owner &&
        std::exchange(here.told.state, row.state_changed) != row.state_changed) {
        node.log.warning(message::domain_word,
                         here.word.empty() ? std::string("its key `state` is missing or empty: left alone")
                                           : "its state is `" + ascii_only(here.word) + "`, which is none: left alone",
                         shown(here.name));
    }
}

// Asks the tables, and begins what they say.
void manager::decide(domain_row& row, guest_class guest) {
    local_domain& here = *row.here;
    const time_point now = node.clock().now();
    const policy::domain_seen seen = seen_of(parts, row);
    tell_unknown_word(row);
    const auto [action, look_again] = policy::action_for(seen, here, now);
    if (look_again) {
        look_later_[row.id] = *look_again;
    }
    tell_pause(here, guest);
    settle_lost_creation(row, guest);
    policy::note_listing(seen, observed.known_since(), now, here);
    list.set(row.id, here.listing.is_listed);
    if (guest != guest_class::absent) {
        here.adoption.untidy();
    }
    if (!is_done_already(row, action)) {
        if (!is_in_vain(row, action)) {
            begin(row, action);
        }
        return;
    }
    const bool is_idle = !row.is_owner && guest == guest_class::absent && !here.listing.lost_creation;
    if (is_idle && here.migration.has_record && !policy::is_migration(row.state)) {
        here.migration.has_record = false;
        migration_records.remove(row.id);  // what it was kept for was done by others
    }
    if (is_idle && !here.console) {
        row.here.reset();  // neither belongs nor runs here any more
    }
}

// A `start` of what does not run may answer the mark of a flush. It is seen to beside the start, once for each word.
void manager::end_mark(const domain_row& row, std::optional<guest_class> guest) {
    const bool runs = guest == guest_class::alive || guest == guest_class::paused;
    if (!row.is_owner || !policy::is_to_run(row.state) || runs || operations_ == nullptr || operations_->cancelled() ||
        std::exchange(row.here->told.mark_ended_for, row.state_changed) == row.state_changed) {
        return;
    }
    operations_->spawn("mark of " + shown(row.here->name), [&s = *session_, id = row.id, since = row.state_changed] {
        return end_flush_mark(s, id, since);
    });
}

}  // namespace pvc::domains
