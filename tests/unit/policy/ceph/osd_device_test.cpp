// Which device a command about OSDs writes to: the one that was named, that nobody else has, and whose OSD it is
// (storage.md 8.4; README ruling 84).
#include "unit/policy/ceph/osd_play.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace pvc::policy {
namespace {

using namespace osd_sample;

// The kernel names a partition; what is appended to a name that ends in a digit is another disk (/dev/loop11).
TEST(osd_device, a_partition_is_named_by_the_kernel) {
    for (const auto& [device, path] :
         {std::pair{"/dev/sdb", "/dev/sdb1"}, std::pair{"/dev/loop1", "/dev/loop1p1"},
          std::pair{"/dev/nbd0", "/dev/nbd0p1"}, std::pair{"/dev/pmem0", "/dev/pmem0p1"},
          std::pair{"/dev/rbd3", "/dev/rbd3p1"}, std::pair{"/dev/mmcblk0", "/dev/mmcblk0p1"},
          std::pair{"/dev/mapper/mpatha", "/dev/mapper/mpatha-part1"},
          std::pair{"/dev/mapper/mpath1", "/dev/mapper/mpath1p1"},
          std::pair{"/dev/disk/by-id/nvme-x", "/dev/nvme0n1p1"}, std::pair{"/dev/disk/by-path/pci-0", "/dev/sdb1"}}) {
        play group;
        group.partition_path = path;
        group.run(std::string("db_vg_add hv1,") + device);
        EXPECT_TRUE(group.end.is_done) << group.end.reason;
        EXPECT_EQ(group.lines.back(), std::string("vgcreate --force osd-db ") + path);
        EXPECT_EQ(std::ranges::count(group.lines, std::string("pvcreate --force ") + path), 1) << device;
    }
    struct row {
        std::string shown;
        std::string why;
    };
    shown_device two;
    two.above = {{.name = "sdb1", .type = "part"}, {.name = "sdb2", .type = "part"}};
    shown_device other;
    other.above = {{.name = "vg-root", .type = "lvm"}};
    shown_device used;
    used.above = {{.name = "sdb1", .type = "part", .above = {{.name = "vg-root", .type = "lvm"}}}};
    for (const auto& [shown, why] :
         {row{block(), "/dev/sdb cannot be used: no partition appeared on it"},
          row{listed_as(two), "/dev/sdb cannot be used: sdb2 stands on it"},
          row{listed_as(other), "/dev/sdb cannot be used: vg-root stands on it"},
          row{listed_as(used), "/dev/sdb cannot be used: vg-root stands on its partition"},
          row{partitioned("/dev/../etc/passwd"),
              "/dev/sdb cannot be used: its partition has no name that can be used: /dev/../etc/passwd"}}) {
        play group;
        group.at_line = [&](const std::string& line) {
            if (line.starts_with("lsblk ") && std::ranges::count(group.lines, group_lines[7]) == 1) {
                group.says["lsblk "].output = shown;
            }
        };
        group.run(group_text);
        EXPECT_EQ(group.end, (osd_ask::end{false, why}));
        EXPECT_EQ(group.changes.back(), group_lines[7]) << "nothing is made of it";
    }
    // One that was made anew between two steps.
    play anew;
    anew.at_line = [&](const std::string& line) {
        if (line.starts_with("pvcreate")) {
            anew.says["lsblk "].output = partitioned("/dev/sdb2");
        }
    };
    anew.run(group_text);
    EXPECT_EQ(anew.end.reason, "/dev/sdb cannot be used: its partition is not the one that was made");
}

// A link that points elsewhere, a disk that was exchanged, a file system that was made: meanwhile takes up to a day.
TEST(osd_device, a_device_is_the_one_that_it_was_at_the_first_look) {
    struct row {
        shown_device now;
        std::string why;
    };
    const std::vector<row> rows{
        {{.number = "8:32"}, "it was device 8:16 when the command came, and is 8:32 now"},
        {{.size = "1000"}, "it had 480103981056 bytes when the command came, and has 1000 now"},
        {{.wwn = "\"0x5001\""}, "its serial number or WWN is not the one of when the command came"},
        {{.serial = "null"}, "its serial number or WWN is not the one of when the command came"}};
    const std::string linked = "osd_replace hv1,7,/dev/sda,/dev/disk/by-id/x,1.5,False";
    for (const auto& [now, why] : rows) {
        struct moment {
            std::string command;
            std::string behind;  // which line it happens
            std::string device = "/dev/sdb";
        };
        for (const auto& [command, behind, device] :
             {moment{remove_text, "ceph osd safe-to-destroy"}, moment{remove_text, "systemctl stop"},
              moment{linked, "ceph osd safe-to-destroy", "/dev/disk/by-id/x"},
              moment{linked, "ceph osd crush", "/dev/disk/by-id/x"},
              moment{linked, "ceph-volume lvm zap", "/dev/disk/by-id/x"}, moment{add_text, "ceph osd create"},
              moment{add_text, "ceph-volume lvm zap"}, moment{group_text, "sgdisk --clear"}}) {
            play one;
            bool is_changed = false;
            one.at_line = [&](const std::string& line) {
                if (line.starts_with("lsblk ") && is_changed) {
                    one.says["lsblk "].output = listed_as(now);
                }
                is_changed = is_changed || line.starts_with(behind);
            };
            one.run(command);
            EXPECT_EQ(one.end, (osd_ask::end{false, device + " is not erased: " + why})) << command << ", " << behind;
            EXPECT_TRUE(one.lines.back().starts_with("lsblk "));
        }
    }
    // What was mounted nowhere and on nothing, but written.
    play written;
    written.at_line = [&](const std::string& line) {
        if (line.find("safe-to-destroy") != std::string::npos) {
            written.says["blkid "] = {0, "TYPE=ext4\n"};
        }
    };
    written.run(linked);
    EXPECT_EQ(written.end.reason,
              "/dev/disk/by-id/x is not erased: something else is written on it than when the command came: ext4");
    EXPECT_EQ(std::ranges::count(written.lines, "systemctl stop ceph-osd@7"), 0);
    // What the work left behind itself.
    play left;
    left.at_line = [&](const std::string& line) {
        if (line.starts_with("ceph-volume lvm prepare") || line == "blockdev --getsize64 /dev/sdb") {
            ADD_FAILURE() << line;
        }
        if (line.starts_with("lsblk ") && std::ranges::count(left.lines, add_lines[8]) == 1) {
            left.says["lsblk "].output = block("vg-root");
        }
    };
    left.run(add_text);
    EXPECT_EQ(left.end.reason, "/dev/sdb is not erased: vg-root stands on it still, or anew");
}

// Mounted where this process does not see it, or opened for himself by somebody.
TEST(osd_device, a_device_that_somebody_has_for_himself_is_in_use) {
    for (const auto& command : {add_text, replace_text, remove_text, group_text}) {
        play one;
        one.says["wipefs "] = {1, ""};
        one.run(command);
        EXPECT_EQ(one.end, (osd_ask::end{false,
                                         "/dev/sdb is not erased: it cannot be had exclusively, so somebody uses "
                                         "it: wipefs --no-act --all /dev/sdb: exit status 1"}));
        EXPECT_EQ(one.changes, texts{}) << command;
    }
    // Also what is only had by then.
    play later;
    later.at_line = [&](const std::string& line) {
        if (line == "ceph osd create") {
            later.says["wipefs "] = {1, ""};
        }
    };
    later.run(add_text);
    EXPECT_FALSE(later.end.is_done);
    EXPECT_TRUE(std::ranges::none_of(later.changes, is_erasing));
    // blkid has one status for what is blank and for what it could not read.
    play unread;
    unread.says["blkid "] = {2, "", "blkid: error: /dev/sdb: Input/output error"};
    unread.run(add_text);
    EXPECT_EQ(unread.end,
              (osd_ask::end{false, "/dev/sdb cannot be looked at: " + blkid_seven + "/dev/sdb: exit status 2"}));
    EXPECT_EQ(unread.changes, texts{});
}

TEST(osd_device, an_osd_of_another_node_is_left_alone) {
    for (const auto& command : {replace_text, remove_text, force_text}) {
        for (const std::string& node : {"hv2", "HV1", ""}) {
            play one;
            one.stored[4].value = node;
            one.run(command);
            EXPECT_EQ(one.end,
                      (osd_ask::end{false, node.empty() ? "its keys do not say that it is this node's"
                                                        : "it is an OSD of node " + node + ", not of this one"}))
                << command;
            EXPECT_EQ(one.changes, texts{});
        }
    }
}

// A disk of another cluster, or an old one, whose OSD has the same number.
TEST(osd_device, an_osd_is_known_by_its_uuid_and_its_cluster) {
    const std::string other = "99999999-8c5a-4e7d-9f53-000000000001";
    struct row {
        std::size_t key;
        std::string value;
        std::string why;
    };
    for (const auto& [key, value, why] :
         {row{5, other, "the UUID"}, row{6, other, "the cluster"}, row{5, "", "no UUID"}, row{6, "", "no cluster"}}) {
        play one;
        one.stored[key].value = value;
        one.says["lsblk "].output = block("ceph--1-osd--block--1");
        one.run(remove_text);
        EXPECT_FALSE(one.end.is_done) << why;
        EXPECT_TRUE(one.end.reason.starts_with("/dev/ceph-1/osd-block-1 is not erased: ")) << one.end.reason;
        EXPECT_EQ(one.changes, texts{}) << why;
        play forced;
        forced.stored[key].value = value;
        forced.says["lsblk "].output = block("ceph--1-osd--block--1");
        forced.run(force_text);
        EXPECT_TRUE(forced.end.is_done) << forced.end.reason;
        EXPECT_TRUE(std::ranges::none_of(forced.changes, is_erasing)) << why;
        EXPECT_EQ(forced.notes.size(), 1U);
        play replaced;
        replaced.stored[key].value = value;
        replaced.says["lsblk "].output = block("ceph--1-osd--block--1");
        replaced.run(replace_text);
        EXPECT_FALSE(replaced.end.is_done) << why;
        EXPECT_EQ(replaced.changes, texts{}) << why;
    }
    play spelled;
    spelled.stored[5].value = "0D8EA6EF-8C5A-4E7D-9F53-000000000001";
    spelled.run(remove_text);
    EXPECT_TRUE(spelled.end.is_done) << spelled.end.reason;
}

}  // namespace
}  // namespace pvc::policy
