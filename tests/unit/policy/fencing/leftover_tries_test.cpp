// What a recovery has left, who tries it again, and what is said of it (README rulings 38, 44).
#include "pvcnoded/policy/fencing/leftovers.hpp"

#include <gtest/gtest.h>

namespace pvc::policy {
namespace {

using namespace std::chrono_literals;
using model::vm_state;

leftover_guest left_guest(vm_state state, const std::string& node, bool is_listed) {
    leftover_guest one;
    one.id.bytes.back() = 7;
    one.state = state;
    one.node = node;
    one.is_listed = is_listed;
    return one;
}

TEST(leftovers, one_that_was_not_seen_to_run_is_named_each_hour_until_it_runs_or_is_changed) {
    using kind = unseen_next::kind;
    struct row {
        unseen_guest seen;  // could be read, listed, as written
        std::optional<duration> told_before;
        kind what;
    };
    const time_point now(10h);
    for (const auto& one :
         {row{{true, false, true}, std::nullopt, kind::tells}, row{{true, false, true}, 59min, kind::wait},
          row{{true, false, true}, 60min, kind::tells}, row{{true, true, true}, 60min, kind::runs},
          row{{true, true, false}, 60min, kind::runs}, row{{true, false, false}, std::nullopt, kind::over},
          row{{false, false, false}, 60min, kind::wait}}) {
        const auto told = one.told_before ? std::optional(now - *one.told_before) : std::nullopt;
        const auto next = next_unseen_look(one.seen, told, now);
        EXPECT_EQ(next.what, one.what);
        if (next.what == kind::wait || next.what == kind::tells) {
            EXPECT_EQ(next.after, now + 60s);
        }
    }
}

TEST(leftovers, AC118_what_is_left_is_what_still_belongs_there) {
    const auto is_left = [](const leftover_guest& one) { return !leftovers_of("hv3", {one}, 11).empty(); };
    EXPECT_TRUE(is_left(left_guest(vm_state::start, "hv3", true)));
    EXPECT_TRUE(is_left(left_guest(vm_state::start, "hv3", false))) << "nothing is forgotten";
    EXPECT_FALSE(is_left(left_guest(vm_state::start, "hv2", true)));
    EXPECT_TRUE(is_left(left_guest(vm_state::migrate, "hv2", true)));
    EXPECT_FALSE(is_left(left_guest(vm_state::migrate, "hv2", false)));
    EXPECT_FALSE(is_left(left_guest(vm_state::stop, "hv3", true)));
    EXPECT_TRUE(is_left(left_guest(vm_state::shutdown, "hv3", true)));
    EXPECT_FALSE(is_left(left_guest(vm_state::shutdown, "hv2", true)));
    auto parked = left_guest(vm_state::stop, "hv3", false);
    parked.autostart = true;
    parked.state_id = parked.autostart_id = 12;
    EXPECT_TRUE(is_left(parked));
    parked.state_id = 11;
    EXPECT_FALSE(is_left(parked));
}

struct left : ::testing::Test {
    leftover_seen seen{.self = "hv1",
                       .proof = {.record = "r", .by = "hv1", .which = fence_proof::power, .is_valid = true},
                       .stands = true,
                       .is_proof_owner_run = true,
                       .since = time_point(1h),
                       .may_act = true,
                       .has_any = true,
                       .can_any = true};
    leftover_memory memory;
    [[nodiscard]] leftover_next at(duration when) const {
        return next_leftover_try(seen, memory, time_point(1h) + when);
    }
};

TEST_F(left, R38_after_5_10_20_40_s_then_every_60_s) {
    duration then{};
    for (const auto pause : {5s, 10s, 20s, 40s, 60s, 60s}) {
        EXPECT_FALSE(at(then + pause - 1s).tries);
        then += pause;
        EXPECT_TRUE(at(then).tries);
        memory.tried(time_point(1h) + then);
    }
}

TEST_F(left, R38_others_try_while_that_one_is_not_in_run_or_has_tried_for_180_s) {
    seen.self = "hv2";
    EXPECT_FALSE(at(184s).tries);
    EXPECT_TRUE(at(185s).tries);
    seen.is_proof_owner_run = false;
    EXPECT_TRUE(at(5s).tries);
    seen.can_any = false;
    EXPECT_FALSE(at(1h).tries);
    EXPECT_TRUE(at(1h).tells) << "it is said all the same";
}

// With the reasons, which a try shows.
TEST_F(left, they_are_named_after_the_first_try_and_then_each_hour) {
    EXPECT_FALSE(at(0s).tells) << "it is tried in 5 s";
    EXPECT_FALSE(at(5s).tells);
    memory.tried(time_point(1h) + 5s);
    EXPECT_TRUE(at(6s).tells);
    memory.told = time_point(1h);
    EXPECT_FALSE(at(59min).tells);
    EXPECT_TRUE(at(60min).tells);
}

TEST_F(left, whoever_does_not_try_them_soon_names_them_at_once) {
    seen.can_any = false;
    EXPECT_TRUE(at(0s).tells);
    seen.can_any = true;
    seen.self = "hv2";
    EXPECT_TRUE(at(0s).tells) << "it says who knows why";
    seen.is_proof_owner_run = false;
    EXPECT_FALSE(at(0s).tells);
}

TEST_F(left, nothing_is_done_once_the_node_is_back) {
    seen.stands = false;
    EXPECT_EQ(at(1h), leftover_next{});
    seen.stands = true;
    seen.is_recovering = true;
    EXPECT_EQ(at(1h), leftover_next{});
    seen.is_recovering = false;
    seen.may_act = false;
    EXPECT_EQ(at(1h), leftover_next{});
}

}  // namespace
}  // namespace pvc::policy
