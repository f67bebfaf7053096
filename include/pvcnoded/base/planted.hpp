// Planted defects: mistakes that can be switched on one at a time, to see that the simulation finds them ("the judge is
// judged", docs/simulation.md). A source that asks is_planted() is compiled a second time, with PVC_PLANTED_DEFECTS,
// for `pvcnoded-sim-planted` alone. In every other program the question is the constant false and the mistake is not
// there. Asked in sources, never in headers: both forms of a header would end in one program.
#pragma once

#include <cstdint>
#include <string_view>

namespace pvc {

enum class defect : std::uint8_t {
    none,
    blind_role_write,          // own role is set without the version that was read
    forgotten_reread,          // what changed around a reconnect is not read again
    forgotten_rearm,           // a watched key is read again without a watch
    lock_without_check,        // writes under a lock do not check that it still exists
    wall_clock_cadence,        // the next heartbeat is planned by the wall clock
    lost_wakeup,               // now and then a notification is lost
    lock_left_behind,          // a lock child whose deletion failed is nobody's business
    unknown_create_forgotten,  // a lock child whose creation was not acknowledged is taken as not created
    dead_not_answered,         // a running node that was declared dead leaves it at that
    isolation_unnoticed,       // a primary that nobody hears stays primary
    disk_in_heartbeat,         // a tick waits for the disk
    stop_not_written,          // an orderly stop does not say so
    schema_raised_alone,       // the schema version is raised without asking what others can follow
    schema_change_ignored,     // a running node does not follow a change of the schema version
    role_kept,                 // the old primary does not give way
    address_kept,              // an address of the primary is not dropped
    gateway_kept,              // a gateway is not
    base_no_port,              // what a client network stands on is not made a port of its bridge
    late_link_forgotten,       // a link whose creation was not answered is not made any more
    network_left,              // the links of a network that is gone stay
    second_port,               // another device comes into a bridge of the host beside the one before
    altname_unknown,           // a device is known by its own name alone, and not by its other ones
    connected_route_lost,      // the way to the network of an own address is nobody's business
    firewall_not_kept,         // the host's own firewall is not kept aside before it is replaced
    host_link_taken,           // a link by the name of a network's is the network's, whatever shows that it is not
    advertised_routes_lost,    // links do not go on taking router advertisements when forwarding is switched on
    metric_hinders,            // a default route with a metric keeps the upstream one away
    rules_not_awaited,         // machines start while the packet filter does not have the rules of their networks yet
    forwarding_unwatched,      // settings of forwarding are made at the start, and not looked at again
    route_without_port,        // the upstream default route does not wait for the port of its bridge
    shrunk_under_links,        // a device becomes smaller under what stands on it
    scope_link_left,           // an address of scope link stays on a device that becomes a port
    card_bridge_deaf,          // routes by advertisement of a bridge with a card and a machine are lost
    vrf_deaf,                  // those of a port of a VRF are
    foreign_bridge_taken,      // a bridge by the name of a network's is the network's, whatever shows that it is not
    reach_ignored,             // a client network gets its gateway wherever it lies
    gateway_of_two_refused,    // an IPv6 network of two addresses has no gateway
    port_without_frames,       // a tunnel of packets is to be a port of a bridge
    moved_bare,                // an address goes to its bridge without its metric, its far end and the like
    lease_made_permanent,      // one with a lifetime stays there for ever
    renewal_ignored,           // one that is renewed on the device runs out on the bridge
    routes_not_moved,          // routes of a device that becomes a port stay where they lead nowhere
    moved_routes_bare,         // they go to the bridge without the settings that they have
    new_bridge_hears_routers,  // a bridge takes what routers say, whatever its device does
    own_damage_kept,           // what somebody did to the daemon's own table is kept as the host's firewall
    swept_unread,              // what may be named by a file that cannot be read is removed
    folder_patterns_unread,    // what files name that a pattern of folders sources is not known
    refused_unfiltered,        // a network that is refused has no rules, whoever is in its bridge
    change_without_end,        // a network of another type is taken apart before it can be made
    announced_as_reply,        // an address is announced by replies alone
    announced_for_ever,        // what was given up is still announced
    readdressed_unheeded,      // a bridge with another hardware address is not announced
    filter_in_halves,          // a change of the packet filter is made in two batches
    filter_rule_kept,          // what the host offers a network stays when it is gone
    acls_by_text,              // the order of ACLs is that of a text
    function_written_back,     // what a driver shows of a virtual function is written over what a client wants
    function_claim_ignored,    // one that a client gave to a machine of this node is taken from it
    phase_unlocked,            // a candidate takes up what a phase has without its turn
    phase_skipped,             // a candidate leaves a phase out
    role_undone_forwards,      // a takeover is undone in the order in which it was begun
    role_lock_kept,            // a candidate that withdraws keeps the lock of the role
    role_written_late,         // `primary` is written for the version that the watch shows by then
    role_given_up_early,       // a holder does not wait for the candidate's turn
    written_back_unnoticed,    // that a reference node gives up a role for which it is named is left to time
    relinquished_blindly,      // `relinquish` is written without a check of who is named
    passed_partner_awaited,    // a partner that has passed is waited for in each phase
    blind_look_believed,       // what a look that failed did not show counts as gone
    figures_given_up,          // a refused key of the own record is not repaired
    nameless_wait,             // a wait that the task tree does not show
    log_without_end,           // the log copy is not cut to its lines
    watches_unbounded,         // watches are set however many there are
    run_after_shutdown,        // a heartbeat takes back the announcement of a stop
    // Virtual machines.
    create_unguarded,        // created without a last look at what is wanted
    placement_unchecked,     // started although another node still lists it
    foreign_lock_broken,     // the disk's lock of another host counts as a stale one of our own
    target_not_asked,        // after a broken migration the copy here goes on, whatever the target has
    blind_rollback,          // a rollback is written without the versions that were read
    blind_stop_write,        // so is `stop` after a shutdown
    arrived_too_early,       // an incoming migration counts as arrived
    end_not_listed,          // who ended stays in the running list
    sync_word_left,          // the receiver leaves its word behind
    console_left,            // the console of what ended is still followed
    stale_listing,           // a listing overrides what events said since
    unexpected_end_ignored,  // a guest that ended by itself stays off
    stale_class_kept,        // what was known of guests counts while libvirt is away
    // In the order of steps: found by exploring.
    arrival_overwrites,     // who has it writes `start`, whatever was written since it arrived
    offer_late,             // a receiver says that it may come when nobody sends it any more
    destroys_for_ever,      // a destroy that failed is tried again, whatever is wanted by now
    half_is_a_copy,         // a half that arrives counts as a copy that runs
    locks_kept,             // a sender keeps its locks while it waits for the guest to start
    stop_is_a_hand_over,    // a receiver takes every `stop` for the sender's
    hand_over_is_off,       // a hand-over counts as a machine that was off before it was moved
    start_seen_blindly,     // `start` is written once more, whatever was written while the new node was asked for
    taken_for_too_soon,     // a sender goes on in the receiver's place, whatever was written meanwhile
    terminates_migrating,   // what is to move is ended
    lock_of_a_guest,        // whose own lock it is, is not asked before it is broken
    lock_of_a_neighbour,    // a lock of this host is stale, whoever else here has the image open
    lock_broken_blindly,    // a stale lock is broken, whatever the last look at what is wanted shows
    break_unverified,       // a lock counts as gone because it was to be broken
    opened_after_proof,     // the image of a stale lock is opened when its proof is taken already
    lost_break_given_up,    // a break of which nobody knows what became is a failure of the machine
    pools_without_turns,    // of questions to Ceph the oldest is next, whatever its pool has under way
    full_queue_refused,     // Ceph is asked without a turn, and a full queue counts as a Ceph that cannot be asked
    stale_answer_taken,     // an answer of Ceph's helper is taken for what was asked last
    created_unannounced,    // a machine is created although its word in the running list was not acknowledged
    created_unlisted,       // a machine is in the running list from when it runs, and not from before it is created
    ended_unread,           // what came here meanwhile is ended by keys that were read before it came
    flush_gives_up,         // that a node cannot be had now counts as nowhere to go
    noise_told,             // each reset and each I/O error of a guest is a line
    ceph_fails_machines,    // a machine fails because Ceph is silent
    bridges_not_awaited,    // a machine is created whether its bridges are there or not
    holders_not_outwaited,  // who waits for a machine's end gives up before a second try of it can be over
    last_line_decides,      // what patronictl printed last says how it went, though a library's logger wrote it
    definition_read_once,   // a machine is started as what it was when its start began, whatever was defined since
    earlier_look_taken,     // who asks who has its disk open is answered by a look that was under way
    moved_to_itself,        // a `migrate` with `node` as it was counts as an arrival
    // Commands about OSDs.
    undecided_is_safe,   // that Ceph cannot tell whether an OSD may go counts as that it may
    device_seen_once,    // a device is looked at when the command comes, and not again before it is erased
    partition_by_digit,  // the name of a partition is made by a digit behind that of the disk
    // Fencing.
    power_by_letter_case,    // what a board says counts in one case of letters alone
    fence_status_trusted,    // an exit status of 0 counts as off
    fence_one_look,          // one answer `off` is enough, whatever was heard before
    fence_without_lock,      // a fence goes on though its lock is lost
    fence_majority_ignored,  // a coordinator is switched off, however many are left
    fence_record_late,       // consequences do not wait for the record
    fence_on_first,          // a node is switched on before its machines are recovered
    fence_throws_left_out,   // what a board said before the mark replaces the throws, though it is not seen off again
    fence_forgets_left,      // machines that could not be recovered are in no list
    fence_blind_to_return,   // a recovery does not look whether the node is back
    fence_list_trusted,      // what the dead node's list names is its own
    fence_moves_blindly,     // a machine that was migrating is moved without asking who has it
    fence_block_unseen,      // what was put on the blocklist by command counts, whether it is seen there or not
    fence_overcommits,       // recovered machines go where memory runs out
    fence_orphan_at_once,    // an orphan is taken as soon as it is seen
    fence_storm_at_once,     // most of the cluster fell silent together: all of it is switched off
    fence_booting_site,      // who was never seen to beat is as dead as one that was
    fence_stale_figures,     // what recoveries have placed does not count for the next one
    fence_stale_guard,       // a command rests on what was read at any time
    fence_unchecked_write,   // a recovery's write does not check that the node is still away
    fence_libvirtd_unasked,  // a recovered machine goes to a node whose libvirtd is silent like to any other
    fence_age_by_clock,      // a peer's heartbeat is as old as what it says differs from the own clock
    half_given_back,         // half of a machine that a fencer gives back to its sender is resumed
};

#ifdef PVC_PLANTED_DEFECTS
inline namespace with_defects {
inline defect planted_defect = defect::none;
[[nodiscard]] inline bool is_planted(defect one) {
    return planted_defect == one;
}
}  // namespace with_defects
#else
[[nodiscard]] constexpr bool is_planted(defect /*one*/) {
    return false;
}
#endif

}  // namespace pvc
