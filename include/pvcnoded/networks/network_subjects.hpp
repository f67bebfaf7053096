// Networking as subjects: the links of this machine (the host's own and those of client networks), the addresses that
// only the primary has, virtual functions of network cards, and what passes over these. For nodes with the networking
// function. Specification: networking.md 1 to 6, 13; node-lifecycle.md 3.2 (S3, S4, S11, S12).
#pragma once

#include "pvcnoded/async/process.hpp"
#include "pvcnoded/core/subject.hpp"
#include "pvcnoded/netlink/addresses.hpp"
#include "pvcnoded/netlink/link_counters.hpp"
#include "pvcnoded/netlink/network_stack.hpp"
#include "pvcnoded/netlink/packet_filter.hpp"
#include "pvcnoded/netlink/virtual_functions.hpp"
#include "pvcnoded/networks/network_counts.hpp"

namespace pvc::networks {

// All outlive the subjects, and so do the counts.
struct network_ports {
    netlink::network_stack& stack;
    netlink::addresses& addresses;
    netlink::link_counters& counters;
    netlink::virtual_functions& functions;
    netlink::packet_filter& filter;
    async::process_runner& processes;
};

// Appends them; in S12 they come before the virtual machines, which need the bridges.
void add_network_subjects(core::subjects& to, core::node_context& node, network_ports outside, network_counts& counts);

}  // namespace pvc::networks
