#include "pvcnoded/policy/membership/own_keys.hpp"

#include "pvcnoded/base/assert.hpp"
#include "pvcnoded/base/planted.hpp"

#include <utility>

namespace pvc::policy {

void own_keys::learned(std::string_view path, std::string_view value, std::int32_t version) {
    auto found = keys_.find(path);
    if (found == keys_.end()) {
        found = keys_.try_emplace(std::string(path)).first;
    }
    entry& key = found->second;
    key.known = knowledge::present;
    key.value = value;
    key.version = version;
}

void own_keys::missing(std::string_view path) {
    keys_.insert_or_assign(std::string(path), entry{knowledge::absent, {}, 0, false});
}

std::vector<std::string> own_keys::repairs() const {
    std::vector<std::string> paths;
    for (const auto& [path, key] : keys_) {
        if (key.known == knowledge::unread) {
            paths.push_back(path);
        }
    }
    return paths;
}

own_keys_plan own_keys::plan(const std::vector<model::key_value>& wanted) {
    own_keys_plan plan;
    places_.resize(wanted.size(), nullptr);
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        const auto& item = wanted[i];
        auto& place = places_[i];
        if (place == nullptr || place->first != item.path) {
            place = &*keys_.try_emplace(item.path).first;
        }
        entry& key = place->second;
        if (key.known == knowledge::absent) {
            plan.creates.push_back(item);
        } else if (key.known == knowledge::present && key.value != item.value) {
            plan.sets.push_back(item);
            key.is_set = true;
        }
    }
    plan.checks.reserve(keys_.size());
    for (auto& [path, key] : keys_) {
        const bool is_set = std::exchange(key.is_set, false);
        if (key.known == knowledge::present && !is_set) {
            plan.checks.push_back({path, key.version});
        }
    }
    return plan;
}

void own_keys::committed(const own_keys_plan& sent, std::span<const std::int32_t> set_versions) {
    PVC_ASSERT(set_versions.size() == sent.sets.size());
    for (const auto& item : sent.creates) {
        learned(item.path, item.value, 0);
    }
    for (std::size_t i = 0; i < sent.sets.size(); ++i) {
        learned(sent.sets[i].path, sent.sets[i].value, set_versions[i]);
    }
}

std::string own_keys::failed(std::string_view path) {
    if (!is_planted(defect::figures_given_up)) {
        keys_.insert_or_assign(std::string(path), entry{});
    }
    return std::string(path) + " was changed by somebody else, it is restored at the next tick";
}

void own_keys::forget() {
    for (auto& [path, key] : keys_) {
        key = entry{};
    }
}

}  // namespace pvc::policy
