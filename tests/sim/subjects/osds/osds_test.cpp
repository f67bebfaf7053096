// The stand-ins say what the daemon's own parsers read, and the rules see what they are about.
#include "sim/subjects/osds/osds.hpp"
#include "pvcnoded/model/block_device.hpp"
#include "pvcnoded/model/ceph_volume_list.hpp"
#include "pvcnoded/model/scsi_disks.hpp"
#include "sim/world/judge.hpp"

#include "pvcnoded/base/text.hpp"

#include <gtest/gtest.h>

namespace pvc::sim {
namespace {

using namespace std::chrono_literals;

class osd_world_test : public ::testing::Test {
protected:
    static cluster_settings settings() {
        cluster_settings all;
        all.schema = 9;
        all.keeps_schema = true;
        auto& node = all.nodes.emplace_back();
        node.name = "hv1";
        node.coordinators = {"hv1"};
        node.hypervisor = node.storage = true;
        return all;
    }
    // As a daemon would run it, to its end.
    sim_program run(std::string_view line) {
        async::command what;
        for (const auto word : split_blanks(line)) {
            what.arguments.emplace_back(word);
        }
        auto made = world.hardware.programs("hv1", what);
        EXPECT_TRUE(made) << line;
        if (made && made->effect) {
            made->effect();
        }
        return made.value_or(sim_program{});
    }
    static int status(const sim_program& ended) { return std::get<async::exited>(ended.how).code; }
    void perform(std::string_view line) {
        const auto what = parse_action(line);
        ASSERT_TRUE(what) << line;
        ASSERT_TRUE(world.perform(*what)) << line;
    }
    void pass(duration time) {
        const time_point end = world.now() + time;
        world.later.after(time, [] {});
        while (world.now() < end && world.step()) {
            watch.look();
        }
    }
    [[nodiscard]] std::string broken() const { return watch.broken() ? watch.broken()->invariant : ""; }
    static std::string lsblk(const std::string& path) {
        return "lsblk --json --bytes --output " + std::string(model::lsblk_columns) + " " + path;
    }

    cluster world{settings()};
    judge watch{world};
    disk_shelf& shelf = osds_of(world).shelf("hv1");
};

TEST_F(osd_world_test, names_of_partitions) {
    EXPECT_EQ(partition_name("sdb", 1), "sdb1");
    EXPECT_EQ(partition_name("loop1", 1), "loop1p1");
    EXPECT_EQ(partition_name("nvme0n1", 1), "nvme0n1p1");
}

TEST_F(osd_world_test, what_looks_say) {
    for (const auto& disk : shelf.disks) {
        const auto read = model::parse_block_device(run(lsblk("/dev/" + disk->name)).output);
        ASSERT_TRUE(read) << read.error().text();
        EXPECT_EQ(read->path, "/dev/" + disk->name);
        EXPECT_EQ(read->identity.number, disk->number);
        EXPECT_EQ(read->above.size(), disk->group ? 1U : 0U);
    }
    EXPECT_EQ(model::parse_block_device(run(lsblk("/dev/disk/by-id/ata-TWO")).output)->path, "/dev/sdba");
    EXPECT_EQ(status(run(lsblk("/dev/none"))), 32);
    EXPECT_EQ(status(run("blkid --probe --output export /dev/sdb")), 2);
    EXPECT_EQ(model::parse_device_signatures(run("blkid --probe --output export /dev/loop11").output).content, "ext4");
    EXPECT_EQ(status(run("wipefs --no-act --all /dev/sdb")), 0);
    EXPECT_EQ(status(run("wipefs --no-act --all /dev/sda")), 1) << "it is mounted";
    const auto scsi = run("lsscsi -s").output;
    EXPECT_EQ(model::find_scsi_disk(scsi, *model::parse_detect_wish("detect:samsung:480GB:1")), "/dev/sdba");
    const auto listed = model::find_listed_osd(run("ceph-volume lvm list --format json /dev/sde").output, "0");
    ASSERT_TRUE(listed) << listed.error().text();
    EXPECT_EQ(listed->device, "/dev/sde");
    EXPECT_EQ(listed->cluster_fsid, osd_cluster_fsid);
}

TEST_F(osd_world_test, who_uses_a_disk_unseen_is_noticed_by_who_wants_it_alone) {
    for (const std::string_view use : {"mount-elsewhere", "hold"}) {
        perform("use-disk hv1 sdb " + std::string(use));
        EXPECT_TRUE(model::parse_block_device(run(lsblk("/dev/sdb")).output)->mounted_at.empty());
        EXPECT_EQ(status(run("wipefs --no-act --all /dev/sdb")), 1) << use;
        perform("use-disk hv1 sdb free");
    }
}

TEST_F(osd_world_test, when_an_osd_is_safe_to_destroy) {
    EXPECT_EQ(status(run("ceph osd safe-to-destroy osd.1")), 16) << "it is in";
    run("ceph osd out 1");
    EXPECT_EQ(status(run("ceph osd safe-to-destroy osd.1")), 16) << "its data moves";
    pass(31s);
    EXPECT_EQ(status(run("ceph osd safe-to-destroy osd.1")), 0);
    run("systemctl stop ceph-osd@1");
    perform("lose-osd 2");
    EXPECT_EQ(status(run("ceph osd safe-to-destroy osd.1")), 11) << "dead, in a cluster that cannot heal";
    EXPECT_EQ(status(run("ceph osd safe-to-destroy osd.9")), 0) << "there is none";
}

TEST_F(osd_world_test, a_write_without_a_command_breaks_a_rule) {
    run("wipefs --no-act --all /dev/sdb");
    EXPECT_EQ(broken(), "");
    run("ceph-volume lvm zap --destroy /dev/sdb");
    EXPECT_EQ(broken(), "named_device");
}

TEST_F(osd_world_test, a_command_that_is_carried_out) {
    perform("start hv1");
    pass(60s);
    perform("osd-command osd_add hv1,detect:SAMSUNG:480GB:0,1.0,False,0.05");
    pass(30s);
    EXPECT_EQ(world.ensemble.get("/ceph/osds/3/device"), "/dev/sdb");
    EXPECT_EQ(broken(), "");
    // Beside the daemon, with the command under way: an OSD that must not go, and a disk that was not named.
    perform("osd-command osd_remove 0,False");
    pass(5s);
    run("systemctl stop ceph-osd@0");
    EXPECT_EQ(broken(), "osds_are_safe_to_go");
}

TEST_F(osd_world_test, a_disk_that_was_not_named_is_told_from_the_one_that_was) {
    perform("start hv1");
    pass(60s);
    perform("osd-command osd_add hv1,/dev/sdb,1.0,False,0.05");
    pass(1s);
    run("ceph-volume lvm zap --destroy /dev/sdba");
    EXPECT_EQ(broken(), "named_device");
}

TEST_F(osd_world_test, a_disk_that_was_in_use_at_the_last_look_is_told) {
    perform("start hv1");
    pass(60s);
    perform("osd-command osd_add hv1,/dev/sdb,1.0,False,0.05");
    pass(1s);
    perform("use-disk hv1 sdb mount");
    pass(20ms);
    run(lsblk("/dev/sdb"));
    run("ceph-volume lvm zap --destroy /dev/sdb");
    EXPECT_EQ(broken(), "named_device");
}

}  // namespace
}  // namespace pvc::sim
