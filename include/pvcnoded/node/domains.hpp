// The virtual machines of this node: what clients write below /domains happens on the hypervisor, and what happens on
// the hypervisor shows in ZooKeeper.
//
// Level-triggered: whenever the desired state (ZooKeeper) or the observed one (hypervisor) of a machine is another, the
// tables of policy/domain_table.hpp are asked, and what they say is done by one operation at a time. What is known of
// machines outlives a session; nothing is decided before both sides were read in full.
// Specification: vm-domains.md 4 to 11; node-lifecycle.md 3.2 (S12 c), 6.4, 6.5.
#pragma once

#include "pvcnoded/base/uuid.hpp"
#include "pvcnoded/model/domain_command.hpp"
#include "pvcnoded/node/session.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace pvc::node {

class keepalive;
class arrivals;  // domain/arrivals.hpp

// Figures of the tick (node-lifecycle.md 6.4).
struct domain_figures {
    std::int64_t allocated_mib = 0;
    std::int64_t provisioned_mib = 0;
    std::int64_t vcpus = 0;
    std::size_t active = 0;
};

class domains {
public:
    // The node's ports for virtual machines must be set. A child scope of the daemon owns run_hypervisor().
    explicit domains(node_context& node);
    domains(const domains&) = delete;
    domains& operator=(const domains&) = delete;
    ~domains();

    // The connection to the hypervisor, over all sessions.
    async::awaitable<void> run_hypervisor();
    // The machines, for one session. `beat` publishes the running list.
    async::awaitable<void> run(session& s, keepalive& beat);
    // S12 c: suspends until both sides were read and every machine was looked at once. False: not within the deadline.
    async::awaitable<bool> wait_loaded(time_point deadline);
    // Orderly stop: migrations are taken back, consoles are published a last time, no new operation begins.
    async::awaitable<void> stop(time_point deadline);

    // This node was declared off, and is alive: ends every guest that others may have started by now, and nothing else.
    // Returns when none is left, or when `goes_on` says no.
    async::awaitable<void> clean_up_after_fence(session& s, std::function<bool()> goes_on);

    // A command of a client about one machine (vm-domains.md 14). Whether it belongs to this node, as far as is known:
    [[nodiscard]] bool owns(const uuid& id) const;
    // Carries it out between the operations of the machine. `guard` is asked right before something is done: the moment
    // of its proof, or empty if the command no longer counts. Errors: why it was not done, in words; timed_out.
    using command_guard = std::function<async::awaitable<std::optional<boot_time>>()>;
    async::awaitable<result<void>> execute(model::domain_command what, command_guard guard, time_point deadline);

    // In each tick: one bulk call to the hypervisor, `stats` of what runs, the figures. Empty figures: libvirt did not
    // answer.
    async::awaitable<void> survey(session& s, time_point deadline);
    [[nodiscard]] const std::optional<domain_figures>& figures() const;
    // The running list as it should be; empty before it is known.
    [[nodiscard]] std::optional<std::string> running_text() const;
    [[nodiscard]] std::size_t running_count() const;

    // For whoever empties this node. True while every machine was looked at once in this session.
    [[nodiscard]] async::latest<bool>& opened();
    // The running list in its order, then what else is active here and known to the cluster, ascending.
    [[nodiscard]] std::vector<uuid> present() const;
    [[nodiscard]] const std::vector<uuid>& listed() const;
    [[nodiscard]] std::vector<std::string> listed_names() const;
    // What runs here and is not, or no longer, in ZooKeeper.
    [[nodiscard]] std::vector<uuid> strangers() const;
    // Changes whenever the running list was written.
    [[nodiscard]] async::latest<std::uint64_t>& list_writes();
    // What came here by a move, in the order of arrival.
    [[nodiscard]] arrivals& arrived_here();

private:
    class manager;
    std::unique_ptr<manager> manager_;
};

}  // namespace pvc::node
