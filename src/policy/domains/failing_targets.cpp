#include "pvcnoded/policy/domains/failing_targets.hpp"

namespace pvc::policy {

namespace {

std::set<std::string> nodes_of(const std::map<uuid, std::set<std::string>>& all, const uuid& domain) {
    const auto found = all.find(domain);
    return found == all.end() ? std::set<std::string>() : found->second;
}

}  // namespace

bool failing_targets::failed(const uuid& domain, const std::string& node, move_fault fault, time_point now) {
    switch (fault) {
        case move_fault::neither: return false;
        case move_fault::machine: refused_[domain].insert(node); break;
        case move_fault::target: break;
    }
    tried_[domain].insert(node);
    if (fault == move_fault::machine) {
        return false;
    }
    record& one = nodes_[node];
    if (one.domains.size() >= domains_max && now - one.last >= left_out_for) {
        one = {};  // it had its second chance
    }
    one.last = now;
    return one.domains.insert(domain).second && one.domains.size() == domains_max;
}

std::set<std::string> failing_targets::left_out(time_point now) const {
    std::set<std::string> out;
    for (const auto& [name, one] : nodes_) {
        if (one.domains.size() >= domains_max && now - one.last < left_out_for) {
            out.insert(name);
        }
    }
    return out;
}

std::set<std::string> failing_targets::tried_by(const uuid& domain) const {
    return nodes_of(tried_, domain);
}

std::set<std::string> failing_targets::refused(const uuid& domain) const {
    return nodes_of(refused_, domain);
}

}  // namespace pvc::policy
