// One simulated machine with its daemon: the real code over simulated ports. Several share one loop and one ensemble.
#pragma once

#include "pvcnoded/config/load.hpp"
#include "pvcnoded/model/schema.hpp"
#include "pvcnoded/model/schema_apply.hpp"
#include "pvcnoded/node/daemon.hpp"
#include "sim/hypervisor/sim_console_files.hpp"
#include "sim/hypervisor/sim_hypervisor.hpp"
#include "sim/hypervisor/sim_rbd_locks.hpp"
#include "sim/sim_context.hpp"
#include "sim/sim_host.hpp"
#include "sim/sim_offload.hpp"
#include "sim/sim_services.hpp"
#include "sim/zookeeper/memory_client.hpp"
#include "sim/zookeeper/memory_ensemble.hpp"

#include <fmt/format.h>

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
};

// What the machines of a world share for their guests.
struct sim_hardware {
    explicit sim_hardware(async::timers& clock) : centre(clock) {}
    sim_datacentre centre;
    sim_rbd_store rbd;
};

[[nodiscard]] inline std::string configuration_text(const node_settings& s) {
    std::string coordinators;
    for (const auto& one : s.coordinators) {
        coordinators += "      - " + one + "\n";
    }
    if (!s.chroot.empty()) {
        coordinators += "      - " + s.chroot + "\n";
    }
    const auto word = [](bool value) { return value ? "True" : "False"; };
    return fmt::format(
        "pvc:\n  node: {}\n  debug: {}\n"
        "  functions:\n    enable_hypervisor: {}\n    enable_networking: False\n    enable_storage: False\n"
        "    enable_api: {}\n"
        "  cluster:\n    coordinators:\n{}"
        "    networks:\n      cluster:\n        domain: {}\n      storage:\n        domain: None\n"
        "        network: 10.254.0.0/24\n"
        "  system:\n"
        "    intervals:\n      keepalive_interval: {}\n      fence_intervals: {}\n      suicide_intervals: {}\n"
        "      vm_shutdown_timeout: {}\n"
        "    fencing:\n      actions:\n        successful_fence: migrate\n        failed_fence: None\n"
        "      ipmi:\n        host: {}-lom\n        user: admin\n        pass: Passw0rd\n"
        "    migration:\n      target_selector: mem\n"
        "    configuration:\n"
        "      directories:\n        dynamic_directory: /run/pvc\n        log_directory: /var/log/pvc\n"
        "        console_log_directory: /var/log/libvirt\n"
        "      logging:\n        file_logging: {}\n        stdout_logging: {}\n        zookeeper_logging: {}\n"
        "        log_colours: {}\n        log_dates: {}\n        log_keepalives: {}\n"
        "        log_keepalive_cluster_details: {}\n        log_keepalive_plugin_details: False\n"
        "        console_log_lines: {}\n        node_log_lines: {}\n"
        "      networking:\n        storage:\n          address: {}\n",
        s.name, word(s.debug), word(s.hypervisor), word(s.api), coordinators, s.cluster_domain, s.keepalive_interval,
        s.fence_intervals, s.suicide_intervals, s.vm_shutdown_timeout, s.name, word(s.file_logging),
        word(s.stdout_logging), word(s.zookeeper_logging), word(s.log_colours), word(s.log_dates),
        word(s.log_keepalives), word(s.cluster_details), s.console_log_lines, s.node_log_lines, s.storage_address);
}

// Creates the tree that `apply` of this version makes of an empty ensemble.
inline void initialise(memory_ensemble& ensemble, int version) {
    const auto table = *model::schema::of(version);
    for (const auto& key : model::missing_keys(table, model::key_group::base, "/", {})) {
        ensemble.put(key.path, key.value);
    }
    ensemble.put("/schema/version", std::to_string(version));
}

