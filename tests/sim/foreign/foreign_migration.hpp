// What the reference does with virtual machines, as far as migrations go: passes over a domain at each change of its
// state, the sender with its fixed pauses, the receiver with its fixed hold, and their defects (vm-domains.md 5.1, 8.3
// and 8.4 "REF82", 8.5, A). Everything else of a machine's life is only sketched: create, destroy, shut down.
//
// foreign_migration is a part of a reference daemon: it works on the daemon's session. foreign_hypervisor is a process
// that consists of nothing else, for tests.
#pragma once

#include "pvcnoded/base/random.hpp"
#include "sim/foreign/foreign_lock.hpp"
#include "sim/foreign/foreign_process.hpp"
#include "sim/foreign/foreign_session.hpp"
#include "sim/hypervisor/sim_datacentre.hpp"

#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace pvc::async {
class task_group;
}

namespace pvc::sim {

// How long each step takes. The defaults are an idle node's; a test pins some.
struct foreign_migration_times {
    using ms = std::chrono::milliseconds;

    duration notice = ms(5);  // from the change of `state` until the pass reads the keys
    // As the sender.
    duration pause = ms(500);             // with the locks of `node` and `state`, before it queues
    duration before_call = ms(2);         // from the third lock to the live call
    duration after_call = ms(5);          // from the end of the call to the running list
    duration before_release = ms(2);      // from the running list to the first release
    duration between_releases = ms(2);    // `node`, `state`, sync lock
    duration between_tries = ms(500);     // of live calls
    duration late_destroy = ms(3'000);    // of a guest that outlived its time, after `stop` was written
    duration shutdown_poll = ms(1'000);   // looks at a guest that shuts down
    duration shutdown_limit = ms(5'000);  // vm_shutdown_timeout
    // As the receiver.
    duration announce = ms(2);  // from the value of the sync lock to its first turn in the queue
    duration hold = ms(1'000);  // phase A
    duration requeue = ms(2);   // from the release of phase A to the queue of phase C
    duration look = ms(5);      // from the lock of phase C to what it reads
    duration let_go = ms(2);    // from what it wrote to the release
    // Both.
    duration lock_limit = ms(30'000);
    duration create = ms(250);
    duration restart_pause = ms(1'200);
    duration tick = ms(5'000);
    duration discovery = ms(200);  // of domains that were defined
};

class foreign_migration {
public:
    // The session's run() and dispatch() are the owner's.
    foreign_migration(foreign_session& session, random_source random, sim_datacentre& centre, std::string node,
                      const foreign_migration_times& wanted = {});
    foreign_migration(const foreign_migration&) = delete;
    foreign_migration& operator=(const foreign_migration&) = delete;
    // Its live calls die with it.
    ~foreign_migration();

    // Until cancelled; nothing is followed before.
    async::awaitable<void> run(std::vector<uuid> domains);
    // The same with every domain that there is or will be, and the nudge of each tick.
    async::awaitable<void> run_all();
    // The locks of its disks, removed or found to be another's: then the text of the refusal.
    std::function<std::optional<std::string>(const uuid&)> refuse_start;
    // Told of the running list before it is written.
    std::function<void(const std::string&)> on_list;

    // May be changed at any time.
    foreign_migration_times times;
    // Everything that it did, in order: "receive", "phase A", "migrate", "rollback", …
    [[nodiscard]] const std::vector<std::string>& deeds() const { return deeds_; }
    [[nodiscard]] bool is_busy(const uuid& id) const;

private:
    struct domain {
        uuid id;
        std::string root;
        bool has_handle = false;  // libvirt was asked while the machine was its own, and had it
        bool is_busy = false;     // any of the flags of an operation
        std::string last_node;    // remembered since the last completed move
        std::vector<std::unique_ptr<foreign_lock>> leaked;
        std::shared_ptr<driver_process> driver;  // of the live call that it makes
    };
    struct view {
        std::string state;
        std::string node;
        std::string last_node;
        std::string method;
    };

    async::awaitable<void> load_list();
    void follow(const uuid& id);
    async::awaitable<void> nudge();
    async::awaitable<void> restart(domain& one);
    async::awaitable<void> pass(domain& one);
    async::awaitable<void> act(domain& one, view now);
    async::awaitable<view> look(const domain& one);
    async::awaitable<void> send(domain& one, view asked);
    async::awaitable<bool> send_live(domain& one, const view& asked);
    async::awaitable<void> send_offline(domain& one);
    async::awaitable<void> receive(domain& one);
    async::awaitable<void> take_over(domain& one);
    async::awaitable<void> start(domain& one);
    async::awaitable<void> destroy(domain& one);
    async::awaitable<bool> shut_down(domain& one, std::string during);
    async::awaitable<void> roll_back(domain& one, foreign_lock& of_node, foreign_lock& of_state,
                                     std::unique_ptr<foreign_lock> sync);
    async::awaitable<void> set_state(domain& one, std::string state);
    async::awaitable<void> list(uuid id, bool runs);
    async::awaitable<void> wait(duration time);
    async::awaitable<hypervisor::call_result<void>> call(std::function<void(sim_guest::answer)> begin);
    [[nodiscard]] std::unique_ptr<foreign_lock> lock_of(const domain& one, const std::string& key);
    [[nodiscard]] sim_guest& guest(const domain& one);
    [[nodiscard]] bool runs(const domain& one);
    void note(std::string what) { deeds_.push_back(std::move(what)); }

    foreign_session& session_;
    random_source random_;
    sim_datacentre& centre_;
    std::string node_;
    std::list<domain> domains_;
    std::vector<std::string> listed_;
    std::vector<std::string> deeds_;
    async::task_group* passes_ = nullptr;
};

// A reference node of which only this part is awake.
class foreign_hypervisor {
public:
    foreign_hypervisor(sim_loop& loop, memory_ensemble& ensemble, sim_datacentre& centre, std::string name,
                       const foreign_migration_times& times = {});
    foreign_hypervisor(const foreign_hypervisor&) = delete;
    foreign_hypervisor& operator=(const foreign_hypervisor&) = delete;
    ~foreign_hypervisor();

    void start(std::vector<uuid> domains);
    // As SIGKILL: its session expires in time.
    void kill();
    [[nodiscard]] foreign_migration& part() { return *part_; }
    [[nodiscard]] memory_link& link() { return process_.link(); }
    [[nodiscard]] const std::string& complaint() const { return process_.complaint(); }

    foreign_migration_times times;  // of the next start

private:
    sim_datacentre& centre_;
    std::string name_;
    foreign_process process_;
    std::unique_ptr<foreign_session> session_;
    std::unique_ptr<foreign_migration> part_;
    std::uint64_t starts_ = 0;
};

}  // namespace pvc::sim
