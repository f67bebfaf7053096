// One simulated machine with its daemon: the real code over simulated ports. Several share one loop and one ensemble.
#pragma once

#include "pvcnoded/config/load.hpp"
#include "pvcnoded/node/daemon.hpp"
#include "pvcnoded/power/adapter/ipmitool_board.hpp"
#include "sim/ceph/sim_ceph_cluster.hpp"
#include "sim/ceph/sim_ceph_helper.hpp"
#include "sim/ceph/sim_rbd_locks.hpp"
#include "sim/ceph/sim_talker.hpp"
#include "sim/hypervisor/sim_console_files.hpp"
#include "sim/hypervisor/sim_hypervisor.hpp"
#include "sim/network/sim_addresses.hpp"
#include "sim/network/sim_filter.hpp"
#include "sim/network/sim_functions.hpp"
#include "sim/network/sim_link_counters.hpp"
#include "sim/network/sim_network_stack.hpp"
#include "sim/network/sim_packet_filter.hpp"
#include "sim/sim_context.hpp"
#include "sim/sim_host.hpp"
#include "sim/sim_offload.hpp"
#include "sim/sim_process.hpp"
#include "sim/sim_services.hpp"
#include "sim/zookeeper/memory_client.hpp"
#include "sim/zookeeper/memory_ensemble.hpp"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace pvc::sim {

struct node_settings {
    std::string name = "hv1";
    std::vector<std::string> coordinators{"hv1", "hv2", "hv3"};
    int keepalive_interval = 5;
    int fence_intervals = 6;
    int suicide_intervals = 0;
    // What becomes of the machines of a node that was fenced, or could not be.
    bool recovers = true;
    bool recovers_after_failure = false;
    int overcommit = 100;
    bool api = false;
    bool debug = false;
    bool zookeeper_logging = false;
    bool log_keepalives = true;
    bool cluster_details = false;
    bool file_logging = true;
    bool stdout_logging = true;
    bool log_colours = false;
    bool log_dates = false;
    bool journal = false;  // standard output is the journal
    int node_log_lines = 2000;
    std::string chroot{};
    std::optional<std::string> schema_limit{};
    bool hypervisor = false;
    int vm_shutdown_timeout = 5;
    std::string cluster_domain = "pvc.local";
    std::string storage_address = "10.254.0.1/24";
    int console_log_lines = 1000;
    std::map<std::string, int> limits{};  // below `configuration.hypervisor`
    std::string control_group{};          // empty: none
    std::optional<int> metrics_port{};
    bool storage = false;
    bool storage_details = false;
    bool networking = false;
    // With networking: where its bridges and floating addresses are.
    std::string upstream_device = "ens4";
    std::string cluster_device = "ens5";
    std::string storage_device = "ens6";
    std::string upstream_floating_ip = "10.98.1.254/24";
    std::string cluster_floating_ip = "10.98.0.254/24";
    std::string storage_floating_ip = "10.254.0.254/24";
    // Of bridged networks; with VLANs on it.
    std::string bridge_device = "ens7";
    // The file calls network cards by other names of theirs (enp0s5 is ens5).
    bool has_other_names = false;
    // The operating system has made the bridges of the three networks; false: its devices are there, and nothing else.
    bool has_ready_bridges = false;
    // Network cards with virtual functions; any switches SR-IOV on.
    struct sriov_card {
        std::string phy;
        std::optional<int> vfcount{};
        std::optional<int> mtu{};
    };
    std::vector<sriov_card> sriov{};
};

// What the machines of a world share for their guests.
struct sim_hardware {
    explicit sim_hardware(async::timers& clock) : centre(clock) {}
    sim_datacentre centre;
    sim_rbd_store rbd;
    sim_ceph ceph;
    // What the programs of Ceph, and those for disks, do on a machine; null: none is installed.
    std::function<std::optional<sim_program>(const std::string& machine, const async::command&)> programs;
};

// Ceph as one life of a daemon has it: its helper, and what that asks.
struct sim_ceph_access {
    sim_ceph_access(sim_hardware& hardware, const std::string& machine, async::timers& clock)
        : rbd(hardware.rbd, machine, clock),
          cluster(hardware.ceph, machine, clock),
          helper(cluster, rbd, clock),
          programs(clock, [this](services::stream_connection& with) { return helper.live(with); }),
          client(programs, clock),
          processes(clock) {
        processes.add([&hardware, machine](const async::command& what) {
            return hardware.programs ? hardware.programs(machine, what) : std::nullopt;
        });
    }
    void cut() {
        rbd.cut = cluster.cut = true;
        processes.cut();
    }
    // SIGCONT: the one that was stopped goes on as if nothing had been.
    void thaw() {
        helper.thaw();
        helper.spoil = nullptr;
    }

    sim_rbd_locks rbd;
    sim_ceph_cluster cluster;
    sim_ceph_helper helper;
    sim_talker programs;
    storage::ceph_helper client;
    sim_process processes;
};

[[nodiscard]] std::string configuration_text(const node_settings& s);
// "enp0s5" of "ens5".
[[nodiscard]] std::string other_name_of(const std::string& device);
// What its operating system makes before the daemon runs.
[[nodiscard]] std::vector<machine_device> devices_of(const node_settings& s);

// Creates the tree that `apply` of this version makes of an empty ensemble.
void initialise(memory_ensemble& ensemble, int version);