// The machine's way to the ensemble; a daemon started after a kill gets a new one.
class machine_connector final : public zookeeper::connector {
public:
    machine_connector(memory_ensemble& ensemble, async::timers& clock)
        : ensemble_(ensemble), clock_(clock), now_(std::make_unique<memory_connector>(ensemble, clock)) {}
    std::unique_ptr<zookeeper::client> open(zookeeper::connection_options options) override {
        return now_->open(std::move(options));
    }
    [[nodiscard]] memory_link& link() { return now_->link(); }
    [[nodiscard]] const memory_link& link() const { return now_->link(); }
    // The faults of the machine's network stay; what the dead process had under way does not.
    void renew() {
        const memory_link& before = now_->link();
        auto fresh = std::make_unique<memory_connector>(ensemble_, clock_);
        memory_link& link = fresh->link();
        link.number = before.number;
        link.outcomes = before.outcomes;
        link.states = before.states;
        link.latency = before.latency;
        link.answer_delay = before.answer_delay;
        link.write_answer_delay = before.write_answer_delay;
        link.watch_delay = before.watch_delay;
        link.lag = before.lag;
        link.at_loss = before.at_loss;
        if (before.is_cut()) {
            link.cut();
        }
        if (before.is_silent()) {
            link.silence();
        }
        now_ = std::move(fresh);
    }

private:
    memory_ensemble& ensemble_;
    async::timers& clock_;
    std::unique_ptr<memory_connector> now_;
};

class sim_node {
public:
    sim_node(sim_loop& loop, memory_ensemble& ensemble, node_settings wanted = {}, sim_hardware* hardware = nullptr)
        : settings(std::move(wanted)),
          loop_(loop),
          hardware_(hardware),
          clock(loop.clock()),
          connector(ensemble, clock),
          pool(clock),
          services(clock),
          host(clock),
          consoles(clock),
          notifier(clock),
          standard_output(std::make_shared<sim_log_output>()),
          standard_error(std::make_shared<sim_log_output>()),
          log_file(std::make_shared<sim_log_output>()),
          tag_(loop.context().new_tag()) {
        loop_.add_clock(clock);
        host.machine.cpus = 16;
        host.machine.kernel_release = "5.10.0-26-amd64";
        host.machine.operating_system = "GNU/Linux";
        host.machine.machine = "x86_64";
    }
    sim_node(const sim_node&) = delete;
    sim_node& operator=(const sim_node&) = delete;
    ~sim_node() {
        kill();
        loop_.remove_clock(clock);
    }

    [[nodiscard]] bool is_running() const { return daemon_ && !exit_status; }

    // SIGKILL, or the power: the daemon's ports are cut first, so that nothing it still does reaches the world, then
    // its frames are destroyed. The machine's files and services stay.
    void kill() {
        resume();
        if (daemon_) {
            connector.link().power_off();
            pool.cut();
            host.cut = services.cut = notifier.cut = consoles.cut = true;
            if (hypervisor) {
                hypervisor->cut();
                rbd->cut = true;
            }
            runtime_->cut();
            const auto run_ready = [this] { loop_.context().run_ready_of(tag_); };
            run_ready();
            runtime_->abandon_tasks(run_ready);
            daemon_.reset();
            ports_.reset();
            runtime_.reset();
            hypervisor.reset();
            rbd.reset();
            connector.renew();
            pool.renew();
            host.cut = services.cut = notifier.cut = consoles.cut = false;
        }
        exit_status.reset();
    }

    // SIGSTOP and SIGCONT: no timer of the process fires and no work of it runs; the machine's clock goes on.
    void pause() {
        if (!is_paused_ && daemon_) {
            is_paused_ = true;
            connector.link().pause();
            clock.stop_timers(true);
            loop_.context().hold(tag_);
            if (hypervisor) {
                hypervisor->pause();
            }
        }
    }
    void resume() {
        if (std::exchange(is_paused_, false)) {
            loop_.context().release(tag_);
            clock.stop_timers(false);
            connector.link().resume();
            if (hypervisor) {
                hypervisor->resume();
            }
        }
    }
    [[nodiscard]] bool is_paused() const { return is_paused_; }
    // The power fails: a kill, and what was not on the disk is lost.
    void lose_power() {
        kill();
        host.lose_power();
        services.lose_power();
        log_file->lose_power();
        if (hardware_ != nullptr) {
            guests().lose_power();
        }
    }
    // The machine's libvirtd and what runs there; only with hardware.
    [[nodiscard]] sim_machine_guests& guests() { return hardware_->centre.machine(settings.name); }

