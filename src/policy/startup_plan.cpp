#include "pvcnoded/policy/startup_plan.hpp"

#include <algorithm>
#include <array>

namespace pvc::policy {

namespace {

constexpr std::array phases = {
    phase_info{phase::configuration, 0, "configuration", failure_policy::exit_configuration},
    phase_info{phase::directories, 1, "directories", failure_policy::exit_environment},
    phase_info{phase::logger, 2, "logger", failure_policy::log_and_continue},
    phase_info{phase::host_networking, 3, "host networking", failure_policy::log_and_continue},
    phase_info{phase::sysctl, 4, "kernel settings", failure_policy::log_and_continue},
    phase_info{phase::services, 5, "system services", failure_policy::log_and_continue},
    phase_info{phase::zookeeper, 6, "ZooKeeper", failure_policy::start_again},
    phase_info{phase::termination, 7, "signal handlers", failure_policy::ignore},
    phase_info{phase::node_entry, 8, "node entry", failure_policy::start_again},
    phase_info{phase::hypervisor, 9, "hypervisor", failure_policy::terminate},
    phase_info{phase::firewall, 10, "firewall", failure_policy::log_and_continue},
    phase_info{phase::dns_service_off, 11, "system DNS service off", failure_policy::ignore},
    phase_info{phase::objects, 12, "objects", failure_policy::isolated},
    phase_info{phase::keepalive, 13, "keepalive", failure_policy::start_again},
};

std::string path_of(std::string_view parent, std::string_view name) {
    return std::string(parent).append("/").append(name);
}

// An interface name is one component of a key, dots included.
std::string interface_key(std::string_view family, std::string_view interface, std::string_view setting) {
    return std::string("net/").append(family).append("/conf/").append(interface).append("/").append(setting);
}

sysctl_setting plain(std::string key, std::string value) {
    return {std::move(key), std::move(value), {}, {}, {}};
}

}  // namespace

std::span<const phase_info> startup_phases() {
    return phases;
}

const phase_info& info_of(phase id) {
    return phases[static_cast<std::size_t>(id)];
}

bool is_for_subjects(phase id) {
    switch (id) {
        case phase::host_networking:
        case phase::sysctl:
        case phase::services:
        case phase::zookeeper:
        case phase::node_entry:
        case phase::hypervisor:
        case phase::firewall:
        case phase::dns_service_off: return true;
        default: return false;
    }
}

startup_answer answer_to_failure(phase id, errc code) {
    switch (info_of(id).on_failure) {
        case failure_policy::exit_configuration: return startup_answer::leave_unconfigured;
        case failure_policy::exit_environment: return startup_answer::leave;
        case failure_policy::start_again:
            return code == errc::refused ? startup_answer::leave : startup_answer::start_again;
        case failure_policy::terminate: return startup_answer::leave;  // registered, it says good-bye before
        case failure_policy::log_and_continue:
        case failure_policy::ignore:
        case failure_policy::isolated: break;
    }
    return startup_answer::go_on;
}

std::vector<std::string> services_to_start(std::string_view node, model::daemon_mode mode,
                                           const node_functions& functions) {
    const bool coordinator = mode == model::daemon_mode::coordinator;
    std::vector<std::string> units;
    const auto add = [&units](bool wanted, std::string unit) {
        if (wanted) {
            units.push_back(std::move(unit));
        }
    };
    const auto instance = [node](std::string_view unit) {
        return std::string(unit).append("@").append(node).append(".service");
    };
    add(coordinator, "zookeeper.service");
    add(functions.hypervisor, "libvirtd.service");
    add(functions.networking && coordinator, "patroni.service");
    add(functions.networking && coordinator, "frr.service");
    add(functions.storage && coordinator, instance("ceph-mon"));
    add(functions.storage && coordinator, instance("ceph-mgr"));
    add(functions.api && coordinator, "keydb-server.service");
    add(functions.api, "pvcworkerd.service");
    add(functions.external_health, "pvchealthd.service");
    return units;
}

std::vector<sysctl_setting> sysctl_settings(const core_devices& devices) {
    std::vector<sysctl_setting> settings;
    settings.push_back(plain("net/ipv4/ip_forward", "1"));
    // That switches it on for every link; what configures a single one may switch it off there.
    for (const auto* bridge : {&devices.cluster_bridge, &devices.upstream_bridge}) {
        const sysctl_setting setting{interface_key("ipv4", *bridge, "forwarding"), {}, "net/ipv4/ip_forward", "1", "1"};
        if (!bridge->empty() && std::ranges::find(settings, setting) == settings.end()) {
            settings.push_back(setting);
        }
    }
    // Routes learnt from router advertisements survive IPv6 forwarding only with accept_ra = 2.
    const auto accept_ra = interface_key("ipv6", devices.upstream_bridge, "accept_ra");
    settings.push_back({accept_ra, {}, accept_ra, "1", "2"});
    settings.push_back(plain("net/ipv6/conf/all/forwarding", "1"));
    for (const auto* scope : {"all", "default"}) {
        settings.push_back(plain(interface_key("ipv4", scope, "send_redirects"), "1"));
    }
    for (const auto* family : {"ipv4", "ipv6"}) {
        for (const auto* scope : {"all", "default"}) {
            settings.push_back(plain(interface_key(family, scope, "accept_source_route"), "1"));
        }
    }
    // The kernel uses the larger of `all` and the interface: where `all` is 1, only 2 (loose) loosens it.
    for (const auto* interface :
         {&devices.cluster_device, &devices.cluster_bridge, &devices.upstream_device, &devices.upstream_bridge}) {
        sysctl_setting setting{interface_key("ipv4", *interface, "rp_filter"), "0", "net/ipv4/conf/all/rp_filter", "1",
                               "2"};
        if (!interface->empty() && std::ranges::find(settings, setting) == settings.end()) {
            settings.push_back(std::move(setting));
        }
    }
    return settings;
}

std::vector<directory_plan> directories_to_create(std::string_view dynamic_directory, std::string_view log_directory,
                                                  std::string_view pdns_user) {
    const auto nft = path_of(dynamic_directory, "nft");
    return {
        {std::string(dynamic_directory), 0755, {}},
        {path_of(dynamic_directory, "dnsmasq"), 0755, {}},
        {path_of(dynamic_directory, "pdns"), 0700, std::string(pdns_user)},
        {nft, 0755, {}},
        {path_of(nft, "networks"), 0755, {}},
        {path_of(nft, "static"), 0755, {}},
        {std::string(log_directory), 0755, {}, false},
        {path_of(log_directory, "dnsmasq"), 0755, {}, false},
        {path_of(log_directory, "pdns"), 0755, {}, false},
        {path_of(log_directory, "nft"), 0755, {}, false},
    };
}

}  // namespace pvc::policy
