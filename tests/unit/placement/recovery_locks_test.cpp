// The locks of a dead node's machines, as operations of placement: what fencing will ask for (storage.md 6.4, cases 21,
// 22, 23, 24, 26, 35, 36, 37; 39 and 40 are whole daemons in unit_ceph).
#include "pvcnoded/model/domain_xml.hpp"
#include "pvcnoded/placement/rbd_clearing.hpp"
#include "sim/ceph/sim_rbd_locks.hpp"
#include "sim/sim_context.hpp"

#include <gtest/gtest.h>

namespace pvc::placement {
namespace {

using namespace std::chrono_literals;
using kind = lock_outcome::kind;
using texts = std::vector<std::string>;

class recovery_locks : public testing::Test {
protected:
    lock_outcome clear(texts volumes, texts blocked = {}) {
        std::optional<lock_outcome> out;
        loop.run([&]() -> async::awaitable<void> {
            rbd_clearing of_hv3(port, loop.clock(), {"10.254.0.3"},
                                [this](const policy::act::line& one) { said.push_back(one.text); });
            out = co_await of_hv3.for_recovery(std::move(volumes), guard(), std::move(blocked));
        });
        return *out;
    }
    proof_outcome prove(texts volumes, policy::clients_before before = {}) {
        std::optional<proof_outcome> out;
        loop.run([&]() -> async::awaitable<void> {
            rbd_clearing of_hv3(port, loop.clock(), {},
                                [this](const policy::act::line& one) { said.push_back(one.text); });
            out = co_await of_hv3.prove_silent(std::move(volumes), guard(), std::move(before));
        });
        return *out;
    }
    rbd_clearing::guarded_read guard() {
        return [this]() -> async::awaitable<std::optional<boot_time>> {
            ++guarded;
            co_return is_dead ? std::optional(loop.clock().boot_now() - age) : std::nullopt;
        };
    }