    void start() {
        kill();
        ++lives_;
        runtime_.emplace(loop_.context().get_executor(tag_), clock);
        ready_before_ = notifier.readies();
        if (hardware_ != nullptr) {
            if (!guests().is_powered()) {
                guests().power_on();
            }
            hypervisor.emplace(hardware_->centre, settings.name, clock);
            rbd.emplace(hardware_->rbd, settings.name, clock);
        }
        ports_.emplace(
            node::ports{.clock = clock,
                        .pool = pool,
                        .zookeeper = connector,
                        .services = services,
                        .host = host,
                        .notifier = notifier,
                        .random = random_source(seed + static_cast<std::uint64_t>(lives_ - 1)).split(settings.name),
                        .load_configuration =
                            [this] {
                                ++configuration_reads;
                                return load_configuration();
                            },
                        .announce = [this](const std::string& line) { said.push_back(line); },
                        .complain = [this](const std::string& line) { complaints.push_back(line); },
                        .open_log_file = [this](const std::string&) { return log_file; },
                        .standard_output = standard_output,
                        .standard_error = standard_error,
                        .standard_output_is_journal = settings.journal,
                        .hypervisor = hypervisor ? &*hypervisor : nullptr,
                        .rbd_locks = rbd ? &*rbd : nullptr,
                        .console_files = &consoles,
                        .loop_turns = [this] { return loop_turns ? loop_turns() : loop_.context().steps(); },
                        .schema_limit = settings.schema_limit});
        daemon_.emplace(*ports_);
        async::start_root(
            *runtime_, settings.name, [this]() -> async::awaitable<void> { exit_status = co_await daemon_->run(); },
            [this](const std::exception_ptr& error) {
                if (error) {
                    complaints.push_back("uncaught: " + async::exception_text(error));
                    exit_status = -1;
                }
            });
    }
    void terminate() { daemon_->request_stop("signal TERM"); }
    // Stops in order and waits for the end, at most two simulated minutes.
    void stop() {
        if (!is_running()) {
            return;
        }
        terminate();
        const time_point limit = loop_.clock().now() + 120s;
        loop_.run_until([&] { return exit_status.has_value() || loop_.clock().now() > limit; });
    }
    // Simulated time passes until the node runs; false after `limit`.
    bool run_until_ready(duration limit = 60s) {
        const time_point until = loop_.clock().now() + limit;
        loop_.run_until([&] { return is_ready() || exit_status || loop_.clock().now() > until; });
        return is_ready();
    }
    [[nodiscard]] bool is_ready() const { return notifier.readies() > ready_before_; }
    [[nodiscard]] node::daemon& daemon() { return *daemon_; }
    [[nodiscard]] const node::daemon& daemon() const { return *daemon_; }
    // The tasks of the daemon's life; null while there is none.
    [[nodiscard]] const async::runtime* tasks() const { return runtime_ ? &*runtime_ : nullptr; }
    [[nodiscard]] int lives() const { return lives_; }
    [[nodiscard]] std::string log() const { return standard_output->text(); }
    [[nodiscard]] bool logged(std::string_view text) const { return log().find(text) != std::string::npos; }
    [[nodiscard]] std::size_t times_logged(std::string_view text) const {
        std::size_t count = 0;
        const std::string all = log();
        for (auto at = all.find(text); at != std::string::npos; at = all.find(text, at + 1)) {
            ++count;
        }
        return count;
    }

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
    sim_console_files consoles;
    sim_notifier notifier;
    std::shared_ptr<sim_log_output> standard_output;
    std::shared_ptr<sim_log_output> standard_error;
    std::shared_ptr<sim_log_output> log_file;
    std::function<std::uint64_t()> loop_turns;
    std::vector<std::string> said;
    std::vector<std::string> complaints;
    int configuration_reads = 0;
    std::optional<int> exit_status;
    std::optional<sim_hypervisor> hypervisor;  // of the present life
    std::optional<sim_rbd_locks> rbd;

private:
    // The same text says the same: a node that starts a thousand times reads it once.
    const config::loaded& load_configuration() {
        std::string text = configuration ? *configuration : configuration_text(settings);
        if (!loaded_ || text != loaded_text_) {
            loaded_text_ = std::move(text);
            loaded_ = config::load_text(loaded_text_, "/etc/pvc/pvcnoded.yaml", settings.name);
        }
        return *loaded_;
    }

    std::optional<config::loaded> loaded_;
    std::string loaded_text_;
    std::uint32_t tag_;
    bool is_paused_ = false;
    int lives_ = 0;
    std::optional<async::runtime> runtime_;
    std::size_t ready_before_ = 0;
    std::optional<node::ports> ports_;
    std::optional<node::daemon> daemon_;
};

}  // namespace pvc::sim
