// What is left of a broken migration is destroyed on proof only, and what waits for a proof holds nobody up
// (vm-domains.md 8.7; README rulings 24, 29).
#include "domain_migration_fixture.hpp"

namespace pvc::node {
namespace {

constexpr guest_status starting_up{run_state::paused, pause_cause::starting_up};
constexpr guest_status shutting_down_here{run_state::shutting_down, pause_cause::none};
constexpr guest_status shut_off{run_state::shut_off, pause_cause::none};

class domain_proof : public migration_fixture {
protected:
    // The daemon of hv1 was killed when it sent; a new one finds `here` on its machine and `there` on the target.
    void found_after_a_kill(guest_status here, std::optional<guest_status> there,
                            const std::map<std::string, std::string>& keys = {}) {
        hv1_runs_it(keys);
        const auto peer = contend("/migrate_sync_lock", ensemble.open_session());
        place("migrate", "hv2", "hv1");
        ensemble.remove(peer.path);
        const auto again = contend("/migrate_sync_lock", peer.session);
        ASSERT_TRUE(run_until([&] { return was("hv1 +sync"); }));
        leave(again);
        (void)contend("/migrate_sync_lock", peer.session);
        ASSERT_TRUE(until_copying()) << story() << hv1().log();
        hv1().kill();
        pass(15s);
        guest().vanish();
        guest("hv2").vanish();
        guest().appear("web", xml(u1), here);
        if (there) {
            guest("hv2").appear("web", xml(u1), *there);
        }
        machine("hv1").clear_calls();
        forget();
        hv1().start();
        ASSERT_TRUE(hv1().run_until_ready());
        ensemble.close_session(peer.session);
    }
    [[nodiscard]] std::vector<time_point> questions() { return machine().times("ask hv2.pvc.local U1"); }
    [[nodiscard]] std::optional<time_point> destroyed() {
        const auto times = machine().times("destroy U1");
        return times.empty() ? std::nullopt : std::optional(times.front());
    }
};

TEST_F(domain_proof, locks_that_cannot_be_listed_destroy_nothing) {
    hardware.rbd.lock("vms/web_sda", "10.254.0.1:0/3");
    hardware.rbd.fail_always("list", failure(errc::io, {}, "Input/output error"));
    found_after_a_kill(half, std::nullopt, {{"/rbdlist", "vms/web_sda"}});
    pass(90s);
    EXPECT_TRUE(guest().is_there()) << story() << hv1().log();
    EXPECT_FALSE(was("hv1: destroy U1") || was("hv1: resume U1"));
    EXPECT_TRUE(hv1().logged("could not be read"));
    hardware.rbd.clear_faults();
    add_reference("hv2");
    ASSERT_TRUE(run_until([&] { return was("hv1: resume U1"); }, 30s)) << story() << hv1().log();
    EXPECT_FALSE(was("hv1: destroy U1")) << "they are ours";
}

TEST_F(domain_proof, a_foreign_lock_is_seen_twice_before_anything_is_destroyed) {
    hardware.rbd.lock("vms/web_sda", "10.254.0.2:0/7");
    found_after_a_kill(half, std::nullopt, {{"/rbdlist", "vms/web_sda"}});
    ASSERT_TRUE(run_until([&] { return was("hv1: destroy U1"); }, 20s)) << story() << hv1().log();
    EXPECT_GE(std::ranges::count(hardware.rbd.calls(), "list vms/web_sda"), 2);
    EXPECT_GE(*destroyed() - questions().front(), 1s);
}

// Between the look that decides and the resume lies the listing of locks: what was written meanwhile counts.
TEST_F(domain_proof, what_was_recovered_elsewhere_while_locks_were_listed_is_not_resumed) {
    hardware.rbd.lock("vms/web_sda", "10.254.0.1:0/3");
    hardware.rbd.list_time = 2s;
    found_after_a_kill(half, std::nullopt, {{"/rbdlist", "vms/web_sda"}});
    const auto& calls = hardware.rbd.all_calls();
    ASSERT_TRUE(run_until(
        [&] {
            return !calls.empty() && calls.back().text == "list vms/web_sda" &&
                   calls.back().at + 100ms > hv1().clock.now();
        },
        30s))
        << story() << hv1().log();
    place("start", "hv3", "hv2");
    pass(30s);
    EXPECT_FALSE(was("hv1: resume U1")) << story() << hv1().log();
}

TEST_F(domain_proof, two_answers_a_second_apart_before_the_half_here_goes) {
    found_after_a_kill(half, running_guest);
    ASSERT_TRUE(run_until([&] { return was("hv1: destroy U1"); }, 20s)) << story() << hv1().log();
    ASSERT_GE(questions().size(), 2U);
    EXPECT_GE(*destroyed() - questions().front(), 1s);
    EXPECT_LE(*destroyed() - questions().front(), 2s);
}

TEST_F(domain_proof, an_answer_that_was_wrong_once_destroys_nothing) {
    found_after_a_kill(half, half);
    pass(1s);
    const auto asked = questions().size();
    guest("hv2").set_status(running_guest);
    ASSERT_TRUE(run_until([&] { return questions().size() > asked; }, 5s));
    pass(100ms);
    guest("hv2").set_status(half);
    pass(20s);
    EXPECT_FALSE(was("hv1: destroy U1")) << story() << hv1().log();
}

TEST_F(domain_proof, a_copy_there_that_is_being_set_up_is_no_reason_to_end_the_half_here) {
    found_after_a_kill(half, starting_up);
    pass(60s);
    EXPECT_FALSE(was("hv1: destroy U1")) << story() << hv1().log();
    EXPECT_FALSE(was("hv1: resume U1"));
    guest("hv2").vanish();
    ASSERT_TRUE(run_until([&] { return was("hv1: resume U1"); }, 10s));
}

TEST_F(domain_proof, what_is_off_there_counts_as_not_there) {
    found_after_a_kill(half, shut_off);
    ASSERT_TRUE(run_until([&] { return was("hv1: resume U1"); }, 20s)) << story() << hv1().log();
    EXPECT_FALSE(was("hv1: destroy U1"));
}

TEST_F(domain_proof, what_is_about_to_end_there_is_waited_for) {
    found_after_a_kill(half, shutting_down_here);
    pass(20s);
    EXPECT_FALSE(was("hv1: destroy U1") || was("hv1: resume U1")) << story() << hv1().log();
    guest("hv2").vanish();
    ASSERT_TRUE(run_until([&] { return was("hv1: resume U1"); }, 10s));
}

// A guest that somebody paused is sent, and the target refuses it while an unfinished copy is there.
TEST_F(domain_proof, a_paused_guest_is_not_destroyed_for_one_that_is_being_set_up) {
    hv1_runs_it();
    add_reference("hv2");
    pass(1s);
    guest().suspend();
    pass(1s);
    forget();
    guest().fail_migration(migration_step::copy, lost);
    place("migrate", "hv2", "hv1");
    ASSERT_TRUE(until_copying());
    ASSERT_TRUE(run_until([&] { return !guest().is_migrating(); }));
    guest("hv2").appear("web", xml(u1), starting_up);
    pass(40s);
    EXPECT_TRUE(guest().is_there()) << story() << hv1().log();
    EXPECT_FALSE(was("hv1: destroy U1"));
    EXPECT_EQ(state(), "start");
    EXPECT_EQ(value(key("/node")), "hv1");
}

TEST_F(domain_proof, the_locks_are_given_back_after_15_s_and_it_is_asked_on) {
    is_left_between();
    hardware.centre.cut("hv1", "hv2");
    peers.front().kill();
    ASSERT_TRUE(run_until([&] { return !guest().is_migrating(); }, 30s));
    const time_point failed = loop.clock().now();
    ASSERT_TRUE(run_until([&] { return locks_left() == 0; }, 30s)) << story() << hv1().log();
    EXPECT_LE(seconds_since(failed), 16.0);
    EXPECT_TRUE(hv1().host.read_file(journal).has_value()) << "the daemon after this one needs it";
    machine().clear_calls();
    pass(30s);
    EXPECT_GE(questions().size(), 3U) << "asked on, without the locks";
    EXPECT_EQ(locks_left(), 0U);
    EXPECT_TRUE(guest().is_there());
    EXPECT_FALSE(was("hv1: destroy U1") || was("hv1: resume U1"));
    hardware.centre.join("hv1", "hv2");
    ASSERT_TRUE(run_until([&] { return was("hv1: destroy U1"); }, 20s)) << story() << hv1().log();
}

TEST_F(domain_proof, a_client_is_not_held_up_by_locks_that_cannot_be_listed) {
    hardware.rbd.lock("vms/web_sda", "10.254.0.1:0/3");
    is_left_between({{"/rbdlist", "vms/web_sda"}});
    hardware.rbd.hangs = true;
    guest("hv2").vanish();
    peers.front().kill();
    ASSERT_TRUE(run_until([&] { return !guest().is_migrating(); }, 10s));
    const time_point failed = loop.clock().now();
    ASSERT_TRUE(run_until([&] { return locks_left() == 0; }, 40s)) << story() << hv1().log();
    EXPECT_LE(seconds_since(failed), 16.0);
    EXPECT_TRUE(guest().is_there());
    EXPECT_FALSE(was("hv1: destroy U1"));
}

// Class I, `start`, ours: every other node is asked.
class domain_own_half : public migration_fixture {
protected:
    void stands_here(const std::string& last = {}) {
        put_hosts({"hv2", "hv3"});
        ensemble.put("/nodes/hv3/daemonstate", "stop");
        stop_beating("hv3");
        machine("hv3").lose_power();
        define("start", "hv1", last);
        machine().guest(u1).appear("web", xml(u1), half);
        add_our_host();
    }
};

TEST_F(domain_own_half, a_node_that_was_switched_off_in_order_need_not_answer) {
    stands_here();
    ASSERT_TRUE(run_until([&] { return executes("hv1"); }, 90s)) << story() << hv1().log();
    EXPECT_TRUE(was("hv1: resume U1"));
}

TEST_F(domain_own_half, unless_it_had_it) {
    stands_here("hv3");
    pass(200s);
    EXPECT_FALSE(was("hv1: resume U1") || was("hv1: destroy U1")) << story() << hv1().log();
    machine("hv3").power_on();
    ASSERT_TRUE(run_until([&] { return was("hv1: resume U1"); }, 20s));
}

TEST_F(domain_own_half, unless_it_lists_it) {
    put_hosts({"hv2", "hv3"});
    ensemble.put("/nodes/hv3/runningdomains", to_text(u1));
    stands_here();
    ensemble.put("/nodes/hv3/runningdomains", to_text(u1));
    pass(200s);
    EXPECT_FALSE(was("hv1: resume U1") || was("hv1: destroy U1")) << story() << hv1().log();
}

TEST_F(domain_own_half, a_running_node_must_answer) {
    stands_here();
    machine("hv2").lose_power();
    pass(200s);
    EXPECT_FALSE(was("hv1: resume U1") || was("hv1: destroy U1")) << story() << hv1().log();
}

TEST_F(domain_own_half, it_runs_elsewhere_by_two_answers) {
    stands_here();
    machine("hv2").put_running(u1, "web", xml(u1));
    ASSERT_TRUE(run_until([&] { return was("hv1: destroy U1"); }, 90s)) << story() << hv1().log();
    const auto asked = machine().times("ask hv2.pvc.local U1");
    EXPECT_GE(machine().times("destroy U1").front() - asked.front(), 1s);
}

// A stale half, proven so, ends even if its keys go while it is being ended.
class domain_stale_half : public domain_proof {
protected:
    void remove_keys() { ensemble.remove_tree(key()); }
};

TEST_F(domain_stale_half, its_keys_go_while_the_call_that_ends_it_hangs) {
    is_left_between();
    guest().hang_next("destroy");
    ASSERT_TRUE(run_until([&] { return was("hv1: destroy U1"); }, 20s)) << story() << hv1().log();
    pass(100ms);
    remove_keys();
    machine().kill_libvirtd();
    pass(2s);
    machine().start_libvirtd();
    ASSERT_TRUE(run_until([&] { return !guest().is_there(); }, 60s)) << story() << hv1().log();
    EXPECT_TRUE(executes("hv2"));
}

TEST_F(domain_stale_half, and_are_defined_again) {
    is_left_between();
    guest().hang_next("destroy");
    ASSERT_TRUE(run_until([&] { return was("hv1: destroy U1"); }, 20s)) << story() << hv1().log();
    pass(100ms);
    remove_keys();
    machine().kill_libvirtd();
    peers.front().kill();
    guest("hv2").vanish();
    define("start", "hv1");
    pass(2s);
    machine().start_libvirtd();
    ASSERT_TRUE(run_until([&] { return executes("hv1"); }, 30s)) << story() << hv1().log();
    EXPECT_FALSE(was("hv1: resume U1")) << "its memory is stale";
    EXPECT_TRUE(was("hv1: create U1"));
}

TEST_F(domain_stale_half, its_keys_went_before_it_was_asked_for) {
    is_left_between();
    hardware.centre.cut("hv1", "hv2");
    ASSERT_TRUE(run_until([&] { return !guest().is_migrating(); }, 30s));
    remove_keys();
    pass(30s);
    EXPECT_TRUE(guest().is_there()) << "nobody says what it is";
    hardware.centre.join("hv1", "hv2");
    ASSERT_TRUE(run_until([&] { return !guest().is_there(); }, 60s)) << story() << hv1().log();
    EXPECT_TRUE(executes("hv2"));
}

// Neither its keys nor libvirt: it is asked about with a pause. A loop without one would end no more here.
TEST_F(domain_stale_half, its_keys_went_and_libvirt_is_away) {
    is_left_between();
    hardware.centre.cut("hv1", "hv2");
    ASSERT_TRUE(run_until([&] { return !guest().is_migrating(); }, 30s));
    remove_keys();
    machine().kill_libvirtd();
    pass(30s);
    machine().start_libvirtd();
    hardware.centre.join("hv1", "hv2");
    ASSERT_TRUE(run_until([&] { return !guest().is_there(); }, 60s)) << story() << hv1().log();
    EXPECT_TRUE(executes("hv2"));
}

TEST_F(domain_stale_half, without_its_keys_the_only_half_is_left) {
    is_left_between();
    guest("hv2").vanish();
    remove_keys();
    pass(90s);
    EXPECT_TRUE(guest().is_there()) << story() << hv1().log();
    EXPECT_FALSE(was("hv1: destroy U1") || was("hv1: resume U1"));
}

}  // namespace
}  // namespace pvc::node
