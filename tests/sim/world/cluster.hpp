// A whole simulated cluster in one thread: daemons with their machines, the ZooKeeper ensemble, a client's hands, and
// everything that can befall them (action.hpp). Whoever runs it calls step() until it has seen enough; a judge
// (judge.hpp) watches. Specification: architecture.md "The simulated world", runtime-design.md 8.3.
#pragma once

#include "sim/foreign/foreign_node.hpp"
#include "sim/sim_node.hpp"
#include "sim/world/action.hpp"
#include "sim/world/agenda.hpp"
#include "sim/world/states.hpp"
#include "sim/world/trace_hash.hpp"
#include "sim/zookeeper/memory_ensemble.hpp"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pvc::sim {

struct cluster_settings {
    std::uint64_t seed = 1;
    std::vector<node_settings> nodes;
    std::vector<std::string> foreign;  // coordinators that behave as the reference daemon does
    bool has_foreign_guests = false;   // they run virtual machines too
    bool has_late_foreign = false;     // they are of version 1.0.3
    duration foreign_first_beat{};     // foreign_settings::first_beat
    std::optional<int> schema = 10;    // empty: nobody has initialised the cluster
    bool keeps_schema = false;  // a node that is off, and knows no later version, is registered: nobody raises it
    std::uint64_t guests = 0;   // virtual machines of a random run
    bool boards = false;        // each machine has a board that switches it, and is as good or bad as it is told
    // How long a live migration copies the memory of one.
    duration migration_time = std::chrono::milliseconds(300);
    // And how long it takes from the target's start until the source hears of it.
    duration migration_reply = std::chrono::milliseconds(10);
    bool shuffle = true;  // ready work in an order drawn from the seed
};

// One machine of the cluster, and since when nothing has disturbed it.
class member {
public:
    member(sim_loop& loop, memory_ensemble& ensemble, sim_hardware& hardware, node_settings settings,
           std::uint32_t own_number)
        : node(loop, ensemble, settings, settings.hypervisor ? &hardware : nullptr), number(own_number) {
        node.connector.link().number = number;
    }

    [[nodiscard]] const std::string& name() const { return node.settings.name; }
    [[nodiscard]] std::string root() const { return "/nodes/" + name(); }

    sim_node node;
    std::uint32_t number;    // of its link
    bool is_wanted = false;  // somebody started it and nobody has stopped it since
    bool is_powered = true;
    std::uint64_t life = 0;        // counts starts: what was planned for an earlier life is dropped
    std::optional<int> last_exit;  // of the last life that ended by itself
    std::map<std::string_view, std::uint64_t> applied;  // by action: which application of it may undo it
    std::size_t open_faults = 0;                        // under way, disturbing
    std::optional<time_point> clock_stepped{};          // when its wall clock last jumped
    time_point starts_well_from{};                      // until then its machine is in no state to start a daemon
    time_point calm_from{};                             // when the last disturbance will be over and forgotten
};

class cluster {
public:
    // With what these subjects bring; empty: all.
    explicit cluster(cluster_settings settings, const registry* subjects = nullptr);
    cluster(const cluster&) = delete;
    cluster& operator=(const cluster&) = delete;
    ~cluster();

    [[nodiscard]] time_point now() const { return loop.clock().now(); }
    // Does it now, or after as many steps as it says. Errors: not_found (no such node).
    result<void> perform(const action& what);
    // Whether some are still to come: those `after N steps`.
    [[nodiscard]] bool has_delayed() const { return !delayed_.empty(); }
    // One step of the simulation. False: nothing can happen any more.
    bool step();
    // Nothing is ready: the next step lets time pass.
    [[nodiscard]] bool is_quiet() const { return loop_is_idle_; }

    // Counts the changes of the tree at and below a folder of its root ("networks"): what was made of them once need
    // not be made again as long as this is the same.
    [[nodiscard]] std::uint64_t changes_below(std::string_view folder) const;

