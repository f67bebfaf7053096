// What belongs to fencing in the simulated world: boards and the power (boards, power_actions), and the mistakes that
// exploring finds (explore/fence).
#include "sim/subjects/fencing/fencing.hpp"

#include "sim/subjects/fencing/fence_rules.hpp"

namespace pvc::sim {

namespace {

constexpr planted_mistake mistakes_in_fencing[] = {
    {defect::power_by_letter_case, "power_by_letter_case", {}, {.subject = "fence"}},
    {defect::fence_status_trusted, "fence_status_trusted", {}, {.subject = "fence", .faults = 1}},
    {defect::fence_one_look, "fence_one_look", {}, {.subject = "fence", .faults = 2}},
    {defect::fence_without_lock, "fence_without_lock", {}, {.subject = "fence", .faults = 1}},
    {defect::fence_majority_ignored, "fence_majority_ignored", {}, {.subject = "fence", .faults = 1}},
    {defect::fence_record_late, "fence_record_late", {}, {.subject = "fence"}},
    {defect::fence_on_first, "fence_on_first", {}, {.subject = "fence"}},
    {defect::fence_throws_left_out, "fence_throws_left_out", {}, {.subject = "fence", .writes = 1}},
    {defect::fence_forgets_left, "fence_forgets_left", {}, {.subject = "fence", .faults = 1}},
    {defect::fence_blind_to_return, "fence_blind_to_return", {}, {.subject = "fence", .faults = 1, .writes = 1}},
    {defect::fence_list_trusted, "fence_list_trusted", {}, {.subject = "fence"}},
    {defect::fence_moves_blindly, "fence_moves_blindly", {}, {.subject = "fence"}},
    {defect::fence_block_unseen, "fence_block_unseen", "fence-ceph-ignores-commands"},
    {defect::fence_overcommits, "fence_overcommits", "fence-no-room"},
    {defect::fence_orphan_at_once, "fence_orphan_at_once", {}, {.subject = "fence"}},
    {defect::fence_storm_at_once, "fence_storm_at_once", "fence-storm-of-nodes-that-run"},
    {defect::fence_booting_site, "fence_booting_site", "fence-hypervisor-boots-after-a-black-out"},
    {defect::fence_stale_figures, "fence_stale_figures", "fence-eight-machines"},
    {defect::fence_stale_guard, "fence_stale_guard", "fence-guard-is-stale"},
    {defect::fence_unchecked_write, "fence_unchecked_write", "fence-back-before-the-write"},
    {defect::fence_libvirtd_unasked, "fence_libvirtd_unasked", "fence-target-without-libvirtd"},
    {defect::fence_age_by_clock, "fence_age_by_clock", "fence-clock-steps"},
    {defect::half_given_back, "half_given_back", "fence-reference-gives-it-back-to-the-sender"},
};

// What the seeds with boards come by.
constexpr std::string_view expected_fences[] = {
    "fence dead", "fence off",  "fence fenced",    "fence recovered a machine",
    "fence on",   "fence word", "fence word taken"};

constexpr subject_part fencing_part{.begin = begin_boards, .heal = heal_boards};

}  // namespace

void add_fencing(registry& to);
void add_fencing(registry& to) {
    to.add(fencing_part);
    add_power_actions(to);
    add_fence_rules(to);
    add_word_rules(to);
    add_fence_sweeps(to);
    to.add(mistakes_in_fencing);
    to.expect(expected_fences);
}

}  // namespace pvc::sim
