// Other nodes that list a machine, or had it last, and whether they must say that they do not have it (vm-domains.md
// 6.1 step 3, 8.4 R6; README rulings 29, 89): one in `stop` that is silent may be off, or have guests that it lists.
#include "domain_migration_fixture.hpp"

namespace pvc::node {
namespace {

class domain_silent_node : public migration_fixture {
protected:
    // hv3 was stopped in order, and does not answer.
    void hv3_is_silent() {
        ensemble.put("/nodes/hv3/daemonstate", "stop");
        stop_beating("hv3");
        machine("hv3").lose_power();
    }
    void put_silent_node() {
        put_hosts({"hv2", "hv3"});
        hv3_is_silent();
    }
    [[nodiscard]] bool is_created_within(duration time) {
        return run_until([&] { return machine().count("create U1") > 0; }, time);
    }
};

TEST_F(domain_silent_node, every_daemon_that_may_have_it_is_waited_for) {
    put_hosts({"hv2"});
    define("stop", "hv1");
    add_our_host();
    for (const std::string daemon : {"run", "init", "shutdown"}) {
        SCOPED_TRACE(daemon);
        ensemble.put({{"/nodes/hv2/daemonstate", daemon}, {"/nodes/hv2/runningdomains", to_text(u1)}});
        pass(2s);
        machine().clear_calls();
        set("start");
        EXPECT_FALSE(is_created_within(14s)) << hv1().log();
        EXPECT_TRUE(is_created_within(2s)) << "hv2 was asked and does not have it";
        pass(2s);
        set("stop");
        pass(5s);
    }
}

TEST_F(domain_silent_node, it_ran_there_when_it_was_placed_here) {
    put_silent_node();
    ensemble.put("/nodes/hv3/runningdomains", to_text(u1));
    define("start", "hv3");
    add_our_host();
    pass(2s);
    place("start", "hv1", "");
    EXPECT_FALSE(is_created_within(50s)) << hv1().log();
}

// Nobody placed it here while it was seen: it is in that node's list, and that is enough.
TEST_F(domain_silent_node, it_lists_what_is_to_start_here) {
    put_silent_node();
    ensemble.put("/nodes/hv3/runningdomains", to_text(u1));
    define("start", "hv1");
    add_our_host();
    EXPECT_FALSE(is_created_within(200s)) << hv1().log();
    EXPECT_EQ(state(), "start") << "no failure of the machine";
    machine("hv3").power_on();
    EXPECT_TRUE(is_created_within(6s)) << hv1().log();
}

// Nobody sends what was to come.
TEST_F(domain_silent_node, one_that_never_had_it_need_not_answer) {
    put_silent_node();
    define("migrate", "hv1");
    add_our_host();
    EXPECT_FALSE(is_created_within(50s)) << hv1().log();
    EXPECT_TRUE(is_created_within(40s)) << hv1().log();
}

TEST_F(domain_silent_node, it_is_the_last_node) {
    put_silent_node();
    define("migrate", "hv1", "hv3");
    add_our_host();
    EXPECT_FALSE(is_created_within(150s)) << hv1().log();
    EXPECT_EQ(state(), "migrate");
}

TEST_F(domain_silent_node, it_lists_what_is_to_come) {
    put_silent_node();
    ensemble.put("/nodes/hv3/runningdomains", to_text(u1));
    define("migrate", "hv1");
    add_our_host();
    EXPECT_FALSE(is_created_within(150s)) << hv1().log();
    EXPECT_EQ(state(), "migrate");
}

TEST_F(domain_silent_node, it_was_the_owner_of_what_is_to_come) {
    put_silent_node();
    define("start", "hv3");
    add_our_host();
    pass(2s);
    place("migrate", "hv1", "");
    EXPECT_FALSE(is_created_within(150s)) << hv1().log();
    EXPECT_EQ(state(), "migrate");
}

// Half of it stands here, and it is to run here.
TEST_F(domain_silent_node, it_was_the_owner_of_what_stands_here) {
    put_silent_node();
    define("start", "hv3");
    add_our_host();
    pass(2s);
    guest().appear("web", xml(u1), half);
    pass(100ms);
    place("start", "hv1", "");
    pass(150s);
    EXPECT_FALSE(was("hv1: resume U1") || was("hv1: destroy U1")) << story() << hv1().log();
    machine("hv3").power_on();
    EXPECT_TRUE(run_until([&] { return was("hv1: resume U1"); }, 20s)) << hv1().log();
}

}  // namespace
}  // namespace pvc::node
