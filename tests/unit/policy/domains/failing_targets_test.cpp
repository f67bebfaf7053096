// README rulings 21, 78: which nodes a flush leaves out, for how long, and whose failures count.
#include "pvcnoded/policy/domains/failing_targets.hpp"

#include <gtest/gtest.h>

namespace pvc::policy {
namespace {

using namespace std::chrono_literals;
using names = std::set<std::string>;

const uuid web = *parse_uuid("00000001-aaaa-4bbb-8ccc-000000000001");
const uuid db = *parse_uuid("00000002-aaaa-4bbb-8ccc-000000000002");
constexpr time_point beginning{100s};

TEST(failing_targets, two_machines_that_fail_for_its_own_reasons_leave_a_node_out) {
    failing_targets f;
    EXPECT_FALSE(f.failed(web, "hv2", move_fault::target, beginning));
    EXPECT_EQ(f.left_out(beginning), names());
    EXPECT_FALSE(f.failed(db, "hv3", move_fault::target, beginning + 1s)) << "of another node";
    EXPECT_FALSE(f.failed(web, "hv2", move_fault::target, beginning + 1s)) << "the same machine once more";
    EXPECT_EQ(f.left_out(beginning + 1s), names());
    EXPECT_TRUE(f.failed(db, "hv2", move_fault::target, beginning + 2s));
    EXPECT_EQ(f.left_out(beginning + 2s), names{"hv2"});
}

TEST(failing_targets, for_ten_minutes_since_the_last) {
    failing_targets f;
    f.failed(web, "hv2", move_fault::target, beginning);
    f.failed(db, "hv2", move_fault::target, beginning + 60s);
    EXPECT_EQ(f.left_out(beginning + 60s + 10min - 1s), names{"hv2"});
    EXPECT_EQ(f.left_out(beginning + 60s + 10min), names());
    EXPECT_FALSE(f.failed(web, "hv2", move_fault::target, beginning + 20min)) << "counted anew";
    EXPECT_EQ(f.left_out(beginning + 20min), names());
    EXPECT_TRUE(f.failed(db, "hv2", move_fault::target, beginning + 21min));
}

TEST(failing_targets, what_a_libvirt_answers_says_nothing_about_its_node) {
    failing_targets f;
    EXPECT_FALSE(f.failed(web, "hv2", move_fault::machine, beginning));
    EXPECT_FALSE(f.failed(db, "hv2", move_fault::machine, beginning));
    EXPECT_EQ(f.left_out(beginning), names());
    EXPECT_EQ(f.refused(web), names{"hv2"});
    EXPECT_EQ(f.tried_by(web), names{"hv2"});
    EXPECT_FALSE(f.failed(web, "hv3", move_fault::target, beginning));
    EXPECT_EQ(f.refused(web), names{"hv2"});
    EXPECT_EQ(f.tried_by(web), (names{"hv2", "hv3"}));
    EXPECT_FALSE(f.failed(db, "hv3", move_fault::neither, beginning)) << "nobody's";
    EXPECT_EQ(f.left_out(beginning), names());
    EXPECT_EQ(f.tried_by(db), names{"hv2"});
}

}  // namespace
}  // namespace pvc::policy
