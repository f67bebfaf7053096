// The hypervisors of all machines, and the way between them: migrations and questions to other machines find each other
// here. Everything is on the world's clock; each daemon sees it through a sim_hypervisor on its machine's clock. Loop
// thread only; outlives every daemon.
//
//   sim_datacentre dc(loop.clock());
//   dc.call_it(id, "U1");
//   dc.machine("hv1").put_running(id, "web", xml);
//   dc.machine("hv1").guest(id).fail_next("create", {call_error::other, "Cannot access storage file"});
//   dc.machine("hv1").guest(id).power_off();
//   dc.machine("hv1").calls() == {"create U1"}
#pragma once

#include "pvcnoded/hypervisor/hypervisor.hpp"
#include "sim/hypervisor/sim_machine_guests.hpp"

#include <memory>
#include <set>

namespace pvc::sim {

class sim_migration;

// What the machines and the way between them need; may be changed at any time.
struct hypervisor_times {
    duration connect = std::chrono::milliseconds(2);
    duration message = std::chrono::microseconds(200);  // an answer or an event to the daemon
    duration reconnect_min = std::chrono::milliseconds(500);
    duration reconnect_max = std::chrono::seconds(1);
    duration keepalive = std::chrono::seconds(15);  // silence that breaks a connection
    // Live migrations.
    duration prepare = std::chrono::milliseconds(100);
    double bandwidth_bytes_per_second = 64.0 * 1024 * 1024 / 0.3;
    duration switch_over = std::chrono::milliseconds(20);  // nobody executes
    duration reply = std::chrono::milliseconds(10);        // from the target's start to the answer
    duration source_end = std::chrono::milliseconds(5);    // from the answer to STOPPED(3)
    duration driver_end = std::chrono::milliseconds(300);  // a killed driver's target instance is gone
};

// A process that drives migrations: a daemon, or in migrate() somebody else's.
struct driver_process {
    bool is_alive = true;
    bool is_paused = false;
};

class sim_datacentre {
public:
    struct moment {
        time_point at;
        std::string machine;
        uuid id;
        bool is_there = false;
        model::guest_status status;
    };

    explicit sim_datacentre(async::timers& world);
    sim_datacentre(const sim_datacentre&) = delete;
    sim_datacentre& operator=(const sim_datacentre&) = delete;
    ~sim_datacentre();

    hypervisor_times times;

    // By its name, also as "hv2.pvc.local"; a machine that nobody mentioned is made.
    [[nodiscard]] sim_machine_guests& machine(std::string_view name);
    // The same, without making it.
    [[nodiscard]] sim_machine_guests* find(std::string_view name);
    // The name of a guest in the records of calls; without one its UUID.
    void call_it(const uuid& id, std::string name) { names_[id] = std::move(name); }
    [[nodiscard]] std::string name_of(const uuid& id) const;

    // Nothing of the hypervisors' traffic passes between the two; what is sent is lost.
    void cut(const std::string& one, const std::string& other);
    void join(const std::string& one, const std::string& other);
    [[nodiscard]] bool is_cut(const std::string& one, const std::string& other) const;

    // A live migration driven by something that is not a daemon of this simulation, on the source's machine. To kill
    // the driver: kill(*driver).
    std::shared_ptr<driver_process> migrate(const uuid& id, const std::string& from, const std::string& to,
                                            sim_guest::answer done = sim_guest::nobody);
    void kill(driver_process& driver);

    // --- who runs where ---
    // Called at every change of any guest.
    std::function<void()> changed;
    // The same, with the guest.
    std::function<void(const std::string& machine, const sim_guest& guest)> on_guest;
    // Called when a daemon makes a call, as it is recorded.
    std::function<void(const std::string& machine, const sim_machine_guests::call& what)> on_call;
    // Called when a daemon wants something done although its connection has been down for `time`.
    std::function<void(const std::string& machine, const std::string& call, duration time)> on_call_in_vain;
    // On how many machines it executes.
    [[nodiscard]] std::size_t running_copies(const uuid& id) const;
    // How often a guest began to execute beside another copy of itself; must be 0.
    [[nodiscard]] std::size_t double_runs() const { return double_runs_.size(); }
    // "hv1 and hv2 run U1 at 3.2 s", one line each.
    [[nodiscard]] const std::vector<std::string>& double_run_texts() const { return double_runs_; }
    // Every change of every guest, in order.
    [[nodiscard]] const std::vector<moment>& history() const { return history_; }
    void keep_history(bool keep) { keeps_history_ = keep; }

    // --- for the parts of the simulation ---
    [[nodiscard]] async::timers& clock() { return clock_; }
    void guest_changed(const sim_machine_guests& machine, const sim_guest& guest);
    // Something between machines or daemons is otherwise: migrations look again.
    void review();
    [[nodiscard]] bool is_reachable(const std::string& from, const std::string& to);
    sim_migration& begin_migration(sim_machine_guests& source, const uuid& id, const hypervisor::migration& how,
                                   std::shared_ptr<driver_process> driver, sim_guest::answer done);

private:
    async::timers& clock_;
    std::map<std::string, std::unique_ptr<sim_machine_guests>, std::less<>> machines_;
    std::map<uuid, std::string> names_;
    std::set<std::pair<std::string, std::string>> cuts_;
    std::vector<std::unique_ptr<sim_migration>> migrations_;
    std::map<uuid, std::size_t> copies_;
    std::vector<std::string> double_runs_;
    std::vector<moment> history_;
    bool keeps_history_ = true;
};

}  // namespace pvc::sim
