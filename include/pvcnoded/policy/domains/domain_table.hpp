// What to do about one virtual machine: a pure function of what ZooKeeper wants, what the hypervisor has, and who we
// are. Every row of the tables is here and nowhere else. Specification: vm-domains.md 4.2, 4.3.
#pragma once

#include "pvcnoded/base/clock.hpp"
#include "pvcnoded/model/guest_class.hpp"
#include "pvcnoded/model/states.hpp"

#include <cstdint>
#include <optional>
#include <string_view>

namespace pvc::policy {

enum class domain_action : std::uint8_t {
    nothing,
    wait,             // something ends by itself: look again when it has
    adopt,            // it runs where it should: console, running list, VNC
    arrived,          // a migrating guest runs here: state = start, adopt
    start,            // create it (from `restart` too: state = start with the same write)
    restart,          // end it, then start
    shutdown,         // gracefully, state = stop at the end
    quiet_shutdown,   // the same without a write of the state
    stop,             // destroy, no write of the state
    destroy,          // destroy; it must not be here, in a state whose clean-up writes nothing below the domain
    settle_shutdown,  // it is off: state = stop once nobody else runs it
    clean_up,         // it is off: running list, console, VNC
    forget,           // the same without a write below the domain
    keep,             // leave it alone, but show it: console, running list
    terminate,        // it belongs elsewhere: destroy, no write below the domain
    send,             // live migration to its node (or through a shutdown)
    receive,          // wait for it to come
    resolve_sent,     // our side of a migration that broke: ask the target
    resolve_own,      // it is ours and stands between two nodes: ask all others
    resolve_found,    // half of it stands here, to go elsewhere, and nothing is known of how it came: the same
    hand_over_ended,  // it ended just before it was to move: state = stop, the receiver starts it
    take_over,        // it was shut down to come here, and nobody has started it since
    see_taken_over,   // we shut it down to move it, and its new node has not said that it starts it
    drop_incoming,    // nobody needs this half of a migration any more: destroy after a while
    end_hung,         // the guest is off, and its process does not go: destroy
    report_fail,      // the other node failed to start it, this copy is alive: keep, tell the operator
    report_unknown,   // nobody knows what is wanted: leave it, tell the operator
};
[[nodiscard]] std::string_view to_text(domain_action action);

struct domain_view {
    model::vm_state state = model::vm_state::unknown;
    bool is_owner = false;  // `node` names this node
    model::guest_class guest = model::guest_class::absent;
    // The last placement outside a migration that this daemon saw (or found in its journal).
    bool ran_here_before = false;  // it was `start` or `restart` with this node
    bool was_sent_by_us = false;   // this node began to send it in this migration
    bool is_handed_over = false;   // its `stop` is the hand-over of a move through a shutdown
};

[[nodiscard]] domain_action decide(const domain_view& view);
// How long a guest may be off while its process stays (class D; measured: 1.6 s) until it is destroyed. Empty: for
// ever, as nobody says that it must go. README ruling 23.
[[nodiscard]] std::optional<duration> ending_limit(const domain_view& view);

// migrate, migrate-live, unmigrate.
[[nodiscard]] bool is_migration(model::vm_state state);
// States in which it runs on its node, or is about to.
[[nodiscard]] bool is_to_run(model::vm_state state);
// States in which a domain is off and stays off.
[[nodiscard]] bool is_off_state(model::vm_state state);

}  // namespace pvc::policy
