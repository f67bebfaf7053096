// The memory that nodes owe to machines that were started there of late and have not touched all of theirs: such a
// machine uses little at first, and takes more for some minutes. By keys, so that all coordinators see it alike,
// whoever started the machine (README ruling 44 goes by the free memory, less what one coordinator placed in the last
// minute). What one that has been running for longer does not use is free, as in the ruling: many rely on that. Pure.
#pragma once

#include "pvcnoded/base/uuid.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pvc::policy {

// A machine that was started, or migrates, of which `node` is to have it.
struct assigned_machine {
    uuid id;
    std::string node;
    std::int64_t memory = 0;   // MiB, all of it
    std::int64_t touched = 0;  // MiB, of these; they are no longer in the free memory that the node publishes
};

// MiB; of the statistics of a machine (vm-domains.md 11.2): `rss` of `mem_stats`. Empty: they do not say.
[[nodiscard]] std::optional<std::int64_t> memory_touched(std::string_view stats);

class assigned_memory {
public:
    assigned_memory() = default;
    explicit assigned_memory(const std::vector<assigned_machine>& all);

    // What the machine may still take there; empty: it does not belong there.
    [[nodiscard]] std::optional<std::int64_t> owed_to(const uuid& id, const std::string& node) const;
    // Of all machines there.
    [[nodiscard]] std::int64_t owed_on(const std::string& node) const;

private:
    struct owed {
        std::string node;
        std::int64_t memory = 0;
    };
    std::map<uuid, owed> machines_;
    std::map<std::string, std::int64_t, std::less<>> nodes_;
};

}  // namespace pvc::policy
