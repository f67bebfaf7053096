// A guest of a host and its figures, as one bulk call of the hypervisor gives them. Specification: vm-domains.md 11.2.
#pragma once

#include "pvcnoded/base/uuid.hpp"
#include "pvcnoded/model/guest_class.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace pvc::model {

struct guest {
    uuid id;
    std::string name;
    guest_status status;
};

// Absent numbers are empty or 0.
struct block_figures {
    std::string target;  // dev of the disk's target
    std::uint64_t read_requests = 0;
    std::uint64_t read_bytes = 0;
    std::uint64_t write_requests = 0;
    std::uint64_t write_bytes = 0;
    std::int64_t errors = -1;
};
struct interface_figures {
    std::string target;  // dev on the host
    std::uint64_t received_bytes = 0;
    std::uint64_t received_packets = 0;
    std::uint64_t received_errors = 0;
    std::uint64_t received_drops = 0;
    std::uint64_t sent_bytes = 0;
    std::uint64_t sent_packets = 0;
    std::uint64_t sent_errors = 0;
    std::uint64_t sent_drops = 0;
};
struct guest_figures {
    guest of;
    bool is_partial = false;  // its job was busy: the counters are missing, not zero
    std::uint64_t maximum_memory_kib = 0;
    std::uint64_t memory_kib = 0;
    unsigned vcpus = 0;
    std::uint64_t cpu_time_ns = 0;
    // By libvirt's names of memory statistics ("actual", "swap_in", …), in its order, those that were returned.
    std::vector<std::pair<std::string, std::uint64_t>> memory;
    std::optional<std::uint64_t> cpu_total_ns;  // where it is known apart from cpu_time_ns
    std::optional<std::uint64_t> cpu_user_ns;
    std::optional<std::uint64_t> cpu_system_ns;
    std::optional<std::uint64_t> vcpu_time_ns;
    std::vector<block_figures> blocks;
    std::vector<interface_figures> interfaces;
};

}  // namespace pvc::model