    sim::sim_loop loop;
    sim::sim_rbd_store store;
    sim::sim_rbd_locks port{store, "hv1", loop.clock()};
    bool is_dead = true;
    duration age{};  // of each proof, when it comes
    int guarded = 0;
    texts said;
};

TEST_F(recovery_locks, case_22_a_machine_without_volumes_has_nothing_to_clear) {
    EXPECT_EQ(clear({}).what, kind::clear);
    EXPECT_TRUE(store.calls().empty());
}

TEST_F(recovery_locks, case_23_a_missing_volume_is_told_and_the_lock_on_the_other_broken) {
    store.lock("vms/a", {"auto 1", "client.7", "10.254.0.3:0/7"});
    const auto done = clear({"vms/a", "vms/missing"});
    EXPECT_EQ(done.what, kind::clear) << done.reason;
    EXPECT_EQ(done.record, (std::vector<lock_fate>{{"vms/a", "auto 1", "client.7", "10.254.0.3:0/7", "broken"}}));
    EXPECT_EQ(said, (texts{"the RBD image vms/missing does not exist",
                           "broke the RBD lock \"auto 1\" of 10.254.0.3:0/7 on vms/a"}));
    EXPECT_EQ(store.calls(), (texts{"list vms/a", "list vms/missing", "open vms/a auto 1 client.7",
                                    "break vms/a auto 1 client.7 for 86400s", "list vms/a", "list vms/missing"}));
    EXPECT_TRUE(store.is_blocklisted("10.254.0.3:0/7"));
}

// Slow OSDs: what takes longer than a proof holds comes before the proof.
TEST_F(recovery_locks, of_an_image_that_takes_seconds_to_open) {
    store.lock("vms/a", "10.254.0.3:0/7");
    store.list_time = 7s;
    const auto done = clear({"vms/a"});
    EXPECT_EQ(done.what, kind::clear) << done.reason;
    EXPECT_EQ(guarded, 1);
    EXPECT_TRUE(store.is_blocklisted("10.254.0.3:0/7"));
}

// The helper died with the break: what the storage says is decided on.
TEST_F(recovery_locks, of_which_nobody_knows_whether_they_were_broken) {
    store.lock("vms/a", "10.254.0.3:0/7");
    store.fail_next("break", failure(errc::io, "Ceph's helper", "it is gone"));
    EXPECT_EQ(clear({"vms/a"}).what, kind::clear);
    EXPECT_EQ(guarded, 2) << "each with a proof of its own";
    store.lock("vms/a", "10.254.0.3:0/8");
    store.fail_next("break", failure(errc::io, "Ceph's helper", "it is gone"), 9);
    const auto never = clear({"vms/a"});
    EXPECT_EQ(never.what, kind::refused);
    EXPECT_NE(never.reason.find("it is gone"), std::string::npos) << never.reason;
}

// Some libraries send the time on the blocklist as a text.
TEST_F(recovery_locks, whose_break_ceph_does_not_understand) {
    store.lock("vms/a", "10.254.0.3:0/7");
    store.lock("vms/b", "10.254.0.3:0/8");
    store.sends_times_as_text = true;
    const auto first = clear({"vms/a", "vms/b"});
    EXPECT_EQ(first.what, kind::not_understood);
    EXPECT_EQ(first.address, "10.254.0.3:0/7");
    EXPECT_TRUE(store.blocklist().empty());
    EXPECT_EQ(store.locks("vms/a").size(), 1U);
    const auto second = clear({"vms/a", "vms/b"}, {"10.254.0.3:0/7"});
    EXPECT_EQ(second.what, kind::not_understood) << "its own lock alone";
    EXPECT_EQ(second.address, "10.254.0.3:0/8");
    EXPECT_TRUE(store.locks("vms/a").empty());
    EXPECT_TRUE(store.blocklist().empty()) << "by whoever asks for it";
    EXPECT_EQ(clear({"vms/a", "vms/b"}, {"v1:10.254.0.3:0/8"}).what, kind::clear);
    EXPECT_TRUE(store.locks("vms/b").empty());
}

TEST_F(recovery_locks, whoever_holds_them) {
    store.lock("vms/a", "10.254.0.3:0/7");
    store.lock("vms/b", "192.168.9.9:0/1");
    EXPECT_EQ(clear({"vms/a", "vms/b"}).what, kind::clear);
    EXPECT_EQ(store.blocklist(), (texts{"10.254.0.3:0/7", "192.168.9.9:0/1"}));
    EXPECT_EQ(guarded, 2) << "each with a proof of its own";
}

TEST_F(recovery_locks, case_24_a_lock_that_goes_between_listing_and_breaking) {
    store.lock("vms/a", "10.254.0.3:0/7");
    store.on_list = [this](const std::string& image) { store.unlock(image); };
    EXPECT_EQ(clear({"vms/a"}).what, kind::clear);
    EXPECT_TRUE(store.blocklist().empty());
}

TEST_F(recovery_locks, case_26_a_lock_of_those_who_ask_is_not_broken) {
    store.lock("vms/a", {"auto 1", "client.9", "10.254.0.1:0/9"});
    store.own = {"client.9"};
    const auto refused = clear({"vms/a"});
    EXPECT_EQ(refused.what, kind::refused);
    EXPECT_NE(refused.reason.find("held by Ceph's helper itself"), std::string::npos) << refused.reason;
    EXPECT_EQ(store.locks("vms/a").size(), 1U);
    ASSERT_EQ(refused.record.size(), 1U);
    EXPECT_NE(refused.record.front().outcome, "broken");
}

TEST_F(recovery_locks, case_35_the_disk_that_the_definition_names_counts_where_the_list_is_old) {
    store.lock("vms/new", "10.254.0.3:0/7");
    const auto stored = model::parse_domain_xml(
        "<domain><name>web</name><devices><disk type='network'><source protocol='rbd' name='vms/new'/>"
        "<target dev='sda'/></disk></devices></domain>");
    ASSERT_TRUE(stored);
    const auto done = clear(model::rbd_volumes("vms/old", *stored));
    EXPECT_EQ(done.what, kind::clear);
    EXPECT_EQ(said.front(), "the RBD image vms/old does not exist");
    EXPECT_TRUE(store.locks("vms/new").empty());
    store.clear_calls();
    // Its start elsewhere finds no lock.
    loop.run([&]() -> async::awaitable<void> {
        rbd_clearing here(port, loop.clock(), {"10.254.0.4"}, [](const policy::act::line&) {});
        const auto wait = [this](duration time) { return async::sleep_for(loop.clock(), time, "a lock to go"); };
        const auto started = co_await here.for_start({"vms/old", "vms/new"}, guard(), wait);
        EXPECT_EQ(started.what, kind::clear);
    });
}

// The configuration takes addresses of version 4 alone as yet, so no whole daemon shows it.
TEST_F(recovery_locks, case_21_an_address_of_version_6_is_told_whole) {
    store.lock("vms/a", "[fd00:7::2]:0/77");
    loop.run([&]() -> async::awaitable<void> {
        rbd_clearing here(port, loop.clock(), {"fd00:7::2"}, [](const policy::act::line&) {});
        const auto wait = [this](duration time) { return async::sleep_for(loop.clock(), time, "a lock to go"); };
        const auto started = co_await here.for_start({"vms/a"}, guard(), wait);
        EXPECT_EQ(started.what, kind::clear) << started.reason;
    });
    EXPECT_TRUE(store.is_blocklisted("[fd00:7::2]:0/77"));
}

TEST_F(recovery_locks, case_36_a_node_that_registers_again_keeps_its_locks) {
    store.lock("vms/a", "10.254.0.3:0/7");
    store.on_list = [this](const std::string&) { is_dead = false; };
    EXPECT_EQ(clear({"vms/a"}).what, kind::changed);
    EXPECT_EQ(store.locks("vms/a").size(), 1U);
    EXPECT_TRUE(store.blocklist().empty());
}

TEST_F(recovery_locks, a_break_is_believed_when_it_is_seen) {
    store.lock("vms/a", "10.254.0.3:0/7");
    store.keeps_broken = true;
    const auto refused = clear({"vms/a"});
    EXPECT_EQ(refused.what, kind::refused);
    EXPECT_NE(refused.reason.find("it is still there"), std::string::npos) << refused.reason;
}

TEST_F(recovery_locks, Ceph_that_cannot_be_asked_leaves_it_to_others) {
    store.lock("vms/a", "10.254.0.3:0/7");
    port.is_unavailable = true;
    const auto refused = clear({"vms/a"});
    EXPECT_EQ(refused.what, kind::refused);
    EXPECT_EQ(refused.reason, "RBD locks of vms/a could not be read: Ceph cannot be asked from here");
}

// The client has written nothing yet, so it holds no lock: its next write fails all the same.
TEST_F(recovery_locks, case_37_a_client_without_a_lock_is_kept_from_writing) {
    store.add_image("vms/a");
    store.watch("vms/a", {"client.7", "10.254.0.3:0/7"});
    const auto proof = prove({"vms/a"});
    EXPECT_EQ(proof.what, policy::proving_by_storage::outcome::proven) << proof.reason;
    EXPECT_EQ(proof.blocklisted, texts{"10.254.0.3:0/7"});
    EXPECT_EQ(store.write("vms/a", "10.254.0.3:0/7").error().code(), errc::refused);
    EXPECT_EQ(said, texts{"blocklisted the RBD client 10.254.0.3:0/7"});
    EXPECT_EQ(store.calls(), (texts{"list vms/a", "watchers vms/a", "blocklist 10.254.0.3:0/7 for 86400s",
                                    "blocklisted", "list vms/a", "watchers vms/a"}));
}

TEST_F(recovery_locks, a_proof_whose_blocklisting_ceph_does_not_understand) {
    store.lock("vms/a", "10.254.0.3:0/7");
    store.sends_times_as_text = true;
    const auto proof = prove({"vms/a"});
    EXPECT_EQ(proof.what, policy::proving_by_storage::outcome::proven) << proof.reason;
    EXPECT_EQ(store.blocklist(), texts{"10.254.0.3:0/7"});
    EXPECT_EQ(guarded, 2) << "each with a proof of its own";
}

// Who was kept out ends his watch soon after.
TEST_F(recovery_locks, a_proof_is_taken_again_with_what_was_seen_before) {
    store.add_image("vms/a");
    store.add_image("vms/b");
    const auto none = prove({"vms/a"});
    EXPECT_EQ(none.what, policy::proving_by_storage::outcome::refused);
    EXPECT_TRUE(none.clients.empty());
    const auto again = prove({"vms/a"}, {{"vms/a"}, {"10.254.0.3:0/7"}});
    EXPECT_EQ(again.what, policy::proving_by_storage::outcome::proven) << again.reason;
    EXPECT_TRUE(store.is_blocklisted("10.254.0.3:0/7"));
    EXPECT_EQ(prove({"vms/a", "vms/b"}, {{"vms/a"}, {"10.254.0.3:0/7"}}).what,
              policy::proving_by_storage::outcome::refused)
        << "of the other one nothing is known";
    store.watch("vms/b", {"client.8", "10.254.0.3:0/8"});
    store.fail_next("blocklisted", failure(errc::timed_out, "Ceph"));
    const auto half = prove({"vms/b"});
    EXPECT_EQ(half.what, policy::proving_by_storage::outcome::refused);
    EXPECT_EQ(half.clients, texts{"10.254.0.3:0/8"}) << "for the next try";
}

TEST_F(recovery_locks, on_a_proof_that_is_too_old_nobody_is_blocklisted) {
    store.lock("vms/a", "10.254.0.3:0/7");
    age = 2001ms;
    EXPECT_NE(prove({"vms/a"}).what, policy::proving_by_storage::outcome::proven);
    EXPECT_TRUE(store.blocklist().empty());
    age = 1900ms;
    store.unlock("vms/a");
    store.watch("vms/a", {"client.7", "10.254.0.3:0/7"});
    EXPECT_EQ(prove({"vms/a"}).what, policy::proving_by_storage::outcome::proven);
}

TEST_F(recovery_locks, without_a_proof_nobody_is_blocklisted) {
    store.lock("vms/a", "10.254.0.3:0/7");
    is_dead = false;
    EXPECT_EQ(prove({"vms/a"}).what, policy::proving_by_storage::outcome::changed);
    EXPECT_TRUE(store.blocklist().empty());
    is_dead = true;
    store.keeps_broken = true;
    const auto refused = prove({"vms/a"});
    EXPECT_EQ(refused.what, policy::proving_by_storage::outcome::refused);
    EXPECT_EQ(refused.reason, "10.254.0.3:0/7 does not come to be on the blocklist of Ceph");
    store.fail_always("watchers", failure(errc::timed_out, "vms/a"));
    EXPECT_EQ(prove({"vms/a"}).what, policy::proving_by_storage::outcome::refused);
}

}  // namespace
}  // namespace pvc::placement
