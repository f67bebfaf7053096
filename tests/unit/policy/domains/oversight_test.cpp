// What is remembered of a domain between two operations (vm-domains.md 5.2, 8.3).
#include "pvcnoded/policy/domains/oversight.hpp"

#include <gtest/gtest.h>

namespace pvc::policy {
namespace {

using model::guest_class;
using model::vm_state;

// That we sent it explains why it is not here only as long as that is so: once it stands outside of a migration, with
// no half of it here, an end is an end.
TEST(oversight, that_it_was_sent_is_forgotten_with_the_migration) {
    const struct {
        const char* what;
        bool is_sending;
        std::optional<guest_class> guest;
        bool stays;
    } table[] = {
        {"it runs here again", false, guest_class::alive, false},
        {"it is not here", false, guest_class::absent, false},
        {"it is paused here", false, guest_class::paused, false},
        {"half of it stands here", false, guest_class::incoming, true},
        {"nobody knows what is here", false, std::nullopt, true},
        {"our operation still runs", true, guest_class::alive, true},
    };
    for (const auto& row : table) {
        SCOPED_TRACE(row.what);
        domain_seen seen;
        seen.is_present = seen.is_owner = true;
        seen.state = vm_state::start;
        seen.node = seen.self = "hv1";
        seen.guest = row.guest;
        seen.stable = {true, true, vm_state::start, "hv1", 3};
        domain_memory memory;
        memory.migration.is_sent_by_us = true;
        memory.migration.sent_to = "hv2";
        note_stable_placement(seen, row.is_sending, memory);
        EXPECT_EQ(memory.migration.is_sent_by_us, row.stays);
        EXPECT_EQ(memory.migration.sent_to, row.stays ? "hv2" : "");
        EXPECT_EQ(view_of(seen, memory).was_sent_by_us, row.stays);
        EXPECT_EQ(view_of(seen, memory).ran_here_before, !row.stays);
    }
}

TEST(oversight, one_that_was_never_sent_is_not_sent) {
    domain_seen seen;
    seen.is_present = true;
    seen.guest = guest_class::incoming;
    domain_memory memory;
    note_stable_placement(seen, true, memory);
    EXPECT_FALSE(memory.migration.is_sent_by_us);
}

}  // namespace
}  // namespace pvc::policy
