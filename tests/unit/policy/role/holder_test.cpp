// The side that gives the primary role away (node-lifecycle.md 7.4), question by question.
#include "hand_over_fixture.hpp"

#include <algorithm>

namespace pvc::policy {
namespace {

using namespace std::chrono_literals;
using model::lock_tag;
using model::router_state;
using lines = std::vector<std::string>;
using giving = one_side<holder>;

giving beside_a_candidate() {
    giving g;
    g.seen.view.role = router_state::primary;
    g.seen.view.primary.node = "hv2";
    g.add_peer(router_state::takeover);
    g.seen.is_candidate_there = true;
    return g;
}

lines given_up(const lines& all) {
    lines out;
    std::ranges::copy_if(all, std::back_inserter(out), [](const auto& one) { return one.starts_with("give"); });
    return out;
}

const lines all_phases{"give up phase A", "give up phase B", "give up phase B'", "give up phase C",
                       "give up phase D", "give up phase E", "give up phase F",  "give up phase G"};

TEST(role_holder, AC73_in_step_with_the_candidate) {
    auto g = beside_a_candidate();
    EXPECT_EQ(g.woken(), "write relinquish");
    std::int64_t sequence = 1;
    EXPECT_EQ(g.done(), "wait");
    for (const auto which : role_phases) {
        const std::string name(to_text(which));
        if (which == role_phase::b) {
            EXPECT_EQ(g.asks(), "take the lock of the phases to write");
            g.seen.own_on_sync = ++sequence;
            EXPECT_EQ(g.done(), "wait") << "until the candidate is queued behind";
            EXPECT_EQ(g.limit(), 5s);
            g.seen.on_sync = {{++sequence, lock_tag::rlock}};
            EXPECT_EQ(g.woken(), "give up phase B");
            EXPECT_EQ(g.done(), "clear the key of the phases");
            EXPECT_EQ(g.done(), "release the lock of the phases");
            g.seen.own_on_sync.reset();
            EXPECT_EQ(g.done(), "give up phase B'");
            EXPECT_EQ(g.done(), "wait");
        } else if (which != role_phase::b_after) {
            EXPECT_EQ(g.woken(), "wait") << name << ": it was not the candidate's turn yet";
            EXPECT_EQ(g.limit(), 5s);
            g.seen.on_sync = {{++sequence, lock_tag::lock}};
            EXPECT_EQ(g.woken(), "take the lock of the phases to read");
            EXPECT_EQ(g.limit(), hand_over_limits::read_lock(which));
            EXPECT_EQ(g.done(), "release the lock of the phases");
            EXPECT_EQ(g.done(), "give up phase " + name);
            g.done();
        }
    }
    EXPECT_EQ(g.asks(), "write secondary");
    EXPECT_EQ(g.done(), "over");
    EXPECT_TRUE(g.machine.is_secondary);
}

TEST(role_holder, AC73_the_turn_that_was_read_is_not_read_for_the_next) {
    auto g = beside_a_candidate();
    g.woken();
    g.done();
    g.seen.on_sync = {{4, lock_tag::lock}};
    g.woken();
    ASSERT_TRUE(g.reaches("give up phase B'"));
    EXPECT_EQ(g.done(), "wait");
    g.seen.on_sync = {{7, lock_tag::lock}};
    EXPECT_EQ(g.woken(), "take the lock of the phases to read");
}

TEST(role_holder, AC74_a_candidate_that_dies_is_not_waited_for_longer_than_10_s_a_phase) {
    auto g = beside_a_candidate();
    g.woken();
    g.done();
    g.seen.on_sync = {{4, lock_tag::lock}};
    g.woken();
    ASSERT_TRUE(g.reaches("give up phase B'"));
    g.done();
    g.seen.on_sync = {{8, lock_tag::lock}};  // the turn in which it dies
    EXPECT_EQ(g.woken(), "take the lock of the phases to read");
    for (const std::string name : {"C", "D", "E", "F"}) {
        const auto began = g.now;
        while (!g.asks().starts_with("give")) {
            g.now = g.last.until;
            g.asks() == "wait" ? g.woken() : g.say(role_answer::failed);
        }
        EXPECT_EQ(g.asks(), "give up phase " + name);
        EXPECT_LE(g.now - began, 10s);
        g.done();
    }
}

TEST(role_holder, AC74_once_the_candidate_has_gone_nothing_is_waited_for) {
    auto g = beside_a_candidate();
    g.woken();
    g.done();
    g.seen.is_candidate_there = false;
    const auto began = g.now;
    EXPECT_EQ(g.woken(), "take the lock of the phases to read");
    EXPECT_EQ(given_up(g.rest()), all_phases);
    EXPECT_EQ(g.now, began);
    EXPECT_TRUE(g.machine.is_secondary);
}

TEST(role_holder, one_that_comes_late_gives_everything_up_without_a_turn) {
    lines wanted = all_phases;
    wanted.emplace_back("write secondary");
    // Whatever turn the candidate has by then: that of A for a last moment, none, that of C.
    for (const std::vector<lock_contender>& on_sync : {std::vector<lock_contender>{{4, lock_tag::lock}}, {}}) {
        for (const duration ahead : {hand_over_limits::late + 1ms, duration(8s), duration(1h)}) {
            auto g = beside_a_candidate();
            g.seen.candidate_ahead = ahead;
            g.seen.on_sync = on_sync;
            EXPECT_EQ(g.woken(), "write relinquish");
            const auto began = g.now;
            g.done();
            EXPECT_TRUE(g.machine.is_late);
            EXPECT_EQ(g.rest(), wanted);
            EXPECT_EQ(g.now, began);
            EXPECT_TRUE(g.machine.is_secondary);
        }
    }
}

TEST(role_holder, one_that_comes_in_time_is_in_step) {
    for (const duration ahead : {duration(0), hand_over_limits::late}) {
        auto g = beside_a_candidate();
        g.seen.candidate_ahead = ahead;
        g.woken();
        EXPECT_EQ(g.done(), "wait");
        EXPECT_FALSE(g.machine.is_late);
        g.seen.candidate_ahead = 1h;  // asked once
        g.seen.on_sync = {{4, lock_tag::lock}};
        EXPECT_EQ(g.woken(), "take the lock of the phases to read");
    }
    EXPECT_LT(hand_over_limits::late, hand_over_limits::partner);
}

TEST(role_holder, a_late_one_out_of_touch_gives_everything_up_and_says_so_later) {
    auto g = beside_a_candidate();
    g.seen.candidate_ahead = 8s;
    g.woken();
    EXPECT_EQ(g.done(), "give up phase A");
    g.seen.view.session_live = false;
    for (std::size_t phase = 1; phase < all_phases.size(); ++phase) {
        EXPECT_EQ(g.done(), all_phases.at(phase));
    }
    EXPECT_EQ(g.done(), "wait");
    g.seen.view.session_live = true;
    EXPECT_EQ(g.woken(), "write secondary");
}

TEST(role_holder, one_that_never_comes_is_waited_for_once) {
    auto g = beside_a_candidate();
    g.seen.is_candidate_there = false;
    g.woken();
    const auto began = g.now;
    EXPECT_EQ(given_up(g.rest()), all_phases);
    EXPECT_EQ(g.now - began, 5s);
}

TEST(role_holder, limits_of_the_locks) {
    auto g = beside_a_candidate();
    g.woken();
    g.done();
    g.seen.on_sync = {{4, lock_tag::lock}};
    EXPECT_EQ(g.woken(), "take the lock of the phases to read");
    EXPECT_EQ(g.limit(), 5s);
    g.now = g.last.until;
    EXPECT_EQ(g.say(role_answer::failed), "give up phase A");
    EXPECT_EQ(g.done(), "take the lock of the phases to write");
    EXPECT_EQ(g.limit(), 30s);
    g.now = g.last.until;
    EXPECT_EQ(g.say(role_answer::failed), "give up phase B");
    EXPECT_EQ(g.done(), "give up phase B'") << "it holds nothing that were to be cleared";
    g.done();
    for (const auto which : {role_phase::c, role_phase::d, role_phase::e, role_phase::f, role_phase::g}) {
        g.seen.on_sync.front().sequence += 2;
        EXPECT_EQ(g.woken(), "take the lock of the phases to read");
        EXPECT_EQ(g.limit(), which == role_phase::g ? 60s : 10s);
        g.now = g.last.until;
        EXPECT_EQ(g.say(role_answer::failed), "give up phase " + std::string(to_text(which)));
        g.done();
    }
}

TEST(role_holder, the_hold_in_B_ends_after_5_s) {
    auto g = beside_a_candidate();
    g.woken();
    ASSERT_TRUE(g.reaches("take the lock of the phases to write"));
    g.seen.own_on_sync = 5;
    EXPECT_EQ(g.done(), "wait");
    const auto until = g.last.until;
    EXPECT_EQ(g.limit(), 5s);
    EXPECT_EQ(g.woken_at(until - 1ms), "wait");
    EXPECT_EQ(g.woken_at(until), "give up phase B");
}

TEST(role_holder, a_lost_lock_in_each_state_leaves_no_phase_out) {
    at_each_question<holder>(beside_a_candidate(), [](giving g) {
        if (g.asks() == "write relinquish" || g.asks() == "write secondary") {
            return;
        }
        const auto phase = static_cast<std::size_t>(g.machine.phase);
        const bool is_given = g.asks() == "clear the key of the phases" ||
                              (g.asks() == "release the lock of the phases" && g.machine.phase == role_phase::b);
        g.say(role_answer::lost);
        EXPECT_EQ(
            given_up(g.rest()),
            lines(all_phases.begin() + static_cast<std::ptrdiff_t>(phase + (is_given ? 1 : 0)), all_phases.end()));
        EXPECT_TRUE(g.machine.is_secondary);
        EXPECT_FALSE(g.machine.has_sync_lock);
    });
}

TEST(role_holder, a_suspended_session_in_each_state) {
    at_each_question<holder>(beside_a_candidate(), [](giving g) {
        const auto asked = g.asks();
        const bool is_local = asked.starts_with("give") || asked.starts_with("release");
        g.seen.view.session_live = false;
        EXPECT_EQ(g.woken(), is_local ? asked : "wait") << "its own part it gives up all the same";
        g.seen.view.session_live = true;
        EXPECT_EQ(g.woken(), asked);
    });
}

TEST(role_holder, C6_given_up_by_itself_in_each_state_it_is_over) {
    at_each_question<holder>(beside_a_candidate(), [](giving g) {
        if (g.asks() == "write relinquish") {
            EXPECT_FALSE(g.machine.must_end(g.seen));
            return;
        }
        EXPECT_FALSE(g.machine.must_end(g.seen));
        g.seen.view.role = router_state::secondary;
        EXPECT_TRUE(g.machine.must_end(g.seen));
        EXPECT_EQ(g.say(role_answer::ended), "over");
    });
}

TEST(role_holder, secondary_is_written_until_it_is_stored) {
    auto g = beside_a_candidate();
    g.woken();
    ASSERT_TRUE(g.reaches("write secondary"));
    EXPECT_EQ(g.say(role_answer::failed), "wait");
    EXPECT_EQ(g.limit(), 1s);
    EXPECT_EQ(g.woken(), "wait");
    EXPECT_EQ(g.woken_at(g.last.until), "write secondary");
}

TEST(role_holder, R87_relinquish_is_written_for_the_version_that_named_another) {
    auto t = beside_a_candidate();
    t.seen.view.primary.version = 7;
    ASSERT_EQ(t.woken(), "write relinquish");
    EXPECT_EQ(std::get<role_ask::write_role>(t.last.what).named, 7);
}

TEST(role_holder, what_cannot_be_announced_is_not_begun) {
    auto g = beside_a_candidate();
    g.woken();
    EXPECT_EQ(g.say(role_answer::failed), "over");
    EXPECT_FALSE(g.machine.is_secondary);
}

TEST(role_holder, R11_without_parts_it_writes_secondary_at_once) {
    auto g = beside_a_candidate();
    g.machine.is_empty = true;
    EXPECT_EQ(g.woken(), "write secondary");
    auto refused = g;
    EXPECT_EQ(g.done(), "over");
    EXPECT_TRUE(g.machine.is_secondary);
    EXPECT_EQ(refused.say(role_answer::failed), "wait");
    EXPECT_EQ(refused.woken_at(refused.last.until), "over") << "the rules are asked again";
    EXPECT_FALSE(refused.machine.is_secondary);
}

}  // namespace
}  // namespace pvc::policy
