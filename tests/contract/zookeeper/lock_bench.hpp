// A session with everything that locks and watches need, as a node has it.
#pragma once

#include "contract/zookeeper/suite.hpp"
#include "pvcnoded/zookeeper/lock.hpp"
#include "pvcnoded/zookeeper/watch_set.hpp"

#include <memory>
#include <string>
#include <vector>

namespace pvc::contract {

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

}  // namespace pvc::contract
