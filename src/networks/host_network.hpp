// The host's own links, addresses and default route: set up at the start, and kept so afterwards, in particular when a
// device comes late. What cannot be done is undone, said, and tried again.
// Specification: networking.md 3; node-lifecycle.md 3.2 (S3, S4).
#pragma once

#include "bridge_record.hpp"
#include "link_work.hpp"
#include "pvcnoded/policy/networks/host_plan.hpp"
#include "pvcnoded/policy/networks/router_settings.hpp"
#include "told_remarks.hpp"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace pvc::networks {

class host_network {
public:
    // All outlive it.
    host_network(core::node_context& node, link_work& work, told_remarks& remarks, counted_warnings& damages,
                 bridge_record& record)
        : node_(node), work_(work), remarks_(remarks), damages_(damages), record_(record) {}

    // What is not as it shall be is done, as far as it is time to try. True: something was changed, so what was seen is
    // old. What failed and was undone is no change: others do not wait for it.
    async::awaitable<bool> settle(const model::network_state& seen);
    // The kernel settings, in S4 and with each look after that: what configures a host anew (`sysctl --system`) sets
    // them all. Without a look IPv6 forwarding waits for the next one.
    async::awaitable<void> apply_settings(std::optional<model::network_state> seen);

    // By the last look.
    [[nodiscard]] bool is_cluster_device_missing() const { return plan_.is_cluster_device_missing; }
    [[nodiscard]] const policy::host_plan& plan() const { return plan_; }
    // Of what failed: when it is tried again.
    [[nodiscard]] std::optional<time_point> next_try() const;
    // "bridge brcluster": why it could not be done.
    [[nodiscard]] std::map<std::string, std::string> troubles() const;

private:
    struct trouble {
        retry_pause pause;
        std::string text;
    };

    async::awaitable<void> make_plan(const model::network_state& seen);
    void note_made(const policy::host_unit& unit, policy::made_when when);
    async::awaitable<void> keep_addresses(const model::network_state& seen);
    async::awaitable<void> tell_rules(const model::network_state& seen);
    [[nodiscard]] std::optional<std::string> setting(const std::string& key) const;
    static bool is_of_forwarding(const std::string& key);
    void tell_changed(const model::set_sysctl& one);

    core::node_context& node_;
    link_work& work_;
    told_remarks& remarks_;
    counted_warnings& damages_;
    bridge_record& record_;
    bool are_settings_made_ = false;
    bool was_right_ = false;  // by the look before: what is missing now somebody took away
    policy::host_plan plan_;
    std::vector<policy::unmoved_route> unmoved_;  // of the look before
    std::optional<time_point> rules_told_;
    std::set<int> kept_;                       // bridges that were told to keep their hardware address, by index
    std::map<std::string, trouble> troubles_;  // by unit
    // What was done with the last look, by unit. Where the next one asks for just that again the kernel has it so,
    // whatever it shows, or somebody undoes it at once: nobody waits for that.
    std::map<std::string, std::vector<model::network_change>> done_;
    policy::repeated_events set_up_;  // units that were set up, which was told
    retry_pause forwarding_pause_;    // of its settings
    // Settings that were right once, and when it was last told that somebody changed one.
    std::map<std::string, time_point> was_right_by_key_;
};

}  // namespace pvc::networks
