// What this node knows of its peers: their mode and states (watched), and the age of their heartbeats by our own clock
// (read in each tick). A member of the session; loop thread only. Cancelling run() leaves what is known as it is: ages
// grow, states stay. Specification: node-lifecycle.md 10.1, 12; README ruling 9; config.md 5.5.
#pragma once

#include "pvcnoded/async/latest.hpp"
#include "pvcnoded/policy/membership/peer_cadence.hpp"
#include "pvcnoded/policy/membership/peer_watch.hpp"
#include "pvcnoded/policy/role/coordinator_rules.hpp"
#include "pvcnoded/zookeeper/watch_set.hpp"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace pvc::core {

struct session;

// Another node, as far as a fencer looks at it.
struct other_node {
    std::string name;
    const zookeeper::watched* daemon = nullptr;  // its daemonstate; as long as nobody awaits
    std::optional<std::int64_t> heartbeat_id;    // of the last look; empty: there was no key, or no look yet
    // Somebody who lives wrote it: not the empty one that is put in place of a key that a client removed.
    bool is_beat = true;
    duration silent_for{};  // at the sending of that look
    time_point looked{};    // when it was sent
};

class peers {
public:
    explicit peers(session& s);
    peers(const peers&) = delete;
    peers& operator=(const peers&) = delete;

    // Whenever something that rules look at may have changed.
    [[nodiscard]] async::latest<std::uint64_t>& changes() { return changes_; }
    // Follows the list of nodes until cancelled: a child of the session scope.
    async::awaitable<void> run();
    [[nodiscard]] bool is_followed() const { return is_followed_; }
    // Reads the heartbeats' transaction ids; called in a tick after its own heartbeat was acknowledged.
    async::awaitable<void> read_heartbeats(time_point until);

    // Other nodes, ascending by name.
    [[nodiscard]] std::vector<policy::coordinator_peer> coordinators() const;
    // Lets the transaction fail if a coordinator's role is not the one that is seen here.
    void add_role_checks(zookeeper::transaction& what) const;
    [[nodiscard]] std::size_t count() const { return peers_.size(); }
    // All other nodes, ascending by name.
    [[nodiscard]] std::vector<other_node> all() const;
    // The daemon state of any node by name; empty if it has no entry.
    [[nodiscard]] std::optional<model::daemon_state> daemon_state(const std::string& name) const;
    // True once the list of nodes and all states have been read.
    [[nodiscard]] bool known() const;

private:
    struct peer {
        std::unique_ptr<zookeeper::watched> mode;
        std::unique_ptr<zookeeper::watched> daemon;
        std::unique_ptr<zookeeper::watched> router;
        policy::peer_watch heartbeat;
        std::optional<policy::peer_cadence> cadence;
        std::uint64_t daemon_changes = 0;
        std::uint64_t router_changes = 0;
        time_point state_since{};
        time_point role_since{};
        time_point last_run{};
        time_point read{};  // the sending of the last look at its heartbeat
        bool is_beat = true;
    };

    void follow_list();
    void follow_states();
    void observe(const std::string& name, peer& seen, const result<zookeeper::read_reply>& stat, time_point sent);

    session& session_;
    async::latest<std::uint64_t> changes_;
    async::wakeup events_;
    bool is_followed_ = false;
    std::unique_ptr<zookeeper::watched> list_;
    std::uint64_t list_changes_ = 0;
    std::map<std::string, peer> peers_;
};

}  // namespace pvc::core
