#include "sim/sim_node.hpp"

#include "pvcnoded/model/schema.hpp"
#include "pvcnoded/model/schema_apply.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

namespace pvc::sim {

namespace {

// The three networks, and the databases that no simulated daemon asks.
std::string networks_text(const node_settings& s) {
    const auto network = [](std::string_view name, std::string_view domain, const std::string& floating) {
        const auto address = parse_host_address(floating);
        const auto subnet = ip::network_v4(address->address.to_v4(), static_cast<std::uint16_t>(address->prefix));
        return fmt::format("      {}:\n        domain: {}\n        network: {}\n        floating_ip: {}\n", name,
                           domain, subnet.canonical().to_string(), floating);
    };
    std::string text = "    networks:\n" + network("upstream", "None", s.upstream_floating_ip) +
                       network("cluster", s.cluster_domain, s.cluster_floating_ip) +
                       network("storage", "None", s.storage_floating_ip) + "  coordinator:\n";
    for (const auto* what : {"dns", "metadata"}) {
        text += fmt::format(
            "    {}:\n      database:\n        host: localhost\n        port: 5432\n        name: pvc{}\n"
            "        user: pvc{}\n        pass: Passw0rd\n",
            what, what, what);
    }
    return text;
}

// The address of the storage network is the caller's.
std::string devices_text(const node_settings& s) {
    const auto called = [&](const std::string& which) { return s.has_other_names ? other_name_of(which) : which; };
    const auto device = [&](std::string_view name, const std::string& which) {
        return fmt::format("        {}:\n          device: {}\n          mtu: 1500\n", name, called(which));
    };
    std::string sriov = s.sriov.empty() ? "" : "        sriov_enable: True\n        sriov_device:\n";
    for (const auto& one : s.sriov) {
        sriov += "          - phy: " + one.phy + "\n";
        sriov += one.vfcount ? fmt::format("            vfcount: {}\n", *one.vfcount) : "";
        sriov += one.mtu ? fmt::format("            mtu: {}\n", *one.mtu) : "";
    }
    return sriov + "        bridge_device: " + called(s.bridge_device) + "\n" + device("upstream", s.upstream_device) +
           "          address: None\n" + device("cluster", s.cluster_device) + "          address: by-id\n" +
           device("storage", s.storage_device);
}

}  // namespace

std::string configuration_text(const node_settings& s) {
    std::string coordinators;
    for (const auto& one : s.coordinators) {
        coordinators += "      - " + one + "\n";
    }
    if (!s.chroot.empty()) {
        coordinators += "      - " + s.chroot + "\n";
    }
    const auto word = [](bool value) { return value ? "True" : "False"; };
    std::string rest;
    if (s.overcommit != 100) {
        rest += fmt::format("      fencing:\n        overcommit: {}\n", s.overcommit);
    }
    rest += s.limits.empty() ? "" : "      hypervisor:\n";
    for (const auto& [name, value] : s.limits) {
        rest += fmt::format("        {}: {}\n", name, value);
    }
    if (!s.control_group.empty()) {
        rest += fmt::format("      control:\n        group: {}\n", s.control_group);
    }
    if (s.metrics_port) {
        rest += fmt::format("      metrics:\n        port: {}\n", *s.metrics_port);
    }
    const std::string networks = s.networking ? networks_text(s)
                                              : "    networks:\n      cluster:\n        domain: " + s.cluster_domain +
                                                    "\n      storage:\n"
                                                    "        domain: None\n        network: 10.254.0.0/24\n";
    const std::string devices = s.networking ? devices_text(s) : "";
    return fmt::format(
        "pvc:\n  node: {}\n  debug: {}\n"
        "  functions:\n    enable_hypervisor: {}\n    enable_networking: {}\n    enable_storage: {}\n"
        "    enable_api: {}\n"
        "  cluster:\n    coordinators:\n{}"
        "{}"
        "  system:\n"
        "    intervals:\n      keepalive_interval: {}\n      fence_intervals: {}\n      suicide_intervals: {}\n"
        "      vm_shutdown_timeout: {}\n"
        "    fencing:\n      actions:\n        successful_fence: {}\n        failed_fence: {}\n"
        "      ipmi:\n        host: {}-lom\n        user: admin\n        pass: Passw0rd\n"
        "    migration:\n      target_selector: mem\n"
        "    configuration:\n"
        "      directories:\n        dynamic_directory: /run/pvc\n        log_directory: /var/log/pvc\n"
        "        console_log_directory: /var/log/libvirt\n"
        "      logging:\n        file_logging: {}\n        stdout_logging: {}\n        zookeeper_logging: {}\n"
        "        log_colours: {}\n        log_dates: {}\n        log_keepalives: {}\n"
        "        log_keepalive_cluster_details: {}\n        log_keepalive_plugin_details: False\n"
        "        log_keepalive_storage_details: {}\n"
        "        console_log_lines: {}\n        node_log_lines: {}\n"
        "      networking:\n{}          address: {}\n{}",
        s.name, word(s.debug), word(s.hypervisor), word(s.networking), word(s.storage), word(s.api), coordinators,
        networks, s.keepalive_interval, s.fence_intervals, s.suicide_intervals, s.vm_shutdown_timeout,
        s.recovers ? "migrate" : "None", s.recovers_after_failure ? "migrate" : "None", s.name, word(s.file_logging),
        word(s.stdout_logging), word(s.zookeeper_logging), word(s.log_colours), word(s.log_dates),
        word(s.log_keepalives), word(s.cluster_details), word(s.storage_details), s.console_log_lines, s.node_log_lines,
        devices.empty() ? "        storage:\n" : devices, s.storage_address, rest);
}

std::string other_name_of(const std::string& device) {
    return "enp0s" + device.substr(device.find_first_of("0123456789"));
}

std::vector<machine_device> devices_of(const node_settings& s) {
    std::vector<machine_device> all;
    const auto add = [&](const std::string& name, const std::string& bridge) {
        if (std::ranges::find(all, name, &machine_device::name) == all.end()) {
            all.push_back({.name = name,
                           .bridge = s.has_ready_bridges ? bridge : "",
                           .alt_name = s.has_other_names ? other_name_of(name) : ""});
        }
    };
    add(s.cluster_device, "brcluster");
    add(s.storage_device, "brstorage");
    add(s.upstream_device, "brupstream");
    add(s.bridge_device, "");
    for (const auto& one : s.sriov) {
        add(one.phy, "");
    }
    return all;
}

void initialise(memory_ensemble& ensemble, int version) {
    const auto table = *model::schema::of(version);
    for (const auto& key : model::missing_keys(table, model::key_group::base, "/", {})) {
        ensemble.put(key.path, key.value);
    }
    ensemble.put("/schema/version", std::to_string(version));
}

std::unique_ptr<zookeeper::client> machine_connector::open(zookeeper::connection_options options) {
    return now_->open(std::move(options));
}

void machine_connector::renew() {
    const memory_link& before = now_->link();
    auto fresh = std::make_unique<memory_connector>(ensemble_, clock_);
    memory_link& link = fresh->link();
    link.number = before.number;
    link.outcomes = before.outcomes;
    link.states = before.states;
    link.latency = before.latency;
    link.answer_delay = before.answer_delay;
    link.write_answer_delay = before.write_answer_delay;
    link.watch_delay = before.watch_delay;
    link.lag = before.lag;
    link.at_loss = before.at_loss;
    if (before.is_cut()) {
        link.cut();
    }
    if (before.is_silent()) {
        link.silence();
    }
    now_ = std::move(fresh);
}

sim_node::sim_node(sim_loop& loop, memory_ensemble& ensemble, node_settings wanted, sim_hardware* hardware)
    : settings(std::move(wanted)),
      loop_(loop),
      hardware_(hardware),
      clock(loop.clock()),
      connector(ensemble, clock),
      pool(clock),
      services(clock),
      host(clock),
      programs(clock),
      boards(clock),
      consoles(clock),
      kernel(devices_of(settings), settings.name),
      network(kernel, clock),
      addresses(kernel, clock),
      traffic(kernel, clock),
      functions(kernel, clock),
      filter(filter_table, clock),
      notifier(clock),
      standard_output(std::make_shared<sim_log_output>()),
      standard_error(std::make_shared<sim_log_output>()),
      log_file(std::make_shared<sim_log_output>()),
      tag_(loop.context().new_tag()) {
    loop_.add_clock(clock);
    host.machine.cpus = 16;
    host.machine.kernel_release = "5.10.0-26-amd64";
    host.machine.operating_system = "GNU/Linux";
    host.machine.machine = "x86_64";
    for (const auto& one : settings.sriov) {
        functions.add_card(one.phy);
    }
    boards.add([](const async::command& what) {
        const auto& words = what.arguments;
        if (words.size() == 3 && words.front() == "getent") {
            return std::optional(sim_program{.output = words.back() + "  STREAM " + words.back() + '\n'});
        }
        if (!words.empty() && words.front() == "ipmitool" && words.back() == "guid") {
            return std::optional(sim_program{.how = async::exited{1}, .error_output = "Get GUID command failed\n"});
        }
        const bool is_question = !words.empty() && words.front() == "ipmitool" && words.back() == "status";
        return is_question ? std::optional(sim_program{.output = "Chassis Power is on\n"}) : std::nullopt;
    });
}

sim_node::~sim_node() {
    kill();
    loop_.remove_clock(clock);
}

void sim_node::kill() {
    resume();
    if (part_ && exit_status) {
        part_->end();
    }
    part_.reset();
    if (daemon_) {
        connector.link().power_off();
        pool.cut();
        host.cut = services.cut = notifier.cut = consoles.cut = network.cut = addresses.cut = traffic.cut =
            functions.cut = filter.cut = true;
        network.drop_calls();
        addresses.drop_calls();
        traffic.drop_calls();
        functions.drop_calls();
        filter.drop_calls();
        if (hypervisor) {
            hypervisor->cut();
            ceph->cut();
        }
        runtime_->cut();
        const auto run_ready = [this] { loop_.context().run_ready_of(tag_); };
        run_ready();
        runtime_->abandon_tasks(run_ready);
        daemon_.reset();
        platform_.reset();
        runtime_.reset();
        hypervisor.reset();
        ceph.reset();
        connector.renew();
        pool.renew();
        host.cut = services.cut = notifier.cut = consoles.cut = network.cut = addresses.cut = traffic.cut =
            functions.cut = filter.cut = false;
    }
    exit_status.reset();
}

void sim_node::pause() {
    if (!is_paused_ && daemon_) {
        is_paused_ = true;
        ++pauses_;
        connector.link().pause();
        clock.stop_timers(true);
        loop_.context().hold(tag_);
        if (hypervisor) {
            hypervisor->pause();
        }
    }
}

void sim_node::resume() {
    if (std::exchange(is_paused_, false)) {
        clock.wake_up();
        loop_.context().release(tag_);
        clock.stop_timers(false);
        connector.link().resume();
        if (hypervisor) {
            hypervisor->resume();
        }
    }
}

void sim_node::lose_power() {
    kill();
    host.lose_power();
    services.lose_power();
    log_file->lose_power();
    kernel.lose_power();
    functions.lose_power();
    filter_table.lose_power();
    if (hardware_ != nullptr) {
        guests().lose_power();
    }
}

node::process sim_node::process() {
    return {.load_configuration =
                [this] {
                    ++configuration_reads;
                    return load_configuration();
                },
            .complain = [this](const std::string& line) { complaints.push_back(line); },
            .open_log_file = [this](const std::string&) { return log_file; },
            .standard_output = standard_output,
            .standard_error = standard_error,
            .standard_output_is_journal = settings.journal,
            .loop_turns = [this] { return loop_turns ? loop_turns() : loop_.context().steps(); },
            .give_memory_back = [this] { ++memory_given_back; },
            .schema_limit = settings.schema_limit,
            .implementation = "pvcnoded 0, build simulated"};
}

void sim_node::start() {
    kill();
    ++lives_;
    runtime_.emplace(loop_.context().get_executor(tag_), clock);
    ready_before_ = notifier.readies();
    if (hardware_ != nullptr) {
        if (settings.networking) {
            guests().has_bridge = [this](const std::string& bridge) { return kernel.has_device(bridge); };
        }
        if (!guests().is_powered()) {
            guests().power_on();
        }
        hypervisor.emplace(hardware_->centre, settings.name, clock);
        ceph.emplace(*hardware_, settings.name, clock);
    }
    platform_.emplace(
        core::platform{.clock = clock,
                       .pool = pool,
                       .zookeeper = connector,
                       .services = services,
                       .host = host,
                       .notifier = notifier,
                       .random = random_source(seed + static_cast<std::uint64_t>(lives_ - 1)).split(settings.name)});
    node::subject_ports outside;
    if (hypervisor) {
        const bool is_direct = asks_store && !settings.storage;
        storage::rbd_locks& locks = is_direct ? static_cast<storage::rbd_locks&>(ceph->rbd) : ceph->client;
        outside.domains.emplace(domains::domain_ports{*hypervisor, locks, consoles});
        outside.ceph.emplace(ceph::ceph_ports{ceph->client, "pvcnoded-ceph", ceph->processes});
    }
    outside.fencing.emplace(fencing::fence_ports{board});
    if (settings.networking) {
        outside.networks.emplace(networks::network_ports{network, addresses, traffic, functions, filter, programs});
        outside.role.emplace(role::role_ports{programs});
    }
    node::assembly assembly = node::all_subjects(outside);
    if (plug_in) {
        plug_in(assembly);
    }
    daemon_.emplace(*platform_, process(), std::move(assembly));
    async::start_root(
        *runtime_, settings.name, [this]() -> async::awaitable<void> { exit_status = co_await daemon_->run(); },
        [this](const std::exception_ptr& error) {
            if (error) {
                complaints.push_back("uncaught: " + async::exception_text(error));
                exit_status = -1;
            }
        });
    if (beside) {
        part_ = beside();
    }
}

void sim_node::stop() {
    if (!is_running()) {
        return;
    }
    terminate();
    const time_point limit = loop_.clock().now() + 120s;
    loop_.run_until([&] { return exit_status.has_value() || loop_.clock().now() > limit; });
}

bool sim_node::run_until_ready(duration limit) {
    const time_point until = loop_.clock().now() + limit;
    loop_.run_until([&] { return is_ready() || exit_status || loop_.clock().now() > until; });
    return is_ready();
}

std::string sim_node::role_addresses() const {
    const auto cluster = *parse_host_address(settings.cluster_floating_ip);
    const auto digits = settings.name.find_last_not_of("0123456789") + 1;
    const auto number = static_cast<std::uint32_t>(std::strtoul(settings.name.c_str() + digits, nullptr, 10));
    const auto subnet = ip::network_v4(cluster.address.to_v4(), static_cast<std::uint16_t>(cluster.prefix)).network();
    const host_address own{ip::address_v4(subnet.to_uint() + number), cluster.prefix};
    std::string all;
    const std::string text = kernel.text();
    for (std::string_view rest = text; !rest.empty();) {
        const auto entry = rest.substr(0, rest.find(", "));
        rest.remove_prefix(std::min(rest.size(), entry.size() + 2));
        if (!entry.starts_with(own.text() + " ") && !entry.starts_with(settings.storage_address + " ")) {
            all.append(all.empty() ? "" : ", ").append(entry);
        }
    }
    return all;
}

std::size_t sim_node::times_logged(std::string_view text) const {
    std::size_t count = 0;
    const std::string all = log();
    for (auto at = all.find(text); at != std::string::npos; at = all.find(text, at + 1)) {
        ++count;
    }
    return count;
}

const config::loaded& sim_node::load_configuration() {
    std::string text = configuration ? *configuration : configuration_text(settings);
    if (!loaded_ || text != loaded_text_) {
        loaded_text_ = std::move(text);
        loaded_ = config::load_text(loaded_text_, "/etc/pvc/pvcnoded.yaml", settings.name);
    }
    return *loaded_;
}

}  // namespace pvc::sim
