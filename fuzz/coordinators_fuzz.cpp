// The host name (first line) and the list of servers (the other lines) inside an otherwise good configuration: what is
// accepted is something that can be connected to, and its connect string says the same when it is read again.
// Covers: src/config/coordinators.cpp src/config/identity.cpp
#include "fuzz_support.hpp"
#include "pvcnoded/base/text.hpp"
#include "pvcnoded/config/load.hpp"

#include <fmt/format.h>

using namespace pvc;
using namespace pvc::config;

static constexpr std::string_view before = R"(pvc:
  functions: {enable_hypervisor: False, enable_networking: False, enable_storage: False, enable_api: False}
  system:
    fencing:
      actions: {successful_fence: None, failed_fence: None}
      ipmi: {host: lom, user: admin, pass: secret}
    configuration:
      directories: {dynamic_directory: /run/pvc, log_directory: /var/log/pvc, console_log_directory: /var/log}
      networking:
        cluster: {device: ens4, mtu: 1500, address: 10.0.0.1/24}
        storage: {device: ens4, mtu: 1500, address: 10.1.0.1/24}
        upstream: {device: ens4, mtu: 1500, address: None}
  cluster:
    networks:
      cluster: {domain: pvc.local, network: 10.0.0.0/24, floating_ip: 10.0.0.254/24}
      storage: {domain: pvc.storage, network: 10.1.0.0/24, floating_ip: 10.1.0.254/24}
      upstream: {domain: example.net, network: 10.2.0.0/24, floating_ip: 10.2.0.254/24, gateway: 10.2.0.1}
    coordinators:
)";

static loaded load(std::string_view hostname, const std::vector<std::string_view>& servers) {
    std::string text(before);
    for (const auto server : servers) {
        text += "      - \"";
        for (const char c : server) {
            text += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
        }
        text += "\"\n";
    }
    return load_text(text, "file", hostname);
}

static void check_messages(const loaded& got) {
    for (const auto& each : got.diagnostics) {
        PVC_ASSERT(fuzz::is_one_line(each.text) && each.text.size() < 2000 && each.located().starts_with("file:"));
        PVC_ASSERT(each.text.find("; expected ") != std::string::npos);
    }
}

static void check_servers(const node_config& config) {
    PVC_ASSERT(!config.zookeeper_servers.empty() && config.zookeeper_servers.size() == config.coordinators.size());
    for (const auto& server : config.zookeeper_servers) {
        PVC_ASSERT(!server.host.empty() && server.host.size() <= 253 && server.port != 0);
        PVC_ASSERT(fuzz::is_printable_ascii(server.host) && server.host.find_first_of(" ,/[]") == std::string::npos);
    }
    const std::string_view chroot = config.zookeeper_chroot;
    PVC_ASSERT(chroot.empty() ||
               (chroot.starts_with('/') && !chroot.ends_with('/') && chroot.find("//") == std::string_view::npos));
    const std::string_view hosts = config.zookeeper_hosts;
    const auto slash = std::min(hosts.find('/'), hosts.size());
    auto items = split(hosts.substr(0, slash), ',');
    if (slash < hosts.size()) {
        items.push_back(hosts.substr(slash));
    }
    if (!chroot.empty() && std::ranges::any_of(chroot, [](char c) { return static_cast<unsigned char>(c) >= 0x80; })) {
        return;  // a character is two bytes here and would be taken for two characters
    }
    const auto again = load(config.node, items);
    PVC_ASSERT(again.config && again.config->zookeeper_hosts == hosts);
    PVC_ASSERT(again.config->zookeeper_servers.size() == config.zookeeper_servers.size());
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    auto rest = fuzz::text_of(data, std::min<std::size_t>(size, 4096));
    const auto hostname = fuzz::take_until(rest, '\n');
    const auto servers = split(rest, '\n');
    const auto got = load(hostname, servers);
    check_messages(got);
    if (got.config) {
        PVC_ASSERT(!got.config->node.empty() && hostname.starts_with(got.config->node));
        check_servers(*got.config);
    }
    return 0;
}
