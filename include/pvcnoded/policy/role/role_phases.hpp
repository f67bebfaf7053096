// The phases of a transition of the primary role, in which two nodes walk in lockstep. Specification: node-lifecycle.md
// 7.3, 7.4.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace pvc::policy {

enum class role_phase : std::uint8_t {
    a,        // the partner is there
    b,        // its services that must not run twice have ended
    b_after,  // services that end outside the lock
    c,        // upstream address
    d,        // cluster and storage addresses
    e,        // metadata address
    f,        // gateways of client networks
    g,        // database, services
};

inline constexpr std::array role_phases{role_phase::a, role_phase::b, role_phase::b_after, role_phase::c,
                                        role_phase::d, role_phase::e, role_phase::f,       role_phase::g};

[[nodiscard]] constexpr std::string_view to_text(role_phase which) {
    constexpr std::array<std::string_view, role_phases.size()> names{"A", "B", "B'", "C", "D", "E", "F", "G"};
    return names[static_cast<std::size_t>(which)];
}

}  // namespace pvc::policy
