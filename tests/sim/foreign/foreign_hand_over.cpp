#include "sim/foreign/foreign_hand_over.hpp"

#include "sim/foreign/foreign_lock.hpp"
#include "sim/network/sim_addresses.hpp"

namespace pvc::sim {

namespace {

using enum hand_over_phase;
using model::lock_kind;
using model::router_state;

// What both sides do with each network.
duration network_work(const foreign_state& node, hand_over_phase phase) {
    const bool touches = phase == stop_services || phase == gateways || phase == start_services;
    return touches ? node.timings().per_network * node.settings.managed_networks : duration(0);
}

struct address_of_phase {
    hand_over_phase phase;
    std::string_view device;
    std::string_view address;
};

// Always on these bridges, whether they were made or not. What a side is asked to do is done in an instant, however
// long the whole of it takes.
template <class Act>
void each_address(const foreign_state& node, hand_over_phase phase, Act act) {
    const auto& settings = node.settings;
    const address_of_phase all[] = {
        {upstream, "brupstream", settings.upstream_address},
        {cluster, "brcluster", settings.cluster_floating},
        {cluster, "brstorage", settings.storage_floating},
        {metadata, "lo", "169.254.169.254/32"},
    };
    for (const auto& one : all) {
        if (one.phase == phase && settings.kernel != nullptr) {
            act(std::string(one.device), *parse_host_address(one.address));
        }
    }
    if (phase == gateways && settings.kernel != nullptr && settings.gateways) {
        for (const auto& [bridge, gateway] : settings.gateways()) {
            ignore(settings.kernel->apply(model::make_bridge{bridge}), "it is its bridge");
            act(bridge, gateway);
        }
    }
}

void add_addresses(const foreign_state& node, hand_over_phase phase) {
    each_address(node, phase, [&](const std::string& device, const host_address& which) {
        node.settings.kernel->add(device, which);
    });
}

void remove_addresses(const foreign_state& node, hand_over_phase phase) {
    each_address(node, phase, [&](const std::string& device, const host_address& which) {
        node.settings.kernel->remove(device, which);
    });
}

async::awaitable<void> write_phase(foreign_state& node, hand_over_phase phase) {
    foreign_lock lock(node.session, node.random, foreign_sync_key, lock_kind::write);
    co_await lock.acquire(std::nullopt);
    const auto times = node.timings().writer.at(static_cast<std::size_t>(phase));
    co_await node.pass(times.hold, "the partner in a hand-over");
    add_addresses(node, phase);
    co_await node.pass(times.work + network_work(node, phase), "the work of a phase");
    co_await node.session.write(foreign_sync_key, "");
    co_await node.pass(node.timings().write_done, "the end of a phase");
    co_await lock.release();
    co_await node.pass(times.pause, "the pause after a phase");
}

std::optional<duration> read_limit(const foreign_state& node, hand_over_phase phase) {
    if (node.settings.level == reference_level::v1_0_3) {
        return node.timings().read_lock_limit;
    }
    return phase == start_services ? std::optional(node.timings().read_lock_limit_long) : std::nullopt;
}

// After a time-out it goes on as if it had had the lock.
async::awaitable<void> read_phase(foreign_state& node, hand_over_phase phase) {
    const auto times = node.timings().reader.at(static_cast<std::size_t>(phase));
    foreign_lock lock(node.session, node.random, foreign_sync_key, lock_kind::read);
    co_await lock.acquire(read_limit(node, phase), times.wake);
    co_await node.pass(times.let_go, "the release of a read lock");
    co_await lock.release();
    remove_addresses(node, phase);
    co_await node.pass(times.work + network_work(node, phase), "the work of a phase");
}

}  // namespace

async::awaitable<void> take_over(foreign_state& node) {
    co_await node.pass(node.timings().take_over_starts, "the start of a takeover");
    foreign_lock candidate(node.session, node.random, foreign_primary_key, lock_kind::exclusive);
    co_await candidate.acquire(std::nullopt);
    co_await node.session.write(foreign_sync_key, "");
    co_await node.pass(node.timings().lock_setup, "the first phase");
    co_await write_phase(node, meet);
    co_await read_phase(node, stop_services);
    for (const auto phase : {upstream, cluster, metadata, gateways, start_services}) {
        co_await write_phase(node, phase);
    }
    co_await node.pass(node.timings().settle, "the end of a takeover");
    co_await candidate.release();
    co_await node.write_role(router_state::primary);
}

async::awaitable<void> relinquish(foreign_state& node) {
    co_await node.pass(node.timings().relinquish_starts, "the new primary's first lock");
    co_await read_phase(node, meet);
    co_await write_phase(node, stop_services);
    for (const auto phase : {upstream, cluster, metadata, gateways, start_services}) {
        co_await read_phase(node, phase);
    }
    co_await node.pass(node.timings().settle, "the end of a relinquishment");
    co_await node.write_role(router_state::secondary);
}

}  // namespace pvc::sim
