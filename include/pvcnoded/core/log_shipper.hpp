// Log shipping: the last lines of this node's log in /logs/<node>/messages, over a ZooKeeper session of its own so that
// a flood of lines cannot delay a heartbeat. At most one write a second; whoever logs never waits; while ZooKeeper is
// away up to 10,000 lines are kept, the oldest dropped with a counter line. It never logs itself. Specification:
// zookeeper-schema.md 11.
#pragma once

#include "pvcnoded/async/task_group.hpp"
#include "pvcnoded/base/random.hpp"
#include "pvcnoded/core/log_format.hpp"
#include "pvcnoded/zookeeper/client.hpp"

#include <deque>
#include <string>

namespace pvc::core {

struct shipping_settings {
    std::string node;
    int pid = 0;
    log_style style;
    std::size_t lines_max = 2000;
    zookeeper::connection_options connection;
};

class log_shipper {
public:
    log_shipper(zookeeper::connector& connector, async::timers& clock, random_source random,
                shipping_settings settings);
    log_shipper(const log_shipper&) = delete;
    log_shipper& operator=(const log_shipper&) = delete;

    void push(const log_record& record);
    // The active schema version: nothing is shipped before it is known and at least 4.
    void set_schema_version(int version);
    // Ships until cancelled; sessions come and go inside.
    async::awaitable<void> run();
    // Waits until all lines are stored, at most until the deadline.
    async::awaitable<void> flush(time_point deadline);
    [[nodiscard]] std::uint64_t writes() const { return writes_; }

private:
    struct session_tools;
    async::awaitable<void> session();
    async::awaitable<void> ship(zookeeper::client& session, session_tools& tools);
    async::awaitable<result<void>> prepare(zookeeper::client& session);
    async::awaitable<result<void>> store(zookeeper::client& session);
    [[nodiscard]] std::vector<std::string> pending_lines() const;

    zookeeper::connector& connector_;
    async::timers& clock_;
    random_source random_;
    shipping_settings settings_;
    std::string key_;
    std::deque<log_record> early_;  // before the schema version is known
    std::deque<std::string> lines_;
    std::size_t kept_bytes_ = 0;
    time_point due_ = time_point::max();  // when they are to be shipped: lines of ticks alone wait for others
    std::uint64_t dropped_ = 0;
    int schema_version_ = -1;
    bool writing_ = false;
    bool flushing_ = false;
    std::uint64_t writes_ = 0;
    std::uint64_t sessions_ = 0;
    async::wakeup work_;
    async::wakeup drained_;
    async::wakeup hurry_;
};

}  // namespace pvc::core
