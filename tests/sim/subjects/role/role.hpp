// What the files of this subject have in common.
#pragma once

#include "sim/world/cluster.hpp"
#include "sim/world/registry.hpp"

#include <array>
#include <string>
#include <string_view>

namespace pvc::sim {

[[nodiscard]] bool has_networking(const cluster& world);

// The addresses of the primary (addresses.cpp).
void add_addresses(registry& to);
// Patroni, and what its program says (patroni.cpp).
void add_patroni(registry& to);
// And who uses them (address_users.cpp).
void add_address_users(registry& to);

struct placed_address {
    std::string_view device;
    std::string address;
};

// As the settings of a member place them, each network on a bridge of its own.
[[nodiscard]] std::array<placed_address, 4> addresses_of_the_primary(const node_settings& of);

}  // namespace pvc::sim
