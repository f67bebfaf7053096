#include "pvcnoded/policy/fencing/assigned_memory.hpp"

#include <algorithm>
#include <charconv>

namespace pvc::policy {

namespace {

// No machine has so much; garbage beyond it must not overflow a sum.
constexpr std::int64_t memory_max = std::int64_t{1} << 40;
constexpr std::int64_t kib_in_mib = 1024;

}  // namespace

std::optional<std::int64_t> memory_touched(std::string_view stats) {
    // In a string of JSON each of these quotes would have a backslash before it.
    constexpr std::string_view key = "\"rss\":";
    const auto found = stats.find(key);
    if (found == std::string_view::npos) {
        return std::nullopt;
    }
    stats.remove_prefix(found + key.size());
    stats.remove_prefix(std::min(stats.find_first_not_of(' '), stats.size()));
    std::int64_t kib = 0;
    const auto read = std::from_chars(stats.begin(), stats.end(), kib);
    if (read.ec != std::errc() || kib < 0) {
        return std::nullopt;
    }
    return std::min(kib / kib_in_mib, memory_max);
}

assigned_memory::assigned_memory(const std::vector<assigned_machine>& all) {
    for (const auto& one : all) {
        const std::int64_t memory = std::clamp<std::int64_t>(one.memory, 0, memory_max);
        const std::int64_t owes = memory - std::clamp<std::int64_t>(one.touched, 0, memory);
        if (machines_.try_emplace(one.id, owed{one.node, owes}).second) {
            nodes_[one.node] += owes;
        }
    }
}

std::optional<std::int64_t> assigned_memory::owed_to(const uuid& id, const std::string& node) const {
    const auto found = machines_.find(id);
    return found == machines_.end() || found->second.node != node ? std::nullopt : std::optional(found->second.memory);
}

std::int64_t assigned_memory::owed_on(const std::string& node) const {
    const auto found = nodes_.find(node);
    return found == nodes_.end() ? 0 : found->second;
}

}  // namespace pvc::policy
