// One ZooKeeper session as the actors see it: the client, its watches and locks, the active key table, this node's own
// record and what is known of the others. Whatever acts on the session's authority lives in a scope that ends with it
// (architecture.md rule 3). Loop thread only.
#pragma once

#include "pvcnoded/core/node_context.hpp"
#include "pvcnoded/core/own_record.hpp"
#include "pvcnoded/core/peers.hpp"
#include "pvcnoded/model/schema.hpp"
#include "pvcnoded/zookeeper/client.hpp"
#include "pvcnoded/zookeeper/lock.hpp"
#include "pvcnoded/zookeeper/watch_set.hpp"

#include <string>

namespace pvc::core {

// A single request that is not on the heartbeat's path.
inline constexpr duration request_limit = std::chrono::seconds(5);

struct session {
    session(node_context& owner, zookeeper::client& connection, int schema_version)
        : node(owner),
          zk(connection),
          watches(connection, owner.clock()),
          // Each session draws its own ids: what an earlier one left behind is not taken for this one's.
          locks(connection, watches, owner.clock(), owner.port.random.split("locks").split(++owner.sessions_opened),
                owner.self(), owner.machine.pid, owner.log),
          table(*model::schema::of(schema_version)),
          record(*this),
          others(*this) {}

    node_context& node;
    zookeeper::client& zk;
    zookeeper::watch_set watches;
    zookeeper::lock_service locks;
    model::schema table;
    own_record record;
    peers others;
    async::latest<std::uint64_t> ticks;  // that are over: durations have grown

    [[nodiscard]] time_point limit(duration time = request_limit) const { return node.clock().now() + time; }
    [[nodiscard]] std::string own(std::string_view suffix = {}) const { return model::node_path(node.self(), suffix); }
};

}  // namespace pvc::core
