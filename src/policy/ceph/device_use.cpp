#include "pvcnoded/policy/ceph/device_use.hpp"

#include "pvcnoded/base/text.hpp"
#include "pvcnoded/model/device_name.hpp"

#include <algorithm>
#include <array>

namespace pvc::policy {

namespace {

std::string with_double_dashes(std::string_view name) {
    std::string out;
    for (const char c : name) {
        out.append(c == '-' ? 2 : 1, c);
    }
    return out;
}

// Of what somebody assembles from several devices: LVM2_member, linux_raid_member, zfs_member, …
bool is_member(std::string_view content) {
    return content.ends_with("_member");
}

std::string mount_on(const model::block_device& device) {  // NOLINT(misc-no-recursion): as deep as lsblk's list
    if (!device.mounted_at.empty()) {
        return shown(device.name) + " is mounted at " + shown(device.mounted_at);
    }
    for (const auto& one : device.above) {
        if (auto found = mount_on(one); !found.empty()) {
            return found;
        }
    }
    return {};
}

}  // namespace

std::string mapped_name(const own_volume& volume) {
    return volume.group.empty() || volume.volume.empty()
               ? std::string()
               : with_double_dashes(volume.group) + "-" + with_double_dashes(volume.volume);
}

std::string why_another_device(const model::device_identity& first, const model::device_identity& now) {
    if (first == now) {
        return {};
    }
    if (first.number != now.number) {
        return "it was device " + shown(first.number) + " when the command came, and is " + shown(now.number) + " now";
    }
    if (first.bytes != now.bytes) {
        return "it had " + std::to_string(first.bytes) + " bytes when the command came, and has " +
               std::to_string(now.bytes) + " now";
    }
    return "its serial number or WWN is not the one of when the command came";
}

result<model::block_device> only_partition(const model::block_device& device) {
    const auto bad = [](std::string why) { return failure(errc::invalid, "partition", std::move(why)); };
    if (device.above.empty()) {
        return bad("no partition appeared on it");
    }
    const auto& part = device.above.front();
    if (device.above.size() > 1 || part.type != "part") {
        return bad(shown(device.above.back().name) + " stands on it");
    }
    if (auto mounted = mount_on(device); !mounted.empty()) {
        return bad(std::move(mounted));
    }
    if (!part.above.empty()) {
        return bad(shown(part.above.front().name) + " stands on its partition");
    }
    if (!model::is_device_path(part.path)) {
        return bad("its partition has no name that can be used: " + shown(part.path));
    }
    return part;
}

std::string why_not_to_erase(const model::block_device& device, const own_volume& own) {
    constexpr std::array usable{std::string_view("disk"), std::string_view("part"), std::string_view("mpath"),
                                std::string_view("loop")};
    if (std::ranges::find(usable, device.type) == usable.end()) {
        return "it is of type " + shown(device.type);
    }
    // A partition shows the table that it is in.
    if (device.type != "part" && !device.partition_table.empty()) {
        return "it has a partition table";
    }
    if (auto mounted = mount_on(device); !mounted.empty()) {
        return mounted;
    }
    const std::string own_name = mapped_name(own);
    for (const auto& one : device.above) {
        if (own_name.empty() || one.name != own_name || one.type != "lvm") {
            return shown(one.name) + " stands on it";
        }
    }
    // An OSD without LVM, perhaps one that runs: none of those that this cluster makes.
    if (device.content == "ceph_bluestore") {
        return "an OSD stands on it, without LVM";
    }
    if (is_member(device.content) && device.above.empty()) {
        return "it belongs to something (" + shown(device.content) + ") of which no part is active";
    }
    return {};
}

}  // namespace pvc::policy
