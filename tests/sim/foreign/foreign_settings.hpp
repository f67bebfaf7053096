// What a scripted foreign node is: its name, functions, figures and timings. Plain values; a test may change figures
// and timings while the node runs (they are looked at whenever they are needed).
#pragma once

#include "sim/foreign/foreign_timings.hpp"

#include "pvcnoded/async/process.hpp"
#include "pvcnoded/base/address.hpp"
#include "pvcnoded/base/uuid.hpp"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace pvc::sim {

class sim_datacentre;
class sim_kernel;
struct sim_program;

// Whose behaviour: the limits of read locks and what a start and a stop write differ.
enum class reference_level : std::uint8_t { v0_9_82, v1_0_3 };

// The node keys of a tick, as text: what a machine without virtual machines publishes.
struct foreign_figures {
    std::string memory_total = "24105";
    std::string memory_used = "2507";
    std::string memory_free = "19875";
    std::string memory_allocated = "0";
    std::string memory_provisioned = "0";
    std::string vcpus_allocated = "0";
    std::string cpu_load = "0.86";
    std::string domains_count = "0";
    std::string running_domains = "0";  // what the reference gives a new node, kept until the first flush
};

// What the primary publishes of the storage cluster.
struct foreign_storage {
    struct entry {
        std::string name;
        std::string stats;
    };
    std::string status = "  cluster:\n    health: HEALTH_OK\n";
    std::string health = R"({"status":"HEALTH_OK","checks":{},"mutes":[]})";
    std::string usage = "--- RAW STORAGE ---\n";
    std::vector<entry> pools{};  // below /ceph/pools
    std::vector<entry> osds{};   // below /ceph/osds
};

// A health plugin as it reports in each round.
struct foreign_plugin {
    std::string name;
    std::string health_delta = "0";
    std::string message = "OK";
    std::string data = "{}";
    std::string runtime = "0.00";
    duration takes{};
};

struct foreign_health {
    std::vector<foreign_plugin> plugins{};  // none: the node has no health checks and writes nothing
    duration interval = std::chrono::seconds(60);
    std::optional<duration> first{};  // from readiness; else the interval
    duration summary{};               // from the last plugin to the sum
    std::string value = "100";
};

struct foreign_settings {
    std::string name = "pvchv1";
    bool is_coordinator = true;
    bool hypervisor = true;
    bool networking = true;
    bool storage = true;
    reference_level level = reference_level::v0_9_82;
    int keepalive_interval = 5;
    int fence_intervals = 6;
    int managed_networks = 1;
    std::string static_data = "16 6.1.0-13-amd64 GNU/Linux x86_64";
    std::string target_selector = "mem";
    std::string upstream_address = "10.98.1.254/24";  // this one and the next two: floating
    std::string cluster_floating = "10.98.0.254/24";
    std::string storage_floating = "10.254.0.254/24";
    std::optional<duration> first_tick{};  // from readiness; else one interval, as the reference's scheduler
    duration first_beat{};                 // from `run` to the first heartbeat of a life, besides what a tick takes
    foreign_figures figures{};
    foreign_storage ceph{};
    foreign_health health{};
    foreign_timings timings{};
    std::uint64_t seed = 1;
    // Where it runs virtual machines, if it does, and what refuses to let one start (foreign_migration).
    sim_datacentre* machines = nullptr;
    std::function<std::optional<std::string>(const uuid&)> refuse_start{};
    // What it finds as gateways of client networks, by bridge; empty: none.
    std::function<std::vector<std::pair<std::string, host_address>>()> gateways{};
    // The boards of all nodes, as its programs reach them; empty: it fences nobody.
    std::function<std::optional<sim_program>(const async::command&)> boards{};
    // Removes the locks of a machine's disks, whoever has them; false: Ceph does not do it.
    std::function<bool(const uuid&)> break_locks{};
    sim_kernel* kernel = nullptr;  // of its machine; the node's own
};

}  // namespace pvc::sim
