// What is found on an image after a stale lock on it was broken (README ruling 80).
#include "rbd_clearing_fixture.hpp"

namespace pvc::policy {
namespace {

TEST(rbd_clearing_machine, what_is_found_after_the_break) {
    struct line {
        std::vector<held_lock> sda;
        std::vector<held_lock> sdb;
        std::string reason;
    };
    for (const auto& one :
         {line{{ours}, {}, "RBD lock \"auto 1\" on vms/web_sda could not be removed: it is still there"},
          line{{}, {foreign}, held_by_hv2}}) {
        auto p = before_a_start();
        p.listed({ours});
        p.absent();
        p.fresh();
        p.call(call_end::done);
        EXPECT_EQ(p.listed(one.sda, one.sdb), "over") << "at once: who took it after the break may write";
        p.expect_end(come::refused, one.reason);
    }
}

// Two that have an image are started at once, and both break the stale lock on it: the first has it by now.
TEST(rbd_clearing_machine, whose_the_lock_is_that_came_after_the_break_is_asked_anew) {
    auto p = before_a_start();
    p.listed({ours});
    p.absent();
    p.fresh();
    p.call(call_end::done);
    EXPECT_EQ(p.listed({ours_too}), "disk_users vms/web_sda 10s");
    auto shares = p;
    EXPECT_EQ(shares.users({{disk_user::kind::guest, "vms/web_sda", "db", true}}), "over");
    shares.expect_end(come::clear);
    auto is_in_the_way = p;
    EXPECT_EQ(is_in_the_way.users({{disk_user::kind::guest, "vms/web_sda", "db", false}}), "over");
    EXPECT_EQ(is_in_the_way.machine.end, come::refused);
    EXPECT_NE(is_in_the_way.machine.reason.find("is in use by the VM db"), std::string::npos);
    EXPECT_EQ(p.users({}), "over") << "at once: who took it after the break may write";
    p.expect_end(come::refused, "RBD lock \"auto 2\" on vms/web_sda could not be removed: it is still there");
}

TEST(rbd_clearing_machine, another_hosts_lock_that_came_after_the_break_is_not_broken_for_a_client_either) {
    played_locks p({.breaks_any = true, .asks_users = true});
    p.begin();
    p.listed({ours});
    p.open();
    p.fresh();
    p.call(call_end::done);
    EXPECT_EQ(p.listed({foreign}), "over");
    p.expect_end(come::refused, "RBD lock \"auto 7\" on vms/web_sda could not be removed: it is still there");
}

TEST(rbd_clearing_machine, who_asks_nobody_about_users_is_refused_by_a_lock_that_came_after_the_break) {
    played_locks p({.breaks_any = true});
    p.begin();
    p.listed({ours});
    p.open();
    p.fresh();
    p.call(call_end::done);
    EXPECT_EQ(p.listed({ours_too}), "over");
    p.expect_end(come::refused, "RBD lock \"auto 2\" on vms/web_sda could not be removed: it is still there");
}

}  // namespace
}  // namespace pvc::policy
