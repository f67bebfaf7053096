// Stand-ins for the programs that a daemon runs for OSDs: they read and change the disks of their machine and the OSDs
// of the cluster, and say what the real ones say. What a program is about is made out when it starts, as a real one
// opens its device then; what it does is done when it ends by itself.
#include "sim/subjects/osds/osds.hpp"

#include "pvcnoded/base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace pvc::sim {

namespace {

using namespace std::chrono_literals;
using program = sim_program;
using words = std::vector<std::string>;

constexpr duration never_ends = 24h;
// How long the data of an OSD that was marked out is on the move.
constexpr duration backfill_time = 30s;
constexpr int no_such_device = 32;  // of lsblk
constexpr int busy_status = 16;
constexpr int undecided_status = 11;
constexpr int absent_status = 5;  // of LVM's tools

program tool_says(std::string output, duration takes = 20ms) {
    return {.output = std::move(output), .takes = takes};
}

program tool_fails(int status, std::string error, duration takes = 20ms) {
    return {.how = async::exited{status}, .error_output = error + "\n", .takes = takes};
}

program tool_does(duration takes, std::function<void()> effect) {
    return {.takes = takes, .effect = std::move(effect)};
}

program no_device(const std::string& tool, const std::string& path, int status = 1) {
    return tool_fails(status, fmt::format("{}: {}: No such file or directory", tool, path));
}

std::string quoted_or_null(const std::string& text) {
    return text.empty() ? "null" : '"' + text + '"';
}

std::string mapper_name(const std::string& group, const std::string& volume) {
    std::string out;
    for (const char c : group) {
        out.append(c == '-' ? 2 : 1, c);
    }
    out += '-';
    for (const char c : volume) {
        out.append(c == '-' ? 2 : 1, c);
    }
    return out;
}

std::string block_content(const sim_block& block) {
    return block.group ? "LVM2_member" : block.content;
}

std::string lsblk_row(const sim_block& block, const std::string& table, const std::string& children) {
    return fmt::format(
        R"({{"name":"{0}","path":"/dev/{0}","maj:min":"{1}","size":{2},"wwn":{3},"serial":{4},"type":"{5}","fstype":{6},"pttype":{7},"mountpoint":{8}{9}}})",
        block.name, block.number, block.bytes, quoted_or_null(block.wwn), quoted_or_null(block.serial), block.type,
        quoted_or_null(block_content(block)), quoted_or_null(table),
        block.use == disk_use::mounted ? "\"/srv\"" : "null",
        children.empty() ? "" : ",\"children\":[" + children + "]");
}

std::string volumes_on(const sim_block& block) {
    std::string out;
    if (block.group && block.group->is_active) {
        for (std::size_t i = 0; i < block.group->volumes.size(); ++i) {
            const std::string mapped = mapper_name(block.group->name, block.group->volumes[i]);
            out += fmt::format(
                R"({0}{{"name":"{1}","path":"/dev/mapper/{1}","maj:min":"254:{2}","size":1048576,"wwn":null,"serial":null,"type":"lvm","fstype":{3},"pttype":null,"mountpoint":null}})",
                out.empty() ? "" : ",", mapped, i, block.group->osd ? "\"ceph_bluestore\"" : "null");
        }
    }
    return out;
}

std::string lsblk_text(const sim_block& block, const std::string& table) {
    std::string children = volumes_on(block);
    for (const auto& part : block.parts) {
        children += (children.empty() ? "" : ",") + lsblk_row(*part, block.table, volumes_on(*part));
    }
    return lsblk_row(block, table, children);
}

// The programs of one machine.
class osd_tools {
public:
    osd_tools(cluster& world, std::string machine)
        : world_(world), osds_(osds_of(world)), shelf_(osds_.shelf(machine)), machine_(std::move(machine)) {}

