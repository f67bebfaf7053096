// What is to be written of an OSD's devices: the keys of its object as they are stored beside what the host's own tools
// list. Specification: storage.md 5 and 8.3 ("osd_add" 10).
#pragma once

#include "pvcnoded/model/ceph_volume_list.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pvc::policy {

// A key of one OSD that the active schema has, by its name in the table ("osd.device").
struct stored_key {
    std::string_view key;
    std::optional<std::string> value{};  // empty: it is not there

    friend bool operator==(const stored_key&, const stored_key&) = default;
};
// In the order of the schema's table: a container before what it holds.
using stored_osd = std::vector<stored_key>;

struct key_value {
    std::string_view key;
    std::string value;

    friend bool operator==(const key_value&, const key_value&) = default;
};

// What is stored under this name; empty also for a key that is not there, or not in the schema.
[[nodiscard]] std::string stored_value(const stored_osd& stored, std::string_view key);

// Those of `wanted` that differ from what is stored, in the order of `stored`, without keys that the schema lacks.
[[nodiscard]] std::vector<key_value> differing(const stored_osd& stored, const std::vector<key_value>& wanted);

// What the tools are asked about: the volume if both its names are known, else the device; empty: neither is.
[[nodiscard]] std::string device_to_list(const stored_osd& stored);

// The keys that say where an OSD's data is.
[[nodiscard]] std::vector<key_value> device_keys(const model::listed_osd& listed);

struct refresh_decision {
    enum class verdict : std::uint8_t {
        nothing,  // all is as it should be
        write,
        foreign,  // the object belongs to an OSD of another UUID: `reason`
    };
    verdict what = verdict::nothing;
    std::vector<key_value> writes{};
    std::string reason{};

    friend bool operator==(const refresh_decision&, const refresh_decision&) = default;
};
[[nodiscard]] refresh_decision decide_device_refresh(const stored_osd& stored, const model::listed_osd& listed);

}  // namespace pvc::policy
