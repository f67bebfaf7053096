#include "pvcnoded/core/host_bridges.hpp"

#include <algorithm>

namespace pvc::core {

namespace {

// "vmbr1001"
bool is_of_a_network(std::string_view name) {
    constexpr std::string_view prefix = "vmbr";
    const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
    return name.size() > prefix.size() && name.starts_with(prefix) &&
           std::ranges::all_of(name.substr(prefix.size()), is_digit);
}

}  // namespace

host_bridges::found host_bridges::find(const std::string& name, std::string_view& why) const {
    why = {};
    if (!is_kept_) {
        return found::there;
    }
    if (!has_looked_) {
        why = "the links of this node were not seen yet";
        return found::coming;
    }
    if (const auto network = last_.refused.find(name); network != last_.refused.end()) {
        why = network->second;
        return found::refused;
    }
    if (last_.there.contains(name)) {
        return found::there;
    }
    if (const auto network = last_.wanted.find(name); network != last_.wanted.end()) {
        why = network->second;
        return found::coming;
    }
    return last_.knows_networks && is_of_a_network(name) ? found::unknown : found::coming;
}

}  // namespace pvc::core
