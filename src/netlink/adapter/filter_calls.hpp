// The calls that a thread of the pool makes: one look, one batch. Each has a socket of its own and touches nothing that
// anybody else has. Specification: networking.md 7.3; runtime-design.md 4.
#pragma once

#include "pvcnoded/base/result.hpp"
#include "pvcnoded/netlink/packet_filter.hpp"

#include <optional>
#include <vector>

namespace pvc::netlink {

// Empty: something changed meanwhile. Errors: unavailable, io.
[[nodiscard]] result<std::optional<model::filter_state>> look_at_filter();

// What the port promises of a batch. Errors: version_conflict, unavailable, io, outcome_unknown.
[[nodiscard]] result<std::optional<batch_refusal>> commit_batch(const std::vector<model::filter_change>& changes,
                                                                std::optional<std::uint32_t> generation);

}  // namespace pvc::netlink
