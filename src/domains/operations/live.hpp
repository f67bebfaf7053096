// One live call and what may end it early. Specification: vm-domains.md 8.3 (S6).
#pragma once

#include "operations/migration.hpp"

namespace pvc::domains {

enum class live_end : std::uint8_t {
    moved,
    failed,       // libvirt's words are in `text`; another try may help
    hopeless,     // another try cannot help (8.3: not repeated)
    no_progress,  // it did not converge, and nobody waits
    somebody_waits,
    withdrawn,  // the desired state changed meanwhile
    must_end,   // the daemon stops
    target_dead,
    gone,  // the guest is not here any more, and the call does not end
};
struct live_result {
    live_end end = live_end::failed;
    std::string text;
    bool ended_well = false;  // the call itself said success
    bool was_short = false;   // it ended in the time that is granted to reach the target
    bool was_busy = false;    // libvirt still has an earlier job with the guest, which runs on
};

async::awaitable<live_result> migrate_live(operation& op, std::string target, const zookeeper::watched& state_children);

}  // namespace pvc::domains