    [[nodiscard]] member* find(std::string_view name);
    [[nodiscard]] foreign_node* find_foreign(std::string_view name);
    // The machines of reference nodes that run guests.
    [[nodiscard]] std::vector<sim_machine_guests*> foreign_machines();
    // Nothing is being done to it or to the servers, and what was is long enough ago.
    [[nodiscard]] bool is_calm(const member& one) const;
    // Something is being done to it for `time` (empty: until undisturb), or was done just now.
    void disturb(member& one, std::optional<duration> time);
    void disturb_all(std::optional<duration> time);
    // What lasted until somebody undid it has been undone.
    void end_fault(member* one);

    // For what performs actions.
    // Undoes it when its time has come, unless it was done again meanwhile.
    void lasting(const action& what, member* target, bool disturbs, std::function<void()> undo);
    void start(member& one);
    void terminate(member& one);
    void start_foreign(foreign_node& target);
    // A client's: it ends when everything is healed.
    void keep_session(std::int64_t session) { client_sessions_.push_back(session); }
    void before_power_loss(const std::string& machine);
    void heal();

    sim_loop loop;
    memory_ensemble ensemble;
    sim_hardware hardware;
    agenda later;
    std::vector<std::unique_ptr<member>> members;
    std::vector<std::unique_ptr<foreign_node>> foreigners;
    trace_hash hash;
    const registry& known;
    bool has_guests = false;                                // virtual machines are meant to be there
    bool has_boards = false;                                // as its settings say
    std::map<std::string_view, std::uint64_t> performed{};  // by action: how often
    // What a subject remembers of this cluster.
    template <class T>
    [[nodiscard]] T& state() {
        return states_.of<T>();
    }
    std::function<void(const action&)> on_action;  // told of everything that is done
    // A daemon asks its libvirt to do something ("create U1").
    std::vector<std::function<void(const std::string& machine, const std::string& call)>> on_hypervisor_call;
    std::vector<std::function<void(const std::string& machine, const sim_guest& guest)>> on_guest_change;
    // It starts a program for disks or Ceph that changes something ("ceph osd out 1").
    std::vector<std::function<void(const std::string& machine, const std::string& line)>> on_program;
    std::vector<std::function<void()>> on_hardware_change;                       // of any guest or disk
    std::vector<std::function<void(const std::string& machine)>> on_power_loss;  // right before
    // Of an RBD image, by a machine.
    std::vector<std::function<void(const std::string& by, const std::string& image, const storage::rbd_lock& which)>>
        on_lock_broken;
    std::function<void(member&)> on_start;         // a daemon begins its life
    std::function<void(member&)> on_stop_request;  // it is asked to stop in order
    std::function<void(member&)> on_exit;          // it ended by itself; last_exit says how
    std::function<void()> after_step;              // for whoever looks on
    bool service_manager = true;                   // restarts what failed, as the unit file says

    // Of the links of reference nodes with virtual machines: who wrote what.
    static constexpr std::uint32_t first_foreign_number = 101;
    // How long after a disturbance a node is given to be as before.
    static constexpr duration settle = std::chrono::seconds(45);

private:
    struct delayed_action {
        std::uint64_t at_step;
        action what;
    };
    void perform_now(const action& what);
    void count_change(std::string_view path);
    void heal_members();
    void start_later(member& one, duration delay);
    void look_at_exits();

    std::vector<delayed_action> delayed_;
    std::vector<std::pair<std::string, std::uint64_t>> changes_;  // by folder of the root: a few
    std::map<std::string_view, std::uint64_t> applied_;           // to nobody in particular
    std::vector<std::int64_t> client_sessions_;
    std::size_t open_faults_ = 0;
    time_point calm_from_{};
    std::uint64_t steps_ = 0;
    states states_;
    bool loop_is_idle_ = true;
};

}  // namespace pvc::sim
