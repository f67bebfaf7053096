// What a flush that began now would do with one virtual machine, for whoever asks: the rules of the job
// (flush_rules.hpp), and nothing is done. Specification: node-lifecycle.md 8.1, 9.
#pragma once

#include "pvcnoded/policy/domains/flush_rules.hpp"
#include "pvcnoded/policy/placement/target_selection.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace pvc::policy {

struct flush_outlook {
    enum class end : std::uint8_t {
        moves,         // to `target`
        returns_home,  // likewise, and that is where it belongs
        shuts_down,    // no node can take it
        waits,         // what becomes of it shows later
        leaves,        // it is on its way to `target` already
        stays,         // it needs nothing
    } what = end::stays;
    std::string target;
    std::string reason;  // a line

    friend bool operator==(const flush_outlook&, const flush_outlook&) = default;
};
[[nodiscard]] std::string_view to_text(flush_outlook::end what);

// Whether a target has to be chosen for it.
[[nodiscard]] bool needs_target(const placed_domain& domain, const std::string& self);

// As if it were the first: those before it change what the nodes offer. `nodes`: what they offer now.
[[nodiscard]] flush_outlook explain_flush(const placed_domain& domain, const std::string& self,
                                          const target_request& request, const std::vector<node_offer>& nodes);

}  // namespace pvc::policy
