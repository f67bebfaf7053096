// Names of block devices and of LVM's volumes as they may become arguments of a program that erases them, or keys of
// the cluster. Specification: storage.md 8.4.
#pragma once

#include <string_view>

namespace pvc::model {

// "/dev/…" of letters, digits and _./:+@-, without "." and ".." between two slashes.
[[nodiscard]] bool is_device_path(std::string_view text);

// The name of a volume group or of a logical volume, as LVM allows it.
[[nodiscard]] bool is_volume_name(std::string_view text);

}  // namespace pvc::model
