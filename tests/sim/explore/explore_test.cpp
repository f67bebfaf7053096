// The explorer is held to the truth: states that differ are told apart and those that do not are one, small bounds are
// exhausted, and what it writes for whole daemons is a script that they run.
#include "sim/explore/search.hpp"
#include "sim/explore/to_scenario.hpp"
#include "sim/world/scenario.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace pvc::explore {
namespace {

using namespace std::chrono_literals;

// The first step of the way to somewhere.
scene after(const bounds& of, std::size_t steps) {
    scene now = beginning(of);
    for (std::size_t i = 0; i < steps; ++i) {
        const auto broken = apply(now, moves_of(now).front());
        EXPECT_FALSE(broken);
    }
    return now;
}

TEST(explorer_states, what_matters_makes_another_state) {
    const scene one = after({}, 6);
    const identity known = identity_of(one);
    const auto differs = [&](auto change) {
        scene other = one;
        change(other);
        return identity_of(other) != known;
    };
    EXPECT_TRUE(differs([](scene& m) { m.keys.state = model::vm_state::stop; }));
    EXPECT_TRUE(differs([](scene& m) { m.keys.state_changed = m.stamp(); }));
    EXPECT_TRUE(differs([](scene& m) { at(m, 0).memory.migration.is_sent_by_us = true; }));
    EXPECT_TRUE(differs([](scene& m) { at(m, 0).memory.migration.sent_to = "hv2"; }));
    EXPECT_TRUE(differs([](scene& m) { at(m, 1).memory.adoption.is_restarting = true; }));
    EXPECT_TRUE(differs([](scene& m) { at(m, 1).guest = guest_here::arriving; }));
    EXPECT_TRUE(differs([](scene& m) { at(m, 0).class_since += 1s; }));
    EXPECT_TRUE(differs([](scene& m) { m.locks.of_state.push_back(1); }));
    ASSERT_TRUE(see(one, 0).does || see(one, 1).does);
    const std::int8_t busy = see(one, 0).does ? 0 : 1;
    EXPECT_TRUE(differs([busy](scene& m) { at(m, busy).does->pending.what.until += 1s; }));
    EXPECT_TRUE(differs([busy](scene& m) { at(m, busy).does->machine = policy::keeping{}; }));
}

TEST(explorer_states, what_does_not_matter_makes_none) {
    const scene one = after({}, 6);
    scene later = one;
    later.last_stamp += 100;  // the next number, whatever it is
    EXPECT_EQ(identity_of(later), identity_of(one));
    scene renumbered = one;
    const auto shift = [](std::int64_t& stamp) { stamp += stamp > 10 ? 5 : 0; };
    shift(renumbered.last_stamp);
    EXPECT_EQ(identity_of(renumbered), identity_of(one));
}

TEST(explorer_search, small_bounds_are_exhausted_and_nothing_is_broken) {
    for (const auto what : {subject::migration, subject::offline, subject::start, subject::shutdown, subject::locked}) {
        bounds of;
        of.what = what;
        of.faults = 0;
        of.writes = 0;
        const auto out = search(of, {});
        EXPECT_TRUE(out.is_exhausted);
        EXPECT_FALSE(out.broken) << out.broken->what.text;
        EXPECT_GE(out.settled, 1U);
    }
}

TEST(explorer_search, beside_a_reference_node_nothing_of_ours_is_broken) {
    for (const auto what : {subject::migration, subject::offline}) {
        for (const std::int8_t reference : {std::int8_t{0}, std::int8_t{1}}) {
            bounds of;
            of.what = what;
            of.reference = reference;
            of.faults = of.writes = 0;
            const auto out = search(of, {});
            EXPECT_TRUE(out.is_exhausted);
            EXPECT_FALSE(out.broken) << out.broken->what.text;
            EXPECT_GE(out.settled, 1U);
        }
    }
}

// The ordinary course against the reference, either way: it ends on the other node, and nobody has written over
// anybody.
TEST(explorer_search, a_reference_node_takes_part_in_a_migration) {
    for (const std::int8_t reference : {std::int8_t{0}, std::int8_t{1}}) {
        bounds of;
        of.reference = reference;
        of.faults = of.writes = of.delays = 0;
        scene now = beginning(of);
        for (int steps = 0; steps < 200 && !(is_settled(now) && now.clients.empty()); ++steps) {
            ASSERT_FALSE(apply(now, moves_of(now).front()));
        }
        EXPECT_EQ(now.keys.state, model::vm_state::start);
        EXPECT_EQ(now.keys.node, 1);
        EXPECT_EQ(see(now, 1).guest, guest_here::runs);
        EXPECT_EQ(see(now, 0).guest, guest_here::none);
    }
}

TEST(explorer_faults, a_record_is_lost_only_where_there_is_one) {
    bounds of;
    of.writes = 0;
    const auto kills = [](const scene& now) {
        return std::ranges::count_if(moves_of(now),
                                     [](const move& one) { return one.what == move::kind::kill_daemon; });
    };
    scene now = beginning(of);
    EXPECT_EQ(kills(now), 2);
    at(now, 1).record.is_there = true;
    EXPECT_EQ(kills(now), 3) << "lost, or not to be parsed, is one";
}

TEST(explorer_search, it_says_when_there_is_too_much) {
    const auto out = search({}, {.states = 1000});
    EXPECT_FALSE(out.is_exhausted);
    EXPECT_GE(out.states, 1000U);
}

TEST(explorer_scripts, a_way_is_a_script_that_whole_daemons_run) {
    bounds of;
    of.faults = of.writes = 0;
    scene now = beginning(of);
    found_break found{{"made_up", "the way of an ordinary migration"}, {}, {}};
    while (!is_settled(now) || found.way.empty()) {
        found.way.push_back(moves_of(now).front());
        ASSERT_FALSE(apply(now, found.way.back()));
        ASSERT_LT(found.way.size(), 200U);
    }
    const std::string text = scenario_of(of, found);
    EXPECT_NE(text.find("place-guest hv2 1 migrate"), std::string::npos) << text;
    const auto script = sim::parse_scenario(text);
    ASSERT_TRUE(script) << script.error().text() << text;
    EXPECT_EQ(sim::run_scenario(*script).failed, "");
}

}  // namespace
}  // namespace pvc::explore
