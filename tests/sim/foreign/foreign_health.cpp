#include "sim/foreign/foreign_health.hpp"

#include "pvcnoded/async/task_group.hpp"

// Scopes keep the callable they are given until its coroutine has ended.

namespace pvc::sim {

async::awaitable<void> foreign_health_checks::load() {
    const auto plugins = node_.settings.health.plugins;
    if (plugins.empty()) {
        co_return;
    }
    loaded_ = std::to_string(unix_seconds(node_.clock.wall_now()));
    std::string names;
    for (const auto& plugin : plugins) {
        names += (names.empty() ? "" : " ") + plugin.name;
    }
    co_await node_.session.write(node_.own("/monitoring_plugins"), names);
    const auto container = co_await node_.session.read(node_.own("/monitoring_data"));
    if (!container) {
        co_await node_.session.write(node_.own("/monitoring_data"), "");
    }
    for (const auto& plugin : plugins) {
        foreign_plugin fresh{.name = plugin.name, .message = "Initializing"};
        co_await report(std::move(fresh), "0");
    }
}

async::awaitable<void> foreign_health_checks::run() {
    const auto& health = node_.settings.health;
    if (health.plugins.empty()) {
        co_return;
    }
    time_point next = node_.clock.now() + health.first.value_or(health.interval);
    for (;;) {
        co_await async::sleep_until(node_.clock, next, "the next health checks");
        co_await async::with_task_group("health", [this](async::task_group& group) -> async::awaitable<void> {
            for (const auto& plugin : node_.settings.health.plugins) {
                group.spawn(plugin.name, [this, plugin] { return check(plugin); });
            }
            co_return;
        });
        co_await node_.pass(health.summary, "the sum of the health checks");
        co_await node_.session.write(node_.own("/monitoring_health"), health.value);
        do {
            next += health.interval;
        } while (next < node_.clock.now());
    }
}

async::awaitable<void> foreign_health_checks::check(foreign_plugin plugin) {
    co_await node_.pass(plugin.takes, "a health plugin");
    co_await report(std::move(plugin), loaded_);
}

async::awaitable<void> foreign_health_checks::report(foreign_plugin plugin, std::string last_run) {
    const std::string root = node_.own("/monitoring_data/" + plugin.name);
    std::vector<model::key_value> keys{
        {root, plugin.name},
        {root + "/last_run", last_run},
        {root + "/health_delta", plugin.health_delta},
        {root + "/message", plugin.message},
        {root + "/data", plugin.data},
        {root + "/runtime", plugin.runtime},
    };
    co_await node_.session.write(std::move(keys));
}

}  // namespace pvc::sim
