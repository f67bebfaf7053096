// The mark of a flush that shut a machine down, and who ends it (node-lifecycle.md 8.1 5a, 8.2).
#include "domain_effects.hpp"

namespace pvc::node {
namespace {

using hypervisor::call_error;
using domain_flush_mark = effects_test;

TEST_F(domain_flush_mark, who_starts_it_ends_the_mark_of_a_flush) {
    define("stop", "hv1", "", {{"/node_autostart", "True"}});
    settled_host();
    set("start");
    pass(5s);
    expect_running();
    EXPECT_EQ(value(key("/node_autostart")), "False");
    EXPECT_EQ(version(key("/state")), 1);
}

// Whatever becomes of the start: who stops it then wants it off.
TEST_F(domain_flush_mark, a_start_that_fails_ends_the_mark_too) {
    define("stop", "hv1", "", {{"/node_autostart", "True"}});
    settled_host();
    guest().fail_next("create", refusal(call_error::other, "no disk"));
    set("start");
    pass(1s);
    EXPECT_EQ(state(), "fail");
    EXPECT_EQ(value(key("/node_autostart")), "False");
}

TEST_F(domain_flush_mark, a_start_that_is_taken_back_ends_the_mark_too) {
    define("stop", "hv1", "", {{"/node_autostart", "True"}});
    settled_host();
    guest().delay_next("create", 8s);
    set("start");
    pass(100ms);
    set("stop");
    pass(20s);
    expect_off("stop");
    EXPECT_EQ(value(key("/node_autostart")), "False");
}

TEST_F(domain_flush_mark, a_start_while_libvirt_is_away_ends_the_mark_too) {
    define("stop", "hv1", "", {{"/node_autostart", "True"}});
    settled_host();
    machine().kill_libvirtd();
    pass(2s);
    set("start");
    pass(1s);
    set("stop");
    pass(1s);
    machine().start_libvirtd();
    pass(20s);
    EXPECT_EQ(value(key("/node_autostart")), "False");
    EXPECT_EQ(state(), "stop");
}

TEST_F(domain_flush_mark, a_mark_that_came_after_the_start_stands) {
    define("start", "hv1");
    settled_host();
    pass(5s);
    ensemble.put(key("/node_autostart"), "True");
    guest().crash();
    pass(20s);
    expect_running();
    EXPECT_EQ(count("create U1"), 1U);
    EXPECT_EQ(value(key("/node_autostart")), "True");
}

}  // namespace
}  // namespace pvc::node
