// Who else on this host has an image open, and what that means for the locks on it (README ruling 80).
#include "pvcnoded/policy/placement/disk_users.hpp"

#include <gtest/gtest.h>

namespace pvc::policy {
namespace {

using texts = std::vector<std::string>;
using kind = disk_user::kind;
using namespace std::string_view_literals;

model::domain_xml live(std::string_view disks) {
    return model::parse_domain_xml("<domain><name>db</name><devices>" + std::string(disks) + "</devices></domain>")
        .value();
}

std::string rbd_disk(std::string_view image, std::string_view inside = {}) {
    return "<disk type='network'><source protocol='rbd' name='" + std::string(image) + "'/>" + std::string(inside) +
           "</disk>";
}

TEST(disk_users, are_found_in_the_live_definition) {
    const texts asked{"vms/web_sda", "vms/ns/web_sdb"};
    struct line {
        std::string disks;
        std::vector<disk_user> found;
    };
    const auto user = [](std::string volume, bool shares = false) {
        return disk_user{kind::guest, std::move(volume), "db", shares};
    };
    for (const auto& one : {
             line{rbd_disk("vms/db_sda"), {}},
             line{rbd_disk("vms/web_sda"), {user("vms/web_sda")}},
             line{rbd_disk("vms/ns/web_sdb") + rbd_disk("vms/web_sda"), {user("vms/ns/web_sdb"), user("vms/web_sda")}},
             line{rbd_disk("vms/web_sda", "<shareable/>"), {user("vms/web_sda", true)}},
             line{rbd_disk("vms/web_sda", "<readonly/>"), {user("vms/web_sda", true)}},
             line{rbd_disk("vms/db_sda", "<mirror type='network'><source protocol='rbd' name='vms/web_sda'/></mirror>"),
                  {user("vms/web_sda")}},
             line{rbd_disk("vms/db_sda",
                           "<backingStore type='file'><source file='/x'/><backingStore type='network'><source "
                           "protocol='rbd' name='vms/web_sda'/></backingStore></backingStore>"),
                  {user("vms/web_sda")}},
             line{"<disk type='file'><source file='vms/web_sda'/></disk>", {}},
         }) {
        EXPECT_EQ(users_in(live(one.disks), "db", asked), one.found) << one.disks;
    }
}

TEST(disk_users, the_kernel_shows_pool_namespace_image_and_snapshot) {
    EXPECT_EQ(mapped_volume("vms\n", "\n", "web_sda\n", "-\n"), "vms/web_sda");
    EXPECT_EQ(mapped_volume("vms\n", "ns\n", "web_sda\n", "-\n"), "vms/ns/web_sda");
    EXPECT_EQ(mapped_volume("vms", "", "web_sda", ""), "vms/web_sda");
    EXPECT_EQ(mapped_volume("vms\n", "\n", "web_sda\n", "daily\n"), "") << "nobody writes to a snapshot";
}

TEST(disk_users, programs_that_serve_a_block_device) {
    struct line {
        std::string_view words;
        bool serves;
    };
    for (const auto& one :
         {line{"rbd-nbd\0map\0vms/web_sda\0"sv, true},
          line{"/usr/bin/rbd-nbd\0map\0--device\0/dev/nbd0\0vms/web_sda"sv, true},
          line{"rbd-nbd\0attach\0--device=/dev/nbd0\0vms/web_sda\0"sv, true},
          line{"rbd-nbd\0map\0--pool\0vms\0web_sda\0"sv, true},
          line{"rbd-nbd\0map\0-p\0vms\0--image=web_sda\0"sv, true}, line{"rbd-nbd\0map\0web_sda\0"sv, false},
          line{"rbd-nbd\0map\0vms/web_sda@daily\0"sv, false}, line{"rbd-nbd\0map\0vms/web_sda2\0"sv, false},
          line{"qemu-nbd\0-c\0/dev/nbd0\0rbd:vms/web_sda:conf=/etc/ceph/ceph.conf\0"sv, true},
          line{"qemu-nbd\0-c\0/dev/nbd0\0rbd:vms/web_sdb\0"sv, false},
          line{"qemu-nbd\0--image-opts\0driver=rbd,pool=vms,image=web_sda\0"sv, true},
          line{"qemu-nbd\0/srv/web_sda.qcow2\0"sv, false}, line{"nbd-client\0host\0/dev/nbd0\0"sv, false},
          line{"\0"sv, false}, line{""sv, false}}) {
        EXPECT_EQ(serves_volume(one.words, "vms/web_sda"), one.serves) << one.words;
    }
    EXPECT_TRUE(serves_volume("rbd-nbd\0map\0web\0"sv, "rbd/web")) << "Ceph's own default";
    EXPECT_TRUE(serves_volume("rbd-nbd\0map\0--pool\0vms\0--namespace\0ns\0web\0"sv, "vms/ns/web"));
}

TEST(disk_users, only_locks_of_this_host_are_asked_about) {
    const texts own{"10.254.0.1"};
    const lock_to_break ours{"vms/a", {"auto 1", "client.1", "10.254.0.1:0/1"}};
    const lock_to_break ours_too{"vms/a", {"auto 2", "client.2", "10.254.0.1:0/2"}};
    const lock_to_break foreign{"vms/b", {"auto 3", "client.3", "10.254.0.2:0/3"}};
    EXPECT_EQ(volumes_to_ask_about({ours, foreign, ours_too}, own), texts{"vms/a"});
    EXPECT_TRUE(volumes_to_ask_about({foreign}, own).empty());
    const auto left = decide_on_users({ours, foreign}, {{kind::guest, "vms/b", "db", false}}, own);
    EXPECT_EQ(left.to_break, (std::vector<lock_to_break>{ours, foreign})) << "of another host nothing is known here";
    const auto shared = decide_on_users({ours, ours_too, foreign}, {{kind::guest, "vms/a", "db", true}}, own);
    EXPECT_EQ(shared.to_break, std::vector<lock_to_break>{foreign});
    EXPECT_EQ(shared.left_alone, texts{"vms/a"});
    EXPECT_EQ(shared.refusal, "");
    const auto used = decide_on_users(
        {foreign, ours}, {{kind::guest, "vms/a", "db", true}, {kind::kernel, "vms/a", "rbd1", false}}, own);
    EXPECT_TRUE(used.to_break.empty());
    EXPECT_NE(used.refusal.find("/dev/rbd1"), std::string::npos);
}

}  // namespace
}  // namespace pvc::policy
