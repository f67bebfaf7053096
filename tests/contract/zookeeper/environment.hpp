// Where the ZooKeeper contract suite runs: against the ensemble in memory on the simulated loop, or with the real
// adapter on the real loop against a real server. The same cases, the same words.
#pragma once

#include "pvcnoded/async/task_group.hpp"
#include "pvcnoded/zookeeper/client.hpp"

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace pvc::contract {

using namespace std::chrono_literals;
using async::awaitable;

// The node as somebody else sees it.
struct peer_stat {
    std::int64_t czxid = 0;
    std::int64_t mzxid = 0;
    std::int32_t version = 0;
    std::int64_t ephemeral_owner = 0;
};

// Another client of the same tree, which behaves as the reference's library does (against the real server it is the
// reference's library). Paths are those of the clients under test, with the chroot added. A command that fails throws.
class peer {
public:
    peer() = default;
    peer(const peer&) = delete;
    peer& operator=(const peer&) = delete;
    virtual ~peer() = default;

    // Creates with all ancestors, or sets.
    virtual awaitable<void> put(std::string path, std::string data) = 0;
    // `path`/0 to `path`/`count` - 1.
    virtual awaitable<void> put_many(std::string path, int count, std::string data) = 0;
    virtual awaitable<void> remove(std::string path) = 0;
    virtual awaitable<void> remove_tree(std::string path) = 0;
    virtual awaitable<std::optional<std::string>> get(std::string path) = 0;
    virtual awaitable<std::optional<peer_stat>> stat(std::string path) = 0;
    virtual awaitable<std::vector<std::string>> children(std::string path) = 0;
    // Every node from `path` down that is not open to the world.
    virtual awaitable<std::vector<std::string>> closed_nodes(std::string path) = 0;

    // Locks under a name of the test's. The child's path; nothing if it was not acquired within `limit`.
    virtual awaitable<std::optional<std::string>> acquire(std::string name, std::string kind, std::string path,
                                                          duration limit) = 0;
    virtual awaitable<void> release(std::string name) = 0;
    // `count` times: take the read lock, give it back. The longest wait.
    virtual awaitable<duration> read_phases(std::string path, int count) = 0;
};

class environment {
public:
    environment() = default;
    environment(const environment&) = delete;
    environment& operator=(const environment&) = delete;
    virtual ~environment() = default;

    [[nodiscard]] virtual bool is_simulated() const = 0;
    // Runs a coroutine as the root task to its end.
    virtual void run(std::function<awaitable<void>()> body) = 0;
    virtual async::timers& clock() = 0;
    virtual zookeeper::connector& clients() = 0;
    // The way to the server that the faults below are in; a session of 10 s, the longest that is granted.
    virtual zookeeper::connection_options options() = 0;
    virtual peer& other() = 0;

    // --- the server ---
    virtual awaitable<void> stop_server() = 0;
    // Returns when it serves.
    virtual awaitable<void> start_server() = 0;
    virtual void freeze_server() = 0;
    virtual void thaw_server() = 0;
    // Somebody with the right to do so ends the session; our client hears of it when it next connects, which it must at
    // once.
    virtual awaitable<void> expire(std::int64_t session) = 0;

    // --- the way there ---
    virtual void drop_connections() = 0;
    virtual void refuse_connections() = 0;
    virtual void accept_connections() = 0;
    // Connections stay and are accepted; nothing passes in either direction.
    virtual void silence() = 0;
    // Requests arrive and are executed, answers wait.
    virtual void hold_answers() = 0;
    // The same from the next create, or delete, of a single node on.
    virtual void hold_answers_from_create() = 0;
    virtual void hold_answers_from_delete() = 0;
    // Ends all of these.
    virtual void let_pass() = 0;
    // Watches of all clients that the server has.
    virtual awaitable<std::size_t> watches() = 0;
    // Connections that were attempted so far, as far as the relay can see (refused ones are not seen).
    virtual std::uint64_t attempts() = 0;
    // The server that clients are connected to is behind the others (only in memory; nothing happens elsewhere).
    virtual void set_lag(duration lag) = 0;
    // Pieces of work that the loop has done: who spins shows here.
    virtual std::uint64_t turns() = 0;
    // The process stands still; what arrives meanwhile waits in the socket.
    virtual awaitable<void> stand_still(duration time) = 0;
};

// One of "memory", "memory_chroot", "real", "real_chroot". Null if this machine cannot (no server installed).
std::unique_ptr<environment> make_environment(const std::string& kind);
std::unique_ptr<environment> make_memory_environment(const std::string& chroot);
std::unique_ptr<environment> make_real_environment(const std::string& chroot);
// Where the real server listens.
std::uint16_t real_server_port();

}  // namespace pvc::contract
