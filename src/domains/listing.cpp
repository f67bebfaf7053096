// Membership of the running list, where no operation sees to it. Specification: vm-domains.md 11.3.
#include "manager.hpp"

#include <algorithm>
#include <array>

namespace pvc::domains {

using namespace std::chrono_literals;
using model::guest_class;
using model::vm_state;
using policy::domain_action;

namespace {

constexpr duration lost_creation_limit = 30s;  // longer than a connection to a libvirtd that stands still lasts

// Operations after which the guest is not here.
bool ends_the_guest(std::string_view operation) {
    using enum domain_action;
    static constexpr std::array all{send,           stop,         destroy, terminate, domain_action::shutdown,
                                    quiet_shutdown, drop_incoming};
    return std::ranges::any_of(all, [operation](domain_action one) { return operation == to_text(one); });
}

}  // namespace

// A creation that nobody answered is forgotten when its domain is here, or long enough after libvirt is back.
void manager::settle_lost_creation(local_domain& here, guest_class guest) const {
    const time_point known_since = std::max(here.listing.lost_creation.value_or(time_point{}), observed.known_since());
    const bool is_here = guest != guest_class::absent;
    if (is_here || node.clock().now() - known_since >= lost_creation_limit) {
        here.listing.lost_creation.reset();
    }
}

void manager::sync_list(domain_row& row, const std::optional<guest_class>& guest) {
    local_domain& here = *row.here;
    if (!guest) {
        return;
    }
    const bool is_receiving = row.is_owner && policy::is_migration(row.state);
    const bool runs = *guest == guest_class::alive || *guest == guest_class::paused || *guest == guest_class::ending ||
                      (*guest == guest_class::incoming && !is_receiving);
    const bool is_wanted = row.is_owner && row.state == vm_state::start;
    here.adoption.is_restarting = here.adoption.is_restarting && is_wanted && *guest == guest_class::absent;
    const bool will_restart =
        here.listing.is_listed && is_wanted && (here.adoption.is_adopted || here.adoption.is_restarting);
    settle_lost_creation(here, *guest);
    here.listing.is_listed = runs || will_restart || here.listing.lost_creation;
    list.set(row.id, here.listing.is_listed);
}

// What is gone runs here no more, whatever the operation that ended it still waits for.
void manager::unlist_gone(domain_row& row) {
    if (ends_the_guest(row.here->operation) && !row.here->listing.lost_creation &&
        observed.class_of(row.id) == guest_class::absent) {
        row.here->listing.is_listed = false;
        list.set(row.id, false);
    }
}

}  // namespace pvc::domains
