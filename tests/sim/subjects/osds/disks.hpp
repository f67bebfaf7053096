// The disks of a simulated machine: what is written on them, who uses them, and by which names they go. It does nothing
// by itself: programs that stand in for the tools change it (tools.hpp), and actions do (actions.cpp).
#pragma once

#include "pvcnoded/base/clock.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pvc::sim {

struct osd_on_disk {
    int id = 0;
    std::string fsid;
    std::string cluster;
};

// What LVM has on a device: one group with its volumes.
struct disk_group {
    std::string name;
    std::vector<std::string> volumes{};
    std::optional<osd_on_disk> osd{};  // on the first volume
    bool is_active = true;             // else its volumes are no devices
};

enum class disk_use : std::uint8_t {
    none,
    mounted,
    mounted_elsewhere,  // in another mount namespace: only who wants it for himself alone notices
    held,               // open for somebody alone
};

// A disk, or a partition of one.
struct sim_block {
    std::string name;    // of the kernel
    std::string number;  // major and minor
    std::int64_t bytes = 0;
    std::string wwn;
    std::string serial;
    std::string type = "disk";
    std::string model{};    // empty: the SCSI layer does not list it
    std::string content{};  // the signature on it, but that of LVM
    std::string table{};    // "gpt"
    std::optional<disk_group> group{};
    disk_use use = disk_use::none;
    std::vector<std::shared_ptr<sim_block>> parts{};
    time_point others_changed{};  // when somebody else last did something to it
};
using block_pointer = std::shared_ptr<sim_block>;

// A file system, volumes, a table: something of it is lost with a careless write.
[[nodiscard]] bool is_blank(const sim_block& block);
void make_blank(sim_block& block);
// Of a partition: behind a digit the kernel puts a `p`.
[[nodiscard]] std::string partition_name(const std::string& disk, int number);

class disk_shelf {
public:
    std::vector<block_pointer> disks;
    std::map<std::string, std::string> links;  // "/dev/disk/by-id/…" → "sdb"

    // "/dev/sdb", "/dev/sdb1", a link, "/dev/<group>/<volume>" (the disk below it); null: there is no such device.
    [[nodiscard]] block_pointer find(std::string_view path) const;
    // The disk itself, or the one that the partition is of.
    [[nodiscard]] block_pointer disk_of(const block_pointer& block) const;
    [[nodiscard]] block_pointer with_group(std::string_view name) const;
    // Numbers that no other device has.
    [[nodiscard]] std::string new_number(int major) { return std::to_string(major) + ":" + std::to_string(++numbers_); }
    [[nodiscard]] std::string new_serial() { return "S" + std::to_string(++serials_); }
    // When a path, or the name it stands for, last became another device's.
    [[nodiscard]] time_point renamed(std::string_view path) const;
    void note_renamed(const std::string& path_or_name, time_point now) { renamed_[path_or_name] = now; }

private:
    std::map<std::string, time_point, std::less<>> renamed_;
    int numbers_ = 0;
    int serials_ = 0;
};

// What every machine with storage has: an OSD's disk for each of these, a few empty ones whose names are alike, and two
// that somebody uses.
[[nodiscard]] disk_shelf usual_disks(const std::vector<osd_on_disk>& osds);

}  // namespace pvc::sim
