// What the cases of the ZooKeeper contract suite have in common.
#pragma once

#include "contract/zookeeper/environment.hpp"
#include "pvcnoded/async/deadline.hpp"
#include "pvcnoded/zookeeper/client.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace pvc::contract {

using async::task_group;
using async::with_task_group;
using zookeeper::client;
using zookeeper::connection_options;
using zookeeper::create_mode;
using zookeeper::event_kind;
using zookeeper::link;
using zookeeper::session_state;
using zookeeper::transaction;
using zookeeper::watch_event;
using zookeeper::watching;

inline constexpr std::int32_t any_version = zookeeper::any_version;

struct event_recorder final : zookeeper::watch_sink {
    void on_watch_event(const watch_event& event) override { seen.push_back(text(event.kind) + ' ' + event.path); }
    [[nodiscard]] std::size_t count(const std::string& what) const {
        return static_cast<std::size_t>(std::ranges::count(seen, what));
    }
    static std::string text(event_kind kind) {
        switch (kind) {
            case event_kind::created: return "created";
            case event_kind::deleted: return "deleted";
            case event_kind::changed: return "changed";
            case event_kind::children_changed: return "children";
        }
        return "unknown";
    }
    std::vector<std::string> seen;
};

template <class T>
std::string code_of(const result<T>& outcome) {
    return std::string(outcome ? "ok" : to_text(outcome.error().code()));
}

class zookeeper_contract : public ::testing::TestWithParam<std::string> {
protected:
    void SetUp() override {
        env_ = make_environment(GetParam());
        if (!env_) {
            GTEST_SKIP() << "no ZooKeeper server on this machine (package zookeeper)";
        }
    }
    void TearDown() override { env_.reset(); }

    environment& env() { return *env_; }
    peer& other() { return env_->other(); }
    time_point in(duration time) { return env_->clock().now() + time; }
    // Long enough for whatever must happen, on a loaded machine.
    time_point soon() { return in(20s); }

    // Suspends until `condition` holds, looking often. False: it did not within `limit`.
    awaitable<bool> eventually(std::function<bool()> condition, duration limit = 20s) {
        const time_point end = in(limit);
        while (!condition()) {
            if (env_->clock().now() >= end) {
                co_return false;
            }
            co_await async::sleep_for(env_->clock(), 2ms, "a condition of a test");
        }
        co_return true;
    }
    awaitable<bool> reaches(client& one, link wanted, duration limit = 20s) {
        const bool reached = co_await eventually([&one, wanted] { return one.state().value().now == wanted; }, limit);
        co_return reached;
    }
    awaitable<void> sleep(duration time) { co_await async::sleep_for(env_->clock(), time, "a test"); }

    using client_body = std::function<awaitable<void>(client&)>;
    // One connected client for as long as the body runs, events recorded.
    void with_client(client_body body) {
        env_->run([this, &body]() -> awaitable<void> { co_await one_client(env_->options(), events_, body); });
    }
    // The same inside a running case.
    awaitable<void> one_client(connection_options options, zookeeper::watch_sink& sink, const client_body& body,
                               bool wait_connected = true) {
        auto session = env_->clients().open(std::move(options));
        session->set_watch_sink(&sink);
        co_await with_task_group("client", [&](task_group& group) -> awaitable<void> {
            group.spawn("session", [&session] { return session->run(); });
            if (wait_connected) {
                auto connected = co_await session->wait_connected(soon());
                EXPECT_EQ(code_of(connected), "ok");
            }
            co_await body(*session);
            group.cancel();
        });
    }

    std::unique_ptr<environment> env_;
    event_recorder events_;
};

// Names of the instances, for the output: "memory", "real", …
inline std::string instance_name(const ::testing::TestParamInfo<std::string>& info) {
    return info.param;
}

// Every suite runs against the ensemble in memory and against a real server, with and without a chroot.
#define PVC_INSTANTIATE_EVERYWHERE(suite)                                                                 \
    INSTANTIATE_TEST_SUITE_P(memory, suite, ::testing::Values("memory", "memory_chroot"), instance_name); \
    INSTANTIATE_TEST_SUITE_P(real, suite, ::testing::Values("real", "real_chroot"), instance_name)
#define PVC_INSTANTIATE_REAL_WITHOUT_CHROOT(suite)                                                        \
    INSTANTIATE_TEST_SUITE_P(memory, suite, ::testing::Values("memory", "memory_chroot"), instance_name); \
    INSTANTIATE_TEST_SUITE_P(real, suite, ::testing::Values("real"), instance_name)
#define PVC_INSTANTIATE_WITHOUT_CHROOT(suite)                                            \
    INSTANTIATE_TEST_SUITE_P(memory, suite, ::testing::Values("memory"), instance_name); \
    INSTANTIATE_TEST_SUITE_P(real, suite, ::testing::Values("real"), instance_name)

}  // namespace pvc::contract
