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

// Why it is no longer the device that it was at the first look, as the kernel shows it; empty: it is.
[[nodiscard]] std::string why_another_device(const model::device_identity& first, const model::device_identity& now);

// The partition that was just made on a device and is the only thing on it, or why there is none.
[[nodiscard]] result<model::block_device> only_partition(const model::block_device& device);

// Empty: it may be used, and what stands on it is the OSD's own. Else why not.
[[nodiscard]] std::string why_not_to_erase(const model::block_device& device, const own_volume& own);

}  // namespace pvc::policy
