// Figures where the bulk call knows states only: the library's test driver, whose processor times are always the same.
#include "contract/hypervisor/bench.hpp"
#include "contract/hypervisor/libvirt_environment.hpp"

namespace pvc::contract {
namespace {

class hypervisor_figures : public hypervisor_contract {};

TEST_P(hypervisor_figures, what_is_not_in_the_bulk_call_is_asked_for) {
    when_up([&]() -> awaitable<void> {
        std::string xml = description(guest_one, "one");
        xml.insert(xml.find("</domain>"),
                   "<devices><disk type='file'><source file='/a'/><target dev='sda'/></disk>"
                   "<disk type='file' device='cdrom'><target dev='sdb'/><readonly/></disk>"
                   "<interface type='bridge'><source bridge='vmbr100'/></interface></devices>");
        EXPECT_EQ(code_of(co_await host().create(guest_one, xml, any_time(), in(30s))), "ok");
        const auto all = co_await host().survey(in(30s));
        EXPECT_EQ(code_of(all), "ok") << (all ? "" : all.error().text);
        const auto found = std::ranges::find(*all, guest_one, [](const auto& one) { return one.of.id; });
        EXPECT_NE(found, all->end());
        if (found != all->end()) {
            EXPECT_EQ(found->vcpus, 1U);
            EXPECT_GT(found->cpu_time_ns, 0U);
            EXPECT_EQ(found->cpu_total_ns, 48772617035U);
            EXPECT_EQ(found->cpu_user_ns, 5540000000U);
            EXPECT_EQ(found->cpu_system_ns, 6460000000U);
            EXPECT_FALSE(found->vcpu_time_ns);
            EXPECT_EQ(found->blocks.size(), 1U);
            EXPECT_EQ(found->blocks.front().target, "sda");
            EXPECT_GT(found->blocks.front().read_bytes, 0U);
            EXPECT_EQ(found->interfaces.size(), 1U);
            EXPECT_GT(found->interfaces.front().received_bytes, 0U);
        }
        EXPECT_EQ(co_await destroy(guest_one), "ok");
    });
}

INSTANTIATE_TEST_SUITE_P(, hypervisor_figures,
                         ::testing::Values(hypervisor_world{
                             "in_process", [] { return std::make_unique<test_driver_environment>(); }}),
                         world_name);

}  // namespace
}  // namespace pvc::contract
