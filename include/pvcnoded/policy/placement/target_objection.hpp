// Why a node is out of the question for a virtual machine: what the choice of a target (target_selection.hpp) goes by,
// and what is told to whoever asks why nobody takes it.
#pragma once

#include "pvcnoded/policy/placement/target_selection.hpp"

#include <cstdint>
#include <string_view>

namespace pvc::policy {

// In the order in which they are looked for.
enum class target_objection : std::uint8_t {
    none,
    is_current,   // it is there now
    not_allowed,  // its node_limit names others
    not_running,  // the daemon
    not_ready,    // it runs, and is flushed or about to be
    no_figure,    // what the selector compares cannot be read, or is none
};
// What is to be said of the node: "is not in state run".
[[nodiscard]] std::string_view to_text(target_objection why);
[[nodiscard]] target_objection objection_to(const target_request& request, const node_offer& node);

}  // namespace pvc::policy
