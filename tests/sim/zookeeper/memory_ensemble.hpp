// A ZooKeeper ensemble in memory, for tests and the simulated world: one tree, sessions that expire on the given clock,
// connections with latency and faults. Clients reach it through a memory_connector (memory_client.hpp); a test body
// acts on the tree directly and at once, as somebody else's session or as none.
//
// Everything is deterministic. Loop thread only. What a real server does and the contract suite checks against one
// holds here too (runtime-design.md 2.3, 2.4); what differs: one tree for all servers (a server that lags is a property
// of the link, see memory_link), zxids without an epoch, sessions expire to the nanosecond instead of at the next tick,
// no access lists (/zookeeper/config can be written). The differential runs (tests/contract/zookeeper) keep it honest.
#pragma once

#include "pvcnoded/async/timers.hpp"
#include "pvcnoded/zookeeper/client.hpp"
#include "sim/zookeeper/memory_tree.hpp"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

namespace pvc::sim {

class memory_client;
class memory_connection;
class memory_link;

enum class recorded_kind : std::uint8_t { create, set, remove, check, open_session, close_session, expire_session };
[[nodiscard]] std::string_view to_text(recorded_kind kind);

// One committed operation. The operations of one transaction have the same zxid.
struct recorded_change {
    time_point when{};
    std::int64_t zxid = 0;
    std::int64_t session = 0;  // 0: the test itself
    recorded_kind what = recorded_kind::check;
    std::string path;
    std::string data;
    bool is_ephemeral = false;
    std::int32_t expected = zookeeper::any_version;  // the version that the writer demanded
    std::uint32_t owner = 0;                         // memory_link::number of who wrote it; 0: the test, or no link

