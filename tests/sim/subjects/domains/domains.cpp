#include "sim/subjects/domains/domains.hpp"

#include <array>

namespace pvc::sim {

namespace {

// Operations on virtual machines, the ends of live migrations, and what becomes of a broken one, by what the log says
// of each. What is done without a word is seen by its effects ("libvirt create", "machine migrate start").
constexpr std::pair<std::string_view, std::string_view> marks_of_domains[] = {
    {"start", " - started"},
    {"restart", "restarting"},
    {"shutdown", "shutting down"},
    {"quiet shutdown", "shutting down: its state is"},
    {"stop", "stopping"},
    {"destroy", "destroying: it is being deleted"},
    {"terminate", "terminating: it belongs to node"},
    {"send", "migrating to node"},
    {"send offline", "through a shutdown"},
    {"receive", "receiving it"},
    {"receive, cold", "it runs nowhere and nobody sends it: starting it here"},
    {"receive, still off", "it was off before it was moved"},
    {"receive, handed over", "it was shut down to be moved here"},
    {"arrived", "it runs here now"},
    {"hand over", "it ended on its way"},
    {"restart by itself", "it ended by itself, starting it again"},
    {"migration moved", "moved to node"},
    {"migration rolled back", "and stays here"},
    {"migration, daemon stops", "and stays here: the daemon stops"},
    {"migration, somebody waits", "it did not converge, and somebody waits"},
    {"migration, no progress", "made no progress for 300 s"},
    {"migration tried again", "live migration: "},
    {"migration, no receiver", "did not prepare to receive it within 30 s"},
    {"migration, receiver gone", "did not take over within 10 s"},
    {"resolved: copy here destroyed", ": destroying the copy here"},
    {"asked: silent", "which does not answer: nothing is done until it does"},
    {"refused: foreign lock", "is held by"},
    {"disk lock broken", "broke the RBD lock"},
};

constexpr planted_mistake mistakes_with_domains[] = {
    {defect::ceph_fails_machines, "ceph_fails_machines", "guests-wait-for-a-ceph-that-comes-up-minutes-later"},
    {defect::bridges_not_awaited, "bridges_not_awaited", "guests-wait-for-their-bridges-after-a-power-cut"},
    {defect::bridges_not_awaited, "bridges_not_awaited_for_long", "guest-waits-while-looks-at-links-are-slow"},
    {defect::definition_read_once, "definition_read_once", "guest-is-defined-anew-while-ceph-is-slow"},
    {defect::create_unguarded, "create_unguarded", "guest-is-moved-during-the-last-look-before-its-creation"},
    {defect::placement_unchecked, "placement_unchecked", "guest-still-runs-where-nobody-hears"},
    {defect::foreign_lock_broken, "foreign_lock_broken", {}, {.subject = "locked", .writes = 1, .is_only = false}},
    {defect::target_not_asked, "target_not_asked", "guest-arrived-and-nobody-says-so"},
    {defect::blind_rollback, "blind_rollback"},
    {defect::blind_stop_write, "blind_stop_write", {}, {.subject = "shutdown", .writes = 1, .is_only = false}},
    {defect::arrived_too_early, "arrived_too_early", {}, {.subject = "migration", .is_only = false}},
    {defect::end_not_listed, "end_not_listed"},
    {defect::sync_word_left, "sync_word_left", "guest-sender-dies-and-the-receiver-clears-the-word", {"migration"}},
    {defect::console_left, "console_left"},
    {defect::stale_listing, "stale_listing", "guest-listing-is-older-than-an-event"},
    {defect::unexpected_end_ignored, "unexpected_end_ignored", "guest-powers-off-by-itself"},
    {defect::stale_class_kept, "stale_class_kept", "guest-libvirt-is-away"},
    {defect::arrival_overwrites, "arrival_overwrites", {}, {"migration", 0, 1}},
    {defect::offer_late, "offer_late", {}, {"migration", 0, 1}},
    {defect::destroys_for_ever, "destroys_for_ever", {}, {"migration", 1, 1}},
    {defect::half_is_a_copy, "half_is_a_copy", {}, {"migration", 1, 0}},
    {defect::locks_kept, "locks_kept", {}, {"migration", 0, 0, true}},
    {defect::stop_is_a_hand_over, "stop_is_a_hand_over", {}, {"migration", 0, 1}},
    {defect::hand_over_is_off, "hand_over_is_off", {}, {"offline", 0, 1}},
    {defect::start_seen_blindly, "start_seen_blindly", {}, {"offline", 0, 1}},
    {defect::taken_for_too_soon, "taken_for_too_soon", {}, {"migration", 0, 1}},
    {defect::terminates_migrating, "terminates_migrating", {}, {"migration", 0, 0}},
    {defect::lock_of_a_guest, "lock_of_a_guest", {}, {"migration", 0, 1}},
    {defect::lock_broken_blindly, "lock_broken_blindly", {}, {"locked", 0, 1}},
    {defect::created_unannounced, "created_unannounced", {}, {"start", 1, 2}},
    {defect::created_unlisted, "created_unlisted", {}, {"start", 0, 2}},
    {defect::holders_not_outwaited, "holders_not_outwaited", "guest-is-moved-and-its-destroy-hangs-once"},
    {defect::moved_to_itself, "moved_to_itself", "guest-is-moved-to-where-it-is-on-a-flushed-node"},
    {defect::flush_gives_up, "flush_gives_up", "node-is-flushed-and-the-other-libvirt-stays-away"},
    {defect::noise_told, "noise_told", "guest-that-resets-for-ever"},
    {defect::ended_unread, "ended_unread", {}, {.subject = "migration", .writes = 1, .reference = "receiver"}},
};

// Keys of virtual machines that their node may write (vm-domains.md 1).
bool is_guest_key(std::string_view path) {
    static constexpr std::array allowed{"state",      "node",  "lastnode",          "failedreason",  "vnc",
                                        "consolelog", "stats", "migrate_sync_lock", "node_autostart"};
    constexpr std::string_view prefix = "/domains/";
    if (!path.starts_with(prefix)) {
        return false;
    }
    const auto suffix = path.substr(path.rfind('/') + 1);
    return std::ranges::find(allowed, suffix) != allowed.end();
}

bool is_placement(std::string_view path) {
    return path.starts_with("/domains/") && (path.ends_with("/state") || path.ends_with("/node") ||
                                             path.ends_with("/lastnode") || path.ends_with("/node_autostart"));
}

constexpr key_rules domain_keys{
    .is_shared = [](const seen_change& seen) { return is_guest_key(seen.what.path); },
    .needs_version = [](const seen_change& seen) { return is_placement(seen.what.path); },
};

// How a sweep comes to the moment before.
#define PVC_THREE_NODES                 \
    "define-guest hv1 1 acpi\n"         \
    "start hv1\nstart hv2\nstart hv3\n" \
    "until hv1 runs within 60s\nuntil hv2 runs within 60s\nuntil hv3 runs within 60s\n"
#define PVC_ON "set-guest 1 start\nuntil guest 1 runs hv1 within 10s\nwait 2s\n"
#define PVC_TWO_READY_NODES                                                                              \
    "define-guest hv1 1 acpi\ndefine-guest hv1 2 acpi\nstart hv1\nstart hv2\n"                           \
    "until hv1 runs within 60s\nuntil hv2 runs within 60s\n"                                             \
    "order-node hv1 ready\norder-node hv2 ready\n"                                                       \
    "until /nodes/hv1/domainstate = ready within 10s\nuntil /nodes/hv2/domainstate = ready within 10s\n" \
    "until /nodes/hv2/memfree = 8000 within 10s\n"                                                       \
    "set-guest 1 start\nset-guest 2 start\n"                                                             \
    "until guest 1 runs hv1 within 10s\nuntil guest 2 runs hv1 within 10s\nwait 2s\n"

constexpr sweep_operation domain_operations[] = {
    {"start", "hv1 hv2 hv3", PVC_THREE_NODES, "set-guest 1 start"},
    {"stop", "hv1 hv2 hv3", PVC_THREE_NODES PVC_ON, "set-guest 1 stop"},
    {"shutdown", "hv1 hv2 hv3", PVC_THREE_NODES PVC_ON, "set-guest 1 shutdown"},
    {"restart", "hv1 hv2 hv3", PVC_THREE_NODES PVC_ON, "set-guest 1 restart"},
    {"live", "hv1 hv2 hv3", PVC_THREE_NODES PVC_ON, "place-guest hv2 1 migrate"},
    {"live-only", "hv1 hv2 hv3", PVC_THREE_NODES PVC_ON, "place-guest hv2 1 migrate-live"},
    {"offline", "hv1 hv2 hv3", PVC_THREE_NODES "method-of-guest 1 shutdown\n" PVC_ON, "place-guest hv2 1 migrate"},
    {"unmigrate", "hv1 hv2 hv3",
     PVC_THREE_NODES PVC_ON "place-guest hv2 1 migrate\nuntil guest 1 state = start within 20s\nwait 2s\n",
     "place-guest hv1 1 unmigrate"},
    {"flush", "hv1 hv2", PVC_TWO_READY_NODES, "order-node hv1 flush"},
    {"unflush", "hv1 hv2",
     PVC_TWO_READY_NODES "order-node hv1 flush\nuntil /nodes/hv1/domainstate = flushed within 60s\nwait 2s\n",
     "order-node hv1 ready"},
    {"delete", "hv1 hv2 hv3", PVC_THREE_NODES PVC_ON, "undefine-guest 1"},
};

#undef PVC_THREE_NODES
#undef PVC_ON
#undef PVC_TWO_READY_NODES

}  // namespace

void add_domains(registry& to);
void add_domains(registry& to) {
    add_hypervisors(to);
    add_domain_clients(to);
    add_guest_rules(to);
    add_running_list_rules(to);
    add_wish_rules(to);
    add_write_rules(to);
    add_domain_progress(to);
    add_cancelling(to);
    to.add(domain_operations);
    to.expect_logged(marks_of_domains);
    to.add(mistakes_with_domains);
    to.add(domain_keys);
    to.add(subject_part{.begin = listen_to_disks, .heal = heal_neighbours, .heal_member = heal_hypervisor});
    add_neighbours(to);
}

}  // namespace pvc::sim
