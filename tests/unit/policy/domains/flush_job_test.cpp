// The flush job, driven by hand: node-lifecycle.md 8.1, 8.3, README ruling 21; cases AC89 to AC97 as far as decisions
// go. What is due to a targets' figures: target_selection_test.cpp; to the states of one domain: flush_rules_test.cpp.
#include "drain_driver.hpp"

namespace pvc::policy::drain {
namespace {

using namespace std::chrono_literals;
using model::domain_state;
using model::vm_state;

// --- one after the other ---

TEST_F(flush_machine, ac89_one_domain_after_the_other_each_with_a_choice_of_its_own) {
    say(woken{});
    EXPECT_EQ(done(), std::vector<act::any>{act::drop_arrivals{}}) << "they are among those present";
    EXPECT_EQ(job.where, flush_job::at::listing);
    asked<ask::present>();
    say(domains_here{{u2, u1}});
    EXPECT_EQ(lines(), texts{"flush: 2 virtual machine(s) are to leave this node"});
    EXPECT_EQ(done(), std::vector<act::any>{act::follow{u2}}) << "in the order in which they are there";

    reach_choice(u2);
    EXPECT_EQ(asked<ask::target>().but, names());
    say(best("hv2"));
    EXPECT_EQ(asked<ask::write>().what, (placement{vm_state::migrate, "hv2", "hv1", std::nullopt}));
    EXPECT_EQ(lines(), texts()) << "nothing is said before it is written";
    say(placed{placed::how::written, 700, {}});
    EXPECT_EQ(lines(), texts{"vm2: flush: moving it to hv2, which has the most free memory (8000 MiB)"});
    EXPECT_EQ(asked<ask::other_state>().since, 700);
    EXPECT_EQ(done(), std::vector<act::any>()) << "the other waits";
    say(state_end::left);
    expect_keys_of(u2);
    say(read(u2, runs_on("hv2", "hv1")));
    EXPECT_EQ(done(), (std::vector<act::any>{act::unfollow{}, act::follow{u1}}));

    move(u1, "hv4", "hv4");
    EXPECT_EQ(done(), std::vector<act::any>{act::unfollow{}});
    EXPECT_EQ(lines(), texts{"vm1: flush: moving it to hv4, which has the most free memory (8000 MiB)"});
    pass(12s);
    reach_end();
    order_stands();
    const auto& end = asked<ask::write_word>();
    EXPECT_EQ(end.word, domain_state::flushed);
    EXPECT_EQ(end.version, 7);
    EXPECT_TRUE(end.with_list);
    say(word_written{word_written::how::written, 900, {}});
    EXPECT_TRUE(next.is_over());
    EXPECT_EQ(done(), std::vector<act::any>{act::settled{900}});
    EXPECT_EQ(lines(), texts{"flush: done after 12 s, no virtual machine runs here any more"});
    EXPECT_EQ(warned, std::vector<message>());
}

TEST_F(flush_machine, a_node_without_domains_is_flushed_at_once) {
    begin({});
    EXPECT_EQ(lines(), texts{"flush: no virtual machine runs here"});
    end_flushed();
}

TEST_F(flush_machine, a_node_without_the_hypervisor_function_only_says_so) {
    job.order.has_hypervisor = false;
    say(woken{});
    asked<ask::order_key>();
    order_stands();
    EXPECT_EQ(asked<ask::write_word>().word, domain_state::flushed);
    say(word_written{word_written::how::written, 900, {}});
    EXPECT_TRUE(next.is_over());
    EXPECT_EQ(lines(), texts{"this node runs no virtual machines: it is `flushed`, and stays so"});
}

// --- where it goes ---

TEST_F(flush_machine, ac90_without_a_target_it_is_shut_down_and_waited_for) {
    begin({u1});
    put_off(u1);
    EXPECT_EQ(lines().back(), "vm1: flush: no node takes it now, it is tried once more after the others");
    no_node(u1);
    EXPECT_EQ(asked<ask::write>().what, (placement{vm_state::shutdown, std::nullopt, std::nullopt, true}));
    say(placed{placed::how::written, 700, {}});
    EXPECT_EQ(warned, std::vector<message>{message::flush_nowhere});
    EXPECT_EQ(asked<ask::other_state>().through, lasting::leaving);
    say(state_end::left);
    say(read(u1, in(vm_state::stop)));
    EXPECT_EQ(job.left, std::vector<uuid>{u1});
    end_flushed();
}

TEST_F(flush_machine, ac91_back_to_where_it_belongs) {
    begin({u1});
    reach_choice(u1, runs_on("hv1", "hv2"));
    say(best("hv2"));
    EXPECT_EQ(asked<ask::write>().what, (placement{vm_state::migrate, "hv2", "", std::nullopt}));
    (void)lines();
    say(placed{placed::how::written, 700, {}});
    EXPECT_EQ(lines(), texts{"vm1: flush: moving it back to hv2, where it belongs (most free memory (8000 MiB))"});
}

TEST_F(flush_machine, ac92_its_home_is_kept_on_a_detour) {
    begin({u1});
    reach_choice(u1, runs_on("hv1", "hv2"));
    say(best("hv4"));
    EXPECT_EQ(asked<ask::write>().what, (placement{vm_state::migrate, "hv4", "hv2", std::nullopt}));
}

TEST_F(flush_machine, ac97_what_is_not_to_run_is_skipped) {
    for (const auto state :
         {vm_state::disable, vm_state::stop, vm_state::fail, vm_state::provision, vm_state::mirror}) {
        SCOPED_TRACE(to_text(state));
        job = {};
        job.self = "hv1";
        begin({u1, u2});
        say(read(u1, in(state)));
        expect_keys_of(u2);
        EXPECT_EQ(job.left, std::vector<uuid>()) << "nothing to wait for";
    }
}

// --- what is under way ---

TEST_F(flush_machine, ac94_a_restart_is_waited_for_within_its_limit) {
    for (const auto state : {vm_state::restart, vm_state::shutdown}) {
        SCOPED_TRACE(to_text(state));
        job = {};
        job.self = "hv1";
        job.shutdown_timeout = 5s;
        begin({u1});
        (void)lines();
        const time_point limit = now + 35s;
        say(read(u1, in(state), 600));
        EXPECT_EQ(lines(), texts{"vm1: flush: it is being restarted or shut down, waiting for that"});
        EXPECT_EQ(asked<ask::other_state>().through, lasting::settling);
        EXPECT_EQ(asked<ask::other_state>().since, 600);
        EXPECT_EQ(next.until, limit);
        pass(20s);
        say(state_end::left);
        expect_keys_of(u1);
        say(read(u1, in(vm_state::restart), 601));
        EXPECT_EQ(next.until, limit) << "another restart does not make it longer";
        EXPECT_EQ(lines(), texts()) << "said once";
        say(state_end::left);
        say(read(u1, runs_on("hv1")));
        asked<ask::place>();
    }
}

TEST_F(flush_machine, ac94_a_restart_without_end_is_left_behind) {
    begin({u1, u2});
    say(read(u1, in(vm_state::restart)));
    (void)lines();
    pass(35s);
    say(state_end::late);
    expect_keys_of(u1);
    say(read(u1, in(vm_state::restart)));
    EXPECT_EQ(lines(), texts{"vm1: flush: it is still being restarted or shut down after 35 s, going on without it"});
    EXPECT_EQ(warned, std::vector<message>{message::flush_settling});
    expect_keys_of(u2);
    EXPECT_EQ(job.left, std::vector<uuid>());
}

TEST_F(flush_machine, a_restart_that_became_a_start_that_waits_is_taken_along) {
    begin({u1});
    say(read(u1, in(vm_state::restart)));
    pass(35s);
    say(state_end::late);
    placed_domain waits = in(vm_state::restart);
    waits.has_no_guest = true;
    reach_choice(u1, waits);
    EXPECT_EQ(warned, std::vector<message>());
}

TEST_F(flush_machine, a_domain_that_goes_while_it_is_waited_for_is_read_again) {
    begin({u1, u2});
    say(read(u1, in(vm_state::restart)));
    say(state_end::gone);
    expect_keys_of(u1);
    say(unreadable(keys_read::how::removed));
    expect_keys_of(u2);
    EXPECT_EQ(warned, std::vector<message>());
}

TEST_F(flush_machine, ac95_a_move_without_end_is_waited_for_120_s) {
    begin({u1, u2});
    reach_choice(u1);
    say(best("hv2"));
    pass(3s);
    say(placed{placed::how::written, 700, {}});
    EXPECT_EQ(next.until, now + 120s);
    (void)lines();
    pass(120s);
    say(state_end::late);
    EXPECT_EQ(lines(), texts{"vm1: flush: it is still on its way after 120 s, going on with the next one"});
    expect_keys_of(u2);
    EXPECT_EQ(job.left, std::vector<uuid>()) << "it is not waited for on the list";
    move(u2, "hv2", "hv2");
    (void)lines();
    end_flushed({"vm1", "x (which the cluster does not know)"});
    EXPECT_EQ(lines(),
              texts{"flush: done after 123 s, but still running here: vm1, x (which the cluster does not know)"});
    EXPECT_EQ(warned.back(), message::flush_leftovers);
}

TEST_F(flush_machine, what_is_on_its_way_here_is_waited_for_once_and_then_moved_on) {
    begin({u1});
    (void)lines();
    say(read(u1, in(vm_state::migrate_live), 600));
    EXPECT_EQ(lines(), texts{"vm1: flush: it is still on its way, waiting for that"});
    EXPECT_EQ(asked<ask::other_state>().through, lasting::arriving);
    EXPECT_EQ(next.until, now + 120s);
    pass(120s);
    say(state_end::late);
    reach_choice(u1, in(vm_state::migrate_live));
    say(best("hv2"));
    EXPECT_EQ(asked<ask::write>().what.state, vm_state::migrate_live);
    EXPECT_EQ(warned, std::vector<message>());
}

TEST_F(flush_machine, what_is_on_its_way_here_and_can_go_nowhere_is_left) {
    begin({u1, u2});
    say(read(u1, in(vm_state::migrate)));
    say(state_end::late);
    reach_choice(u1, in(vm_state::migrate));
    say(nobody());
    say(ended(placed::how::needless));
    say(read(u2, in(vm_state::stop)));
    say(read(u1, in(vm_state::migrate)));
    say(state_end::late);
    reach_choice(u1, in(vm_state::migrate));
    (void)lines();
    say(nobody());
    say(nobody());
    asked<ask::write_nothing>();
    say(ended(placed::how::needless));
    EXPECT_EQ(lines(), texts{"vm1: flush: there is nothing that could be done with it"});
    EXPECT_EQ(warned, std::vector<message>{message::flush_needless});
    end_flushed();
}

TEST_F(flush_machine, what_each_wait_lasts_through) {
    const struct {
        vm_state state;
        bool settling;
        bool arriving;
        bool leaving;
    } table[] = {
        {vm_state::start, false, false, false},   {vm_state::stop, false, false, false},
        {vm_state::restart, true, false, false},  {vm_state::shutdown, true, false, true},
        {vm_state::migrate, false, true, true},   {vm_state::migrate_live, false, true, true},
        {vm_state::unmigrate, false, true, true}, {vm_state::fail, false, false, false},
        {vm_state::disable, false, false, false},
    };
    for (const auto& row : table) {
        SCOPED_TRACE(to_text(row.state));
        EXPECT_EQ(lasts(lasting::settling, row.state), row.settling);
        EXPECT_EQ(lasts(lasting::arriving, row.state), row.arriving);
        EXPECT_EQ(lasts(lasting::leaving, row.state), row.leaving);
    }
}

TEST_F(flush_machine, what_is_removed_on_its_way_is_not_looked_for) {
    begin({u1, u2});
    reach_choice(u1);
    say(best("hv2"));
    say(placed{placed::how::written, 700, {}});
    (void)lines();
    say(state_end::gone);
    expect_keys_of(u2);
    EXPECT_EQ(lines(), texts());
}

TEST_F(flush_machine, what_leaves_already_is_only_waited_for) {
    begin({u1});
    say(read(u1, in(vm_state::migrate, "hv3"), 650));
    EXPECT_EQ(asked<ask::other_state>().since, 650);
    EXPECT_EQ(next.until, now + 120s);
    arrive(u1, "hv3");
    EXPECT_EQ(job.left, std::vector<uuid>{u1});
    end_flushed();
}

TEST_F(flush_machine, what_somebody_else_sent_and_comes_back_is_moved_after_the_others) {
    begin({u1, u2});
    say(read(u1, in(vm_state::migrate, "hv3"), 650));
    (void)lines();
    arrive(u1, "hv1");
    EXPECT_EQ(lines(), texts{"vm1: flush: it came back, it is moved after the others"});
    EXPECT_EQ(job.failures, std::vector<failed_move>()) << "nobody knows why";
    move(u2, "hv2", "hv2");
    reach_choice(u1);
    EXPECT_EQ(asked<ask::target>().but, names());
}

// --- what comes back, README ruling 21 ---

TEST_F(flush_machine, what_comes_back_is_tried_with_another_node_after_the_rest) {
    for (const auto fault : {move_fault::target, move_fault::machine}) {
        job = {};
        job.self = "hv1";
        job.order = {.given = order_given, .began = now};
        warned.clear();
        begin({u1, u2});
        (void)lines();
        move(u1, "hv2", "hv1", fault);
        EXPECT_EQ(lines().back(),
                  "vm1: flush: it could not be moved to hv2, looking for another node after the others");
        reach_choice(u2);
        EXPECT_EQ(asked<ask::target>().but, names()) << "one failure may be the domain's own";
        say(best("hv2"));
        say(placed{placed::how::written, 701, {}});
        arrive(u2, "hv2");
        reach_choice(u1);
        EXPECT_EQ(asked<ask::target>().but, fault == move_fault::machine ? names{"hv2"} : names())
            << "another has gone there";
        say(best("hv4"));
        say(placed{placed::how::written, 702, {}});
        arrive(u1, "hv4");
        EXPECT_EQ(job.left, (std::vector<uuid>{u2, u1}));
        EXPECT_EQ(warned, std::vector<message>{message::flush_again});
        end_flushed();
    }
}

TEST_F(flush_machine, after_four_rounds_it_is_put_off_to_the_end) {
    begin({u1});
    for (const std::string target : {"hv2", "hv3", "hv4", "hv5"}) {
        move(u1, target, "hv1", move_fault::machine);
    }
    EXPECT_EQ(warned, std::vector<message>(3, message::flush_again));
    (void)lines();
    reach_choice(u1);
    EXPECT_EQ(asked<ask::target>().but, (names{"hv2", "hv3", "hv4", "hv5"}));
    say(nobody({{"hv2", true, true}, {"hv3", true, true}, {"hv4", true, true}, {"hv5", true, true}}));
    say(nobody({{"hv2", true, true}, {"hv3", true, true}, {"hv4", true, true}, {"hv5", true, true}}));
    asked<ask::write_nothing>();
    say(ended(placed::how::needless));
    EXPECT_EQ(lines().back(), "vm1: flush: it could not be moved, it stays here");
    EXPECT_EQ(warned.back(), message::flush_stays);
    end_flushed({"vm1"});
    EXPECT_EQ(warned.back(), message::flush_leftovers);
}

TEST_F(flush_machine, a_target_is_left_out_by_all_after_two_failures_of_its_own) {
    begin({u1, u2, u3});
    move(u1, "hv2", "hv1");
    EXPECT_EQ(warned, std::vector<message>{message::flush_again});
    (void)lines();
    move(u2, "hv2", "hv1");
    EXPECT_EQ(lines().back(),
              "flush: two virtual machines could not be moved to node hv2, it is left out for 10 min, and tried again "
              "at the end");
    EXPECT_EQ(warned.back(), message::flush_target_left_out);
    reach_choice(u3);
    EXPECT_EQ(asked<ask::target>().but, names{"hv2"});
}

// Two machines that a target refuses for their own reasons (../shared/cases files/13).
TEST_F(flush_machine, what_a_libvirt_refuses_says_nothing_of_its_node) {
    begin({u1, u2, u3});
    move(u1, "hv2", "hv1", move_fault::machine);
    move(u2, "hv2", "hv1", move_fault::machine);
    reach_choice(u3);
    EXPECT_EQ(asked<ask::target>().but, names());
    say(best("hv2"));
    say(placed{placed::how::written, 700, {}});
    arrive(u3, "hv2");
    for (const auto& id : {u1, u2}) {
        put_off(id, {{"hv2", true, true}});
    }
    for (const auto& id : {u1, u2}) {
        reach_choice(id);
        say(nobody({{"hv2", true, true}}));
        EXPECT_EQ(asked<ask::target>().but, names{"hv2"}) << "it is not asked again";
        say(nobody({{"hv2", true, true}}));
        asked<ask::write_nothing>();
        say(ended(placed::how::needless));
        EXPECT_EQ(warned.back(), message::flush_stays);
    }
    end_flushed({"vm1", "vm2"});
    EXPECT_EQ(lines().back(), "flush: done after 0 s, but still running here: vm1, vm2");
}

TEST_F(flush_machine, for_ten_minutes) {
    using row = std::pair<duration, names>;
    for (const auto& [time, but] : {row{10min - 1s, names{"hv2"}}, row{10min, names()}}) {
        job = {};
        job.self = "hv1";
        begin({u1, u2, u3});
        move(u1, "hv2", "hv1");
        move(u2, "hv2", "hv1");
        pass(time);
        reach_choice(u3);
        EXPECT_EQ(asked<ask::target>().but, but);
    }
}

// --- the end, README ruling 78 ---

// The only target hangs for a while (../shared/cases files/18): nobody is shut down, and once one goes, all go.
TEST_F(flush_machine, what_is_left_is_tried_at_the_end_and_once_one_goes_all_go) {
    begin({u1, u2, u3});
    const std::vector<possible_node> there{{"hv2", true, true}};
    move(u1, "hv2", "hv1");
    move(u2, "hv2", "hv1");
    put_off(u3, there);
    put_off(u1, there);
    put_off(u2, there);
    // One that was not tried yet is first; for the others the node is one that was tried just now.
    const auto try_again = [&](const uuid& id, const std::string& end) {
        reach_choice(id);
        say(nobody(there));
        EXPECT_EQ(asked<ask::target>().but, names());
        say(best("hv2"));
        say(placed{placed::how::written, 700, {}});
        arrive(id, end);
    };
    try_again(u3, "hv1");
    for (const auto& id : {u1, u2}) {
        reach_choice(id);
        say(nobody(there));
        EXPECT_EQ(asked<ask::target>().but, names{"hv2"});
        say(nobody(there));
        asked<ask::write_nothing>();
        say(ended(placed::how::needless));
    }
    asked<ask::time>();
    EXPECT_EQ(next.until, now + 5s);
    pass(5s);
    say(woken{});
    try_again(u1, "hv2");
    move(u2, "hv2", "hv2");
    move(u3, "hv2", "hv2");
    EXPECT_EQ(job.left, (std::vector<uuid>{u1, u2, u3}));
    end_flushed();
    EXPECT_EQ(std::ranges::count(warned, message::flush_nowhere), 0);
}

TEST_F(flush_machine, for_sixty_seconds_and_then_it_stays) {
    begin({u1});
    const std::vector<possible_node> there{{"hv2", true, true}};
    put_off(u1, there);  // it offers nothing that can be compared
    const time_point limit = now + 60s;
    int tries = 0;
    put_off(u1, there);
    while (is_asked<ask::time>() && tries++ < 100) {
        EXPECT_LE(next.until, limit);
        now = next.until;
        say(woken{});
        (void)lines();
        put_off(u1, there);
    }
    EXPECT_EQ(tries, 12);
    EXPECT_EQ(lines(), texts{"vm1: flush: it could not be moved, it stays here"});
    EXPECT_EQ(warned, std::vector<message>{message::flush_stays});
    EXPECT_EQ(job.stayed, texts{"vm1"});
    end_flushed({"vm1"});
}

TEST_F(flush_machine, only_where_no_node_is_for_it_and_none_was_it_is_shut_down) {
    const struct {
        const char* what;
        std::vector<possible_node> then;  // when another machine was looked at
        std::vector<possible_node> now;
        bool is_shut_down;
    } table[] = {
        {"there is none", {}, {}, true},
        {"it is not ready", {{"hv2", true, false}}, {{"hv2", true, false}}, true},
        {"it may not go there", {{"hv2", false, true}}, {{"hv2", false, true}}, true},
        {"it is ready, and cannot be chosen", {}, {{"hv2", true, true}}, false},
        {"it was ready", {{"hv2", false, true}}, {{"hv2", true, false}}, false},
        {"it was ready, and is no node any more", {{"hv2", true, true}}, {}, true},
    };
    for (const auto& row : table) {
        SCOPED_TRACE(row.what);
        job = {};
        job.self = "hv1";
        begin({u1, u2});
        put_off(u1, row.then);
        say(read(u2, in(vm_state::stop)));
        no_node(u1, row.now);
        EXPECT_EQ(is_asked<ask::write>(), row.is_shut_down);
        EXPECT_EQ(is_asked<ask::write_nothing>(), !row.is_shut_down);
    }
}

TEST_F(flush_machine, in_the_last_round_each_node_is_tried_with_one_machine) {
    begin({u1, u2});
    const std::vector<possible_node> there{{"hv2", true, true}, {"hv3", true, true}};
    for (const std::string target : {"hv2", "hv3"}) {
        move(u1, target, "hv1");
        move(u2, target, "hv1");
    }
    put_off(u1, there);
    put_off(u2, there);
    const auto try_with = [&](const uuid& id, const names& but, const std::string& target) {
        reach_choice(id);
        EXPECT_EQ(asked<ask::target>().but, (names{"hv2", "hv3"}));
        say(nobody(there));
        EXPECT_EQ(asked<ask::target>().but, but);
        say(best(target));
        say(placed{placed::how::written, 700, {}});
        arrive(id, "hv1");
    };
    try_with(u1, names(), "hv2");
    try_with(u2, names{"hv2"}, "hv3");
    asked<ask::time>();
}

}  // namespace
}  // namespace pvc::policy::drain
