// What --check-config prints (config.md 1).
#include "pvcnoded/base/text.hpp"
#include "pvcnoded/base/utf8.hpp"
#include "pvcnoded/config/load.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace pvc::config {

namespace {

using settings = std::vector<std::pair<std::string, std::string>>;

class listing {
public:
    void add(std::string name, std::string_view value) {
        all_.emplace_back(std::move(name), value.empty() ? "none" : one_line(value));
    }
    void add(std::string name, const char* value) { add(std::move(name), std::string_view(value)); }
    void add(std::string name, bool value) { add(std::move(name), value ? "true" : "false"); }
    void add(std::string name, std::uint64_t value) { add(std::move(name), std::string_view(fmt::to_string(value))); }
    void add(std::string name, int value) { add(std::move(name), std::string_view(fmt::to_string(value))); }
    void add(std::string name, std::chrono::seconds value) {
        add(std::move(name), std::string_view(fmt::to_string(value.count())));
    }
    void add(std::string name, const secret& /*value*/) { add(std::move(name), "********"); }
    void add(std::string name, const std::vector<std::string>& values) {
        add(std::move(name), std::string_view(join(values, ",")));
    }

    settings take() {
        std::ranges::sort(all_);
        return std::move(all_);
    }

private:
    // A value may hold line breaks; a listing of lines may not.
    static std::string one_line(std::string_view value) {
        std::string out;
        for (const char c : value) {
            out += is_ascii_control(c) ? fmt::format("\\x{:02x}", static_cast<unsigned char>(c)) : std::string(1, c);
        }
        return out;
    }

