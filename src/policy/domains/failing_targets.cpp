#include "pvcnoded/policy/domains/failing_targets.hpp"

namespace pvc::policy {

bool failing_targets::failed(const uuid& domain, const std::string& node, time_point now) {
    tried_[domain].insert(node);
    record& one = nodes_[node];
    if (one.failures >= failures_max && now - one.last >= left_out_for) {
        one = {};  // it had its second chance
    }
    ++one.failures;
    one.last = now;
    return one.failures == failures_max;
}

std::set<std::string> failing_targets::left_out(time_point now) const {
    std::set<std::string> out;
    for (const auto& [name, one] : nodes_) {
        if (one.failures >= failures_max && now - one.last < left_out_for) {
            out.insert(name);
        }
    }
    return out;
}

std::set<std::string> failing_targets::tried_by(const uuid& domain) const {
    const auto found = tried_.find(domain);
    return found == tried_.end() ? std::set<std::string>() : found->second;
}

}  // namespace pvc::policy
