#include "sim/world/scenario.hpp"

#include <gtest/gtest.h>

namespace pvc::sim {

using namespace std::chrono_literals;

std::string refusal(std::string_view text) {
    const auto parsed = parse_scenario(text);
    return parsed ? "accepted" : parsed.error().text();
}

TEST(scenario, is_read_with_its_outcome) {
    const auto parsed = parse_scenario(
        "# Title.\nnodes hv1 hv2\nhypervisors hv3\nsetting all keepalive_interval 2\nstart hv1\n"
        "until hv1 runs within 10s\nexpect not /a = b c\nhold hv1 is primary for 1.5s\nwait 20ms\n\noutcome\nwrites of "
        "hv1\n  tick\n");
    ASSERT_TRUE(parsed) << parsed.error().text();
    EXPECT_EQ(parsed->title, "Title.");
    ASSERT_EQ(parsed->world.nodes.size(), 3U);
    EXPECT_EQ(parsed->world.nodes[2].coordinators, (std::vector<std::string>{"hv1", "hv2"}));
    EXPECT_EQ(parsed->world.nodes[1].keepalive_interval, 2);
    ASSERT_EQ(parsed->steps.size(), 5U);
    EXPECT_EQ(parsed->steps[1].time, 10s);
    EXPECT_TRUE(parsed->steps[2].asked.is_negated);
    EXPECT_EQ(parsed->steps[2].asked.text, "b c");
    EXPECT_EQ(parsed->outcome, (std::vector<std::string>{"writes of hv1", "  tick"}));
}

TEST(scenario, refusals_name_the_line) {
    EXPECT_NE(refusal("").find("names no nodes"), std::string::npos);
    EXPECT_NE(refusal("nodes hv1\nstart hv2\n").find("line 2"), std::string::npos);
    EXPECT_NE(refusal("nodes hv1\nuntil hv1 runs\n").find("within DURATION"), std::string::npos);
    EXPECT_NE(refusal("nodes hv1\nuntil hv1 sings within 1s\n").find("got \"sings\""), std::string::npos);
    EXPECT_NE(refusal("nodes hv1 hv1\n").find("each once"), std::string::npos);
    EXPECT_NE(refusal("nodes hv1\nschema 99\n").find("0 to 15"), std::string::npos);
    EXPECT_NE(refusal("nodes hv1\nsetting hv1 colour blue\n").find("keepalive_interval"), std::string::npos);
}

TEST(scenario, an_expectation_that_does_not_hold_names_its_line) {
    const auto parsed = parse_scenario("nodes hv1\nstart hv1\nuntil hv1 runs within 10ms\n");
    ASSERT_TRUE(parsed);
    EXPECT_EQ(run_scenario(*parsed).failed, "line 3: not within 10ms: hv1 runs");
}

TEST(scenario, what_a_node_did_is_counted) {
    const std::string head =
        "nodes hv1\nsetting hv1 hypervisor on\ndefine-guest hv1 1 acpi\nstart hv1\n"
        "until hv1 runs within 30s\nset-guest 1 start\nuntil guest 1 runs hv1 within 10s\n";
    const auto failed = [&](const std::string& line) {
        const auto parsed = parse_scenario(head + line + "\n");
        return parsed ? run_scenario(*parsed).failed : parsed.error().text();
    };
    EXPECT_EQ(failed("expect hv1 called create U1 1 times"), "");
    EXPECT_EQ(failed("expect not hv1 called destroy"), "");
    EXPECT_EQ(failed("expect hv1 wrote set ~/daemonstate = run 1 times"), "");
    EXPECT_EQ(failed("expect hv1 wrote set ~/keepalive = <time>"), "");
    EXPECT_EQ(failed("expect not hv1 wrote ~/daemonstate"), "");  // it begins with what was done
    EXPECT_EQ(failed("expect hv1 logged this node runs 1 times"), "");
    EXPECT_EQ(failed("expect hv1 called create U1 2 times"), "line 8: not so: hv1 called create U1 2 times");
    EXPECT_EQ(failed("expect not hv1 wrote set ~/daemonstate"), "line 8: not so: not hv1 wrote set ~/daemonstate");
    EXPECT_NE(failed("expect hv1 called create U1 few times").find("a number before `times`"), std::string::npos);
    EXPECT_NE(failed("expect hv1 wrote 2 times").find("a text"), std::string::npos);
    EXPECT_NE(refusal("nodes hv1\nreference hv3\nexpect hv3 logged x\n").find("of the reference"), std::string::npos);
}

TEST(scenario, runs_alike_each_time) {
    const auto parsed = parse_scenario(
        "nodes hv1 hv2\nstart hv1\nstart hv2\nuntil hv1 is primary within 10s\nkill hv1 for 3s\nwait 60s\n");
    ASSERT_TRUE(parsed);
    const auto one = run_scenario(*parsed);
    const auto two = run_scenario(*parsed);
    EXPECT_EQ(one.failed, "");
    EXPECT_EQ(one.hash, two.hash);
    EXPECT_EQ(one.outcome, two.outcome);
}

TEST(scenario, an_outcome_begins_when_the_node_has_joined) {
    const std::string start = "nodes hv1\nstart hv1\nuntil hv1 runs within 30s\n";
    const auto begins = [](const std::string& text) {
        const auto parsed = parse_scenario(text);
        return parsed ? run_scenario(*parsed).outcome.at(1) : parsed.error().text();
    };
    const std::string act = "put /config/maintenance true\nwait 20s\n";
    EXPECT_EQ(begins(start + act), "  set ~/memtotal = 16000");
    // Unless it is about joining: nothing else is done, something was done before, or it says so.
    EXPECT_EQ(begins(start), "  open session");
    EXPECT_EQ(begins("nodes hv1\nput /config/maintenance true\nstart hv1\nwait 60s\n"), "  open session");
    EXPECT_EQ(begins("whole outcome\n" + start + act), "  open session");
    EXPECT_NE(refusal("nodes hv1\nwhole thing\n").find("`whole outcome`"), std::string::npos);
}

}  // namespace pvc::sim
