// From libyaml's events to the tree of yaml.hpp: aliases, merges, duplicate keys, and the limits on depth and nodes.
#pragma once

#include "pvcnoded/config/yaml.hpp"

namespace pvc::config {

// `text` is well-formed UTF-8 without a mark, of bounded size. As parse_yaml: a tree, or null and one fatal diagnostic.
[[nodiscard]] std::shared_ptr<const yaml_node> compose(std::string_view text, diagnostics& problems);

}  // namespace pvc::config
