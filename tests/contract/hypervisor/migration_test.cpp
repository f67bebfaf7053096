// Live migrations between two hosts: they arrive, are called off, and break.
#include "contract/hypervisor/bench.hpp"
#include "pvcnoded/base/result.hpp"

// Scopes keep the callable they are given until its coroutine has ended.

namespace pvc::contract {
namespace {

class hypervisor_migrations : public hypervisor_contract {
protected:
    // Both hosts are connected, and the guest runs on the first.
    void with_guest(guest_kind kind, const std::function<awaitable<void>()>& body) {
        when_up([&, kind]() -> awaitable<void> {
            auto& other = env_->other_host();
            co_await async::with_task_group("other", [&, kind](async::task_group& group) -> awaitable<void> {
                group.spawn("hypervisor", [&]() -> awaitable<void> { return other.run(); });
                const async::latest<hypervisor::connection_state>::observer watching(other.connection(),
                                                                                     events_.changed);
                co_await eventually([&] { return other.connection().value().up; });
                EXPECT_EQ(co_await create(guest_one, "one", kind), "ok");
                co_await body();
                ignore(co_await host().destroy(guest_one, in(10s)), "it is on one of the two at most");
                ignore(co_await other.destroy(guest_one, in(10s)), "it is on one of the two at most");
                group.cancel();
            });
        });
    }

    awaitable<std::string> migrate() { return migrate_to(env_->other_name()); }
    awaitable<std::string> migrate_to(std::string name) {
        const auto outcome = co_await host().migrate(guest_one, {name, "tcp://" + name, 5s + env_->slack(), {}});
        EXPECT_TRUE(outcome || !outcome.error().text.empty()) << "an error without words";
        said_ = outcome ? "" : outcome.error().text;
        co_return code_of(outcome);
    }
    awaitable<std::string> state_there() {
        const auto now = co_await env_->other_host().status(guest_one, in(30s));
        co_return now ? std::string(model::to_text(model::class_of(*now))) : code_of(now);
    }
    // A guest that dirties its memory faster than it may stand still never arrives.
    awaitable<void> make_endless() {
        EXPECT_EQ(code_of(co_await host().set_maximum_downtime(guest_one, 1, in(30s))), "ok");
    }
    awaitable<bool> is_under_way() {
        const time_point until = in(10s + 5 * env_->slack());
        while (clock().now() < until) {
            const auto now = co_await host().progress(guest_one, in(30s));
            if (now && now->running && now->processed_bytes > 0) {
                co_return true;
            }
            co_await async::sleep_for(clock(), 5ms, "the progress of the migration");
        }
        ADD_FAILURE() << "the migration does not begin";
        co_return false;
    }
    awaitable<void> expect_it_stayed() {
        EXPECT_EQ(co_await state_of(guest_one), model::to_text(model::guest_class::alive));
    }

