// Locks that are only looked at.
#include "pvcnoded/policy/domains/rbd_clearing.hpp"

#include "machine_world.hpp"

namespace pvc::policy {
namespace {

using namespace std::chrono_literals;

TEST(reading_rbd_locks, it_is_over_by_its_limit) {
    played<reading_rbd_locks> p;
    p.machine.volumes = {"vms/web_sda"};
    p.machine.limit = p.now + 2s;
    const rbd_listed unread{{{"vms/web_sda", {}, "no answer", true}}, {}};
    EXPECT_EQ(p.begin(), "list_rbd_locks vms/web_sda 2s");
    EXPECT_EQ(p.says(unread), "change 1s");
    EXPECT_EQ(p.at_limit(), "list_rbd_locks vms/web_sda 1s");
    EXPECT_EQ(p.says(unread), "over") << "3 s more are too many";
    EXPECT_EQ(p.machine.found, unread.volumes);
}

}  // namespace
}  // namespace pvc::policy
