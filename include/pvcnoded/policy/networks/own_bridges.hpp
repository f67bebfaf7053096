// The bridges of client networks that this daemon, or one before it in this boot, made or adopted. A bridge that has
// lost its base (the kernel deletes VXLANs with the device below them) and has an address tells nobody whose it is:
// this record does. It lives in memory as links do: longer than a daemon, and not longer than the boot. A bridge is
// known by its number and its index, which the kernel gives to no other link. Pure. Specification:
// networking.md 5.3, 5.4, 6.
#pragma once

#include "pvcnoded/model/network_state.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace pvc::policy {

struct recorded_bridge {
    int index = 0;
    // Of a managed network, or of one that was until its last address went: what addresses it has, a primary gave it.
    bool has_gateways = false;

    friend bool operator==(const recorded_bridge&, const recorded_bridge&) = default;
};
using own_bridges = std::map<std::uint32_t, recorded_bridge>;  // by VNI

// 0: none is known.
[[nodiscard]] int index_of(const own_bridges& all, std::uint32_t vni);

// The record after a look: those of `before` that are still there, and those of `taken`, which plans took for their
// networks' own; `has_gateways` of these says whether the network is a managed one.
[[nodiscard]] own_bridges after_look(const own_bridges& before, const own_bridges& taken,
                                     const model::network_state& seen);

// The record as text, in as many files as it takes: none is longer than `limit` bytes. A line for the boot, then one a
// bridge: "1014 57 m" (VNI, index; m: has_gateways, b: not).
[[nodiscard]] std::vector<std::string> record_texts(const own_bridges& all, std::string_view boot_id,
                                                    std::size_t limit);

// Of its files, from 0 on, in the dynamic directory: "client-bridges", "client-bridges.2", …
[[nodiscard]] std::string record_name(std::size_t part);
// There are no more.
inline constexpr std::size_t record_files_max = 1000;

// Adds what one file says. One of another boot says nothing. What is returned says which line was ignored, if any was,
// and why ("line 3: expected `VNI index m|b`, got \"?\"").
[[nodiscard]] std::string add_record(own_bridges& to, std::string_view text, std::string_view boot_id);

}  // namespace pvc::policy
