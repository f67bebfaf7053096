// Membership of the running list, where no operation sees to it. Specification: vm-domains.md 11.3.
#include "manager.hpp"

namespace pvc::domains {

// What is gone runs here no more, whatever the operation that ended it still waits for.
void manager::unlist_gone(domain_row& row) {
    const bool is_to_go = row.here->doing && policy::ends_the_guest(*row.here->doing);
    if (is_to_go && !row.here->listing.lost_creation && observed.class_of(row.id) == model::guest_class::absent) {
        row.here->listing.is_listed = false;
        list.set(row.id, false);
    }
}

}  // namespace pvc::domains
