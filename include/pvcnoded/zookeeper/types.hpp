// Values of the ZooKeeper port: stats, transactions, replies, session state. No type of a library crosses the port.
// Specification: zookeeper-schema.md 3, runtime-design.md 2.
#pragma once

#include "pvcnoded/base/clock.hpp"
#include "pvcnoded/base/guard.hpp"
#include "pvcnoded/base/result.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <vector>

namespace pvc::zookeeper {

// zookeeper-schema.md 1 "Size": above the server's 1 MiB a request drops the connection.
inline constexpr std::size_t value_limit_bytes = 512UL * 1024;
inline constexpr std::size_t transaction_limit_bytes = 900UL * 1024;
// For `set`, `remove` and `check`: any version (of `check`: the node exists).
inline constexpr std::int32_t any_version = -1;

struct node_stat {
    std::int64_t czxid = 0;  // transaction that created it: the identity of an object
    std::int64_t mzxid = 0;  // transaction that changed its data last
    std::int64_t pzxid = 0;
    std::chrono::milliseconds ctime{};  // since 1970 by the servers' clock: when it was created
    std::chrono::milliseconds mtime{};  // when its data was changed last
    std::int64_t ephemeral_owner = 0;   // session id; 0 = persistent
    std::int32_t version = 0;
    std::int32_t cversion = 0;
    std::int32_t child_count = 0;
};

enum class create_mode : std::uint8_t { persistent, ephemeral, ephemeral_sequential };
enum class watching : std::uint8_t { no, yes };

// One operation of a transaction.
struct operation {
    enum class kind : std::uint8_t { create, set, remove, check };
    kind what = kind::check;
    std::string path;
    std::string data;
    std::int32_t version = any_version;
};

// A multi-operation, all or nothing. Every created node is open to the world (zookeeper-schema.md 2).
// A value that a transaction sets: for what the answer says of it.
class set_handle {
private:
    friend class transaction;
    friend struct commit_reply;
    explicit set_handle(std::size_t at) : at_(at) {}
    std::size_t at_;
};

class transaction {
public:
    void create(std::string path, std::string data) {
        add({operation::kind::create, std::move(path), std::move(data), any_version});
    }
    set_handle set(std::string path, std::string data, std::int32_t expected_version,
                   const guard_place& where = guard_place::current()) {
        return add({operation::kind::set, std::move(path), std::move(data), guarded_version(expected_version, where)});
    }
    // A set without an expected version: only for keys that nobody but this node writes.
    set_handle overwrite(std::string path, std::string data) {
        return add({operation::kind::set, std::move(path), std::move(data), any_version});
    }
    void remove(std::string path, std::int32_t expected_version, const guard_place& where = guard_place::current()) {
        add({operation::kind::remove, std::move(path), {}, guarded_version(expected_version, where)});
    }
    void check(std::string path, std::int32_t expected_version, const guard_place& where = guard_place::current()) {
        if (!is_left_out(where)) {
            add({operation::kind::check, std::move(path), {}, expected_version});
        }
    }
    // All of `more`, as it stands there, behind what is here: creations, sets, removals and checks. The handles of
    // `more` are no handles of this one.
    void append(transaction more) {
        operations_.insert(operations_.end(), std::make_move_iterator(more.operations_.begin()),
                           std::make_move_iterator(more.operations_.end()));
    }
    void reserve(std::size_t operations) { operations_.reserve(operations); }
    [[nodiscard]] const std::vector<operation>& operations() const& { return operations_; }
    [[nodiscard]] std::vector<operation> operations() && { return std::move(operations_); }
    [[nodiscard]] bool empty() const { return operations_.empty(); }
    [[nodiscard]] std::size_t size_bytes() const;

private:
    // One that names no version is no guard.
    static std::int32_t guarded_version(std::int32_t expected, const guard_place& where) {
        return expected != any_version && is_left_out(where) ? any_version : expected;
    }
    set_handle add(operation&& one) {
        operations_.push_back(std::move(one));
        return set_handle(operations_.size() - 1);
    }
    std::vector<operation> operations_;
};

// `sent` is the boot time at which the request went out: ages that others rely on count from there, never from the
// reading of the answer (node-lifecycle.md 3.1 rule 5).
struct read_reply {
    std::string data;
    node_stat stat;
    boot_time sent{};
};
// A read that goes out with others.
struct read_wish {
    std::string path;
    watching watch = watching::no;
    bool with_data = true;  // false: as exists(), whose answer has no data
};
struct stat_reply {
    node_stat stat;
    boot_time sent{};
};
struct children_reply {
    std::vector<std::string> names;  // ascending
    node_stat stat;
    boot_time sent{};
};
struct create_reply {
    std::string path;  // with the sequence that the server appended
    boot_time sent{};
};
struct commit_reply {
    std::vector<node_stat> stats;  // one an operation; filled for `set` only
    boot_time sent{};

    // Of a value that this transaction set.
    [[nodiscard]] const node_stat& of(set_handle one) const { return stats[one.at_]; }
    // The transaction's id in the order of all writes; 0 if it set nothing.
    [[nodiscard]] std::int64_t zxid() const {
        std::int64_t last = 0;
        for (const auto& stat : stats) {
            last = std::max(last, stat.mzxid);
        }
        return last;
    }
};

enum class link : std::uint8_t {
    connecting,  // no session yet
    connected,
    suspended,  // no connection, or a pause of the process: the session may be alive
    lost,       // the session is over, by the server's word or by our own clock; final
};

[[nodiscard]] std::string_view to_text(link state);

struct session_state {
    link now = link::connecting;
    std::int64_t session_id = 0;
    std::chrono::milliseconds timeout{};  // as negotiated
    boot_time contact{};                  // last proof that a server knows the session, as of this change of state
    std::string reason;                   // why suspended or lost; while connecting: the last failure
    std::uint64_t connections = 0;        // how often a connection was established (or proved again after a pause)
};

enum class event_kind : std::uint8_t { created, deleted, changed, children_changed };
struct watch_event {
    event_kind kind = event_kind::changed;
    std::string path;
};

// Who is told about watch events. The call only takes notes: it must not suspend or send.
class watch_sink {
public:
    watch_sink() = default;
    watch_sink(const watch_sink&) = delete;
    watch_sink& operator=(const watch_sink&) = delete;
    virtual ~watch_sink() = default;
    virtual void on_watch_event(const watch_event& event) = 0;
};

}  // namespace pvc::zookeeper
