// A machine that is started on hv1, step by step.
#pragma once

#include "pvcnoded/policy/domains/starting.hpp"

#include "machine_world.hpp"

namespace pvc::policy {

using start_played = played<starting>;

inline const std::vector<other_node> nobody_lists_it{{"hv2", model::daemon_state::run, false}};

inline start_played to_be_started() {
    start_played p;
    p.seen.guest = model::guest_class::absent;
    return p;
}
inline const definition_read with_a_disk{definition_read::end::read, {}, {"vms/web_sda"}};
inline const held_lock lock_of_hv1{"auto 1", "client.1", "10.254.0.1:0/1"};
inline const held_lock lock_of_hv2{"auto 2", "client.2", "10.254.0.2:0/7"};

inline rbd_listed listed(std::vector<held_lock> locks) {
    return {{{"vms/web_sda", std::move(locks), {}}}, {"10.254.0.1"}};
}

inline start_played before_its_turn() {
    auto p = to_be_started();
    p.begin();
    p.others(nobody_lists_it);
    EXPECT_EQ(p.says(with_a_disk), "change 0s") << "a turn, before the first question to Ceph";
    return p;
}
inline start_played before_its_locks() {
    auto p = before_its_turn();
    p.seen.held.has_turn = true;
    EXPECT_EQ(p.woken(), "monitors 5s");
    EXPECT_EQ(p.call(call_end::done), "list_rbd_locks vms/web_sda 8s");
    return p;
}
// What comes before the proof: the image is opened, and nobody else here has it open.
inline std::string open_for_a_break(start_played& p) {
    EXPECT_EQ(p.last_question(), "prepare_rbd_break vms/web_sda auto 1 20s");
    EXPECT_EQ(p.call(call_end::done), "disk_users vms/web_sda 10s");
    return p.says(disk_users_read{disk_users_read::end::known, {}, {}});
}
inline start_played before_its_proof() {
    auto p = before_its_locks();
    EXPECT_EQ(p.says(listed({})), "set_listed +") << "first listed, then looked at once more";
    EXPECT_EQ(p.woken(), "row");
    return p;
}
inline start_played being_created() {
    auto p = before_its_proof();
    EXPECT_EQ(p.fresh(), "create 600s");
    return p;
}
inline start_played created_guest() {
    auto p = being_created();
    p.seen.guest = model::guest_class::alive;
    EXPECT_EQ(p.call(call_end::done), "set_listed +");
    return p;
}
// From the creation that was refused to where it is created again.
inline void expect_created_again(start_played& p) {
    EXPECT_EQ(p.others(nobody_lists_it), "definition");
    EXPECT_EQ(p.says(with_a_disk), "change 0s");
    EXPECT_EQ(p.woken(), "monitors 5s");
    EXPECT_EQ(p.call(call_end::done), "list_rbd_locks vms/web_sda 8s");
    EXPECT_EQ(p.says(listed({})), "set_listed +");
    EXPECT_EQ(p.woken(), "row");
    EXPECT_EQ(p.fresh(), "create 600s");
}

}  // namespace pvc::policy
