// The simulated packet filter: what others do to it, its faults, and who is woken. What a batch does is shown by the
// suites of the port.
#include "sim/network/sim_packet_filter.hpp"

#include "sim/sim_context.hpp"

#include <gtest/gtest.h>

namespace pvc::sim {
namespace {

using namespace std::chrono_literals;
using namespace model;
using async::awaitable;
using batch = std::vector<filter_change>;

filter_rule counting(std::string tag) {
    return {{count_packet{}}, std::move(tag)};
}

class sim_packet_filter_test : public testing::Test {
protected:
    time_point soon() { return loop.clock().now() + 1s; }
    // "done", "2: why", or the code of the failure.
    std::string commit(batch changes, std::optional<std::uint32_t> generation = {}) {
        std::string text;
        loop.run([&]() -> awaitable<void> {
            const auto outcome = co_await filter.commit(std::move(changes), generation, soon());
            if (!outcome) {
                text = to_text(outcome.error().code());
            } else {
                text = *outcome ? std::to_string((*outcome)->change) + ": " + (*outcome)->cause : "done";
            }
        });
        return text;
    }
    // The code of its failure; "" after a success.
    std::string look() {
        std::string text;
        loop.run([&]() -> awaitable<void> {
            const auto seen = co_await filter.look(soon());
            if (seen) {
                EXPECT_EQ(*seen, machine.state());
            } else {
                text = to_text(seen.error().code());
            }
        });
        return text;
    }
    void make(const std::string& chain) { ASSERT_EQ(commit({make_table{}, make_chain{chain}}), "done"); }

