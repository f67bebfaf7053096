// An operator's word and the power-on of the fence (README ruling 43): what is ordered is not called back, and nothing
// is ordered after the word.
#include "fence_play.hpp"

#include "pvcnoded/policy/fencing/confirm.hpp"

namespace pvc::policy {
namespace {

using namespace std::chrono_literals;
using lines = fence_play::lines;
using model::daemon_state;

// All but the power-on was done.
void owe_power_on(fence_play& p) {
    p.is_dead(fence_origin::recovering);
    p.victim.state = daemon_state::fenced;
    p.is_on = false;
    p.fence.owes_power_on = true;
    p.fence.power_on_until = p.now + 5min;
}

std::string last_words(const fence_play& p) {
    std::string words;
    for (const auto& one : p.acts) {
        const auto* const entry = std::get_if<fence_act::note>(&one);
        const auto* const last = entry == nullptr ? nullptr : std::get_if<fence_entry::outcome>(&entry->entry);
        words = last == nullptr ? words : last->words;
    }
    return words;
}

TEST(fence_word_at_power_on, R43_a_word_that_the_read_before_the_power_on_shows_keeps_it_off) {
    fence_play p;
    owe_power_on(p);
    p.victim.is_worded = true;
    EXPECT_EQ(p.run(), (lines{"35 record the attempt", "done"}));
    EXPECT_TRUE(p.fence.keeps_off);
    EXPECT_EQ(last_words(p), "an operator says that it is off");
}

TEST(fence_word_at_power_on, R43_a_word_that_is_said_to_another_coordinator_in_the_midst_of_a_fence_keeps_it_off) {
    fence_play p;
    p.at(66, [&] { p.victim.is_worded = true; });
    p.command_time = 3s;
    p.run();
    EXPECT_EQ(p.done.back(), "done");
    EXPECT_EQ(p.count("write fenced"), 1);
    EXPECT_EQ(p.count("power on"), 0);
    EXPECT_TRUE(p.fence.keeps_off);
}

TEST(fence_word_at_power_on, R43_also_where_the_fence_has_failed) {
    fence_play p;
    p.off_status = 1;
    p.on_status = 0;
    p.obeys_off = false;
    p.at(70, [&] { p.victim.is_worded = true; });
    p.run();
    EXPECT_EQ(p.done.back(), "failed");
    EXPECT_EQ(p.count("power on"), 0);
}

TEST(fence_word_at_power_on, R43_in_the_midst_of_the_power_on_nothing_more_is_ordered_and_the_record_says_what_was) {
    fence_play p;
    owe_power_on(p);
    p.obeys_on = false;
    p.at(36, [&] { p.victim.is_worded = true; });
    p.run();
    EXPECT_EQ(p.count("power on"), 1);
    EXPECT_EQ(p.done.back(), "done");
    EXPECT_EQ(last_words(p), "an operator says that it is off, after it was ordered on");
}

TEST(fence_word_at_power_on, R43_a_word_after_an_order_is_refused_until_it_is_known_what_that_came_to) {
    confirm_seen seen{.node = "hv3",
                      .self = "hv1",
                      .is_coordinator = true,
                      .coordinators = {"hv2"},
                      .is_known = true,
                      .state = daemon_state::fenced,
                      .silent_for = 90s,
                      .looked_for = 10min,
                      .fence_intervals = 6,
                      .keepalive = 5s,
                      .board = board_power::off,
                      .is_noted = true,
                      .ordered = order_before{.ago = 12s + 300ms, .by = "hv2"}};
    const std::string why =
        "node hv2 ordered the board of hv3 to switch it on 12 s ago: it may boot, look at it; no further order is "
        "given. If it is off, ask again in 48 s";
    EXPECT_EQ(why_not_confirmed(seen), why);
    seen.although_on = true;
    EXPECT_EQ(why_not_confirmed(seen), why);
    seen.although_on = false;
    seen.ordered->ago = order_is_open;
    EXPECT_EQ(why_not_confirmed(seen), "");
    seen.board = board_power::on;
    EXPECT_NE(why_not_confirmed(seen), "");
}

TEST(fence_word_at_power_on, R43_who_is_recovered_on_another_proof_is_left_off_and_that_is_said) {
    confirm_seen seen;
    seen.node = "hv3";
    seen.self = "hv1";
    seen.is_coordinator = seen.is_known = seen.is_under_way = true;
    EXPECT_EQ(why_not_confirmed(seen), "node hv3 is proven to be off already, and its machines are being recovered");
    seen.is_noted = true;
    EXPECT_EQ(why_not_confirmed(seen),
              "node hv3 is proven to be off already, and its machines are being recovered; it is not switched on "
              "afterwards, by this word");
}

TEST(words_that_wait, say_whom_to_ask) {
    EXPECT_EQ(why_word_waits("", false, ""), "the fence lock or the disk was not to be had in time: ask again");
    EXPECT_EQ(why_word_waits("hv2:1:fencing:a dead node", true, ""),
              "hv2:1:fencing:a dead node has the fence lock: say it on node hv2, or ask again when that fence is over; "
              "--although-on does not help");
    EXPECT_EQ(why_word_waits("backup: nightly", false, ""),
              "backup: nightly has the fence lock, and is no node of this cluster: end it, and ask again");
}

}  // namespace
}  // namespace pvc::policy
