// Any bytes give a tree within the limits or exactly one located fatal message (config.md 1, "Limits").
// Covers: src/config/yaml.cpp src/config/yaml_compose.cpp src/config/yaml_events.cpp src/base/utf8.cpp
#include "pvcnoded/base/assert.hpp"
#include "pvcnoded/config/yaml.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>

using pvc::config::diagnostic;
using pvc::config::severity;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    pvc::config::diagnostics problems("file");
    const auto root = pvc::config::parse_yaml({reinterpret_cast<const char*>(data), size}, problems);
    const auto all = problems.take();
    const auto fatal = std::ranges::count(all, severity::fatal, &diagnostic::level);
    PVC_ASSERT(root ? fatal == 0 : (fatal == 1 && all.size() == 1));
    PVC_ASSERT(!root || (root->nodes <= pvc::config::max_yaml_nodes && root->height <= pvc::config::max_yaml_depth));
    const auto is_located = [](const diagnostic& each) {
        return each.line >= 1 && each.located().starts_with("file:");
    };
    PVC_ASSERT(std::ranges::all_of(all, is_located));
    return 0;
}
