// The figures of a guest from the list of names and values that a bulk statistics call gives. Pure and total: unknown
// names, wrong types, gaps and absurd indices are passed over, and memory is bounded by the list.
// Specification: vm-domains.md 11.2.
#pragma once

#include "pvcnoded/hypervisor/types.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <variant>

namespace pvc::hypervisor {

struct parameter {
    std::string name;  // "balloon.current", "net.0.rx.bytes"
    std::variant<std::uint64_t, std::int64_t, std::string> value;
};

// `of` is what the call says beside the list; its status is replaced if the list has a state.
[[nodiscard]] guest_figures figures_from_parameters(guest of, std::span<const parameter> list);

}  // namespace pvc::hypervisor
