// The connection: a daemon that hangs, goes away and comes back, and other nodes that are asked.
#include "contract/hypervisor/bench.hpp"

// Scopes keep the callable they are given until its coroutine has ended.

namespace pvc::contract {
namespace {

class hypervisor_connection : public hypervisor_contract {};

TEST_P(hypervisor_connection, a_cancelled_run_can_be_begun_again) {
    when_up([&]() -> awaitable<void> { co_return; });
    EXPECT_EQ(env_->burden().watches, before_.watches);
    when_up([&]() -> awaitable<void> {
        EXPECT_EQ(generation(), 2U);
        EXPECT_EQ(code_of(co_await host().list(in(30s))), "ok");
    });
}

TEST_P(hypervisor_connection, cancelling_it_at_once) {
    with_host([&]() -> awaitable<void> { co_return; });
    EXPECT_FALSE(is_up());
}

TEST_P(hypervisor_connection, a_restarted_daemon_is_found_again) {
    PVC_NEEDS(has_server);
    when_up([&]() -> awaitable<void> {
        co_await env_->stop_server();
        co_await eventually([&] { return !is_up(); });
        EXPECT_FALSE(host().connection().value().reason.empty());
        EXPECT_EQ(code_of(co_await host().list(in(30s))), text(call_error::unavailable));
        co_await env_->start_server();
        co_await eventually([&] { return is_up(); });
        EXPECT_EQ(generation(), 2U);
        events_.seen.clear();
        EXPECT_EQ(co_await create(guest_one, "one"), "ok");
        EXPECT_EQ(co_await destroy(guest_one), "ok");
        co_await eventually([&] { return events_.has(guest_one, run_state::shut_off); });
    });
}

TEST_P(hypervisor_connection, guests_outlive_the_daemon) {
    PVC_NEEDS(keeps_guests);
    when_up([&]() -> awaitable<void> {
        EXPECT_EQ(co_await create(guest_one, "one"), "ok");
        co_await env_->stop_server();
        co_await eventually([&] { return !is_up(); });
        co_await env_->start_server();
        co_await eventually([&] { return is_up(); });
        EXPECT_EQ(co_await state_of(guest_one), model::to_text(model::guest_class::alive));
        EXPECT_EQ(co_await destroy(guest_one), "ok");
    });
}

TEST_P(hypervisor_connection, it_waits_for_a_daemon_that_is_not_there_yet) {
    PVC_NEEDS(has_server);
    env_->run([&]() -> awaitable<void> { return env_->stop_server(); });
    with_host([&]() -> awaitable<void> {
        co_await eventually([&] { return !is_up() && host().connection().value().reason != "not connected yet"; });
        co_await env_->start_server();
        co_await eventually([&] { return is_up(); });
    });
}

TEST_P(hypervisor_connection, a_frozen_daemon_holds_up_its_callers_only) {
    PVC_NEEDS(has_server);
    when_up([&]() -> awaitable<void> {
        env_->freeze_server();
        const time_point begun = clock().now();
        int others = 0;
        co_await async::with_task_group("frozen", [&](async::task_group& group) -> awaitable<void> {
            group.spawn("something else", [&]() -> awaitable<void> {
                for (; others < 20; ++others) {
                    co_await async::sleep_for(clock(), 10ms, "its turn");
                }
            });
            EXPECT_EQ(code_of(co_await host().list(in(500ms))), text(call_error::timed_out));
        });
        EXPECT_EQ(others, 20);
        EXPECT_LT(clock().now() - begun, 2s + env_->slack());
        env_->thaw_server();
        // A look at the daemon is under way or has found it: either way the connection is there, or comes back.
        co_await eventually([&] { return is_up(); });
        EXPECT_EQ(code_of(co_await host().list(in(10s))), "ok");
        EXPECT_EQ(generation(), 1U);
    });
}

TEST_P(hypervisor_connection, a_daemon_that_stays_frozen_is_given_up_and_found_again) {
    PVC_NEEDS(has_server);
    when_up([&]() -> awaitable<void> {
        env_->freeze_server();
        EXPECT_EQ(code_of(co_await host().list(in(100ms))), text(call_error::timed_out));
        co_await eventually([&] { return !is_up(); });
        EXPECT_EQ(code_of(co_await host().list(in(30s))), text(call_error::unavailable));
        env_->thaw_server();
        co_await eventually([&] { return is_up(); });
        EXPECT_EQ(generation(), 2U);
        EXPECT_EQ(code_of(co_await host().list(in(30s))), "ok");
    });
}

TEST_P(hypervisor_connection, it_ends_although_the_daemon_is_frozen) {
    PVC_NEEDS(has_server);
    when_up([&]() -> awaitable<void> {
        env_->freeze_server();
        EXPECT_EQ(code_of(co_await host().list(in(100ms))), text(call_error::timed_out));
    });
    env_->thaw_server();
}

TEST_P(hypervisor_connection, many_hanging_calls_do_not_hold_up_a_destroy) {
    PVC_NEEDS(has_server);
    when_up([&]() -> awaitable<void> {
        EXPECT_EQ(co_await create(guest_one, "one"), "ok");
        env_->freeze_server();
        co_await async::with_task_group("frozen", [&](async::task_group& group) -> awaitable<void> {
            for (std::uint8_t i = 0; i < 8; ++i) {
                group.spawn("create", [&, i]() -> awaitable<void> {
                    uuid id = guest_unknown;
                    id.bytes[15] = i;
                    const auto xml = description(id, "many-" + std::to_string(i));
                    const auto hung = co_await host().create(id, xml, any_time(), in(200ms));
                    EXPECT_EQ(code_of(hung), text(call_error::timed_out));
                });
            }
            co_return;
        });
        env_->thaw_server();
        EXPECT_EQ(co_await destroy(guest_one), "ok");
    });
}

TEST_P(hypervisor_connection, a_peer_answers) {
    PVC_NEEDS(has_peers);
    when_up([&]() -> awaitable<void> {
        EXPECT_EQ(code_of(co_await host().probe(env_->own_name(), in(30s))), "ok");
        EXPECT_EQ(code_of(co_await host().ask(env_->own_name(), guest_one, in(30s))), text(call_error::no_domain));
        EXPECT_EQ(co_await create(guest_one, "one"), "ok");
        const auto there = co_await host().ask(env_->own_name(), guest_one, in(30s));
        EXPECT_EQ(code_of(there), "ok");
        EXPECT_TRUE(there && model::class_of(*there) == model::guest_class::alive);
        EXPECT_EQ(co_await destroy(guest_one), "ok");
    });
}

TEST_P(hypervisor_connection, a_peer_without_a_hypervisor_refuses) {
    PVC_NEEDS(has_peers);
    env_->run([&]() -> awaitable<void> {
        EXPECT_EQ(code_of(co_await host().ask(env_->deaf_name(), guest_one, in(30s))), text(call_error::refused));
        EXPECT_EQ(code_of(co_await host().probe(env_->deaf_name(), in(30s))), text(call_error::refused));
    });
}

TEST_P(hypervisor_connection, a_silent_peer_takes_no_longer_than_the_deadline) {
    PVC_NEEDS(has_peers);
    PVC_NEEDS(has_server);
    env_->run([&]() -> awaitable<void> {
        env_->freeze_server();
        const time_point begun = clock().now();
        EXPECT_EQ(code_of(co_await host().ask(env_->own_name(), guest_one, in(500ms))), text(call_error::hanging));
        EXPECT_LT(clock().now() - begun, 2s + env_->slack());
        env_->thaw_server();
        EXPECT_EQ(code_of(co_await host().probe(env_->own_name(), in(30s))), "ok");
    });
}

// A host that does not answer is asked once for all machines, and keeps nobody from asking another.
TEST_P(hypervisor_connection, a_silent_peer_holds_up_no_question_to_another) {
    PVC_NEEDS(has_peers);
    PVC_NEEDS(has_server);
    env_->run([&]() -> awaitable<void> {
        env_->freeze_server();
        const time_point begun = clock().now();
        co_await async::with_task_group("questions", [&](async::task_group& group) -> awaitable<void> {
            for (std::uint8_t i = 0; i < 6; ++i) {
                group.spawn("silent", [&, i]() -> awaitable<void> {
                    uuid id = guest_unknown;
                    id.bytes[15] = i;
                    EXPECT_EQ(code_of(co_await host().ask(env_->own_name(), id, in(3s))), text(call_error::hanging));
                });
            }
            group.spawn("other", [&]() -> awaitable<void> {
                co_await async::sleep_for(clock(), 100ms, "the others to have asked");
                EXPECT_EQ(code_of(co_await host().ask(env_->deaf_name(), guest_one, in(2s))),
                          text(call_error::refused));
                EXPECT_LT(clock().now() - begun, 1s + env_->slack());
            });
            co_return;
        });
        EXPECT_LT(clock().now() - begun, 4s + env_->slack());
        env_->thaw_server();
        // Its silence is remembered for some seconds, and not for long.
        const time_point until = in(10s);
        std::string answer;
        while (answer != text(call_error::no_domain) && clock().now() < until) {
            answer = code_of(co_await host().ask(env_->own_name(), guest_unknown, in(30s)));
            co_await async::sleep_for(clock(), 500ms, "another question");
        }
        EXPECT_EQ(answer, text(call_error::no_domain));
    });
}

// What is asked of one host at the same time is answered for each machine.
TEST_P(hypervisor_connection, many_questions_to_one_peer) {
    PVC_NEEDS(has_peers);
    when_up([&]() -> awaitable<void> {
        EXPECT_EQ(co_await create(guest_one, "one"), "ok");
        EXPECT_EQ(co_await create(guest_two, "two"), "ok");
        for (int round = 0; round < 2; ++round) {
            co_await async::with_task_group("questions", [&](async::task_group& group) -> awaitable<void> {
                for (const auto& [id, expected] :
                     {std::pair{guest_one, std::string("ok")}, std::pair{guest_two, std::string("ok")},
                      std::pair{guest_unknown, text(call_error::no_domain)}, std::pair{guest_one, std::string("ok")}}) {
                    group.spawn("question", [&, id, expected]() -> awaitable<void> {
                        EXPECT_EQ(code_of(co_await host().ask(env_->own_name(), id, in(30s))), expected);
                    });
                }
                co_return;
            });
        }
        EXPECT_EQ(co_await destroy(guest_one), "ok");
        EXPECT_EQ(co_await destroy(guest_two), "ok");
    });
}

INSTANTIATE_TEST_SUITE_P(, hypervisor_connection, ::testing::ValuesIn(make_environments()), world_name);

}  // namespace
}  // namespace pvc::contract
