// networking.md 4.4: functions whose machine is gone are freed, and only those (case 21).
#include "pvcnoded/policy/networks/function_release.hpp"

#include <gtest/gtest.h>

namespace pvc::policy {
namespace {

using namespace std::chrono_literals;
using names = std::vector<std::string>;

constexpr time_point start{100s};
const std::string web = "00000000-0000-0000-0000-00000000000a";
const std::string db = "00000000-0000-0000-0000-00000000000b";

function_use use(const std::string& by, std::int64_t written = 1, bool is_used = true) {
    return {"ens1f1v0", is_used, by, written};
}

TEST(function_releases, case_21_a_function_of_a_machine_that_is_no_more) {
    function_releases releases;
    const names domains{db};
    releases.see(start, {use(web)}, &domains);
    EXPECT_TRUE(releases.due(start).empty()) << "its keys may be written before the machine's";
    EXPECT_EQ(releases.next(), start + 10s);
    releases.see(start + 5s, {use(web)}, &domains);
    EXPECT_EQ(releases.next(), start + 10s);
    EXPECT_EQ(releases.due(start + 10s), names{"ens1f1v0"});
}

TEST(function_releases, who_is_there_keeps_his) {
    function_releases releases;
    const names domains{web};
    releases.see(start, {use(web)}, &domains);
    EXPECT_FALSE(releases.next());
    releases.see(start, {use("00000000-0000-0000-0000-00000000000A")}, &domains);
    EXPECT_FALSE(releases.next()) << "however it is spelled";
    const names odd{"web"};
    releases.see(start, {use("web")}, &odd);
    EXPECT_FALSE(releases.next());
    releases.see(start, {use(db, 1, false)}, &domains);
    EXPECT_FALSE(releases.next()) << "it is not used";
}

TEST(function_releases, one_that_nobody_names_is_free_too) {
    function_releases releases;
    const names domains{web};
    releases.see(start, {use("")}, &domains);
    EXPECT_EQ(releases.due(start + 10s), names{"ens1f1v0"});
    releases.see(start, {use("../web")}, &domains);
    EXPECT_EQ(releases.next(), start + 10s) << "another user";
}

TEST(function_releases, a_list_that_could_not_be_read_proves_nothing) {
    function_releases releases;
    releases.see(start, {use(web)}, nullptr);
    EXPECT_EQ(releases.next(), start + 10s) << "somebody has to look again";
    EXPECT_TRUE(releases.due(start + 60s).empty());
    releases.see(start, {use(web, 1, false)}, nullptr);
    EXPECT_FALSE(releases.next());
    const names empty;
    releases.see(start + 1s, {use(web)}, &empty);
    releases.see(start + 9s, {use(web)}, nullptr);
    EXPECT_TRUE(releases.due(start + 60s).empty()) << "it may have been there meanwhile";
    releases.see(start + 10s, {use(web)}, &empty);
    EXPECT_EQ(releases.next(), start + 20s);
    EXPECT_EQ(releases.due(start + 20s), names{"ens1f1v0"}) << "an empty list that was read is one";
}

TEST(function_releases, whoever_writes_the_keys_meanwhile_has_his_time) {
    function_releases releases;
    const names domains;
    releases.see(start, {use(web, 1)}, &domains);
    releases.see(start + 9s, {use(web, 2)}, &domains);
    EXPECT_EQ(releases.next(), start + 19s);
    releases.see(start + 12s, {use(db, 3)}, &domains);
    EXPECT_EQ(releases.next(), start + 22s);
    const names back{db};
    releases.see(start + 21s, {use(db, 3)}, &back);
    EXPECT_FALSE(releases.next());
}

TEST(function_releases, what_failed_is_tried_again_later) {
    function_releases releases;
    const names domains;
    releases.see(start, {use(web)}, &domains);
    releases.failed("ens1f1v0", start + 10s);
    EXPECT_TRUE(releases.due(start + 19s).empty());
    releases.see(start + 19s, {use(web)}, &domains);
    EXPECT_EQ(releases.due(start + 20s), names{"ens1f1v0"});
    releases.failed("ens9v0", start);
    releases.see(start + 20s, {}, &domains);
    EXPECT_FALSE(releases.next()) << "its keys are gone";
}

}  // namespace
}  // namespace pvc::policy
