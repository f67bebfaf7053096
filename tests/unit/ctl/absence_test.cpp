// What is known of a daemon that does not listen, and the programs that are run for it.
#include "pvcnoded/ctl/absence.hpp"
#include "pvcnoded/ctl/program.hpp"
#include "pvcnoded/ctl/tables.hpp"

#include <gtest/gtest.h>
#include <boost/json/serialize.hpp>

namespace pvc::ctl {
namespace {

using namespace std::chrono_literals;

traces failed_daemon() {
    return {.note = "boot-a 1000000000 77 primary\n",
            .boot_id = "boot-a",
            .boot_ns = 13'500'000'000,
            .unit =
                "LoadState=loaded\nActiveState=failed\nSubState=failed\nResult=exit-code\nExecMainStatus=78\n"
                "StateChangeTimestamp=Mon 2026-02-02 10:00:00 UTC\n",
            .unit_problem = {}};
}

TEST(ctl_absence, heartbeat_and_unit) {
    const auto found = failed_daemon();
    EXPECT_EQ(boost::json::serialize(describe(found)),
              R"({"state":"absent","heartbeat":{"age_s":1.25E1,"role":"primary","is_of_this_boot":true},)"
              R"("unit":{"name":"pvcnoded.service","load_state":"loaded","active_state":"failed",)"
              R"("sub_state":"failed","result":"exit-code","since":"Mon 2026-02-02 10:00:00 UTC","exit_status":78},)"
              R"("unit_problem":null})");
    EXPECT_EQ(table("absent", describe(found), false),
              "state           no pvcnoded listens\n"
              "heartbeat       12.5 s ago, the last one that was acknowledged (role primary)\n"
              "unit            pvcnoded.service: failed (failed), since Mon 2026-02-02 10:00:00 UTC, result exit-code, "
              "exit status 78\n");
}

TEST(ctl_absence, what_is_not_there_is_said) {
    traces found = failed_daemon();
    found.boot_id = "boot-b";
    found.unit = "LoadState=not-found\nActiveState=inactive\n";
    EXPECT_EQ(table("absent", describe(found), false),
              "state           no pvcnoded listens\n"
              "heartbeat       before this boot\n"
              "unit            pvcnoded.service is not installed\n");
    found.unit = "what is this\n";
    EXPECT_TRUE(table("absent", describe(found), false).ends_with("unit            systemctl says nothing of it\n"));
    found.unit.reset();
    found.unit_problem = "systemctl: timed out";
    for (const auto& [note, line] : std::vector<std::pair<std::optional<std::string>, std::string>>{
             {std::nullopt, "none is noted"},
             {"", "none is noted"},
             {"a b c", "none is noted"},
             {"boot-b x 1 primary", "none is noted"},
             {"boot-b 0 1 client", "none was acknowledged"},
             {"boot-b -5 1 client", "none was acknowledged"},
             {"boot-b 99999999999999 1 client", "none was acknowledged"}}) {
        found.note = note;
        EXPECT_EQ(table("absent", describe(found), false), "state           no pvcnoded listens\nheartbeat       " +
                                                               line + "\nunit            systemctl: timed out\n");
    }
}

TEST(ctl_program, output_status_and_environment) {
    const auto said = run_program({"sh", "-c", "echo out $TESTED; echo err >&2; cat; exit 7"}, 10s, {"TESTED=yes"});
    ASSERT_TRUE(said);
    EXPECT_EQ(said->out, "out yes\n");
    EXPECT_EQ(said->err, "err\n");
    EXPECT_EQ(said->status, 7);
    const auto killed = run_program({"sh", "-c", "kill -9 $$"}, 10s);
    ASSERT_TRUE(killed);
    EXPECT_EQ(killed->status, 137);
}

TEST(ctl_program, what_goes_wrong) {
    EXPECT_EQ(run_program({"/no/such/program"}, 10s).error().code(), errc::not_found);
    EXPECT_EQ(run_program({"sleep", "100"}, 50ms).error().code(), errc::timed_out);
    EXPECT_EQ(run_program({"sh", "-c", "exec >&- 2>&-; sleep 100"}, 50ms).error().code(), errc::timed_out);
    EXPECT_EQ(run_program({"yes"}, 10s).error().code(), errc::too_large);
}

}  // namespace
}  // namespace pvc::ctl