    settings all_;
};

void add_identity(const node_config& config, listing& out) {
    out.add("node", config.node);
    out.add("fqdn", config.fqdn);
    out.add("domain", config.domain);
    out.add("node_id", config.node_id);
    out.add("mode", mode_text(config.mode));
    out.add("debug", config.debug);
    out.add("enable_hypervisor", config.functions.hypervisor);
    out.add("enable_networking", config.functions.networking);
    out.add("enable_storage", config.functions.storage);
    out.add("enable_api", config.functions.api);
    out.add("coordinators", config.coordinators);
    out.add("zookeeper_hosts", config.zookeeper_hosts);
}

void add_system(const node_config& config, listing& out) {
    out.add("keepalive_interval", config.keepalive_interval);
    out.add("fence_intervals", config.fence_intervals);
    out.add("suicide_intervals", config.suicide_intervals);
    out.add(
        "selfreset",
        std::string_view(config.self_reset_lease ? fmt::format("armed {}", config.self_reset_lease->count()) : "off"));
    out.add("vm_shutdown_timeout", config.vm_shutdown_timeout);
    out.add("monitoring_interval", config.monitoring_interval);
    out.add("successful_fence", to_text(config.fencing.successful));
    out.add("failed_fence", to_text(config.fencing.failed));
    out.add("fencing_overcommit", config.fencing.overcommit);
    out.add("ipmi_host", config.ipmi.host);
    out.add("ipmi_user", config.ipmi.user);
    out.add("ipmi_pass", config.ipmi.pass);
    const auto& suite = config.ipmi.cipher_suite;
    out.add("ipmi_cipher_suite", std::string_view(suite ? fmt::to_string(*suite) : "none"));
    out.add("target_selector", config.target_selector);
    out.add("plugin_directory", config.directories.plugin);
    out.add("dynamic_directory", config.directories.dynamic);
    out.add("log_directory", config.directories.log);
    out.add("console_log_directory", config.directories.console_log);
    out.add("ceph_config_file", config.storage.ceph_config_file);
    out.add("ceph_admin_keyring", config.storage.ceph_admin_keyring);
}

void add_hypervisor(const node_config& config, listing& out) {
    out.add("max_migrations", config.hypervisor.max_migrations);
    out.add("max_creations", config.hypervisor.max_creations);
    out.add("stall_limit", config.hypervisor.stall_limit);
    out.add("migration_bandwidth", config.hypervisor.migration_bandwidth);
    out.add("console_writes", config.hypervisor.console_writes);
    out.add("control_group", config.control_group);
    out.add("metrics_port", config.metrics.port ? std::to_string(*config.metrics.port) : std::string());
    out.add("metrics_address", config.metrics.address);
}

void add_logging(const node_config& config, listing& out) {
    out.add("file_logging", config.logging.file);
    out.add("stdout_logging", config.logging.stdout_);
    out.add("zookeeper_logging", config.logging.zookeeper);
    out.add("log_colours", config.logging.colours);
    out.add("log_dates", config.logging.dates);
    out.add("log_keepalives", config.logging.keepalives);
    out.add("log_keepalive_cluster_details", config.logging.cluster_details);
    out.add("log_keepalive_plugin_details", config.logging.plugin_details);
    out.add("log_keepalive_storage_details", config.logging.storage_details);
    out.add("console_log_lines", config.logging.console_log_lines);
    out.add("node_log_lines", config.logging.node_log_lines);
}

void add_health(const node_config& config, listing& out) {
    const auto& health = config.health;
    out.add("health_mode", to_text(health.mode));
    out.add("health_prefer_builtin", to_text(health.prefer_builtin));
    out.add("health_failure_delta", health.failure_delta);
    out.add("health_extra_directories", health.extra_directories);
    out.add("health_disabled", health.disabled);
    out.add("health_exit_status_delta", std::string_view(fmt::format("{}", fmt::join(health.exit_status_delta, ","))));
    for (const auto& [name, check] : health.checks) {
        const std::string prefix = "health_checks_" + printable(name);
        if (check.timeout) {
            out.add(prefix + "_timeout", *check.timeout);
        }
        if (check.interval) {
            out.add(prefix + "_interval", *check.interval);
        }
        out.add(prefix + "_args", check.args);
        out.add(prefix + "_max_delta", check.max_delta);
    }
    for (const auto& [device, speed] : health.nic_speeds_mbit) {
        out.add("health_checks_nics_expected_speed_" + printable(device), speed);
    }
}

void add_database(const std::string& prefix, const database& from, listing& out) {
    out.add(prefix + "_host", from.host);
    out.add(prefix + "_port", int{from.port});
    out.add(prefix + "_name", from.name);
    out.add(prefix + "_user", from.user);
    out.add(prefix + "_pass", from.pass);
}

void add_networking(const node_config& config, listing& out) {
    for (const auto role : {network_role::cluster, network_role::storage, network_role::upstream}) {
        const std::string prefix(to_text(role));
        const auto& network = config.networks[role];
        out.add(prefix + "_domain", network.domain);
        out.add(prefix + "_network", network.subnet.to_string());
        out.add(prefix + "_floating_ip", network.floating_ip.text());
        out.add(prefix + "_device", network.device);
        out.add(prefix + "_mtu", network.mtu);
        out.add(prefix + "_address", std::string_view(network.address ? network.address->text() : ""));
        out.add(prefix + "_bridge", network.bridge);
    }
    const auto& gateway = config.networks.upstream.gateway;
    out.add("upstream_gateway", std::string_view(gateway ? gateway->to_string() : ""));
    for (const auto& device : config.device_mtus) {
        out.add(fmt::format("device_mtu_{}", device.device), device.mtu);
    }
    out.add("bridge_device", config.bridges.device);
    // Known only after the interfaces are set up.
    const std::string unknown_mtu = config.bridges.device.empty() ? "none" : "live";
    out.add("bridge_mtu", std::string_view(config.bridges.mtu ? fmt::to_string(*config.bridges.mtu) : unknown_mtu));
    out.add("sriov_enable", config.sriov.enable);
    for (std::size_t i = 0; i < config.sriov.devices.size(); ++i) {
        const auto& device = config.sriov.devices[i];
        const std::string prefix = fmt::format("sriov_device[{}]", i);
        out.add(prefix + "_phy", device.phy);
        out.add(prefix + "_mtu", std::string_view(device.mtu ? fmt::to_string(*device.mtu) : ""));
        out.add(prefix + "_vfcount", std::string_view(device.vf_count ? fmt::to_string(*device.vf_count) : ""));
    }
    add_database("dns_database", config.dns_database, out);
    add_database("metadata_database", config.metadata_database, out);
}

}  // namespace

settings effective_settings(const node_config& config) {
    listing out;
    add_identity(config, out);
    add_system(config, out);
    add_hypervisor(config, out);
    add_logging(config, out);
    add_health(config, out);
    if (config.functions.networking) {
        add_networking(config, out);
    } else if (!config.networks.cluster.domain.empty()) {
        out.add("cluster_domain", config.networks.cluster.domain);  // migration uses it all the same
    }
    return out.take();
}

}  // namespace pvc::config
