// Which nodes are dead. Acceptance cases AC44, AC46, AC47, AC48 (the mark), AC52 (the marks), AC53, AC54, AC129; README
// rulings 31, 39, 76.
#include "pvcnoded/policy/fencing/detection.hpp"

#include <gtest/gtest.h>

namespace pvc::policy {
namespace {

using namespace std::chrono_literals;

struct detection : ::testing::Test {
    using enum node_verdict;

    observer_seen self{.name = "hv1",
                       .is_coordinator = true,
                       .is_run = true,
                       .is_heartbeat_fresh = true,
                       .connected_for = 1h,
                       .fence_intervals = 6,
                       .keepalive = 5s,
                       .coordinators = 3};

    static node_seen living(const std::string& name, bool is_coordinator = true) {
        return {.name = name,
                .is_coordinator = is_coordinator,
                .state = model::daemon_state::run,
                .state_id = 10,
                .heartbeat_id = 20,
                .silent_for = 2s,
                .was_seen_to_beat = true,
                .has_machines = true,
                .has_probe_heard_on = true};
    }
    static node_seen quiet(const std::string& name, duration age, bool is_coordinator = true) {
        auto one = living(name, is_coordinator);
        one.silent_for = age;
        return one;
    }
    // Of hv3, with hv2 alive.
    [[nodiscard]] node_verdict of(const node_seen& hv3) const {
        return judge_nodes(self, {living("hv2"), hv3}).back().what;
    }
};

TEST_F(detection, AC44_older_than_the_limit_and_not_as_old) {
    EXPECT_EQ(of(living("hv3")), well);
    EXPECT_EQ(of(quiet("hv3", 10s)), well);
    EXPECT_EQ(of(quiet("hv3", 10s + 1ms)), node_verdict::silent);
    EXPECT_EQ(of(quiet("hv3", 30s)), node_verdict::silent);
    EXPECT_EQ(of(quiet("hv3", 30s + 1ms)), dead);
    EXPECT_EQ(of(quiet("hv3", 35s)), dead);
}

TEST_F(detection, says_when_to_look_again) {
    EXPECT_EQ(judge_nodes(self, {living("hv2"), quiet("hv3", 12s)}).back().after, 18s);
    EXPECT_FALSE(judge_nodes(self, {living("hv2"), quiet("hv3", 35s)}).back().after);
}

TEST_F(detection, AC47_AC48_AC53_AC54_nobody_is_judged_without_the_right_to) {
    const auto without = [&](auto change) {
        const auto with = self;
        change(self);
        EXPECT_EQ(of(quiet("hv3", 35s)), well);
        EXPECT_NE(why_not_judging(self), "");
        EXPECT_FALSE(asks_for_power(self, quiet("hv3", 35s)));
        self = with;
    };
    EXPECT_EQ(why_not_judging(self), "");
    without([](observer_seen& one) { one.fence_intervals = 0; });
    without([](observer_seen& one) { one.in_maintenance = true; });
    without([](observer_seen& one) { one.is_coordinator = false; });
    without([](observer_seen& one) { one.is_run = false; });
    without([](observer_seen& one) { one.is_heartbeat_fresh = false; });
    without([](observer_seen& one) { one.connected_for = 29999ms; });
    EXPECT_TRUE(judge_nodes(self, {quiet("hv1", 1h)}).empty()) << "never itself";
    EXPECT_FALSE(asks_for_power(self, quiet("hv1", 35s)));
}

TEST_F(detection, other_states_and_missing_keys_are_never_fenced_and_said_when_they_have_machines) {
    for (const auto state : {model::daemon_state::init, model::daemon_state::shutdown, model::daemon_state::stop}) {
        auto one = quiet("hv3", 299s);
        one.state = state;
        one.state_id = 30;
        EXPECT_EQ(of(one), well);
        one.silent_for = 300s;
        EXPECT_EQ(of(one), forgotten);
        one.has_machines = false;
        EXPECT_EQ(of(one), well);
    }
    for (const auto state : {model::daemon_state::dead, model::daemon_state::fenced}) {
        auto one = quiet("hv3", 300s);
        one.state = state;
        one.has_machines = false;
        EXPECT_EQ(of(one), forgotten);
    }
    auto without_key = quiet("hv3", 300s);
    without_key.heartbeat_id.reset();
    EXPECT_EQ(of(without_key), forgotten);
    auto without_word = quiet("hv3", 300s);
    without_word.state.reset();
    EXPECT_EQ(of(without_word), forgotten);
    self.in_maintenance = true;
    EXPECT_EQ(of(without_word), well);
}

TEST_F(detection, AC129_init_that_hangs) {
    auto one = quiet("hv3", 60s);
    one.state = model::daemon_state::init;
    EXPECT_EQ(of(one), node_verdict::silent);
    one.silent_for = 65s;
    EXPECT_EQ(of(one), dead);
    one.state_id = 21;  // it has not checked in since it registered
    one.silent_for = 600s;
    EXPECT_EQ(of(one), forgotten);
    one.in_state_for = 299s;
    EXPECT_EQ(of(one), well) << "it boots";
}

TEST_F(detection, a_node_that_was_never_seen_to_beat_may_be_booting) {
    auto one = quiet("hv3", 35s);
    one.was_seen_to_beat = false;
    EXPECT_EQ(of(one), may_boot);
    one.power = seen_power::off;
    EXPECT_EQ(of(one), may_boot) << "a board that boots says off";
    EXPECT_FALSE(asks_for_power(self, one));
    one.silent_for = 10min;
    EXPECT_EQ(of(one), may_boot);
    one.silent_for = 10min + 1ms;
    EXPECT_EQ(of(one), dead);
    self.fence_intervals = 120;
    self.connected_for = 24h;
    one.power = seen_power::untold;
    EXPECT_EQ(of(one), may_boot) << "twice the limit";
}

TEST_F(detection, of_a_node_that_may_boot_or_is_in_a_storm_is_said_when_it_is_fenced_and_what_helps) {
    EXPECT_EQ(outlook_of({"hv3", may_boot, 569s}),
              "it is fenced in 569 s, unless it checks in; if it is off: pvcnodectl fence confirm hv3");
    EXPECT_EQ(outlook_of({"hv3", storm, 60s}),
              "it is fenced in 60 s, unless it checks in; if it is off: pvcnodectl fence confirm hv3");
    for (const auto what : {well, node_verdict::silent, seen_off, dead, needed, forgotten}) {
        EXPECT_EQ(outlook_of({"hv3", what, 60s}), "");
    }
}

TEST_F(detection, a_node_seen_off_is_dead_at_once) {
    auto one = quiet("hv3", 11s);
    EXPECT_TRUE(asks_for_power(self, one));
    one.power = seen_power::on;
    EXPECT_EQ(of(one), node_verdict::silent);
    one.power = seen_power::off;
    EXPECT_EQ(of(one), seen_off);
    one.silent_for = 2s;
    EXPECT_EQ(of(one), well) << "it beats";
    EXPECT_FALSE(asks_for_power(self, one));
    one.silent_for = 11s;
    one.state = model::daemon_state::shutdown;
    EXPECT_EQ(of(one), well);
    EXPECT_FALSE(asks_for_power(self, one));
}

// One of the reference that boots says `run`, and its first heartbeat comes seconds later: until then what is seen of
// its heartbeat, and of its power, is of the life before.
TEST_F(detection, a_node_that_has_said_run_after_its_heartbeat_is_as_quiet_as_that) {
    struct row {
        std::int64_t state_id;
        duration in_state_for;
        node_verdict what;
        bool is_asked;
    };
    for (const auto& [state_id, in_state_for, what, is_asked] :
         {row{19, 0s, dead, true}, row{20, 0s, dead, true}, row{21, 0s, well, false}, row{21, 10s, well, false},
          row{21, 10s + 1ms, node_verdict::silent, true}, row{21, 30s, node_verdict::silent, true},
          row{21, 30s + 1ms, dead, true}, row{21, duration::max(), dead, true}}) {
        auto one = quiet("hv3", 65s);
        one.state_id = state_id;
        one.in_state_for = in_state_for;
        EXPECT_EQ(of(one), what) << state_id << ", for " << in_state_for / 1ms << " ms";
        EXPECT_EQ(asks_for_power(self, one), is_asked) << state_id << ", for " << in_state_for / 1ms << " ms";
    }
    auto one = quiet("hv3", 65s);
    one.state_id = 21;
    one.in_state_for = 9s;
    one.power = seen_power::off;
    EXPECT_EQ(of(one), well);
    one.in_state_for = 11s;
    EXPECT_EQ(of(one), seen_off) << "two answers since";
    EXPECT_FALSE(majority_stays(self, {quiet("hv2", 40s), one}, "hv2", majority_at::before_power_off))
        << "nobody counts on it before it beats";
}

TEST_F(detection, a_state_is_as_old_as_looks_have_shown_it) {
    state_watch watch;
    const auto after = [&](std::int64_t state, std::int64_t heartbeat, duration silent_for) {
        watch.observe(state, heartbeat, silent_for);
        return watch.age();
    };
    EXPECT_EQ(after(30, 20, 25s), 0s) << "seen, and not looked yet";
    EXPECT_EQ(after(30, 20, 25s), 0s);
    EXPECT_EQ(after(30, 20, 65s), 0s) << "the observer stood still meanwhile";
    EXPECT_EQ(after(30, 20, 70s), 5s);
    EXPECT_EQ(after(30, 20, 70s), 5s);
    EXPECT_EQ(after(30, 20, 75s), 10s);
    EXPECT_EQ(after(31, 20, 80s), 0s) << "it is written anew";
    EXPECT_EQ(after(31, 20, 85s), 0s);
    EXPECT_EQ(after(31, 20, 90s), 5s);
    EXPECT_EQ(after(31, 32, 0s), 0s) << "it beats";
}

TEST_F(detection, the_majority_of_coordinators_stays) {
    const auto verdicts = judge_nodes(self, {quiet("hv3", 40s), quiet("hv2", 40s)});
    ASSERT_EQ(verdicts.size(), 2U);
    EXPECT_EQ(verdicts[0], (verdict_on_node{"hv2", dead, {}})) << "hv3 still says run";
    EXPECT_EQ(verdicts[1].what, needed);
    EXPECT_FALSE(majority_stays(self, {quiet("hv2", 40s), quiet("hv3", 40s)}, "hv2", majority_at::before_power_off));
    EXPECT_TRUE(majority_stays(self, {quiet("hv2", 40s), living("hv3")}, "hv2", majority_at::before_power_off));
    auto unheard = quiet("hv3", 15s);
    unheard.was_seen_to_beat = false;
    EXPECT_FALSE(majority_stays(self, {quiet("hv2", 40s), unheard}, "hv2", majority_at::before_power_off))
        << "this daemon has just started, and hv3 may be silent for hours";
    EXPECT_TRUE(majority_stays(self, {quiet("hv2", 40s), unheard}, "hv2", majority_at::mark));
    self.coordinators = 2;
    EXPECT_FALSE(majority_stays(self, {quiet("hv2", 40s)}, "hv2", majority_at::mark));
    self.coordinators = 1;
    EXPECT_EQ(judge_nodes(self, {quiet("hv4", 40s, false)}).back().what, dead);
}

TEST_F(detection, a_heartbeat_is_at_most_as_old_as_the_look_that_did_not_show_it_over_all_sessions) {
    const time_point start = time_point(1000s);
    heartbeats_seen all;
    EXPECT_EQ(all.silent_at_most("hv2", start), duration::max());
    all.hear("hv2", 20, start);
    EXPECT_FALSE(all.was_seen_to_beat("hv2")) << "it may be as old as it likes";
    EXPECT_EQ(all.silent_at_most("hv2", start + 5s), duration::max());
    all.hear("hv2", 21, start + 5s);
    EXPECT_TRUE(all.was_seen_to_beat("hv2"));
    EXPECT_EQ(all.silent_at_most("hv2", start + 5s), 5s) << "made since the first look";
    all.hear("hv2", 21, start + 10s);
    EXPECT_EQ(all.silent_at_most("hv2", start + 12s), 12s);
    all.hear("hv2", 20, start + 13s);
    EXPECT_EQ(all.silent_at_most("hv2", start + 14s), 14s) << "an older look, of a tick, or of a server that lags";
    all.hear("hv2", 22, start + 15s);
    EXPECT_EQ(all.silent_at_most("hv2", start + 15s), 5s);
    all.hear("hv2", 23, start + 60s);
    EXPECT_EQ(all.silent_at_most("hv2", start + 60s), 45s) << "who did not look for 45 s does not know";
    all.hear("hv2", 24, start + 65s);
    EXPECT_EQ(all.silent_at_most("hv2", start + 66s), 6s);
    EXPECT_FALSE(all.was_seen_to_beat("hv3"));
}

TEST_F(detection, a_heartbeat_that_may_be_older_than_a_living_nodes_does_not_count) {
    const auto with = [&](duration age) {
        return majority_stays(self, {quiet("hv2", 40s), quiet("hv3", age)}, "hv2", majority_at::before_power_off);
    };
    EXPECT_TRUE(with(35s)) << "dead after 30 s, and seen with the look after it";
    EXPECT_FALSE(with(35s + 1ms));
}

TEST_F(detection, AC52_hypervisors_are_not_limited) {
    const auto verdicts =
        judge_nodes(self, {living("hv2"), living("hv3"), quiet("hv5", 40s, false), quiet("hv4", 40s, false)});
    EXPECT_EQ(verdicts[2], (verdict_on_node{"hv4", dead, {}}));
    EXPECT_EQ(verdicts[3], (verdict_on_node{"hv5", dead, {}}));
}

TEST_F(detection, a_storm_is_waited_out_but_for_what_is_known) {
    auto of_five = std::vector{living("hv2"), living("hv3"), quiet("hv4", 31s, false), quiet("hv5", 12s, false),
                               quiet("hv6", 40s, false)};
    const auto verdict_on = [&](std::size_t place) { return judge_nodes(self, of_five)[place].what; };
    EXPECT_EQ(verdict_on(2), storm) << "three of five";
    EXPECT_EQ(verdict_on(3), node_verdict::silent);
    EXPECT_EQ(verdict_on(4), storm);
    of_five[4].is_lease_over = true;
    EXPECT_EQ(verdict_on(4), dead);
    of_five[4].is_lease_over = false;
    of_five[4].power = seen_power::off;
    EXPECT_EQ(verdict_on(4), seen_off);
    of_five[4].power = seen_power::untold;
    of_five[4].silent_for = 62s;  // not within 30 s of hv4 and hv5
    EXPECT_EQ(verdict_on(2), dead);
    EXPECT_EQ(verdict_on(4), dead);
    for (const std::size_t place : {2U, 3U, 4U}) {
        of_five[place].silent_for = 10min;
    }
    EXPECT_EQ(verdict_on(2), dead) << "it has lasted";
    of_five.push_back(living("hv7", false));
    for (const std::size_t place : {2U, 3U, 4U}) {
        of_five[place].silent_for = 40s;
    }
    EXPECT_EQ(verdict_on(2), dead) << "three of six are not more than half";
}

}  // namespace
}  // namespace pvc::policy
