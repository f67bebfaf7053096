// Carries out what policy asks for, step by step, through the port; counts it, and undoes what cannot be completed.
#pragma once

#include "pvcnoded/core/node_context.hpp"
#include "pvcnoded/model/network_change.hpp"
#include "pvcnoded/model/network_state.hpp"
#include "pvcnoded/netlink/network_stack.hpp"
#include "pvcnoded/networks/network_counts.hpp"
#include "pvcnoded/policy/networks/host_plan.hpp"

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace pvc::networks {

class link_work {
public:
    // All outlive it.
    link_work(core::node_context& node, netlink::network_stack& stack, network_counts& counts)
        : node_(node), stack_(stack), counts_(counts) {}

    // All of it, or the failure of the first step that fails, in words ("make ens4 a port of brcluster: …"). A setting
    // that this kernel does not have is left out. `left`: gets that step and those behind it.
    async::awaitable<result<void>> carry_out(std::vector<model::network_change> steps,
                                             std::vector<model::network_change>* left = nullptr);
    // The same; where a step fails, those before it are undone, backwards, as far as that is possible. With
    // `settings_left`: settings that the kernel refuses (/proc/sys is read-only, say) are left out of steps that are
    // about more than settings, and told there.
    async::awaitable<result<void>> carry_out_or_undo(std::vector<model::network_change> steps,
                                                     const model::network_state& before,
                                                     std::vector<std::string>* settings_left = nullptr);
    async::awaitable<result<model::network_state>> look();
    [[nodiscard]] netlink::network_stack& stack() { return stack_; }

    [[nodiscard]] network_counts& counts() const { return counts_; }

    // The configuration, with devices called as the kernel calls them by the last look that was named here. Until the
    // next one. What is to go by a plan of that look is what had the name then.
    [[nodiscard]] const config::node_config& config() const { return named_ ? *named_ : *node_.config; }
    void name_devices(const model::network_state& seen);

private:
    async::awaitable<result<void>> apply(model::network_change step);
    async::awaitable<result<void>> hand_in(model::network_change step, time_point until);

    core::node_context& node_;
    netlink::network_stack& stack_;
    network_counts& counts_;
    std::map<std::string, int, std::less<>> indexes_;  // of links, by the last look; without those made since
    policy::device_names names_;
    std::optional<config::node_config> named_;  // where a device is called by another name than its own
};

// When to try again after failures: 1, 2, 4, … 30 s.
class retry_pause {
public:
    void failed(time_point now);
    void succeeded() { *this = {}; }
    [[nodiscard]] bool is_over(time_point now) const { return !until_ || *until_ <= now; }
    [[nodiscard]] std::optional<time_point> until() const { return until_; }

private:
    std::optional<time_point> until_;
    duration pause_{};
};

}  // namespace pvc::networks
