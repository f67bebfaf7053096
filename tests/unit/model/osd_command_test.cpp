// Commands about OSDs (storage.md 8.2 and 8.4).
#include "pvcnoded/model/osd_command.hpp"

#include "pvcnoded/model/device_name.hpp"
#include "pvcnoded/model/domain_command.hpp"

#include <gtest/gtest.h>

#include <array>

namespace pvc::model {
namespace {

osd_command osd_parsed(std::string_view text) {
    const auto command = parse_osd_command(text);
    EXPECT_TRUE(command) << text;
    return command.value_or(osd_command{});
}

TEST(osd_command, well_formed) {
    EXPECT_EQ(osd_parsed("osd_add hv1,/dev/sdb,1.0,False,0.05"),
              (osd_command{.verb = osd_verb::osd_add, .node = "hv1", .device = "/dev/sdb", .weight = "1.0"}));
    EXPECT_EQ(
        osd_parsed("osd_add hv1,/dev/sdb,1.0,True"),
        (osd_command{.verb = osd_verb::osd_add, .node = "hv1", .device = "/dev/sdb", .weight = "1.0", .has_db = true}));
    EXPECT_EQ(osd_parsed("osd_add hv1,detect:SAMSUNG:480GB:1,0,yes,0.1"),
              (osd_command{.verb = osd_verb::osd_add,
                           .node = "hv1",
                           .device = "detect:SAMSUNG:480GB:1",
                           .weight = "0",
                           .has_db = true,
                           .db_ratio = 0.1}));
    EXPECT_EQ(osd_parsed("osd_replace hv1,07,/dev/sdb,/dev/disk/by-id/wwn-0x5000c500:1,1.8,off"),
              (osd_command{.verb = osd_verb::osd_replace,
                           .node = "hv1",
                           .id = "7",
                           .device = "/dev/disk/by-id/wwn-0x5000c500:1",
                           .old_device = "/dev/sdb",
                           .weight = "1.8"}));
    EXPECT_EQ(osd_parsed("osd_refresh hv1,0,/dev/nvme0n1,F"),
              (osd_command{.verb = osd_verb::osd_refresh, .node = "hv1", .id = "0", .device = "/dev/nvme0n1"}));
    EXPECT_EQ(osd_parsed("osd_remove 7,True"),
              (osd_command{.verb = osd_verb::osd_remove, .id = "7", .is_forced = true}));
    EXPECT_EQ(osd_parsed("db_vg_add hv1,/dev/sdx"),
              (osd_command{.verb = osd_verb::db_vg_add, .node = "hv1", .device = "/dev/sdx"}));
    EXPECT_EQ(osd_parsed(" osd_remove \t 7, False \n"), osd_parsed("osd_remove 7,False"));
    EXPECT_EQ(osd_parsed("db_vg_add hv1,detect:WD  Blue:1.92TB:0").device, "detect:WD Blue:1.92TB:0");
}

TEST(osd_command, not_ours) {
    for (const std::string_view text : {"", "  ", "success-osd_remove 7,False", "failure-osd_remove 7,False",
                                        "failure=db_vg_add hv1,/dev/sdx", "OSD_remove 7,False", "osd_remove,7,False",
                                        "osd_out 7", "flush_locks 00000001-aaaa-4bbb-8ccc-000000000001"}) {
        EXPECT_FALSE(parse_osd_command(text)) << text;
    }
}

TEST(osd_command, malformed) {
    struct row {
        std::string text;
        std::string node;
        std::string id;
        std::string fault;
    };
    const std::string count = "it has not as many arguments as it should";
    const std::string device = "its device is neither a path below /dev nor a detect string";
    const std::string number = "its OSD is no number";
    const std::string weight = "its weight is no number from 0 up";
    const std::string flag = "its flag is neither True nor False";
    const std::string ratio = "its ratio is not between 0 and 1";
    const std::array rows{
        row{"osd_add", "", "", count},
        row{"osd_add hv1,/dev/sdb,1.0", "hv1", "", count},
        row{"osd_add hv1,/dev/sdb,1.0,False,0.05,1", "hv1", "", count},
        row{"osd_add ,/dev/sdb,1.0,False", "", "", "it names no node"},
        row{"osd_add hv1,/dev/sd b,1.0,False", "hv1", "", device},
        row{"osd_add hv1,/dev/,1.0,False", "hv1", "", device},
        row{"osd_add hv1,sdb,1.0,False", "hv1", "", device},
        row{"osd_add hv1,--all,1.0,False", "hv1", "", device},
        row{"osd_add hv1,/dev/../tmp/x,1.0,False", "hv1", "", device},
        row{"osd_add hv1,/dev/sdb;reboot,1.0,False", "hv1", "", device},
        row{"osd_add hv1,detect:SAMSUNG:480GB,1.0,False", "hv1", "", device},
        row{"osd_add hv1,detect::480GB:0,1.0,False", "hv1", "", device},
        row{"osd_add hv1,detect:SAMSUNG:big:0,1.0,False", "hv1", "", device},
        row{"osd_add hv1,detect:SAMSUNG:480GB:-1,1.0,False", "hv1", "", device},
        row{"osd_add hv1,/dev/sdb,nan,False", "hv1", "", weight},
        row{"osd_add hv1,/dev/sdb,inf,False", "hv1", "", weight},
        row{"osd_add hv1,/dev/sdb,-1,False", "hv1", "", weight},
        row{"osd_add hv1,/dev/sdb,,False", "hv1", "", weight},
        row{"osd_add hv1,/dev/sdb,1.0,maybe", "hv1", "", flag},
        row{"osd_add hv1,/dev/sdb,1.0,True,0", "hv1", "", ratio},
        row{"osd_add hv1,/dev/sdb,1.0,True,1", "hv1", "", ratio},
        row{"osd_add hv1,/dev/sdb,1.0,True,nan", "hv1", "", ratio},
        row{"osd_replace hv1,x,/dev/sdb,/dev/sdc,1,False", "hv1", "", number},
        row{"osd_replace hv1,7,/dev/sdb,sdc,1,False", "hv1", "7", device},
        row{"osd_refresh hv1,-7,/dev/sdb,False", "hv1", "", number},
        row{"osd_refresh hv1,99999999999,/dev/sdb,False", "hv1", "", number},
        row{"osd_remove 7", "", "", count},
        row{"osd_remove 7,maybe", "", "7", flag},
        row{"osd_remove ,False", "", "", number},
        row{"osd_remove 7/../8,False", "", "", number},
        row{"db_vg_add hv1,/dev/s\x01"
            "dx",
            "hv1", "", "it has control characters"},
        row{"db_vg_add hv1,/dev/" + std::string(osd_command_bytes_max, 'x'), "hv1", "", "it is longer than 4 KiB"},
    };
    for (const auto& [text, node, id, fault] : rows) {
        const auto command = osd_parsed(text);
        EXPECT_EQ(command.fault, fault) << text.substr(0, 100);
        EXPECT_EQ(command.node, node) << text.substr(0, 100);
        EXPECT_EQ(command.id, id) << text.substr(0, 100);
        EXPECT_EQ(command.device, "");
    }
}

TEST(device_name, paths_and_volumes) {
    for (const auto* good :
         {"/dev/sdb", "/dev/disk/by-path/pci-0000:00:1f.2-ata-1.0", "/dev/mapper/a--b-c", "/dev/x@1+2"}) {
        EXPECT_TRUE(is_device_path(good)) << good;
    }
    for (const auto* bad :
         {"", "/dev", "/dev/", "/dev//sdb", "/dev/./sdb", "/dev/sdb/", "/dev/sd\tb", "/dev/sdü", "dev/sdb"}) {
        EXPECT_FALSE(is_device_path(bad)) << bad;
    }
    EXPECT_TRUE(is_volume_name("osd-block-8ccc"));
    for (const auto* bad : {"", "-x", ".", "..", "a/b", "a b"}) {
        EXPECT_FALSE(is_volume_name(bad)) << bad;
    }
    EXPECT_FALSE(is_volume_name(std::string(127, 'x')));
}

}  // namespace
}  // namespace pvc::model