    std::optional<program> run(const words& line) {
        static constexpr std::pair<std::string_view, std::optional<program> (osd_tools::*)(const words&)> all[] = {
            {"lsblk", &osd_tools::lsblk},         {"blkid", &osd_tools::blkid},
            {"wipefs", &osd_tools::wipefs},       {"blockdev", &osd_tools::blockdev},
            {"lsscsi", &osd_tools::lsscsi},       {"sgdisk", &osd_tools::sgdisk},
            {"pvcreate", &osd_tools::pvcreate},   {"vgcreate", &osd_tools::vgcreate},
            {"vgdisplay", &osd_tools::vgdisplay}, {"lvdisplay", &osd_tools::lvdisplay},
            {"lvcreate", &osd_tools::lvcreate},   {"lvremove", &osd_tools::lvremove},
            {"ceph", &osd_tools::ceph},           {"ceph-volume", &osd_tools::ceph_volume},
            {"systemctl", &osd_tools::systemctl},
        };
        const auto* found = std::ranges::find(all, line.front(), [](const auto& one) { return one.first; });
        if (found == std::end(all)) {
            return std::nullopt;
        }
        tell(line);
        if (osds_.failing[machine_].contains(line.front())) {
            return tool_fails(1, line.front() + ": Input/output error");
        }
        auto made = (this->*found->second)(line);
        if (made && osds_.hanging[machine_].contains(line.front())) {
            made->takes = never_ends;
            made->ignores_term = true;
        }
        const bool looks_at_disks =
            line.front() == "blkid" || line.front() == "wipefs";  // and lsblk only at the kernel
        if (const auto slow = osds_.slow.find(machine_); made && looks_at_disks && slow != osds_.slow.end()) {
            made->takes = slow->second;
        }
        return made;
    }

private:
    // The rules see it before it does anything.
    void tell(const words& line) {
        tool_run seen{machine_, line, {}, nullptr, false};
        for (const auto& word : line) {
            seen.path = word.starts_with("/dev/") ? word : seen.path;
        }
        seen.device = seen.path.empty() ? nullptr : shelf_.find(seen.path);
        const auto& tool = line.front();
        seen.writes = tool == "sgdisk" || tool == "pvcreate" || tool == "vgcreate" ||
                      (tool == "wipefs" && std::ranges::find(line, "--no-act") == line.end()) ||
                      (tool == "ceph-volume" && line.size() > 2 && (line[2] == "zap" || line[2] == "prepare"));
        for (const auto& told : osds_.on_run) {
            told(seen);
        }
        static constexpr std::array<std::string_view, 7> harmless{"lsblk",  "blkid",     "wipefs",   "blockdev",
                                                                  "lsscsi", "vgdisplay", "lvdisplay"};
        const bool is_question = std::ranges::find(harmless, tool) != harmless.end() || seen.is("ceph osd ls") ||
                                 seen.is("ceph osd safe-to-destroy") || seen.is("ceph-volume lvm list") ||
                                 seen.is("systemctl status");
        const std::string text = join(line, " ");
        world_.hash.add(text);
        if (!is_question) {
            for (const auto& told : world_.on_program) {
                told(machine_, text);
            }
        }
    }
    [[nodiscard]] block_pointer last_device(const words& line) const { return shelf_.find(line.back()); }

    // ---- looks

    std::optional<program> lsblk(const words& line) {
        const auto device = last_device(line);
        if (!device) {
            return tool_fails(no_such_device, "lsblk: " + line.back() + ": not a block device");
        }
        const auto disk = shelf_.disk_of(device);
        return tool_says("{\"blockdevices\":[" + lsblk_text(*device, disk->table) + "]}\n");
    }
    std::optional<program> blkid(const words& line) {
        const auto device = last_device(line);
        if (!device) {
            return no_device("blkid: error", line.back(), 2);
        }
        std::string out = "DEVNAME=" + line.back() + "\n";
        const std::string content = block_content(*device);
        out += content.empty() ? "" : "TYPE=" + content + "\n";
        out += device->table.empty() ? "" : "PTTYPE=" + device->table + "\n";
        const bool has_any = !content.empty() || !device->table.empty();
        auto said = tool_says(has_any ? out : "", 30ms);
        said.how = async::exited{has_any ? 0 : 2};
        return said;
    }
    std::optional<program> wipefs(const words& line) {
        const auto device = last_device(line);
        if (!device) {
            return no_device("wipefs: error", line.back());
        }
        const auto disk = shelf_.disk_of(device);
        const bool is_open = device->use != disk_use::none || disk->use != disk_use::none ||
                             (device->group && device->group->is_active && !device->group->volumes.empty());
        return is_open ? tool_fails(1, fmt::format("wipefs: error: {}: probing initialization failed: Device or "
                                                   "resource busy",
                                                   line.back()))
                       : tool_says("");
    }
    std::optional<program> blockdev(const words& line) {
        const auto device = last_device(line);
        return device ? tool_says(std::to_string(device->bytes) + "\n")
                      : no_device("blockdev: cannot open", line.back());
    }
    std::optional<program> lsscsi(const words& /*line*/) {
        std::string out = "[0:0:0:0]    enclosu AHCI     SGPIO Enclosure  2.00  -               -\n";
        for (const auto& disk : shelf_.disks) {
            if (!disk->model.empty()) {
                out += fmt::format("[1:0:0:0]    disk    ATA      {}  904Q  /dev/{}  480GB\n", disk->model, disk->name);
            }
        }
        return tool_says(std::move(out));
    }

