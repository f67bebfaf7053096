// What cannot be taken back (a creation, a resume, the end of somebody's lock) begins only on a view that was asked for
// less than 2 s ago, and that still says so; and after a fence only once the node's own domain state was read
// (node-lifecycle.md 3, 3.1 rule 8; vm-domains.md 6.1, 7, 8.7).
#include "domain_migration_fixture.hpp"

namespace pvc::node {
namespace {

class guarded_step : public migration_fixture {
protected:
    // A view is one round trip.
    void answers_are_late() { hv1().connector.link().answer_delay = 2500ms; }
    void answers_are_quick() { hv1().connector.link().answer_delay = {}; }
    void stopped_on_hv1(const std::string& volumes = {}) {
        put_hosts({"hv2"});
        define("stop", "hv1", {}, {{"/rbdlist", volumes}});
        add_our_host();
        pass(2s);
    }
    // A live call whose end nobody heard of: half of it is left here, and nothing on hv2.
    void half_is_left() {
        is_left_between();
        peers.front().kill();
        guest("hv2").vanish();
    }
    // In the last moment: the disks of the half are asked for right before the view is read once more.
    void right_before_the_resume(std::function<void()> deed) {
        hv1().connector.link().on_request = [this, deed = std::move(deed)](const zookeeper::request& what) {
            const bool is_it = what.what == zookeeper::request::kind::get && what.path == key("/xml");
            if (is_it && !std::exchange(has_struck, true)) {
                deed();
            }
            return sim::verdict::answer;
        };
    }
    bool has_struck = false;
};

TEST_F(guarded_step, nothing_is_created_on_a_view_that_took_too_long) {
    stopped_on_hv1();
    answers_are_late();
    set("start");
    pass(40s);
    EXPECT_EQ(machine().count("create U1"), 0U) << hv1().log();
    EXPECT_EQ(state(), "start");
    answers_are_quick();
    EXPECT_TRUE(run_until([&] { return executes("hv1"); }, 20s)) << hv1().log();
}

TEST_F(guarded_step, a_view_that_took_less_is_good_enough) {
    stopped_on_hv1();
    hv1().connector.link().answer_delay = 1500ms;
    set("start");
    EXPECT_TRUE(run_until([&] { return executes("hv1"); }, 20s)) << hv1().log();
}

// The view alone was quick enough, and what is written to the disk first as well; together they were not.
TEST_F(guarded_step, nothing_is_created_long_after_its_view_whatever_came_in_between) {
    stopped_on_hv1();
    hv1().connector.link().answer_delay = 1500ms;
    hv1().host.disk_time = 900ms;
    set("start");
    pass(40s);
    EXPECT_EQ(machine().count("create U1"), 0U) << hv1().log();
    hv1().host.disk_time = 1ms;
    EXPECT_TRUE(run_until([&] { return executes("hv1"); }, 20s)) << hv1().log();
}

TEST_F(guarded_step, no_lock_is_broken_on_a_view_that_took_too_long) {
    hardware.rbd.lock("vms/web_sda", "10.254.0.1:0/1");
    stopped_on_hv1("vms/web_sda");
    answers_are_late();
    set("start");
    pass(40s);
    EXPECT_EQ(hardware.rbd.locks("vms/web_sda").size(), 1U) << hv1().log();
    answers_are_quick();
    EXPECT_TRUE(run_until([&] { return executes("hv1"); }, 20s)) << hv1().log();
    EXPECT_TRUE(hardware.rbd.locks("vms/web_sda").empty());
}

TEST_F(guarded_step, nothing_is_resumed_on_a_view_that_took_too_long) {
    half_is_left();
    answers_are_late();
    pass(60s);
    EXPECT_FALSE(was("hv1: resume U1") || was("hv1: destroy U1")) << story() << hv1().log();
    answers_are_quick();
    EXPECT_TRUE(run_until([&] { return was("hv1: resume U1"); }, 40s)) << story() << hv1().log();
}

TEST_F(guarded_step, what_was_recovered_elsewhere_in_the_last_moment_is_not_resumed) {
    half_is_left();
    right_before_the_resume([this] { place("start", "hv3", ""); });
    ASSERT_TRUE(run_until([&] { return has_struck; }, 40s)) << story();
    ASSERT_TRUE(run_until([&] { return !guest().is_there(); }, 20s)) << story() << hv1().log();
    EXPECT_FALSE(was("hv1: resume U1")) << story();
}

TEST_F(guarded_step, what_was_defined_anew_in_the_last_moment_is_not_resumed) {
    half_is_left();
    right_before_the_resume([this] {
        ensemble.remove_tree(key());
        define("migrate", "hv2", "hv1");
    });
    ASSERT_TRUE(run_until([&] { return has_struck; }, 40s)) << story();
    ASSERT_TRUE(run_until([&] { return !guest().is_there(); }, 20s)) << story() << hv1().log();
    EXPECT_FALSE(was("hv1: resume U1")) << story();
}

// The key flickers, so that its reading does not come to an end, while all the others are read.
TEST_F(guarded_step, AC112_nothing_is_created_before_the_domain_state_was_read) {
    const std::string path = "/nodes/hv1/domainstate";
    put_hosts({"hv2"});
    define_running();
    add_our_host();
    pass(6s);
    auto& link = hv1().connector.link();
    link.cut();
    guest().crash();
    pass(15s);  // the session is over
    machine().clear_calls();
    link.on_request = [&](const zookeeper::request& what) {
        if (what.path == path && what.what == zookeeper::request::kind::get) {
            std::ignore = ensemble.remove(path);
        } else if (what.path == path && what.what == zookeeper::request::kind::exists) {
            ensemble.put(path, "fence-flush");
        }
        return sim::verdict::answer;
    };
    link.mend();
    pass(30s);
    EXPECT_EQ(machine().count("create U1"), 0U) << hv1().log();
    link.on_request = nullptr;
    ensemble.put(path, "fence-flush");
    pass(10s);
    EXPECT_EQ(machine().count("create U1"), 0U) << hv1().log();
    ensemble.put(path, "flushed");
    EXPECT_TRUE(run_until([&] { return executes("hv1"); }, 10s)) << hv1().log();
}

}  // namespace
}  // namespace pvc::node
