// The steps of commands about OSDs, and what becomes of each that fails (storage.md 8.3 and 8.4).
#include "unit/policy/ceph/osd_play.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace pvc::policy {
namespace {

using namespace osd_sample;

TEST(osd_work, the_steps_of_each_command) {
    struct row {
        std::string command;
        texts lines;
    };
    for (const auto& [command, lines] :
         {row{add_text, add_lines}, row{replace_text, replace_lines}, row{refresh_text, refresh_lines},
          row{remove_text, remove_lines}, row{force_text, remove_lines}, row{group_text, group_lines}}) {
        play one;
        one.run(command);
        EXPECT_EQ(one.lines, lines) << command;
        EXPECT_TRUE(one.end.is_done) << command << ": " << one.end.reason;
        EXPECT_EQ(one.notes, texts{}) << command;
    }
}

TEST(osd_work, pauses_as_long_as_they_say) {
    play add;
    const auto began = add.now;
    add.run(add_text);
    EXPECT_EQ(add.now - began, (add_lines.size() - 1) * 1s + 500ms);
    play remove;
    remove.run(remove_text);
    EXPECT_EQ(remove.now - began, (remove_lines.size() - 2) * 1s + 2s);
}

TEST(osd_work, the_keys_of_a_new_osd) {
    play one;
    one.says["ceph-volume lvm list"].output = listing("7", "/dev/sdc");
    one.run(add_db_text);
    EXPECT_TRUE(one.end.is_done);
    std::map<std::string, std::string> keys;
    for (const auto& [key, value] : one.written) {
        keys[std::string(key)] = value;
    }
    EXPECT_EQ(keys.size(), one.written.size());
    EXPECT_TRUE(keys["osd.stats"].starts_with(R"({"uuid": "|", "up": 0, "in": 0, )"));
    keys.erase("osd.stats");
    EXPECT_EQ(keys, (std::map<std::string, std::string>{{"osd.id", ""},
                                                        {"osd.node", "hv1"},
                                                        {"osd.device", "/dev/sdc"},
                                                        {"osd.db_device", "osd-db/osd-7"},
                                                        {"osd.fsid", ""},
                                                        {"osd.ofsid", fsid_seven},
                                                        {"osd.cfsid", fsid_cluster},
                                                        {"osd.lvm", ""},
                                                        {"osd.vg", "ceph-1"},
                                                        {"osd.lv", "osd-block-1"}}));
}

TEST(osd_work, a_database_of_its_own) {
    play one;
    one.run(add_db_text);
    texts lines = add_lines;
    constexpr std::ptrdiff_t behind_zap = 9;
    lines[behind_zap + 2] += " --block.db osd-db/osd-7";
    lines.insert(lines.begin() + behind_zap, {"blockdev --getsize64 /dev/sdb", "lvdisplay osd-db/osd-7",
                                              "lvcreate --yes --name osd-7 --size 22893 osd-db"});
    EXPECT_EQ(one.lines, lines);
    play there;
    there.says["lvdisplay "] = {0, ""};
    there.run(add_db_text);
    EXPECT_EQ(there.end, (osd_ask::end{false, "the volume osd-db/osd-7 is there already"}));
    for (const std::string& size : {"", "x", "0", "-1", "1000000"}) {
        play small;
        small.says["blockdev "].output = size;
        small.run(add_db_text);
        EXPECT_EQ(small.end, (osd_ask::end{false, "the size of /dev/sdb makes no room for a database"})) << size;
    }
}

// Each program of each command fails: nothing follows, and what is said names it.
TEST(osd_work, every_failing_step_aborts) {
    for (const auto& [command, lines] : {std::pair{add_text, add_lines}, std::pair{replace_text, replace_lines},
                                         std::pair{refresh_text, refresh_lines}, std::pair{remove_text, remove_lines},
                                         std::pair{group_text, group_lines}}) {
        for (std::size_t at = 0; at < lines.size(); ++at) {
            const std::string& line = lines[at];
            // The second look at a device is the first one's line.
            if (line.find("safe-to-destroy") != std::string::npos ||
                std::find(lines.begin(), lines.begin() + static_cast<std::ptrdiff_t>(at), line) !=
                    lines.begin() + static_cast<std::ptrdiff_t>(at)) {
                continue;
            }
            play one;
            one.says[line] = {1, ""};
            one.read_fault = line == "(read)" ? "gone" : "";
            one.write_fault = line == "(write)" || line == "(remove)" ? "gone" : "";
            one.run(command);
            EXPECT_FALSE(one.end.is_done) << command << ", " << line;
            EXPECT_FALSE(one.end.reason.empty());
            EXPECT_EQ(one.lines, texts(lines.begin(), lines.begin() + static_cast<std::ptrdiff_t>(at) + 1));
            play missing;
            missing.not_started[line] = 1;
            missing.read_fault = one.read_fault;
            missing.write_fault = one.write_fault;
            missing.run(command);
            EXPECT_FALSE(missing.end.is_done) << command << ", " << line;
        }
    }
}

// A device that turns out to be in use between the first look and the erasing.
TEST(osd_work, nothing_is_erased_that_is_in_use) {
    for (const auto& command : {add_text, replace_text, group_text}) {
        play one;
        one.says["lsblk "].output = block("vg-root");
        one.run(command);
        EXPECT_FALSE(one.end.is_done);
        EXPECT_EQ(one.end.reason, "/dev/sdb is not erased: vg-root stands on it");
        EXPECT_EQ(one.changes, texts{}) << command;
    }
    // What udev does not know is read from the device.
    struct row {
        std::string output;
        int status;
        std::string why;
    };
    for (const auto& [output, status, why] :
         {row{"DEVNAME=/dev/sdb\nPTTYPE=gpt\n", 0, "/dev/sdb is not erased: a partition table is written on it"},
          row{"TYPE=LVM2_member\nUSAGE=raid\n", 0,
              "/dev/sdb is not erased: it belongs to something (LVM2_member) of which no part is active"},
          row{"TYPE=ceph_bluestore\n", 0, "/dev/sdb is not erased: an OSD stands on it, without LVM"},
          row{"", 8, blkid_seven + "/dev/sdb: exit status 8"}}) {
        play one;
        one.says["blkid "] = {status, output};
        one.run(add_text);
        EXPECT_EQ(one.end, (osd_ask::end{false, why}));
        EXPECT_EQ(one.changes, texts{});
    }
    play formatted;
    formatted.says["blkid "] = {0, "TYPE=ext4\n"};
    formatted.run(add_text);
    EXPECT_TRUE(formatted.end.is_done);
    play garbage;
    garbage.says["lsblk "].output = "{}";
    garbage.run(add_text);
    EXPECT_EQ(garbage.changes, texts{});
    // What stands there may be the OSD's own.
    play own;
    own.says["lsblk "].output = block("ceph--1-osd--block--1");
    own.says["blkid "] = {0, "TYPE=LVM2_member\n"};
    own.run(replace_text);
    EXPECT_TRUE(own.end.is_done) << own.end.reason;
    own.lines.clear();
    own.run(add_text);
    EXPECT_FALSE(own.end.is_done) << "a new OSD owns nothing yet";
}

TEST(osd_work, a_removal_erases_only_what_is_listed_as_its_own) {
    play other;
    other.says["ceph-volume lvm list"].output = listing("8");
    other.run(remove_text);
    EXPECT_EQ(other.end, (osd_ask::end{false, "it lists no volume of OSD 7"}));
    play shared;
    shared.says["lsblk "].output = block("ceph--1-osd--block--2");
    shared.run(remove_text);
    EXPECT_FALSE(shared.end.is_done);
    play own;
    own.says["lsblk "].output = block("ceph--1-osd--block--1");
    own.run(remove_text);
    EXPECT_TRUE(own.end.is_done);
    for (auto* one : {&other, &shared}) {
        EXPECT_TRUE(std::ranges::none_of(one->changes, is_erasing));
    }
    // Below schema 8 only the device is known.
    play old;
    old.stored = {{"osd.device", "/dev/sdb"}, {"osd.node", "hv1"}};
    old.says["lsblk "].output = block("ceph--1-osd--block--1");
    old.run(remove_text);
    EXPECT_TRUE(old.end.is_done);
    EXPECT_EQ(old.lines[2], list_seven + "/dev/sdb");
    play nowhere;
    nowhere.stored = {{"osd.device", ""}, {"osd.node", "hv1"}};
    nowhere.run(remove_text);
    EXPECT_EQ(nowhere.end, (osd_ask::end{false, "its keys do not say on which device it is"}));
}

TEST(osd_work, a_forced_removal_goes_on_past_each_failing_step) {
    for (const std::string& line : remove_lines) {
        if (line.find("safe-to-destroy") != std::string::npos || line == "(remove)") {
            continue;
        }
        play one;
        one.says[line] = {1, ""};
        one.read_fault = line == "(read)" ? "gone" : "";
        one.run(force_text);
        EXPECT_TRUE(one.end.is_done) << line << ": " << one.end.reason;
        EXPECT_EQ(one.notes.size(), 1U) << line;
        EXPECT_TRUE(one.notes[0].starts_with("! ") && one.notes[0].ends_with("; it is forced, so the removal goes on"));
        EXPECT_EQ(one.lines.back(), "(remove)");
        const bool is_shown = line != "(read)" && !line.starts_with(list_seven) && !line.starts_with(lsblk_seven) &&
                              !line.starts_with(blkid_seven) && !line.starts_with(hold_seven);
        EXPECT_EQ(std::ranges::any_of(one.changes, is_erasing), is_shown) << line;
    }
    play kept;
    kept.write_fault = "gone";
    kept.run(force_text);
    EXPECT_EQ(kept.end, (osd_ask::end{false, "its keys could not be written: gone"}));
}

TEST(osd_work, numbers_that_ceph_does_not_have) {
    for (const auto& command : {replace_text, refresh_text, remove_text}) {
        play one;
        one.says["ceph osd ls"].output = "0\n1\n77\n";
        one.run(command);
        EXPECT_EQ(one.end, (osd_ask::end{false, "Ceph has no OSD 7"})) << command;
        EXPECT_EQ(one.changes, texts{});
    }
    play forced;
    forced.says["ceph osd ls"].output = "";
    forced.says["ceph osd safe-to-destroy"] = {2, ""};
    forced.run(force_text);
    EXPECT_TRUE(forced.end.is_done);
    for (const std::string& said : {"", "osd.7", "7 8", "-1"}) {
        play one;
        one.says["ceph osd create"].output = said;
        one.run(add_text);
        EXPECT_FALSE(one.end.is_done) << said;
        EXPECT_EQ(one.changes, texts{"ceph osd create"});
    }
    play other;  // the number that was given out is another one
    other.says["ceph-volume lvm list"].output = listing("8");
    other.run(add_text);
    EXPECT_EQ(other.end, (osd_ask::end{false, "it lists no volume of OSD 7"}));
    EXPECT_TRUE(other.written.empty());
}

TEST(osd_work, it_waits_until_the_osd_may_be_destroyed) {
    for (const auto& command : {remove_text, force_text, replace_text}) {
        play one;
        one.says["ceph osd safe-to-destroy"] = {16, ""};
        const auto began = one.now;
        one.run(command);
        EXPECT_FALSE(one.end.is_done) << command;
        EXPECT_TRUE(one.end.reason.starts_with("it was not safe to destroy for a day")) << one.end.reason;
        EXPECT_GE(one.now - began, 24h);
        EXPECT_LT(one.now - began, 24h + 1min);
        EXPECT_EQ(one.notes.size(), 24U * 60 - 1);  // a line a minute: every tenth look, of 6 s each
        EXPECT_EQ(one.notes[1],
                  "OSD 7 is not safe to destroy yet, for 2 min: ceph osd safe-to-destroy osd.7: exit status 16");
        EXPECT_EQ(one.lines.back(), "ceph osd safe-to-destroy osd.7");
    }
}

// Status 11: a manager that has just started, or an OSD that is dead in a degraded cluster.
TEST(osd_work, what_ceph_cannot_tell_is_not_safe) {
    for (const auto& command : {remove_text, force_text, replace_text}) {
        play one;
        one.says["ceph osd safe-to-destroy"] = {11, ""};
        const auto began = one.now;
        one.run(command);
        EXPECT_FALSE(one.end.is_done) << command;
        EXPECT_EQ(one.end.reason,
                  "Ceph could not tell for a day whether it is safe to destroy: ceph osd safe-to-destroy osd.7: exit "
                  "status 11");
        EXPECT_GE(one.now - began, 24h);
        EXPECT_EQ(one.lines.back(), "ceph osd safe-to-destroy osd.7") << "nothing is stopped";
        ASSERT_FALSE(one.notes.empty());
        EXPECT_TRUE(one.notes[0].starts_with("Ceph cannot tell whether OSD 7 is safe to destroy, for 1 min: "));
        EXPECT_TRUE(one.notes[0].ends_with("or purge the OSD by hand"));
    }
    // A manager that comes to know.
    play later;
    later.says["ceph osd safe-to-destroy"] = {11, ""};
    later.at_line = [&](const std::string& line) {
        if (line.find("safe-to-destroy") != std::string::npos && std::ranges::count(later.lines, line) == 20) {
            later.says["ceph osd safe-to-destroy"] = {0, ""};
        }
    };
    later.run(remove_text);
    EXPECT_TRUE(later.end.is_done) << later.end.reason;
    EXPECT_EQ(std::ranges::count(later.lines, "ceph osd safe-to-destroy osd.7"), 20);
    // What Ceph does not have is no exception: the manager may know as little of that.
    play unknown;
    unknown.says["ceph osd ls"].output = "";
    unknown.says["ceph osd safe-to-destroy"] = {11, ""};
    unknown.run(force_text);
    EXPECT_FALSE(unknown.end.is_done);
}

TEST(osd_work, the_database_of_a_removed_osd) {
    for (const std::string& stored : {"osd-db/osd-7", "/dev/osd-db/osd-7"}) {
        play one;
        one.stored.push_back({"osd.db_device", stored});
        std::erase_if(one.stored, [](const auto& key) { return key.key == "osd.db_device" && key.value == ""; });
        one.says["lvremove"] = {5, ""};
        one.run(remove_text);
        EXPECT_TRUE(one.end.is_done);
        EXPECT_EQ(one.lines[one.lines.size() - 2], "lvremove --yes --force " + stored);
        EXPECT_EQ(one.notes.size(), 1U);
    }
    for (const std::string& stored : {"", "osd-db/osd-8", "--all", "vg/root"}) {
        play one;
        one.stored[1].value = stored;
        one.run(remove_text);
        EXPECT_EQ(one.lines, remove_lines) << stored;
    }
}

TEST(osd_work, detect_strings) {
    play one;
    one.run("osd_add hv1,detect:SAMSUNG:480GB:0,1.0,False");
    texts lines = add_lines;
    lines.insert(lines.begin(), "lsscsi -s");
    EXPECT_EQ(one.lines, lines);
    EXPECT_EQ(one.notes, texts{"detect:SAMSUNG:480GB:0 is /dev/sdb"});
    play none;
    none.run("osd_refresh hv1,7,detect:SAMSUNG:480GB:1,False");
    EXPECT_EQ(none.end, (osd_ask::end{false, "no disk fits detect:SAMSUNG:480GB:1"}));
    play there;
    there.says["vgdisplay "] = {0, ""};
    there.run(group_text);
    EXPECT_EQ(there.end, (osd_ask::end{false, "the volume group osd-db is there already"}));
}

// What is read from a slow disk takes longer than a look at its name is good for.
TEST(osd_work, a_slow_disk_is_looked_at_once_more_before_it_is_erased) {
    for (const auto& [command, lines] : {std::pair{add_text, add_lines}, std::pair{replace_text, replace_lines},
                                         std::pair{remove_text, remove_lines}, std::pair{group_text, group_lines}}) {
        play one;
        one.at_line = [&](const std::string& line) { one.now += line.starts_with("wipefs") ? 6s : 0s; };
        one.run(command);
        EXPECT_TRUE(one.end.is_done) << one.end.reason;
        for (std::size_t i = 0; i < one.lines.size(); ++i) {
            const bool is_erasure = is_erasing(one.lines[i]) || one.lines[i].starts_with("ceph-volume lvm prepare") ||
                                    one.lines[i].starts_with("pvcreate") || one.lines[i].starts_with("vgcreate");
            if (is_erasure) {
                ASSERT_GT(i, 0U);
                EXPECT_TRUE(one.lines[i - 1].starts_with(lsblk_seven)) << one.lines[i];
            }
        }
        texts without_looks = one.lines;
        texts usual = lines;
        for (auto* all : {&without_looks, &usual}) {
            std::erase_if(*all, [](const std::string& line) { return line.starts_with("lsblk"); });
        }
        EXPECT_EQ(without_looks, usual) << "and nothing else is done otherwise";
    }
    shown_device mounted;
    mounted.above = {{.name = "x", .number = "254:9", .type = "lvm"}};
    for (const auto& [shown, why] :
         {std::pair{listed_as({.serial = "\"S2\""}),
                    "its serial number or WWN is not the one of when the command came"},
          std::pair{listed_as({.number = "8:32"}), "it was device 8:16 when the command came, and is 8:32 now"},
          std::pair{listed_as(mounted), "it is not used as it was a moment ago"}}) {
        play other;
        int holds = 0;
        other.at_line = [&](const std::string& line) {
            if (line.starts_with("wipefs") && ++holds == 2) {
                other.now += 6s;
                other.says["lsblk "].output = shown;
            }
        };
        other.run(add_text);
        EXPECT_EQ(other.end, (osd_ask::end{false, std::string("/dev/sdb is not erased: ") + why}));
        EXPECT_TRUE(std::ranges::none_of(other.lines, is_erasing));
    }
    play hangs;
    hangs.at_line = [&](const std::string& line) {
        hangs.now += line.starts_with("wipefs") || line.starts_with("lsblk") ? 6s : 0s;
    };
    hangs.run(add_text);
    EXPECT_EQ(hangs.end, (osd_ask::end{false, "/dev/sdb is not erased: the look at it took longer than 5 s"}));
}

// The guard is asked before each of these.
TEST(osd_work, what_only_looks_changes_nothing) {
    for (const auto& [command, lines] : {std::pair{add_text, add_lines}, std::pair{replace_text, replace_lines},
                                         std::pair{remove_text, remove_lines}, std::pair{group_text, group_lines}}) {
        texts changing = lines;
        std::erase_if(changing, [](const std::string& line) {
            return line.starts_with("lsblk") || line.starts_with("blkid") || line.starts_with("wipefs") ||
                   line.starts_with("vgdisplay") || line.starts_with(list_seven) || line == "ceph osd ls" ||
                   line == "(read)" || line.starts_with("ceph osd safe") || line.starts_with("systemctl status");
        });
        play one;
        EXPECT_EQ(one.run(command).changes, changing);
    }
}

}  // namespace
}  // namespace pvc::policy
