// What lsscsi, lsblk and ceph-volume say (storage.md 5, 8.2, 8.4).
#include "pvcnoded/model/block_device.hpp"
#include "pvcnoded/model/ceph_volume_list.hpp"
#include "pvcnoded/model/scsi_disks.hpp"

#include <gtest/gtest.h>

#include <array>

namespace pvc::model {
namespace {

constexpr std::string_view scsi_listing =
    "[0:0:0:0]    disk    ATA      SAMSUNG MZ7LH480 904Q  /dev/sda    480GB\n"
    "[1:0:0:0]    cd/dvd  QEMU     SAMSUNG DVD-ROM  2.5+  /dev/sr0    480GB\n"
    "[2:0:0:0]    disk    ATA      Samsung MZ7LH480 904Q  /dev/sdb    480GB\n"
    "[3:0:0:0]    disk    ATA      SAMSUNG MZ7LH1T9 904Q  /dev/sdc   1.92TB\n"
    "[4:0:0:0]    disk    ATA      WDC WD5000       01.0  /dev/sdd    478GB\n"
    "[5:0:0:0]    disk    ATA      SAMSUNG MZ7LH480 904Q  /dev/sde    480GB\n"
    "[6:0:0:0]    disk    ATA      SAMSUNG gone     904Q  -                 -\n"
    "[7:0:0:0]    disk    ATA      SAMSUNG MZ7LH960 904Q  /dev/sdf   12.0TB\n";

TEST(scsi_disks, sizes) {
    EXPECT_EQ(parse_disk_size("480GB"), 480e9);
    EXPECT_EQ(parse_disk_size("1.92TB"), 1.92e12);
    EXPECT_EQ(parse_disk_size("480g"), 480e9);
    EXPECT_EQ(parse_disk_size("1000"), 1000.0);
    EXPECT_EQ(parse_disk_size("512B"), 512.0);
    EXPECT_EQ(parse_disk_size("2kB"), 2000.0);
    EXPECT_EQ(parse_disk_size("1GiB"), 1024.0 * 1024 * 1024);
    for (const auto* bad : {"", "-", "GB", "0GB", "-1GB", "480GBB", "480 GB", "1e400TB", "480XB", "4.8.0GB", "iB"}) {
        EXPECT_FALSE(parse_disk_size(bad)) << bad;
    }
}

// storage.md case 31: of three that match, number 1 is the second.
TEST(scsi_disks, case_31_detect_strings) {
    struct row {
        std::string wish;
        std::string path;
    };
    const std::array rows{
        row{"detect:SAMSUNG:480GB:0", "/dev/sda"},
        row{"detect:SAMSUNG:480GB:1", "/dev/sdb"},
        row{"detect:samsung:480GB:2", "/dev/sde"},
        row{"detect:SAMSUNG:480GB:3", ""},
        row{"detect:SAMSUNG:490GB:1", "/dev/sdb"},   // within 3 %
        row{"detect:SAMSUNG:450GB:0", ""},           // not
        row{"detect:SAMSUNG:1.92TB:0", "/dev/sdc"},  // the reference takes 12 for it, without a unit
        row{"detect:SAMSUNG:12TB:0", "/dev/sdf"},
        row{"detect:WD5000:480GB:0", "/dev/sdd"},
        row{"detect:WDC WD5000:0.478TB:0", "/dev/sdd"},
        row{"detect:INTEL:480GB:0", ""},
        row{"detect:DVD:480GB:0", ""},
        row{"detect:gone:480GB:0", ""},
    };
    for (const auto& [text, path] : rows) {
        const auto wish = parse_detect_wish(text);
        ASSERT_TRUE(wish) << text;
        EXPECT_EQ(find_scsi_disk(scsi_listing, *wish).value_or(""), path) << text;
    }
    EXPECT_FALSE(find_scsi_disk("", {"a", 1, 0}));
    EXPECT_FALSE(find_scsi_disk("disk\ndisk disk\n[0] disk /dev/sda 480GB", {"disk", 1, 0}));
}

const std::string osd_uuid = "0d8ea6ef-8c5a-4e7d-9f53-000000000001";
const std::string cluster_uuid = "d532ea08-9179-4094-991a-d9f0db8449af";

std::string volume_entry(const std::string& id, const std::string& type = "block") {
    return "\"" + id + "\": [{\"type\": \"db\", \"vg_name\": \"osd-db\"}, {\"type\": \"" + type +
           R"(", "devices": ["/dev/sdb"], "lv_name": "osd-block-1", "lv_path": "/dev/ceph-1/osd-block-1", )"
           R"("vg_name": "ceph-1", "tags": {"ceph.osd_id": ")" +
           id + R"(", "ceph.osd_fsid": ")" + osd_uuid + R"(", "ceph.cluster_fsid": ")" + cluster_uuid + "\"}}]";
}

TEST(ceph_volume_list, by_number_and_type) {
    const std::string text = "{" + volume_entry("3", "journal") + ", " + volume_entry("0") + "}";
    EXPECT_EQ(find_listed_osd(text, "0").value(),
              (listed_osd{"0", "/dev/sdb", "ceph-1", "osd-block-1", osd_uuid, cluster_uuid}));
    EXPECT_EQ(find_listed_osd(text, "3").error().code(), errc::not_found);
    EXPECT_EQ(find_listed_osd(text, "1").error().code(), errc::not_found);
    EXPECT_EQ(find_listed_osd("{}", "0").error().code(), errc::not_found);
    EXPECT_EQ(parse_ceph_volume_list("\n" + text + "\n").value().size(), 1U);
}

