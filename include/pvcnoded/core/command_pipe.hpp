// A key into which clients of schema 9 and before write commands, one at a time, and from which they read the answer.
//
// What stands there when the pipe is opened, or when a connection comes back, is old: its client has gone without an
// answer, so it is never carried out. A command that is addressed to this node is carried out under the write lock of
// the key, and answered under it; the lock is kept for a second more, as clients look for the answer behind it. Whoever
// changed the key meanwhile is not overwritten.
// Lives no longer than its session; loop thread only. A command that is cancelled is not answered: its client waits in
// vain, as for a node that died. Specification: node-lifecycle.md 13, zookeeper-schema.md 6.9 and 4, storage.md 8.1.
#pragma once

#include "pvcnoded/core/session.hpp"

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace pvc::core {

// Whether the command still stands in its key and its lock is ours; lives as long as its performance.
struct pipe_guard {
    std::function<async::awaitable<std::optional<boot_time>>()> look;
    // Makes a transaction fail when it is not so any more.
    std::function<void(zookeeper::transaction&)> add_check;

    // The moment of the proof; empty: not any more.
    async::awaitable<std::optional<boot_time>> operator()() const { return look(); }
};

struct pipe_command {
    std::string name;  // for messages and the task tree
    std::function<async::awaitable<result<void>>(pipe_guard guard, time_point deadline)> perform;
    // Asked again under the lock, where this takes a look at ZooKeeper; false: it is another node's, and left alone.
    std::function<async::awaitable<bool>()> is_ours{};
    // Of the performance; empty: it has none, its steps have theirs.
    std::optional<duration> limit = std::chrono::seconds(20);
};
// Empty: not addressed to this node.
using pipe_reader = std::function<std::optional<pipe_command>(std::string_view text)>;

class command_pipe {
public:
    command_pipe(session& s, std::string path, pipe_reader read)
        : session_(s), path_(std::move(path)), read_(std::move(read)) {}
    command_pipe(const command_pipe&) = delete;
    command_pipe& operator=(const command_pipe&) = delete;

    // Until cancelled.
    async::awaitable<void> run();

private:
    struct request {
        std::string text;
        std::int64_t changed = 0;  // mzxid
        std::int32_t version = 0;
    };
    async::awaitable<bool> note_what_is_old();
    async::awaitable<void> note_connections();
    bool is_noted() const;
    async::awaitable<void> take_up();
    async::awaitable<void> serve(request what, pipe_command command);
    async::awaitable<result<void>> carry_out(const request& what, const pipe_command& command,
                                             zookeeper::held_lock& lock);
    async::awaitable<result<void>> answer(const request& what, std::string text, zookeeper::held_lock& lock);

    session& session_;
    std::string path_;
    pipe_reader read_;
    async::wakeup changed_;
    std::int64_t seen_ = 0;  // mzxid of the newest value that was looked at, or was too old to be
    std::uint64_t connection_ = 0;
};

}  // namespace pvc::core
