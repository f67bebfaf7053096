// Guests of one host: their life, their events, their figures.
#include "contract/hypervisor/bench.hpp"

// Scopes keep the callable they are given until its coroutine has ended.

namespace pvc::contract {
namespace {

class hypervisor_guests : public hypervisor_contract {};

TEST_P(hypervisor_guests, before_it_is_connected_every_call_says_so) {
    env_->run([&]() -> awaitable<void> {
        EXPECT_FALSE(is_up());
        EXPECT_EQ(code_of(co_await host().list(in(1s))), text(call_error::unavailable));
        EXPECT_EQ(co_await create(guest_one, "one"), text(call_error::unavailable));
        EXPECT_EQ(co_await destroy(guest_one), text(call_error::unavailable));
        EXPECT_EQ(code_of(co_await host().migrate(guest_one, {})), text(call_error::unavailable));
    });
}

TEST_P(hypervisor_guests, connects) {
    when_up([&]() -> awaitable<void> {
        EXPECT_EQ(generation(), 1U);
        EXPECT_EQ(code_of(co_await host().list(in(30s))), "ok");
    });
    EXPECT_FALSE(is_up());
}

TEST_P(hypervisor_guests, a_created_guest_runs_and_is_listed) {
    when_up([&]() -> awaitable<void> {
        EXPECT_FALSE(co_await is_listed(guest_one));
        EXPECT_EQ(co_await create(guest_one, "one"), "ok");
        EXPECT_EQ(co_await state_of(guest_one), model::to_text(model::guest_class::alive));
        EXPECT_TRUE(co_await is_listed(guest_one));
        co_await eventually([&] { return !has().tells_running || events_.has(guest_one, run_state::running); });
        EXPECT_EQ(co_await destroy(guest_one), "ok");
        EXPECT_EQ(co_await state_of(guest_one), text(call_error::no_domain));
        EXPECT_FALSE(co_await is_listed(guest_one));
        co_await eventually([&] { return events_.has(guest_one, run_state::shut_off); });
    });
    // It ran before it was off, and nothing was told of anybody else.
    const auto is_off = [](const guest_event& e) { return e.status.state == run_state::shut_off; };
    const auto first = std::ranges::find_if(events_.seen, is_off);
    EXPECT_EQ(std::ranges::count_if(events_.seen, is_off), 1);
    EXPECT_EQ(first, events_.seen.empty() ? events_.seen.end() : events_.seen.end() - 1);
    EXPECT_TRUE(std::ranges::all_of(events_.seen, [](const guest_event& e) { return e.id == guest_one; }));
}

TEST_P(hypervisor_guests, a_second_create_finds_it_active) {
    when_up([&]() -> awaitable<void> {
        EXPECT_EQ(co_await create(guest_one, "one"), "ok");
        EXPECT_EQ(co_await create(guest_one, "one"), text(call_error::wrong_state));
        EXPECT_EQ(co_await state_of(guest_one), model::to_text(model::guest_class::alive));
        EXPECT_EQ(co_await destroy(guest_one), "ok");
    });
}

TEST_P(hypervisor_guests, a_name_that_another_guest_has_is_an_error_with_words) {
    when_up([&]() -> awaitable<void> {
        EXPECT_EQ(co_await create(guest_one, "one"), "ok");
        const auto refused = co_await host().create(guest_two, description(guest_two, "one"), any_time(), in(30s));
        EXPECT_EQ(code_of(refused), text(call_error::other));
        EXPECT_TRUE(refused.has_error() && refused.error().text.find("one") != std::string::npos);
        EXPECT_EQ(co_await destroy(guest_one), "ok");
    });
}

TEST_P(hypervisor_guests, nonsense_is_an_error_with_words) {
    when_up([&]() -> awaitable<void> {
        const auto refused = co_await host().create(guest_one, "<domain>", any_time(), in(30s));
        EXPECT_EQ(code_of(refused), text(call_error::other));
        EXPECT_TRUE(refused.has_error() && !refused.error().text.empty());
    });
}

TEST_P(hypervisor_guests, a_guarded_step_that_is_late_does_nothing) {
    when_up([&]() -> awaitable<void> {
        const boot_time passed = clock().boot_now() - 1ms;
        const auto late = co_await host().create(guest_one, description(guest_one, "one"), passed, in(30s));
        EXPECT_EQ(code_of(late), text(call_error::too_late));
        EXPECT_EQ(co_await state_of(guest_one), text(call_error::no_domain));
        EXPECT_EQ(co_await create(guest_one, "one"), "ok");
        EXPECT_EQ(code_of(co_await host().resume(guest_one, passed, in(30s))), text(call_error::too_late));
        EXPECT_EQ(co_await destroy(guest_one), "ok");
    });
}

TEST_P(hypervisor_guests, what_is_not_there) {
    when_up([&]() -> awaitable<void> {
        const std::string none = text(call_error::no_domain);
        EXPECT_EQ(co_await state_of(guest_unknown), none);
        EXPECT_EQ(co_await destroy(guest_unknown), none);
        EXPECT_EQ(code_of(co_await host().live_xml(guest_unknown, in(30s))), none);
        EXPECT_EQ(code_of(co_await host().resume(guest_unknown, any_time(), in(30s))), none);
        EXPECT_EQ(code_of(co_await host().shutdown(guest_unknown, hypervisor::shutdown_way::acpi, in(30s))), none);
        EXPECT_EQ(code_of(co_await host().progress(guest_unknown, in(30s))), none);
        EXPECT_EQ(code_of(co_await host().abort_migration(guest_unknown, in(30s))), none);
        EXPECT_EQ(code_of(co_await host().set_maximum_downtime(guest_unknown, 300, in(30s))), none);
    });
}

TEST_P(hypervisor_guests, destroying_twice) {
    when_up([&]() -> awaitable<void> {
        EXPECT_EQ(co_await create(guest_one, "one"), "ok");
        EXPECT_EQ(co_await destroy(guest_one), "ok");
        EXPECT_EQ(co_await destroy(guest_one), text(call_error::no_domain));
    });
}

TEST_P(hypervisor_guests, a_guest_that_is_asked_ends) {
    PVC_NEEDS(obeys_shutdown);
    when_up([&]() -> awaitable<void> {
        EXPECT_EQ(co_await create(guest_one, "one", guest_kind::obedient), "ok");
        // A guest that has only just begun to start does not hear the first request.
        const auto is_off = [&] { return events_.has(guest_one, run_state::shut_off); };
        const time_point limit = in(20s);
        while (!is_off() && clock().now() < limit) {
            const auto asked = co_await host().shutdown(guest_one, hypervisor::shutdown_way::any, in(30s));
            EXPECT_TRUE(asked || events_.has(guest_one, run_state::shutting_down) || is_off()) << code_of(asked);
            const time_point again = in(250ms);
            while (!is_off() && co_await events_.changed.wait_until(clock(), again, "the guest's end")) {
            }
        }
        EXPECT_TRUE(is_off());
        EXPECT_EQ(co_await state_of(guest_one), text(call_error::no_domain));
    });
}

TEST_P(hypervisor_guests, its_description_and_figures) {
    when_up([&]() -> awaitable<void> {
        EXPECT_EQ(co_await create(guest_one, "one"), "ok");
        const auto description = co_await host().live_xml(guest_one, in(30s));
        EXPECT_TRUE(description && description->find(to_text(guest_one)) != std::string::npos);
        const auto all = co_await host().survey(in(30s));
        EXPECT_EQ(code_of(all), "ok") << (all ? "" : all.error().text);
        const auto found = std::ranges::find(*all, guest_one, [](const auto& one) { return one.of.id; });
        EXPECT_NE(found, all->end());
        if (found != all->end()) {
            EXPECT_EQ(found->of.name, "one");
            EXPECT_EQ(model::class_of(found->of.status), model::guest_class::alive);
            EXPECT_EQ(found->maximum_memory_kib, 65536U);
            EXPECT_EQ(found->memory_kib, 65536U);
            EXPECT_EQ(found->vcpus, 1U);
        }
        EXPECT_EQ(co_await destroy(guest_one), "ok");
    });
}

TEST_P(hypervisor_guests, devices_come_and_go) {
    when_up([&]() -> awaitable<void> {
        const auto attach = [&](const uuid& id, std::string xml) -> awaitable<std::string> {
            co_return code_of(co_await host().attach_device(id, std::move(xml), any_time(), in(20s)));
        };
        const auto detach = [&](const uuid& id, std::string xml) -> awaitable<std::string> {
            co_return code_of(co_await host().detach_device(id, std::move(xml), any_time(), in(20s)));
        };
        const std::string disk = env_->device('b');
        EXPECT_EQ(co_await attach(guest_unknown, disk), text(call_error::no_domain));
        EXPECT_EQ(co_await detach(guest_unknown, disk), text(call_error::no_domain));
        EXPECT_EQ(co_await create(guest_one, "one"), "ok");
        if (!has().takes_devices) {
            EXPECT_EQ(co_await attach(guest_one, disk), text(call_error::unsupported));
            EXPECT_EQ(co_await detach(guest_one, disk), text(call_error::unsupported));
            EXPECT_EQ(co_await destroy(guest_one), "ok");
            co_return;
        }
        const boot_time passed = clock().boot_now() - 1ms;
        EXPECT_EQ(code_of(co_await host().attach_device(guest_one, disk, passed, in(20s))), text(call_error::too_late));
        EXPECT_EQ(code_of(co_await host().detach_device(guest_one, disk, passed, in(20s))), text(call_error::too_late));
        const auto is_there = [&]() -> awaitable<bool> {
            const auto now = co_await host().live_xml(guest_one, in(30s));
            co_return now && now->find(env_->device_mark('b')) != std::string::npos;
        };
        EXPECT_FALSE(co_await is_there());
        EXPECT_EQ(co_await attach(guest_one, disk), "ok");
        EXPECT_TRUE(co_await is_there());
        const auto twice = co_await host().attach_device(guest_one, disk, any_time(), in(20s));
        EXPECT_TRUE(twice.has_error() && twice.error().code == call_error::other && !twice.error().text.empty());
        EXPECT_EQ(co_await attach(guest_one, "no XML"), text(call_error::other));
        EXPECT_NE(co_await detach(guest_one, env_->device('c')), "ok");
        EXPECT_EQ(co_await detach(guest_one, disk), "ok");
        EXPECT_EQ(co_await state_of(guest_one), model::to_text(model::guest_class::alive));
        EXPECT_EQ(co_await destroy(guest_one), "ok");
    });
}

TEST_P(hypervisor_guests, several_at_once) {
    when_up([&]() -> awaitable<void> {
        co_await async::with_task_group("guests", [&](async::task_group& group) -> awaitable<void> {
            for (std::uint8_t i = 0; i < 12; ++i) {
                group.spawn("guest", [&, i]() -> awaitable<void> {
                    uuid id = guest_unknown;
                    id.bytes[15] = i;
                    EXPECT_EQ(co_await create(id, "many-" + std::to_string(i)), "ok");
                    EXPECT_EQ(co_await state_of(id), model::to_text(model::guest_class::alive));
                    EXPECT_EQ(co_await destroy(id), "ok");
                });
            }
            co_return;
        });
    });
}

INSTANTIATE_TEST_SUITE_P(, hypervisor_guests, ::testing::ValuesIn(make_environments()), world_name);

}  // namespace
}  // namespace pvc::contract
