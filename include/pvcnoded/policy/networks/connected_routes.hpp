// Which routes the kernel makes by itself for the addresses of a link: by them it reaches what each of them has in
// common with its neighbours. All others to such a network are of a program (NetworkManager, systemd-networkd), which
// made them as the kernel would, and nobody makes them again. Pure. Specification: networking.md 3.1.
#pragma once

#include "pvcnoded/model/network_state.hpp"

#include <span>
#include <vector>

namespace pvc::policy {

// What the kernel takes for the network of an address: that of its far end.
[[nodiscard]] host_address reach_of(const model::link_address& one);
[[nodiscard]] bool is_of_one_network(const model::link_address& a, const model::link_address& b);

// Of IPv4, of the addresses of a link in the order of the kernel: the first of a network is its primary one, and the
// others are secondary.
[[nodiscard]] std::vector<model::link_address> primary_ones(std::span<const model::link_address> all);

// For the addresses of a link in the order of the kernel. None for a secondary one, also where its primary one has none
// either (noprefixroute).
[[nodiscard]] std::vector<model::connected_route> routes_of_kernel(std::span<const model::link_address> all);

// The kernel has made it for one of these, whatever link it is on.
[[nodiscard]] bool is_of_kernel(const model::connected_route& route, std::span<const model::link_address> all);

// The kernel made one for this address of the link, and there is none: somebody took it away, or put another one in its
// place. Only where nothing else may be why: the link is up, the address has no far end and stays.
[[nodiscard]] bool has_lost_route(const model::network_state& seen, const model::network_link& link,
                                  const model::link_address& one);

// IPv6: the kernel leaves it on the link although the last of these goes that it is for: one beside has noprefixroute,
// a limited time or another metric.
[[nodiscard]] bool outlives(const model::connected_route& route, std::span<const model::link_address> going);

}  // namespace pvc::policy
