// Directories, logging, databases, storage, limits of the hypervisor and health checks (config.md 5.3, 5.6 to 5.8a).
#include "pvcnoded/base/address.hpp"
#include "readers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>

namespace pvc::config {

namespace {

using std::chrono::seconds;

std::optional<std::string> parse_database_host(std::string_view text) {
    return text.starts_with('/') ? parse_path(text) : is_host(text) ? std::optional<std::string>(text) : std::nullopt;
}

database read_database(section parent, bool networking) {
    constexpr text_rule host_rule{"not a host", "a host or an absolute socket directory", parse_database_host};
    const presence code = only_if(networking, presence::required);
    auto in = parent.child("database");
    database out;
    out.host = in.text("host", code, host_rule).value;
    out.port = static_cast<std::uint16_t>(in.integer("port", code, {1, 65535}, 5432).value);
    out.name = in.text("name", code, non_empty_text).value;
    out.user = in.text("user", code, non_empty_text).value;
    out.pass = secret(in.text("pass", code, secret_text).value);
    in.finish();
    parent.finish();
    return out;
}

// One in which the daemon creates files and folders: not where others do.
std::string own_directory(section& in, std::string_view key, std::string_view example) {
    constexpr std::array<std::string_view, 26> shared{
        "/",    "/bin",     "/boot",      "/dev",     "/dev/shm", "/etc",     "/home",     "/lib",     "/mnt",
        "/opt", "/proc",    "/root",      "/run",     "/sbin",    "/srv",     "/sys",      "/tmp",     "/usr",
        "/var", "/var/lib", "/var/cache", "/var/log", "/var/run", "/var/tmp", "/run/lock", "/var/lock"};
    const auto path = in.text(key, presence::required, path_rule);
    const std::string plain = std::filesystem::path(path.value).lexically_normal().string();
    if (path.given && std::ranges::find(shared, plain) != shared.end()) {
        in.report(severity::fatal, path.line, path.path,
                  fmt::format("a directory of the system; expected one of the daemon's own, such as {}, got \"{}\"",
                              example, path.value));
    }
    return path.value;
}

std::vector<std::string> values(const setting<std::vector<setting<std::string>>>& list) {
    std::vector<std::string> out;
    for (const auto& item : list.value) {
        out.push_back(item.value);
    }
    return out;
}

void read_check(const std::string& name, section& in, node_config& config) {
    const auto limit = [&](std::string_view key, std::int64_t longest) -> std::optional<seconds> {
        const auto value = in.optional_integer(key, presence::optional, {1, longest}, false, {}).value;
        return value ? std::optional(seconds(*value)) : std::nullopt;
    };
    auto& check = config.health.checks[name];
    check.timeout = limit("timeout", 600);
    check.interval = limit("interval", 86400);
    check.args = values(in.list("args", presence::optional, any_text));
    check.max_delta = in.integer("max_delta", presence::optional, {0, 100}, 100).value;
    if (name == "nics") {
        for (const auto& speed : in.named_numbers("expected_speed", {1, 1'000'000})) {
            config.health.nic_speeds_mbit[speed.path] = speed.value;
        }
    }
    in.finish();
}

}  // namespace

void read_databases(section& coordinator, node_config& config) {
    config.dns_database = read_database(coordinator.child("dns"), config.functions.networking);
    config.metadata_database = read_database(coordinator.child("metadata"), config.functions.networking);
    coordinator.finish();
}

void read_directories(section& directories, const host_facts& facts, node_config& config) {
    const auto plugin = directories.text("plugin_directory", presence::optional, path_rule, "/usr/share/pvc/plugins");
    const auto console_log = directories.text("console_log_directory", presence::required, path_rule);
    check_directory(directories, facts, plugin);
    check_directory(directories, facts, console_log);
    config.directories.plugin = plugin.value;
    config.directories.console_log = console_log.value;
    config.directories.dynamic = own_directory(directories, "dynamic_directory", "/run/pvc");
    config.directories.log = own_directory(directories, "log_directory", "/var/log/pvc");
    directories.finish();
}

void read_logging(section& logging, node_config& config) {
    constexpr range lines{0, 100'000};
    auto& out = config.logging;
    out.file = logging.boolean("file_logging", presence::defaulted).value;
    out.stdout_ = logging.boolean("stdout_logging", presence::defaulted).value;
    out.zookeeper = logging.boolean("zookeeper_logging", presence::optional).value;
    out.colours = logging.boolean("log_colours", presence::defaulted).value;
    out.dates = logging.boolean("log_dates", presence::defaulted).value;
    out.keepalives = logging.boolean("log_keepalives", presence::defaulted).value;
    const bool details = logging.boolean("log_keepalive_cluster_details", presence::defaulted).value;
    // Each manual knows one of these two; a file with either is complete (config.md 4).
    const bool has_either = logging.look_up("log_keepalive_plugin_details") != nullptr ||
                            logging.look_up("log_keepalive_storage_details") != nullptr;
    if (!has_either) {
        logging.missing("log_keepalive_plugin_details", presence::defaulted,
                        "a boolean here or for log_keepalive_storage_details", "false for both");
    }
    const bool plugins = logging.boolean("log_keepalive_plugin_details", presence::optional).value;
    const bool storage = logging.boolean("log_keepalive_storage_details", presence::optional).value;
    out.cluster_details = out.keepalives && details;
    out.plugin_details = out.keepalives && plugins;
    out.storage_details = out.keepalives && storage;
    out.console_log_lines = logging.integer("console_log_lines", presence::defaulted, lines, 1000).value;
    out.node_log_lines = logging.integer("node_log_lines", presence::optional, lines, 2000).value;
    logging.finish();
}

void read_hypervisor(section& hypervisor, node_config& config) {
    auto& out = config.hypervisor;
    out.max_migrations = hypervisor.integer("max_migrations", presence::optional, {1, 16}, 4).value;
    out.max_creations = hypervisor.integer("max_creations", presence::optional, {1, 32}, 8).value;
    out.stall_limit = seconds(hypervisor.integer("stall_limit", presence::optional, {30, 3600}, 300).value);
    out.migration_bandwidth = hypervisor.integer("migration_bandwidth", presence::optional, {0, 100'000}, 0).value;
    out.console_writes = hypervisor.integer("console_writes", presence::optional, {1, 1000}, 20).value;
    hypervisor.finish();
}

void read_recovery(section& fencing, node_config& config) {
    config.fencing.overcommit = fencing.integer("overcommit", presence::optional, {10, 1000}, 100).value;
    fencing.finish();
}

// Whether there is such a group is seen when the socket is made: asking may take long where groups come from a
// directory.
void read_control(section& control, node_config& config) {
    config.control_group = control.text("group", presence::optional, non_empty_text).value;
    control.finish();
}

void read_metrics(section& metrics, node_config& config) {
    constexpr text_rule address_rule{"not an address", "an IPv4 or IPv6 address", [](std::string_view text) {
                                         return parse_address(text) ? std::optional(std::string(text)) : std::nullopt;
                                     }};
    const auto port = metrics.optional_integer("port", presence::optional, {1, 65535}, true, "no metrics");
    const auto address = metrics.text("address", presence::optional, address_rule, config.metrics.address);
    config.metrics.port = port.value;
    config.metrics.address = address.value;
    if (address.given && metrics.look_up("port") == nullptr) {
        metrics.report(severity::warning, address.line, address.path,
                       "nothing listens there; expected port beside it, got none");
    }
    metrics.finish();
}

void read_storage(section& storage, const host_facts& facts, node_config& config) {
    const auto file = [&](std::string_view key, std::string_view fallback) {
        const auto path = storage.text(key, presence::optional, path_rule, std::string(fallback));
        if (config.functions.storage && facts.file_readable && !facts.file_readable(path.value)) {
            storage.report(severity::warning, path.line, path.path,
                           fmt::format("not readable; expected a readable file, got {}", printable(path.value)));
        }
        return path.value;
    };
    config.storage.ceph_config_file = file("ceph_config_file", "/etc/ceph/ceph.conf");
    config.storage.ceph_admin_keyring = file("ceph_admin_keyring", "/etc/ceph/ceph.client.admin.keyring");
    storage.finish();
}

void read_health(section& health, const host_facts& facts, node_config& config) {
    constexpr std::array<std::string_view, 3> modes{"auto", "builtin", "external"};
    constexpr std::array<std::string_view, 3> choices{"auto", "always", "never"};
    constexpr range delta{0, 100};
    auto& out = config.health;
    const auto mode = health.word("mode", presence::optional, modes, "auto").value;
    out.mode = mode == "builtin"    ? health_mode::builtin
               : mode == "external" ? health_mode::external
                                    : health_mode::automatic;
    const auto choice = health.word("prefer_builtin", presence::optional, choices, "auto").value;
    out.prefer_builtin = choice == "always"  ? builtin_preference::always
                         : choice == "never" ? builtin_preference::never
                                             : builtin_preference::automatic;
    out.failure_delta = health.integer("failure_delta", presence::optional, delta, 10).value;
    const auto extra = health.list("extra_directories", presence::optional, path_rule);
    for (const auto& directory : extra.value) {
        check_directory(health, facts, directory);
    }
    out.extra_directories = values(extra);
    out.disabled = values(health.list("disabled", presence::optional, any_text));
    for (auto& [name, check] : health.named_sections("checks")) {
        read_check(name, check, config);
    }
    const auto deltas = health.integers("exit_status_delta", delta, {0, 10, 50, 10}).value;
    if (deltas.size() == out.exit_status_delta.size()) {
        std::ranges::copy(deltas, out.exit_status_delta.begin());
    }
    health.finish();
}

}  // namespace pvc::config
