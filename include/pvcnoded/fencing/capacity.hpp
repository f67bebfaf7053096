// Tells whose machines would find room elsewhere if a node died now (`pvcnodectl explain capacity`): reads what a
// recovery reads, takes no lock, and writes nothing. One question at a time. Loop thread only; of the session scope.
// Specification: README ruling 44.
#pragma once

#include "pvcnoded/core/explainer.hpp"
#include "pvcnoded/core/subject.hpp"
#include "pvcnoded/hypervisor/hypervisor.hpp"

#include <memory>
#include <string_view>

namespace pvc::fencing {

class capacity_part;

class capacity final : public core::subject, public core::session_subject, public core::explainer {
public:
    // `hypervisors`: may be null (no libvirtd is asked), else outlives it.
    capacity(core::node_context& node, hypervisor::hypervisor* hypervisors) : node_(node), hypervisors_(hypervisors) {}

    [[nodiscard]] std::string_view name() const override { return "capacity"; }
    std::unique_ptr<core::session_part> begin(core::session& s) override;
    [[nodiscard]] std::string_view topic() const override { return "capacity"; }
    std::shared_ptr<core::awaited_explanation> explain(time_point until) override;

private:
    friend class capacity_part;

    core::node_context& node_;
    hypervisor::hypervisor* hypervisors_;
    capacity_part* part_ = nullptr;  // of the session
};

}  // namespace pvc::fencing
