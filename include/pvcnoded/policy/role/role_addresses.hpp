// The addresses that only the primary has: which they are, on which device, in which phase of a hand-over; and what is
// to be done where they are not as they should be. Specification: networking.md 6; config.md 6.6;
// node-lifecycle.md 7.3.
#pragma once

#include "pvcnoded/base/address.hpp"
#include "pvcnoded/config/node_config.hpp"
#include "pvcnoded/policy/role/role_phases.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace pvc::policy {

struct placed_address {
    std::string device;
    host_address address;

    [[nodiscard]] std::string text() const;  // "10.0.0.254/24 on brcluster"
    friend bool operator==(const placed_address&, const placed_address&) = default;
};

// What is to become of one.
enum class address_wish : std::uint8_t {
    as_found,  // whatever is there stays: the daemon before this one may have left it, and nobody has decided yet
    wanted,
    unwanted,
};

// One user of an address. Several may use the same one.
struct role_address {
    std::string_view what;  // "upstream floating address"
    role_phase taken_up;
    placed_address where;
    address_wish wish = address_wish::as_found;
};

// Those of this configuration, in the order in which a takeover adds them. None without the networking function.
[[nodiscard]] std::vector<role_address> role_addresses(const config::node_config& config);

// What has to be done, in this order: first everything to add.
struct address_work {
    std::vector<placed_address> add;
    std::vector<placed_address> remove;

    [[nodiscard]] bool is_done() const { return add.empty() && remove.empty(); }
    friend bool operator==(const address_work&, const address_work&) = default;
};

// `present`: what is on the devices of `all`, other addresses included, which are nobody's business here. An address
// that one user wants is there once on a device, with the prefix length of the first who wants it, and without any
// other; one that a user leaves as it was found, and nobody wants, is left alone; the others go, whatever their prefix
// length (who left them may have used another).
[[nodiscard]] address_work work_on(std::span<const role_address> all, std::span<const placed_address> present);

}  // namespace pvc::policy
