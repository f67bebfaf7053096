// What clients and the operator are told of a Ceph that does not answer (storage.md 4.7; cases 9, 12, 13).
#include "pvcnoded/policy/ceph/reachability.hpp"
#include "unit/policy/ceph/ceph_answers.hpp"

#include <gtest/gtest.h>

namespace pvc::policy {
namespace {

using namespace std::chrono_literals;

constexpr time_point since{1000s};

// A round in which `which` fails like that, and everything else is answered.
ceph_round round_with(time_point begun, ceph_question which = ceph_question::none, const failure& why = {}) {
    ceph_round round({.has_osds = true, .begun = begun, .deadline = begun + 4s});
    while (const auto next = round.next(begun)) {
        round.take(next->what == which ? result<std::string>(why) : result<std::string>(sample::answer_to(next->what)),
                   begun);
    }
    return round;
}
ceph_round silent_round(time_point begun) {
    return round_with(begun, ceph_question::health, failure(errc::timed_out, "x", "no answer"));
}
ceph_round refused(time_point begun) {
    return round_with(begun, ceph_question::health, failure(errc::unavailable, "x", "permission denied"));
}

// Case 12 of storage.md, its half of clients.
TEST(ceph_reachability, clients_are_told_after_a_minute_and_again_after_each) {
    ceph_reachability ceph(since);
    std::vector<std::int64_t> told;
    for (time_point now = since; now <= since + 190s; now += 5s) {
        ceph.take(silent_round(now), now, 5s);
        if (const auto silence = ceph.silence_to_publish(now)) {
            told.push_back(silence->count());
            ceph.note_published(now);
        }
    }
    EXPECT_EQ(told, (std::vector<std::int64_t>{60, 120, 180}));
    ceph.take(round_with(since + 195s), since + 195s, 5s);
    EXPECT_FALSE(ceph.silence_to_publish(since + 254s));
    EXPECT_EQ(ceph.silence_to_publish(since + 255s), 60s);
}

TEST(ceph_reachability, what_could_not_be_written_stays_due) {
    ceph_reachability ceph(since);
    EXPECT_FALSE(ceph.silence_to_publish(since + 59s));
    EXPECT_TRUE(ceph.silence_to_publish(since + 60s));
    EXPECT_EQ(ceph.silence_to_publish(since + 65s), 65s);
    ceph.note_published(since + 65s);
    EXPECT_FALSE(ceph.silence_to_publish(since + 124s));
    EXPECT_TRUE(ceph.silence_to_publish(since + 125s));
}

TEST(ceph_reachability, garbage_is_no_health) {
    ceph_reachability ceph(since);
    const time_point now = since + 60s;
    ceph.take(round_with(now, ceph_question::health, failure(errc::invalid, "x", "no JSON")), now, 5s);
    EXPECT_TRUE(ceph.silence_to_publish(now));
    EXPECT_TRUE(ceph.has_answered());
}

// Case 13 of storage.md: who is refused at once asks every second tick.
TEST(ceph_reachability, refusals_make_attempts_rarer_and_silence_does_not) {
    ceph_reachability ceph(since);
    std::vector<int> asked;
    for (int tick = 0; tick < 8; ++tick) {
        const time_point now = since + tick * 5s;
        if (ceph.is_attempt_due(now)) {
            asked.push_back(tick);
            ceph.take(refused(now), now, 5s);
        }
    }
    EXPECT_EQ(asked, (std::vector{0, 1, 3, 5, 7}));
    ceph.take(silent_round(since + 100s), since + 102s, 5s);
    EXPECT_TRUE(ceph.is_attempt_due(since + 105s));
}

std::vector<std::string> texts_of(const std::vector<ceph_line>& lines) {
    std::vector<std::string> all;
    for (const auto& one : lines) {
        all.push_back(one.text);
    }
    return all;
}

// Case 13 of storage.md, its line.
TEST(ceph_lines, of_a_refusal_once_and_then_once_a_minute) {
    ceph_conditions known;
    const auto first = ceph_lines(refused(since), known, since);
    ASSERT_EQ(first.size(), 1U);
    EXPECT_EQ(first.front().level, log_level::error);
    EXPECT_EQ(first.front().id, message::ceph_silent);
    EXPECT_EQ(first.front().text, "Ceph does not answer, its figures stay as they are: permission denied");
    EXPECT_TRUE(ceph_lines(refused(since + 59s), known, since + 59s).empty());
    EXPECT_EQ(ceph_lines(refused(since + 60s), known, since + 60s).size(), 1U);
    EXPECT_TRUE(ceph_lines(refused(since + 65s), known, since + 65s).empty());
    EXPECT_EQ(texts_of(ceph_lines(silent_round(since + 70s), known, since + 70s)),
              (std::vector<std::string>{"Ceph does not answer, its figures stay as they are: no answer"}));
    EXPECT_EQ(known.all().begin()->second.since, since);
    EXPECT_EQ(texts_of(ceph_lines(round_with(since + 75s), known, since + 75s)),
              (std::vector<std::string>{"Ceph answers again"}));
    EXPECT_TRUE(ceph_lines(round_with(since + 80s), known, since + 80s).empty());
}

// The helper's limit and the daemon's are the same: who notices first is chance, and says it in his own words.
TEST(ceph_lines, texts_of_one_kind_that_take_turns_are_no_news) {
    ceph_conditions known;
    std::size_t lines = 0;
    const auto tell = [&](const ceph_round& round, time_point now) { lines += ceph_lines(round, known, now).size(); };
    for (int tick = 0; tick < 36; ++tick) {
        const time_point now = since + tick * 5s;
        const std::string words = tick % 2 == 0 ? "no answer within 2 s" : "no monitor answers";
        tell(round_with(now, ceph_question::health, failure(errc::timed_out, "x", words)), now);
        EXPECT_EQ(known.all().begin()->second.text, "Ceph does not answer, its figures stay as they are: " + words);
    }
    EXPECT_EQ(lines, 3U) << "one a minute";
    EXPECT_EQ(known.all().begin()->second.since, since);
    // Two kinds that take turns: each once a minute.
    known.clear();
    lines = 0;
    for (int tick = 0; tick < 24; ++tick) {
        const time_point now = since + tick * 5s;
        tell(tick % 2 == 0 ? silent_round(now) : refused(now), now);
    }
    EXPECT_EQ(lines, 4U);
    // Garbage that differs each time.
    known.clear();
    lines = 0;
    for (int tick = 0; tick < 24; ++tick) {
        const time_point now = since + tick * 5s;
        const auto why = failure(errc::invalid, "x", "no JSON at " + std::to_string(tick));
        tell(round_with(now, ceph_question::osd_df, why), now);
    }
    EXPECT_EQ(lines, 2U);
}

// Case 9 of storage.md, its line.
TEST(ceph_lines, of_a_silent_manager) {
    ceph_conditions known;
    const failure late(errc::timed_out, "x", "no answer");
    const auto lines = ceph_lines(round_with(since, ceph_question::osd_df, late), known, since);
    ASSERT_EQ(lines.size(), 1U);
    EXPECT_EQ(lines.front().level, log_level::warning);
    EXPECT_EQ(lines.front().id, message::ceph_manager_silent);
    EXPECT_TRUE(ceph_lines(round_with(since, ceph_question::osd_df, late), known, since + 32s).empty());
    EXPECT_EQ(texts_of(ceph_lines(round_with(since), known, since + 64s)),
              (std::vector<std::string>{"Ceph's manager answers again"}));
}

TEST(ceph_lines, of_garbage_name_the_question_and_the_place) {
    ceph_conditions known;
    const auto garbage = round_with(since, ceph_question::osd_dump, failure(errc::invalid, "x", "no \x1b[1mJSON"));
    EXPECT_EQ(texts_of(ceph_lines(garbage, known, since)),
              (std::vector<std::string>{
                  "Ceph's answer to \"osd dump\" is of no use, what is published of it stays: no ?[1mJSON"}));
    EXPECT_TRUE(ceph_lines(garbage, known, since).empty());
    EXPECT_EQ(texts_of(ceph_lines(round_with(since), known, since)),
              (std::vector<std::string>{"Ceph's answer to \"osd dump\" is of use again"}));
}

// A round that asks nothing has heard nothing.
TEST(ceph_lines, a_round_without_a_question_does_not_end_a_silence) {
    ceph_conditions known;
    EXPECT_EQ(ceph_lines(silent_round(since), known, since).size(), 1U);
    ceph_round idle({.begun = since, .deadline = since});
    EXPECT_FALSE(idle.next(since));
    for (const auto& text : texts_of(ceph_lines(idle, known, since + 5s))) {
        EXPECT_NE(text, "Ceph answers again");
    }
    ceph_reachability ceph(since);
    ceph.take(idle, since, 1s);
    EXPECT_FALSE(ceph.has_answered());
}

TEST(ceph_lines, of_a_round_without_time) {
    ceph_conditions known;
    ceph_round round({.begun = since, .deadline = since + 2s, .may_connect = false});
    round.take(result<std::string>(sample::health), since + 1s);
    EXPECT_FALSE(round.next(since + 1s));
    EXPECT_EQ(texts_of(ceph_lines(round, known, since + 1s)),
              (std::vector<std::string>{"Ceph is slow, so its figures come later: there was no time left to ask for "
                                        "\"status\""}));
    EXPECT_TRUE(ceph_lines(round_with(since + 5s), known, since + 5s).empty()) << "it comes and goes";
    EXPECT_TRUE(ceph_lines(round, known, since + 10s).empty());
    EXPECT_EQ(texts_of(ceph_lines(round_with(since + 61s), known, since + 61s)),
              (std::vector<std::string>{"Ceph answers all questions in time again"}));
}

}  // namespace
}  // namespace pvc::policy
