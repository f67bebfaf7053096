// What the cases of the hypervisor contract suite have in common.
#pragma once

#include "contract/hypervisor/environment.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace pvc::contract {

using hypervisor::call_error;
using hypervisor::call_result;
using hypervisor::event_kind;
using hypervisor::guest_event;
using model::run_state;

inline const uuid guest_one = *parse_uuid("4af9ac4c-2c2c-4a58-9f7f-1d2c3b4a5968");
inline const uuid guest_two = *parse_uuid("5b0aad5d-3d3d-4b69-8a80-2e3d4c5b6a79");
inline const uuid guest_unknown = *parse_uuid("00000000-1111-4222-8333-444444444444");

struct guest_recorder final : hypervisor::event_sink {
    void on_guest_event(const guest_event& event) override {
        seen.push_back(event);
        changed.notify();
    }
    [[nodiscard]] bool has(const uuid& id, run_state state) const {
        return std::ranges::any_of(seen, [&](const guest_event& e) {
            return e.what == event_kind::status && e.id == id && e.status.state == state;
        });
    }
    std::vector<guest_event> seen;
    async::wakeup changed;
};

template <class T>
std::string code_of(const call_result<T>& outcome) {
    return outcome ? "ok" : std::string(to_text(outcome.error().code));
}
inline std::string text(call_error code) {
    return std::string(to_text(code));
}

class hypervisor_contract : public ::testing::TestWithParam<hypervisor_world> {
protected:
    void SetUp() override {
        env_ = GetParam().make();
        before_ = env_->burden();
    }
    void TearDown() override {
        if (!env_) {
            return;  // it could not be made, which has been reported
        }
        env_->settle(before_);
        EXPECT_EQ(env_->burden(), before_) << "threads, descriptors or timers are left";
        env_.reset();
    }

    [[nodiscard]] hypervisor_traits has() const { return env_->traits(); }
    hypervisor::hypervisor& host() { return env_->host(); }
    async::timers& clock() { return env_->clock(); }
    [[nodiscard]] time_point in(duration time) { return clock().now() + time; }
    [[nodiscard]] boot_time any_time() { return clock().boot_now() + 1h; }

    // `body` beside run(), which is cancelled when the body has ended.
    void with_host(const std::function<awaitable<void>()>& body) {
        host().set_sink(&events_);
        env_->run([&]() -> awaitable<void> {
            co_await async::with_task_group("case", [&](async::task_group& group) -> awaitable<void> {
                group.spawn("hypervisor", [&]() -> awaitable<void> { return host().run(); });
                const async::latest<hypervisor::connection_state>::observer watching(host().connection(),
                                                                                     events_.changed);
                co_await body();
                group.cancel();
            });
        });
        host().set_sink(nullptr);
    }
    // The same when it is connected.
    void when_up(const std::function<awaitable<void>()>& body) {
        with_host([&]() -> awaitable<void> {
            if (co_await eventually([&] { return is_up(); })) {
                co_await body();
            }
        });
    }

    [[nodiscard]] bool is_up() { return host().connection().value().up; }
    [[nodiscard]] std::uint64_t generation() { return host().connection().value().generation; }

    // Waits for an event or a change of the connection that makes it true. The limit only ends what hangs: a daemon
    // that starts on a busy machine takes its time.
    awaitable<bool> eventually(std::function<bool()> holds, duration limit = 60s) {
        const time_point until = in(limit);
        while (!holds()) {
            if (!co_await events_.changed.wait_until(clock(), until, "what the case expects") && !holds()) {
                ADD_FAILURE() << "it did not happen; the connection is "
                              << (is_up() ? "up" : "down: " + host().connection().value().reason);
                co_return false;
            }
        }
        co_return true;
    }

    using guest_kind = hypervisor_environment::guest_kind;
    std::string description(const uuid& id, const std::string& name, guest_kind kind = guest_kind::idle) {
        return env_->description(id, name, kind);
    }
    awaitable<std::string> create(const uuid& id, const std::string& name, guest_kind kind = guest_kind::idle) {
        co_return code_of(co_await host().create(id, description(id, name, kind), any_time(), in(30s)));
    }
    awaitable<std::string> destroy(const uuid& id) { co_return code_of(co_await host().destroy(id, in(30s))); }
    awaitable<bool> is_listed(const uuid& id) {
        const auto all = co_await host().list(in(30s));
        EXPECT_EQ(code_of(all), "ok");
        co_return all&& std::ranges::any_of(*all, [&](const auto& one) { return one.id == id; });
    }
    awaitable<std::string> state_of(const uuid& id) {
        const auto now = co_await host().status(id, in(30s));
        co_return now ? std::string(model::to_text(model::class_of(*now))) : code_of(now);
    }

    guest_recorder events_;
    environment_burden before_;
    std::unique_ptr<hypervisor_environment> env_;
};

inline std::string world_name(const ::testing::TestParamInfo<hypervisor_world>& info) {
    return info.param.name;
}

}  // namespace pvc::contract

#define PVC_NEEDS(trait)                                        \
    do {                                                        \
        if (!has().trait) {                                     \
            GTEST_SKIP() << "not in this environment: " #trait; \
        }                                                       \
    } while (false)