// The machine's way to the ensemble; a daemon started after a kill gets a new one.
class machine_connector final : public zookeeper::connector {
public:
    machine_connector(memory_ensemble& ensemble, async::timers& clock)
        : ensemble_(ensemble), clock_(clock), now_(std::make_unique<memory_connector>(ensemble, clock)) {}
    std::unique_ptr<zookeeper::client> open(zookeeper::connection_options options) override;
    [[nodiscard]] memory_link& link() { return now_->link(); }
    [[nodiscard]] const memory_link& link() const { return now_->link(); }
    // The faults of the machine's network stay; what the dead process had under way does not.
    void renew();

private:
    memory_ensemble& ensemble_;
    async::timers& clock_;
    std::unique_ptr<memory_connector> now_;
};

// What else runs in the process of a daemon, beside it. Destroying it is the kill.
class process_part {
public:
    process_part() = default;
    process_part(const process_part&) = delete;
    process_part& operator=(const process_part&) = delete;
    virtual ~process_part() = default;
    // The daemon has ended in order: now this ends.
    virtual void end() = 0;
};

class sim_node {
public:
    sim_node(sim_loop& loop, memory_ensemble& ensemble, node_settings wanted = {}, sim_hardware* hardware = nullptr);
    sim_node(const sim_node&) = delete;
    sim_node& operator=(const sim_node&) = delete;
    ~sim_node();

    [[nodiscard]] bool is_running() const { return daemon_ && !exit_status; }

    // SIGKILL, or the power: the daemon's ports are cut first, so that nothing it still does reaches the world, then
    // its frames are destroyed. The machine's files and services stay.
    void kill();

    // SIGSTOP and SIGCONT: no timer of the process fires and no work of it runs; the machine's clock goes on.
    void pause();
    void resume();
    [[nodiscard]] bool is_paused() const { return is_paused_; }
    [[nodiscard]] std::uint64_t pauses() const { return pauses_; }  // so far
    // The power fails: a kill, and what was not on the disk is lost.
    void lose_power();
    // The machine's libvirtd and what runs there; only with hardware.
    [[nodiscard]] sim_machine_guests& guests() { return hardware_->centre.machine(settings.name); }

    void start();
    void terminate() { daemon_->request_stop("signal TERM"); }
    // Stops in order and waits for the end, at most two simulated minutes.
    void stop();
    // Simulated time passes until the node runs; false after `limit`.
    bool run_until_ready(duration limit = 60s);
    [[nodiscard]] bool is_ready() const { return notifier.readies() > ready_before_; }
    [[nodiscard]] node::daemon& daemon() { return *daemon_; }
    [[nodiscard]] const node::daemon& daemon() const { return *daemon_; }
    // The tasks of the daemon's life; null while there is none.
    [[nodiscard]] const async::runtime* tasks() const { return runtime_ ? &*runtime_ : nullptr; }
    [[nodiscard]] int lives() const { return lives_; }
    // What the kernel tells of addresses, without those that the configuration gives to this machine alone.
    [[nodiscard]] std::string role_addresses() const;
    [[nodiscard]] std::string log() const { return standard_output->text(); }
    [[nodiscard]] bool logged(std::string_view text) const { return log().find(text) != std::string::npos; }
    [[nodiscard]] std::size_t times_logged(std::string_view text) const;

    node_settings settings;
    std::uint64_t seed = 1;
    std::optional<std::string> configuration;  // instead of what the settings say

private:
    sim_loop& loop_;
    sim_hardware* hardware_;

public:
    machine_clock clock;
    machine_connector connector;
    sim_offload pool;
    sim_service_manager services;
    sim_host host;
    sim_process programs;  // what the primary starts; none is installed
    sim_process boards;    // ipmitool; all boards say that their machines are on
    power::ipmitool_board board{boards, clock};
    sim_console_files consoles;
    sim_kernel kernel;
    sim_network_stack network;
    sim_addresses addresses;
    sim_link_counters traffic;
    sim_functions functions;
    sim_filter filter_table;
    sim_packet_filter filter;
    sim_notifier notifier;
    std::shared_ptr<sim_log_output> standard_output;
    std::shared_ptr<sim_log_output> standard_error;
    std::shared_ptr<sim_log_output> log_file;
    std::function<std::uint64_t()> loop_turns;
    // Subjects of a test beside those of the product.
    std::function<void(node::assembly&)> plug_in;
    // Made with each start; null: nothing.
    std::function<std::unique_ptr<process_part>()> beside;
    void drop_beside() { part_.reset(); }
    // Without the storage function: locks are asked of the store at once, as if it were there.
    bool asks_store = true;
    std::vector<std::string> complaints;
    int configuration_reads = 0;
    int memory_given_back = 0;
    std::optional<int> exit_status;
    std::optional<sim_hypervisor> hypervisor;  // of the present life
    std::optional<sim_ceph_access> ceph;       // likewise

private:
    [[nodiscard]] node::process process();
    // The same text says the same: a node that starts a thousand times reads it once.
    const config::loaded& load_configuration();

    std::optional<config::loaded> loaded_;
    std::string loaded_text_;
    std::uint32_t tag_;
    bool is_paused_ = false;
    std::uint64_t pauses_ = 0;
    int lives_ = 0;
    std::optional<async::runtime> runtime_;
    std::size_t ready_before_ = 0;
    std::optional<core::platform> platform_;
    std::optional<node::daemon> daemon_;
    std::unique_ptr<process_part> part_;
};

}  // namespace pvc::sim
