// What the reference's ZooKeeper library is to its daemon: one client that outlives its sessions. A lost session is
// followed by a new one without a word to whoever uses it; requests wait for a connection and are repeated; all watch
// callbacks run one after another, on one task, so that a callback that waits holds up all others
// (zookeeper-schema.md 2, 3.1 and 5).
//
// Owned by a foreign daemon. run() and dispatch() are children of its scope; cancelling run() closes the session. Loop
// thread only. Waits for a connection have no limit, as with the reference.
#pragma once

#include "pvcnoded/async/latest.hpp"
#include "pvcnoded/model/key_value.hpp"
#include "pvcnoded/zookeeper/client.hpp"

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace pvc::sim {

class foreign_session final : private zookeeper::watch_sink {
public:
    using stored = std::optional<zookeeper::read_reply>;  // empty: the key is missing
    using change_handler = std::function<async::awaitable<void>(const stored&)>;

    foreign_session(zookeeper::connector& connector, async::timers& clock, duration before_new_session);
    ~foreign_session() override;

    // Session after session, until cancelled.
    async::awaitable<void> run();
    // The one task of all callbacks.
    async::awaitable<void> dispatch();
    // False: no connection before the limit.
    async::awaitable<bool> wait_connected(duration limit);

    async::awaitable<stored> read(std::string path);
    // Empty also for a missing parent.
    async::awaitable<std::vector<std::string>> children(std::string path);
    async::awaitable<void> remove(std::string path);
    // The group write: every key is looked at, then one transaction sets (and checks the version that follows) or
    // creates. Whether it was rolled back is not looked at by the reference; false then, for tests.
    async::awaitable<bool> write(std::vector<model::key_value> pairs);
    async::awaitable<bool> write(std::string path, std::string value);
    // An ephemeral sequential child, tried once: its outcome may be unknown.
    async::awaitable<result<std::string>> create_child(std::string prefix, std::string data);

    // Calls `handler` once now and after every change of the key's modification id, from dispatch().
    void watch(std::string path, change_handler handler);

    // Wakes `target` (from dispatch()) when something happens to the node; false: it is missing, nothing is armed.
    // forget() before `target` goes.
    async::awaitable<bool> wake_at_event(std::string path, async::wakeup& target);
    void forget(const async::wakeup& target);

    // Changes whenever the connection does.
    [[nodiscard]] async::latest<std::uint64_t>& links() { return links_; }
    [[nodiscard]] async::timers& clock() const { return clock_; }

private:
    struct data_watch {
        std::string path;
        change_handler handler;
        std::optional<std::int64_t> seen;  // modification id; 0 = missing
    };
    using shared_client = std::shared_ptr<zookeeper::client>;

    void on_watch_event(const zookeeper::watch_event& event) override;
    void enqueue(std::string path);
    async::awaitable<void> follow(shared_client one);
    async::awaitable<shared_client> connected();
    async::awaitable<void> look_again(data_watch& one);
    async::awaitable<stored> read_watching(std::string path);
    [[nodiscard]] time_point limit() const;

    zookeeper::connector& connector_;
    async::timers& clock_;
    duration before_new_session_;
    shared_client client_;
    async::latest<std::uint64_t> links_;
    std::deque<data_watch> watches_;
    std::multimap<std::string, async::wakeup*> wakes_;
    std::deque<std::string> queue_;
    async::wakeup work_;
};

}  // namespace pvc::sim
