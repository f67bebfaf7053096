// Whether a block device may be erased: nobody else has a use for it, as far as the kernel and its signatures show.
// Specification: storage.md 8.4.
#pragma once

#include "pvcnoded/model/block_device.hpp"

#include <string>

namespace pvc::policy {

// The volume of an OSD that stands on a device; empty names: none.
struct own_volume {
    std::string group{};
    std::string volume{};

    friend bool operator==(const own_volume&, const own_volume&) = default;
};

// How the device mapper spells a volume's name: dashes within a name are doubled.
[[nodiscard]] std::string mapped_name(const own_volume& volume);

// Empty: it may be used, and what stands on it is the OSD's own. Else why not.
[[nodiscard]] std::string why_not_to_erase(const model::block_device& device, const own_volume& own);

}  // namespace pvc::policy
