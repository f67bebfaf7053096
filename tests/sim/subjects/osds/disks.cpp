#include "sim/subjects/osds/disks.hpp"

#include <algorithm>

namespace pvc::sim {

namespace {

constexpr std::int64_t usual_bytes = 480'103'981'056;
constexpr std::string_view below_dev = "/dev/";

bool ends_in_digit(std::string_view name) {
    return !name.empty() && name.back() >= '0' && name.back() <= '9';
}

}  // namespace

bool is_blank(const sim_block& block) {
    return block.content.empty() && block.table.empty() && !block.group && block.parts.empty();
}

void make_blank(sim_block& block) {
    block.content.clear();
    block.table.clear();
    block.group.reset();
    block.parts.clear();
}

std::string partition_name(const std::string& disk, int number) {
    return disk + (ends_in_digit(disk) ? "p" : "") + std::to_string(number);
}

block_pointer disk_shelf::find(std::string_view path) const {
    if (const auto link = links.find(std::string(path)); link != links.end()) {
        return find(std::string(below_dev) + link->second);
    }
    if (!path.starts_with(below_dev)) {
        return nullptr;
    }
    const auto name = path.substr(below_dev.size());
    for (const auto& disk : disks) {
        if (disk->name == name) {
            return disk;
        }
        for (const auto& part : disk->parts) {
            if (part->name == name) {
                return part;
            }
        }
    }
    const auto slash = name.find('/');
    const auto group = slash == std::string_view::npos ? nullptr : with_group(name.substr(0, slash));
    const bool has_volume =
        group && std::ranges::find(group->group->volumes, name.substr(slash + 1)) != group->group->volumes.end();
    return has_volume ? group : nullptr;
}

block_pointer disk_shelf::disk_of(const block_pointer& block) const {
    const auto found = std::ranges::find_if(disks, [&](const block_pointer& one) {
        return one == block || std::ranges::find(one->parts, block) != one->parts.end();
    });
    return found == disks.end() ? nullptr : *found;
}

block_pointer disk_shelf::with_group(std::string_view name) const {
    for (const auto& disk : disks) {
        if (disk->group && disk->group->name == name) {
            return disk;
        }
        for (const auto& part : disk->parts) {
            if (part->group && part->group->name == name) {
                return part;
            }
        }
    }
    return nullptr;
}

time_point disk_shelf::renamed(std::string_view path) const {
    const auto when = [this](std::string_view what) {
        const auto found = renamed_.find(what);
        return found == renamed_.end() ? time_point{} : found->second;
    };
    const auto link = links.find(std::string(path));
    const std::string_view name = link != links.end()           ? std::string_view(link->second)
                                  : path.starts_with(below_dev) ? path.substr(below_dev.size())
                                                                : path;
    return std::max(when(path), when(name));
}

disk_shelf usual_disks(const std::vector<osd_on_disk>& osds) {
    disk_shelf shelf;
    const auto add = [&](std::string name, int major, std::string type, std::string model) -> sim_block& {
        auto& one = *shelf.disks.emplace_back(std::make_shared<sim_block>());
        one.name = std::move(name);
        one.number = shelf.new_number(major);
        one.bytes = usual_bytes;
        one.type = std::move(type);
        one.model = std::move(model);
        if (one.type == "disk") {
            one.serial = shelf.new_serial();
            one.wwn = "0x5000" + one.serial.substr(1);
        }
        return one;
    };
    add("sda", 8, "disk", "SYSTEM DISK").use = disk_use::mounted;
    shelf.disks.back()->content = "ext4";
    add("sdb", 8, "disk", "SAMSUNG MZ7LH480");
    add("sdba", 65, "disk", "SAMSUNG MZ7LH480");
    add("nvme0n1", 259, "disk", "");
    add("loop1", 7, "loop", "");
    auto& other = add("loop11", 7, "loop", "");
    other.content = "ext4";
    for (const auto& osd : osds) {
        auto& disk = add(std::string("sd") + static_cast<char>('e' + osd.id), 8, "disk", "INTEL SSDSC2KB480");
        disk.group = disk_group{"ceph-" + osd.fsid.substr(osd.fsid.size() - 12), {"osd-block-" + osd.fsid}, osd};
    }
    shelf.links = {{"/dev/disk/by-id/ata-ONE", "sdb"},
                   {"/dev/disk/by-id/ata-TWO", "sdba"},
                   {"/dev/disk/by-path/pci-1", "nvme0n1"}};
    return shelf;
}

}  // namespace pvc::sim
