// Pairs of a key's path and its text, as they go to and come from ZooKeeper.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

namespace pvc::model {

// A key to be created or written.
struct key_value {
    std::string path;
    std::string value;

    friend bool operator==(const key_value&, const key_value&) = default;
};

// A key as it was read: its text and the data version on which a conditional write is based.
struct stored_value {
    std::string value;
    std::int32_t version = 0;

    friend bool operator==(const stored_value&, const stored_value&) = default;
};

// A key to be set. Without a version the set is unconditional: only for keys that no one else writes.
struct key_update {
    std::string path;
    std::string value;
    std::optional<std::int32_t> version;

    friend bool operator==(const key_update&, const key_update&) = default;
};

using path_set = std::set<std::string, std::less<>>;
using stored_values = std::map<std::string, stored_value, std::less<>>;

}  // namespace pvc::model