    // "set /a = x", for messages and comparisons.
    [[nodiscard]] std::string text() const;
};

struct ensemble_settings {
    std::chrono::milliseconds session_timeout_min{2'000};
    std::chrono::milliseconds session_timeout_max{40'000};
    std::size_t request_limit_bytes = 1024UL * 1024 - 1;  // a longer request drops the connection
};

// What reached the servers.
struct ensemble_counters {
    std::uint64_t reads = 0;
    std::uint64_t writes = 0;  // also refused ones
    std::uint64_t refused_writes = 0;
    std::uint64_t syncs = 0;
    std::uint64_t pings = 0;
    std::uint64_t connection_attempts = 0;  // refused and unanswered ones included
    std::uint64_t watch_events = 0;
};

class memory_ensemble {
public:
    explicit memory_ensemble(async::timers& clock, ensemble_settings settings = {});
    memory_ensemble(const memory_ensemble&) = delete;
    memory_ensemble& operator=(const memory_ensemble&) = delete;
    ~memory_ensemble();

    // --- the tree, directly and at once; `session` 0 = a client of no interest ---
    [[nodiscard]] std::optional<std::string> get(std::string_view path) const;
    [[nodiscard]] std::optional<zookeeper::node_stat> exists(std::string_view path) const;
    [[nodiscard]] std::vector<std::string> children(std::string_view path) const;
    result<zookeeper::node_stat> set(const std::string& path, const std::string& data,
                                     std::int32_t version = zookeeper::any_version, std::int64_t session = 0);
    // The path, with its sequence.
    result<std::string> create(const std::string& path, const std::string& data,
                               zookeeper::create_mode mode = zookeeper::create_mode::persistent,
                               std::int64_t session = 0);
    result<void> remove(const std::string& path, std::int32_t version = zookeeper::any_version,
                        std::int64_t session = 0);
    result<void> commit(const zookeeper::transaction& what, std::int64_t session = 0);
    // Creates with all missing ancestors (empty), or sets.
    void put(const std::string& path, const std::string& data);
    void put(const std::map<std::string, std::string>& values);
    // The node and everything below; missing is fine.
    void remove_tree(const std::string& path);
    // Everything outside /zookeeper, by path.
    [[nodiscard]] std::map<std::string, std::string> dump() const { return tree_.dump(); }
    [[nodiscard]] std::int64_t zxid() const { return tree_.zxid(); }

    // --- sessions ---
    // A session of the test's own, for ephemeral nodes. Without a timeout it lives until it is closed or expired.
    std::int64_t open_session(std::optional<duration> timeout = std::nullopt);
    void close_session(std::int64_t id);
    // The server's word that it is over: ephemerals go, its connection drops, its client hears of it when it
    // reconnects.
    void expire_session(std::int64_t id);
    [[nodiscard]] bool has_session(std::int64_t id) const { return sessions_.contains(id); }
    [[nodiscard]] std::vector<std::int64_t> sessions() const;

    // --- faults of all servers at once ---
    // Down: connections drop, new ones are refused; nothing expires. After start() every session has its full time
    // again.
    void stop();
    void start();
    // As SIGSTOP: connections are accepted and nothing is answered; what was sent meanwhile is done after thaw(), and
    // what should have expired meanwhile expires first.
    void freeze();
    void thaw();
    [[nodiscard]] bool is_up() const { return is_up_; }
    [[nodiscard]] bool is_frozen() const { return is_frozen_; }
    [[nodiscard]] time_point up_since() const { return up_since_; }  // the last start() or thaw(); none: the beginning

    // --- what happened ---
    // Every committed operation in order, sessions included. clear_trace() forgets.
    [[nodiscard]] const std::vector<recorded_change>& trace() const { return trace_; }
    [[nodiscard]] std::vector<recorded_change> trace_of(std::int64_t session) const;
    void clear_trace() { trace_.clear(); }
    // Off: only observers hear of what happens.
    void keep_trace(bool keep) { keeps_trace_ = keep; }
    // Called after every committed operation. It must not change the tree.
    void observe(std::function<void(const recorded_change&)> observer) { observers_.push_back(std::move(observer)); }
    [[nodiscard]] const ensemble_counters& counters() const { return counters_; }
    // How many connections have a watch (of any kind) on this path; "" counts all watches.
    [[nodiscard]] std::size_t watches(std::string_view path) const;

    [[nodiscard]] async::timers& clock() const { return clock_; }
    // As it is noted with every change: by the leader's clock, which jumps when another server leads.
    [[nodiscard]] std::chrono::milliseconds server_time() const {
        return std::chrono::floor<std::chrono::milliseconds>((clock_.now() + leader_ahead).time_since_epoch());
    }
    duration leader_ahead{};
    [[nodiscard]] const ensemble_settings& settings() const { return settings_; }

private:
    friend class memory_client;
    friend class memory_connection;
    friend class memory_link;

    struct session {
        explicit session(async::timers& clock) : expiry(clock) {}
        std::int64_t id = 0;
        std::uint32_t owner = 0;
        std::optional<duration> timeout;
        time_point heard{};
        std::set<std::string> ephemerals;
        std::weak_ptr<memory_connection> connection;
        async::timer expiry;
    };

    session& add_session(std::optional<duration> timeout, std::uint32_t owner = 0);
    session* find_session(std::int64_t id);
    void touch(session& one);
    void watch_over(session& one);
    void end_session(std::int64_t id, recorded_kind how);

    // What was done is noted in `writes`.
    result<void> write(std::int64_t by, std::vector<tree_change>& writes);
    // Whether a connection may have a watch that one of these changes fires.
    [[nodiscard]] bool is_watched(const std::vector<tree_change>& changes) const;
    void record(const recorded_change& change);
    std::vector<std::shared_ptr<memory_connection>> connections();

    async::timers& clock_;
    ensemble_settings settings_;
    memory_tree tree_;
    std::map<std::int64_t, std::unique_ptr<session>> sessions_;
    std::int64_t last_session_ = 0x1000'0000'0000'0000;
    std::vector<std::weak_ptr<memory_connection>> connections_;
    std::vector<memory_link*> links_;  // in the order of their making: an order by address would differ between runs
    std::map<std::int64_t, std::uint32_t> owners_;  // of sessions that live or are just ending
    // Every path that was ever watched: of the many writes hardly one is to one of them.
    std::unordered_set<std::string, path_hash, std::equal_to<>> watched_;
    recorded_change told_;  // what observers are told: made anew for each, it would cost more than the write
    std::vector<recorded_change> trace_;
    bool keeps_trace_ = true;
    std::vector<std::function<void(const recorded_change&)>> observers_;
    ensemble_counters counters_;
    bool is_up_ = true;
    bool is_frozen_ = false;
    time_point up_since_{};
};

}  // namespace pvc::sim