TEST(ceph_volume_list, what_is_missing_or_no_name_is_said) {
    const auto with = [](std::string_view old, std::string_view now) {
        std::string text = "{" + volume_entry("0") + "}";
        text.replace(text.find(old), old.size(), now);
        return text;
    };
    struct row {
        std::string text;
        std::string cause;
    };
    const std::array rows{
        row{with("[\"/dev/sdb\"]", "[]"), "its list lacks its device"},
        row{with("[\"/dev/sdb\"]", "\"/dev/sdb\""), "its list lacks its device"},
        row{with("[\"/dev/sdb\"]", "[7]"), "its list lacks its device"},
        row{with("/dev/sdb", "/etc/passwd"), "its list lacks its device"},
        row{with("\"vg_name\": \"ceph-1\"", "\"vg_name\": null"), "its list lacks the volume group"},
        row{with("\"ceph-1\"", "\"--all\""), "its list lacks the volume group"},
        row{with("\"osd-block-1\"", "\"a/b\""), "its list lacks the volume"},
        row{with(osd_uuid, "x"), "its list lacks the OSD's UUID"},
        row{with("\"tags\": {", "\"tag\": {"), "its list lacks the OSD's UUID, the cluster's UUID"},
    };
    for (const auto& [text, cause] : rows) {
        const auto found = find_listed_osd(text, "0");
        ASSERT_FALSE(found) << text;
        EXPECT_EQ(found.error().cause(), cause) << text;
    }
    for (const std::string& text : {std::string(), std::string("====== osd.0 ======="), std::string("[]"),
                                    "{" + volume_entry("0"), std::string(100, '['), std::string(2'000'000, ' ')}) {
        EXPECT_EQ(parse_ceph_volume_list(text).error().code(), errc::invalid) << text.substr(0, 40);
    }
    EXPECT_TRUE(parse_ceph_volume_list(R"({"0": {}, "1": [1, null, []], "2": [{"type": 1}]})").value().empty());
}

TEST(block_device, a_tree_of_devices) {
    const auto device = parse_block_device(
        R"({"blockdevices": [{"name": "sdb", "path": "/dev/sdb", "maj:min": "8:16", "size": 480103981056, "wwn": "0x5",
            "serial": "S1", "type": "disk", "fstype": null, "pttype": "gpt", "mountpoint": null,
            "children": [{"name": "sdb1", "path": "/dev/sdb1", "maj:min": "8:17", "size": "1024", "wwn": null,
                "serial": null, "type": "part", "fstype": "ext4", "pttype": "gpt", "mountpoint": "/boot"}]}]})");
    ASSERT_TRUE(device) << device.error().text();
    EXPECT_EQ(*device,
              (block_device{"sdb",
                            "disk",
                            "",
                            "gpt",
                            "",
                            {{"sdb1", "part", "ext4", "gpt", "/boot", {}, "/dev/sdb1", {"8:17", 1024, "", ""}}},
                            "/dev/sdb",
                            {"8:16", 480103981056, "0x5", "S1"}}));
}

TEST(block_device, signatures) {
    EXPECT_EQ(parse_device_signatures("DEVNAME=/dev/sdb\nPTUUID=0554\nPTTYPE=gpt\n"), (device_signatures{"", "gpt"}));
    EXPECT_EQ(parse_device_signatures("UUID=x\nTYPE=LVM2_member\nUSAGE=raid\n"),
              (device_signatures{"LVM2_member", ""}));
    EXPECT_EQ(parse_device_signatures("PART_ENTRY_TYPE=x\nTYPE\n=y\nPTTYPE="), (device_signatures{"", ""}));
    EXPECT_EQ(parse_device_signatures(""), device_signatures{});
}

TEST(block_device, anything_else_is_none) {
    const std::string good =
        R"({"name": "sdb", "path": "/dev/sdb", "maj:min": "8:16", "size": 7, "wwn": null, "serial": null, )"
        R"("type": "disk", "fstype": null, "pttype": null, "mountpoint": null})";
    ASSERT_TRUE(parse_block_device("{\"blockdevices\": [" + good + "]}"));
    // Each column is needed, and of its kind.
    for (const auto& [what, instead] :
         {std::pair{R"("path": "/dev/sdb", )", ""}, std::pair{R"("maj:min": "8:16", )", ""},
          std::pair{R"("size": 7, )", ""}, std::pair{R"("wwn": null, )", ""}, std::pair{R"("serial": null, )", ""},
          std::pair{R"("fstype": null, )", ""}, std::pair{R"(, "mountpoint": null)", ""},
          std::pair{R"("8:16")", "null"}, std::pair{R"("size": 7)", R"("size": -7)"},
          std::pair{R"("size": 7)", R"("size": "447.1G")"}, std::pair{R"("size": 7)", R"("size": null)"},
          std::pair{R"("fstype": null)", R"("fstype": 1)"}, std::pair{R"("sdb")", "null"}}) {
        std::string text = good;
        ASSERT_NE(text.find(what), std::string::npos) << what;
        text.replace(text.find(what), std::string_view(what).size(), instead);
        EXPECT_FALSE(parse_block_device("{\"blockdevices\": [" + text + "]}")) << text;
    }
    for (const std::string& text :
         {std::string(), std::string("lsblk: /dev/sdb: not a block device"), std::string("[]"), std::string("{}"),
          std::string(R"({"blockdevices": []})"), "{\"blockdevices\": [" + good + "," + good + "]}",
          "{\"blockdevices\": " + good + "}", std::string(R"({"blockdevices": ["sdb"]})"),
          "{\"blockdevices\": [" + good.substr(0, good.size() - 1) + ", \"children\": 1}]}",
          "{\"blockdevices\": [" + good.substr(0, good.size() - 1) + ", \"children\": [1]}]}",
          std::string(2'000'000, ' ')}) {
        EXPECT_FALSE(parse_block_device(text)) << text.substr(0, 100);
    }
}

}  // namespace
}  // namespace pvc::model
