// The guests of one machine as its daemon sees them: calls, events and their order (vm-domains.md 9.3).
#include "sim/hypervisor/hypervisor_fixture.hpp"

namespace pvc::sim {
namespace {

using hypervisor::call_error;
using lines = std::vector<std::string>;

class guest_test : public hypervisor_fixture {};

TEST_F(guest_test, creating_takes_its_time_and_its_events_come_first) {
    with_daemons([&]() -> awaitable<void> {
        const auto before = loop.clock().now();
        const auto made = co_await hv1->create(u1, xml(u1, "web"), soon(), in(30s));
        EXPECT_TRUE(made);
        EXPECT_EQ(loop.clock().now() - before, 250ms + 200us);
        EXPECT_EQ(events.seen, (lines{"RESUMED(0) running", "STARTED(0) running"}));
        const auto all = co_await hv1->list(in(5s));
        EXPECT_EQ(all->size(), 1U);
        EXPECT_EQ(all->front().name, "web");
        const auto text = co_await hv1->live_xml(u1, in(5s));
        EXPECT_NE(text->find("port='5900'"), std::string::npos);
    });
    EXPECT_EQ(m1.calls(), lines{"create U1"});
    EXPECT_EQ(dc.running_copies(u1), 1U);
}

TEST_F(guest_test, a_creation_under_way_is_active_and_paused) {
    with_daemons([&]() -> awaitable<void> {
        co_await async::with_task_group("two", [&](async::task_group& group) -> awaitable<void> {
            group.spawn("create", [&]() -> awaitable<void> {
                auto made = co_await hv1->create(u1, xml(u1, "web"), soon(), in(30s));
                EXPECT_TRUE(made);
            });
            co_await loop.sleep(100ms);
            const auto now = co_await hv1->status(u1, in(5s));
            EXPECT_EQ(*now, (model::guest_status{model::run_state::paused, model::pause_cause::starting_up}));
            const auto all = co_await hv1->list(in(5s));
            EXPECT_EQ(all->size(), 1U);
            const auto again = co_await hv1->create(u1, xml(u1, "web"), soon(), in(5s));
            EXPECT_EQ(again.error().text, "Requested operation is not valid: domain is already active as 'web'");
        });
    });
}

TEST_F(guest_test, what_a_creation_is_refused_for) {
    with_daemons([&]() -> awaitable<void> {
        m1.put_running(u1, "web", xml(u1, "web"));
        const auto active = co_await hv1->create(u1, xml(u1, "web"), soon(), in(5s));
        EXPECT_EQ(active.error().code, call_error::wrong_state);
        EXPECT_EQ(active.error().text, "Requested operation is not valid: domain is already active as 'web'");
        const auto name = co_await hv1->create(u2, xml(u2, "web"), soon(), in(5s));
        EXPECT_EQ(name.error().code, call_error::other);
        const auto broken = co_await hv1->create(u2, "<nothing/>", soon(), in(5s));
        EXPECT_EQ(broken.error().text.substr(0, 9), "XML error");
        m1.guest(u2).fail_next("create", {call_error::other, "Cannot access storage file"});
        const auto told = co_await hv1->create(u2, xml(u2, "www"), soon(), in(5s));
        EXPECT_EQ(told.error().text, "Cannot access storage file");
        const auto late = co_await hv1->create(u2, xml(u2, "www"), boot_time(loop.clock().boot_now() - 1ms), in(5s));
        EXPECT_EQ(late.error().code, call_error::too_late);
        const auto made = co_await hv1->create(u2, xml(u2, "www"), soon(), in(5s));
        EXPECT_TRUE(made);
    });
    EXPECT_EQ(m1.count("create U2"), 4U);
}

TEST_F(guest_test, a_guest_that_is_asked_goes_off_in_two_steps) {
    m1.put_running(u1, "web", xml(u1, "web"));
    with_daemons([&]() -> awaitable<void> {
        const auto asked = co_await hv1->shutdown(u1, hypervisor::shutdown_way::any, in(5s));
        EXPECT_TRUE(asked);
        co_await loop.sleep(900ms);
        EXPECT_TRUE(events.seen.empty());
        co_await loop.sleep(200ms);
        EXPECT_EQ(events.seen, lines{"SHUTDOWN(1) ending"});
        const auto again = co_await hv1->shutdown(u1, hypervisor::shutdown_way::any, in(5s));
        EXPECT_EQ(again.error().code, call_error::wrong_state);
        co_await loop.sleep(1600ms);
        EXPECT_EQ(events.seen.back(), "STOPPED(0) not there");
        const auto gone = co_await hv1->status(u1, in(5s));
        EXPECT_EQ(gone.error().code, call_error::no_domain);
    });
}

TEST_F(guest_test, kinds_of_guests) {
    m1.put_running(u1, "web", xml(u1, "web", "hang"));
    with_daemons([&]() -> awaitable<void> {
        const auto asked = co_await hv1->shutdown(u1, hypervisor::shutdown_way::acpi, in(5s));
        EXPECT_TRUE(asked);
        co_await loop.sleep(60s);
        EXPECT_TRUE(m1.guest(u1).executes());
        m1.put_running(u2, "www", xml(u2, "www", "off"));
        co_await loop.sleep(2s);
        EXPECT_FALSE(m1.guest(u2).is_there());
        m1.put_running(u2, "www", xml(u2, "www", "reset"));
        events.seen.clear();
        co_await loop.sleep(2500ms);
        EXPECT_EQ(events.seen, (lines{"RESUMED(0) running", "STARTED(0) running", "REBOOT", "REBOOT"}));
    });
}

TEST_F(guest_test, destroying_takes_its_time) {
    m1.put_running(u1, "web", xml(u1, "web"));
    with_daemons([&]() -> awaitable<void> {
        auto before = loop.clock().now();
        auto done = co_await hv1->destroy(u1, in(30s));
        EXPECT_TRUE(done);
        EXPECT_EQ(loop.clock().now() - before, 1600ms + 200us);
        EXPECT_EQ(events.seen, (lines{"SHUTDOWN(2) ending", "STOPPED(1) not there"}));
        done = co_await hv1->destroy(u1, in(30s));
        EXPECT_EQ(done.error().code, call_error::no_domain);
        m1.put_running(u1, "web", xml(u1, "web"));
        m1.guest(u1).delay_next("destroy", 3s);
        before = loop.clock().now();
        done = co_await hv1->destroy(u1, in(30s));
        EXPECT_EQ(loop.clock().now() - before, 3s + 200us);
    });
}

TEST_F(guest_test, paused_guests) {
    m1.put_running(u1, "web", xml(u1, "web"));
    with_daemons([&]() -> awaitable<void> {
        m1.guest(u1).suspend();
        const auto asked = co_await hv1->shutdown(u1, hypervisor::shutdown_way::any, in(5s));
        EXPECT_EQ(asked.error().code, call_error::wrong_state);
        const auto resumed = co_await hv1->resume(u1, soon(), in(5s));
        EXPECT_TRUE(resumed);
        const auto again = co_await hv1->resume(u1, soon(), in(5s));
        EXPECT_EQ(again.error().code, call_error::wrong_state);
        m1.guest(u1).pause_by_io_error("sda");
        co_await loop.sleep(1ms);
        EXPECT_EQ(events.seen,
                  (lines{"SUSPENDED(0) paused", "RESUMED(0) running", "io_error sda", "SUSPENDED(2) paused"}));
        const auto destroyed = co_await hv1->destroy(u1, in(5s));
        EXPECT_TRUE(destroyed);
    });
}

TEST_F(guest_test, a_crash_is_noticed_late) {
    m1.put_running(u1, "web", xml(u1, "web"));
    with_daemons([&]() -> awaitable<void> {
        m1.guest(u1).crash();
        EXPECT_EQ(dc.running_copies(u1), 0U);
        const auto still = co_await hv1->status(u1, in(5s));
        EXPECT_EQ(still->state, model::run_state::running);
        const auto made = co_await hv1->create(u1, xml(u1, "web"), soon(), in(5s));
        EXPECT_EQ(made.error().code, call_error::being_removed);
        co_await loop.sleep(2s);
        EXPECT_EQ(events.seen, lines{"STOPPED(5) not there"});
        const auto again = co_await hv1->create(u1, xml(u1, "web"), soon(), in(5s));
        EXPECT_TRUE(again);
    });
}

TEST_F(guest_test, figures_and_statuses_as_a_test_wants_them) {
    m1.put_running(u1, "web", xml(u1, "web"));
    m1.guest(u1).figures.vcpus = 4;
    with_daemons([&]() -> awaitable<void> {
        m1.guest(u1).set_status({model::run_state::crashed, model::pause_cause::none}, "CRASHED");
        const auto figures = co_await hv1->survey(in(5s));
        EXPECT_EQ(figures->front().vcpus, 4U);
        EXPECT_EQ(figures->front().of.status.state, model::run_state::crashed);
        EXPECT_EQ(events.seen, lines{"CRASHED not there"});
        m1.guest(u1).vanish();
        const auto none = co_await hv1->list(in(5s));
        EXPECT_TRUE(none->empty());
    });
}

TEST_F(guest_test, a_call_that_hangs_leaves_the_others_alone) {
    m1.put_running(u1, "web", xml(u1, "web"));
    m1.put_running(u2, "www", xml(u2, "www"));
    m1.guest(u1).hang_next("destroy");
    with_daemons([&]() -> awaitable<void> {
        const auto before = loop.clock().now();
        const auto late = co_await hv1->destroy(u1, in(10s));
        EXPECT_EQ(late.error().code, call_error::timed_out);
        EXPECT_EQ(loop.clock().now() - before, 10s);
        const auto done = co_await hv1->destroy(u2, in(10s));
        EXPECT_TRUE(done);
    });
}

}  // namespace
}  // namespace pvc::sim
