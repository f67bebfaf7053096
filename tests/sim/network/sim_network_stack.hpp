// The netlink port of one simulated machine for links, addresses, routes and settings.
#pragma once

#include "pvcnoded/netlink/network_stack.hpp"
#include "sim/network/kernel_calls.hpp"
#include "sim/network/sim_kernel.hpp"

namespace pvc::sim {

class sim_network_stack final : public netlink::network_stack, public kernel_calls {
public:
    sim_network_stack(sim_kernel& machine, async::timers& clock);
    ~sim_network_stack() override { machine_.changed = nullptr; }

    // Besides those of kernel_calls ("look", "set MTU", "add 10.1.1.1/24 to vmbr7", "read net/…"): every look is
    // interrupted again and again; the n-th change from now is refused.
    bool are_looks_interrupted = false;
    std::optional<int> refuses_in;
    // A dump comes in so many parts, between which others have their turn: what changes meanwhile tears it, and it is
    // made anew, a few times.
    int dump_parts = 1;
    std::uint64_t torn_dumps = 0;
    std::uint64_t looks = 0;  // that were asked for
    // Whoever watches hears of a change so much later.
    duration event_delay{0};
    std::vector<netlink::device_rule> rules;
    void end_faults();
    // Events were lost (ENOBUFS): whoever watches is told to look.
    void lose_events();

    async::awaitable<result<model::network_state>> look(time_point deadline) override;
    async::awaitable<result<void>> apply(model::network_change change, time_point deadline) override;
    async::awaitable<result<void>> remove_link(std::string name, int index, time_point deadline) override;
    async::awaitable<result<std::vector<netlink::device_rule>>> device_rules(time_point /*deadline*/) override {
        co_return rules;
    }
    [[nodiscard]] bool has_late_changes() const override { return has_calls(); }
    [[nodiscard]] result<std::string> sysctl(const std::string& key) const override;
    [[nodiscard]] std::uint64_t settings_told(int link) const override;
    // Settings that were read, so far.
    [[nodiscard]] std::uint64_t settings_read() const { return settings_read_; }
    [[nodiscard]] std::unique_ptr<netlink::network_watch> watch(async::wakeup& changed) override;
    [[nodiscard]] std::size_t watches() const { return watches_.size(); }

private:
    async::awaitable<void> read_rest(model::network_state& seen);
    async::awaitable<result<void>> carry_out(model::network_change change, int index, time_point deadline);
    class watching;
    void something_changed();
    void tell();

    sim_kernel& machine_;
    async::timer events_;
    std::vector<watching*> watches_;           // in the order in which they began
    sim_kernel::settings_news told_settings_;  // by the last event
    mutable std::uint64_t lost_ = 0;           // times in which some may have been lost
    mutable std::uint64_t settings_read_ = 0;
};

}  // namespace pvc::sim
