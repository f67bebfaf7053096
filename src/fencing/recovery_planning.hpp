// Where the machines of dead nodes go: one planner for all of them, on figures that are at most 5 s old. One a session;
// loop thread only. Specification: README ruling 44; node-lifecycle.md 9, 10.5 c.
#pragma once

#include "assigned_machines.hpp"
#include "guest_view.hpp"

#include "pvcnoded/async/semaphore.hpp"
#include "pvcnoded/hypervisor/hypervisor.hpp"
#include "pvcnoded/policy/fencing/recovery_plan.hpp"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace pvc::fencing {

struct planned_place {
    policy::planned_guest plan;
    zookeeper::transaction checks;  // that the node takes machines, as the plan saw it
};

// Of all nodes, the dead ones too, as they are published now.
struct rooms_read {
    struct offer_versions {
        std::int32_t daemon = -1;
        std::int32_t domain = -1;
    };
    std::vector<policy::node_room> rooms;
    std::map<std::string, offer_versions> versions;
    std::string cluster_selector;
    std::chrono::milliseconds written_at{};  // the newest heartbeat of them, by the servers' clock
};
// Errors: those of a read.
async::awaitable<result<rooms_read>> read_rooms(core::session& s);
// The nodes that take machines now.
[[nodiscard]] std::set<std::string> takers_of(const rooms_read& rooms);
// How hypervisors of other nodes call that one's.
[[nodiscard]] std::string libvirtd_of(const core::session& s, const std::string& node);
// Those of the nodes that take machines whose libvirtd does not answer, asked all at once. None where none can be asked
// from here (`hypervisors` is null): what is not known tells no node from another.
async::awaitable<std::set<std::string>> silent_libvirtds(core::session& s, hypervisor::hypervisor* hypervisors,
                                                         std::set<std::string> nodes);
void note_silent(rooms_read& rooms, const std::set<std::string>& libvirtds);
// What a plan must know of a machine that belongs to that node.
[[nodiscard]] policy::target_request request_for(core::session& s, std::string_view limit, std::string_view selector,
                                                 const std::string& cluster_selector, std::string node);

class recovery_planning {
public:
    // `hypervisors`: may be null (nobody is asked), else outlives it.
    recovery_planning(core::session& s, hypervisor::hypervisor* hypervisors)
        : session_(s),
          hypervisors_(hypervisors),
          assigned_(s),
          planner_(s.node.config->fencing.overcommit, s.node.times.keepalive) {}

    // A recovery begins, under the fence lock: what was read before is void, as another coordinator may have had that
    // lock since. Of its own machines nothing is read until they are placed
    // (one that the dead node's list names wrongly has been elsewhere for a heartbeat).
    void begin(const std::vector<uuid>& machines);
    void end(const std::vector<uuid>& machines);
    // `is_again`: what was planned for it before is no longer right, so that figures are read anew.
    async::awaitable<planned_place> place(std::string dead_node, uuid id, const guest_view& guest,
                                          std::string preferred, bool is_again);
    // It did not go there after all.
    void take_back(const uuid& id) { planner_.take_back(id); }

private:
    async::awaitable<bool> read();
    async::awaitable<bool> read_assigned(const rooms_read& rooms);
    async::awaitable<void> ask_libvirtds(const rooms_read& rooms);

    core::session& session_;
    hypervisor::hypervisor* hypervisors_;
    assigned_machines assigned_;
    policy::recovery_planner planner_;
    async::mutex order_;
    std::optional<time_point> read_at_;
    std::vector<policy::assigned_machine> assigned_then_;
    std::optional<time_point> assigned_at_;
    std::set<std::string> silent_;  // their libvirtds, as of then
    std::optional<time_point> asked_at_;
    std::set<uuid> at_work_;
    std::map<std::string, rooms_read::offer_versions> versions_;
    std::string cluster_selector_;
};

}  // namespace pvc::fencing
