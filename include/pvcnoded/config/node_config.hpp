// The configuration of this node: validated, typed and derived (config.md sections 5 and 6). Immutable after loading.
// Settings of networking are meaningful only with functions.networking, except where said otherwise.
#pragma once

#include "pvcnoded/base/address.hpp"
#include "pvcnoded/config/secret.hpp"

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pvc::config {

enum class node_mode : std::uint8_t { coordinator, hypervisor };
enum class fence_action : std::uint8_t { none, migrate };
enum class health_mode : std::uint8_t { automatic, builtin, external };
enum class builtin_preference : std::uint8_t { automatic, always, never };
enum class network_role : std::uint8_t { cluster, storage, upstream };  // in the order of processing (6.6)

[[nodiscard]] std::string_view mode_text(node_mode mode);           // "coordinator", "hypervisor"
[[nodiscard]] std::string_view to_text(fence_action action);        // "none", "migrate"
[[nodiscard]] std::string_view to_text(health_mode mode);           // "auto", "builtin", "external"
[[nodiscard]] std::string_view to_text(builtin_preference choice);  // "auto", "always", "never"
[[nodiscard]] std::string_view to_text(network_role role);          // "cluster", "storage", "upstream"

struct zookeeper_server {
    std::string host;  // name or address, IPv6 without brackets
    std::uint16_t port = 2181;
};

// One of the three static networks (5.2, 5.7, 6.5, 6.6).
struct static_network {
    std::string domain;  // "" if NONE; read also with networking disabled
    ip::network_v4 subnet{ip::address_v4(), 32};
    host_address floating_ip;            // prefix: the written one, else that of the subnet
    std::optional<ip::address> gateway;  // upstream only; empty = no default route
    std::string device;
    int mtu = 1500;                       // as configured for this network; the bridge has host_bridge::mtu
    std::optional<host_address> address;  // of this node; empty = NONE
    std::string bridge;                   // the owner's: brcluster, brstorage or brupstream
};

// A bridge that the daemon makes for the static networks, in the order of creation.
struct host_bridge {
    std::string name;
    std::string device;
    int mtu = 1500;
    network_role owner = network_role::cluster;
};

// What a physical device needs: the largest MTU of all its users.
struct device_mtu {
    std::string device;
    int mtu = 1500;
};

struct database {
    std::string host;  // a host or an absolute socket directory
    std::uint16_t port = 5432;
    std::string name;
    std::string user;
    secret pass;
};

struct sriov_device {
    std::string phy;
    std::optional<int> mtu;       // empty = leave as is
    std::optional<int> vf_count;  // empty = write nothing to sriov_numvfs, register what exists
};

struct health_check {
    std::optional<std::chrono::seconds> timeout;   // empty = the check's own
    std::optional<std::chrono::seconds> interval;  // empty = the check's own
    std::vector<std::string> args;
    int max_delta = 100;
};

struct node_config {
    std::string file;  // the name under which the file was loaded

    // 5.1, 6.1, 6.2
    std::string node;           // short host name
    std::string fqdn;           // host name as the kernel gives it
    std::string domain;         // "" if the host name has none
    std::uint64_t node_id = 0;  // 0 = the host name has no number; saturates
    node_mode mode = node_mode::hypervisor;
    bool debug = false;
    struct functions {
        bool hypervisor = false;
        bool networking = false;
        bool storage = false;
        bool api = false;
    } functions;

    // 5.2, 6.3
    std::vector<std::string> coordinators;  // host part without port, as written; duplicates dropped
    std::vector<zookeeper_server> zookeeper_servers;
    std::string zookeeper_chroot;  // "" or "/pvc"
    std::string zookeeper_hosts;   // connect string: "hv1:2181,hv2:2181/pvc"
    struct networks {
        static_network cluster;
        static_network storage;
        static_network upstream;

        [[nodiscard]] const static_network& operator[](network_role role) const;
    } networks;
    std::string upstream_floating_ip;       // verbatim; "" when absent
    std::vector<host_bridge> host_bridges;  // 6.6
    std::vector<device_mtu> device_mtus;    // 6.6: the devices of the static networks

    // 5.3
    database dns_database;
    database metadata_database;

    // 5.4
    struct fencing {
        fence_action successful = fence_action::migrate;
        fence_action failed = fence_action::none;  // effective: none unless the self-reset settings allow migrate
        int overcommit = 100;  // percent of its memory that a node may be filled to by recoveries (5.8a)
    } fencing;
    struct ipmi {
        std::string host;
        std::string user;
        secret pass;
        std::optional<int> cipher_suite;  // for all boards that this node asks; empty = what proves to be fast
    } ipmi;
    std::string target_selector = "mem";  // lower case

    // 5.5
    std::chrono::seconds keepalive_interval{5};
    int fence_intervals = 6;    // 0 = fencing is off
    int suicide_intervals = 0;  // 0 = self-reset is off
    // The lease B that a heartbeat may publish (node-lifecycle.md 10.8); empty = `selfreset` stays "off" whatever
    // happens.
    std::optional<std::chrono::seconds> self_reset_lease;
    std::chrono::seconds vm_shutdown_timeout{180};
    std::chrono::seconds monitoring_interval{60};

    // 5.6
    struct directories {
        std::string plugin;
        std::string dynamic;
        std::string log;
        std::string console_log;
    } directories;
    struct logging {
        bool file = false;
        bool stdout_ = false;
        bool zookeeper = false;
        bool colours = false;
        bool dates = false;
        bool keepalives = false;
        bool cluster_details = false;  // this and the next two: already false where keepalives is
        bool plugin_details = false;
        bool storage_details = false;
        int console_log_lines = 1000;  // 0 = ship nothing
        int node_log_lines = 2000;
    } logging;

    // 5.7
    struct bridges {
        std::string device;      // of bridged networks; "" = they cannot be created
        std::optional<int> mtu;  // maximum MTU of bridged networks; empty = the live MTU of `device`, read after set-up
        bool mtu_is_configured = false;  // bridge_mtu was written: `device` is raised to it
    } bridges;
    struct sriov {
        bool enable = false;
        std::vector<sriov_device> devices;
    } sriov;
    struct storage {
        std::string ceph_config_file;
        std::string ceph_admin_keyring;
    } storage;

    // 5.8a
    struct hypervisor {
        int max_migrations = 4;  // live migrations from here at once
        int max_creations = 8;   // likewise guests being created
        std::chrono::seconds stall_limit{300};
        int migration_bandwidth = 0;  // MiB/s; 0 = unlimited
        int console_writes = 20;      // publications of console logs a second
    } hypervisor;

    // 5.8b
    struct metrics {
        std::optional<int> port;  // TCP; empty = off
        std::string address = "127.0.0.1";
    } metrics;

    std::string control_group;  // who may use the local socket beside root; "" = nobody

    // 5.8
    struct health {
        health_mode mode = health_mode::automatic;
        builtin_preference prefer_builtin = builtin_preference::automatic;
        int failure_delta = 10;
        std::vector<std::string> extra_directories;
        std::vector<std::string> disabled;
        std::map<std::string, health_check> checks;
        std::map<std::string, int> nic_speeds_mbit;  // checks.nics.expected_speed
        std::array<int, 4> exit_status_delta{0, 10, 50, 10};
    } health;
};

}  // namespace pvc::config
