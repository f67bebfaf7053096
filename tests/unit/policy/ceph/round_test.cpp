// What is asked of Ceph in a round, and what each failure means (storage.md 4.2, 4.7; cases 14, 16).
#include "pvcnoded/policy/ceph/round.hpp"
#include "unit/policy/ceph/ceph_answers.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>

namespace pvc::policy {
namespace {

using namespace std::chrono_literals;
using question = ceph_question;

constexpr time_point t0{1000s};

// Plays a round: `failing` says what becomes of a question, `takes` how long each lasts.
struct played {
    std::vector<question> asked;
    ceph_round round;
    time_point now;

    played(ceph_round::about about, const std::function<std::optional<failure>(question)>& failing = {},
           duration takes = 10ms)
        : round(about), now(about.begun) {
        while (const auto next = round.next(now)) {
            asked.push_back(next->what);
            auto why = failing ? failing(next->what) : std::nullopt;
            now += why && why->code() == errc::timed_out ? next->until - now : takes;
            if (next->what == question::counters) {
                why ? round.take(result<std::vector<model::pool_counters>>(*why), now)
                    : round.take(result<std::vector<model::pool_counters>>(std::vector<model::pool_counters>{}), now);
            } else {
                why ? round.take(result<std::string>(*why), now)
                    : round.take(result<std::string>(sample::answer_to(next->what)), now);
            }
        }
    }
};

ceph_round::about usual() {
    return {.has_osds = true, .has_pools = true, .begun = t0, .deadline = t0 + 4s, .may_connect = false};
}

auto fails(question which, errc code, std::string cause = "broken") {
    return [=](question what) { return what == which ? std::optional(failure(code, "x", cause)) : std::nullopt; };
}

const std::vector<question> all{question::health,   question::status,   question::df,     question::pools,
                                question::counters, question::osd_dump, question::osd_df, question::osd_status};

TEST(ceph_round, asks_in_order_and_knows_all_in_the_end) {
    const played p(usual());
    EXPECT_EQ(p.asked, all);
    const auto& seen = p.round.seen();
    EXPECT_EQ(seen.health->status, "HEALTH_OK");
    EXPECT_EQ(*seen.status, sample::status);
    EXPECT_EQ(seen.rooms->size(), 3U);
    EXPECT_TRUE(seen.counters);
    EXPECT_EQ(seen.osd_map->size(), 2U);
    EXPECT_EQ(seen.osd_rooms->size(), 2U);
    EXPECT_EQ(seen.osd_status->size(), 2U);
    EXPECT_TRUE(p.round.refusals().empty());
    EXPECT_EQ(p.round.left_out(), question::none);
}

// What was made of an answer is taken again for the same one, and for no other, whatever lies between.
TEST(ceph_round, the_same_answer_is_not_parsed_again) {
    ceph_answers answers;
    auto about = usual();
    about.answers = &answers;
    const auto seen_of = [&](const result<std::string>& health) {
        ceph_round round(about);
        round.take(health, t0);
        return round.take_seen();
    };
    const std::string well = sample::answer_to(question::health);
    EXPECT_EQ(seen_of(well).health->status, "HEALTH_OK");
    answers.seen.health->status = "marked";
    EXPECT_EQ(seen_of(well).health->status, "marked");
    EXPECT_FALSE(seen_of(failure(errc::timed_out, "x")).health);
    EXPECT_FALSE(seen_of(std::string("{")).health);
    EXPECT_EQ(seen_of(well + "\n").health->status, "HEALTH_OK");
    EXPECT_EQ(answers.printed[0], well + "\n");
    // A long one is parsed each time, and does not take the place of the other.
    const std::string long_one = well + std::string(ceph_answers::bytes_max, ' ');
    EXPECT_EQ(seen_of(long_one).health->status, "HEALTH_OK");
    EXPECT_EQ(answers.printed[0], well + "\n");
    const played whole(about);
    const played again(about);
    EXPECT_EQ(again.asked, all);
    EXPECT_EQ(again.round.seen().osd_map->size(), 2U);
    EXPECT_EQ(*again.round.seen().status, sample::status);
}

// librados counts what only lies elsewhere among what lacks a copy: the manager, who does not, is asked where that
// matters.
TEST(ceph_round, the_manager_is_asked_about_pools_that_are_not_whole) {
    const auto asked_after = [](std::uint64_t degraded, time_point manager_paused_until) {
        auto about = usual();
        about.has_osds = false;
        about.manager_paused_until = manager_paused_until;
        ceph_round round(about);
        std::vector<question> asked;
        while (const auto next = round.next(t0)) {
            asked.push_back(next->what);
            if (next->what == question::counters) {
                round.take(
                    std::vector<model::pool_counters>{{.pool = "a"}, {.pool = "b", .objects_degraded = degraded}}, t0);
            } else {
                round.take(sample::answer_to(next->what), t0);
            }
        }
        return asked;
    };
    const std::vector<question> without(all.begin(), all.begin() + 5);
    auto with = without;
    with.push_back(question::recovery);
    EXPECT_EQ(asked_after(0, {}), without);
    EXPECT_EQ(asked_after(1, {}), with);
    EXPECT_EQ(asked_after(1, t0 + 1s), without);
}

// The complete commands of storage.md 4.2.
TEST(ceph_round, commands_are_complete) {
    EXPECT_EQ(command_of(question::status), R"({"prefix":"status","format":"plain"})");
    EXPECT_EQ(command_of(question::osd_status), R"({"prefix":"osd status","format":"json"})");
    EXPECT_EQ(command_of(question::counters), "");
}

// Case 16 of storage.md.
TEST(ceph_round, nothing_is_asked_of_osds_or_pools_that_are_not_there) {
    auto about = usual();
    about.has_osds = false;
    EXPECT_EQ(played(about).asked, std::vector(all.begin(), all.begin() + 5));
    about.has_pools = false;
    EXPECT_EQ(played(about).asked, std::vector(all.begin(), all.begin() + 3));
}

// Case 14 of storage.md: a monitor that does not answer ends the round.
TEST(ceph_round, silence_of_the_monitors_ends_it) {
    const played first(usual(), fails(question::health, errc::timed_out));
    EXPECT_EQ(first.asked, std::vector{question::health});
    EXPECT_EQ(first.now, t0 + 2s);
    EXPECT_FALSE(first.round.seen().health);
    ASSERT_TRUE(first.round.silence());
    EXPECT_FALSE(first.round.was_refused_at_once());
    const played third(usual(), fails(question::df, errc::unavailable));
    EXPECT_EQ(third.asked.size(), 3U);
    EXPECT_TRUE(third.round.seen().health) << "what was said before counts";
    EXPECT_FALSE(third.round.was_refused_at_once());
    const played refused(usual(), fails(question::health, errc::unavailable));
    EXPECT_TRUE(refused.round.was_refused_at_once());
    const played slowly(usual(), fails(question::health, errc::unavailable), 3s);
    EXPECT_FALSE(slowly.round.was_refused_at_once());
}

TEST(ceph_round, silence_of_the_manager_pauses_it) {
    const played p(usual(), fails(question::osd_df, errc::timed_out));
    EXPECT_EQ(p.asked, std::vector(all.begin(), all.begin() + 7));
    EXPECT_FALSE(p.round.silence());
    EXPECT_TRUE(p.round.is_manager_silent());
    EXPECT_EQ(p.round.manager_paused_until(), p.now + 30s);
    EXPECT_TRUE(p.round.seen().osd_map);
    auto later = usual();
    later.begun = p.round.manager_paused_until() - 1s;
    later.deadline = later.begun + 4s;
    later.manager_paused_until = p.round.manager_paused_until();
    EXPECT_EQ(played(later).asked, std::vector(all.begin(), all.begin() + 6));
    later.begun += 1s;
    later.deadline += 1s;
    EXPECT_EQ(played(later).asked, all);
}

TEST(ceph_round, an_answer_of_no_use_is_left_out) {
    for (const auto which : all) {
        const played p(usual(), fails(which, errc::io));
        const bool is_dump = which == question::osd_dump;
        EXPECT_EQ(p.asked.size(), is_dump ? 6U : 8U) << "without a dump nothing is known of OSDs";
        ASSERT_EQ(p.round.refusals().size(), 1U);
        EXPECT_EQ(p.round.refusals().front().what, which);
        EXPECT_FALSE(p.round.silence());
        EXPECT_FALSE(p.round.is_manager_silent());
    }
    ceph_round garbage(usual());
    garbage.take(result<std::string>("garbage"), t0);
    EXPECT_FALSE(garbage.seen().health);
    EXPECT_EQ(garbage.refusals().front().why.code(), errc::invalid);
    EXPECT_EQ(garbage.next(t0)->what, question::status);
}

TEST(ceph_round, a_question_begins_only_if_its_limit_fits) {
    const played slow(usual(), {}, 1500ms);
    EXPECT_EQ(slow.asked, (std::vector{question::health, question::status}));
    EXPECT_EQ(slow.round.left_out(), question::df);
    auto about = usual();
    about.may_connect = true;
    EXPECT_EQ(ceph_round(about).next(t0)->until, t0 + 3s);
    EXPECT_EQ(ceph_round(usual()).next(t0)->until, t0 + 2s);
    EXPECT_EQ(ceph_round_limit(5s), 4s);
    EXPECT_EQ(ceph_round_limit(1s), 3s) << "a short interval lets it ask all the same";
}

// What is left out comes first in the next round, with all that is published together with it.
TEST(ceph_round, a_slow_ceph_is_asked_for_everything_in_turn) {
    struct row {
        duration takes;
        duration keepalive;
        int rounds;              // after which everything was published once
        bool has_status = true;  // of OSDs, which is the last of three that have to be answered together
    };
    for (const auto& [takes, keepalive, rounds, has_status] :
         {row{10ms, 5s, 1}, row{350ms, 5s, 2}, row{400ms, 5s, 2}, row{700ms, 5s, 4}, row{1s, 5s, 4},
          row{1500ms, 5s, 5, false}, row{350ms, 1s, 4}}) {
        auto about = usual();
        bool is_health = false;
        bool are_texts = false;
        bool are_pools = false;
        bool are_osds = false;
        for (int round = 0; round < rounds; ++round) {
            about.deadline = about.begun + ceph_round_limit(keepalive);
            const played p(about, {}, takes);
            const auto& seen = p.round.seen();
            is_health = is_health || seen.health;
            are_texts = are_texts || (seen.status && seen.df);
            are_pools = are_pools || (seen.rooms && seen.counters);
            are_osds = are_osds || (seen.osd_map && seen.osd_rooms && (seen.osd_status || !has_status));
            EXPECT_LE(p.now, about.deadline);
            EXPECT_TRUE(
                std::ranges::all_of(p.asked, [&](question one) { return std::ranges::count(p.asked, one) == 1; }));
            about.begun = p.now + 1s;
            about.first = p.round.next_first();
        }
        EXPECT_TRUE(is_health && are_pools && are_osds) << takes / 1ms;
        EXPECT_TRUE(are_texts || takes > 1s) << takes / 1ms;
    }
    // None is left behind for ever, however slow: each is asked again and again, the health within a minute.
    for (const duration takes : {350ms, 400ms, 1000ms, 1500ms, 1999ms}) {
        for (const duration keepalive : {1s, 5s, 10s}) {
            auto about = usual();
            std::map<question, time_point> last;
            for (const auto one : all) {
                last[one] = about.begun;
            }
            for (int round = 0; round < 100; ++round) {
                about.deadline = about.begun + ceph_round_limit(keepalive);
                const played p(about, {}, takes);
                for (const auto one : p.asked) {
                    last[one] = p.now;
                }
                EXPECT_FALSE(p.asked.empty());
                EXPECT_LT(p.now - last[question::health], 60s) << takes / 1ms << ", " << keepalive / 1s;
                EXPECT_LT(p.now - last[question::osd_dump], 60s) << takes / 1ms << ", " << keepalive / 1s;
                EXPECT_LT(p.now - last[question::pools], 60s) << takes / 1ms << ", " << keepalive / 1s;
                about.begun = std::max(p.now, about.begun + keepalive);
                about.first = p.round.next_first();
            }
        }
    }
}

TEST(ceph_round, one_that_begins_in_the_middle_ends_before_its_beginning) {
    auto about = usual();
    about.first = question::osd_dump;
    EXPECT_EQ(played(about).asked,
              (std::vector{question::osd_dump, question::osd_df, question::osd_status, question::health,
                           question::status, question::df, question::pools, question::counters}));
    // The manager is silent: what does not need it is asked all the same, if there is time.
    about.deadline = t0 + 10s;
    EXPECT_EQ(played(about, fails(question::osd_df, errc::timed_out)).asked,
              (std::vector{question::osd_dump, question::osd_df, question::health, question::status, question::df,
                           question::pools, question::counters}));
    const played refused(about, fails(question::osd_dump, errc::unavailable));
    EXPECT_TRUE(refused.round.was_refused_at_once());
    EXPECT_EQ(refused.asked.size(), 1U);
    EXPECT_EQ(refused.round.next_first(), question::health) << "it begins anew";
}

// Time goes on between the beginning of a round and its first question.
TEST(ceph_round, the_first_question_is_asked_with_what_is_left_of_a_short_round) {
    auto about = usual();
    about.may_connect = true;
    about.deadline = t0 + ceph_round_limit(1s);
    ceph_round begun(about);
    const auto first = begun.next(t0 + 1ms);
    ASSERT_TRUE(first);
    EXPECT_EQ(first->what, question::health);
    EXPECT_EQ(first->until, about.deadline);
    begun.take(result<std::string>(sample::answer_to(question::health)), t0 + 1500ms);
    EXPECT_FALSE(begun.next(t0 + 1500ms)) << "no other one is hurried";
    EXPECT_TRUE(begun.has_answer());
    ceph_round late(about);
    EXPECT_FALSE(late.next(about.deadline));
    EXPECT_FALSE(late.has_answer());
}

}  // namespace
}  // namespace pvc::policy
