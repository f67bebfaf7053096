#include "pvcnoded/node/assembly.hpp"

#include "pvcnoded/ceph/recovery_helper.hpp"
#include "pvcnoded/role/primary_role.hpp"
#include "pvcnoded/role/published_settings.hpp"

namespace pvc::node {

using namespace std::chrono_literals;
using policy::phase;

assembly all_subjects(subject_ports outside) {
    assembly all;
    // Made anew with each attempt; what they count goes on.
    all.make = [outside, counts = std::make_shared<domains::domain_counts>(),
                network_counts = std::make_shared<networks::network_counts>(),
                board_counts = std::make_shared<fencing::board_counts>(),
                fence_counts = std::make_shared<fencing::fence_counts>(),
                recovery_counts = std::make_shared<fencing::recovery_counts>()](core::node_context& node) {
        core::subjects made;
        const bool has_networking = node.config->functions.networking;
        if (outside.networks && has_networking) {
            networks::add_network_subjects(made, node, *outside.networks, *network_counts);
        }
        const bool has_hypervisor = node.config->functions.hypervisor;
        domains::add_domain_subjects(made, node, has_hypervisor ? outside.domains : std::nullopt, *counts);
        if (outside.ceph && node.config->functions.storage) {
            made.push_back(std::make_unique<ceph::ceph_subject>(node, *outside.ceph));
        } else if (outside.ceph && node.mode == model::daemon_mode::coordinator) {
            made.push_back(std::make_unique<ceph::recovery_helper>(node, *outside.ceph));
        }
        if (outside.fencing) {
            made.push_back(std::make_unique<fencing::ipmi_check>(node, *outside.fencing));
        }
        if (outside.fencing && node.mode == model::daemon_mode::coordinator) {
            auto boards = std::make_shared<fencing::boards>(node, outside.fencing->board, *board_counts);
            made.push_back(std::make_unique<fencing::board_probes>(node, boards));
            auto records = std::make_shared<fencing::fence_records>(node.port.host);
            made.push_back(std::make_unique<fencing::fence_archive>(node, records));
            const fencing::recovery_ports others{outside.domains ? &outside.domains->hypervisor : nullptr,
                                                 outside.ceph ? &outside.ceph->helper.for_recovery() : nullptr};
            auto recovery = std::make_shared<fencing::machine_recoveries>(others, recovery_counts);
            made.push_back(std::make_unique<fencing::fencer>(node, std::move(boards), std::move(records),
                                                             std::move(recovery), fence_counts));
            made.push_back(std::make_unique<fencing::capacity>(node, others.hypervisors));
        }
        if (outside.role && has_networking) {
            role::add_role_parts(made, node, *outside.role);
        }
        if (node.mode == model::daemon_mode::coordinator) {
            made.push_back(std::make_unique<role::published_settings>());
        }
        // The last one: it asks who has a part of the role.
        made.push_back(std::make_unique<role::primary_role>(node, core::all_that_are<core::role_part>(made)));
        return made;
    };
    all.phases = {
        {phase::services, "role"},
        {phase::services, "domains"},
        {phase::node_entry, "role"},
        {phase::hypervisor, "domains"},
    };
    if (outside.fencing) {
        all.phases.push_back({phase::node_entry, "ipmi check"});
        all.phases.push_back({phase::node_entry, "fence records"});
        all.phases.push_back({phase::node_entry, "fencing"});
    }
    if (outside.ceph) {
        all.phases.push_back({phase::services, "ceph"});
    }
    if (outside.networks) {
        // Before the wait for devices: another node may have the addresses that this one finds.
        all.phases.push_back({phase::host_networking, "addresses"});
        all.phases.push_back({phase::host_networking, "virtual functions"});
        all.phases.push_back({phase::host_networking, "networks"});
        all.phases.push_back({phase::host_networking, "network statistics"});
        all.phases.push_back({phase::sysctl, "networks"});
        all.phases.push_back({phase::dns_service_off, "networks"});
    }
    if (outside.role) {
        all.phases.push_back({phase::services, "role services"});
    }
    all.stops = {
        {"drain", 240s},
        {"domains", 15s},
        {"role", 60s},
    };
    return all;
}

}  // namespace pvc::node
