#include "sim/world/registry.hpp"

#include <gtest/gtest.h>

namespace pvc::sim {

using namespace std::chrono_literals;

TEST(action, every_kind_reads_back_from_its_own_text) {
    for (const auto* kind : all_subjects().actions()) {
        const auto& info = *kind;
        action what(info);
        for (const char kind : info.takes) {
            switch (kind) {
                case 'n': what.node = "hv1"; break;
                case 'd': what.amount = 1500ms; break;
                case 'i': what.number = -42; break;
                case 'p': what.path = "/config/primary_node"; break;
                default: what.value = info.words ? std::string(info.words->first) : "on"; break;
            }
        }
        if (info.can_last) {
            what.lasts = 10s;
        }
        if (info.numbers) {
            what.number = info.numbers->second;
        }
        what.after_steps = 17;
        const std::string line = to_text(what);
        const auto again = parse_action(line);
        ASSERT_TRUE(again) << line << ": " << again.error().text();
        EXPECT_EQ(to_text(*again), line);
        EXPECT_EQ(again->kind, &info);
        EXPECT_EQ(again->lasts, what.lasts) << line;
        EXPECT_EQ(again->after_steps, what.after_steps) << line;
    }
}

TEST(action, says_what_was_expected_and_what_it_got) {
    const auto cause = [](std::string_view line) {
        const auto parsed = parse_action(line);
        return parsed ? "understood" : parsed.error().text();
    };
    EXPECT_NE(cause("explode hv1").find("no such action"), std::string::npos);
    EXPECT_NE(cause("cut").find("expected a node"), std::string::npos);
    EXPECT_NE(cause("cut hv1 for ever").find("a duration after `for`"), std::string::npos);
    EXPECT_NE(cause("cut hv1 loudly").find("got \"loudly\""), std::string::npos);
    EXPECT_NE(cause("latency hv1 fast").find("a duration like"), std::string::npos);
    EXPECT_NE(cause("put config x").find("a path that begins with /"), std::string::npos);
    EXPECT_NE(cause("put-big /x -1").find("0 to 10000000"), std::string::npos);
    EXPECT_NE(cause("delete /").find("the path of a key"), std::string::npos);
    EXPECT_NE(cause("put /a/../b x").find("the path of a key"), std::string::npos);
    EXPECT_NE(cause("latency hv1 -1s").find("not negative"), std::string::npos);
    EXPECT_NE(cause("maintenance foo").find("on or off"), std::string::npos);
    EXPECT_NE(cause("kill hv1 after 18446744073709551615 steps").find("at most"), std::string::npos);
    EXPECT_NE(cause("kill hv1 after a while").find("`after N steps`"), std::string::npos);
}

TEST(action, durations_are_exact) {
    EXPECT_EQ(parse_duration("1.5s"), 1500ms);
    EXPECT_EQ(parse_duration("-3h"), -3h);
    EXPECT_EQ(parse_duration("0.0005ms"), 500ns);
    EXPECT_EQ(parse_duration("20min"), 20min);
    for (const std::string_view bad :
         {"", "s", "1", "1.2.3s", "1 s", "1d", "--1s", "99999999999999999999s", "300000h1"}) {
        EXPECT_FALSE(parse_duration(bad)) << bad;
    }
    EXPECT_EQ(duration_text(1500ms), "1500ms");
    EXPECT_EQ(duration_text(90s), "90s");
}

}  // namespace pvc::sim
