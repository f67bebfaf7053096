// The netlink port of one simulated machine for its packet filter.
#pragma once

#include "pvcnoded/netlink/packet_filter.hpp"
#include "sim/network/kernel_calls.hpp"
#include "sim/network/sim_filter.hpp"

namespace pvc::sim {

class sim_packet_filter final : public netlink::packet_filter, public kernel_calls {
public:
    sim_packet_filter(sim_filter& machine, async::timers& clock);
    ~sim_packet_filter() override { machine_.changed = nullptr; }

    // Besides those of kernel_calls ("look", "commit"; calls are "commit 7 changes").
    // The next batch that has so many changes is refused because of this one of it, the first is 0.
    std::optional<std::size_t> refuses;
    // Every batch with a change that this says yes to is refused because of it.
    std::function<bool(const model::filter_change&)> refuses_if;
    // So many times somebody changes another table just before a batch.
    int conflicts = 0;
    // The next batch is not answered by its deadline.
    enum class unanswered : std::uint8_t { no, done, not_done };
    unanswered next_unanswered = unanswered::no;
    // So many looks are given up because the table changed again and again.
    int torn_looks = 0;
    // Whoever watches hears of a change so much later.
    duration event_delay{0};
    std::uint64_t looks = 0;  // that began
    // After each batch that was carried out, and with a change because of which one was refused.
    std::function<void()> on_batch;
    std::function<void(const model::filter_change&)> on_refusal;
    void end_faults();
    // Events were lost (ENOBUFS): whoever watches is told to look.
    void lose_events() { tell(); }

    async::awaitable<result<model::filter_state>> look(time_point deadline) override;
    async::awaitable<result<std::optional<netlink::batch_refusal>>> commit(std::vector<model::filter_change> changes,
                                                                           std::optional<std::uint32_t> generation,
                                                                           time_point deadline) override;
    [[nodiscard]] std::unique_ptr<netlink::filter_watch> watch(async::wakeup& changed) override;
    [[nodiscard]] std::size_t watches() const { return watches_.size(); }
    // Batches that were carried out, in their order.
    std::vector<std::vector<model::filter_change>> batches;

private:
    class watching;
    void something_changed();
    void tell();
    [[nodiscard]] sim_filter::outcome carry_out(const std::vector<model::filter_change>& changes,
                                                std::optional<std::uint32_t> generation);
    [[nodiscard]] sim_filter::outcome outcome_of(const std::vector<model::filter_change>& changes,
                                                 std::optional<std::uint32_t> generation);

    sim_filter& machine_;
    async::timer events_;
    std::vector<watching*> watches_;  // in the order in which they began
};

}  // namespace pvc::sim
