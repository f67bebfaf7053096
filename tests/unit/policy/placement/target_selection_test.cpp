// Target selection: node-lifecycle.md 9; cases AC100-AC106 where no node is needed.
#include "pvcnoded/policy/placement/target_selection.hpp"

#include <gtest/gtest.h>

#include <functional>

namespace pvc::policy {
namespace {

using model::daemon_state;
using model::domain_state;

node_offer offer(const std::string& name, const std::function<void(node_offer&)>& change = {}) {
    node_offer node;
    node.name = name;
    node.daemon = daemon_state::run;
    node.domain = domain_state::ready;
    node.memfree = node.memused = node.memprov = "1000";
    node.cpuload = "1.0";
    node.vcpualloc = node.domainscount = "1";
    if (change) {
        change(node);
    }
    return node;
}

node_offer with_memory(const std::string& name, const std::string& free) {
    return offer(name, [&](node_offer& node) { node.memfree = free; });
}

node_offer with_provisioning(const std::string& name, const std::string& used, const std::string& free,
                             const std::string& provisioned) {
    return offer(name, [&](node_offer& node) {
        node.memused = used;
        node.memfree = free;
        node.memprov = provisioned;
    });
}

std::string chosen(target_selector selector, std::vector<node_offer> nodes, std::vector<std::string> limit = {},
                   const std::string& current = "hv1") {
    const auto choice = select_target({selector, std::move(limit), current}, std::move(nodes));
    return choice ? choice->node : "nobody";
}

TEST(target_selection, ac100_most_free_memory_of_those_that_are_ready) {
    auto busy = with_memory("hv3", "8000");
    busy.domain = domain_state::flushed;
    EXPECT_EQ(chosen(target_selector::mem, {with_memory("hv2", "4000"), busy, with_memory("hv4", "6000")}), "hv4");
}

TEST(target_selection, a_node_without_free_memory_is_never_chosen) {
    EXPECT_EQ(chosen(target_selector::mem, {with_memory("hv2", "0"), with_memory("hv3", "-5")}), "nobody");
}

TEST(target_selection, ac101_memprov_takes_the_greatest_even_below_zero) {
    EXPECT_EQ(chosen(target_selector::memprov, {with_provisioning("hv2", "6000", "10000", "15000"),
                                                with_provisioning("hv4", "2000", "6000", "5000")}),
              "hv4");
    EXPECT_EQ(chosen(target_selector::memprov, {with_provisioning("hv2", "1000", "1000", "9000"),
                                                with_provisioning("hv4", "1000", "1000", "3000")}),
              "hv4");
    EXPECT_EQ(chosen(target_selector::memprov, {with_provisioning("hv2", "1000", "1000", "2000")}), "hv2");
}

TEST(target_selection, ac102_of_equals_the_first_by_name_wins) {
    const auto load = [](const std::string& name, const std::string& value) {
        return offer(name, [&](node_offer& node) { node.cpuload = value; });
    };
    EXPECT_EQ(chosen(target_selector::load, {load("hv4", "0.5"), load("hv2", "0.5")}), "hv2");
    EXPECT_EQ(chosen(target_selector::load, {load("hv2", "0.51"), load("hv4", "0.5")}), "hv4");
    EXPECT_EQ(chosen(target_selector::load, {load("hv2", "9999.0")}), "nobody");
    EXPECT_EQ(chosen(target_selector::load, {load("hv2", "nan"), load("hv3", "inf"), load("hv4", "3")}), "hv4");
}

TEST(target_selection, ac103_fewest_vcpus_and_fewest_machines) {
    const auto loaded = [](const std::string& name, const std::string& vcpus, const std::string& machines) {
        return offer(name, [&](node_offer& node) {
            node.vcpualloc = vcpus;
            node.domainscount = machines;
        });
    };
    const std::vector<node_offer> nodes{loaded("hv2", "8", "3"), loaded("hv4", "4", "9")};
    EXPECT_EQ(chosen(target_selector::vcpus, nodes), "hv4");
    EXPECT_EQ(chosen(target_selector::vms, nodes), "hv2");
    EXPECT_EQ(chosen(target_selector::vms, {loaded("hv2", "1", "9999"), loaded("hv3", "1", "9998")}), "hv3");
}

TEST(target_selection, ac104_the_limit_of_nodes) {
    auto dead = with_memory("hv3", "9000");
    dead.daemon = daemon_state::dead;
    EXPECT_EQ(chosen(target_selector::mem, {with_memory("hv2", "9999"), dead, with_memory("hv4", "1")}, {"hv3", "hv4"}),
              "hv4");
    EXPECT_EQ(chosen(target_selector::mem, {with_memory("hv2", "9999")}, {"hv3"}), "nobody");
    EXPECT_EQ(chosen(target_selector::mem, {with_memory("hv2", "9999")}, {}), "hv2");
}

TEST(target_selection, ac105_whose_selector_counts) {
    struct row {
        std::string_view machine, cluster, configured;
        target_selector wanted;
    };
    for (const auto& one :
         {row{"", "vms", "mem", target_selector::vms}, row{"none", "vms", "mem", target_selector::vms},
          row{"None", "vms", "mem", target_selector::vms}, row{"load", "vms", "mem", target_selector::load},
          row{" LOAD ", "vms", "mem", target_selector::load}, row{"fastest", "vms", "mem", target_selector::vms},
          row{"none", "", "vcpus", target_selector::vcpus}, row{"none", "garbage", "memprov", target_selector::memprov},
          row{"", "", "", target_selector::mem}}) {
        EXPECT_EQ(effective_selector(one.machine, one.cluster, one.configured), one.wanted)
            << one.machine << " / " << one.cluster << " / " << one.configured;
    }
}

TEST(target_selection, ac106_a_figure_that_cannot_be_read_takes_its_node_out) {
    for (const auto* const text : {"", "None", "12 MiB", "0x40", "99999999999999999999", "9223372036854775807"}) {
        EXPECT_EQ(chosen(target_selector::mem, {with_memory("hv2", text), with_memory("hv3", "1")}), "hv3") << text;
        EXPECT_EQ(chosen(target_selector::memprov,
                         {with_provisioning("hv2", text, "1", "1"), with_provisioning("hv3", "1", "1", "9")}),
                  "hv3")
            << text;
    }
    EXPECT_EQ(chosen(target_selector::mem, {with_memory("hv2", "")}), "nobody");
    EXPECT_EQ(chosen(target_selector::mem, {with_memory("hv2", " 7 ")}), "hv2");
}

TEST(target_selection, only_a_node_that_runs_and_is_ready_takes_machines) {
    for (const auto daemon : {daemon_state::init, daemon_state::run, daemon_state::shutdown, daemon_state::stop,
                              daemon_state::dead, daemon_state::fenced}) {
        for (const auto domain : {domain_state::unknown, domain_state::ready, domain_state::flush,
                                  domain_state::flushed, domain_state::unflush, domain_state::fence_flush}) {
            auto node = offer("hv2");
            node.daemon = daemon;
            node.domain = domain;
            const bool is_fit = daemon == daemon_state::run && domain == domain_state::ready;
            EXPECT_EQ(takes_domains(node), is_fit);
            EXPECT_EQ(chosen(target_selector::mem, {node}), is_fit ? "hv2" : "nobody");
        }
    }
}

TEST(target_selection, where_it_is_now_is_no_target) {
    EXPECT_EQ(chosen(target_selector::mem, {with_memory("hv1", "9000"), with_memory("hv2", "1")}), "hv2");
}

TEST(target_selection, the_operator_is_told_why) {
    const auto why = [](target_selector selector) {
        return select_target({selector, {}, "hv1"}, {offer("hv2")})->reason;
    };
    EXPECT_EQ(why(target_selector::mem), "most free memory (1000 MiB)");
    EXPECT_EQ(why(target_selector::memprov), "most unprovisioned memory (1000 MiB)");
    EXPECT_EQ(why(target_selector::load), "lowest load (1.0)");
    EXPECT_EQ(why(target_selector::vcpus), "fewest allocated vCPUs (1)");
    EXPECT_EQ(why(target_selector::vms), "fewest virtual machines (1)");
}

}  // namespace
}  // namespace pvc::policy
