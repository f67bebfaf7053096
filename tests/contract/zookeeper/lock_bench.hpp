// A session with everything that locks and watches need, as a node has it.
#pragma once

#include "contract/support/starvation.hpp"
#include "contract/zookeeper/suite.hpp"
#include "pvcnoded/model/lock_name.hpp"
#include "pvcnoded/zookeeper/lock.hpp"
#include "pvcnoded/zookeeper/watch_set.hpp"

#include <memory>
#include <string>
#include <vector>

namespace pvc::contract {

using model::lock_kind;
using zookeeper::held_lock;
using zookeeper::lock_request;
using zookeeper::lock_service;
using zookeeper::watch_kind;
using zookeeper::watch_set;
using zookeeper::watched;

struct log_collector final : logger {
    void write(log_level /*level*/, std::string text, std::string /*prefix*/) override {
        lines.push_back(std::move(text));
    }
    std::vector<std::string> lines;
};

struct node_session {
    node_session(environment& env, connection_options options, std::string name)
        : zk(env.clients().open(std::move(options))),
          watches(*zk, env.clock()),
          locks(*zk, watches, env.clock(), random_source(std::hash<std::string>()(name)), std::move(name), 4711, log) {}
    std::unique_ptr<client> zk;
    watch_set watches;
    log_collector log;
    lock_service locks;
};

class zookeeper_node_contract : public zookeeper_contract {
protected:
    using session_body = std::function<awaitable<void>(node_session&)>;

    void with_session(const session_body& body) {
        env_->run([this, &body]() -> awaitable<void> { co_await one_session(env_->options(), "hv1", body); });
    }
    void with_session(connection_options options, const session_body& body) {
        env_->run([this, &options, &body]() -> awaitable<void> { co_await one_session(options, "hv1", body); });
    }
    awaitable<void> one_session(connection_options options, std::string name, const session_body& body) {
        node_session session(*env_, std::move(options), std::move(name));
        co_await with_task_group("session", [&](task_group& group) -> awaitable<void> {
            group.spawn("connection", [&session] { return session.zk->run(); });
            group.spawn("watches", [&session] { return session.watches.run(); });
            group.spawn("reaper", [&session] { return session.locks.run(); });
            auto connected = co_await session.zk->wait_connected(soon());
            EXPECT_EQ(code_of(connected), "ok");
            co_await body(session);
            group.cancel();
        });
    }
};

class zookeeper_locks : public zookeeper_node_contract {
protected:
    lock_request request(std::string path, lock_kind kind, duration limit) {
        lock_request out;
        out.path = std::move(path);
        out.kind = kind;
        out.deadline = in(limit);
        out.task = "test";
        out.reason = "contract";
        return out;
    }
    // Takes the lock, gives it back at once.
    awaitable<result<void>> touch(node_session& session, std::string path, lock_kind kind, duration limit) {
        auto what = request(std::move(path), kind, limit);
        auto nothing = [](held_lock&) -> awaitable<result<void>> { co_return result<void>(); };
        auto outcome = co_await session.locks.with_lock(std::move(what), nothing);
        co_return outcome;
    }
    // The contenders on a key, as somebody else sees them.
    awaitable<std::vector<std::string>> contenders(std::string path) {
        auto names = co_await other().children(path);
        std::erase_if(names, [](const std::string& name) { return !model::parse_lock_child(name); });
        co_return names;
    }
    awaitable<bool> contenders_become(std::string path, std::size_t count, duration limit = 20s) {
        const time_point end = in(limit);
        for (;;) {
            auto names = co_await contenders(path);
            if (names.size() == count || env().clock().now() >= end) {
                co_return names.size() == count;
            }
        }
    }
    // What a deadline may be missed by on a loaded machine; nothing in simulated time.
    duration slack() { return env().is_simulated() ? 0s : 2s + granted_.so_far(); }

private:
    granted_time granted_;
};

}  // namespace pvc::contract