    // ---- tables and LVM

    std::optional<program> sgdisk(const words& line) {
        const auto device = last_device(line);
        if (!device) {
            return tool_fails(2, "Problem opening " + line.back() + " for reading! Error is 2.");
        }
        if (line[1] == "--clear") {
            return tool_does(500ms, [device] {
                make_blank(*device);
                device->table = "gpt";
            });
        }
        if (!device->parts.empty()) {
            return tool_fails(4, "Could not create partition 1 from 0 to 0");
        }
        return tool_does(500ms, [this, device] {
            device->table = "gpt";
            auto& part = *device->parts.emplace_back(std::make_shared<sim_block>());
            part.name = partition_name(device->name, 1);
            part.number = shelf_.new_number(259);
            part.bytes = device->bytes - 2'097'152;
            part.type = "part";
        });
    }
    std::optional<program> pvcreate(const words& line) {
        const auto device = last_device(line);
        if (!device) {
            return tool_fails(absent_status, "  Device " + line.back() + " not found.");
        }
        return tool_does(1s, [device] {
            make_blank(*device);
            device->group = disk_group{};
        });
    }
    std::optional<program> vgcreate(const words& line) {
        const auto device = last_device(line);
        const std::string name = line.size() > 2 ? line[line.size() - 2] : "";
        if (!device || !device->group || !device->group->name.empty() || shelf_.with_group(name)) {
            return tool_fails(absent_status, "  A volume group called " + name + " cannot be made.");
        }
        return tool_does(1s, [device, name] {
            if (device->group && device->group->name.empty()) {
                device->group->name = name;
            }
        });
    }
    std::optional<program> vgdisplay(const words& line) {
        return shelf_.with_group(line.back())
                   ? tool_says("  --- Volume group ---\n", 200ms)
                   : tool_fails(absent_status, "  Volume group \"" + line.back() + "\" not found", 200ms);
    }
    // "osd-db/osd-7", "/dev/osd-db/osd-7"
    [[nodiscard]] std::pair<block_pointer, std::string> volume_of(std::string path) const {
        path = path.starts_with("/dev/") ? path.substr(5) : path;
        const auto slash = std::min(path.find('/'), path.size());
        const std::string name = path.substr(std::min(slash + 1, path.size()));
        auto device = shelf_.with_group(path.substr(0, slash));
        const bool is_there = device && std::ranges::find(device->group->volumes, name) != device->group->volumes.end();
        return {is_there ? device : nullptr, name};
    }
    std::optional<program> lvdisplay(const words& line) {
        return volume_of(line.back()).first
                   ? tool_says("  --- Logical volume ---\n", 200ms)
                   : tool_fails(absent_status, "  Failed to find logical volume \"" + line.back() + "\"", 200ms);
    }
    std::optional<program> lvcreate(const words& line) {
        const auto device = shelf_.with_group(line.back());
        const auto name = std::ranges::find(line, "--name");
        if (!device || name == line.end()) {
            return tool_fails(absent_status, "  Volume group \"" + line.back() + "\" not found");
        }
        return tool_does(1s, [device, volume = *(name + 1)] {
            if (device->group) {
                device->group->volumes.push_back(volume);
            }
        });
    }
    std::optional<program> lvremove(const words& line) {
        const auto [device, name] = volume_of(line.back());
        if (!device) {
            return tool_fails(absent_status, "  Failed to find logical volume \"" + line.back() + "\"");
        }
        return tool_does(1s, [device, name] {
            if (device->group) {
                std::erase(device->group->volumes, name);
            }
        });
    }

    // ---- Ceph

