// The fence of one dead node: its limits, its record, and an operator's word (README rulings 15, 43, 45, 46).
#include "fence_play.hpp"

namespace pvc::policy {
namespace {

using namespace std::chrono_literals;
using lines = fence_play::lines;
using model::daemon_state;

TEST(fence_attempt, R15_a_sequence_has_180_seconds) {
    fence_play p;
    p.obeys_off = false;
    p.command_time = 29s;
    p.status_status = 1;
    p.off_status = 1;
    p.run();
    EXPECT_EQ(p.done.back(), "failed");
    EXPECT_LE(p.second(), 65 + 180 + 100);
}

// A board that takes the `off` and is silent from then on: no look goes beyond the limit, and then it has failed.
TEST(fence_attempt, R15_a_board_that_falls_silent_in_the_middle_ends_with_the_limit) {
    fence_play p;
    std::vector<fence_act::any> acts;
    p.is_dead(fence_origin::resumed);
    p.obeys_off = false;
    auto step = p.fence.resume({p.seen, fence_said::woken{}, 0, p.now}, acts);
    const auto begun = p.now;
    bool is_off_sent = false;
    while (p.fence.where != fence_attempt::at::settling && p.now < begun + 10min) {
        if (std::holds_alternative<fence_ask::guarded_read>(step.what)) {
            const fence_said::read said{.victim = p.victim,
                                        .has_lock = true,
                                        .majority_stays = true,
                                        .sent = boot_time(p.now.time_since_epoch())};
            step = p.fence.resume({p.seen, said, step.number, p.now}, acts);
        } else if (std::holds_alternative<fence_ask::record>(step.what)) {
            step = p.fence.resume({p.seen, fence_said::synced{true}, step.number, p.now}, acts);
        } else if (std::holds_alternative<fence_ask::power>(step.what) && !is_off_sent) {
            is_off_sent = true;
            step = p.fence.resume({p.seen, fence_play::says(0, ""), step.number, p.now}, acts);
        } else {
            ASSERT_LE(step.until, begun + fence_limits::sequence);
            p.now = step.until;  // nobody answers
            step = p.fence.resume({p.seen, fence_said::woken{}, 0, p.now}, acts);
        }
    }
    EXPECT_EQ(p.now - begun, fence_limits::sequence);
    EXPECT_TRUE(p.has_said(fence_news::failed) || std::ranges::any_of(acts, [](const auto& one) {
                    const auto* const line = std::get_if<fence_act::say>(&one);
                    return line != nullptr && line->what == fence_news::failed;
                }));
}

TEST(fence_attempt, R46_without_a_record_no_off_and_without_a_recorded_proof_no_consequence) {
    fence_play p;
    p.is_disk_good = false;
    EXPECT_EQ(p.run(), (lines{"35 begin its record", "not recordable"}));
    EXPECT_EQ(p.victim.state, daemon_state::run) << "it is another's to mark";
    fence_play later;
    later.at(40, [&] { later.is_disk_good = false; });
    EXPECT_EQ(later.run(), (lines{"35 begin its record", "35 write dead", "60 power status", "65 record the attempt",
                                  "not recordable"}));
    fence_play orphan;
    orphan.is_dead(fence_origin::orphan);
    orphan.is_disk_good = false;
    EXPECT_EQ(orphan.run(), (lines{"35 begin its record", "not recordable"}));
    fence_play full;
    full.command_time = 1s;
    full.at(66, [&] { full.is_disk_good = false; });
    full.run();
    EXPECT_EQ(full.done.back(), "not recordable");
    EXPECT_EQ(full.count("write fenced"), 0);
    EXPECT_EQ(full.count("power on"), 0);
}

TEST(fence_attempt, R46_a_disk_that_hangs_is_none) {
    fence_play p;
    std::vector<fence_act::any> acts;
    p.is_dead(fence_origin::resumed);
    auto step = p.fence.resume({p.seen, fence_said::woken{}, 0, p.now}, acts);
    step = p.fence.resume({p.seen, fence_said::read{.victim = p.victim, .has_lock = true}, step.number, p.now}, acts);
    ASSERT_EQ(to_text(step.what), "record the attempt");
    EXPECT_EQ(step.until - p.now, 5s);
    step = p.fence.resume({p.seen, fence_said::woken{}, 0, step.until}, acts);
    EXPECT_EQ(p.fence.end, fence_end::unrecordable);
}

TEST(fence_attempt, R43_a_word_that_was_recorded_before_a_restart_is_written_and_nothing_is_switched_on) {
    fence_play p;
    p.is_dead(fence_origin::proven);
    p.victim.state = daemon_state::stop;
    p.fence.stored = fence_proof::operators_word;
    p.in_maintenance = true;
    p.run();
    EXPECT_EQ(p.done.back(), "done");
    EXPECT_EQ(p.count("recover by operator"), 1);
    EXPECT_EQ(p.of_board(), lines());
}

TEST(fence_attempt, R43_an_operators_word_is_proof_and_no_power_on) {
    fence_play p;
    p.is_dead(fence_origin::operators_word);
    p.victim.state = daemon_state::stop;
    p.in_maintenance = true;
    p.majority_stays = false;
    EXPECT_EQ(p.run(), (lines{"35 record the attempt", "35 record the proof", "35 write fenced", "35 write its role",
                              "35 recover by operator", "35 write flushed", "done"}));
}

TEST(fence_attempt, R43_a_word_that_comes_in_the_middle_ends_the_tries) {
    for (const int second : {50, 69, 79}) {
        fence_play p;
        p.off_status = p.status_status = 1;
        p.at(second, [&] { p.seen.is_confirmed = true; });
        p.run();
        EXPECT_EQ(p.done.back(), "done") << second;
        EXPECT_EQ(p.count("recover by operator"), 1);
        EXPECT_EQ(p.count("power on"), 0);
    }
    fence_play back;
    back.at(52, [&] {
        back.beats();
        back.seen.is_confirmed = true;
    });
    back.run();
    EXPECT_EQ(back.done.back(), "passed") << "it beats";
}

TEST(fence_attempt, R45_who_is_fenced_for_the_third_time_within_an_hour_stays_off) {
    for (const int before : {1, 2}) {
        fence_play p;
        p.seen.fences_in_an_hour = static_cast<std::uint8_t>(before);
        p.run();
        EXPECT_EQ(p.count("power on"), before == 2 ? 0 : 1);
        EXPECT_EQ(p.words_of(fence_news::kept_off),
                  before == 2 ? "it was fenced for the third time within an hour" : "");
        EXPECT_EQ(p.fence.keeps_off, before == 2) << "the record has it from the outcome";
    }
}

// Who stands in line for the fence lock may have an operator's word, which is written as soon as it has the lock.
TEST(fence_attempt, R43_who_stands_in_line_has_his_say_before_the_power_on) {
    fence_play alone;
    alone.run();
    fence_play p;
    p.seen.is_lock_wanted = true;
    p.run();
    EXPECT_EQ(p.count("power on"), 1);
    EXPECT_EQ(p.second(), alone.second() + 5);
    fence_play worded;
    worded.seen.is_lock_wanted = true;
    worded.at(alone.second(), [&] {
        worded.writes(model::daemon_state::fenced);
        worded.victim.proof = {.record = "r2", .by = "hv1", .which = fence_proof::operators_word, .is_valid = true};
    });
    EXPECT_EQ(worded.run().back(), "done");
    EXPECT_EQ(worded.count("power on"), 0);
    EXPECT_TRUE(worded.fence.keeps_off);
}

TEST(fence_attempt, R43_a_word_that_came_during_its_recovery_leaves_it_off) {
    fence_play late;
    late.fence.origin = fence_origin::recovering;
    late.victim.state = model::daemon_state::fenced;
    late.victim.is_recovering = true;
    late.seen.is_confirmed = true;
    EXPECT_EQ(late.run().back(), "done");
    EXPECT_EQ(late.count("power on"), 0);
    EXPECT_TRUE(late.fence.keeps_off);
}

// It has done nothing yet that would be worth a line.
TEST(fence_attempt, R43_a_word_that_is_withdrawn_in_line_ends_without_a_word) {
    fence_play p;
    p.fence.origin = fence_origin::operators_word;
    p.seen.has_lock = false;
    p.at(300, [&] { p.seen.is_word_withdrawn = true; });
    p.run();
    EXPECT_GE(p.second(), 300) << "it stands in line as long as the word counts";
    EXPECT_TRUE(p.acts.empty());
}

// What was not read is not "never".
TEST(fence_attempt, R45_without_its_history_it_is_not_switched_on) {
    fence_play late;
    late.seen.fences_in_an_hour.reset();
    late.at(80, [&] { late.seen.fences_in_an_hour = 1; });
    late.run();
    EXPECT_EQ(late.of_board().back(), "82 power status");
    EXPECT_EQ(late.count("80 power on"), 1);
    fence_play never;
    never.seen.fences_in_an_hour.reset();
    EXPECT_EQ(never.run().back(), "done");
    EXPECT_EQ(never.second(), 65 + 60);
    EXPECT_EQ(never.count("power on"), 0);
    EXPECT_EQ(never.words_of(fence_news::kept_off),
              "how often it was fenced is not known, as the records cannot be read");
    fence_play failed;
    failed.seen.fences_in_an_hour.reset();
    failed.off_status = failed.status_status = 1;
    failed.run();
    EXPECT_EQ(failed.count("power on"), 1) << "it is not fenced";
}

}  // namespace
}  // namespace pvc::policy
