// Who has the guest after a live call that failed, or when a new daemon finds half of one (vm-domains.md 8.7, row by
// row).
#include "domain_migration_fixture.hpp"

namespace pvc::node {
namespace {

constexpr guest_status halted{run_state::paused, pause_cause::io_error};

class domain_resolve : public migration_fixture {
protected:
    // The daemon of hv1 was killed when it sent; a new one finds `here` on its machine and `there` on the target.
    void found_after_a_kill(std::optional<guest_status> here, std::optional<guest_status> there,
                            const std::map<std::string, std::string>& keys = {}) {
        hv1_runs_it(keys);
        const auto peer = contend("/migrate_sync_lock", ensemble.open_session());
        place("migrate", "hv2", "hv1");
        ensemble.remove(peer.path);
        peer_ = contend("/migrate_sync_lock", peer.session);
        ASSERT_TRUE(run_until([&] { return was("hv1 +sync"); }));
        leave(peer_);
        peer_ = contend("/migrate_sync_lock", peer.session);
        ASSERT_TRUE(until_copying()) << story() << hv1().log();
        hv1().kill();
        pass(15s);  // its session is over, and so is the call
        machine("hv1").guest(u1).vanish();
        machine("hv2").guest(u1).vanish();
        put(machine("hv1").guest(u1), here);
        put(machine("hv2").guest(u1), there);
        machine("hv1").clear_calls();
        forget();
        meanwhile();
        hv1().start();
        ASSERT_TRUE(hv1().run_until_ready());
        ensemble.close_session(peer.session);
    }
    void put(sim::sim_guest& one, const std::optional<guest_status>& status) {
        if (status) {
            one.appear("web", xml(u1), *status);
        }
    }
    // A live call that fails at `at`, with the reference as the receiver.
    void fails(migration_step at, source_copy left = source_copy::incoming,
               const std::map<std::string, std::string>& keys = {}) {
        hv1_runs_it(keys);
        add_reference("hv2");
        pass(1s);
        guest().fail_migration(at, lost, left);
        hardware.centre.times.reply = 300ms;
        forget();
        place("migrate", "hv2", "hv1");
    }
    std::function<void()> meanwhile = [] {};
    contender peer_;
};

TEST_F(domain_resolve, half_here_and_it_runs_there) {
    found_after_a_kill(half, running_guest);
    ASSERT_TRUE(run_until([&] { return was("hv1: destroy U1"); }, 10s)) << story() << hv1().log();
    ASSERT_TRUE(until_state("start", 30s)) << story() << "the receiver did not, so the sender does";
    EXPECT_EQ(value(key("/node")), "hv2");
    EXPECT_FALSE(was("hv1: resume U1"));
    EXPECT_TRUE(in_order({"hv1: destroy U1", "state=start"}));
    pass(2s);
    EXPECT_EQ(running(), "");
    EXPECT_FALSE(hv1().host.read_file(journal).has_value());
}

TEST_F(domain_resolve, half_here_and_halted_there) {
    found_after_a_kill(half, halted);
    ASSERT_TRUE(run_until([&] { return was("hv1: destroy U1"); }, 10s)) << story() << hv1().log();
    EXPECT_TRUE(guest("hv2").is_there());
    EXPECT_FALSE(was("hv1: resume U1"));
}

TEST_F(domain_resolve, half_here_and_half_there) {
    found_after_a_kill(half, half);
    pass(30s);
    EXPECT_TRUE(calls().empty()) << pvc::join(calls(), ", ");
    EXPECT_TRUE(writes().empty()) << story();
    const auto asked = machine().count("ask hv2.pvc.local U1");
    EXPECT_TRUE(asked >= 10 && asked <= 20) << asked;
    guest("hv2").vanish();
    ASSERT_TRUE(run_until([&] { return was("hv1: resume U1"); }, 10s));
}

TEST_F(domain_resolve, half_here_and_nothing_there) {
    found_after_a_kill(half, std::nullopt);
    add_reference("hv2");
    ASSERT_TRUE(run_until([&] { return was(live_call); }, 20s)) << story() << hv1().log();
    EXPECT_TRUE(in_order({"hv1: resume U1", live_call})) << "and sends it again";
    EXPECT_FALSE(was("hv1: destroy U1"));
}

TEST_F(domain_resolve, half_here_nothing_there_and_the_disks_are_anothers) {
    hardware.rbd.lock("vms/web_sda", "10.254.0.2:0/7");
    found_after_a_kill(half, std::nullopt, {{"/rbdlist", "vms/web_sda"}});
    ASSERT_TRUE(until_state("stop", 40s)) << story() << hv1().log();
    EXPECT_TRUE(in_order({"hv1: destroy U1", "state=stop"})) << story();
    EXPECT_FALSE(was("hv1: resume U1"));
    ASSERT_TRUE(until_state("start", 15s));
    EXPECT_EQ(value(key("/node")), "hv2");
}

// That nobody has a lock on its disks says nothing where its target may have had it, and then lost its power or was
// fenced (whoever does that takes the locks away): its memory may be older than the disks. Nobody can tell such a
// target from one whose daemon alone began anew, so that this one costs a start, where it leaves no lock (images
// without the feature exclusive-lock). With a lock of ours, or without disks there, it is resumed.
TEST_F(domain_resolve, half_here_nothing_there_and_no_lock_anywhere) {
    struct row {
        const char* name;
        std::function<void()> meanwhile;
        std::string lock;
        std::string disks;
        bool is_resumed;
    };
    const auto begins_anew = [this] { ensemble.put("/nodes/hv2/daemonstate", "run"); };
    const auto is_fenced = [this] { ensemble.put("/nodes/hv2/daemonstate", "fenced"); };
    const std::string own = "10.254.0.1:0/3";
    const std::string disk = "vms/web_sda";
    for (const auto& [name, before, lock, disks, is_resumed] :
         {row{"as it was", [] {}, "", disk, true}, row{"it began anew", begins_anew, "", disk, false},
          row{"it began anew, our lock", begins_anew, own, disk, true},
          row{"it began anew, no disks", begins_anew, "", "", true}, row{"fenced", is_fenced, "", disk, false},
          row{"fenced, our lock", is_fenced, own, disk, true}}) {
        SCOPED_TRACE(name);
        nodes.clear();
        peers.clear();
        ensemble.remove_tree(key());
        guest().vanish();
        ensemble.put("/nodes/hv2/daemonstate", "run");
        meanwhile = [&] {
            before();
            hardware.rbd.unlock(disk);
            if (!lock.empty()) {
                hardware.rbd.lock(disk, lock);
            }
        };
        found_after_a_kill(half, std::nullopt, {{"/rbdlist", disks}});
        ASSERT_TRUE(run_until([&] { return was(is_resumed ? "hv1: resume U1" : "hv1: destroy U1"); }, 40s))
            << story() << hv1().log();
        EXPECT_FALSE(was(is_resumed ? "hv1: destroy U1" : "hv1: resume U1")) << story();
        leave(peer_);
    }
}

TEST_F(domain_resolve, half_here_and_out_of_reach_until_it_is_fenced) {
    hv1_runs_it();
    add_reference("hv2");
    pass(1s);
    guest().fail_migration(migration_step::reply, lost, source_copy::incoming);
    hardware.centre.times.reply = 300ms;
    place("migrate", "hv2", "hv1");
    ASSERT_TRUE(run_until([&] { return executes("hv2"); }));
    peers.front().kill();
    stop_beating("hv2");
    machine("hv2").lose_power();
    pass(1s);
    forget();
    machine().clear_calls();
    pass(20s);
    EXPECT_TRUE(calls().empty() && writes().empty()) << story();
    EXPECT_TRUE(hv1().logged("does not answer"));
    ensemble.put("/nodes/hv2/daemonstate", "fenced");
    ASSERT_TRUE(run_until([&] { return executes("hv1"); }, 15s)) << story() << hv1().log();
    // The locks were given back meanwhile: it is sent again, and nobody receives it.
    ASSERT_TRUE(until_state("start", 45s)) << story();
    EXPECT_TRUE(in_order({"hv1: resume U1", "state=start"})) << story();
    EXPECT_EQ(value(key("/node")), "hv1");
}

TEST_F(domain_resolve, no_copy_is_resumed_without_zookeeper) {
    fails(migration_step::reply);
    ASSERT_TRUE(run_until([&] { return executes("hv2"); }));
    guest("hv2").vanish();
    hv1().connector.link().cut();
    pass(7s);
    EXPECT_FALSE(was("hv1: resume U1"));
    hv1().connector.link().mend();
    ASSERT_TRUE(run_until([&] { return was("hv1: resume U1"); }, 20s)) << story() << hv1().log();
}

TEST_F(domain_resolve, it_arrived_and_ended_there) {
    fails(migration_step::reply);
    ASSERT_TRUE(run_until([&] { return executes("hv2"); }));
    peers.front().kill();
    guest("hv2").vanish();
    set("start");  // the target had said so
    ASSERT_TRUE(run_until([&] { return was("hv1: destroy U1"); }, 10s)) << story() << hv1().log();
    pass(15s);
    EXPECT_FALSE(was("hv1: resume U1"));
    EXPECT_FALSE(guest().is_there());
    EXPECT_EQ(value(key("/node")), "hv2");
    EXPECT_EQ(state(), "start");
    EXPECT_EQ(locks_left(), 0U);
}

TEST_F(domain_resolve, runs_here_and_halted_there_for_good) {
    fails(migration_step::copy);
    ASSERT_TRUE(until_copying());
    ASSERT_TRUE(run_until([&] { return !guest().is_migrating(); }));
    guest("hv2").appear("web", xml(u1), halted);
    const time_point failed = loop.clock().now();
    ASSERT_TRUE(until_state("start", 30s)) << story();
    EXPECT_NEAR(seconds_since(failed), 10.0, 2.5);
    EXPECT_EQ(value(key("/node")), "hv1");
    EXPECT_FALSE(was("hv1: shutdown U1") || was("hv1: destroy U1"));
    EXPECT_EQ(count(live_call), 1U);
    EXPECT_TRUE(executes("hv1"));
    pass(1s);
    EXPECT_LE(machine().count("ask hv2.pvc.local U1"), 8U) << "not all the time";
    EXPECT_TRUE(hv1().logged("a copy that does not run is left on node hv2")) << hv1().log() << story();
}

TEST_F(domain_resolve, runs_here_and_silence_there) {
    fails(migration_step::copy);
    ASSERT_TRUE(until_copying());
    hardware.centre.cut("hv1", "hv2");
    ASSERT_TRUE(until_state("start", 60s)) << story() << hv1().log();
    EXPECT_EQ(value(key("/node")), "hv1");
    EXPECT_FALSE(was("hv1: shutdown U1")) << "no fallback without proof";
    hardware.centre.join("hv1", "hv2");
    pass(20s);
    EXPECT_TRUE(executes("hv1"));
    EXPECT_EQ(hardware.centre.running_copies(u1), 1U);
}

TEST_F(domain_resolve, gone_here_and_it_is_there) {
    fails(migration_step::reply, source_copy::gone);
    ASSERT_TRUE(until_state("start", 10s)) << story() << hv1().log();
    pass(3s);
    EXPECT_FALSE(was("state=stop"));
    EXPECT_TRUE(settled_on("hv2")) << story();
}

TEST_F(domain_resolve, gone_here_and_there) {
    fails(migration_step::reply, source_copy::gone);
    ASSERT_TRUE(run_until([&] { return executes("hv2"); }));
    guest("hv2").vanish();
    ASSERT_TRUE(run_until([&] { return executes("hv2"); }, 40s)) << story() << hv1().log();
    pass(3s);
    EXPECT_TRUE(in_order({live_call, "hv1 list=", "state=stop", "state=start"})) << story();
    EXPECT_TRUE(settled_on("hv2")) << story();
}

TEST_F(domain_resolve, gone_here_and_silence_there) {
    fails(migration_step::reply, source_copy::gone);
    ASSERT_TRUE(run_until([&] { return executes("hv2") && !guest().is_there(); }));
    hardware.centre.cut("hv1", "hv2");
    const time_point failed = loop.clock().now();
    ASSERT_TRUE(run_until([&] { return was("hv1 -sync"); }, 40s)) << story() << hv1().log();
    EXPECT_GE(seconds_since(failed), 9.0);
    EXPECT_FALSE(was("state=stop"));
    ASSERT_TRUE(until_state("start", 10s)) << story() << "the receiver finishes";
    pass(3s);
    EXPECT_TRUE(executes("hv2"));
    EXPECT_EQ(locks_left(), 0U);
}

TEST_F(domain_resolve, the_last_node_of_before_survives_two_kills) {
    hv1_runs_it({}, "hv3");
    place("migrate", "hv2", "");
    for (int i = 0; i < 2; ++i) {
        const auto first = contend("/migrate_sync_lock");
        ASSERT_TRUE(run_until([&] { return was("hv1 +sync"); }, 30s)) << story();
        leave(first);
        const auto second = contend("/migrate_sync_lock", first.session);
        ASSERT_TRUE(until_copying()) << story();
        hv1().kill();
        ensemble.close_session(first.session);
        pass(15s);
        forget();
        hv1().start();
        ASSERT_TRUE(hv1().run_until_ready());
    }
    ASSERT_TRUE(until_state("start", 60s)) << story();
    EXPECT_EQ(value(key("/node")), "hv1");
    EXPECT_EQ(value(key("/lastnode")), "hv3");
}

}  // namespace
}  // namespace pvc::node
