// Clients that send commands about OSDs, and what befalls disks, the tools and Ceph's word while they are carried out.
#include "sim/subjects/osds/osds.hpp"
#include "sim/world/chaos.hpp"
#include "sim/world/words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

namespace pvc::sim {

using namespace std::chrono_literals;

namespace {

// ---- clients

void send_command(cluster& world, const action& what) {
    if (osds_of(world).is_on && world.ensemble.exists(osd_pipe)) {
        world.ensemble.put(osd_pipe, what.value);
    }
}

void take_command_back(cluster& world, const action& /*what*/) {
    if (osds_of(world).is_on && world.ensemble.exists(osd_pipe)) {
        world.ensemble.put(osd_pipe, "");
    }
}

// ---- disks

disk_shelf* shelf_of(cluster& world, const member& target) {
    auto& osds = osds_of(world);
    const auto found = osds.shelves.find(target.name());
    return osds.is_on && found != osds.shelves.end() ? &found->second : nullptr;
}

// "/dev/disk/by-id/ata-ONE sdba"
void turn_link(cluster& world, const action& what, member& target) {
    std::string_view rest = what.value;
    const std::string link(next_word(rest));
    auto* const shelf = shelf_of(world, target);
    if (shelf == nullptr || !link.starts_with("/dev/disk/") || shelf->links[link] == rest) {
        return;
    }
    shelf->links[link] = std::string(rest);
    shelf->note_renamed(link, world.now());
}

// "sdb mount": whoever does that looks first, and leaves alone what an OSD or a mount has. "free" and "wipe" are an
// operator's.
void use_disk(cluster& world, const action& what, member& target) {
    std::string_view rest = what.value;
    auto* const shelf = shelf_of(world, target);
    const auto disk = shelf == nullptr ? nullptr : shelf->find("/dev/" + std::string(next_word(rest)));
    if (!disk) {
        return;
    }
    const auto changes = [&] { disk->others_changed = world.now(); };
    if (rest == "free") {
        disk->use = disk_use::none;
        return;
    }
    if (rest == "wipe") {
        if (disk->use == disk_use::none && !(disk->group && disk->group->osd)) {
            changes();
            make_blank(*disk);
        }
        return;
    }
    if (disk->use != disk_use::none || disk->group || !disk->parts.empty()) {
        return;
    }
    changes();
    if (rest == "mount" || rest == "mount-elsewhere" || rest == "hold") {
        disk->content = rest == "hold" ? disk->content : "ext4";
        disk->use = rest == "mount" ? disk_use::mounted : rest == "hold" ? disk_use::held : disk_use::mounted_elsewhere;
    } else if (rest == "format") {
        disk->content = "ext4";
    } else if (rest == "table") {
        make_blank(*disk);
        disk->table = "gpt";
        auto& part = *disk->parts.emplace_back(std::make_shared<sim_block>());
        part.name = partition_name(disk->name, 1);
        part.number = shelf->new_number(259);
        part.type = "part";
        part.bytes = disk->bytes;
        part.content = "ext4";
        part.others_changed = world.now();
    } else if (rest == "lvm" || rest == "lvm-inactive") {
        make_blank(*disk);
        disk->group = disk_group{"data-" + disk->name, {"home"}, std::nullopt, rest == "lvm"};
    }
}

// "sdb": another disk goes by its name and number; "sde foreign": one with an OSD of another cluster, of the same
// number.
void swap_disk(cluster& world, const action& what, member& target) {
    std::string_view rest = what.value;
    const std::string name(next_word(rest));
    auto* const shelf = shelf_of(world, target);
    const auto old = shelf == nullptr ? nullptr : shelf->find("/dev/" + name);
    if (!old || shelf->disk_of(old) != old || old->serial.empty()) {
        return;
    }
    auto fresh = std::make_shared<sim_block>();
    fresh->name = old->name;
    fresh->number = old->number;
    fresh->bytes = old->bytes;
    fresh->type = old->type;
    fresh->model = old->model;
    fresh->serial = shelf->new_serial();
    fresh->wwn = "0x5000" + fresh->serial.substr(1);
    fresh->others_changed = world.now();
    if (rest == "foreign") {
        const int id = old->group && old->group->osd ? old->group->osd->id : 1;
        const std::string fsid = osds_of(world).new_fsid();
        fresh->group = disk_group{"ceph-" + fsid.substr(fsid.size() - 12),
                                  {"osd-block-" + fsid},
                                  osd_on_disk{id, fsid, "ffffffff-9179-4094-991a-d9f0db8449af"}};
    }
    *std::ranges::find(shelf->disks, old) = fresh;
    shelf->note_renamed(name, world.now());
}

// ---- tools and Ceph

// "fail sgdisk", "hang wipefs"
void spoil_tool(cluster& world, const action& what, member& target) {
    std::string_view rest = what.value;
    auto& osds = osds_of(world);
    if (!osds.is_on) {
        return;
    }
    auto& where = next_word(rest) == "hang" ? osds.hanging : osds.failing;
    const std::string tool(rest);
    where[target.name()].insert(tool);
    world.lasting(what, &target, false, [&where, machine = target.name(), tool] { where[machine].erase(tool); });
}

void slow_disks(cluster& world, const action& what, member& target) {
    auto& osds = osds_of(world);
    if (osds.is_on) {
        osds.slow[target.name()] = what.amount;
        world.lasting(what, &target, false, [&osds, machine = target.name()] { osds.slow.erase(machine); });
    }
}

void say_safety(cluster& world, const action& what) {
    auto& osds = osds_of(world);
    osds.says = what.value == "busy" ? safety::busy : safety::undecided;
    world.lasting(what, nullptr, false, [&osds] { osds.says = safety::by_state; });
}

// ---- how they are drawn

std::uint64_t often_with_osds(cluster& world) {
    return osds_of(world).is_on ? 10 : 0;
}

std::uint64_t with_osds(cluster& world) {
    return osds_of(world).is_on ? 2 : 0;
}

constexpr std::array<std::string_view, 16> device_spellings{"/dev/sdb",
                                                            "/dev/sdba",
                                                            "/dev/nvme0n1",
                                                            "/dev/loop1",
                                                            "/dev/loop11",
                                                            "/dev/disk/by-id/ata-ONE",
                                                            "/dev/disk/by-id/ata-ONE",
                                                            "/dev/disk/by-id/ata-TWO",
                                                            "/dev/disk/by-id/ata-TWO",
                                                            "/dev/disk/by-path/pci-1",
                                                            "/dev/disk/by-path/pci-1",
                                                            "/dev/loop1",
                                                            "detect:SAMSUNG:480GB:0",
                                                            "detect:samsung:480GB:1",
                                                            "/dev/sde",
                                                            "/dev/sdf"};
constexpr std::array<std::string_view, 6> names_in_use{"sdb", "sdb", "sdba", "nvme0n1", "loop1", "loop11"};

// Mostly one that this node has.
int some_osd(drawing& from, const std::string& node) {
    std::vector<int> own;
    for (const auto& disk : osds_of(from.world).shelf(node).disks) {
        if (disk->group && disk->group->osd) {
            own.push_back(disk->group->osd->id);
        }
    }
    const int any = static_cast<int>(from.random.below(5));
    return own.empty() || from.random.below(4) == 0 ? any : own[from.random.below(own.size())];
}

// While the command waits, or is about to erase.
void turn_meanwhile(drawing& from, const std::string& node, std::string_view link) {
    action& turned = from.follow_up(from.some_time(100ms, 60s), "turn-link");
    turned.node = node;
    turned.value = fmt::format("{} {}", link, from.one_of(names_in_use));
    turned.after_steps = from.random.below(40);
}

void draw_osd_command(drawing& from, action& out) {
    static constexpr std::array bad{"osd_add hv1",
                                    "osd_add hv1,sdb,1.0,False,0.05",
                                    "osd_remove x,True",
                                    "osd_remove 99,True",
                                    "osd_add hv1,detect:NOSUCH:1TB:0,1.0,False",
                                    "db_vg_add hv1,/dev/../sda",
                                    "osd_refresh hv1,0,/dev/sda,maybe",
                                    "db_vg_add hv1,/dev/sda"};
    const std::string node = from.some_member();
    const auto number = some_osd(from, node);
    const auto device = from.one_of(device_spellings);
    const auto other = from.one_of(device_spellings);
    const std::string_view flag = from.random.below(4) == 0 ? "True" : "False";
    switch (from.random.below(12)) {
        case 0:
        case 1:
        case 2: out.value = fmt::format("osd_add {},{},1.0,{},0.05", node, device, flag); break;
        case 3:
        case 4: out.value = fmt::format("osd_replace {},{},{},{},1.0,{}", node, number, other, device, flag); break;
        case 5: out.value = fmt::format("osd_refresh {},{},{},{}", node, number, device, flag); break;
        case 6:
        case 7:
        case 8: out.value = fmt::format("osd_remove {},{}", number, flag); break;
        case 9:
        case 10: out.value = fmt::format("db_vg_add {},{}", node, device); break;
        default: out.value = from.one_of(bad);
    }
    if (device.starts_with("/dev/disk/") && from.random.below(2) == 0) {
        turn_meanwhile(from, node, device);
    }
    // A client that has its answer, or does not want to wait for it any longer.
    if (from.random.below(2) == 0) {
        from.follow_up(from.some_time(100ms, 120s), "end-osd-command").after_steps = from.random.below(400);
    }
}

void draw_link(drawing& from, action& out) {
    static constexpr std::array links{"/dev/disk/by-id/ata-ONE", "/dev/disk/by-id/ata-TWO", "/dev/disk/by-path/pci-1"};
    out.node = from.some_member();
    const std::string_view link = from.one_of(links);
    out.value = fmt::format("{} {}", link, from.one_of(names_in_use));
}

void draw_use(drawing& from, action& out) {
    static constexpr std::array uses{"mount",        "mount-elsewhere",
                                     "hold",         "format",
                                     "table",        "lvm",
                                     "lvm-inactive", "free",
                                     "free",         "free",
                                     "wipe",         "wipe",
                                     "wipe"};
    out.node = from.some_member();
    const std::string_view name = from.one_of(names_in_use);
    out.value = fmt::format("{} {}", name, from.one_of(uses));
}

void draw_swap(drawing& from, action& out) {
    static constexpr std::array names{"sdb", "sdba", "nvme0n1", "sde", "sdf"};
    out.node = from.some_member();
    out.value = from.one_of(names);
    out.value += from.random.below(3) == 0 ? " foreign" : "";
}

void draw_tool(drawing& from, action& out) {
    static constexpr std::array tools{"lsblk",    "blkid",    "wipefs",    "sgdisk", "pvcreate",   "vgcreate",
                                      "lvcreate", "lvremove", "vgdisplay", "ceph",   "ceph-volume"};
    out.node = from.some_member();
    const std::string_view word = from.random.below(3) == 0 ? "hang" : "fail";
    out.value = fmt::format("{} {}", word, from.one_of(tools));
}

constexpr action_kind actions_on_osds[] = {
    {.name = "osd-command",
     .takes = "v",
     .meaning = "a client of schema 9 sends this command about OSDs",
     .on_cluster = send_command,
     .chance = drawn{.eighths = 8, .favour = often_with_osds, .arguments = draw_osd_command}},
    {.name = "end-osd-command",
     .meaning = "the client takes its command back, or has seen its answer",
     .on_cluster = take_command_back,
     .is_end = true},
    {.name = "turn-link",
     .takes = "nv",
     .meaning = "a link below /dev/disk leads to another disk: LINK NAME",
     .on_member = turn_link,
     .chance = drawn{.eighths = 6, .favour = often_with_osds, .arguments = draw_link}},
    {.name = "use-disk",
     .takes = "nv",
     .meaning =
         "somebody does to a disk: NAME mount, mount-elsewhere, hold, format, table, lvm, lvm-inactive, free, wipe",
     .on_member = use_disk,
     .chance = drawn{.eighths = 7, .favour = often_with_osds, .arguments = draw_use}},
    {.name = "swap-disk",
     .takes = "nv",
     .meaning = "another disk is plugged in under this name, `foreign` with an OSD of another cluster",
     .on_member = swap_disk,
     .chance = drawn{.favour = with_osds, .arguments = draw_swap}},
    {.name = "spoil-tool",
     .takes = "nv",
     .meaning = "a program for disks or Ceph will: fail NAME, hang NAME",
     .can_last = true,
     .on_member = spoil_tool,
     .chance = drawn{.favour = with_osds, .arguments = draw_tool}},
    {.name = "slow-disks",
     .takes = "nd",
     .meaning = "whatever reads a disk takes so long",
     .can_last = true,
     .on_member = slow_disks,
     .chance = drawn{.favour = with_osds,
                     .arguments =
                         [](drawing& from, action& out) {
                             out.node = from.some_member();
                             out.amount = from.some_time(100ms, 20s);
                         }}},
    {.name = "safety",
     .takes = "v",
     .meaning = "whether an OSD is safe to destroy Ceph answers: busy, undecided",
     .can_last = true,
     .on_cluster = say_safety,
     .words = std::pair<std::string_view, std::string_view>{"busy", "undecided"},
     .chance = drawn{.eighths = 6,
                     .favour = with_osds,
                     .arguments =
                         [](drawing& from, action& out) {
                             out.value = from.random.below(3) == 0 ? "busy" : "undecided";
                             out.lasts = from.some_time(5s, 600s);
                         }}},
};

}  // namespace

void add_osd_actions(registry& to) {
    to.add(actions_on_osds);
}

}  // namespace pvc::sim
