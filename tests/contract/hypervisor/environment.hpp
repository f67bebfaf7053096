// Where the hypervisor contract suite runs: libvirt's test driver in our own process and behind a daemon of its own,
// QEMU behind another, and the simulated hypervisor. The same cases, the same words.
#pragma once

#include "pvcnoded/async/task_group.hpp"
#include "pvcnoded/hypervisor/hypervisor.hpp"

#include <chrono>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

namespace pvc::contract {

using namespace std::chrono_literals;
using async::awaitable;

// What an environment can show; a case that needs more is skipped there.
struct hypervisor_traits {
    bool has_server = false;      // a daemon that can be stopped, started, frozen
    bool has_peers = false;       // questions to other nodes
    bool keeps_guests = false;    // they outlive the daemon
    bool obeys_shutdown = false;  // a guest that is asked ends
    bool tells_running = true;    // an event when a guest begins to run
    bool migrates = false;        // two hosts
    bool takes_devices = false;   // attaching and detaching
};

struct environment_burden {
    std::size_t threads = 0;
    std::size_t descriptors = 0;
    std::size_t watches = 0;  // of descriptors and timers

    friend bool operator==(const environment_burden&, const environment_burden&) = default;
    friend std::ostream& operator<<(std::ostream& out, const environment_burden& is) {
        return out << is.threads << " threads, " << is.descriptors << " descriptors, " << is.watches << " watches";
    }
};

class hypervisor_environment {
public:
    hypervisor_environment() = default;
    hypervisor_environment(const hypervisor_environment&) = delete;
    hypervisor_environment& operator=(const hypervisor_environment&) = delete;
    virtual ~hypervisor_environment() = default;

    [[nodiscard]] virtual hypervisor_traits traits() const = 0;
    // Runs a coroutine as the root task to its end.
    virtual void run(std::function<awaitable<void>()> body) = 0;
    virtual async::timers& clock() = 0;
    // What a limit on time has to grant a busy machine.
    [[nodiscard]] virtual duration slack() const { return std::chrono::seconds(10); }
    // The port under test. Its run() is the case's business.
    virtual hypervisor::hypervisor& host() = 0;
    // Where live migrations go (`migrates`).
    virtual hypervisor::hypervisor& other_host() { return host(); }
    virtual std::string other_name() { return {}; }
    // Names for questions: the host's own, one where nothing listens, one that does not answer.
    virtual std::string own_name() { return {}; }
    virtual std::string deaf_name() { return {}; }
    // A guest that this hypervisor can create. `obedient` ends when it is asked to; `busy` never has the same memory
    // twice, so that a slow migration of it does not end.
    enum class guest_kind : std::uint8_t { idle, obedient, busy };
    virtual std::string description(const uuid& id, const std::string& name, guest_kind kind) = 0;

    // A disk that such a guest can get, under another name for each letter; and part of what its live XML says then.
    virtual std::string device(char /*letter*/) { return "<disk/>"; }
    virtual std::string device_mark(char /*letter*/) { return {}; }

    virtual void freeze_server() {}
    virtual void thaw_server() {}
    virtual void freeze_other_server() {}
    virtual awaitable<void> stop_other_server() { co_return; }
    virtual awaitable<void> stop_server() { co_return; }
    // Returns when it has been started; it may take a while until it serves.
    virtual awaitable<void> start_server() { co_return; }

    // What the port holds. After run() has ended it is what it was before, at the latest when settle() returns.
    [[nodiscard]] virtual environment_burden burden() { return {}; }
    virtual void settle(const environment_burden& /*before*/) {}
};

struct hypervisor_world {
    std::string name;
    std::function<std::unique_ptr<hypervisor_environment>()> make;

    friend std::ostream& operator<<(std::ostream& out, const hypervisor_world& is) { return out << is.name; }
};
// Every environment that this machine can have.
std::vector<hypervisor_world> make_environments();

// The test driver behind a daemon; QEMU on two hosts; the simulated one of simulated clusters.
hypervisor_world daemon_world();
hypervisor_world qemu_world();
hypervisor_world simulated_world();

}  // namespace pvc::contract
