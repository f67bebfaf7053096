// The side that takes the primary role over (node-lifecycle.md 7.3), question by question.
#include "hand_over_fixture.hpp"

#include <algorithm>

namespace pvc::policy {
namespace {

using namespace std::chrono_literals;
using model::lock_tag;
using model::router_state;
using lines = std::vector<std::string>;
using taking = one_side<candidate>;

taking beside_a_primary() {
    taking t;
    t.add_peer(router_state::primary);
    return t;
}

// In phase `which`, about to take it up.
taking in_phase(role_phase which) {
    taking t;
    t.woken();
    EXPECT_TRUE(t.reaches("take up phase " + std::string(to_text(which))));
    return t;
}

const lines undone_from_d{"give up phase D",
                          "give up phase C",
                          "give up phase B'",
                          "give up phase B",
                          "give up phase A",
                          "release the lock of the phases",
                          "release the lock of the role",
                          "write secondary"};

// The write rests on the key as it was seen when it was asked for, with parts of the role and without.
TEST(role_candidate, primary_is_written_for_the_version_that_named_this_node) {
    for (const bool is_empty : {false, true}) {
        taking t;
        t.machine.is_empty = is_empty;
        t.seen.view.primary.version = 7;
        t.woken();
        ASSERT_TRUE(t.reaches("write primary"));
        EXPECT_EQ(std::get<role_ask::write_role>(t.last.what).named, 7);
        t.seen.view.primary.version = 9;  // renamed, and named once more
        EXPECT_EQ(t.say(role_answer::failed), "wait");
        EXPECT_EQ(t.woken_at(t.last.until), "write primary");
        EXPECT_EQ(std::get<role_ask::write_role>(t.last.what).named, 9);
    }
}

TEST(role_candidate, AC71_alone_it_walks_through_all_phases_without_a_wait) {
    taking t;
    t.woken();
    lines wanted{"write takeover", "take the lock of the role to write", "clear the key of the phases"};
    for (const auto which : role_phases) {
        const std::string name(to_text(which));
        if (which == role_phase::b_after) {
            continue;
        }
        const bool reads = which == role_phase::b;
        const lines before = reads ? lines{"take the lock of the phases to read", "release the lock of the phases"}
                                   : lines{"take the lock of the phases to write"};
        const lines after = reads ? lines{} : lines{"clear the key of the phases", "release the lock of the phases"};
        wanted.insert(wanted.end(), before.begin(), before.end());
        wanted.push_back("take up phase " + name);
        wanted.insert(wanted.end(), after.begin(), after.end());
    }
    wanted.emplace_back("write primary");
    wanted.emplace_back("release the lock of the role");
    const auto began = t.now;
    EXPECT_EQ(t.rest(), wanted);
    EXPECT_EQ(t.now, began);
    EXPECT_TRUE(t.machine.is_primary);
}

TEST(role_candidate, AC72_each_phase_is_held_until_the_partner_is_queued_behind) {
    auto t = beside_a_primary();
    t.woken();
    ASSERT_TRUE(t.reaches("take the lock of the phases to write"));
    t.seen.own_on_sync = 5;
    t.seen.on_sync = {{4, lock_tag::rlock}};
    EXPECT_EQ(t.done(), "wait") << "one before it is not behind it";
    EXPECT_EQ(t.limit(), 5s);
    t.seen.on_sync = {{6, lock_tag::rlock}};
    EXPECT_EQ(t.woken(), "take up phase A");
    t.done();
    EXPECT_EQ(t.done(), "release the lock of the phases");
    t.seen.own_on_sync.reset();
    EXPECT_EQ(t.done(), "wait") << "B is the partner's turn";
    EXPECT_EQ(t.limit(), 5s);
    t.seen.on_sync = {{7, lock_tag::lock}};
    EXPECT_EQ(t.woken(), "take the lock of the phases to read");
    EXPECT_EQ(t.limit(), 30s);
}

TEST(role_candidate, AC72_a_writer_behind_is_no_reader_of_a_phase) {
    auto t = beside_a_primary();
    t.woken();
    ASSERT_TRUE(t.reaches("take the lock of the phases to write"));
    t.seen.on_sync = {{2, lock_tag::rlock}};
    ASSERT_TRUE(t.reaches("release the lock of the phases"));
    t.seen.on_sync = {{3, lock_tag::lock}};
    ASSERT_TRUE(t.reaches("take up phase B"));
    ASSERT_TRUE(t.reaches("take the lock of the phases to write"));
    t.seen.own_on_sync = 5;
    t.seen.on_sync = {{6, lock_tag::lock}};
    EXPECT_EQ(t.done(), "wait") << "C has a reader";
    t.seen.on_sync = {{6, lock_tag::lock}, {7, lock_tag::rlock}};
    EXPECT_EQ(t.woken(), "take up phase C");
}

// It waited 0.2 s, found nobody, and is queued as the writer of B.
TEST(role_candidate, AC72_a_partner_that_went_through_a_alone_is_not_waited_for_in_a) {
    auto t = beside_a_primary();
    t.woken();
    ASSERT_TRUE(t.reaches("take the lock of the phases to write"));
    t.seen.own_on_sync = 5;
    t.seen.on_sync = {{6, lock_tag::lock}};
    EXPECT_EQ(t.done(), "take up phase A");
    ASSERT_TRUE(t.reaches("release the lock of the phases"));
    t.seen.own_on_sync.reset();
    EXPECT_EQ(t.done(), "take the lock of the phases to read");
}

// The same, and it is at work as the writer of B before this node is queued: its next turn is to read C.
TEST(role_candidate, AC72_a_partner_that_is_ahead_meets_this_node_in_c) {
    auto t = beside_a_primary();
    t.woken();
    ASSERT_TRUE(t.reaches("take the lock of the phases to write"));
    t.seen.own_on_sync = 5;
    t.seen.has_waited_for_writer = true;
    t.seen.on_sync = {{6, lock_tag::lock}};
    EXPECT_EQ(t.done(), "wait") << "its turn to read has to be queued";
    EXPECT_EQ(t.machine.phase, role_phase::c);
    EXPECT_EQ(t.limit(), 5s);
    t.seen.on_sync = {{6, lock_tag::rlock}};
    EXPECT_EQ(t.woken(), "take up phase C");
    EXPECT_EQ(t.done(), "clear the key of the phases");
    EXPECT_EQ(t.done(), "release the lock of the phases");
    t.seen.own_on_sync.reset();
    EXPECT_EQ(t.done(), "take the lock of the phases to write");
    EXPECT_EQ(t.machine.phase, role_phase::d);
    t.seen.own_on_sync = 7;
    EXPECT_EQ(t.done(), "wait") << "only in A it tells something";
    EXPECT_EQ(t.machine.phase, role_phase::d);
}

// It read C and queued for D before this node did: it drops its address with its turn, so this one takes its own up
// first.
TEST(role_candidate, AC72_a_partner_that_is_a_turn_ahead_finds_the_address_here) {
    auto t = beside_a_primary();
    t.woken();
    ASSERT_TRUE(t.reaches("take up phase C"));
    ASSERT_TRUE(t.reaches("take the lock of the phases to write"));
    ASSERT_EQ(t.machine.phase, role_phase::d);
    t.seen.own_on_sync.reset();
    t.seen.on_sync = {{8, lock_tag::rlock}};
    EXPECT_FALSE(t.machine.is_passed(t.seen)) << "not queued yet";
    t.seen.queued_on_sync = 7;
    EXPECT_FALSE(t.machine.is_passed(t.seen)) << "behind this node, as it should be";
    t.seen.queued_on_sync = 9;
    t.seen.known_reader = 8;
    EXPECT_FALSE(t.machine.is_passed(t.seen)) << "the reader of C, which is slow";
    t.seen.known_reader = 6;
    EXPECT_TRUE(t.machine.is_passed(t.seen));
    EXPECT_EQ(t.say(role_answer::passed), "take up phase D");
    EXPECT_EQ(t.done(), "clear the key of the phases");
    EXPECT_EQ(t.done(), "release the lock of the phases");
    EXPECT_EQ(t.done(), "take the lock of the phases to write");
    EXPECT_EQ(t.machine.phase, role_phase::e);
}

// It may have gone through all phases that are left: nobody would have their addresses until it is secondary.
TEST(role_candidate, R87_after_the_first_sign_that_the_partner_is_ahead_no_phase_is_held) {
    for (const bool is_seen : {true, false}) {
        auto t = beside_a_primary();
        t.woken();
        ASSERT_TRUE(t.reaches("take up phase C"));
        ASSERT_TRUE(t.reaches("take the lock of the phases to write"));
        ASSERT_EQ(t.machine.phase, role_phase::d);
        if (is_seen) {
            EXPECT_EQ(t.say(role_answer::passed), "take up phase D");
        } else {
            t.seen.own_on_sync = 9;
            t.seen.was_overtaken = true;  // a child came between, and was gone before anybody saw it
            EXPECT_EQ(t.done(), "take up phase D");
            t.seen.was_overtaken = false;
        }
        const auto rest = t.rest();
        EXPECT_EQ(std::ranges::count(rest, std::string("wait")), 0) << is_seen;
        EXPECT_EQ(std::ranges::count(rest, std::string("take up phase F")), 1);
    }
}

// It reads A 0.2 s after `relinquish`, and passes C to F at once where nobody holds it.
TEST(role_candidate, R87_beside_one_that_wrote_its_name_back_nothing_is_waited_for) {
    auto t = beside_a_primary();
    t.seen.view.peers.front().router = router_state::relinquish;
    t.seen.view.returned = returned_name{"hv2", true, {}};
    t.woken();
    const auto rest = t.rest();
    EXPECT_EQ(std::ranges::count(rest, std::string("wait")), 0);
    EXPECT_EQ(std::ranges::count(rest, std::string("take the lock of the phases to read")), 1) << "its turn in B";
}

TEST(role_candidate, AC72_nobody_is_held_for_longer_than_5_s) {
    auto t = beside_a_primary();
    t.woken();
    ASSERT_TRUE(t.reaches("wait"));
    const auto until = t.last.until;
    EXPECT_EQ(t.woken_at(until - 1ms), "wait");
    EXPECT_EQ(t.woken_at(until), "take up phase A");
}

// It came too late, and has given everything up without a turn.
TEST(role_candidate, a_partner_that_is_secondary_is_not_waited_for_anywhere) {
    for (const duration silent_for : {1s, 15s}) {
        at_each_question<candidate>(beside_a_primary(), [silent_for](taking t) {
            if (t.asks() != "wait") {
                return;
            }
            auto& partner = t.seen.view.peers.front();
            partner.router = router_state::relinquish;
            EXPECT_EQ(t.woken(), "wait");
            partner.router = router_state::secondary;
            partner.keepalive_unchanged_for = silent_for;
            const auto began = t.now;
            EXPECT_NE(t.woken(), "wait");
            t.rest();
            EXPECT_EQ(t.now, began);
            EXPECT_TRUE(t.machine.is_primary) << t.machine.withdrawn;
        });
    }
}

TEST(role_candidate, AC75_a_partner_that_dies_in_its_turn_is_not_waited_for_longer_than_30_s) {
    auto t = beside_a_primary();
    t.woken();
    ASSERT_TRUE(t.reaches("take the lock of the role to write"));
    t.done();
    t.seen.on_sync = {{9, lock_tag::rlock}};
    ASSERT_TRUE(t.reaches("release the lock of the phases"));
    t.seen.on_sync = {{10, lock_tag::lock}};
    EXPECT_EQ(t.done(), "take the lock of the phases to read");
    t.now = t.last.until;
    t.seen.on_sync.clear();
    t.seen.view.peers.front().keepalive_unchanged_for = 35s;
    EXPECT_EQ(t.say(role_answer::failed), "take up phase B");
    EXPECT_EQ(t.done(), "take the lock of the phases to write") << "it was seen: it went beside us";
    const auto left = t.rest();
    EXPECT_EQ(left.back(), "release the lock of the role");
    EXPECT_EQ(std::ranges::count(left, "wait"), 0);
    EXPECT_TRUE(t.machine.is_primary);
}

TEST(role_candidate, limits_of_the_locks) {
    taking t;
    t.woken();
    ASSERT_TRUE(t.reaches("take the lock of the role to write"));
    EXPECT_EQ(t.limit(), 60s);
    auto other = t;
    EXPECT_EQ(other.say(role_answer::failed), "write secondary") << "somebody else has the lock of the role";
    EXPECT_EQ(other.done(), "over");
    ASSERT_TRUE(t.reaches("take the lock of the phases to write"));
    EXPECT_EQ(t.limit(), 30s);
    t.now = t.last.until;
    EXPECT_EQ(t.say(role_answer::failed), "take up phase A") << "without its turn, after its limit";
    EXPECT_NE(t.done(), "clear the key of the phases") << "it holds nothing";
}

TEST(role_candidate, AC80_what_was_taken_up_is_given_up_in_reverse) {
    auto t = in_phase(role_phase::d);
    t.seen.view.primary.node = "hv3";
    EXPECT_TRUE(t.machine.must_end(t.seen));
    t.say(role_answer::ended);
    EXPECT_FALSE(t.machine.must_end(t.seen)) << "nothing calls off the undoing";
    EXPECT_EQ(t.rest(), undone_from_d);
    EXPECT_FALSE(t.machine.is_primary);
}

TEST(role_candidate, AC80_in_each_state_nothing_is_left) {
    at_each_question<candidate>(taking(), [](taking t) {
        const bool is_primary = t.asks() == "release the lock of the role";
        const bool is_said = t.asks() != "write takeover";
        const int taken = t.machine.taken;
        t.seen.view.primary.node.reset();
        t.say(role_answer::ended);
        const auto left = t.rest();
        if (is_primary) {
            EXPECT_EQ(left, lines{"release the lock of the role"}) << "it is primary: the rules say what comes of it";
            return;
        }
        EXPECT_EQ(left.empty(), !is_said);
        EXPECT_TRUE(!is_said || left.back() == "write secondary");
        lines given;
        std::ranges::copy_if(left, std::back_inserter(given), [](const auto& one) { return one.starts_with("give"); });
        EXPECT_TRUE(std::ranges::is_sorted(given, std::greater<>()));
        EXPECT_EQ(static_cast<int>(given.size()), taken);
        EXPECT_FALSE(t.machine.has_role_lock || t.machine.has_sync_lock);
    });
}

TEST(role_candidate, C7_a_lost_lock_in_each_state) {
    at_each_question<candidate>(taking(), [](taking t) {
        if (t.asks() == "write takeover" || t.asks() == "release the lock of the role") {
            return;  // there is none, or it is let go anyway
        }
        const bool had_sync = t.machine.has_sync_lock;
        const bool had_role = t.machine.has_role_lock;
        t.say(role_answer::lost);
        const auto left = t.rest();
        ASSERT_FALSE(left.empty());
        EXPECT_EQ(left.back(), "write secondary");
        EXPECT_EQ(std::ranges::count(left, "release the lock of the phases"), had_sync ? 1 : 0);
        EXPECT_EQ(std::ranges::count(left, "release the lock of the role"), had_role ? 1 : 0);
        EXPECT_FALSE(t.machine.is_primary);
    });
}

TEST(role_candidate, a_suspended_session_in_each_state) {
    at_each_question<candidate>(taking(), [](taking t) {
        const auto asked = t.asks();
        if (asked == "release the lock of the role") {
            return;
        }
        t.seen.view.session_live = false;
        EXPECT_FALSE(t.machine.must_end(t.seen));
        EXPECT_EQ(t.woken(), "wait") << "nothing is begun";
        EXPECT_EQ(t.last.until, time_point::max());
        t.seen.view.session_live = true;
        EXPECT_EQ(t.woken(), asked);
    });
}

TEST(role_candidate, a_lock_that_nobody_can_give_is_asked_for_again) {
    for (const std::string what : {"take the lock of the role to write", "take the lock of the phases to write",
                                   "take the lock of the phases to read"}) {
        taking t;
        t.woken();
        ASSERT_TRUE(t.reaches(what));
        t.seen.view.session_live = false;
        EXPECT_EQ(t.say(role_answer::failed), "wait");
        t.seen.view.session_live = true;
        EXPECT_EQ(t.woken(), what);
    }
}

TEST(role_candidate, C6_unheard_for_too_long_it_undoes_and_says_so_when_it_can) {
    auto t = in_phase(role_phase::d);
    t.seen.view.session_live = false;
    t.woken();
    t.seen.view.heartbeat_age = 55s;
    EXPECT_TRUE(t.machine.must_end(t.seen));
    t.woken();
    for (const auto& one : undone_from_d) {
        if (one != undone_from_d.back()) {
            EXPECT_EQ(t.asks(), one);
            t.done();
        }
    }
    EXPECT_EQ(t.asks(), "wait");
    EXPECT_EQ(t.last.until, time_point::max());
    t.seen.view.session_live = true;
    EXPECT_EQ(t.woken(), "write secondary");
    EXPECT_EQ(t.done(), "over");
}

TEST(role_candidate, C6_given_up_by_itself_in_each_state_only_the_locks_are_left) {
    at_each_question<candidate>(taking(), [](taking t) {
        if (t.asks() == "write takeover" || t.asks() == "release the lock of the role") {
            return;
        }
        t.seen.view.role = router_state::secondary;
        t.woken();
        for (const auto& one : t.rest()) {
            EXPECT_TRUE(one.starts_with("release")) << one;
        }
        EXPECT_FALSE(t.machine.has_role_lock || t.machine.has_sync_lock);
    });
}

TEST(role_candidate, that_it_withdrew_is_written_until_it_is_stored) {
    auto t = in_phase(role_phase::a);
    t.seen.view.primary.node = "hv3";
    t.say(role_answer::ended);
    ASSERT_TRUE(t.reaches("write secondary"));
    EXPECT_EQ(t.say(role_answer::failed), "wait");
    EXPECT_EQ(t.limit(), 1s);
    EXPECT_EQ(t.woken(), "wait");
    EXPECT_EQ(t.woken_at(t.last.until), "write secondary");
    EXPECT_EQ(t.done(), "over");
}

TEST(role_candidate, what_failed_is_taken_up_again_after_a_pause) {
    auto t = in_phase(role_phase::e);
    EXPECT_EQ(t.say(role_answer::failed), "wait");
    EXPECT_EQ(t.limit(), 1s);
    EXPECT_EQ(t.woken_at(t.last.until), "take up phase E");
    EXPECT_EQ(t.done(), "clear the key of the phases");
}

TEST(role_candidate, a_refused_primary_is_written_again_after_a_pause) {
    taking t;
    t.woken();
    ASSERT_TRUE(t.reaches("write primary"));
    EXPECT_EQ(t.say(role_answer::failed), "wait");
    EXPECT_EQ(t.limit(), 1s);
    EXPECT_EQ(t.woken_at(t.last.until), "write primary");
}

// ---- who may hold the addresses without hearing of us (AC134, AC135)

// Alone through A and B: the primary is there, and nobody is queued.
taking before_c(router_state role) {
    taking t;
    t.add_peer(role);
    t.woken();
    EXPECT_TRUE(t.reaches("take up phase B"));
    t.seen.view.peers.front().keepalive_unchanged_for = t.now - t.machine.began + 1s;
    return t;
}

TEST(role_candidate, AC134_AC135_a_silent_primary_keeps_its_addresses) {
    auto t = before_c(router_state::primary);
    EXPECT_EQ(t.now - t.machine.began, 10s) << "5 s for its reader, 5 s for its writer";
    EXPECT_EQ(t.done(), "give up phase B") << "12 s without a heartbeat: silent";
    const auto left = t.rest();
    EXPECT_EQ(left.back(), "write secondary");
    EXPECT_NE(t.machine.withdrawn.find("hv2"), std::string::npos);
}

TEST(role_candidate, AC135_one_that_is_not_silent_yet_is_waited_for) {
    auto t = before_c(router_state::primary);
    t.seen.view.times.keepalive = 30s;  // then it is silent after 60 s
    EXPECT_EQ(t.done(), "wait");
    auto heard = t;
    heard.now += 1s;
    heard.seen.view.peers.front().keepalive_unchanged_for = 0s;
    EXPECT_EQ(heard.woken(), "take the lock of the phases to write");
    auto seen = t;
    seen.seen.on_sync = {{3, lock_tag::rlock}};
    EXPECT_EQ(seen.woken(), "take the lock of the phases to write");
    auto gone = t;
    gone.seen.view.peers.front().router = router_state::secondary;
    EXPECT_EQ(gone.woken(), "take the lock of the phases to write");
    t.now += 50s;
    t.seen.view.peers.front().keepalive_unchanged_for = 60s;
    EXPECT_EQ(t.woken(), "give up phase B");
}

TEST(role_candidate, AC135_a_primary_that_is_stopping_is_waited_for_as_well) {
    auto t = before_c(router_state::primary);
    t.seen.view.times.keepalive = 30s;
    t.seen.view.peers.front().daemon = model::daemon_state::shutdown;
    EXPECT_EQ(t.done(), "wait");
}

TEST(role_candidate, AC135_another_candidate_that_is_out_of_touch) {
    taking t;
    t.add_peer(router_state::takeover);
    t.woken();
    ASSERT_TRUE(t.reaches("take up phase B"));
    t.seen.on_sync = {{3, lock_tag::rlock}};  // whoever that is: it is not the other candidate
    auto silent = t;
    silent.seen.view.peers.front().keepalive_unchanged_for = 10s;
    EXPECT_EQ(silent.done(), "give up phase B");
    EXPECT_EQ(t.done(), "wait") << "its locks are gone, and it may not know";
    t.now += 2s;
    EXPECT_EQ(t.woken(), "take the lock of the phases to write") << "it has beaten since";
}

TEST(role_candidate, AC135_who_is_queued_before_the_role_is_locked_is_nobodys_partner) {
    taking t;
    t.add_peer(router_state::primary);
    t.seen.on_sync = {{2, lock_tag::lock}};
    t.woken();
    ASSERT_TRUE(t.reaches("take the lock of the role to write"));
    t.seen.on_sync.clear();
    ASSERT_TRUE(t.reaches("take up phase B"));
    EXPECT_FALSE(t.machine.was_partner_seen);
}

// ---- without parts (README ruling 11)

TEST(role_candidate, R11_without_parts_it_writes_primary_at_once) {
    taking t;
    t.machine.is_empty = true;
    EXPECT_EQ(t.woken(), "write primary");
    EXPECT_EQ(t.done(), "over");
    EXPECT_TRUE(t.machine.is_primary);
}

TEST(role_candidate, R11_without_parts_there_is_nothing_to_undo) {
    taking t;
    t.machine.is_empty = true;
    t.woken();
    EXPECT_EQ(t.say(role_answer::failed), "wait");
    t.seen.view.primary.node = "hv2";
    EXPECT_EQ(t.woken(), "over");
    EXPECT_FALSE(t.machine.is_primary);
}

}  // namespace
}  // namespace pvc::policy
