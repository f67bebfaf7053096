// Membership of the running list, where no operation sees to it, and creations that nobody has answered. Specification:
// vm-domains.md 11.3.
#include "manager.hpp"
#include "operations/creation.hpp"

namespace pvc::domains {

using model::guest_class;

// What is gone runs here no more, whatever the operation that ended it still waits for.
void manager::unlist_gone(domain_row& row) {
    const bool is_to_go = row.here->doing && policy::ends_the_guest(*row.here->doing);
    if (is_to_go && !row.here->listing.lost_creation && observed.class_of(row.id) == guest_class::absent) {
        row.here->listing.is_listed = false;
        list.set(row.id, false);
    }
}

void manager::settle_lost_creation(domain_row& row, guest_class guest) {
    if (row.here->listing.lost_creation) {
        policy::settle_lost_creation(guest, observed.known_since(), node.clock().now(), row.here->listing);
        if (!row.here->listing.lost_creation) {
            creation_records.remove(row.id);
        }
    }
}

// What a daemon of this node that died had told libvirt to create, and libvirt may not have come to yet: it stays in
// the list until that would have shown.
std::vector<uuid> manager::take_lost_creations() {
    std::vector<uuid> lost;
    for (const auto& id : creation_records.stored()) {
        domain_row* row = table.find(id);
        const bool may_come = creation_records.read(id) == creation_record(node) && row != nullptr && row->is_present &&
                              observed.class_of(id).value_or(guest_class::absent) == guest_class::absent;
        if (!may_come) {
            creation_records.remove(id);
            continue;
        }
        local_domain& here = table.keep_here(*row);
        here.listing.lost_creation = node.clock().now();
        lost.push_back(id);
        node.log.info("its creation was under way when the daemon before this one ended: it may still come",
                      here.name.empty() ? to_text(id) : shown(here.name));
    }
    return lost;
}

}  // namespace pvc::domains
