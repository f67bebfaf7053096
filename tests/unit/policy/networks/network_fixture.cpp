// tidy-allow-file(unit-folder): what tests use and no test itself: tests/CMakeLists.txt names it
#include "network_fixture.hpp"

#include "pvcnoded/config/load.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace pvc::policy {

namespace {

std::string yaml_of(const network_words& words) {
    auto text = fmt::format(R"(pvc:
  functions: {{enable_hypervisor: False, enable_networking: {}, enable_storage: False}}
  cluster:
    coordinators: [pvchv1, pvchv2, pvchv3]
    networks:
)",
                            words.is_networking ? "True" : "False");
    const auto add_network = [&](const std::string& name, const std::string& prefix, const std::string& gateway) {
        text += fmt::format("      {}: {{domain: x.local, network: {}.0/24, floating_ip: {}.254/24, gateway: {}}}\n",
                            name, prefix, prefix, gateway);
    };
    add_network("cluster", "10.0.0", "None");
    add_network("storage", words.storage_network, "None");
    add_network("upstream", "10.0.2", words.gateway);
    text += R"(  coordinator:
    dns: {database: {host: h, port: 5432, name: n, user: u, pass: p}}
    metadata: {database: {host: h, port: 5432, name: n, user: u, pass: p}}
  system:
    configuration:
      directories: {dynamic_directory: /run/pvc, log_directory: /var/log/pvc, console_log_directory: /var/log/libvirt}
      networking:
)";
    text += fmt::format("        bridge_device: {}\n        bridge_mtu: {}\n", words.bridge_device, words.bridge_mtu);
    const auto add_role = [&](const std::string& name, const std::string& device, int mtu, const std::string& address) {
        text += fmt::format("        {}: {{device: {}, mtu: {}, address: {}}}\n", name, device, mtu, address);
    };
    add_role("cluster", words.cluster_device, words.cluster_mtu, "by-id");
    add_role("storage", words.storage_device, words.storage_mtu, "by-id");
    add_role("upstream", words.upstream_device, words.upstream_mtu, words.upstream_address);
    return text;
}

}  // namespace

config::node_config config_of(const network_words& words) {
    auto loaded = config::load_text(yaml_of(words), "f", words.host);
    EXPECT_TRUE(loaded.config) << refusal_of(words);
    return loaded.config.value_or(config::node_config());
}

std::string refusal_of(const network_words& words) {
    std::string all;
    for (const auto& one : config::load_text(yaml_of(words), "f", words.host).diagnostics) {
        if (one.level == config::severity::fatal) {
            all += one.text + "\n";
        }
    }
    return all;
}

model::network_link link_named(const std::string& name, const std::string& kind, int mtu) {
    model::network_link link;
    link.name = name;
    link.kind = kind;
    link.mtu = mtu;
    return link;
}

void carry_out(toy_kernel& kernel, const host_plan& plan) {
    for (const auto& unit : plan.units) {
        for (const auto& step : unit.steps) {
            EXPECT_EQ(kernel.apply(step), "") << to_text(step);
        }
    }
}

void carry_out(toy_kernel& kernel, const network_plan& plan) {
    for (const auto& step : plan.steps) {
        EXPECT_EQ(kernel.apply(step), "") << to_text(step);
    }
}

std::string steps_of(const host_plan& plan) {
    std::string all;
    for (const auto& unit : plan.units) {
        for (const auto& step : unit.steps) {
            all += to_text(step) + "\n";
        }
    }
    return all;
}

std::string steps_of(const network_plan& plan) {
    std::string all;
    for (const auto& step : plan.steps) {
        all += to_text(step) + "\n";
    }
    return all;
}

std::string remarks_of(const std::vector<network_remark>& remarks) {
    std::string all;
    for (const auto& one : remarks) {
        EXPECT_EQ(one.text.find('\n'), std::string::npos);
        all += fmt::format("{} {}: {}\n", one.is_error ? "error" : "warning", to_text(one.which), one.text);
    }
    return all;
}

}  // namespace pvc::policy
