// The unflush job, driven by hand: node-lifecycle.md 8.2, 8.3, README ruling 13; case AC98.
#include "drain_driver.hpp"

namespace pvc::policy::drain {
namespace {

using namespace std::chrono_literals;
using model::domain_state;
using model::vm_state;

class unflush_machine : public driven<unflush_job> {
protected:
    void begin(std::map<uuid, placed_domain> all) {
        say(woken{});
        asked<ask::all_keys>();
        say(all_read{true, std::move(all)});
    }
    void reach_write(const uuid& id, const placed_domain& keys) {
        expect_keys_of(id);
        say(read(id, keys));
        EXPECT_EQ(asked<ask::place>().id, id);
        say(under_lock{stored(id, keys)});
        asked<ask::write>();
    }
};

TEST_F(unflush_machine, ac98_what_comes_back_and_how) {
    const placed_domain marked{vm_state::stop, "hv1", "", true};
    const placed_domain away = runs_on("hv2", "hv1");
    const placed_domain off{vm_state::stop, "hv2", "hv1", false};
    begin({{u3, off}, {u1, marked}, {u4, runs_on("hv2")}, {u2, away}});
    EXPECT_EQ(lines(), texts{"unflush: 3 virtual machine(s) come back"});

    reach_write(u1, marked);
    EXPECT_EQ(asked<ask::write>().what, (placement{vm_state::start, "hv1", "", false}));
    say(placed{placed::how::written, 700, {}});
    EXPECT_EQ(lines(), texts{"vm1: unflush: starting it, it was shut down as no other node could take it"});
    EXPECT_EQ(done(), (std::vector<act::any>{act::follow{u1}, act::unfollow{}, act::follow{u2}})) << "not waited for";

    reach_write(u2, away);
    EXPECT_EQ(asked<ask::write>().what, (placement{vm_state::migrate, "hv1", "", std::nullopt}));
    say(placed{placed::how::written, 701, {}});
    EXPECT_EQ(lines(), texts{"vm2: unflush: bringing it back"});
    EXPECT_EQ(asked<ask::other_state>().through, lasting::leaving);
    EXPECT_EQ(asked<ask::other_state>().since, 701);
    EXPECT_EQ(next.until, now + 120s);
    say(state_end::left);
    say(read(u2, runs_on("hv1")));

    reach_write(u3, off);
    EXPECT_EQ(asked<ask::write>().what, (placement{std::nullopt, "hv1", "", std::nullopt}));
    say(placed{placed::how::written, 702, {}});
    EXPECT_EQ(lines(), texts{"vm3: unflush: it belongs to this node again; it is not running"});

    (void)done();
    pass(3s);
    asked<ask::order_key>();
    say(order_read{order_read::how::read, domain_state::unflush, order_given, 4});
    EXPECT_EQ(asked<ask::write_word>().word, domain_state::ready);
    EXPECT_EQ(asked<ask::write_word>().version, 4);
    EXPECT_FALSE(asked<ask::write_word>().with_list);
    say(word_written{word_written::how::written, 900, {"vm1"}});
    EXPECT_TRUE(next.is_over());
    EXPECT_EQ(done(), std::vector<act::any>{act::settled{900}});
    EXPECT_EQ(lines(), texts{"unflush: done after 3 s, this node takes virtual machines again"});
    EXPECT_EQ(warned, std::vector<message>());
}

TEST_F(unflush_machine, domains_that_cannot_be_read_are_read_again) {
    say(woken{});
    say(all_read{});
    asked<ask::better_session>();
    EXPECT_EQ(lines(), texts());
    say(woken{});
    asked<ask::all_keys>();
    say(all_read{true, {}});
    EXPECT_EQ(lines(), texts{"unflush: no virtual machine has to come back"});
    asked<ask::order_key>();
}

TEST_F(unflush_machine, without_the_hypervisor_function_the_node_stays_flushed) {
    job.order.has_hypervisor = false;
    say(woken{});
    asked<ask::order_key>();
    say(order_read{order_read::how::read, domain_state::unflush, order_given, 4});
    EXPECT_EQ(asked<ask::write_word>().word, domain_state::flushed);
    say(word_written{word_written::how::written, 900, {}});
    EXPECT_EQ(lines(), texts{"this node runs no virtual machines: it is `flushed`, and stays so"});
}

TEST_F(unflush_machine, R13_a_node_that_is_ready_without_the_hypervisor_function_is_flushed) {
    for (const bool has_function : {false, true}) {
        job = {};
        job.self = "hv1";
        job.order = {order_given, now, has_function};
        say(woken{});
        if (has_function) {
            say(all_read{true, {}});
        }
        asked<ask::order_key>();
        say(order_read{order_read::how::read, domain_state::ready, order_given, 4});
        EXPECT_EQ(next.is_over(), has_function) << "there it is another word";
        if (!has_function) {
            EXPECT_EQ(asked<ask::write_word>().word, domain_state::flushed);
        }
    }
}

TEST_F(unflush_machine, what_could_not_be_moved_stays_and_that_is_said) {
    begin({{u1, runs_on("hv2", "hv1")}, {u2, runs_on("hv2", "hv1")}});
    reach_write(u1, runs_on("hv2", "hv1"));
    say(placed{placed::how::written, 700, {}});
    say(state_end::left);
    (void)lines();
    say(read(u1, runs_on("hv2")));
    EXPECT_EQ(lines(), texts{"vm1: unflush: it could not be moved, it stays on hv2"});
    EXPECT_EQ(warned, std::vector<message>{message::unflush_stays});
    reach_write(u2, runs_on("hv2", "hv1"));
    say(placed{placed::how::written, 701, {}});
    say(state_end::late);
    EXPECT_EQ(warned.back(), message::flush_late);
    asked<ask::order_key>();
}

TEST_F(unflush_machine, what_went_off_on_its_way_is_no_failure) {
    begin({{u1, runs_on("hv2", "hv1")}});
    reach_write(u1, runs_on("hv2", "hv1"));
    say(placed{placed::how::written, 700, {}});
    say(state_end::left);
    say(read(u1, {vm_state::stop, "hv2", "", false}));
    EXPECT_EQ(warned, std::vector<message>());
    asked<ask::order_key>();
}

TEST_F(unflush_machine, a_restart_elsewhere_is_waited_for_within_its_limit) {
    begin({{u1, {vm_state::restart, "hv2", "hv1", false}}});
    say(read(u1, {vm_state::restart, "hv2", "hv1", false}));
    EXPECT_EQ(asked<ask::other_state>().through, lasting::settling);
    EXPECT_EQ(next.until, now + 35s);
    say(state_end::left);
    reach_write(u1, runs_on("hv2", "hv1"));
}

TEST_F(unflush_machine, what_needs_nothing_any_more_is_left_and_what_conflicts_is_tried_four_times) {
    begin({{u1, runs_on("hv2", "hv1")}, {u2, runs_on("hv2", "hv1")}});
    say(read(u1, runs_on("hv1")));
    for (int i = 0; i < 4; ++i) {
        reach_write(u2, runs_on("hv2", "hv1"));
        say(ended(placed::how::conflict, "version conflict"));
    }
    EXPECT_EQ(warned, std::vector<message>{message::flush_unwritten});
    asked<ask::order_key>();
}

TEST_F(unflush_machine, what_arrived_in_the_middle_of_nothing_is_needless) {
    const placed_domain arriving{vm_state::migrate, "hv1", "", true};
    begin({{u1, arriving}});
    say(read(u1, arriving));
    EXPECT_EQ(asked<ask::other_state>().through, lasting::arriving);
    say(state_end::late);
    say(read(u1, arriving));
    say(under_lock{stored(u1, arriving)});
    asked<ask::write_nothing>();
    say(ended(placed::how::needless));
    EXPECT_EQ(warned, std::vector<message>{message::flush_needless});
}

TEST_F(unflush_machine, an_order_that_was_replaced_gets_no_last_write) {
    begin({});
    say(order_read{order_read::how::read, domain_state::flush, 1200, 9});
    EXPECT_TRUE(next.is_over());
    EXPECT_EQ(done(), std::vector<act::any>{act::settled{1199}});
}

}  // namespace
}  // namespace pvc::policy::drain
