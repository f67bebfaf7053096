// RBD locks in the way, played step by step by hand.
#pragma once

#include "pvcnoded/policy/domains/rbd_clearing.hpp"

#include "machine_world.hpp"

namespace pvc::policy {

using namespace std::chrono_literals;
using lines = std::vector<std::string>;
using come = clearing_rbd_locks::outcome;
using volumes = std::vector<volume_locks>;

inline const held_lock ours{"auto 1", "client.1", "10.254.0.1:0/1"};
inline const held_lock ours_too{"auto 2", "client.2", "10.254.0.1:0/2"};
inline const held_lock foreign{"auto 7", "client.7", "10.254.0.2:0/7"};
inline const std::string both = "list_rbd_locks vms/web_sda vms/web_sdb 8s";

// A part has no `hold`: nothing of it lasts over several steps.
struct locks_played : clearing_rbd_locks {
    bool goes_on = true;
    step resume(context& c) { return clearing_rbd_locks::resume(c, goes_on); }
    friend bool operator==(const locks_played&, const locks_played&) = default;
};
class played_locks : public played<locks_played> {
public:
    explicit played_locks(lock_rules rules, std::vector<std::string> of = {"vms/web_sda", "vms/web_sdb"}) {
        machine.rules = rules;
        machine.read.volumes = std::move(of);
    }
    std::string listed(std::vector<held_lock> sda, std::vector<held_lock> sdb = {}) {
        return list({{"vms/web_sda", std::move(sda), {}}, {"vms/web_sdb", std::move(sdb), {}}});
    }
    // From the listing to the proof: its guest is not here, the image is opened, and nobody else has it open.
    std::string absent() {
        EXPECT_EQ(last_question(), "own_guest 5s");
        guest(model::guest_class::absent);
        return open();
    }
    std::string open() {
        EXPECT_EQ(last_question().substr(0, 17), "prepare_rbd_break");
        call(call_end::done);
        return last_question().starts_with("disk_users") ? users({}) : last_question();
    }
    std::string users(std::vector<disk_user> all) {
        return says(disk_users_read{disk_users_read::end::known, {}, std::move(all)});
    }
    std::string nobody_lists_it() { return says(others_read{true, {}}); }
    std::string list(volumes all) { return says(rbd_listed{std::move(all), {"10.254.0.1"}}); }
    // Over, and how.
    void expect_end(come how, const std::string& reason = {}) {
        EXPECT_TRUE(is_over()) << story();
        EXPECT_EQ(machine.end, how) << story();
        EXPECT_EQ(machine.reason, reason) << story();
    }
};

inline played_locks before_a_start() {
    played_locks p(lock_rules::before_a_start());
    EXPECT_EQ(p.begin(), both);
    return p;
}
inline volume_locks gone(std::string volume) {
    volume_locks one{std::move(volume), {}, {}};
    one.is_missing = true;
    return one;
}
inline const std::string held_by_hv2 =
    "RBD lock \"auto 7\" on vms/web_sdb is held by 10.254.0.2, not by this node; make sure the VM is stopped there, "
    "flush its locks, then start it";

}  // namespace pvc::policy
