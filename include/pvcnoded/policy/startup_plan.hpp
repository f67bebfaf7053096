// Start-up as data (node-lifecycle.md 3.2-3.5, networking.md 3.2, config.md 6.7): phases and what their failure means,
// services in the order in which they are started, directories, sysctls.
#pragma once

#include "pvcnoded/base/result.hpp"
#include "pvcnoded/model/states.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace pvc::policy {

enum class phase : std::uint8_t {
    configuration,    // S0
    directories,      // S1
    logger,           // S2
    host_networking,  // S3
    sysctl,           // S4
    services,         // S5
    zookeeper,        // S6
    termination,      // S7
    node_entry,       // S8
    hypervisor,       // S9
    firewall,         // S10
    dns_service_off,  // S11
    objects,          // S12
    keepalive,        // S13
};

enum class failure_policy : std::uint8_t {
    exit_configuration,  // print every error, exit 78
    exit_environment,    // exit 1
    log_and_continue,
    start_again,  // close what was opened since S1, wait 2 s, begin at S0 in the same process
    terminate,    // run the termination sequence, exit 1
    ignore,
    isolated,  // one object's failure does not touch the others
};

struct phase_info {
    phase id;
    int number;             // 0-13
    std::string_view name;  // for STATUS= and the log
    failure_policy on_failure;
};

// S0 to S13, in order.
[[nodiscard]] std::span<const phase_info> startup_phases();
[[nodiscard]] const phase_info& info_of(phase id);

// Whether subjects take part in it: they are made when the log is there, and live before the objects are waited for.
[[nodiscard]] bool is_for_subjects(phase id);

// What a failure in a phase means for the daemon. `refused` says that another attempt would end alike: it ends the
// process where a failure would else begin anew.
enum class startup_answer : std::uint8_t { go_on, start_again, leave, leave_unconfigured };
[[nodiscard]] startup_answer answer_to_failure(phase id, errc code);

// system.configuration.functions, and whether health checks are left to the external daemon.
struct node_functions {
    bool hypervisor = false;
    bool networking = false;
    bool storage = false;
    bool api = false;
    bool external_health = false;
};

// Units to start in S5, in this order; REF order of node-lifecycle.md 3.5 (cases AC05, AC06).
[[nodiscard]] std::vector<std::string> services_to_start(std::string_view node, model::daemon_mode mode,
                                                         const node_functions& functions);

// A key below /proc/sys and the value to write; a key that does not exist is skipped.
struct sysctl_setting {
    std::string key;  // "net/ipv4/ip_forward"
    std::string value;
    // If this key reads as `when_reads` before, `value_then` is written instead of `value`; `value` empty: nothing
    // else.
    std::string condition_key;
    std::string when_reads;
    std::string value_then;

    friend bool operator==(const sysctl_setting&, const sysctl_setting&) = default;
};

struct core_devices {
    std::string cluster_device;
    std::string cluster_bridge = "brcluster";
    std::string upstream_device;
    std::string upstream_bridge = "brupstream";  // the bridge that serves the upstream network
};

// In the order in which they are written (S4).
[[nodiscard]] std::vector<sysctl_setting> sysctl_settings(const core_devices& devices);

struct directory_plan {
    std::string path;
    unsigned mode = 0755;
    std::string owner;      // user name; empty: root
    bool is_needed = true;  // false: only logs go there, and the start goes on without it

    friend bool operator==(const directory_plan&, const directory_plan&) = default;
};

// S1: each is created if missing, parents first, whether its parent was there or not. `pdns_user` owns the run-time
// directory of the DNS aggregator.
[[nodiscard]] std::vector<directory_plan> directories_to_create(std::string_view dynamic_directory,
                                                                std::string_view log_directory,
                                                                std::string_view pdns_user = "pdns");

}  // namespace pvc::policy
