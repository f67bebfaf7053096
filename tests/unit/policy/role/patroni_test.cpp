// What a run of patronictl comes to, and when it runs again: node-lifecycle.md 7.5, AC84. The outputs are recorded
// (tests/data/patroni/README.md) or, where Patroni cannot be brought to it, the test's own.
#include "pvcnoded/policy/role/patroni.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>

namespace pvc::policy {
namespace {

using namespace std::chrono_literals;

std::string recorded(const std::string& name) {
    std::ifstream file(PVC_SOURCE_DIR "/tests/data/patroni/" + name);
    return {std::istreambuf_iterator<char>(file), {}};
}

struct recorded_row {
    const char* name;
    int exit_status;
    bool is_ours;
    const char* reason;
};

TEST(patroni, ac84_what_patronictl_really_prints) {
    const recorded_row rows[] = {
        {"switched_over", 0, true, ""},
        {"is_leader_already", 1, true, ""},
        {"leader_silent", 0, true, ""},
        {"no_good_candidate", 0, false,
         "Switchover failed, details: 412, switchover is not possible: no good candidates have been found"},
        {"refused_by_leader", 0, false, "Switchover failed, details: 503, Switchover failed"},
        {"status_unknown", 0, false, "Switchover failed, details: 503, Switchover status unknown"},
        {"no_leader", 1, false, "Error: This cluster has no leader"},
        {"not_a_member", 1, false, "Error: Member hv1 does not exist in cluster pvc"},
        {"no_cluster", 1, false, "Error: This cluster has no leader"},
        {"config_missing", 1, false,
         "Error: Provided config file /etc/patroni/config.yml not existing or no read rights. Check the "
         "-c/--config-file parameter"},
    };
    for (const auto& row : rows) {
        const std::string name = row.name;
        const std::string output = recorded(name + ".stdout");
        const std::string errors = recorded(name + ".stderr");
        EXPECT_FALSE(output.empty() && errors.empty()) << name;
        const auto judged = judge_patroni({.output = output, .error_output = errors, .exit_status = row.exit_status});
        EXPECT_EQ(judged.is_ours, row.is_ours) << name;
        EXPECT_EQ(judged.reason, row.reason) << name;
    }
}

struct line_row {
    std::string_view output;
    std::string_view error_output;
    std::optional<int> exit_status;
    bool is_ours;
    std::string_view reason;
};

// The rows of the table, in its order; each with both ways to end where that must not matter.
TEST(patroni, ac84_each_row_of_the_table) {
    const line_row rows[] = {
        {"", "Error: Switchover target and source are the same.\n", 1, true, ""},
        {"", "Error: Switchover target and source are the same.\n", 0, true, ""},
        {"Switchover TARGET and source are the same", "", std::nullopt, true, ""},
        {"Switchover failed, details: 412, no", "", 0, false, "Switchover failed, details: 412, no"},
        {"Switchover failed, details: 412, no", "", 1, false, "Switchover failed, details: 412, no"},
        {"", "Error: no leader\n", 1, false, "Error: no leader"},
        {"", "Error: no leader\n", 0, false, "Error: no leader"},
        {"+----+\n| it |\n+----+\n", "", 0, true, ""},
        {"+----+\n| it |\n+----+\n", "", 1, false, "it ended with exit status 1: +----+"},
        {"", "", 0, true, ""},
        {"", "", 3, false, "it ended with exit status 3"},
        {"", "", std::nullopt, false, "it ended with signal 9"},
        // The first word alone is no row of ours: the exit status decides.
        {"Error in a log line", "", 0, true, ""},
        {"Error in a log line", "", 1, false, "it ended with exit status 1: Error in a log line"},
    };
    for (const auto& row : rows) {
        const std::string how = row.exit_status ? "exit status " + std::to_string(*row.exit_status) : "signal 9";
        const auto judged = judge_patroni({.output = row.output,
                                           .error_output = row.error_output,
                                           .exit_status = row.exit_status,
                                           .how_it_ended = how});
        EXPECT_EQ(judged.is_ours, row.is_ours) << row.output << row.error_output;
        EXPECT_EQ(judged.reason, row.reason) << row.output << row.error_output;
    }
}

// A client library that lost a server of ZooKeeper says so whenever it likes, as the last line of standard error too.
TEST(patroni, ac84_lines_of_loggers_hide_nothing) {
    const std::string refusal =
        "Switchover failed, details: 412, switchover is not possible: no good candidates have been found";
    const std::string dropped =
        "2026-01-02 03:04:05,678 - WARNING - Connection dropped: socket connection error: Connection refused";
    for (const std::string& logged :
         {dropped, dropped + "\n" + dropped, std::string("WARNING:kazoo.client:it dropped"),
          std::string("2026-01-02 03:04:05,678 - ERROR - Error: target and source are the same")}) {
        for (const std::string& errors : {logged + "\n", "\n" + logged}) {
            EXPECT_EQ(judge_patroni({.output = "Current cluster topology\n(table)\n" + refusal + "\n",
                                     .error_output = errors,
                                     .exit_status = 0}),
                      (patroni_judgement{false, refusal}))
                << logged;
            EXPECT_EQ(judge_patroni({.output = refusal + "\n" + logged, .error_output = errors, .exit_status = 0}),
                      (patroni_judgement{false, refusal}));
            EXPECT_EQ(judge_patroni({.error_output = "Error: This cluster has no leader\n" + errors, .exit_status = 1}),
                      (patroni_judgement{false, "Error: This cluster has no leader"}));
            EXPECT_TRUE(judge_patroni({.output = "(table)",
                                       .error_output = "Error: Switchover target and source are the same.\n" + errors,
                                       .exit_status = 1})
                            .is_ours);
            EXPECT_TRUE(judge_patroni({.output = "(table)\n", .error_output = errors, .exit_status = 0}).is_ours);
        }
    }
    EXPECT_EQ(judge_patroni({.output = "(table)",
                             .error_output = "cannot connect\n" + dropped,
                             .exit_status = 1,
                             .how_it_ended = "exit status 1"})
                  .reason,
              "it ended with exit status 1: cannot connect");
    EXPECT_EQ(
        judge_patroni({.output = "(table)", .error_output = dropped, .exit_status = 1, .how_it_ended = "exit status 1"})
            .reason,
        "it ended with exit status 1: " + dropped);
}

TEST(patroni, every_line_counts_that_tells_how_it_went) {
    EXPECT_FALSE(judge_patroni({.output = "Switchover failed, once\nhv1 leads\n", .exit_status = 0}).is_ours);
    EXPECT_FALSE(judge_patroni({.output = "hv1 leads\n  Switchover failed, once \n\n \n", .exit_status = 0}).is_ours);
    // Standard error comes after standard output, also where that does not end its line.
    EXPECT_FALSE(judge_patroni({.output = "a topology", .error_output = "Error: no leader", .exit_status = 0}).is_ours);
    EXPECT_FALSE(judge_patroni({.output = "Error: no", .error_output = "a warning", .exit_status = 0}).is_ours);
    EXPECT_EQ(judge_patroni({.output = "Error: no", .error_output = "Error: neither", .exit_status = 0}).reason,
              "Error: neither");
    EXPECT_TRUE(judge_patroni({.output = "done, no Switchover failed, once", .exit_status = 0}).is_ours);
}

TEST(patroni, any_bytes_become_a_short_printable_reason) {
    const std::string flood(100'000, '\xff');
    const auto judged = judge_patroni({.output = flood, .exit_status = 1, .how_it_ended = "exit status 1"});
    EXPECT_FALSE(judged.is_ours);
    EXPECT_LE(judged.reason.size(), 2 * patroni_reason_max + 20);
    EXPECT_TRUE(std::ranges::all_of(judged.reason, [](char one) { return one >= ' ' && one <= '~'; }));
    const std::string invalid = "Error: \xc3\x28\x00 caf\xc3\xa9";
    EXPECT_EQ(judge_patroni({.output = invalid, .exit_status = 1}).reason.substr(0, 9), "Error: ?(");
}

// What came last was dropped: it may have been a failure with exit status 0.
TEST(patroni, an_output_without_its_end_is_a_failure) {
    const auto judged = judge_patroni({.output = "+----+", .exit_status = 0, .is_truncated = true});
    EXPECT_FALSE(judged.is_ours);
    EXPECT_EQ(judged.reason, "it printed more than can be judged");
}

TEST(patroni, the_command_is_as_specified) {
    EXPECT_EQ(patroni_command("hv1"), (std::vector<std::string>{"patronictl", "-c", "/etc/patroni/config.yml",
                                                                "switchover", "--candidate", "hv1", "--force", "pvc"}));
}

// ---- tries
// ------------------------------------------------------------------------------------------------------------

using ask = claiming_database::ask;

time_point moment_at(duration since) {
    return time_point{} + 100s + since;
}
claiming_database::event failed_at(duration since) {
    return {moment_at(since), patroni_judgement{false, "no"}};
}

TEST(claiming_database, ac84_five_tries_five_seconds_apart_and_then_it_is_settled) {
    claiming_database it;
    duration now = 0s;
    for (unsigned number = 1; number <= 5; ++number) {
        const auto begun = it.resume({moment_at(now)});
        ASSERT_EQ(begun.what, ask::run) << number;
        EXPECT_EQ(begun.until, moment_at(now + 10s));
        EXPECT_FALSE(it.is_settled()) << number;
        const auto next = it.resume(failed_at(now));
        EXPECT_EQ(next.what, ask::wait);
        EXPECT_EQ(it.is_settled(), number == 5) << number;
        EXPECT_EQ(next.until, moment_at(now + (number == 5 ? 30s : 5s)));
        now += number == 5 ? 0s : 5s;
    }
    EXPECT_EQ(now, 20s);
    EXPECT_FALSE(it.is_ours());
    EXPECT_EQ(it.reason, "no");
}

TEST(claiming_database, the_pause_counts_from_the_end_of_a_run) {
    claiming_database it;
    EXPECT_EQ(it.resume({moment_at(0s)}).what, ask::run);
    EXPECT_EQ(it.resume(failed_at(9s)).until, moment_at(14s));
    // Resumed early it goes on waiting for the same.
    const auto early = it.resume({moment_at(13999ms)});
    EXPECT_EQ(early.what, ask::wait);
    EXPECT_EQ(early.until, moment_at(14s));
    EXPECT_EQ(it.resume({moment_at(14s)}).what, ask::run);
}

TEST(claiming_database, a_success_ends_it_at_once) {
    claiming_database it;
    EXPECT_EQ(it.resume({moment_at(0s)}).what, ask::run);
    EXPECT_EQ(it.resume({moment_at(1s), patroni_judgement{true, {}}}).what, ask::nothing);
    EXPECT_TRUE(it.is_ours());
    EXPECT_TRUE(it.is_settled());
    EXPECT_EQ(it.resume({moment_at(100s)}).what, ask::nothing);
}

TEST(claiming_database, case_82_once_settled_it_is_tried_every_half_minute_until_it_succeeds) {
    claiming_database it;
    it.where = claiming_database::at::pausing;
    it.tries = claiming_database::first_tries;
    it.is_given_up = true;
    it.again_at = moment_at(0s);
    for (int number = 0; number < 20; ++number) {
        EXPECT_EQ(it.resume({moment_at(number * 30s)}).what, ask::run);
        EXPECT_EQ(it.resume(failed_at(number * 30s)).until, moment_at((number + 1) * 30s));
        EXPECT_TRUE(it.is_settled());
    }
    EXPECT_EQ(it.resume({moment_at(600s)}).what, ask::run);
    EXPECT_EQ(it.resume({moment_at(601s), patroni_judgement{true, {}}}).what, ask::nothing);
    EXPECT_TRUE(it.is_ours());
    EXPECT_EQ(it.reason, "");
}

TEST(claiming_database, without_the_program_one_try_settles_it) {
    claiming_database it;
    EXPECT_EQ(it.resume({moment_at(0s)}).what, ask::run);
    const auto next = it.resume({moment_at(0s), patroni_judgement{false, "no such program"}, true});
    EXPECT_EQ(next.what, ask::wait);
    EXPECT_EQ(next.until, moment_at(30s));
    EXPECT_TRUE(it.is_settled());
    EXPECT_FALSE(it.is_ours());
    // It stays so when somebody installs it, and Patroni refuses.
    EXPECT_EQ(it.resume({moment_at(30s)}).what, ask::run);
    EXPECT_EQ(it.resume(failed_at(30s)).until, moment_at(60s));
    EXPECT_TRUE(it.is_settled());
}

TEST(claiming_database, an_answer_that_never_came_counts_as_a_failure) {
    claiming_database it;
    EXPECT_EQ(it.resume({moment_at(0s)}).what, ask::run);
    EXPECT_EQ(it.resume({moment_at(1s)}).what, ask::wait);
    EXPECT_EQ(it.tries, 1U);
}

}  // namespace
}  // namespace pvc::policy