    [[nodiscard]] sim_ceph& monitors() { return world_.hardware.ceph; }
    [[nodiscard]] bool has(int id) { return osds_.entries.contains(id); }
    void leave(int id) {
        monitors().osds.erase(id);
        osds_.entries.erase(id);
        monitors().change();
    }
    int lowest_free() {
        int id = 0;
        while (has(id)) {
            ++id;
        }
        return id;
    }
    int join_osd(int id) {
        osds_.entries[id] = {};
        monitors().osds[id] = {.host = machine_, .is_up = false, .is_in = false};
        monitors().change();
        return id;
    }
    int safety_of(int id) {
        if (!has(id)) {
            return 0;
        }
        if (osds_.says != safety::by_state) {
            return osds_.says == safety::busy ? busy_status : undecided_status;
        }
        const auto& entry = osds_.entries[id];
        const bool is_degraded = std::ranges::any_of(
            monitors().osds, [&](const auto& one) { return one.first != id && has(one.first) && !one.second.is_up; });
        if (!monitors().osds[id].is_up && is_degraded) {
            return undecided_status;
        }
        return !entry.is_out || world_.now() < entry.busy_until ? busy_status : 0;
    }
    std::optional<program> ceph(const words& line) {
        if (monitors().refusal || monitors().cut_off.contains(machine_)) {
            return tool_fails(1, "[errno 13] RADOS permission denied (error connecting to the cluster)", 300ms);
        }
        const std::string what = join(words(line.begin() + 1, line.end()), " ");
        const bool of_manager = what.starts_with("osd safe-to-destroy");
        auto made = what.starts_with("osd crush") ? std::optional(tool_says("", 300ms)) : ceph_osd(line, what);
        if (made && (monitors().hangs || (of_manager && !monitors().has_manager))) {
            made->takes = never_ends;
        }
        return made;
    }
    std::optional<program> ceph_osd(const words& line, const std::string& what) {
        if (what == "osd create") {
            auto made = tool_says(std::to_string(lowest_free()) + "\n", 300ms);
            made.effect = [this, id = lowest_free()] { join_osd(id); };
            return made;
        }
        if (what == "osd ls") {
            std::string out;
            for (const auto& [id, entry] : osds_.entries) {
                out += std::to_string(id) + "\n";
            }
            return tool_says(std::move(out), 300ms);
        }
        const auto verb = line.size() > 2 ? line[2] : std::string();
        const std::string name = line.size() > 3 ? line[3] : "";
        const int id = static_cast<int>(parse_integer(name.starts_with("osd.") ? name.substr(4) : name).value_or(-1));
        if (verb == "safe-to-destroy") {
            return told_safety(id);
        }
        if (!has(id)) {
            return tool_fails(verb == "rm" ? 0 : 2, fmt::format("osd.{} does not exist. ", id), 300ms);
        }
        return tool_does(300ms, [this, verb, id] { change_osd(verb, id); });
    }
    program told_safety(int id) {
        const int status = safety_of(id);
        auto made = status == 0 ? tool_says(fmt::format("OSD(s) {} are safe to destroy without reducing data "
                                                        "durability.\n",
                                                        id),
                                            300ms)
                    : status == busy_status
                        ? tool_fails(status,
                                     fmt::format("Error EBUSY: OSD(s) {} have 12 pgs currently mapped to "
                                                 "them. ",
                                                 id),
                                     300ms)
                        : tool_fails(status,
                                     fmt::format("Error EAGAIN: OSD(s) {} have no reported stats, and not all PGs are "
                                                 "active+clean; we cannot draw any conclusions. ",
                                                 id),
                                     300ms);
        made.effect = [this, id, status] {
            for (const auto& told : osds_.on_safety) {
                told(machine_, id, status);
            }
        };
        return made;
    }
    void change_osd(const std::string& verb, int id) {
        if (!has(id)) {
            return;
        }
        auto& entry = osds_.entries[id];
        auto& figures = monitors().osds[id];
        if (verb == "rm" || verb == "purge") {
            leave(id);
            return;
        }
        if (verb == "destroy") {
            entry.fsid.clear();
            figures.is_up = false;
        } else if (verb == "out" && !entry.is_out) {
            entry.is_out = true;
            figures.is_in = false;
            entry.busy_until = world_.now() + backfill_time;
        }
        monitors().change();
    }
    std::optional<program> ceph_volume(const words& line) {
        const std::string verb = line.size() > 2 ? line[2] : "";
        if (verb == "list") {
            return volume_list(line);
        }
        if (verb == "activate") {
            return activate(line);
        }
        const auto device = last_device(verb == "prepare" ? words{*(std::ranges::find(line, "--data") + 1)} : line);
        if (!device) {
            return tool_fails(1, "stderr: lsblk: " + line.back() + ": not a block device", 800ms);
        }
        if (verb == "zap") {
            return tool_does(3s, [device] { make_blank(*device); });
        }
        return verb == "prepare" ? prepare(line, device) : std::nullopt;
    }
    std::optional<program> prepare(const words& line, const block_pointer& device) {
        const auto wanted = std::ranges::find(line, "--osd-id");
        const int id =
            wanted == line.end() ? lowest_free() : static_cast<int>(parse_integer(*(wanted + 1)).value_or(-1));
        const bool is_taken = wanted != line.end() && (!has(id) || !osds_.entries[id].fsid.empty());
        if (is_taken || !device->table.empty() || device->group || device->use != disk_use::none) {
            return tool_fails(1,
                              is_taken ? fmt::format("-->  RuntimeError: The osd ID {} is already in use or does "
                                                     "not exist.",
                                                     id)
                                       : "-->  RuntimeError: unable to prepare device",
                              800ms);
        }
        return tool_does(8s, [this, device, id] {
            make_blank(*device);
            join_osd(id);
            auto& entry = osds_.entries[id];
            entry.fsid = osds_.new_fsid();
            device->group = disk_group{"ceph-" + entry.fsid.substr(entry.fsid.size() - 12),
                                       {"osd-block-" + entry.fsid},
                                       osd_on_disk{id, entry.fsid, osd_cluster_fsid}};
        });
    }
    std::optional<program> activate(const words& line) {
        const int id = static_cast<int>(parse_integer(line[line.size() - 2]).value_or(-1));
        const bool is_here = std::ranges::any_of(shelf_.disks, [&](const block_pointer& one) {
            return one->group && one->group->osd && one->group->osd->id == id && one->group->osd->fsid == line.back();
        });
        if (!is_here || !has(id) || osds_.entries[id].fsid != line.back()) {
            return tool_fails(1, "-->  RuntimeError: could not find osd." + std::to_string(id), 800ms);
        }
        return tool_does(2s, [this, id] {
            if (has(id)) {
                osds_.entries[id].is_out = false;
                monitors().osds[id] = {.host = machine_};
                monitors().change();
            }
        });
    }
    std::optional<program> volume_list(const words& line) {
        const auto device = last_device(line);
        if (!device || !device->group || !device->group->osd) {
            return tool_says("{}\n", 800ms);
        }
        const auto& group = *device->group;
        return tool_says(
            fmt::format(
                R"({{"{0}": [{{"devices": ["/dev/{1}"], "lv_name": "{2}", "vg_name": "{3}", "type": "block", "tags": {{"ceph.osd_fsid": "{4}", "ceph.cluster_fsid": "{5}", "ceph.osd_id": "{0}"}}}}]}})",
                group.osd->id, device->name, group.volumes.front(), group.name, group.osd->fsid, group.osd->cluster),
            800ms);
    }
    std::optional<program> systemctl(const words& line) {
        const std::string unit = line.back();
        const int id =
            static_cast<int>(parse_integer(unit.substr(std::min(unit.find('@') + 1, unit.size()))).value_or(-1));
        const auto found = monitors().osds.find(id);
        const bool runs = found != monitors().osds.end() && found->second.is_up;
        if (line[1] == "status") {
            return runs ? tool_says("active (running)\n") : tool_fails(3, "");
        }
        return tool_does(2s, [this, id] {
            if (const auto one = monitors().osds.find(id); one != monitors().osds.end()) {
                one->second.is_up = false;
                monitors().change();
            }
        });
    }

    cluster& world_;
    osd_world& osds_;
    disk_shelf& shelf_;
    std::string machine_;
};

}  // namespace

void install_osd_tools(cluster& world) {
    world.hardware.programs = [&world, all = std::map<std::string, std::shared_ptr<osd_tools>>()](
                                  const std::string& machine, const async::command& what) mutable {
        auto& tools = all[machine];
        if (!tools) {
            tools = std::make_shared<osd_tools>(world, machine);
        }
        return what.arguments.empty() ? std::nullopt : tools->run(what.arguments);
    };
}

}  // namespace pvc::sim
