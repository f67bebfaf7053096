// RBD locks in the way: who waits and for how long, what is broken and on which proof, what each answer of the storage
// means. Whose a lock is, is in placement/rbd_lock_policy_test.cpp.
#include "rbd_clearing_fixture.hpp"

namespace pvc::policy {
namespace {

// ---- before a start

TEST(rbd_clearing_machine, D20_no_volumes) {
    played_locks p(lock_rules::before_a_start(), {});
    EXPECT_EQ(p.begin(), "over");
    p.expect_end(come::clear);
}

TEST(rbd_clearing_machine, what_names_no_pool_is_told_of_and_passed_over) {
    played_locks p(lock_rules::before_a_start(), {"garbage", "vms/web_sda"});
    EXPECT_EQ(p.begin(), "list_rbd_locks vms/web_sda 8s");
    EXPECT_EQ(p.acts(), lines{"warning: garbage names no RBD image, as it has no pool: passed over"});
    played_locks nothing(lock_rules::before_a_start(), {"garbage"});
    EXPECT_EQ(nothing.begin(), "over");
    nothing.expect_end(come::clear);
}

TEST(rbd_clearing_machine, no_locks) {
    auto p = before_a_start();
    EXPECT_EQ(p.listed({}), "over");
    p.expect_end(come::clear);
    EXPECT_FALSE(p.ever_asked("row")) << "what breaks nothing needs no proof";
}

TEST(rbd_clearing_machine, D16_own_locks_are_broken_each_with_a_proof_of_its_own) {
    auto p = before_a_start();
    EXPECT_EQ(p.listed({ours}, {ours_too}), "own_guest 5s");
    EXPECT_EQ(p.guest(model::guest_class::absent), "prepare_rbd_break vms/web_sda auto 1 20s");
    EXPECT_EQ(p.call(call_end::done), "disk_users vms/web_sda vms/web_sdb 10s");
    EXPECT_EQ(p.users({}), "row") << "what takes long is done before the proof is taken";
    EXPECT_EQ(p.fresh(), "break_rbd_lock vms/web_sda auto 1 20s");
    EXPECT_EQ(p.asked<ask::break_rbd_lock>()->proof, boot_time(7s));
    EXPECT_EQ(p.asked<ask::break_rbd_lock>()->which.lock, ours);
    EXPECT_EQ(p.call(call_end::done), "prepare_rbd_break vms/web_sdb auto 2 20s");
    EXPECT_EQ(p.acts(), (lines{"info: broke the RBD lock \"auto 1\" of 10.254.0.1:0/1 on vms/web_sda"}));
    EXPECT_EQ(p.call(call_end::done), "row");
    EXPECT_EQ(p.fresh(), "break_rbd_lock vms/web_sdb auto 2 20s");
    EXPECT_EQ(p.call(call_end::done), both) << "whether they are gone";
    EXPECT_EQ(p.count_asked("disk_users"), 1) << "a look at all guests is for all disks";
    EXPECT_EQ(p.listed({}), "over");
    p.expect_end(come::clear);
}

TEST(rbd_clearing_machine, a_lock_that_is_gone_is_told_of_whatever_is_wanted_by_then) {
    auto p = before_a_start();
    p.listed({ours});
    p.absent();
    EXPECT_EQ(p.fresh(), "break_rbd_lock vms/web_sda auto 1 20s");
    p.machine.goes_on = false;
    EXPECT_EQ(p.call(call_end::done), "over");
    EXPECT_EQ(p.acts(), (lines{"info: broke the RBD lock \"auto 1\" of 10.254.0.1:0/1 on vms/web_sda"}));
    p.expect_end(come::changed);
}

TEST(rbd_clearing_machine, D17_a_foreign_lock_that_stays_is_listed_again_every_second_for_5_s) {
    auto p = before_a_start();
    const time_point began = p.now;
    while (p.listed({ours}, {foreign}) == "change 1s" && p.now < began + 1h) {
        EXPECT_EQ(p.machine.in_the_way, "the RBD lock of 10.254.0.2 on vms/web_sdb");
        EXPECT_EQ(p.at_limit(), "row");
        EXPECT_EQ(p.fresh(), both);
    }
    EXPECT_EQ(p.now - began, duration(5s));
    EXPECT_EQ(p.count_asked("list_rbd_locks"), 6);
    EXPECT_EQ(p.last_question(), "others");
    EXPECT_EQ(p.nobody_lists_it(), "over");
    p.expect_end(come::refused, held_by_hv2);
    EXPECT_FALSE(p.ever_asked("break_rbd_lock")) << "all or none";
}

TEST(rbd_clearing_machine, D17_the_last_wait_ends_with_the_patience) {
    auto p = before_a_start();
    p.now += 4600ms;  // the storage is slow
    EXPECT_EQ(p.listed({}, {foreign}), "change 400ms");
    p.at_limit();
    p.fresh();
    EXPECT_EQ(p.listed({}, {foreign}), "others");
    p.nobody_lists_it();
    p.expect_end(come::refused, held_by_hv2);
    auto late = before_a_start();
    late.now += 5s;
    EXPECT_EQ(late.listed({}, {foreign}), "others");
}

// It may be destroying the guest whose lock that is: the start waits for it as for any node that lists the domain.
TEST(rbd_clearing_machine, D17_a_foreign_lock_is_no_failure_while_another_node_has_the_domain) {
    using model::daemon_state;
    struct line {
        others_read others;
        remote_answer says;
        come end;
    };
    const auto lists = [](daemon_state daemon) {
        return others_read{true, {{"hv3", daemon, false}, {"hv2", daemon, true}}};
    };
    for (const auto& one : {line{lists(daemon_state::run), remote_answer::alive, come::changed},
                            line{lists(daemon_state::run), remote_answer::silent, come::changed},
                            line{lists(daemon_state::stop), remote_answer::silent, come::changed},
                            line{lists(daemon_state::run), remote_answer::absent, come::refused},
                            line{lists(daemon_state::dead), remote_answer::alive, come::refused},
                            line{lists(daemon_state::fenced), remote_answer::alive, come::refused},
                            line{others_read{}, remote_answer::absent, come::changed}}) {
        auto p = before_a_start();
        p.now += 5s;
        p.listed({}, {foreign});
        if (p.says(one.others) == "nodes hv2") {
            p.says(nodes_asked{{{"hv2", one.says}}});
        }
        p.expect_end(one.end, one.end == come::refused ? held_by_hv2 : p.machine.reason);
        EXPECT_FALSE(p.ever_asked("break_rbd_lock"));
    }
}

TEST(rbd_clearing_machine, D18_a_foreign_lock_that_goes) {
    auto p = before_a_start();
    p.listed({ours}, {foreign});
    p.at_limit();
    p.fresh();
    EXPECT_EQ(p.listed({ours}, {}), "own_guest 5s");
    EXPECT_EQ(p.absent(), "row");
    EXPECT_EQ(p.fresh(), "break_rbd_lock vms/web_sda auto 1 20s");
}

TEST(rbd_clearing_machine, D19_an_address_that_only_begins_like_ours) {
    for (const auto* address : {"10.254.0.11:0/1", "10.254.0.1", "x", ""}) {
        played_locks p(lock_rules{});
        p.begin();
        p.listed({{"auto 1", "client.1", address}});
        EXPECT_EQ(p.machine.end, come::refused) << address;
        EXPECT_FALSE(p.ever_asked("break_rbd_lock")) << address;
    }
}

// A guest that has arrived, and whose event has not: its lock is one of this host, and it needs it.
TEST(rbd_clearing_machine, libvirt_is_asked_whose_an_own_lock_is) {
    auto p = before_a_start();
    p.listed({ours});
    auto silent = p;
    p.machine.goes_on = false;  // it is here, so that there is nothing to start
    EXPECT_EQ(p.guest(model::guest_class::alive), "over");
    p.expect_end(come::changed);
    EXPECT_EQ(silent.libvirt_silent(), "over");
    silent.expect_end(come::no_libvirt, "libvirt does not answer");
    EXPECT_FALSE(p.ever_asked("break_rbd_lock") || silent.ever_asked("break_rbd_lock"));
}

// ---- what has changed meanwhile

TEST(rbd_clearing_machine, in_every_step_it_ends_when_it_is_not_wanted_any_more) {
    auto p = before_a_start();
    p.list({{"vms/web_sda", {}, "no answer", true}, {"vms/web_sdb", {}, {}}});
    p.at_limit();
    p.list({{"vms/web_sda", {}, {}}});
    auto waits = before_a_start();
    waits.listed({ours}, {foreign});
    waits.at_limit();
    waits.fresh();
    waits.listed({ours});
    waits.absent();
    waits.fresh();
    waits.call(call_end::done);
    waits.listed({});
    for (const auto& story : {p, waits}) {
        for (auto one : story.on_its_way()) {
            one.machine.goes_on = false;
            quiet_world<locks_played> world(one);
            EXPECT_TRUE(world.wind_up(1));
            EXPECT_EQ(one.machine.end, come::changed);
        }
    }
}

TEST(rbd_clearing_machine, without_a_proof_nothing_is_broken) {
    const auto end_of = [](auto answer) {
        auto p = before_a_start();
        p.listed({ours}, {ours_too});
        p.absent();
        answer(p);
        p.expect_end(come::changed);
        EXPECT_FALSE(p.ever_asked("break_rbd_lock"));
    };
    end_of([](played_locks& p) { p.unread(); });
    end_of([](played_locks& p) { p.says(row_read{row_read::end::gone, {}}); });
    end_of([](played_locks& p) {
        p.seen.is_connected = false;
        p.fresh();
    });
}

TEST(rbd_clearing_machine, without_a_proof_it_waits_no_longer) {
    auto p = before_a_start();
    p.listed({}, {foreign});
    p.at_limit();
    EXPECT_EQ(p.unread(), "over");
    p.expect_end(come::changed);
}

// The helper opens images and is asked by many: whoever is late takes another proof, and says so in the end.
TEST(rbd_clearing_machine, a_proof_that_has_run_out_is_taken_anew) {
    auto p = before_a_start();
    p.listed({ours});
    p.absent();
    p.fresh();
    auto never = p;
    EXPECT_EQ(p.call(call_end::too_late), "prepare_rbd_break vms/web_sda auto 1 20s");
    EXPECT_EQ(p.open(), "row");
    EXPECT_EQ(p.fresh(), "break_rbd_lock vms/web_sda auto 1 20s");
    p.call(call_end::done);
    EXPECT_EQ(p.listed({}), "over");
    p.expect_end(come::clear);
    for (int i = 1; i < 5; ++i) {
        EXPECT_EQ(never.call(call_end::too_late), "prepare_rbd_break vms/web_sda auto 1 20s");
        never.open();
        never.fresh();
    }
    EXPECT_EQ(never.call(call_end::too_late), "over");
    never.expect_end(come::changed);
    EXPECT_EQ(never.acts(),
              lines{"info: the RBD lock \"auto 1\" on vms/web_sda was not broken: 5 times its turn came when "
                    "the last look at its keys was older than 2 s; beginning anew"});
}

// ---- whose lock it is (README ruling 80)

played_locks with_an_own_lock() {
    auto p = before_a_start();
    p.listed({ours}, {ours_too});
    p.guest(model::guest_class::absent);
    EXPECT_EQ(p.call(call_end::done), "disk_users vms/web_sda vms/web_sdb 10s");
    return p;
}
const disk_user neighbour{disk_user::kind::guest, "vms/web_sdb", "db", false};

TEST(rbd_clearing_machine, the_lock_of_a_neighbour_is_not_broken_nor_any_other) {
    auto p = with_an_own_lock();
    EXPECT_EQ(p.users({neighbour}), "over");
    p.expect_end(
        come::refused,
        "RBD image vms/web_sdb is in use by the VM db, which runs on this node and whose lock it is; stop that "
        "VM, or give this one a disk of its own");
    EXPECT_FALSE(p.machine.is_cephs);
    EXPECT_FALSE(p.ever_asked("break_rbd_lock"));
}

TEST(rbd_clearing_machine, what_is_mapped_on_this_host_is_not_broken) {
    auto p = with_an_own_lock();
    auto served = p;
    EXPECT_EQ(p.users({{disk_user::kind::kernel, "vms/web_sda", "rbd0", false}}), "over");
    p.expect_end(come::refused,
                 "RBD image vms/web_sda is mapped on this node as /dev/rbd0, whose lock it is; unmap it "
                 "(`rbd unmap /dev/rbd0`), then start the VM");
    EXPECT_EQ(served.users({{disk_user::kind::nbd, "vms/web_sda", "nbd3", false}}), "over");
    served.expect_end(come::refused,
                      "RBD image vms/web_sda is mapped on this node as /dev/nbd3, whose lock it is; unmap it (`rbd-nbd "
                      "unmap /dev/nbd3`, or end the program that serves it), then start the VM");
}

TEST(rbd_clearing_machine, of_what_is_shared_the_lock_stays_and_the_machine_is_started) {
    disk_user sharing = neighbour;
    sharing.shares = true;
    auto p = with_an_own_lock();
    auto mixed = p;
    EXPECT_EQ(p.users({sharing}), "row");
    EXPECT_EQ(p.fresh(), "break_rbd_lock vms/web_sda auto 1 20s");
    EXPECT_EQ(p.call(call_end::done), both);
    EXPECT_EQ(p.listed({}, {ours_too}), "over");
    p.expect_end(come::clear);
    EXPECT_EQ(p.count_asked("break_rbd_lock"), 1);
    EXPECT_EQ(mixed.users({sharing, neighbour}), "over") << "another one does not share it";
    EXPECT_EQ(mixed.machine.end, come::refused);
}

TEST(rbd_clearing_machine, where_all_is_shared_nothing_is_broken) {
    auto p = before_a_start();
    p.listed({ours});
    p.guest(model::guest_class::absent);
    p.call(call_end::done);
    EXPECT_EQ(p.users({{disk_user::kind::guest, "vms/web_sda", "db", true}}), "over");
    p.expect_end(come::clear);
    auto first = with_an_own_lock();
    EXPECT_EQ(first.users({{disk_user::kind::guest, "vms/web_sda", "db", true}}),
              "prepare_rbd_break vms/web_sdb auto 2 20s")
        << "the next one is not open yet";
}

// A look counts as long as the proof that was taken right after it.
TEST(rbd_clearing_machine, who_has_a_disk_open_is_looked_at_anew_before_a_break_that_comes_late) {
    auto p = with_an_own_lock();
    p.users({});
    p.fresh();
    const auto proof = p.asked<ask::break_rbd_lock>()->proof;
    p.call(call_end::done);
    p.now += 1s;
    EXPECT_EQ(p.call(call_end::done), "row");
    const row_read later{row_read::end::fresh, proof + 1s};
    EXPECT_EQ(p.says(later), "break_rbd_lock vms/web_sdb auto 2 20s");
    EXPECT_EQ(p.asked<ask::break_rbd_lock>()->proof, proof) << "the look is no younger";
    EXPECT_EQ(p.call(call_end::too_late), "prepare_rbd_break vms/web_sdb auto 2 20s");
    EXPECT_EQ(p.call(call_end::done), "disk_users vms/web_sdb 10s");
    p.users({});
    EXPECT_EQ(p.says(later), "break_rbd_lock vms/web_sdb auto 2 20s");
    EXPECT_EQ(p.asked<ask::break_rbd_lock>()->proof, proof + 1s);

    auto slow = with_an_own_lock();
    slow.users({});
    slow.fresh();
    slow.call(call_end::done);
    slow.now += 2s;
    EXPECT_EQ(slow.call(call_end::done), "disk_users vms/web_sdb 10s") << "opening took long";
}

// What is not known is no reason to break anything.
TEST(rbd_clearing_machine, who_has_a_disk_open_must_be_known) {
    auto p = with_an_own_lock();
    auto unread = p;
    EXPECT_EQ(p.says(disk_users_read{disk_users_read::end::no_libvirt, "libvirt does not answer", {}}), "over");
    p.expect_end(come::no_libvirt, "libvirt does not answer");
    EXPECT_EQ(unread.says(disk_users_read{disk_users_read::end::failed, "/sys/devices/rbd: I/O error", {}}), "over");
    unread.expect_end(come::unseen,
                      "who on this node has its disks open could not be read: /sys/devices/rbd: I/O error");
    EXPECT_FALSE(p.ever_asked("break_rbd_lock") || unread.ever_asked("break_rbd_lock"));
}

TEST(rbd_clearing_machine, for_a_client_a_neighbour_keeps_its_lock_too) {
    played_locks p({.breaks_any = true, .asks_users = true});
    p.begin();
    EXPECT_EQ(p.listed({foreign}, {ours_too}), "prepare_rbd_break vms/web_sda auto 7 20s");
    EXPECT_EQ(p.call(call_end::done), "disk_users vms/web_sdb 10s") << "of the other nothing is known here";
    auto free = p;
    EXPECT_EQ(p.users({neighbour}), "over");
    EXPECT_EQ(p.machine.end, come::refused);
    free.users({});
    EXPECT_EQ(free.fresh(), "break_rbd_lock vms/web_sda auto 7 20s");
}

// ---- what the storage says

TEST(rbd_clearing_machine, a_lock_that_cannot_be_removed) {
    auto p = before_a_start();
    p.listed({ours}, {ours_too});
    p.absent();
    p.fresh();
    EXPECT_EQ(p.call(call_end::other, "Input/output error"), "over");
    p.expect_end(come::refused, "RBD lock \"auto 1\" on vms/web_sda could not be removed: Input/output error");
    EXPECT_EQ(p.count_asked("break_rbd_lock"), 1);
}

// The helper died, or the answer did not come: what the storage says is decided on, with a proof of its own.
TEST(rbd_clearing_machine, a_break_of_which_nobody_knows_is_tried_again_by_what_is_listed) {
    for (const auto end : {call_end::timed_out, call_end::unavailable}) {
        auto p = before_a_start();
        p.listed({ours}, {ours_too});
        p.absent();
        p.fresh();
        EXPECT_EQ(p.call(end, "it is gone"), both);
        auto gone = p;
        auto stays = p;
        EXPECT_EQ(gone.listed({}, {}), "over") << "it had been done";
        gone.expect_end(come::clear);
        EXPECT_EQ(p.listed({ours}, {ours_too}), "own_guest 5s");
        EXPECT_EQ(p.absent(), "row");
        EXPECT_EQ(p.fresh(), "break_rbd_lock vms/web_sda auto 1 20s");
        for (int round = 0; round < 2; ++round) {
            stays.listed({ours});
            stays.absent();
            stays.fresh();
            stays.call(end, "it is gone");
        }
        stays.expect_end(come::refused, "RBD lock \"auto 1\" on vms/web_sda could not be removed: it is gone");
        EXPECT_TRUE(stays.machine.is_cephs);
    }
}

TEST(rbd_clearing_machine, an_image_that_does_not_open_is_tried_again_by_what_is_listed) {
    auto p = before_a_start();
    p.listed({ours});
    p.guest(model::guest_class::absent);
    auto refused = p;
    EXPECT_EQ(p.call(call_end::timed_out, "no answer"), both);
    EXPECT_EQ(p.listed({}), "over");
    p.expect_end(come::clear);
    EXPECT_EQ(refused.call(call_end::other, "Operation not permitted"), "over");
    refused.expect_end(come::refused,
                       "RBD lock \"auto 1\" on vms/web_sda could not be removed: Operation not permitted");
    EXPECT_FALSE(refused.machine.is_cephs);
}

TEST(rbd_clearing_machine, what_cannot_be_listed_after_the_break_does_not_count_as_gone) {
    auto p = before_a_start();
    p.listed({ours});
    p.absent();
    p.fresh();
    EXPECT_EQ(p.call(call_end::done), both);
    volume_locks unread{"vms/web_sda", {}, "no answer", true};
    unread.is_cephs = true;
    EXPECT_EQ(p.list({unread, {"vms/web_sdb", {}, {}}}), "change 1s");
    p.at_limit();
    EXPECT_EQ(p.list({unread}), "change 3s");
    p.at_limit();
    EXPECT_EQ(p.list({unread}), "over");
    p.expect_end(come::refused, "RBD locks of vms/web_sda could not be read: no answer");
    EXPECT_TRUE(p.machine.is_cephs);
}

TEST(rbd_clearing_machine, what_could_not_be_listed_is_listed_twice_more) {
    auto p = before_a_start();
    const volume_locks unread{"vms/web_sda", {}, "Input/output error", true};
    EXPECT_EQ(p.list({unread, {"vms/web_sdb", {ours}, {}}}), "change 1s");
    EXPECT_EQ(p.at_limit(), "list_rbd_locks vms/web_sda 8s") << "and no other";
    EXPECT_EQ(p.list({unread}), "change 3s");
    auto heals = p;
    EXPECT_EQ(p.at_limit(), "list_rbd_locks vms/web_sda 8s");
    EXPECT_EQ(p.list({unread}), "over");
    p.expect_end(come::refused, "RBD locks of vms/web_sda could not be read: Input/output error");
    heals.at_limit();
    EXPECT_EQ(heals.list({{"vms/web_sda", {ours_too}, {}}}), "own_guest 5s");
    EXPECT_EQ(heals.absent(), "row");
    EXPECT_EQ(heals.fresh(), "break_rbd_lock vms/web_sda auto 2 20s") << "in the order of the volumes";
}

TEST(rbd_clearing_machine, a_storage_that_cannot_be_asked_at_all_is_asked_once) {
    auto p = before_a_start();
    EXPECT_EQ(p.list({{"vms/web_sda", {}, "no Ceph", false}, {"vms/web_sdb", {ours}, {}}}), "over");
    p.expect_end(come::refused, "RBD locks of vms/web_sda could not be read: no Ceph");
    EXPECT_FALSE(p.ever_asked("break_rbd_lock"));
}

TEST(rbd_clearing_machine, a_foreign_lock_says_more_than_what_cannot_be_read) {
    auto p = before_a_start();
    EXPECT_EQ(p.list({{"vms/web_sda", {}, "no Ceph", false}, {"vms/web_sdb", {foreign}, {}}}), "change 1s");
}

// ---- for a client

TEST(rbd_clearing_machine, AC108_a_client_does_not_wait_for_others) {
    played_locks p(lock_rules{});
    p.begin();
    EXPECT_EQ(p.listed({ours}, {foreign}), "over");
    p.expect_end(come::refused, held_by_hv2);
}

TEST(rbd_clearing_machine, AC108_of_what_is_off_a_client_has_all_broken) {
    played_locks p({.breaks_any = true});
    p.begin();
    p.listed({ours}, {foreign});
    EXPECT_EQ(p.open(), "row");
    p.fresh();
    p.call(call_end::done);
    p.open();
    EXPECT_EQ(p.fresh(), "break_rbd_lock vms/web_sdb auto 7 20s");
    p.call(call_end::done);
    EXPECT_EQ(p.listed({}, {foreign}), "over");
    p.expect_end(come::refused, "RBD lock \"auto 7\" on vms/web_sdb could not be removed: it is still there");
}

// ---- for who recovers a dead node's

TEST(rbd_clearing_machine, case_22_nothing_to_clear) {
    played_locks p(lock_rules::of_a_dead_node(), {});
    EXPECT_EQ(p.begin(), "over");
    p.expect_end(come::clear);
}

TEST(rbd_clearing_machine, case_23_whoever_holds_them_and_for_a_day_and_what_is_missing_is_told) {
    played_locks p(lock_rules::of_a_dead_node());
    p.begin();
    EXPECT_EQ(p.list({{"vms/web_sda", {foreign}, {}}, gone("vms/web_sdb")}),
              "prepare_rbd_break vms/web_sda auto 7 20s");
    EXPECT_EQ(p.acts(), lines{"warning: the RBD image vms/web_sdb does not exist"});
    EXPECT_EQ(p.asked<ask::prepare_rbd_break>()->block_for, std::chrono::hours(24));
    EXPECT_EQ(p.open(), "row");
    EXPECT_EQ(p.fresh(), "break_rbd_lock vms/web_sda auto 7 20s");
    EXPECT_EQ(p.asked<ask::break_rbd_lock>()->block_for, std::chrono::hours(24));
    EXPECT_EQ(p.call(call_end::done), both);
    p.list({{"vms/web_sda", {}, {}}, gone("vms/web_sdb")});
    p.expect_end(come::clear);
    EXPECT_FALSE(p.ever_asked("own_guest") || p.ever_asked("change"));
}

TEST(rbd_clearing_machine, case_36_a_node_that_is_back_keeps_its_locks) {
    played_locks p(lock_rules::of_a_dead_node());
    p.begin();
    p.listed({foreign});
    p.open();
    EXPECT_EQ(p.unread(), "over");
    p.expect_end(come::changed);
    EXPECT_FALSE(p.ever_asked("break_rbd_lock"));
}

TEST(rbd_clearing_machine, of_a_volume_that_cannot_be_listed_nothing_of_the_others_is_broken_either) {
    played_locks p(lock_rules::of_a_dead_node());
    p.begin();
    EXPECT_EQ(p.list({{"vms/web_sda", {foreign}, {}}, {"vms/web_sdb", {}, "no Ceph", false}}), "over");
    p.expect_end(come::refused, "RBD locks of vms/web_sdb could not be read: no Ceph");
}

TEST(rbd_clearing_machine, before_a_start_nothing_is_said_of_what_is_missing) {
    auto p = before_a_start();
    EXPECT_EQ(p.list({gone("vms/web_sda"), {"vms/web_sdb", {}, {}}}), "over");
    p.expect_end(come::clear);
    EXPECT_EQ(p.acts(), lines{});
}

}  // namespace
}  // namespace pvc::policy
