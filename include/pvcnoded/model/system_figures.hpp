// The node's memory and load figures from the texts of /proc/meminfo and /proc/loadavg (zookeeper-schema.md 6.2,
// node-lifecycle.md 6.2; cases AC30 and ZK-45).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace pvc::model {

// /proc/meminfo, all in KiB.
struct memory_info {
    std::int64_t total_kib = 0;
    std::int64_t free_kib = 0;
    std::int64_t available_kib = 0;  // MemFree where the kernel does not say
    std::int64_t buffers_kib = 0;
    std::int64_t cached_kib = 0;
    std::int64_t reclaimable_kib = 0;
};

// Empty if MemTotal or MemFree is missing; other missing or malformed lines count as 0.
[[nodiscard]] std::optional<memory_info> parse_memory_info(std::string_view meminfo);

// What the node publishes, in MiB, truncated.
struct memory_figures {
    std::int64_t total_mib = 0;
    std::int64_t used_mib = 0;
    std::int64_t free_mib = 0;  // MemFree below schema version 14, MemAvailable from 14 on

    friend bool operator==(const memory_figures&, const memory_figures&) = default;
};
[[nodiscard]] memory_figures figures_of(const memory_info& info, int schema_version);

// The 1-minute load; empty if the text does not begin with a number.
[[nodiscard]] std::optional<double> parse_load_average(std::string_view loadavg);

}  // namespace pvc::model
