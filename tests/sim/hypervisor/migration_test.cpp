// Live migrations between two machines: their course, and what is left when something goes wrong.
#include "sim/hypervisor/hypervisor_fixture.hpp"

namespace pvc::sim {
namespace {

using hypervisor::call_error;
using hypervisor::call_failure;
using model::guest_class;
using lines = std::vector<std::string>;

class migration_test : public hypervisor_fixture {
protected:
    migration_test() { m1.put_running(u1, "web", xml(u1, "web")); }

    hypervisor::migration there(duration within = 5s) {
        return {.peer = "hv2.pvc.local", .data_uri = "tcp://hv2.pvc.local", .connect_within = within, .begun = {}};
    }
    awaitable<hypervisor::call_result<void>> move() { return hv1->migrate(u1, there()); }
    // Migrates, and does something 200 ms later, in the middle of the copying.
    awaitable<hypervisor::call_result<void>> move_and(std::function<void()> deed) {
        hypervisor::call_result<void> outcome;
        co_await async::with_task_group("move", [&](async::task_group& group) -> awaitable<void> {
            group.spawn("migrate", [&]() -> awaitable<void> { outcome = co_await move(); });
            co_await loop.sleep(200ms);
            EXPECT_TRUE(m1.guest(u1).is_migrating());
            EXPECT_EQ(m2.guest(u1).what(), guest_class::incoming);
            deed();
        });
        co_return outcome;
    }
    void expect_only_source() {
        EXPECT_TRUE(m1.guest(u1).executes());
        EXPECT_FALSE(m1.guest(u1).is_migrating());
        EXPECT_FALSE(m2.guest(u1).is_there());
        EXPECT_EQ(dc.double_runs(), 0U);
    }
};

TEST_F(migration_test, its_course) {
    with_daemons([&]() -> awaitable<void> {
        const auto before = loop.clock().now();
        const auto moved = co_await move();
        EXPECT_TRUE(moved);
        EXPECT_LT(loop.clock().now() - before, 500ms);
        EXPECT_EQ(events2.seen, (lines{"STARTED(1) migrating", "RESUMED(1) running"}));
        EXPECT_EQ(events.seen, (lines{"SUSPENDED(1) migrating", "migration"}));
        EXPECT_EQ(m1.guest(u1).what(), guest_class::incoming);
        co_await loop.sleep(10ms);
        EXPECT_EQ(events.seen.back(), "STOPPED(3) not there");
    });
    EXPECT_EQ(m1.calls(), lines{"migrate U1 hv2.pvc.local tcp://hv2.pvc.local"});
    EXPECT_FALSE(m1.guest(u1).is_there());
    EXPECT_TRUE(m2.guest(u1).executes());
    EXPECT_EQ(dc.double_runs(), 0U);
}

TEST_F(migration_test, somebody_else_sends_a_guest_here) {
    with_daemons([&]() -> awaitable<void> {
        const auto driver = dc.migrate(u1, "hv1", "hv2");
        co_await loop.sleep(200ms);
        EXPECT_EQ(events2.seen, lines{"STARTED(1) migrating"});
        dc.kill(*driver);
        co_await loop.sleep(301ms);
        EXPECT_EQ(events2.seen, (lines{"STARTED(1) migrating", "SHUTDOWN(2) ending", "STOPPED(1) not there"}));
        expect_only_source();
        std::ignore = dc.migrate(u1, "hv1", "hv2");
        co_await loop.sleep(1s);
        EXPECT_EQ(events2.seen.back(), "RESUMED(1) running");
        m2.guest(u1).destroy();
        co_await loop.sleep(2s);
        EXPECT_EQ(dc.running_copies(u1), 0U);
    });
    EXPECT_TRUE(m1.calls().empty());
}

TEST_F(migration_test, a_paused_guest_arrives_paused) {
    m1.guest(u1).pause_by_io_error("sda");
    with_daemons([&]() -> awaitable<void> {
        const auto moved = co_await move();
        EXPECT_TRUE(moved);
    });
    EXPECT_EQ(m2.guest(u1).status().cause, model::pause_cause::io_error);
}

TEST_F(migration_test, what_it_is_refused_for) {
    with_daemons([&]() -> awaitable<void> {
        const auto none = co_await hv1->migrate(u2, there());
        EXPECT_EQ(none.error().code, call_error::no_domain);
        m2.put_running(u1, "web", xml(u1, "web"));
        const auto active = co_await move();
        EXPECT_EQ(active.error().code, call_error::wrong_state);
        m2.guest(u1).vanish();
        m2.kill_libvirtd();
        const auto refused = co_await move();
        EXPECT_EQ(refused.error().code, call_error::no_target);
        m2.start_libvirtd();
        dc.cut("hv1", "hv2");
        const auto before = loop.clock().now();
        const auto silent = co_await move();
        EXPECT_EQ(silent.error().code, call_error::no_target);
        EXPECT_EQ(loop.clock().now() - before, 5s + 200us);
        dc.join("hv1", "hv2");
        m1.guest(u1).fail_next("migrate", {call_error::unsafe, "Unsafe migration"});
        const auto unsafe = co_await move();
        EXPECT_EQ(unsafe.error().code, call_error::unsafe);
        const auto moved = co_await move();
        EXPECT_TRUE(moved);
    });
}

TEST_F(migration_test, a_dirty_guest_does_not_converge_until_it_calms_down) {
    m1.guest(u1).set_kind(guest_kind::dirty);
    with_daemons([&]() -> awaitable<void> {
        co_await async::with_task_group("move", [&](async::task_group& group) -> awaitable<void> {
            group.spawn("migrate", [&]() -> awaitable<void> {
                const auto moved = co_await move();
                EXPECT_TRUE(moved);
            });
            co_await loop.sleep(110ms);
            const auto early = co_await hv1->progress(u1, in(1s));
            EXPECT_TRUE(early->running);
            co_await loop.sleep(1s);
            const auto first = co_await hv1->progress(u1, in(1s));
            EXPECT_LT(first->remaining_bytes, early->remaining_bytes);
            co_await loop.sleep(300s);
            const auto last = co_await hv1->progress(u1, in(1s));
            EXPECT_EQ(last->remaining_bytes, first->remaining_bytes);
            const auto asked = co_await hv1->shutdown(u1, hypervisor::shutdown_way::any, in(60s));
            EXPECT_EQ(asked.error().code, call_error::other);
            const auto made = co_await hv2->create(u1, xml(u1, "web"), soon(), in(5s));
            EXPECT_EQ(made.error().code, call_error::wrong_state);
            m1.guest(u1).set_kind(guest_kind::acpi);
        });
        const auto none = co_await hv1->progress(u1, in(1s));
        EXPECT_EQ(none.has_value() && none->running, false);
    });
    EXPECT_TRUE(m2.guest(u1).executes());
}

TEST_F(migration_test, a_kind_that_a_test_sets_stays) {
    m1.guest(u2).set_kind(guest_kind::off);
    m1.guest(u2).off_time = 3s;
    m1.put_running(u2, "www", xml(u2, "www"));
    loop.run_for(2900ms);
    EXPECT_TRUE(m1.guest(u2).executes());
    loop.run_for(200ms);
    EXPECT_EQ(m1.guest(u2).what(), guest_class::ending);
}

TEST_F(migration_test, an_abort_leaves_the_source_running) {
    with_daemons([&]() -> awaitable<void> {
        const auto none = co_await hv1->abort_migration(u1, in(5s));
        EXPECT_EQ(none.error().code, call_error::wrong_state);
        m1.guest(u1).set_kind(guest_kind::dirty);
        co_await async::with_task_group("move", [&](async::task_group& group) -> awaitable<void> {
            group.spawn("migrate", [&]() -> awaitable<void> {
                const auto moved = co_await move();
                EXPECT_EQ(moved.error().code, call_error::aborted);
            });
            co_await loop.sleep(1s);
            const auto aborted = co_await hv1->abort_migration(u1, in(5s));
            EXPECT_TRUE(aborted);
        });
        EXPECT_EQ(events2.seen.back(), "STOPPED(5) not there");
    });
    expect_only_source();
}

TEST_F(migration_test, cancelling_the_caller_aborts_the_job_and_waits_for_it) {
    m1.guest(u1).set_kind(guest_kind::dirty);
    with_daemons([&]() -> awaitable<void> {
        bool was_cancelled = false;
        co_await async::with_task_group("move", [&](async::task_group& group) -> awaitable<void> {
            group.spawn("migrate", [&]() -> awaitable<void> {
                try {
                    std::ignore = co_await move();
                } catch (const boost::system::system_error&) {
                    was_cancelled = true;
                    EXPECT_FALSE(m1.guest(u1).is_migrating());
                    throw;
                }
            });
            co_await loop.sleep(1s);
            group.cancel();
        });
        EXPECT_TRUE(was_cancelled);
    });
    EXPECT_EQ(m1.calls().back(), "abort_migration U1");
    expect_only_source();
}

TEST_F(migration_test, told_failures_at_each_step) {
    const call_failure told(call_error::other, "told");
    with_daemons([&]() -> awaitable<void> {
        for (const auto step : {migration_step::connect, migration_step::prepare, migration_step::copy}) {
            m1.guest(u1).fail_migration(step, told);
            const auto moved = co_await move();
            EXPECT_EQ(moved.error().text, "told");
            expect_only_source();
            EXPECT_EQ(events2.seen.size(), step == migration_step::copy ? 2U : 0U);
        }
    });
}

TEST_F(migration_test, a_lost_reply_leaves_the_source_as_told) {
    const call_failure lost(call_error::unavailable, "lost");
    with_daemons([&]() -> awaitable<void> {
        m1.guest(u1).fail_migration(migration_step::reply, lost, source_copy::incoming);
        auto moved = co_await move();
        EXPECT_EQ(moved.error().text, "lost");
        EXPECT_EQ(m1.guest(u1).what(), guest_class::incoming);
        EXPECT_TRUE(m2.guest(u1).executes());
        EXPECT_EQ(dc.double_runs(), 0U);

        m2.guest(u1).vanish();
        const auto resumed = co_await hv1->resume(u1, soon(), in(5s));
        EXPECT_TRUE(resumed);
        m1.guest(u1).fail_migration(migration_step::reply, lost, source_copy::gone);
        moved = co_await move();
        EXPECT_FALSE(moved);
        EXPECT_FALSE(m1.guest(u1).is_there());

        m2.guest(u1).vanish();
        m1.put_running(u1, "web", xml(u1, "web"));
        m1.guest(u1).fail_migration(migration_step::reply, lost, source_copy::running);
        moved = co_await move();
        EXPECT_FALSE(moved);
        EXPECT_EQ(dc.running_copies(u1), 2U);
    });
    EXPECT_EQ(dc.double_runs(), 1U);
    EXPECT_EQ(dc.double_run_texts().front().substr(0, 18), "hv1 and hv2 run U1");
}

TEST_F(migration_test, a_target_without_power_is_noticed_by_its_silence) {
    m1.guest(u1).set_kind(guest_kind::dirty);
    with_daemons([&]() -> awaitable<void> {
        const auto before = loop.clock().now();
        const auto moved = co_await move_and([&] { m2.lose_power(); });
        EXPECT_EQ(moved.error().code, call_error::no_target);
        EXPECT_LT(loop.clock().now() - before, 20s);
        EXPECT_GT(loop.clock().now() - before, 10s);
    });
    expect_only_source();
}

TEST_F(migration_test, a_short_cut_only_delays_it) {
    with_daemons([&]() -> awaitable<void> {
        co_await async::with_task_group("cut", [&](async::task_group& group) -> awaitable<void> {
            group.spawn("migrate", [&]() -> awaitable<void> {
                const auto moved = co_await move();
                EXPECT_TRUE(moved);
            });
            co_await loop.sleep(200ms);
            dc.cut("hv1", "hv2");
            co_await loop.sleep(10s);
            EXPECT_TRUE(m1.guest(u1).is_migrating());
            dc.join("hv1", "hv2");
        });
    });
    EXPECT_TRUE(m2.guest(u1).executes());
}

TEST_F(migration_test, what_ends_a_side_ends_it) {
    with_daemons([&]() -> awaitable<void> {
        for (const auto& deed : std::vector<std::function<void()>>{
                 [&] { m2.kill_libvirtd(); }, [&] { m2.guest(u1).crash(); }, [&] { m2.guest(u1).vanish(); }}) {
            const auto moved = co_await move_and(deed);
            EXPECT_FALSE(moved);
            m2.start_libvirtd();
            co_await loop.sleep(5s);
            expect_only_source();
        }
        const auto moved = co_await move_and([&] { m1.guest(u1).power_off(); });
        EXPECT_FALSE(moved);
        EXPECT_FALSE(m2.guest(u1).is_there());
        EXPECT_EQ(m1.guest(u1).what(), guest_class::ending);
    });
}

TEST_F(migration_test, destroying_the_source_works_at_once) {
    with_daemons([&]() -> awaitable<void> {
        co_await async::with_task_group("move", [&](async::task_group& group) -> awaitable<void> {
            group.spawn("migrate", [&]() -> awaitable<void> {
                const auto moved = co_await move();
                EXPECT_EQ(moved.error().code, call_error::other);
            });
            co_await loop.sleep(200ms);
            const auto destroyed = co_await hv1->destroy(u1, in(5s));
            EXPECT_TRUE(destroyed);
        });
    });
    EXPECT_EQ(dc.running_copies(u1), 0U);
    EXPECT_FALSE(m2.guest(u1).is_there());
}

}  // namespace
}  // namespace pvc::sim
