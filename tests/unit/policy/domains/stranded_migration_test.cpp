// README ruling 30: a sender that never sends.
#include "pvcnoded/policy/domains/stranded_migration.hpp"

#include <gtest/gtest.h>

#include <functional>

namespace pvc::policy {
namespace {

using namespace std::chrono_literals;
using model::daemon_state;

time_point moment(duration time) {
    return time_point(1000s + time);
}

// hv2 runs it and does nothing; hv3 does not have it.
stranded_look idle() {
    return {.nodes = {{"hv2", daemon_state::run, holding::runs}, {"hv3", daemon_state::run, holding::nothing}},
            .changed = 7};
}

TEST(stranded_migration, after_two_minutes_of_looks_that_agree) {
    stranded_sender sender;
    for (int i = 0; i < 12; ++i) {
        EXPECT_FALSE(is_stranded(sender, moment(10s * i)));
        sender = follow(sender, idle(), moment(10s * i));
        EXPECT_EQ(sender.node, "hv2");
    }
    sender = follow(sender, idle(), moment(119s));
    EXPECT_FALSE(is_stranded(sender, moment(120s - 1ms)));
    EXPECT_TRUE(is_stranded(sender, moment(120s)));
}

TEST(stranded_migration, never_while_there_is_doubt) {
    struct row {
        const char* what;
        std::function<void(stranded_look&)> change;
    };
    const row rows[] = {
        {"nobody has it", [](auto& look) { look.nodes[0].what = holding::nothing; }},
        {"two have it", [](auto& look) { look.nodes[1].what = holding::runs; }},
        {"a copy that does not run is elsewhere", [](auto& look) { look.nodes[1].what = holding::other; }},
        {"it does not run where it is", [](auto& look) { look.nodes[0].what = holding::other; }},
        {"somebody does not answer", [](auto& look) { look.nodes[1].what = holding::unknown; }},
        {"its daemon starts", [](auto& look) { look.nodes[0].daemon = daemon_state::init; }},
        {"its daemon is stopped", [](auto& look) { look.nodes[0].daemon = daemon_state::stop; }},
        {"its node is dead: a fence decides", [](auto& look) { look.nodes[0].daemon = daemon_state::dead; }},
        {"somebody contends", [](auto& look) { look.is_contended = true; }},
        {"there is no other node", [](auto& look) { look.nodes.clear(); }},
    };
    for (const auto& row : rows) {
        auto look = idle();
        row.change(look);
        stranded_sender sender;
        for (int i = 0; i <= 100; ++i) {
            sender = follow(sender, look, moment(10s * i));
            EXPECT_FALSE(is_stranded(sender, moment(10s * i))) << row.what;
        }
        // And a single such look begins the two minutes anew.
        sender = follow({}, idle(), moment(0s));
        sender = follow(sender, look, moment(110s));
        sender = follow(sender, idle(), moment(119s));
        EXPECT_FALSE(is_stranded(sender, moment(238s))) << row.what;
        EXPECT_TRUE(is_stranded(sender, moment(239s))) << row.what;
    }
}

TEST(stranded_migration, any_change_begins_the_two_minutes_anew) {
    auto look = idle();
    auto sender = follow({}, look, moment(0s));
    look.changed = 8;
    sender = follow(sender, look, moment(119s));
    EXPECT_FALSE(is_stranded(sender, moment(200s)));
    EXPECT_TRUE(is_stranded(sender, moment(239s)));
    look.nodes[0].name = "hv4";
    sender = follow(sender, look, moment(240s));
    EXPECT_FALSE(is_stranded(sender, moment(241s)));
}

TEST(stranded_migration, the_home_node_after_it) {
    EXPECT_EQ(last_node_after_return("hv2", "hv2"), "");
    EXPECT_EQ(last_node_after_return("hv2", ""), "");
    EXPECT_EQ(last_node_after_return("hv2", "hv3"), "hv3");
}

}  // namespace
}  // namespace pvc::policy
