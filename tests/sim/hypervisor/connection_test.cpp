// The daemon's connection, libvirtd's faults, questions to other machines, and daemons that are killed or stopped.
#include "sim/hypervisor/hypervisor_fixture.hpp"

namespace pvc::sim {
namespace {

using hypervisor::call_error;
using model::guest_class;
using lines = std::vector<std::string>;

class connection_test : public hypervisor_fixture {
protected:
    connection_test() { m1.put_running(u1, "web", xml(u1, "web")); }
    const hypervisor::connection_state& state() { return hv1->connection().value(); }
};

TEST_F(connection_test, it_is_made_anew_and_events_meanwhile_are_lost) {
    with_daemons([&]() -> awaitable<void> {
        EXPECT_EQ(state().generation, 1U);
        m1.kill_libvirtd();
        m1.guest(u1).power_off();
        co_await loop.sleep(1ms);
        EXPECT_FALSE(state().up);
        EXPECT_EQ(state().reason, "End of file while reading data: Input/output error");
        const auto all = co_await hv1->list(in(5s));
        EXPECT_EQ(all.error().code, call_error::unavailable);
        co_await loop.sleep(30s);
        EXPECT_FALSE(state().up);
        m1.start_libvirtd();
        co_await loop.sleep(5s);
        EXPECT_TRUE(state().up);
        EXPECT_EQ(state().generation, 2U);
        EXPECT_TRUE(events.seen.empty());
        EXPECT_FALSE(m1.guest(u1).is_there());
    });
}

TEST_F(connection_test, a_restart_breaks_calls_and_leaves_the_guests) {
    with_daemons([&]() -> awaitable<void> {
        co_await async::with_task_group("two", [&](async::task_group& group) -> awaitable<void> {
            group.spawn("create", [&]() -> awaitable<void> {
                const auto made = co_await hv1->create(u2, xml(u2, "www"), soon(), in(30s));
                EXPECT_EQ(made.error().code, call_error::unavailable);
            });
            co_await loop.sleep(100ms);
            m1.restart_libvirtd();
        });
        co_await loop.sleep(1s);
        EXPECT_TRUE(state().up);
        const auto all = co_await hv1->list(in(5s));
        EXPECT_EQ(all->size(), 1U);
        EXPECT_TRUE(m1.guest(u1).executes());
    });
}

TEST_F(connection_test, a_stopped_libvirtd_answers_when_it_goes_on) {
    with_daemons([&]() -> awaitable<void> {
        m1.stop_libvirtd();
        m1.guest(u1).reset();
        const auto late = co_await hv1->status(u1, in(5s));
        EXPECT_EQ(late.error().code, call_error::timed_out);
        co_await async::with_task_group("two", [&](async::task_group& group) -> awaitable<void> {
            group.spawn("status", [&]() -> awaitable<void> {
                const auto now = co_await hv1->status(u1, in(5s));
                EXPECT_TRUE(now);
            });
            co_await loop.sleep(1s);
            EXPECT_TRUE(events.seen.empty());
            m1.continue_libvirtd();
        });
        EXPECT_EQ(events.seen, lines{"REBOOT"});
        EXPECT_EQ(state().generation, 1U);
    });
}

TEST_F(connection_test, a_long_silence_breaks_it) {
    with_daemons([&]() -> awaitable<void> {
        m1.stop_libvirtd();
        const auto lost = co_await hv1->status(u1, in(60s));
        EXPECT_EQ(lost.error().code, call_error::unavailable);
        EXPECT_FALSE(state().up);
        m1.continue_libvirtd();
        co_await loop.sleep(1s);
        EXPECT_TRUE(state().up);
    });
}

TEST_F(connection_test, questions_to_other_machines) {
    with_daemons([&]() -> awaitable<void> {
        auto there = co_await hv2->ask("hv1.pvc.local", u1, in(5s));
        EXPECT_EQ(there->state, model::run_state::running);
        auto none = co_await hv1->ask("hv2.pvc.local", u1, in(5s));
        EXPECT_EQ(none.error().code, call_error::no_domain);
        auto own = co_await hv1->probe("hv1.pvc.local", in(5s));
        EXPECT_TRUE(own);
        m2.kill_libvirtd();
        none = co_await hv1->ask("hv2", u1, in(5s));
        EXPECT_EQ(none.error().code, call_error::refused);
        m2.start_libvirtd();
        m2.stop_libvirtd();
        none = co_await hv1->ask("hv2", u1, in(5s));
        EXPECT_EQ(none.error().code, call_error::hanging);
        m2.continue_libvirtd();
        dc.cut("hv2", "hv1");
        own = co_await hv1->probe("hv2", in(5s));
        EXPECT_EQ(own.error().code, call_error::timed_out);
        dc.join("hv1", "hv2");
        m2.lose_power();
        none = co_await hv1->ask("hv2", u1, in(5s));
        EXPECT_EQ(none.error().code, call_error::timed_out);
        m2.power_on();
        none = co_await hv1->ask("hv2", u1, in(5s));
        EXPECT_EQ(none.error().code, call_error::no_domain);
        none = co_await hv1->ask("hv9", u1, in(5s));
        EXPECT_EQ(none.error().code, call_error::other);
    });
    EXPECT_EQ(m1.calls(), lines{});
    EXPECT_EQ(m1.count("ask hv2.pvc.local U1"), 1U);
}

TEST_F(connection_test, without_power_everything_is_gone_without_a_word) {
    m1.put_running(u2, "www", xml(u2, "www"));
    with_daemons([&]() -> awaitable<void> {
        m1.lose_power();
        EXPECT_EQ(dc.running_copies(u1) + dc.running_copies(u2), 0U);
        co_await loop.sleep(1s);
        EXPECT_TRUE(events.seen.empty());
        m1.power_on();
        co_await loop.sleep(6s);
        const auto all = co_await hv1->list(in(5s));
        EXPECT_TRUE(all->empty());
    });
}

TEST_F(connection_test, the_world_is_told_of_every_change) {
    std::size_t changes = 0;
    std::string called;
    dc.changed = [&] { ++changes; };
    dc.on_call = [&](const std::string& machine, const sim_machine_guests::call& what) {
        called = machine + " " + what.text;
    };
    with_daemons([&]() -> awaitable<void> { std::ignore = co_await hv1->destroy(u1, in(5s)); });
    EXPECT_EQ(changes, 2U);
    EXPECT_EQ(called, "hv1 destroy U1");
    EXPECT_EQ(dc.history().size(), 3U);
}

// A daemon whose process can be killed and stopped, as sim_node does it.
class process_test : public hypervisor_fixture {
protected:
    struct life {
        life(sim_loop& l, sim_datacentre& dc)
            : loop(l),
              clock(l.clock()),
              tag(l.context().new_tag()),
              tasks(l.context().get_executor(tag), clock),
              port(dc, "hv1", clock) {
            loop.add_clock(clock);
        }
        life(const life&) = delete;
        life& operator=(const life&) = delete;
        ~life() {
            kill();
            loop.remove_clock(clock);
        }
        void start(std::function<awaitable<void>()> body) {
            async::start_root(
                tasks, "hv1",
                [this, body]() -> awaitable<void> {
                    co_await async::with_task_group("life", [&](async::task_group& group) -> awaitable<void> {
                        group.spawn("hypervisor", [this] { return port.run(); });
                        co_await async::sleep_for(clock, 10ms, "a test");
                        co_await body();
                        group.cancel();
                    });
                },
                [](const std::exception_ptr&) {});
        }
        void kill() {
            resume();
            port.cut();
            tasks.cut();
            const auto run_ready = [this] { loop.context().run_ready_of(tag); };
            run_ready();
            tasks.abandon_tasks(run_ready);
        }
        void pause() {
            clock.stop_timers(true);
            port.pause();
            loop.context().hold(tag);
        }
        void resume() {
            loop.context().release(tag);
            clock.stop_timers(false);
            port.resume();
        }
        sim_loop& loop;
        machine_clock clock;
        std::uint32_t tag;
        async::runtime tasks;
        sim_hypervisor port;
    };

