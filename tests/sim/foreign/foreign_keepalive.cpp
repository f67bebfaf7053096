#include "sim/foreign/foreign_keepalive.hpp"

namespace pvc::sim {

async::awaitable<void> foreign_keepalive::run() {
    const duration interval = std::chrono::seconds(node_.settings.keepalive_interval);
    time_point next = node_.clock.now() + node_.settings.first_tick.value_or(interval);
    for (;;) {
        co_await async::sleep_until(node_.clock, next, "the next tick");
        if (is_stopped_) {
            co_return;
        }
        co_await tick_early();
        do {
            next += interval;
        } while (next < node_.clock.now());
    }
}

async::awaitable<void> foreign_keepalive::tick_early() {
    if (is_ticking_ || is_stopped_) {
        co_return;
    }
    is_ticking_ = true;
    co_await tick();
    if (after_tick) {
        co_await after_tick();
    }
    is_ticking_ = false;
    idle_.notify();
}

async::awaitable<void> foreign_keepalive::stop() {
    is_stopped_ = true;
    while (is_ticking_) {
        co_await idle_.wait(async::wait_note::work("the end of a tick"));
    }
}

async::awaitable<void> foreign_keepalive::tick() {
    co_await publish_settings();
    co_await assert_state();
    const auto collect = node_.timings().collect;
    if (node_.settings.storage && is_primary()) {
        co_await publish_storage();
    } else {
        co_await node_.pass(collect, "the statistics of a tick");
    }
    co_await node_.pass(node_.timings().after_collection, "the end of a tick");
    co_await publish_figures();
}

async::awaitable<void> foreign_keepalive::publish_settings() {
    if (!is_primary()) {
        co_return;
    }
    struct setting {
        bool is_wanted;
        std::string path;
        std::string value;
    };
    const std::vector<setting> settings{
        {node_.settings.hypervisor, "/config/migration_target_selector", node_.settings.target_selector},
        {node_.settings.networking, "/config/upstream_ip", node_.settings.upstream_address}};
    for (const auto& one : settings) {
        if (!one.is_wanted) {
            continue;
        }
        const auto stored = co_await node_.session.read(one.path);
        if (!stored || stored->data != one.value) {
            co_await node_.session.write(one.path, one.value);
        }
    }
}

async::awaitable<void> foreign_keepalive::assert_state() {
    const auto stored = co_await node_.session.read(node_.own("/daemonstate"));
    const auto state = model::daemon_state_or_fallback(stored ? stored->data : std::string());
    if (state != model::daemon_state::run && state != model::daemon_state::shutdown) {
        co_await node_.session.write(node_.own("/daemonstate"), "run");
        if (state == model::daemon_state::init && node_.settings.first_beat > duration::zero()) {
            co_await node_.pass(node_.settings.first_beat, "the first statistics of a life");
        }
    }
    // Also while it terminates: what it believes says `run` again.
    node_.daemon = model::daemon_state::run;
    if (node_.settings.networking && is_primary()) {
        const auto primary = co_await node_.session.read(foreign_primary_key);
        if (!primary || primary->data != node_.settings.name) {
            co_await node_.session.write(foreign_primary_key, node_.settings.name);
        }
    }
}

async::awaitable<void> foreign_keepalive::publish_storage() {
    const auto& ceph = node_.settings.ceph;
    const auto& times = node_.timings();
    co_await node_.pass(times.storage_status, "the status of the storage cluster");
    co_await node_.session.write("/ceph", ceph.status);
    co_await node_.pass(times.storage_health, "the health of the storage cluster");
    co_await node_.session.write("/ceph/health", ceph.health);
    co_await node_.pass(times.storage_usage, "the usage of the storage cluster");
    co_await node_.session.write("/ceph/util", ceph.usage);
    co_await node_.pass(times.storage_pools, "the figures of the pools");
    for (const auto& pool : ceph.pools) {
        co_await node_.session.write("/ceph/pools/" + pool.name + "/stats", pool.stats);
    }
    // Every node collects these; who is no longer primary by now does not publish them.
    co_await node_.pass(times.storage_osds, "the figures of the OSDs");
    if (!is_primary()) {
        co_return;
    }
    for (const auto& osd : ceph.osds) {
        co_await node_.session.write("/ceph/osds/" + osd.name + "/stats", osd.stats);
    }
}

async::awaitable<void> foreign_keepalive::publish_figures() {
    const auto& figures = node_.settings.figures;
    const bool hypervisor = node_.settings.hypervisor;
    const auto count = [hypervisor](const std::string& value) { return hypervisor ? value : std::string("0"); };
    std::vector<model::key_value> keys{
        {node_.own("/memtotal"), figures.memory_total},
        {node_.own("/memused"), figures.memory_used},
        {node_.own("/memfree"), figures.memory_free},
        {node_.own("/memalloc"), count(figures.memory_allocated)},
        {node_.own("/memprov"), count(figures.memory_provisioned)},
        {node_.own("/vcpualloc"), count(figures.vcpus_allocated)},
        {node_.own("/cpuload"), figures.cpu_load},
        {node_.own("/domainscount"), count(figures.domains_count)},
        {node_.own("/runningdomains"), node_.running_domains},
        {node_.own("/keepalive"), std::to_string(unix_seconds(node_.clock.wall_now()))},
    };
    co_await node_.session.write(std::move(keys));
}

}  // namespace pvc::sim
