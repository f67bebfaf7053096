#include "pvcnoded/policy/startup_plan.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace pvc::policy {
namespace {

using list = std::vector<std::string>;
constexpr node_functions everything{true, true, true, true, false};

TEST(startup_plan, phases_are_numbered_in_order) {
    const auto phases = startup_phases();
    ASSERT_EQ(phases.size(), 14U);
    for (std::size_t i = 0; i < phases.size(); ++i) {
        EXPECT_EQ(phases[i].number, static_cast<int>(i));
        EXPECT_EQ(info_of(phases[i].id).number, phases[i].number);
        EXPECT_FALSE(phases[i].name.empty());
    }
    EXPECT_EQ(info_of(phase::configuration).on_failure, failure_policy::exit_configuration);
    EXPECT_EQ(info_of(phase::zookeeper).on_failure, failure_policy::start_again) << "AC07";
    EXPECT_EQ(info_of(phase::hypervisor).on_failure, failure_policy::terminate) << "AC09";
}

TEST(startup_plan, ac05_services_of_a_coordinator) {
    EXPECT_EQ(services_to_start("hv1", model::daemon_mode::coordinator, everything),
              (list{"zookeeper.service", "libvirtd.service", "patroni.service", "frr.service", "ceph-mon@hv1.service",
                    "ceph-mgr@hv1.service", "keydb-server.service", "pvcworkerd.service"}));
}

TEST(startup_plan, ac06_services_of_a_hypervisor) {
    EXPECT_EQ(services_to_start("hv4", model::daemon_mode::hypervisor, everything),
              (list{"libvirtd.service", "pvcworkerd.service"}));
}

TEST(startup_plan, services_follow_the_functions) {
    EXPECT_EQ(services_to_start("hv1", model::daemon_mode::coordinator, {}), (list{"zookeeper.service"}));
    EXPECT_EQ(services_to_start("hv4", model::daemon_mode::hypervisor, {}), list{});
    auto functions = everything;
    functions.external_health = true;
    EXPECT_EQ(services_to_start("hv1", model::daemon_mode::coordinator, functions).back(), "pvchealthd.service");
}

TEST(startup_plan, sysctls_in_order) {
    const auto settings = sysctl_settings({"bond0.10", "brcluster", "bond0.20", "brupstream"});
    list keys;
    for (const auto& setting : settings) {
        keys.push_back(setting.key);
    }
    EXPECT_EQ(keys,
              (list{"net/ipv4/ip_forward", "net/ipv4/conf/brcluster/forwarding", "net/ipv4/conf/brupstream/forwarding",
                    "net/ipv6/conf/brupstream/accept_ra", "net/ipv6/conf/all/forwarding",
                    "net/ipv4/conf/all/send_redirects", "net/ipv4/conf/default/send_redirects",
                    "net/ipv4/conf/all/accept_source_route", "net/ipv4/conf/default/accept_source_route",
                    "net/ipv6/conf/all/accept_source_route", "net/ipv6/conf/default/accept_source_route",
                    "net/ipv4/conf/bond0.10/rp_filter", "net/ipv4/conf/brcluster/rp_filter",
                    "net/ipv4/conf/bond0.20/rp_filter", "net/ipv4/conf/brupstream/rp_filter"}));
    EXPECT_EQ(settings.back(),
              (sysctl_setting{"net/ipv4/conf/brupstream/rp_filter", "0", "net/ipv4/conf/all/rp_filter", "1", "2"}));
    EXPECT_TRUE(settings[3].value.empty()) << "accept_ra is changed from 1 to 2 only";
}

TEST(startup_plan, sysctls_of_a_collapsed_network_are_not_repeated) {
    const auto settings = sysctl_settings({"bond0", "brcluster", "bond0", "brcluster"});
    EXPECT_EQ(std::ranges::count(settings, "0", &sysctl_setting::value), 2);
}

TEST(startup_plan, cfg33_directories) {
    const auto directories = directories_to_create("/run/pvc", "/var/log/pvc");
    const std::vector<directory_plan> expected = {
        {"/run/pvc", 0755, {}},
        {"/run/pvc/dnsmasq", 0755, {}},
        {"/run/pvc/pdns", 0700, "pdns"},
        {"/run/pvc/nft", 0755, {}},
        {"/run/pvc/nft/networks", 0755, {}},
        {"/run/pvc/nft/static", 0755, {}},
        {"/var/log/pvc", 0755, {}, false},
        {"/var/log/pvc/dnsmasq", 0755, {}, false},
        {"/var/log/pvc/pdns", 0755, {}, false},
        {"/var/log/pvc/nft", 0755, {}, false},
    };
    EXPECT_EQ(directories, expected);
}

}  // namespace
}  // namespace pvc::policy