    void SetUp() override {
        m1.put_running(u1, "web", xml(u1, "web"));
        daemon = std::make_unique<life>(loop, dc);
    }
    void move() {
        daemon->start([this]() -> awaitable<void> {
            outcome =
                co_await daemon->port.migrate(u1, {.peer = "hv2", .data_uri = "", .connect_within = 5s, .begun = {}});
        });
    }

    std::unique_ptr<life> daemon;
    std::optional<hypervisor::call_result<void>> outcome;
};

TEST_F(process_test, a_killed_daemon_leaves_the_source_running) {
    move();
    loop.run_for(200ms);
    EXPECT_EQ(m2.guest(u1).what(), guest_class::incoming);
    daemon->kill();
    loop.run_for(310ms);
    EXPECT_FALSE(m2.guest(u1).is_there());
    EXPECT_TRUE(m1.guest(u1).executes());
    loop.run_for(60s);
    EXPECT_TRUE(m1.guest(u1).executes());
    EXPECT_EQ(dc.double_runs(), 0U);
    EXPECT_FALSE(outcome);
}

TEST_F(process_test, a_daemon_killed_after_the_hand_over_leaves_the_target_running) {
    dc.times.reply = 1s;
    move();
    loop.run_until([&] { return m2.guest(u1).executes(); });
    daemon->kill();
    loop.run_for(1s);
    EXPECT_TRUE(m2.guest(u1).executes());
    EXPECT_FALSE(m1.guest(u1).is_there());
    EXPECT_EQ(dc.double_runs(), 0U);
}

TEST_F(process_test, a_daemon_killed_at_any_moment_leaves_one_copy) {
    for (int step = 0; step < 60; ++step) {
        move();
        loop.run_for(step * 10ms);
        daemon.reset();
        loop.run_for(2s);
        EXPECT_EQ(dc.running_copies(u1), 1U) << step;
        m1.guest(u1).vanish();
        m2.guest(u1).vanish();
        m1.put_running(u1, "web", xml(u1, "web"));
        daemon = std::make_unique<life>(loop, dc);
    }
    EXPECT_EQ(dc.double_runs(), 0U);
}

TEST_F(process_test, a_machine_that_loses_its_power_takes_the_migration_with_it) {
    move();
    loop.run_for(200ms);
    m1.lose_power();
    daemon->kill();
    loop.run_for(1s);
    EXPECT_EQ(m2.guest(u1).what(), guest_class::incoming);
    loop.run_for(30s);
    EXPECT_FALSE(m2.guest(u1).is_there());
}

TEST_F(process_test, a_stopped_daemon_holds_its_migration_up) {
    move();
    loop.run_for(200ms);
    daemon->pause();
    loop.run_for(10s);
    EXPECT_TRUE(m1.guest(u1).is_migrating());
    daemon->resume();
    loop.run_for(1s);
    EXPECT_TRUE(outcome && outcome->has_value());
    EXPECT_TRUE(m2.guest(u1).executes());
}

TEST_F(process_test, a_daemon_that_is_stopped_for_long_loses_its_connections) {
    move();
    loop.run_for(200ms);
    daemon->pause();
    loop.run_for(20s);
    EXPECT_FALSE(m2.guest(u1).is_there());
    EXPECT_TRUE(m1.guest(u1).executes());
    EXPECT_FALSE(outcome);
    daemon->resume();
    loop.run_for(1s);
    EXPECT_EQ(outcome->error().code, call_error::unavailable);
}

TEST_F(process_test, a_guarded_step_does_not_start_late) {
    daemon->start([this]() -> awaitable<void> {
        outcome =
            co_await daemon->port.create(u2, xml(u2, "www"), daemon->clock.boot_now() + 2s, daemon->clock.now() + 300s);
    });
    // Stopped when it has asked for the step, before the step is taken up.
    loop.run_for(10ms - 1ns);
    loop.step();
    loop.step();
    daemon->pause();
    loop.run_for(90s);
    EXPECT_FALSE(m1.guest(u2).is_there());
    daemon->resume();
    loop.run_for(5s);
    EXPECT_FALSE(m1.guest(u2).is_there());
    ASSERT_TRUE(outcome);
    EXPECT_EQ(outcome->error().code, call_error::too_late);
}

TEST_F(process_test, a_killed_daemon_s_calls_go_on_without_it) {
    daemon->start(
        [this]() -> awaitable<void> { outcome = co_await daemon->port.destroy(u1, daemon->clock.now() + 30s); });
    loop.run_for(500ms);
    daemon.reset();
    loop.run_for(2s);
    EXPECT_FALSE(m1.guest(u1).is_there());
    EXPECT_FALSE(outcome);
    EXPECT_EQ(m1.calls(), lines{"destroy U1"});
}

}  // namespace
}  // namespace pvc::sim
