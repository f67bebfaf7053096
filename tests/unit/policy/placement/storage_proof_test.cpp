// When nobody can write to the disks of a machine any more (storage.md 6.4 "Storage proof", case 37).
#include "pvcnoded/policy/placement/storage_proof.hpp"

#include <gtest/gtest.h>

namespace pvc::policy {
namespace {

using names = std::vector<std::string>;
using come = proving_by_storage::outcome;

class storage_proof : public testing::Test {
protected:
    storage_proof() {
        machine.volumes = {"vms/a", "vms/b"};
        next = machine.resume(proof_said::begin{});
    }
    template <class T>
    [[nodiscard]] bool asks() const {
        return std::holds_alternative<T>(next);
    }
    void says(proof_said::any what) { next = machine.resume(what); }
    void clients(names of_a, names of_b = {}) {
        ASSERT_TRUE(asks<proof_ask::clients>());
        EXPECT_EQ(std::get<proof_ask::clients>(next).volumes, machine.volumes);
        says(proof_said::clients{{{"vms/a", std::move(of_a), {}, false}, {"vms/b", std::move(of_b), {}, false}}});
    }
    void blocks(const std::string& address) {
        ASSERT_TRUE(asks<proof_ask::still_wanted>());
        says(proof_said::proof{boot_time(std::chrono::seconds(7))});
        ASSERT_TRUE(asks<proof_ask::blocklist>());
        const auto& what = std::get<proof_ask::blocklist>(next);
        EXPECT_EQ(what.address, address);
        EXPECT_EQ(what.time, std::chrono::hours(24));
        EXPECT_EQ(what.proof, boot_time(std::chrono::seconds(7)));
        says(proof_said::done{});
    }
    void listed(names addresses) {
        ASSERT_TRUE(asks<proof_ask::blocklisted>());
        says(proof_said::blocklisted{std::move(addresses), {}});
    }
    void expect_end(come how, const std::string& reason = {}) {
        EXPECT_TRUE(asks<proof_ask::nothing>());
        EXPECT_EQ(machine.end, how);
        EXPECT_EQ(machine.reason, reason);
    }
    proving_by_storage machine;
    proof_ask::any next;
};

TEST_F(storage_proof, case_37_every_client_is_blocklisted_seen_to_be_so_and_nobody_new_came) {
    clients({"10.254.0.2:0/1", "10.254.0.2:0/1"}, {"10.254.0.2:0/2"});
    blocks("10.254.0.2:0/1");
    blocks("10.254.0.2:0/2");
    listed({"10.254.0.9:0/9", "v1:10.254.0.2:0/2", "10.254.0.2:0/1"});
    clients({"10.254.0.2:0/1"});  // its watch ends later
    expect_end(come::proven);
    EXPECT_EQ(machine.blocked, (names{"10.254.0.2:0/1", "10.254.0.2:0/2"}));
}

// Who was cut off is no longer listed after a while, and may come back and write.
TEST_F(storage_proof, a_disk_that_nobody_has_proves_nothing) {
    clients({"10.254.0.2:0/1"}, {});
    expect_end(come::refused, "nobody has vms/b open, so that who had it cannot be told");
}

TEST_F(storage_proof, a_disk_that_is_missing_hinders_nothing_and_proves_nothing_alone) {
    const auto begun = machine;
    says(proof_said::clients{{{"vms/a", {"10.254.0.2:0/1"}, {}, false}, {"vms/b", {}, {}, true}}});
    blocks("10.254.0.2:0/1");
    machine = begun;
    next = proof_ask::clients{machine.volumes};
    says(proof_said::clients{{{"vms/a", {}, {}, true}, {"vms/b", {}, {}, true}}});
    expect_end(come::refused, "none of its disks exists");
}

TEST_F(storage_proof, a_machine_without_disks_proves_nothing) {
    proving_by_storage none;
    EXPECT_TRUE(std::holds_alternative<proof_ask::nothing>(none.resume(proof_said::begin{})));
    EXPECT_EQ(none.end, come::refused);
}

TEST_F(storage_proof, who_comes_meanwhile_is_blocklisted_too_in_three_rounds_at_most) {
    clients({"10.254.0.2:0/1"}, {"10.254.0.2:0/1"});
    blocks("10.254.0.2:0/1");
    listed({"10.254.0.2:0/1"});
    clients({"10.254.0.2:0/2"});
    blocks("10.254.0.2:0/2");
    listed({"10.254.0.2:0/1", "10.254.0.2:0/2"});
    clients({"10.254.0.2:0/3"});
    blocks("10.254.0.2:0/3");
    listed({"10.254.0.2:0/1", "10.254.0.2:0/2", "10.254.0.2:0/3"});
    clients({"10.254.0.2:0/4"});
    expect_end(come::refused, "new clients come again and again, 10.254.0.2:0/4 among them");
}

TEST_F(storage_proof, one_that_does_not_come_to_be_listed) {
    clients({"10.254.0.2:0/1"}, {"10.254.0.2:0/1"});
    for (int round = 1; round <= 3; ++round) {
        blocks("10.254.0.2:0/1");
        listed({"10.254.0.2:0/11"});
    }
    expect_end(come::refused, "10.254.0.2:0/1 does not come to be on the blocklist of Ceph");
}

TEST_F(storage_proof, what_is_not_known_proves_nothing) {
    auto begun = machine;
    says(proof_said::clients{{{"vms/a", {"x"}, {}, false}, {"vms/b", {}, "no answer", false}}});
    expect_end(come::refused, "the clients of vms/b are not known: no answer");
    machine = begun;
    next = proof_ask::clients{machine.volumes};
    clients({"10.254.0.2:0/1"}, {"10.254.0.2:0/1"});
    auto before = machine;
    says(proof_said::proof{});
    expect_end(come::changed);
    machine = before;
    says(proof_said::proof{boot_time{}});
    before = machine;
    says(proof_said::done{"late"});
    expect_end(come::refused, "the client 10.254.0.2:0/1 could not be blocklisted: late");
    machine = before;
    says(proof_said::done{});
    says(proof_said::blocklisted{{}, "no answer"});
    expect_end(come::refused, "the blocklist of Ceph cannot be read: no answer");
}

}  // namespace
}  // namespace pvc::policy
