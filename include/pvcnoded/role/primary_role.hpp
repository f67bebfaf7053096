// The primary role as a subject: keeps it where the rules want it, claims it where nobody has it, gives it up when this
// node is not heard or leaves. The parts of the role (addresses, services) are other subjects' (core/subject.hpp).
// Specification: node-lifecycle.md 3.2 (S8), 4 ("Isolated primary"), 5 (step 4), 7; README rulings 11, 22.
#pragma once

#include "pvcnoded/core/explainer.hpp"
#include "pvcnoded/core/subject.hpp"

#include <memory>
#include <vector>

namespace pvc::role {

class owner;
class coordinator;

class primary_role final : public core::subject,
                           public core::prepared_subject,
                           public core::session_subject,
                           public core::reporter,
                           public core::explainer {
public:
    // The parts outlive it.
    primary_role(core::node_context& node, std::vector<core::role_part*> parts);
    ~primary_role() override;

    [[nodiscard]] std::string_view name() const override { return "role"; }
    // Before S6: watches over the role as long as the attempt lasts. In S8: claims a vacancy.
    async::awaitable<result<void>> prepare(core::preparation in) override;
    // Whatever of the role is still taken up.
    async::awaitable<void> end(time_point deadline) override;
    std::unique_ptr<core::session_part> begin(core::session& s) override;
    void report(std::vector<std::string>& lines) const override;
    // Which rule decides now, on what the actor sees; at once.
    [[nodiscard]] std::string_view topic() const override { return "primary"; }
    std::shared_ptr<core::awaited_explanation> explain(time_point until) override;

private:
    core::node_context& node_;
    std::unique_ptr<owner> owner_;
};

}  // namespace pvc::role
