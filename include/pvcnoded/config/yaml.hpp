// One YAML document as a small immutable tree. Aliases and merge keys ("<<") are expanded; of duplicate keys the last
// wins, with a warning. Total: any bytes in, a tree or exactly one located fatal message out, in bounded time and
// memory (config.md 1 "Limits", runtime-design.md 9.1).
#pragma once

#include "pvcnoded/config/diagnostics.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace pvc::config {

inline constexpr std::size_t max_file_bytes = 1048576;
inline constexpr int max_yaml_depth = 32;                         // nested lists and maps
inline constexpr std::size_t max_yaml_text = 4 * max_file_bytes;  // after expansion: what a reader may copy
inline constexpr std::size_t max_yaml_nodes = 10'000;             // after expansion; keys count too

enum class yaml_kind : std::uint8_t { scalar, sequence, mapping };

struct yaml_node;

// A key of a mapping or an item of a sequence (key empty). The line is that of the key or item as it stands in the
// file, also where the value comes from an alias.
struct yaml_entry {
    std::string key;
    int line = 0;
    std::shared_ptr<const yaml_node> value;  // never null; shared by all aliases of one anchor
};

struct yaml_node {
    yaml_kind kind = yaml_kind::scalar;
    std::string text;   // scalars: the source text, quotes and escapes resolved
    bool plain = true;  // scalars: neither quoted nor a block
    std::string tag;    // as written, resolved ("tag:yaml.org,2002:str"); empty if none
    std::vector<yaml_entry> entries;
    std::size_t nodes = 1;  // in this subtree, keys and itself included
    std::size_t bytes = 0;  // of text in this subtree, keys included
    int height = 0;         // levels of lists and maps: 0 for a scalar

    [[nodiscard]] const yaml_entry* find(std::string_view key) const;
};

// The root of the only document; null if the file is refused, with one fatal diagnostic in `problems` (and no other).
[[nodiscard]] std::shared_ptr<const yaml_node> parse_yaml(std::string_view text, diagnostics& problems);

}  // namespace pvc::config
