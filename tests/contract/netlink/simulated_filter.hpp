// The simulated packet filter.
#pragma once

#include "contract/netlink/filter_bench.hpp"
#include "sim/network/sim_filter.hpp"
#include "sim/network/sim_packet_filter.hpp"

namespace pvc::contract {

// Whoever else changes the machine: what he does is done at once.
class filter_of_others final : public netlink::packet_filter {
public:
    explicit filter_of_others(sim::sim_filter& machine) : machine_(machine) {}

    awaitable<result<model::filter_state>> look(time_point /*deadline*/) override { co_return machine_.state(); }
    awaitable<result<std::optional<netlink::batch_refusal>>> commit(std::vector<model::filter_change> changes,
                                                                    std::optional<std::uint32_t> generation,
                                                                    time_point /*deadline*/) override {
        co_await async::yield();
        co_return machine_.commit(changes, generation);
    }
    [[nodiscard]] std::unique_ptr<netlink::filter_watch> watch(async::wakeup& /*changed*/) override { return nullptr; }

private:
    sim::sim_filter& machine_;
};

class simulated_filter final : public filter_bench {
public:
    async::timers& clock() override { return world_.clock(); }
    void run(std::function<awaitable<void>()> body) override { world_.run(std::move(body)); }
    netlink::packet_filter& filter() override { return filter_; }
    netlink::packet_filter& other_filter() override { return others_; }
    void make_foreign_tables() override { machine_.touch_table("ip filter"); }
    void change_foreign_table() override { machine_.touch_table("ip filter"); }
    [[nodiscard]] std::string foreign_tables() override { return machine_.foreign_text(); }
    void make_dormant() override { machine_.make_dormant(); }
    void make_owned() override { machine_.make_owned(); }
    void end_owner() override { machine_.end_owner(); }

private:
    sim_world world_;
    sim::sim_filter machine_;
    sim::sim_packet_filter filter_{machine_, world_.clock()};
    filter_of_others others_{machine_};
};

}  // namespace pvc::contract