    std::string said_;  // by the last migration that failed
    static std::string alive() { return std::string(model::to_text(model::guest_class::alive)); }
};

TEST_P(hypervisor_migrations, a_guest_arrives) {
    PVC_NEEDS(migrates);
    with_guest(guest_kind::idle, [&]() -> awaitable<void> {
        EXPECT_EQ(co_await migrate(), "ok");
        EXPECT_EQ(co_await state_there(), alive());
        co_await eventually([&] { return events_.has(guest_one, run_state::shut_off); });
        EXPECT_EQ(co_await state_of(guest_one), text(call_error::no_domain));
    });
}

TEST_P(hypervisor_migrations, what_is_not_there_cannot_go) {
    PVC_NEEDS(migrates);
    with_guest(guest_kind::idle, [&]() -> awaitable<void> {
        const std::string name = env_->other_name();
        const auto outcome = co_await host().migrate(guest_unknown, {name, "tcp://" + name, 5s, {}});
        EXPECT_EQ(code_of(outcome), text(call_error::no_domain));
    });
}

TEST_P(hypervisor_migrations, a_target_without_a_hypervisor) {
    PVC_NEEDS(migrates);
    with_guest(guest_kind::idle, [&]() -> awaitable<void> {
        EXPECT_EQ(co_await migrate_to(env_->deaf_name()), text(call_error::no_target));
        co_await expect_it_stayed();
    });
}

TEST_P(hypervisor_migrations, a_target_that_does_not_answer_is_given_up_in_time) {
    PVC_NEEDS(migrates);
    with_guest(guest_kind::idle, [&]() -> awaitable<void> {
        env_->freeze_other_server();
        const time_point begun = clock().now();
        const std::string name = env_->other_name();
        const auto outcome = co_await host().migrate(guest_one, {name, "tcp://" + name, 1s, {}});
        EXPECT_EQ(code_of(outcome), text(call_error::no_target));
        EXPECT_LT(clock().now() - begun, 5s + env_->slack());
        co_await expect_it_stayed();
        co_await env_->stop_other_server();
    });
}

// The limit runs from when a call has its thread: whoever waited for one is not given up for that.
TEST_P(hypervisor_migrations, one_that_waits_for_a_thread_has_its_whole_time) {
    PVC_NEEDS(migrates);
    with_guest(guest_kind::idle, [&]() -> awaitable<void> {
        std::vector<uuid> guests{guest_one};
        for (const char digit : {'2', '3', '4', '5'}) {
            guests.push_back(*parse_uuid(std::string("0000000") + digit + "-aaaa-4bbb-8ccc-0000000000ff"));
            EXPECT_EQ(co_await create(guests.back(), std::string("guest") + digit, guest_kind::idle), "ok");
        }
        env_->freeze_other_server();
        constexpr duration within = 500ms;
        const time_point asked = clock().now();
        const std::string name = env_->other_name();
        const auto begun = std::make_shared<std::optional<time_point>>();
        time_point ended;
        co_await async::with_task_group("moving", [&](async::task_group& group) -> awaitable<void> {
            for (const uuid& id : guests) {
                // The last finds all threads taken.
                const auto told = id == guests.back() ? begun : nullptr;
                group.spawn("migration", [&, id, told]() -> awaitable<void> {
                    const auto outcome = co_await host().migrate(id, {name, "tcp://" + name, within, told});
                    EXPECT_EQ(code_of(outcome), text(call_error::no_target));
                    ended = told ? clock().now() : ended;
                });
            }
            co_return;  // the group waits for all
        });
        for (const uuid& id : guests) {
            ignore(co_await host().destroy(id, in(10s)), "it is there");
        }
        EXPECT_TRUE(begun->has_value()) << "it never had a thread";
        const time_point had_thread = begun->value_or(asked);
        EXPECT_GE(had_thread - asked, within - 50ms);
        EXPECT_GE(ended - had_thread, within - 50ms);
        co_await env_->stop_other_server();
    });
}

// And as many have one at once as the caller allows.
TEST_P(hypervisor_migrations, as_many_at_once_as_are_allowed) {
    PVC_NEEDS(migrates);
    with_guest(guest_kind::idle, [&]() -> awaitable<void> {
        const uuid second = *parse_uuid("00000002-aaaa-4bbb-8ccc-0000000000ff");
        EXPECT_EQ(co_await create(second, "guest2", guest_kind::idle), "ok");
        env_->freeze_other_server();
        const std::string name = env_->other_name();
        for (const unsigned allowed : {1U, 2U}) {
            host().allow({8, allowed});
            std::vector<std::shared_ptr<std::optional<time_point>>> begun;
            co_await async::with_task_group("moving", [&](async::task_group& group) -> awaitable<void> {
                for (const uuid& id : {guest_one, second}) {
                    begun.push_back(std::make_shared<std::optional<time_point>>());
                    group.spawn("migration", [&, id, told = begun.back()]() -> awaitable<void> {
                        const auto outcome = co_await host().migrate(id, {name, "tcp://" + name, 2s, told});
                        EXPECT_EQ(code_of(outcome), text(call_error::no_target));
                    });
                }
                co_return;  // the group waits for all
            });
            const duration apart =
                **begun.back() > **begun.front() ? **begun.back() - **begun.front() : **begun.front() - **begun.back();
            EXPECT_EQ(apart < 1900ms, allowed == 2) << allowed;
        }
        ignore(co_await host().destroy(second, in(10s)), "it is there");
        co_await env_->stop_other_server();
    });
}

TEST_P(hypervisor_migrations, one_with_a_limited_bandwidth_arrives) {
    PVC_NEEDS(migrates);
    with_guest(guest_kind::idle, [&]() -> awaitable<void> {
        const std::string name = env_->other_name();
        const auto outcome = co_await host().migrate(guest_one, {name, "tcp://" + name, 5s + env_->slack(), {}, 200});
        EXPECT_EQ(code_of(outcome), "ok");
        EXPECT_EQ(co_await state_there(), model::to_text(model::guest_class::alive));
    });
}

TEST_P(hypervisor_migrations, an_abort_ends_it) {
    PVC_NEEDS(migrates);
    with_guest(guest_kind::busy, [&]() -> awaitable<void> {
        co_await make_endless();
        co_await async::with_task_group("moving", [&](async::task_group& group) -> awaitable<void> {
            group.spawn("migration", [&]() -> awaitable<void> {
                EXPECT_EQ(co_await migrate(), text(call_error::aborted)) << said_;
            });
            if (co_await is_under_way()) {
                EXPECT_EQ(code_of(co_await host().abort_migration(guest_one, in(30s))), "ok");
            }
        });
        co_await expect_it_stayed();
        EXPECT_EQ(co_await state_there(), text(call_error::no_domain));
    });
}

TEST_P(hypervisor_migrations, a_cancelled_one_is_aborted_before_its_caller_goes_on) {
    PVC_NEEDS(migrates);
    with_guest(guest_kind::busy, [&]() -> awaitable<void> {
        co_await make_endless();
        co_await async::with_task_group("moving", [&](async::task_group& group) -> awaitable<void> {
            group.spawn("migration",
                        [&]() -> awaitable<void> { ADD_FAILURE() << "it ended by itself: " << co_await migrate(); });
            co_await is_under_way();
            group.cancel();
        });
        const auto now = co_await host().progress(guest_one, in(30s));
        EXPECT_TRUE(now && !now->running);
        co_await expect_it_stayed();
        EXPECT_EQ(co_await state_there(), text(call_error::no_domain));
    });
}

TEST_P(hypervisor_migrations, one_whose_target_goes_away_ends) {
    PVC_NEEDS(migrates);
    with_guest(guest_kind::busy, [&]() -> awaitable<void> {
        co_await make_endless();
        co_await async::with_task_group("moving", [&](async::task_group& group) -> awaitable<void> {
            group.spawn("migration",
                        [&]() -> awaitable<void> { EXPECT_EQ(co_await migrate(), text(call_error::no_target)); });
            if (co_await is_under_way()) {
                co_await env_->stop_other_server();
            }
        });
        co_await expect_it_stayed();
    });
}

INSTANTIATE_TEST_SUITE_P(, hypervisor_migrations, ::testing::ValuesIn(make_environments()), world_name);

}  // namespace
}  // namespace pvc::contract
