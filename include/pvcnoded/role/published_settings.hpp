// What the primary publishes of its configuration for the whole cluster: `/config/migration_target_selector` (with the
// hypervisor function) and `/config/upstream_ip` (with networking, as it is written in the configuration). Looked at
// with each tick, written where it differs, in one transaction with a check that this node is still named primary. A
// key that somebody deleted is made again. Nodes that are not primary have no watch on them.
// Specification: node-lifecycle.md 6.1 (steps 1 and 2, AC37); networking.md 13; config.md 5.2, 5.4.
#pragma once

#include "pvcnoded/core/subject.hpp"

#include <memory>

namespace pvc::role {

class published_settings final : public core::subject, public core::session_subject {
public:
    [[nodiscard]] std::string_view name() const override { return "published settings"; }
    std::unique_ptr<core::session_part> begin(core::session& s) override;
};

}  // namespace pvc::role
