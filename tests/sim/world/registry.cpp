#include "sim/world/registry.hpp"

#include "pvcnoded/base/assert.hpp"

#include <algorithm>

namespace pvc::sim {

void registry::add(std::span<const action_kind> actions) {
    for (const auto& one : actions) {
        PVC_ASSERT(find(one.name) == nullptr);
        actions_.push_back(&one);
    }
}

void registry::add(std::span<const rule> rules) {
    for (const auto& one : rules) {
        rules_.push_back(&one);
    }
}

void registry::add(std::span<const progress> conditions) {
    for (const auto& one : conditions) {
        conditions_.push_back(&one);
    }
}

void registry::add(std::span<const planted_mistake> mistakes) {
    mistakes_.insert(mistakes_.end(), mistakes.begin(), mistakes.end());
}

void registry::add(std::span<const sweep_fault> faults) {
    faults_.insert(faults_.end(), faults.begin(), faults.end());
}

void registry::add(std::span<const sweep_operation> operations) {
    operations_.insert(operations_.end(), operations.begin(), operations.end());
}

void registry::add(const subject_part& part) {
    parts_.push_back(part);
}

void registry::add(const key_rules& keys) {
    keys_.push_back(keys);
}

void registry::expect(std::span<const std::string_view> seen) {
    expected_.insert(expected_.end(), seen.begin(), seen.end());
}

void registry::expect_logged(std::span<const std::pair<std::string_view, std::string_view>> marks) {
    marks_.insert(marks_.end(), marks.begin(), marks.end());
}

const action_kind* registry::find(std::string_view name) const {
    const auto found = std::ranges::find(actions_, name, &action_kind::name);
    return found == actions_.end() ? nullptr : *found;
}

}  // namespace pvc::sim