    sim_loop loop;
    sim_filter machine;
    sim_packet_filter filter{machine, loop.clock()};
};

TEST_F(sim_packet_filter_test, batches_are_done_and_seen) {
    EXPECT_EQ(machine.text(), "no table");
    EXPECT_EQ(commit({make_table{}, make_chain{"forward", filter_hook::forward}, make_chain{"vxlan7-in"},
                      add_rule{"vxlan7-in", counting("a")}, add_rule{"forward", counting("")}}),
              "done");
    EXPECT_EQ(machine.text(), "forward (forward): -; vxlan7-in: a");
    EXPECT_EQ(look(), "");
    EXPECT_EQ(commit({add_rule{"nono", counting("b")}}), "0: No such file or directory");
    EXPECT_EQ(filter.calls, (std::vector<std::string>{"commit 5 changes", "commit 1 changes"}));
    ASSERT_EQ(filter.batches.size(), 1U);
    EXPECT_EQ(filter.batches[0].size(), 5U);
    ASSERT_NE(machine.find("vxlan7-in"), nullptr);
    EXPECT_EQ(machine.find("vxlan7-in")->rules[0].is, counting("a"));
    EXPECT_EQ(machine.find("nono"), nullptr);
}

TEST_F(sim_packet_filter_test, every_change_is_a_generation) {
    const auto generation = [this] { return machine.state().generation; };
    EXPECT_EQ(generation(), 1U);
    make("one");
    EXPECT_EQ(generation(), 2U);
    EXPECT_EQ(commit({make_table{}}), "done");  // nothing
    EXPECT_EQ(commit({}), "done");
    EXPECT_EQ(commit({flush_chain{"one"}}), "done");
    EXPECT_EQ(commit({flush_chain{"nono"}}), "0: No such file or directory");
    EXPECT_EQ(generation(), 2U);
    machine.touch_table();
    EXPECT_EQ(generation(), 3U);
    EXPECT_EQ(machine.text(), "one");
    EXPECT_EQ(commit({flush_chain{"one"}}, 2), "version conflict");
    EXPECT_EQ(commit({add_rule{"one", counting("a")}}, 3), "done");
    machine.flush_ruleset();
    EXPECT_EQ(generation(), 5U);
    EXPECT_FALSE(machine.has_table());
    machine.flush_ruleset();
    EXPECT_EQ(generation(), 5U);
}

TEST_F(sim_packet_filter_test, it_outlives_the_daemon_and_not_the_power) {
    make("one");
    filter.cut = true;
    EXPECT_EQ(commit({make_chain{"two"}}), "stopped");
    EXPECT_EQ(machine.text(), "one");
    machine.lose_power();
    EXPECT_EQ(machine.state(), (filter_state{false, 0, 1, {}}));
}

TEST_F(sim_packet_filter_test, somebody_makes_the_table_dormant) {
    async::wakeup changed;
    const auto watch = filter.watch(changed);
    machine.make_dormant();  // none
    EXPECT_FALSE(changed.try_consume());
    EXPECT_EQ(machine.state(), (filter_state{false, 0, 1, {}}));
    make("one");
    ignore(changed.try_consume(), "that it is made");
    machine.make_dormant();
    EXPECT_TRUE(changed.try_consume());
    EXPECT_EQ(machine.state().flags, dormant_table);
    EXPECT_EQ(machine.generation(), 3U);
    machine.make_dormant();
    EXPECT_FALSE(changed.try_consume());
    EXPECT_EQ(commit({make_table{}, make_chain{"two"}}), "done");
    EXPECT_EQ(machine.flags(), dormant_table);
    EXPECT_EQ(look(), "");
    EXPECT_EQ(commit({make_table{}, delete_table{}, make_table{}}), "done");
    EXPECT_EQ(machine.flags(), 0U);
    machine.make_dormant();
    machine.lose_power();
    EXPECT_EQ(machine.state(), (filter_state{false, 0, 1, {}}));
}

TEST_F(sim_packet_filter_test, somebody_owns_the_table) {
    async::wakeup changed;
    const auto watch = filter.watch(changed);
    make("one");
    machine.make_owned();
    EXPECT_EQ(machine.flags(), 0U);
    machine.flush_ruleset();
    ignore(changed.try_consume(), "that it is gone");
    machine.make_owned();
    EXPECT_TRUE(changed.try_consume());
    machine.flush_ruleset();
    EXPECT_EQ(commit({make_table{}, delete_table{}, make_table{}}), "0: Operation not permitted");
    EXPECT_EQ(commit({make_chain{"two"}}), "0: Operation not permitted");
    EXPECT_EQ(machine.flags(), owned_table);
    const auto generation = machine.generation();
    machine.end_owner();
    EXPECT_FALSE(changed.try_consume());
    EXPECT_EQ(machine.state(), (filter_state{false, 0, generation, {}}));
    make("two");
    machine.end_owner();
    EXPECT_TRUE(machine.has_table());
}

TEST_F(sim_packet_filter_test, a_change_of_the_next_batch_is_refused) {
    make("one");
    filter.refuses = 1;
    EXPECT_EQ(commit({make_chain{"two"}}), "done");  // it has no such change
    EXPECT_EQ(commit({make_chain{"three"}, make_chain{"four"}}), "1: Operation not permitted");
    EXPECT_EQ(machine.text(), "one; two");
    EXPECT_EQ(commit({make_chain{"three"}, make_chain{"four"}}), "done");
    filter.refuses_if = [](const filter_change& change) {
        const auto* const rule = std::get_if<add_rule>(&change);
        return rule != nullptr && rule->rule.tag == "bad";
    };
    EXPECT_EQ(commit({add_rule{"one", counting("good")}, add_rule{"one", counting("bad")}}), "1: Invalid argument");
    EXPECT_EQ(commit({add_rule{"one", counting("good")}}), "done");
    EXPECT_EQ(commit({add_rule{"one", counting("bad")}}), "0: Invalid argument");
    filter.end_faults();
    EXPECT_EQ(commit({add_rule{"one", counting("bad")}}), "done");
}

TEST_F(sim_packet_filter_test, somebody_is_faster) {
    make("one");
    filter.conflicts = 2;
    EXPECT_EQ(commit({make_chain{"two"}}, machine.state().generation), "version conflict");
    EXPECT_EQ(commit({make_chain{"two"}}), "done");  // whatever the generation is
    EXPECT_EQ(machine.foreign_text(), "ip nat 2");
    EXPECT_EQ(commit({make_chain{"three"}}, machine.state().generation), "done");
}

TEST_F(sim_packet_filter_test, a_batch_without_an_answer) {
    make("one");
    filter.next_unanswered = sim_packet_filter::unanswered::done;
    const auto begun = loop.clock().now();
    EXPECT_EQ(commit({make_chain{"two"}}), "outcome unknown");
    EXPECT_EQ(loop.clock().now() - begun, 1s);
    EXPECT_EQ(machine.text(), "one; two");
    filter.next_unanswered = sim_packet_filter::unanswered::not_done;
    EXPECT_EQ(commit({make_chain{"three"}}), "outcome unknown");
    EXPECT_EQ(machine.text(), "one; two");
    EXPECT_EQ(commit({make_chain{"three"}}), "done");
    filter.hang();
    EXPECT_EQ(commit({make_chain{"four"}}), "outcome unknown");
    EXPECT_EQ(look(), "timed out");
    EXPECT_EQ(machine.text(), "one; two; three");
    filter.end_hang();
    EXPECT_EQ(machine.text(), "one; two; three; four");
}

TEST_F(sim_packet_filter_test, looks_and_batches_fail) {
    make("one");
    filter.torn_looks = 1;
    EXPECT_EQ(look(), "unavailable");
    EXPECT_EQ(look(), "");
    filter.broken.insert_or_assign("look", failure(errc::io));
    filter.broken.insert_or_assign("commit", failure(errc::unavailable));
    EXPECT_EQ(look(), "input/output error");
    EXPECT_EQ(commit({make_chain{"two"}}), "unavailable");
    filter.end_faults();
    EXPECT_EQ(look(), "");
    EXPECT_EQ(machine.text(), "one");
}

TEST_F(sim_packet_filter_test, who_watches_is_woken_by_changes_of_anybody) {
    async::wakeup one;
    async::wakeup other;
    const auto first = filter.watch(one);
    auto second = filter.watch(other);
    make("one");
    EXPECT_TRUE(one.try_consume() && other.try_consume());
    EXPECT_EQ(commit({flush_chain{"nono"}}), "0: No such file or directory");
    EXPECT_FALSE(one.try_consume());
    machine.touch_table();
    EXPECT_TRUE(one.try_consume() && other.try_consume());
    machine.flush_ruleset();
    EXPECT_TRUE(one.try_consume() && other.try_consume());
    second.reset();
    EXPECT_EQ(filter.watches(), 1U);
    filter.lose_events();
    EXPECT_TRUE(one.try_consume());
    EXPECT_FALSE(other.try_consume());
    filter.event_delay = 2s;
    machine.touch_table();
    loop.run_for(1900ms);
    EXPECT_FALSE(one.try_consume());
    loop.run_for(200ms);
    EXPECT_TRUE(one.try_consume());
    filter.cut = true;
    filter.event_delay = 0s;
    machine.touch_table();
    EXPECT_FALSE(one.try_consume());
}

}  // namespace
}  // namespace pvc::sim
