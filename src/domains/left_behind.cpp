// What no table asks for any more and is here all the same: guests whose keys are gone, halves of migrations that were
// proven stale, processes whose guest is off. Specification: vm-domains.md 6.7, 8.7; README ruling 23.
#include "manager.hpp"

#include "console.hpp"

namespace pvc::domains {

using model::guest_class;
using model::vm_state;
using policy::domain_action;

void manager::evaluate_gone(domain_row& row, const std::optional<guest_class>& guest) {
    if (!row.is_gone) {
        return;  // the list of domains follows, or the keys come back: the table looks again
    }
    const uuid id = row.id;
    if (row.here && row.here->listing.lost_creation) {
        if (guest) {
            settle_lost_creation(row, *guest);
        }
        if (row.here->listing.lost_creation) {
            return;  // it may still appear; the tick looks again
        }
    }
    if (row.here) {
        const bool is_alive = guest && *guest != guest_class::absent;
        const bool was_to_be_off = row.stable.state == vm_state::stop || row.stable.state == vm_state::disable ||
                                   row.stable.state == vm_state::deleted;
        if (row.here->console) {
            row.here->console->ask_end();
            row.here->console.reset();
        }
        if (!guest) {
            return;  // once libvirt is back
        }
        const bool is_stale = *guest == guest_class::incoming && row.here->migration.is_stale_half;
        if (is_alive && (was_to_be_off || is_stale)) {
            begin(row, domain_action::destroy);
            return;
        }
        if (*guest == guest_class::incoming && row.here->migration.is_sent_by_us) {
            begin(row, domain_action::resolve_sent);  // half of a migration: where it went to says what it is
            return;
        }
        if (is_alive) {
            node.log.error(message::domain_keys_removed,
                           "its keys were removed while it runs here in state `" +
                               std::string(to_text(row.stable.state)) + "`: it is left running",
                           row.here->name.empty() ? to_text(id) : shown(row.here->name));
            told_strangers_.insert(id);
        }
        list.set(id, false);
    }
    table.erase(id);
}

}  // namespace pvc::domains
