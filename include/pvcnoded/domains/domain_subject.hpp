// The virtual machines of this node: what clients write below /domains happens on the hypervisor, and what happens on
// the hypervisor shows in ZooKeeper.
//
// Level-triggered: whenever the desired state (ZooKeeper) or the observed one (hypervisor) of a domain is another, the
// tables of policy/domains/domain_table.hpp are asked, and what they say is done by one operation at a time. What is
// known of domains outlives a session; nothing is decided before both sides were read in full. Specification:
// vm-domains.md 4 to 11; node-lifecycle.md 3.2 (S9, S12 c), 4 (last row), 6.4, 6.5.
#pragma once

#include "pvcnoded/base/uuid.hpp"
#include "pvcnoded/core/explainer.hpp"
#include "pvcnoded/core/metrics.hpp"
#include "pvcnoded/core/subject.hpp"
#include "pvcnoded/domains/domain_counts.hpp"
#include "pvcnoded/hypervisor/hypervisor.hpp"
#include "pvcnoded/model/domain_command.hpp"
#include "pvcnoded/services/console_files.hpp"
#include "pvcnoded/storage/rbd_locks.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace pvc::domains {

class arrivals;  // arrivals.hpp
class manager;   // manager.hpp
class stays;     // stays.hpp

// All outlive the subject.
struct domain_ports {
    hypervisor::hypervisor& hypervisor;
    storage::rbd_locks& rbd_locks;
    services::console_files& console_files;
};

// A command of a client is asked right before something is done: the moment of its proof, or empty if it no longer
// counts.
using command_guard = std::function<async::awaitable<std::optional<boot_time>>()>;

class domain_subject final : public core::subject,
                             public core::prepared_subject,
                             public core::session_subject,
                             public core::figure_source,
                             public core::fence_survivor,
                             public core::reporter,
                             public core::metrics_source,
                             public core::machine_reporter,
                             public core::explainer,
                             public core::readiness_reporter {
public:
    // `counts` outlives it, and is added to.
    domain_subject(core::node_context& node, domain_ports outside, domain_counts& counts);
    ~domain_subject() override;

    [[nodiscard]] std::string_view name() const override { return "domains"; }
    // Before S6: keeps the connection to the hypervisor, over all sessions. In S9: a node whose libvirt nobody can
    // reach is of no use to its peers.
    async::awaitable<result<void>> prepare(core::preparation in) override;
    std::unique_ptr<core::session_part> begin(core::session& s) override;

    [[nodiscard]] std::span<const std::string_view> figure_keys() const override;
    // One bulk call to the hypervisor, `stats` of what runs, the figures. libvirt does not answer: no figures.
    async::awaitable<void> collect(core::session& s, time_point deadline) override;
    void put(core::figure_sheet& sheet) const override;

    // This node was declared off, and is alive: ends every guest that others may have started by now.
    async::awaitable<void> clean_up_after_fence(core::session& s, std::function<bool()> goes_on) override;
    void report(std::vector<std::string>& lines) const override;
    // Machines by state, operations, migrations by outcome.
    void put_metrics(core::metrics_sheet& sheet) const override;
    bool report_machines(std::vector<core::machine_view>& all, std::size_t most) const override;
    [[nodiscard]] std::optional<core::machine_view> report_machine(std::string_view name) const override;
    // Virtual machines that move here or away.
    void report_unready(std::vector<std::string>& reasons) const override;

    // Where a flush would bring each of them, one by one as if it were the first; read anew, nothing is written. For
    // one who asks at a time: it reads much.
    [[nodiscard]] std::string_view topic() const override { return "flush"; }
    std::shared_ptr<core::awaited_explanation> explain(time_point until) override;

    // A command of a client about one domain (vm-domains.md 14). Whether it belongs to this node, as far as is known:
    [[nodiscard]] bool owns(const uuid& id) const;
    // Carries it out between the operations of the domain. Errors: why it was not done, in words; timed_out.
    async::awaitable<result<void>> execute(model::domain_command what, command_guard guard, time_point deadline);

    // For whoever empties this node. True while every domain was looked at once in this session.
    [[nodiscard]] async::latest<bool>& opened();
    // The running list in its order, then what else is active here and known to the cluster, ascending.
    [[nodiscard]] std::vector<uuid> present() const;
    // libvirt of this node says that it has no guest, and none is about to be created.
    [[nodiscard]] bool has_no_guest(const uuid& id) const;
    // The running list as it should be; empty before it is known.
    [[nodiscard]] std::optional<std::string> running_text() const;
    [[nodiscard]] const std::vector<uuid>& listed() const;
    [[nodiscard]] std::vector<std::string> listed_names() const;
    // What runs here and is not, or no longer, in ZooKeeper.
    [[nodiscard]] std::vector<uuid> strangers() const;
    // Changes whenever the running list was written.
    [[nodiscard]] async::latest<std::uint64_t>& list_writes();
    // What came here by a move, in the order of arrival.
    [[nodiscard]] arrivals& arrived_here();
    // Why the one that is followed was not moved.
    [[nodiscard]] stays& stayed_here();

private:
    core::node_context& node_;
    std::weak_ptr<void> explains_;  // while it is being read
    std::unique_ptr<manager> manager_;
};

// This node's domains, commands of clients about them, and the order to empty the node. `outside` is empty without the
// hypervisor function: then the node is always empty.
void add_domain_subjects(core::subjects& all, core::node_context& node, std::optional<domain_ports> outside,
                         domain_counts& counts);

}  // namespace pvc::domains
