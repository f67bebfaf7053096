#include "sim/network/sim_link_counters.hpp"

#include <algorithm>

namespace pvc::sim {

namespace {

bool is_card(const model::network_link& link) {
    return link.kind.empty() && !link.is_loopback;
}

std::string state_of(const model::network_link& link) {
    if (!link.is_up) {
        return "down";
    }
    return link.is_running ? "up" : "down";
}

}  // namespace

sim_link_counters::flow sim_link_counters::now(const std::string& device) const {
    const auto found = counted_.find(device);
    if (found == counted_.end()) {
        return {};
    }
    const auto& [before, each, since] = found->second;
    const auto passed = [&](std::uint64_t from, std::uint64_t rate) {
        const double seconds = std::chrono::duration<double>(clock().now() - since).count();
        return from + static_cast<std::uint64_t>(static_cast<double>(rate) * seconds + 0.5);
    };
    return {passed(before.rx_bytes, each.rx_bytes), passed(before.tx_bytes, each.tx_bytes),
            passed(before.rx_packets, each.rx_packets), passed(before.tx_packets, each.tx_packets)};
}

void sim_link_counters::set_flow(const std::string& device, flow each_second) {
    counted_[device] = {now(device), each_second, clock().now()};
}

void sim_link_counters::reset(const std::string& device) {
    auto& one = counted_[device];
    one.until_then = {};
    one.since = clock().now();
}

async::awaitable<result<std::vector<model::hardware_link>>> sim_link_counters::hardware(time_point deadline) {
    auto found = std::make_shared<std::vector<model::hardware_link>>();
    auto looked = co_await pass("network cards", deadline, [this, found]() -> result<void> {
        if (const auto told = fault("hardware")) {
            return *told;
        }
        const auto& seen = machine_.state();
        for (const auto& link : seen.links()) {
            if (is_card(link)) {
                const auto speed = speeds.find(link.name);
                found->push_back({link.name, speed == speeds.end() ? std::nullopt : std::optional(speed->second)});
            }
        }
        std::ranges::sort(*found, {}, &model::hardware_link::name);
        return {};
    });
    if (!looked) {
        co_return std::move(looked).error();
    }
    co_return std::move(*found);
}

async::awaitable<result<std::vector<model::link_counters>>> sim_link_counters::count(std::vector<std::string> names,
                                                                                     time_point deadline) {
    auto found = std::make_shared<std::vector<model::link_counters>>();
    auto counted = co_await pass("counters", deadline, [this, names, found]() -> result<void> {
        if (const auto told = fault("count")) {
            return *told;
        }
        for (const auto& name : names) {
            if (const auto* link = machine_.link(name)) {
                const flow all = now(name);
                found->push_back(
                    {link->index, name, all.rx_bytes, all.tx_bytes, all.rx_packets, all.tx_packets, state_of(*link)});
            }
        }
        return {};
    });
    if (!counted) {
        co_return std::move(counted).error();
    }
    co_return std::move(*found);
}

}  // namespace pvc::sim
