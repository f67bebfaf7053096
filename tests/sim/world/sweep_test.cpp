#include "sim/world/sweep.hpp"

#include "sim/world/scenario.hpp"

#include <gtest/gtest.h>

#include <sstream>

namespace pvc::sim {

namespace {

struct swept {
    int status;
    std::string text;
    std::string error;
};

swept do_sweep(const sweep_settings& settings) {
    std::ostringstream out;
    std::ostringstream error;
    const int status = sweep(settings, out, error);
    return {status, out.str(), error.str()};
}

std::uint64_t passed(const std::string& text) {
    const auto last = text.rfind('\n', text.size() - 2);
    return std::stoull(text.substr(last == std::string::npos ? 0 : last + 1));
}

}  // namespace

TEST(sweep, counts_what_it_tried_and_is_the_same_each_time) {
    sweep_settings wanted;
    wanted.operation = "hand-over";
    wanted.fault = "drop hv2";
    wanted.every = 40;
    wanted.pairs = 2;
    const auto one = do_sweep(wanted);
    const auto two = do_sweep(wanted);
    EXPECT_EQ(one.text, two.text);
    EXPECT_EQ(one.status, 0) << one.text;
    EXPECT_GT(passed(one.text), 4U) << one.text;
    EXPECT_NE(one.text.find(" passed, 0 failed\n"), std::string::npos) << one.text;
}

TEST(sweep, its_parts_are_the_whole) {
    sweep_settings wanted;
    wanted.operation = "hand-over";
    wanted.fault = "drop hv2";
    wanted.every = 40;
    const auto whole = do_sweep(wanted);
    wanted.parts = 2;
    const auto first = do_sweep(wanted);
    wanted.part = 2;
    const auto second = do_sweep(wanted);
    EXPECT_EQ(passed(whole.text), passed(first.text) + passed(second.text));
}

TEST(sweep, knows_its_operations_and_faults) {
    sweep_settings wanted;
    wanted.operation = "dance";
    EXPECT_EQ(do_sweep(wanted).status, 2);
    wanted.operation = "start";
    wanted.fault = "dance";
    EXPECT_EQ(do_sweep(wanted).status, 2);
}

TEST(scenario, a_reference_node_can_be_named) {
    const auto parsed = parse_scenario(
        "nodes hv1\nreference hv3\nsetting all hypervisor on\ndefine-guest hv3 1 acpi\nstart hv1\nstart hv3\n"
        "until hv1 runs within 60s\nuntil hv3 runs within 60s\nset-guest 1 start\nuntil guest 1 runs hv3 within 30s\n"
        "expect not guest 1 off\nexpect not hv3 ended\n");
    ASSERT_TRUE(parsed) << parsed.error().text();
    EXPECT_EQ(parsed->world.nodes.front().coordinators, (std::vector<std::string>{"hv1", "hv3"}));
    EXPECT_EQ(run_scenario(*parsed).failed, "");
}

TEST(scenario, all_is_well_says_what_is_missing) {
    const auto parsed = parse_scenario("nodes hv1\nexpect all is well\n");
    ASSERT_TRUE(parsed);
    EXPECT_EQ(run_scenario(*parsed).failed, "line 2: not so: all is well: all_run: hv1 is not there");
}

}  // namespace pvc::sim
