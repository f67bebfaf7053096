// What the rules remember of fences, and what they grant a fencer: who has the fence lock may do to a dead node what
// nobody else may.
#pragma once

#include "sim/world/judge.hpp"

#include <map>
#include <string>

namespace pvc::sim {

struct fences_seen {
    std::map<std::string, std::uint32_t> lock;     // the queue of the fence lock: members' numbers, 0: a stranger's
    std::map<std::uint32_t, time_point> had_lock;  // until when, by member
    std::map<std::string, time_point> beat;        // of a node, committed
    std::map<std::string, time_point> went_off;    // its power
    std::map<std::string, std::string> node_of;    // by key of a machine's node
};

[[nodiscard]] bool has_fence_lock(const judge& of, const member& one);
// A key of a dead node that a fencer sets.
[[nodiscard]] bool is_of_fencer(const judge& of, const seen_change& seen);
// The lock of a client at this address on a disk.
[[nodiscard]] bool may_break_for_fence(judge& of, const member& by, const std::string& address);
void add_fence_rules(registry& to);

}  // namespace pvc::sim
