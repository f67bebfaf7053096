// What the rules remember of fences, and what they grant a fencer: who has the fence lock may do to a dead node what
// nobody else may.
#pragma once

#include "sim/world/judge.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace pvc::sim {

struct fences_seen {
    std::map<std::string, std::uint32_t> lock;     // the queue of the fence lock: members' numbers, 0: a stranger's
    std::map<std::uint32_t, time_point> had_lock;  // until when, by member
    std::map<std::uint32_t, time_point> queued;    // since when for the last time, by member
    std::map<std::string, time_point> beat;        // of a node, committed
    std::map<std::string, time_point> said_run;    // likewise, by its daemonstate
    std::set<std::string> dead;                    // or fenced, by its daemonstate
    std::map<std::string, time_point> was_dead;    // likewise, until when, or until it was removed
    std::map<std::string, time_point> went_off;    // its power
    std::map<std::string, std::string> node_of;    // by key of a machine's node
    // Of a machine, by its keys' prefix: its state, and the node that it was on before, as they were before the
    // transaction that changed one of them last.
    struct machine_keys {
        std::int64_t zxid = 0;
        std::map<std::string, std::string, std::less<>> now;
        std::map<std::string, std::string, std::less<>> before;
    };
    std::map<std::string, machine_keys> machines;
    // Of the write lock under which a node is marked: its child, and who made it.
    std::map<std::string, std::uint32_t> marking;
    std::map<std::pair<std::string, std::string>, time_point> first_off;  // by fencer and node
    // True answers in a row that a node is off, by who asked and node: the first and the last, as they came.
    std::map<std::pair<std::string, std::string>, std::pair<time_point, time_point>> said_off;
    // When a consequence of a proof was excused by a board, by node: what rests on the same proof is, too, although the
    // board tells the truth again.
    std::map<std::string, time_point> excused;
};

[[nodiscard]] bool has_fence_lock(const judge& of, const member& one);
// A key of a dead node that a fencer sets.
[[nodiscard]] bool is_of_fencer(const judge& of, const seen_change& seen);
// The lock of a client at this address on a disk.
[[nodiscard]] bool may_break_for_fence(judge& of, const member& by, const std::string& image,
                                       const std::string& address);
// Of two copies of a machine ("hv1 and hv2 run U1 at 3.000 s") all but one are on nodes that are `dead`, or `fenced` by
// an excused lie of their boards, and Ceph refuses what they write.
[[nodiscard]] bool only_one_can_write(judge& of, std::string_view two);
void add_fence_rules(registry& to);
void add_word_rules(registry& to);

}  // namespace pvc::sim
