// README ruling 30: a sender of the reference that was restarted in mid-migration never sends, and ours waits for it.
#include "domain_migration_fixture.hpp"

namespace pvc::node {
namespace {

class domain_stranded : public migration_fixture {
protected:
    // It runs on hv2, the reference, and is to come to hv1, ours. The reference is killed before it has begun to send,
    // and comes back without knowing that it is the sender.
    void the_sender_forgets(const std::string& last = "hv2") {
        hv2_runs_it({{"/migration_method", "live"}});
        auto& reference = add_reference("hv2");
        pass(4s);
        place("migrate", "hv1", last);
        pass(100ms);
        asked = loop.clock().now();
        reference.kill();
        pass(1s);
        reference.start({u1});
        pass(1s);
        forget();
    }
    [[nodiscard]] bool is_back_on_hv2() { return state() == "start" && value(key("/node")) == "hv2"; }

    time_point asked{};
};

TEST_F(domain_stranded, it_stays_where_it_is_after_two_minutes) {
    the_sender_forgets();
    pass(110s);
    EXPECT_EQ(state(), "migrate");
    ASSERT_TRUE(run_until([&] { return is_back_on_hv2(); }, 60s)) << hv1().log();
    EXPECT_GE(seconds_since(asked), 120.0);
    EXPECT_LT(seconds_since(asked), 150.0);
    EXPECT_EQ(value(key("/lastnode")), "");
    pass(30s);
    EXPECT_EQ(hv1().times_logged("has not begun to send it"), 1U);
    EXPECT_TRUE(settled_on("hv2"));
    // Under the lock of `state`, all in one.
    EXPECT_TRUE(in_order({"hv1 +state", "state=start", "node=hv2", "lastnode=", "hv1 -state"})) << story();
    // The next one goes through.
    place("migrate", "hv1", "hv2");
    EXPECT_TRUE(run_until([&] { return state() == "start" && executes("hv1"); })) << story();
}

TEST_F(domain_stranded, its_home_is_kept) {
    the_sender_forgets("hv3");
    ASSERT_TRUE(run_until([&] { return is_back_on_hv2(); }, 200s));
    EXPECT_EQ(value(key("/lastnode")), "hv3");
}

TEST_F(domain_stranded, whoever_contends_is_waited_for) {
    the_sender_forgets();
    for (const auto* lock : {"/node", "/migrate_sync_lock"}) {
        const auto one = contend(lock);
        pass(200s);
        EXPECT_EQ(state(), "migrate") << lock;
        ensemble.expire_session(one.session);
    }
    EXPECT_TRUE(run_until([&] { return is_back_on_hv2(); }, 150s));
}

TEST_F(domain_stranded, a_daemon_that_does_not_run_is_waited_for) {
    the_sender_forgets();
    for (const auto* daemon : {"init", "dead", "stop"}) {
        ensemble.put("/nodes/hv2/daemonstate", daemon);
        pass(200s);
        EXPECT_EQ(state(), "migrate") << daemon;
    }
    ensemble.put("/nodes/hv2/daemonstate", "run");
    pass(100s);
    EXPECT_EQ(state(), "migrate");
    EXPECT_TRUE(run_until([&] { return is_back_on_hv2(); }, 60s));
}

// It changes its mind in the very moment: what is written then counts.
TEST_F(domain_stranded, a_daemon_that_ends_before_the_write_prevents_it) {
    the_sender_forgets();
    bool is_done = false;
    hv1().connector.link().on_request = [&](const zookeeper::request& request) {
        const bool is_return = std::ranges::any_of(request.operations, [](const auto& one) {
            return one.path == key("/node") && one.what == zookeeper::operation::kind::set;
        });
        if (is_return && !std::exchange(is_done, true)) {
            ensemble.put("/nodes/hv2/daemonstate", "shutdown");
        }
        return sim::verdict::answer;
    };
    pass(200s);
    EXPECT_TRUE(is_done);
    EXPECT_EQ(state(), "migrate");
    EXPECT_EQ(value(key("/node")), "hv1");
}

}  // namespace
}  // namespace pvc::node
