// What is said of a client network beside what is wrong with it: what becomes of its gateways and its rules. Pure.
// Specification: networking.md 5.1, 5.3; README ruling 79.
#pragma once

#include "pvcnoded/model/client_network.hpp"
#include "pvcnoded/model/network_state.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace pvc::policy {

// Of a remark about one key of a managed network: ": it has no IPv4 gateway" where that hangs on the key; else "".
[[nodiscard]] std::string lost_by_key(std::uint32_t vni, std::string_view remark);

// Of one whose keys cannot be used: ": it stays as it was, with its gateway 10.1.1.1/24 and its rules". `stays`: as
// what it is there; null: it is not.
[[nodiscard]] std::string words_of_unusable(std::uint32_t vni, const model::client_network* stays);

// Of one that is refused: ": its gateway 10.1.1.1/24 is not set on this node, and machines in vmbr7 are filtered, …".
// `served`: as what it goes on; null: it has nothing of the primary.
[[nodiscard]] std::string words_of_refusal(const model::client_network& wanted, const model::client_network* served);

// Addresses that somebody gave to the bridge of a bridged network, on which nobody of the cluster has one: a line each.
[[nodiscard]] std::vector<std::string> strange_addresses(const model::client_network& network,
                                                         const model::network_state& seen);

}  // namespace pvc::policy
