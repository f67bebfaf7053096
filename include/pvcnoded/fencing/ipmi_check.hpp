// Asks this node's own management controller once, at the start, whether it answers: those who would fence this node
// depend on it. What it says is logged and has no other effect; it runs beside the start-up and holds nothing up. The
// password goes through the environment of ipmitool, never through an argument.
// Specification: node-lifecycle.md 10.6, 3.2 (S8), AC10; README ruling 16.
#pragma once

#include "pvcnoded/async/process.hpp"
#include "pvcnoded/core/subject.hpp"

namespace pvc::fencing {

// Outlives the subjects.
struct fence_ports {
    async::process_runner& processes;
};

class ipmi_check final : public core::subject, public core::prepared_subject {
public:
    ipmi_check(core::node_context& node, fence_ports outside) : node_(node), processes_(outside.processes) {}

    [[nodiscard]] std::string_view name() const override { return "ipmi check"; }
    // Leaves a child in the attempt; cancelled, its program has ended.
    async::awaitable<result<void>> prepare(core::preparation in) override;

private:
    async::awaitable<void> ask();

    core::node_context& node_;
    async::process_runner& processes_;
};

}  // namespace pvc::fencing
