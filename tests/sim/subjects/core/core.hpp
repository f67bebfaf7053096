// What every subject of the daemon stands on: locks, tasks, its log, and how much it asks of ZooKeeper.
#pragma once

#include "sim/world/judge.hpp"

#include <map>
#include <string>

namespace pvc::sim {

struct lock_seen {
    member* owner;
    std::int64_t session;
    time_point since;
    bool is_for_contention = false;  // as it says of itself
    bool is_used = false;            // its write is done: it waits for its removal
    time_point first_since{};        // the last time that one before it in its queue went; none ever: the beginning
};

// What the rules remember of locks.
struct locks_seen {
    std::map<std::string, lock_seen> locks;  // children that daemons made and that are still there
    std::string unchecked_write;             // under a lock, and the transaction may still check it
    std::int64_t unchecked_zxid = 0;
    std::int64_t check_zxid = 0;  // the last transaction that checked a lock child
    std::string check_path;
};

void add_lock_rules(registry& to);

}  // namespace pvc::sim
