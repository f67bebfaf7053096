#include "pvcnoded/policy/networks/function_release.hpp"

#include "pvcnoded/base/uuid.hpp"

#include <algorithm>

namespace pvc::policy {

namespace {

// However it is spelled.
bool is_one_of(const std::vector<std::string>& domains, const std::string& used_by) {
    if (std::ranges::find(domains, used_by) != domains.end()) {
        return true;
    }
    const auto id = parse_any_uuid(used_by);
    return id && std::ranges::find(domains, to_text(*id)) != domains.end();
}

}  // namespace

void function_releases::see(time_point now, const std::vector<function_use>& all,
                            const std::vector<std::string>* domains) {
    std::map<std::string, absence> absent;
    again_.reset();
    if (domains == nullptr && std::ranges::any_of(all, &function_use::is_used)) {
        again_ = now + patience;
    }
    for (const auto& one : all) {
        if (!one.is_used || domains == nullptr || is_one_of(*domains, one.used_by)) {
            continue;
        }
        const auto before = absent_.find(one.name);
        const bool is_same =
            before != absent_.end() && before->second.used_by == one.used_by && before->second.written == one.written;
        absent.emplace(one.name, absence{one.used_by, one.written, is_same ? before->second.due : now + patience});
    }
    absent_ = std::move(absent);
}

std::vector<std::string> function_releases::due(time_point now) const {
    std::vector<std::string> names;
    for (const auto& [name, one] : absent_) {
        if (one.due <= now) {
            names.push_back(name);
        }
    }
    return names;
}

void function_releases::failed(const std::string& name, time_point now) {
    const auto found = absent_.find(name);
    if (found != absent_.end()) {
        found->second.due = now + patience;
    }
}

std::optional<time_point> function_releases::next() const {
    std::optional<time_point> first = again_;
    for (const auto& [name, one] : absent_) {
        first = std::min(first.value_or(time_point::max()), one.due);
    }
    return first;
}

}  // namespace pvc::policy
