// What flush and unflush do with one machine: node-lifecycle.md 8.1, 8.2; cases AC89-AC98 as far as rules go.
#include "pvcnoded/policy/domains/flush_rules.hpp"

#include <gtest/gtest.h>

#include <array>

namespace pvc::policy {
namespace {

using model::vm_state;
using enum domain_step;

const std::string hv1 = "hv1";

placed_domain machine(vm_state state, std::string node = "hv1", std::string last = {}, bool autostart = false) {
    return {state, std::move(node), std::move(last), autostart};
}

struct flush_line {
    vm_state state;
    domain_step here;       // flush, `node` is this node
    domain_step elsewhere;  // flush, it is not
    domain_step marked;     // unflush, `node_autostart` and `node` is this node
    domain_step away;       // unflush, `lastnode` is this node
};

constexpr std::array table{
    flush_line{vm_state::start, place, wait_moved, place, place},
    flush_line{vm_state::migrate, wait_arrived, wait_moved, wait_arrived, wait_arrived},
    flush_line{vm_state::migrate_live, wait_arrived, wait_moved, wait_arrived, wait_arrived},
    flush_line{vm_state::unmigrate, wait_arrived, wait_moved, wait_arrived, wait_arrived},
    flush_line{vm_state::restart, wait_settled, wait_settled, place, wait_settled},
    flush_line{vm_state::shutdown, wait_settled, wait_settled, place, wait_settled},
    flush_line{vm_state::stop, skip, skip, place, place},
    flush_line{vm_state::fail, skip, skip, place, place},
    flush_line{vm_state::disable, skip, skip, skip, place},
    flush_line{vm_state::provision, skip, skip, skip, place},
    flush_line{vm_state::import, skip, skip, skip, place},
    flush_line{vm_state::restore, skip, skip, skip, place},
    flush_line{vm_state::mirror, skip, skip, skip, place},
    flush_line{vm_state::deleted, skip, skip, skip, skip},
    flush_line{vm_state::unknown, skip, skip, skip, skip},
};

TEST(flush_rules, the_first_step_of_every_state) {
    for (const auto& row : table) {
        SCOPED_TRACE(to_text(row.state));
        EXPECT_EQ(flush_step(machine(row.state), hv1), row.here);
        EXPECT_EQ(flush_step(machine(row.state, "hv2"), hv1), row.elsewhere);
        EXPECT_EQ(unflush_step(machine(row.state, "hv1", "", true), hv1), row.marked);
        EXPECT_EQ(unflush_step(machine(row.state, "hv2", "hv1"), hv1), row.away);
        EXPECT_EQ(unflush_step(machine(row.state, "hv2", "hv1", true), hv1), row.away) << "marked for another node";
        EXPECT_EQ(unflush_step(machine(row.state, "hv2", "hv3", true), hv1), skip) << "nothing to do with this node";
        EXPECT_EQ(unflush_step(machine(row.state, "hv1"), hv1), skip) << "it is where it belongs";
        EXPECT_EQ(unflush_step(machine(row.state, "", ""), hv1), skip);
    }
}

// It waits for Ceph, say.
TEST(flush_rules, a_restart_that_has_nothing_to_end_is_a_start) {
    placed_domain one = machine(vm_state::restart);
    EXPECT_FALSE(plan_flush(one, hv1, "hv2"));
    one.has_no_guest = true;
    EXPECT_EQ(flush_step(one, hv1), place);
    EXPECT_EQ(flush_step(one, "hv2"), wait_settled) << "what its node has is not known here";
    const auto plan = plan_flush(one, hv1, "hv2");
    ASSERT_TRUE(plan);
    EXPECT_EQ(plan->write, (placement{vm_state::migrate, "hv2", "hv1", std::nullopt}));
    const auto off = plan_flush(one, hv1, std::nullopt);
    ASSERT_TRUE(off);
    EXPECT_EQ(off->way, flush_way::shut_down);
    one.state = vm_state::shutdown;
    EXPECT_EQ(flush_step(one, hv1), wait_settled);
}

TEST(flush_rules, ac89_it_is_moved_and_remembers_where_it_was) {
    const auto plan = plan_flush(machine(vm_state::start), hv1, "hv2");
    ASSERT_TRUE(plan);
    EXPECT_EQ(plan->way, flush_way::move);
    EXPECT_EQ(plan->write, (placement{vm_state::migrate, "hv2", "hv1", std::nullopt}));
}

TEST(flush_rules, ac90_without_a_target_it_is_shut_down_and_marked) {
    const auto plan = plan_flush(machine(vm_state::start), hv1, std::nullopt);
    ASSERT_TRUE(plan);
    EXPECT_EQ(plan->way, flush_way::shut_down);
    EXPECT_EQ(plan->write, (placement{vm_state::shutdown, std::nullopt, std::nullopt, true}));
    EXPECT_FALSE(plan_flush(machine(vm_state::migrate), hv1, std::nullopt)) << "only what is to run";
}

TEST(flush_rules, ac91_its_home_is_no_detour) {
    const auto plan = plan_flush(machine(vm_state::start, "hv1", "hv2"), hv1, "hv2");
    ASSERT_TRUE(plan);
    EXPECT_EQ(plan->way, flush_way::return_home);
    EXPECT_EQ(plan->write, (placement{vm_state::migrate, "hv2", "", std::nullopt}));
}

TEST(flush_rules, ac92_its_home_is_kept_on_a_detour) {
    const auto plan = plan_flush(machine(vm_state::start, "hv1", "hv2"), hv1, "hv4");
    ASSERT_TRUE(plan);
    EXPECT_EQ(plan->way, flush_way::move);
    EXPECT_EQ(plan->write, (placement{vm_state::migrate, "hv4", "hv2", std::nullopt}));
}

TEST(flush_rules, what_is_not_to_run_or_not_here_is_not_written) {
    for (const auto& row : table) {
        const bool runs = row.here == place || row.here == wait_arrived;
        EXPECT_EQ(plan_flush(machine(row.state), hv1, "hv2").has_value(), runs) << to_text(row.state);
        EXPECT_FALSE(plan_flush(machine(row.state, "hv2"), hv1, "hv3")) << to_text(row.state);
    }
}

TEST(flush_rules, ac98_what_comes_back_and_how) {
    const auto marked = plan_unflush(machine(vm_state::stop, "hv1", "", true), hv1);
    ASSERT_TRUE(marked);
    EXPECT_EQ(marked->way, unflush_way::start);
    EXPECT_EQ(marked->write, (placement{vm_state::start, "hv1", "", false}));
    const auto away = plan_unflush(machine(vm_state::start, "hv2", "hv1"), hv1);
    ASSERT_TRUE(away);
    EXPECT_EQ(away->way, unflush_way::bring_back);
    EXPECT_EQ(away->write, (placement{vm_state::migrate, "hv1", "", std::nullopt}));
    const auto off = plan_unflush(machine(vm_state::stop, "hv2", "hv1"), hv1);
    ASSERT_TRUE(off);
    EXPECT_EQ(off->way, unflush_way::assign_only);
    EXPECT_EQ(off->write, (placement{std::nullopt, "hv1", "", std::nullopt}));
    EXPECT_FALSE(plan_unflush(machine(vm_state::start, "hv2", "hv3"), hv1));
}

TEST(flush_rules, R44_what_a_recovery_parked_is_started_by_whoever_takes_it) {
    struct row {
        std::string node;
        std::string last;
        bool is_parked;
        std::optional<placement> write;
    };
    const placement starts{vm_state::start, "hv1", "", false};
    const placement assigns{std::nullopt, "hv1", "", std::nullopt};
    for (const auto& one :
         {row{"hv2", "hv1", true, starts}, row{"hv2", "hv1", false, assigns}, row{"hv1", "", true, starts},
          row{"hv1", "hv1", true, starts}, row{"hv2", "hv3", true, std::nullopt}, row{"hv2", "", true, std::nullopt}}) {
        placed_domain it = machine(vm_state::stop, one.node, one.last, true);
        it.is_parked = one.is_parked;
        const auto plan = plan_unflush(it, hv1);
        EXPECT_EQ(plan ? std::optional(plan->write) : std::nullopt, one.write) << one.node << " " << one.last;
        EXPECT_EQ(flush_step(it, hv1), skip);
    }
}

TEST(flush_rules, a_marked_machine_that_is_arriving_is_not_cut_off_where_it_runs) {
    EXPECT_FALSE(plan_unflush(machine(vm_state::migrate, "hv1", "", true), hv1));
}

TEST(flush_rules, who_asked_for_a_live_move_is_not_given_a_shutdown) {
    const auto leaves = plan_flush(machine(vm_state::migrate_live), hv1, "hv2");
    ASSERT_TRUE(leaves);
    EXPECT_EQ(leaves->write.state, vm_state::migrate_live);
    const auto returns = plan_unflush(machine(vm_state::migrate_live, "hv2", "hv1"), hv1);
    ASSERT_TRUE(returns);
    EXPECT_EQ(returns->write.state, vm_state::migrate_live);
    const auto other = plan_unflush(machine(vm_state::unmigrate, "hv2", "hv1"), hv1);
    ASSERT_TRUE(other);
    EXPECT_EQ(other->write.state, vm_state::migrate);
}

TEST(flush_rules, a_disabled_machine_stays_off) {
    EXPECT_FALSE(plan_unflush(machine(vm_state::disable, "hv1", "", true), hv1));
    EXPECT_FALSE(plan_unflush(machine(vm_state::mirror, "hv1", "", true), hv1));
}

TEST(flush_rules, what_the_next_machine_waits_for) {
    for (const auto& row : table) {
        const bool wanted = row.here == wait_arrived || row.state == vm_state::shutdown;
        EXPECT_EQ(is_under_way(row.state), wanted) << to_text(row.state);
    }
}

}  // namespace
}  // namespace pvc::policy
