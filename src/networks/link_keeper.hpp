// Keeps the links of this machine as they shall be, from S3 to the end of the attempt, over all sessions: the host's
// own, then those of client networks. It looks when something is wanted, when the kernel says that something may have
// changed, and when what failed is to be tried again; a look sees everything, so a change that was missed does no harm.
// Looks are at least 100 ms apart, and take at most a tenth of the time.
// Specification: networking.md 2 (last paragraph), 3, 5.4, 14.
#pragma once

#include "client_networks.hpp"
#include "host_network.hpp"
#include "link_work.hpp"
#include "pvcnoded/async/latest.hpp"
#include "told_remarks.hpp"

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace pvc::networks {

class link_keeper {
public:
    // All outlive it.
    link_keeper(core::node_context& node, netlink::network_stack& stack, network_counts& counts,
                bridge_record& bridges);
    link_keeper(const link_keeper&) = delete;
    link_keeper& operator=(const link_keeper&) = delete;
    ~link_keeper();

    // Called with each look, when nothing was to be done any more, and the bridges that it showed are noted as own
    // ones: what is put on them is known for ours by whoever comes after a daemon that is killed.
    std::function<void(const model::network_state&)> on_look;
    // Called with the networks that may have gateways, when that has changed: after a look at the links of all of them,
    // so that nothing is done to somebody else's bridge; likewise once they are noted.
    std::function<void(std::vector<model::client_network>)> on_networks;
    // Likewise with those that are filtered, and before that.
    std::function<void(std::vector<model::client_network>)> on_filtered;
    // Whether what on_filtered wanted last is there, or could not be made: before, networks count as coming, so that
    // no machine is started on a bridge without its rules. Empty: nobody filters.
    std::function<bool()> are_filtered;
    // That may have come about.
    void filter_settled() {
        if (node_.bridges.are_coming()) {
            changed_.notify();
        }
    }

    // S3: sets the host up; waits for the device of the cluster network, at most 30 s.
    async::awaitable<void> set_up_host();
    // S4: kernel settings; waits for the bridges to run, at most 3 s.
    async::awaitable<void> finish_host();
    // Until cancelled.
    async::awaitable<void> run();
    // Reads what the host's own configuration names, now and when networks come or go. Until cancelled.
    async::awaitable<void> follow_names();

    // Of client networks: what ZooKeeper says.
    void want(const stored_networks& all);
    // All that was wanted last was looked at.
    [[nodiscard]] bool is_settled() const {
        return clients_.is_told() && clients_.settled() == clients_.wanted_count();
    }
    // Something but its base was a port of its bridge at the last look.
    [[nodiscard]] bool has_machines(std::uint32_t vni) const { return with_machines_.contains(vni); }
    // Counts the looks that are over, with what followed of them.
    [[nodiscard]] async::latest<std::uint64_t>& settles() { return settles_; }
    [[nodiscard]] std::map<std::uint32_t, int> mtus_to_write() const { return clients_.mtus_to_write(); }

    [[nodiscard]] const host_network& host() const { return host_; }
    [[nodiscard]] const client_networks& clients() const { return clients_; }
    [[nodiscard]] const told_remarks& remarks() const { return remarks_; }

private:
    // One look, and what follows of it. True: something was changed.
    async::awaitable<bool> settle();
    [[nodiscard]] std::optional<time_point> next_try() const;
    // For whoever starts virtual machines.
    void tell_bridges(const model::network_state& seen, bool has_changed);
    void note_machines(const model::network_state& seen);
    void noted();
    // What was told of: so many wishes, and who of them is refused.
    using news = std::pair<std::uint64_t, std::set<std::uint32_t>>;
    using filter_news = std::pair<news, std::set<std::uint32_t>>;  // and who left a bridge behind
    // And who goes on as the type that it had, and what this host reaches by itself.
    using gateway_news = std::tuple<news, std::set<std::uint32_t>, std::vector<policy::host_reach>>;
    [[nodiscard]] news now() const;
    void tell_filtered();
    void tell_networks();

    core::node_context& node_;
    link_work work_;
    told_remarks remarks_;
    counted_warnings damages_;
    host_network host_;
    client_networks clients_;
    bridge_record& bridges_;
    async::wakeup changed_;
    async::wakeup names_due_;
    async::latest<std::uint64_t> settles_;
    retry_pause look_pause_;
    duration look_time_{};
    time_point looked_{};  // when that was over
    bool waits_for_note_ = false;
    bool are_settings_made_ = false;  // S4 is over
    std::set<std::uint32_t> with_machines_;
    int changes_in_row_ = 0;               // looks that all led to changes
    std::optional<gateway_news> told_;     // on_networks
    std::optional<filter_news> filtered_;  // on_filtered
};

}  // namespace pvc::networks
