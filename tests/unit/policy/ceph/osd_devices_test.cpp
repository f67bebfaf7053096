// What is written of an OSD's device, and what may be erased (storage.md 5, 8.4).
#include "pvcnoded/policy/ceph/device_refresh.hpp"
#include "pvcnoded/policy/ceph/device_use.hpp"

#include <gtest/gtest.h>

#include <array>

namespace pvc::policy {
namespace {

using verdict = refresh_decision::verdict;

const model::listed_osd listed_seven{"7",
                                     "/dev/sdb",
                                     "ceph-1",
                                     "osd-block-1",
                                     "0d8ea6ef-8c5a-4e7d-9f53-000000000001",
                                     "d532ea08-9179-4094-991a-d9f0db8449af"};

stored_osd stored_seven() {
    return {{"osd.id", ""},
            {"osd.node", "hv1"},
            {"osd.device", "/dev/sdb"},
            {"osd.db_device", ""},
            {"osd.fsid", ""},
            {"osd.ofsid", listed_seven.osd_fsid},
            {"osd.cfsid", listed_seven.cluster_fsid},
            {"osd.lvm", ""},
            {"osd.vg", "ceph-1"},
            {"osd.lv", "osd-block-1"},
            {"osd.stats", "{}"}};
}

stored_osd stored_with(std::string_view key, std::optional<std::string> value) {
    auto stored = stored_seven();
    for (auto& one : stored) {
        if (one.key == key) {
            one.value = std::move(value);
        }
    }
    return stored;
}

TEST(device_refresh, only_what_differs_is_written) {
    EXPECT_EQ(decide_device_refresh(stored_seven(), listed_seven).what, verdict::nothing);
    EXPECT_EQ(decide_device_refresh(stored_with("osd.device", "/dev/sda"), listed_seven),
              (refresh_decision{verdict::write, {{"osd.device", "/dev/sdb"}}, ""}));
    EXPECT_EQ(decide_device_refresh(stored_with("osd.lvm", std::nullopt), listed_seven),
              (refresh_decision{verdict::write, {{"osd.lvm", ""}}, ""}));
}

TEST(device_refresh, a_new_object_gets_all_containers_first) {
    stored_osd bare{{"osd.id", ""}, {"osd.node", "hv1"}, {"osd.device", "/dev/sdb"},
                    {"osd.fsid"},   {"osd.ofsid"},       {"osd.cfsid"},
                    {"osd.lvm"},    {"osd.vg"},          {"osd.lv"},
                    {"osd.stats"}};
    EXPECT_EQ(decide_device_refresh(bare, listed_seven), (refresh_decision{verdict::write,
                                                                           {{"osd.fsid", ""},
                                                                            {"osd.ofsid", listed_seven.osd_fsid},
                                                                            {"osd.cfsid", listed_seven.cluster_fsid},
                                                                            {"osd.lvm", ""},
                                                                            {"osd.vg", "ceph-1"},
                                                                            {"osd.lv", "osd-block-1"}},
                                                                           ""}));
    // Schema 7 has none of these.
    EXPECT_EQ(decide_device_refresh({{"osd.id", ""}, {"osd.device", "/dev/sda"}}, listed_seven),
              (refresh_decision{verdict::write, {{"osd.device", "/dev/sdb"}}, ""}));
}

TEST(device_refresh, another_uuid_is_left_alone) {
    const auto decision =
        decide_device_refresh(stored_with("osd.ofsid", "99999999-8c5a-4e7d-9f53-000000000001"), listed_seven);
    EXPECT_EQ(decision.what, verdict::foreign);
    EXPECT_TRUE(decision.writes.empty());
    EXPECT_NE(decision.reason.find("99999999"), std::string::npos);
    EXPECT_EQ(decide_device_refresh(stored_with("osd.ofsid", ""), listed_seven).writes,
              (std::vector<key_value>{{"osd.ofsid", listed_seven.osd_fsid}}));
    EXPECT_EQ(
        decide_device_refresh(stored_with("osd.ofsid", "0D8EA6EF-8C5A-4E7D-9F53-000000000001"), listed_seven).what,
        verdict::nothing);
}

TEST(device_refresh, what_is_asked_about) {
    EXPECT_EQ(device_to_list(stored_seven()), "/dev/ceph-1/osd-block-1");
    EXPECT_EQ(device_to_list(stored_with("osd.vg", std::nullopt)), "/dev/sdb");
    EXPECT_EQ(device_to_list(stored_with("osd.lv", "")), "/dev/sdb");
    EXPECT_EQ(device_to_list(stored_with("osd.lv", "../sda")), "/dev/sdb");
    EXPECT_EQ(device_to_list({{"osd.device", "--all"}}), "");
    EXPECT_EQ(device_to_list({}), "");
}

TEST(device_use, what_may_be_erased) {
    using model::block_device;
    const own_volume own{"ceph-1", "osd-block-1"};
    const block_device volume{"ceph--1-osd--block--1", "lvm", "ceph_bluestore", "", "", {}};
    const block_device free{"sdb", "disk", "", "", "", {}};
    const auto disk = [](std::string content, std::vector<block_device> above) {
        return block_device{"sdb", "disk", std::move(content), "", "", std::move(above)};
    };
    struct row {
        block_device device;
        own_volume own;
        std::string why;
    };
    const std::array rows{
        row{free, {}, ""},
        row{disk("ext4", {}), {}, ""},
        row{disk("ceph_bluestore", {}), {}, "an OSD stands on it, without LVM"},
        row{{"sdb1", "part", "", "gpt", "", {}}, {}, ""},
        row{disk("LVM2_member", {volume}), own, ""},
        row{disk("LVM2_member", {volume}), {}, "ceph--1-osd--block--1 stands on it"},
        row{disk("LVM2_member", {volume}), {"ceph-2", "osd-block-1"}, "ceph--1-osd--block--1 stands on it"},
        row{disk("LVM2_member", {volume, {"vg-root", "lvm", "", "", "", {}}}), own, "vg-root stands on it"},
        row{disk("LVM2_member", {}), own, "it belongs to something (LVM2_member) of which no part is active"},
        row{disk("linux_raid_member", {}),
            {},
            "it belongs to something (linux_raid_member) of which no part is active"},
        row{disk("", {{"sdb1", "part", "", "", "", {}}}), {}, "sdb1 stands on it"},
        row{{"sdb", "disk", "", "gpt", "", {}}, {}, "it has a partition table"},
        row{{"sdb", "disk", "ext4", "", "/srv", {}}, {}, "sdb is mounted at /srv"},
        row{disk("", {{"luks", "crypt", "", "", "", {{"root", "lvm", "", "", "/", {}}}}}), {}, "root is mounted at /"},
        row{{"sr0", "rom", "", "", "", {}}, {}, "it is of type rom"},
        row{{"vg-x", "lvm", "", "", "", {}}, {}, "it is of type lvm"},
    };
    for (const auto& one : rows) {
        EXPECT_EQ(why_not_to_erase(one.device, one.own), one.why);
    }
    EXPECT_EQ(why_another_device({"8:16", 7, "w", "s"}, {"8:16", 7, "w", "s"}), "");
    EXPECT_EQ(why_another_device({"8:16", 7, "w", "s"}, {"8:32", 8, "w", "s"}),
              "it was device 8:16 when the command came, and is 8:32 now");
    EXPECT_EQ(mapped_name(own), "ceph--1-osd--block--1");
    EXPECT_EQ(mapped_name({"", "x"}), "");
}

}  // namespace
}  // namespace pvc::policy
