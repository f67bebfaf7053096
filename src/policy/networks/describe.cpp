#include "pvcnoded/policy/networks/describe.hpp"

#include <span>

namespace pvc::policy {

namespace {

std::vector<std::string> remark_lines(std::span<const network_remark> remarks) {
    std::vector<std::string> lines;
    for (const auto& one : remarks) {
        lines.push_back((one.is_error ? "error: " : "warning: ") + one.text);
    }
    return lines;
}

void add_step_lines(std::vector<std::string>& lines, std::span<const model::network_change> steps) {
    for (const auto& step : steps) {
        lines.push_back("would " + to_text(step));
    }
}

}  // namespace

std::vector<std::string> describe(const host_plan& plan) {
    auto lines = remark_lines(plan.remarks);
    for (const auto& unit : plan.units) {
        add_step_lines(lines, unit.steps);
    }
    if (plan.units.empty()) {
        lines.emplace_back("nothing to change");
    }
    return lines;
}

std::vector<std::string> describe(const network_plan& plan) {
    auto lines = remark_lines(plan.remarks);
    add_step_lines(lines, plan.steps);
    if (plan.steps.empty()) {
        lines.emplace_back("nothing to change");
    }
    return lines;
}

}  // namespace pvc::policy
