// Commands about OSDs, played to their end: programs answer by their beginnings, everything is written down.
#pragma once

#include "pvcnoded/base/text.hpp"
#include "pvcnoded/policy/ceph/osd_work.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace pvc::policy::osd_sample {

using namespace std::chrono_literals;
using texts = std::vector<std::string>;

inline const std::string fsid_seven = "0d8ea6ef-8c5a-4e7d-9f53-000000000001";
inline const std::string fsid_cluster = "d532ea08-9179-4094-991a-d9f0db8449af";
inline const std::string lsblk_seven =
    "lsblk --json --bytes --output NAME,PATH,MAJ:MIN,SIZE,WWN,SERIAL,TYPE,FSTYPE,PTTYPE,MOUNTPOINT ";
inline const std::string hold_seven = "wipefs --no-act --all ";
inline const std::string blkid_seven = "blkid --probe --output export ";
inline const std::string list_seven = "ceph-volume lvm list --format json ";

inline std::string listing(const std::string& id = "7", const std::string& device = "/dev/sdb") {
    return "{\"" + id + R"(": [{"type": "block", "devices": [")" + device +
           R"("], "lv_name": "osd-block-1", "vg_name": "ceph-1", "tags": {"ceph.osd_fsid": ")" + fsid_seven +
           R"(", "ceph.cluster_fsid": ")" + fsid_cluster + "\"}}]}";
}
struct shown_device {
    std::string name = "sdb";
    std::string number = "8:16";
    std::string size = "480103981056";
    std::string wwn = "\"0x5000\"";
    std::string serial = "\"S1\"";
    std::string type = "disk";
    std::string path{};
    std::vector<shown_device> above{};
};
inline std::string shown_as(const shown_device& one) {
    std::string text = R"({"name": ")" + one.name + R"(", "path": ")" +
                       (one.path.empty() ? "/dev/" + one.name : one.path) + R"(", "maj:min": ")" + one.number +
                       R"(", "size": )" + one.size + R"(, "wwn": )" + one.wwn + R"(, "serial": )" + one.serial +
                       R"(, "type": ")" + one.type + R"(", "fstype": null, "pttype": null, "mountpoint": null)";
    for (std::size_t at = 0; at < one.above.size(); ++at) {
        text +=
            (at == 0 ? R"(, "children": [)" : ", ") + shown_as(one.above[at]) + (at + 1 == one.above.size() ? "]" : "");
    }
    return text + "}";
}
inline std::string listed_as(const shown_device& one) {
    return R"({"blockdevices": [)" + shown_as(one) + "]}";
}
inline std::string block(const std::string& above = "") {
    shown_device disk;
    if (!above.empty()) {
        disk.above = {{.name = above, .number = "254:0", .type = "lvm"}};
    }
    return listed_as(disk);
}
// As it is behind sgdisk, by the name that the kernel gives the partition.
inline std::string partitioned(const std::string& path = "/dev/sdb1") {
    shown_device disk;
    disk.above = {{.name = "part", .number = "8:17", .type = "part", .path = path}};
    return listed_as(disk);
}

// Plays a work to its end: programs answer by their beginnings, everything is written down in one line each.
struct play {
    struct answer {
        int status = 0;
        std::string output{};
        std::string complaint{};
    };
    std::map<std::string, answer> says{};  // by the beginning of the line; the longest counts
    std::map<std::string, int> not_started{};
    stored_osd stored{{"osd.device", "/dev/sdb"}, {"osd.db_device", ""}, {"osd.vg", "ceph-1"},
                      {"osd.lv", "osd-block-1"},  {"osd.node", "hv1"},   {"osd.ofsid", fsid_seven},
                      {"osd.cfsid", fsid_cluster}};
    std::string partition_path = "/dev/sdb1";  // that the kernel makes of what sgdisk writes
    std::string read_fault{};
    std::string write_fault{};
    time_point now{1h};
    std::function<void(const std::string&)> at_line{};  // before a program answers

    texts lines{};
    texts changes{};  // those of the lines that change something
    texts notes{};
    std::vector<key_value> written{};
    osd_ask::end end{};

    play() {
        says["ceph osd create"] = {0, "7\n"};
        says["ceph osd ls"] = {0, "0\n1\n7\n"};
        says["lsblk "] = {0, block()};
        says["ceph-volume lvm list"] = {0, listing()};
        says["blockdev "] = {0, "480103981056\n"};
        says["blkid "] = {2, ""};
        says["lvdisplay "] = {5, ""};
        says["vgdisplay "] = {5, ""};
        says["lsscsi "] = {0, "[0:0:0:0] disk ATA SAMSUNG 904Q /dev/sdb 480GB\n"};
    }
    osd_said::program_end ended(const std::string& line) const {
        const answer* found = nullptr;
        std::size_t longest = 0;
        for (const auto& [beginning, one] : says) {
            if (line.starts_with(beginning) && beginning.size() >= longest) {
                found = &one;
                longest = beginning.size();
            }
        }
        osd_said::program_end said;
        if (not_started.contains(line)) {
            said.has_started = false;
            said.text = "no such program";
            return said;
        }
        said.status = found == nullptr ? 0 : found->status;
        said.output = found == nullptr ? "" : found->output;
        said.complaint = found == nullptr ? "" : found->complaint;
        said.text = line + ": exit status " + std::to_string(*said.status);
        return said;
    }
    osd_answer carry_out(const osd_question& ask) {
        if (const auto* program = std::get_if<osd_ask::program>(&ask)) {
            EXPECT_GE(program->limit, 10s);
            EXPECT_LE(program->limit, 10min);
            lines.push_back(join(program->arguments, " "));
            if (program->is_change) {
                changes.push_back(lines.back());
            }
            now += 1s;
            if (at_line) {
                at_line(lines.back());
            }
            auto said = ended(lines.back());
            if (said.status == 0 && lines.back().starts_with("ceph-volume lvm zap")) {
                says["lsblk "].output = block();
            } else if (said.status == 0 && lines.back().starts_with("sgdisk --new")) {
                says["lsblk "].output = partitioned(partition_path);
            }
            return said;
        }
        if (const auto* pause = std::get_if<osd_ask::pause>(&ask)) {
            now += pause->time;
            return osd_said::nothing{};
        }
        if (std::holds_alternative<osd_ask::read_keys>(ask)) {
            lines.emplace_back("(read)");
            return osd_said::stored_keys{read_fault, stored};
        }
        lines.emplace_back(std::holds_alternative<osd_ask::write_keys>(ask) ? "(write)" : "(remove)");
        changes.push_back(lines.back());
        if (const auto* write = std::get_if<osd_ask::write_keys>(&ask)) {
            written = write->values;
        }
        return osd_said::write_end{write_fault};
    }
    play& run(const std::string& command) {
        osd_work work(*model::parse_osd_command(command), "hv1");
        osd_answer answer;
        for (int steps = 0; steps < 100'000; ++steps) {
            auto step = work.resume(answer, now);
            for (const auto& note : step.notes) {
                notes.push_back((note.is_warning ? "! " : "") + note.text);
            }
            if (const auto* over = std::get_if<osd_ask::end>(&step.ask)) {
                end = *over;
                return *this;
            }
            answer = carry_out(step.ask);
        }
        ADD_FAILURE() << "it does not end";
        return *this;
    }
};

inline const std::string add_text = "osd_add hv1,/dev/sdb,1.0,False,0.05";
inline const std::string add_db_text = "osd_add hv1,/dev/sdb,1.0,True,0.05";
inline const std::string replace_text = "osd_replace hv1,7,/dev/sda,/dev/sdb,1.5,False";
inline const std::string refresh_text = "osd_refresh hv1,7,/dev/sdb,True";
inline const std::string remove_text = "osd_remove 7,False";
inline const std::string force_text = "osd_remove 7,True";
inline const std::string group_text = "db_vg_add hv1,/dev/sdb";

inline const texts add_lines{lsblk_seven + "/dev/sdb",
                             blkid_seven + "/dev/sdb",
                             hold_seven + "/dev/sdb",
                             "ceph osd create",
                             "ceph osd rm 7",
                             lsblk_seven + "/dev/sdb",
                             blkid_seven + "/dev/sdb",
                             hold_seven + "/dev/sdb",
                             "ceph-volume lvm zap --destroy /dev/sdb",
                             lsblk_seven + "/dev/sdb",
                             hold_seven + "/dev/sdb",
                             "ceph-volume lvm prepare --bluestore --data /dev/sdb",
                             list_seven + "/dev/sdb",
                             "ceph-volume lvm activate --bluestore 7 " + fsid_seven,
                             "ceph osd crush add osd.7 1.0 root=default host=hv1",
                             "systemctl status ceph-osd@7",
                             "(write)"};
inline const texts replace_lines{"ceph osd ls",
                                 "(read)",
                                 lsblk_seven + "/dev/sdb",
                                 blkid_seven + "/dev/sdb",
                                 hold_seven + "/dev/sdb",
                                 "ceph osd down 7",
                                 "ceph osd out 7",
                                 "ceph osd safe-to-destroy osd.7",
                                 lsblk_seven + "/dev/sdb",
                                 blkid_seven + "/dev/sdb",
                                 hold_seven + "/dev/sdb",
                                 "systemctl stop ceph-osd@7",
                                 "ceph osd destroy 7 --yes-i-really-mean-it",
                                 "ceph osd crush reweight osd.7 1.5",
                                 lsblk_seven + "/dev/sdb",
                                 blkid_seven + "/dev/sdb",
                                 hold_seven + "/dev/sdb",
                                 "ceph-volume lvm zap --destroy /dev/sdb",
                                 lsblk_seven + "/dev/sdb",
                                 hold_seven + "/dev/sdb",
                                 "ceph-volume lvm prepare --osd-id 7 --bluestore --data /dev/sdb",
                                 list_seven + "/dev/sdb",
                                 "ceph-volume lvm activate --bluestore 7 " + fsid_seven,
                                 "systemctl status ceph-osd@7",
                                 "(write)"};
inline const texts refresh_lines{"ceph osd ls",
                                 lsblk_seven + "/dev/sdb",
                                 list_seven + "/dev/sdb",
                                 "ceph-volume lvm activate --bluestore 7 " + fsid_seven,
                                 "systemctl status ceph-osd@7",
                                 "(write)"};
inline const texts remove_lines{"ceph osd ls",
                                "(read)",
                                list_seven + "/dev/ceph-1/osd-block-1",
                                lsblk_seven + "/dev/sdb",
                                blkid_seven + "/dev/sdb",
                                hold_seven + "/dev/sdb",
                                "ceph osd down 7",
                                "ceph osd out 7",
                                "ceph osd safe-to-destroy osd.7",
                                lsblk_seven + "/dev/sdb",
                                blkid_seven + "/dev/sdb",
                                hold_seven + "/dev/sdb",
                                "systemctl stop ceph-osd@7",
                                lsblk_seven + "/dev/sdb",
                                blkid_seven + "/dev/sdb",
                                hold_seven + "/dev/sdb",
                                "ceph-volume lvm zap --destroy /dev/sdb",
                                "ceph osd purge 7 --yes-i-really-mean-it",
                                "(remove)"};
inline const texts group_lines{"vgdisplay osd-db",           lsblk_seven + "/dev/sdb",
                               blkid_seven + "/dev/sdb",     hold_seven + "/dev/sdb",
                               "sgdisk --clear /dev/sdb",    lsblk_seven + "/dev/sdb",
                               hold_seven + "/dev/sdb",      "sgdisk --new 1:: --typecode 1:8e00 /dev/sdb",
                               lsblk_seven + "/dev/sdb",     hold_seven + "/dev/sdb1",
                               "pvcreate --force /dev/sdb1", lsblk_seven + "/dev/sdb",
                               hold_seven + "/dev/sdb1",     "vgcreate --force osd-db /dev/sdb1"};

inline bool is_erasing(const std::string& line) {
    return line.find("zap") != std::string::npos || line.find("sgdisk") != std::string::npos;
}

}  // namespace pvc::policy::osd_sample
