// Where the steps of a differential run are executed. Each client has a way to the server of its own, so that its
// connection can break alone.
#pragma once

#include "pvcnoded/async/timers.hpp"
#include "pvcnoded/async/wakeup.hpp"
#include "pvcnoded/zookeeper/client.hpp"

#include <functional>
#include <memory>
#include <string>

namespace pvc::sim {
class memory_ensemble;
class memory_link;
}  // namespace pvc::sim

namespace pvc::contract::differential {

using async::awaitable;

// The node that everything happens below, in every world: chroot or prefix.
inline constexpr std::string_view home = "/differential";

class world {
public:
    world() = default;
    world(const world&) = delete;
    world& operator=(const world&) = delete;
    virtual ~world() = default;

    virtual void run(std::function<awaitable<void>()> body) = 0;
    virtual async::timers& clock() = 0;
    virtual std::unique_ptr<zookeeper::client> open(std::size_t client, const std::string& chroot) = 0;

    virtual void drop(std::size_t client) = 0;
    virtual void refuse(std::size_t client) = 0;
    virtual void accept(std::size_t client) = 0;
    // Requests arrive and are executed, answers wait until let_pass() or are lost with the connection.
    virtual void hold_answers(std::size_t client) = 0;
    virtual void let_pass(std::size_t client) = 0;
    // The server ends the session of a client that cannot reach it.
    virtual awaitable<void> expire(std::int64_t session) = 0;
};

// What makes a double that is wrong on purpose: called before the clients connect, with the way of client 0.
using alteration = std::function<void(sim::memory_ensemble&, sim::memory_link&)>;
std::unique_ptr<world> make_memory_world(const alteration& alter = nullptr);
// Null if this machine has no server. Everything outside /zookeeper is removed first.
std::unique_ptr<world> make_real_world();

}  // namespace pvc::contract::differential
