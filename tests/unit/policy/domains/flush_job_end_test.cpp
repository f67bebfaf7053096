// The flush job while keys, locks and sessions are in trouble, its late arrivals and its end: node-lifecycle.md 8.1
// (step 5, end), 8.3, README ruling 21; case AC93.
#include "drain_driver.hpp"

namespace pvc::policy::drain {
namespace {

using namespace std::chrono_literals;
using model::domain_state;
using model::vm_state;

class flush_machine_end : public flush_machine {};

// --- keys, locks, sessions ---

TEST_F(flush_machine_end, keys_that_cannot_be_read_are_read_again) {
    begin({u1});
    for (int i = 0; i < 20; ++i) {
        expect_keys_of(u1);
        say(unreadable(keys_read::how::failed));
        asked<ask::better_session>();
        say(woken{});
    }
    reach_choice(u1);
    EXPECT_EQ(warned, std::vector<message>());
}

TEST_F(flush_machine_end, a_domain_that_is_gone_or_lacks_a_key_is_left) {
    begin({u1, u2, u3});
    (void)lines();
    say(unreadable(keys_read::how::removed));
    EXPECT_EQ(lines(), texts());
    expect_keys_of(u2);
    say(unreadable(keys_read::how::key_missing, "/domains/u2/node"));
    EXPECT_EQ(warned, std::vector<message>{message::flush_keys_missing});
    EXPECT_EQ(lines(), texts{pvc::to_text(u2) + ": flush: its key /domains/u2/node is missing, it is left as it is"});
    expect_keys_of(u3);
}

TEST_F(flush_machine_end, keys_that_cannot_be_read_after_the_move_say_nothing) {
    begin({u1, u2});
    reach_choice(u1);
    say(best("hv2"));
    say(placed{placed::how::written, 700, {}});
    say(state_end::left);
    say(unreadable(keys_read::how::failed));
    expect_keys_of(u2);
    EXPECT_EQ(job.left, std::vector<uuid>());
    EXPECT_EQ(job.failures, std::vector<failed_move>());
}

TEST_F(flush_machine_end, another_state_under_the_lock_is_decided_on_again) {
    begin({u1});
    say(read(u1, runs_on("hv1")));
    asked<ask::place>();
    say(under_lock{stored(u1, in(vm_state::restart))});
    EXPECT_EQ(asked<ask::decide_again>().name, "vm1");
    say(ended(placed::how::conflict, "its state was changed"));
    expect_keys_of(u1);
    say(read(u1, in(vm_state::stop)));
    EXPECT_EQ(warned, std::vector<message>()) << "it was stopped meanwhile";
    end_flushed();
}

TEST_F(flush_machine_end, after_four_conflicts_it_is_left) {
    begin({u1, u2});
    (void)lines();
    for (int i = 0; i < 4; ++i) {
        EXPECT_EQ(lines(), texts());
        expect_keys_of(u1);
        say(read(u1, runs_on("hv1")));
        asked<ask::place>();
        if (i == 3) {
            say(ended(placed::how::locked, "somebody has the lock"));  // never had
            break;
        }
        say(under_lock{stored(u1, runs_on("hv1"))});
        say(best("hv2"));
        asked<ask::write>();
        say(ended(placed::how::conflict, "version conflict"));
    }
    EXPECT_EQ(lines(), texts{"vm1: flush: its keys could not be written, it is left as it is: somebody has the lock"});
    EXPECT_EQ(warned, std::vector<message>{message::flush_unwritten});
    expect_keys_of(u2);
}

TEST_F(flush_machine_end, a_session_that_breaks_under_the_lock_is_no_conflict) {
    begin({u1});
    for (int i = 0; i < 10; ++i) {
        reach_choice(u1);
        if (i % 2 == 1) {
            say(best("hv2"));
        }
        say(ended(placed::how::broken));  // of the reading of the nodes, or of the write
        asked<ask::better_session>();
        say(woken{});
    }
    expect_keys_of(u1);
    EXPECT_EQ(warned, std::vector<message>());
}

TEST_F(flush_machine_end, what_is_removed_before_it_is_written_is_left) {
    begin({u1, u2});
    reach_choice(u1);
    say(best("hv2"));
    (void)lines();
    say(ended(placed::how::gone));
    EXPECT_EQ(lines(), texts());
    expect_keys_of(u2);
}

// --- late arrivals, README ruling 21 ---

TEST_F(flush_machine_end, what_came_by_an_older_move_goes_on_and_is_dropped_then) {
    begin({});
    asked<ask::arrival>();
    (void)lines();
    (void)done();
    say(arrived{u1});
    expect_keys_of(u1);
    say(read(u1, runs_on("hv1", "hv2"), order_given - 1));
    EXPECT_EQ(lines(), texts{"vm1: flush: it came by a move that began before, it goes on"});
    EXPECT_EQ(done(), std::vector<act::any>{act::follow{u1}}) << "it stays noted until it was dealt with";
    move(u1, "hv2", "hv2");
    EXPECT_EQ(done(), (std::vector<act::any>{act::unfollow{}, act::drop_arrival{u1}}));
    asked<ask::arrival>();
    say(arrived{u2});
    say(read(u2, runs_on("hv1", "hv2"), order_given - 1));
    move(u2, "hv2", "hv2");
    EXPECT_EQ(job.left, (std::vector<uuid>{u1, u2}));
    end_flushed();
}

TEST_F(flush_machine_end, arrivals_that_are_none_are_dropped) {
    const struct {
        const char* what;
        keys_read said;
    } table[] = {
        {"sent here after the order", read(u1, runs_on("hv1"), order_given)},
        {"of another node", read(u1, runs_on("hv2"), 1)},
        {"gone", unreadable(keys_read::how::removed)},
        {"without its keys", unreadable(keys_read::how::key_missing, "/domains/u1/node")},
    };
    for (const auto& row : table) {
        SCOPED_TRACE(row.what);
        job = {};
        job.self = "hv1";
        begin({});
        say(arrived{u1});
        (void)done();
        (void)lines();
        say(row.said);
        EXPECT_EQ(done(), std::vector<act::any>{act::drop_arrival{u1}});
        EXPECT_EQ(lines(), texts());
        asked<ask::arrival>();
    }
}

TEST_F(flush_machine_end, the_same_order_given_again_is_for_what_came_until_then) {
    begin({});
    say(arrived{u1});
    ordered = order_given + 50;
    say(read(u1, runs_on("hv1"), order_given + 49));
    EXPECT_EQ(lines().back(), "vm1: flush: it came by a move that began before, it goes on");
}

TEST_F(flush_machine_end, what_was_moved_by_this_job_is_no_arrival) {
    begin({u1});
    move(u1, "hv2", "hv1");
    move(u1, "hv3", "hv3");
    asked<ask::arrival>();
    (void)done();
    say(arrived{u1});
    EXPECT_EQ(done(), std::vector<act::any>{act::drop_arrival{u1}}) << "it came back, that was seen";
    asked<ask::arrival>();
}

TEST_F(flush_machine_end, an_arrival_whose_keys_cannot_be_read_is_read_again) {
    begin({});
    say(arrived{u1});
    (void)done();
    say(unreadable(keys_read::how::failed));
    asked<ask::better_session>();
    EXPECT_EQ(done(), std::vector<act::any>());
    say(woken{});
    expect_keys_of(u1);
}

TEST_F(flush_machine_end, an_arrival_has_four_rounds_of_its_own_and_knows_who_failed) {
    begin({u1, u2});
    move(u1, "hv2", "hv1");
    move(u2, "hv2", "hv1");
    move(u1, "hv3", "hv3");
    move(u2, "hv3", "hv3");
    say(arrived{u3});
    say(read(u3, runs_on("hv1"), 1));
    reach_choice(u3);
    EXPECT_EQ(asked<ask::target>().but, names{"hv2"});
    say(best("hv4"));
    say(placed{placed::how::written, 700, {}});
    arrive(u3, "hv1", move_fault::machine);
    for (const std::string target : {"hv5", "hv6", "hv7"}) {
        EXPECT_FALSE(job.is_last);
        move(u3, target, "hv1", move_fault::machine);
    }
    EXPECT_TRUE(job.is_last);
    no_node(u3, {{"hv4", true, true}});
    say(ended(placed::how::needless));
    EXPECT_EQ(warned.back(), message::flush_stays);
    asked<ask::arrival>();
}

TEST_F(flush_machine_end, the_short_job_deals_with_arrivals_alone) {
    job.is_short = true;
    say(woken{});
    EXPECT_EQ(done(), std::vector<act::any>()) << "nothing is dropped";
    say(arrived{u1});
    say(read(u1, runs_on("hv1"), 1));
    move(u1, "hv2", "hv2");
    no_arrivals();
    EXPECT_TRUE(next.is_over()) << "the node is flushed already";
}

TEST_F(flush_machine_end, the_short_job_says_what_is_left) {
    job.is_short = true;
    say(woken{});
    say(arrived{u1});
    say(read(u1, runs_on("hv1"), 1));
    move(u1, "hv2", "hv1", move_fault::machine);
    put_off(u1, {{"hv2", true, true}});
    put_off(u1, {{"hv2", true, true}});
    (void)lines();
    no_arrivals();
    EXPECT_TRUE(next.is_over());
    EXPECT_EQ(lines(), texts{"flush: still running here: vm1"});
    EXPECT_EQ(warned.back(), message::flush_leftovers);
}

// --- the end ---

TEST_F(flush_machine_end, what_has_gone_is_waited_for_on_the_running_list_for_10_s) {
    begin({u1, u2});
    move(u1, "hv2", "hv2");
    reach_choice(u2);
    say(best("hv2"));
    say(placed{placed::how::written, 700, {}});
    say(state_end::late);  // it is still listed at the end, and nobody waits for that
    const time_point limit = now + 10s;
    asked<ask::arrival>();
    pass(4s);
    no_arrivals();
    asked<ask::listed>();
    say(domains_here{{u1, u2}});
    asked<ask::list_write>();
    EXPECT_EQ(next.until, limit) << "since the last one was dealt with";
    say(woken{});
    asked<ask::listed>();
    say(domains_here{{u2, u1}});
    asked<ask::list_write>();
    say(woken{});
    asked<ask::listed>();
    say(domains_here{{u2}});
    asked<ask::order_key>();
}

TEST_F(flush_machine_end, and_no_longer) {
    begin({u1});
    move(u1, "hv2", "hv2");
    no_arrivals();
    say(domains_here{{u1}});
    asked<ask::list_write>();
    pass(10s);
    say(woken{});
    say(domains_here{{u1}});
    asked<ask::order_key>();
}

TEST_F(flush_machine_end, ac93_an_order_that_was_replaced_gets_no_last_write) {
    const struct {
        const char* what;
        order_read said;
        std::int64_t settled;
    } table[] = {
        {"another word", {order_read::how::read, domain_state::unflush, 1200, 8}, 1199},
        {"another word of that number",
         {order_read::how::read, domain_state::flushed, order_given, 8},
         order_given - 1},
        {"no known word", {order_read::how::read, std::nullopt, 1200, 8}, 1199},
        {"the same word again", {order_read::how::read, domain_state::flush, 1200, 8}, 1199},
        {"the key is gone", {order_read::how::gone, {}, 0, 0}, 1100},
    };
    for (const auto& row : table) {
        SCOPED_TRACE(row.what);
        job = {};
        job.order = {.given = order_given, .began = now};
        ordered = 1100;
        begin({});
        (void)done();
        (void)lines();
        reach_end();
        say(row.said);
        EXPECT_TRUE(next.is_over());
        EXPECT_EQ(done(), std::vector<act::any>{act::settled{row.settled}}) << "what is about to be seen is news";
        EXPECT_EQ(lines(), texts());
    }
}

TEST_F(flush_machine_end, the_last_write_is_tried_again_from_a_fresh_reading) {
    begin({});
    (void)done();
    reach_end();
    say(order_read{});
    asked<ask::better_session>();
    say(woken{});
    asked<ask::order_key>();
    order_stands();
    say(word_written{word_written::how::failed, 0, {}});
    asked<ask::better_session>();
    say(woken{});
    asked<ask::order_key>();
    order_stands();
    say(word_written{word_written::how::overtaken, 0, {}});
    asked<ask::order_key>();
    EXPECT_EQ(done(), std::vector<act::any>());
    say(order_read{order_read::how::read, domain_state::flushed, 900, 8});  // it was ours after all, or a client's
    EXPECT_TRUE(next.is_over());
    EXPECT_EQ(done(), std::vector<act::any>{act::settled{899}});
}

TEST_F(flush_machine_end, it_is_a_value) {
    begin({u1, u2});
    reach_choice(u1);
    const flush_job before = job;
    EXPECT_EQ(job, before);
    EXPECT_EQ(job.where, flush_job::at::moving);
    EXPECT_EQ(job.one.where, one_domain::at::choosing);
    say(best("hv2"));
    EXPECT_NE(job, before);
    const flush_job after = job;
    job = before;
    say(best("hv2"));
    EXPECT_EQ(job, after) << "the same answer leads to the same place";
}

}  // namespace
}  // namespace pvc::policy::drain
