// What `lsblk --json --bytes` says of one block device and of what stands upon it, and what `blkid --probe` reads from
// it: lsblk has signatures from udev, which may know nothing, or what was true before. Specification: storage.md 8.4.
#pragma once

#include "pvcnoded/base/result.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace pvc::model {

// What tells one device from another that has its name later.
struct device_identity {
    std::string number;      // "8:16": major and minor
    std::int64_t bytes = 0;  // its size
    std::string wwn{};       // empty: it has none
    std::string serial{};    // likewise

    friend bool operator==(const device_identity&, const device_identity&) = default;
};

struct block_device {
    std::string name;             // of the kernel; of a logical volume as the device mapper spells it
    std::string type;             // "disk", "part", "lvm", …
    std::string content;          // the signature on it: "LVM2_member", "ext4"; empty: none
    std::string partition_table;  // of the disk, also of a partition; empty: none
    std::string mounted_at;       // empty: not
    std::vector<block_device> above{};
    std::string path{};  // below /dev, as the kernel names it, never a link that somebody may turn
    device_identity identity{};

    friend bool operator==(const block_device&, const block_device&) = default;
};

// The columns to ask for.
inline constexpr std::string_view lsblk_columns = "NAME,PATH,MAJ:MIN,SIZE,WWN,SERIAL,TYPE,FSTYPE,PTTYPE,MOUNTPOINT";
inline constexpr std::size_t lsblk_bytes_max = 1024UL * 1024;

// Errors: invalid (no JSON of this kind, or not exactly one device).
[[nodiscard]] result<block_device> parse_block_device(std::string_view text);

struct device_signatures {
    std::string content;
    std::string partition_table;

    friend bool operator==(const device_signatures&, const device_signatures&) = default;
};
// Of `blkid --probe --output export`: lines of NAME=value. What is not there is empty.
[[nodiscard]] device_signatures parse_device_signatures(std::string_view text);

}  // namespace pvc::model
