// The port of the packet filter: what a batch does, and why one is refused (networking.md 7.3).
#include "contract/netlink/filter_benches.hpp"

namespace pvc::contract {
namespace {

using namespace model;

template <class Bench>
class packet_filter : public filter_suite<Bench> {};
TYPED_TEST_SUITE(packet_filter, filter_benches, filter_bench_names);

TYPED_TEST(packet_filter, a_machine_without_tables) {
    this->bench.run([this]() -> awaitable<void> {
        const auto seen = co_await this->look();
        EXPECT_FALSE(seen.has_table);
        EXPECT_TRUE(seen.chains.empty());
        const auto again = co_await this->look();
        EXPECT_EQ(seen, again);
        co_await this->done({});
        const auto after = co_await this->look();
        EXPECT_EQ(seen, after);
    });
}

TYPED_TEST(packet_filter, a_table_with_chains_and_hooks) {
    this->bench.run([this]() -> awaitable<void> {
        co_await this->done({make_table{}, make_chain{"forward", filter_hook::forward},
                             make_chain{"input", filter_hook::input}, make_chain{"vxlan7-in"}});
        const auto seen = co_await this->look();
        EXPECT_TRUE(seen.has_table);
        const std::vector<seen_chain> expected{{"forward", filter_hook::forward, true, {}},
                                               {"input", filter_hook::input, true, {}},
                                               {"vxlan7-in", filter_hook::none, false, {}}};
        EXPECT_EQ(seen.chains, expected);
    });
}

TYPED_TEST(packet_filter, what_is_there_may_be_made_again) {
    this->bench.run([this]() -> awaitable<void> {
        const filter_batch batch{make_table{}, make_chain{"input", filter_hook::input}, make_chain{"plain"}};
        co_await this->done(batch);
        co_await this->done({append("plain", "rule")});
        const auto before = co_await this->look();
        co_await this->done(batch);
        const auto after = co_await this->look();
        EXPECT_EQ(before.chains, after.chains);
        // Of another hook it is another chain.
        co_await this->refused({make_chain{"new"}, make_chain{"input", filter_hook::forward}}, 1);
        co_await this->refused({make_chain{"new"}, make_chain{"plain", filter_hook::input}}, 1);
    });
}

TYPED_TEST(packet_filter, rules_stand_where_they_were_put) {
    this->bench.run([this]() -> awaitable<void> {
        co_await this->done(table_with({"one", "two"}));
        co_await this->done({append("one", "a"), append("one", "b"), append("two", "x"), append("one", "c")});
        const auto seen = co_await this->tags("one");
        EXPECT_EQ(seen, "a b c");
        const auto a = co_await this->handle("one", "a");
        const auto b = co_await this->handle("one", "b");
        EXPECT_NE(a, b);
        co_await this->done({add_rule{"one", counting("first"), 0, true}, add_rule{"one", counting("behind a"), a},
                             add_rule{"one", counting("behind b"), b}, add_rule{"one", counting("next to a"), a}});
        const auto after = co_await this->tags("one");
        EXPECT_EQ(after, "first a next to a behind a b behind b c");
        const auto two = co_await this->tags("two");
        EXPECT_EQ(two, "x");
        // Who stands behind a rule cannot stand first.
        co_await this->done({add_rule{"two", counting("y"), co_await this->handle("two", "x"), true}});
        const auto both = co_await this->tags("two");
        EXPECT_EQ(both, "x y");
    });
}

TYPED_TEST(packet_filter, handles_stay_and_are_given_once) {
    this->bench.run([this]() -> awaitable<void> {
        co_await this->done(table_with({"one", "two"}));
        co_await this->done({append("one", "a"), append("one", "b"), append("two", "c")});
        const auto a = co_await this->handle("one", "a");
        const auto b = co_await this->handle("one", "b");
        const auto c = co_await this->handle("two", "c");
        EXPECT_TRUE(a != b && b != c && a != c && a != 0 && b != 0 && c != 0);
        co_await this->done({delete_rule{"one", b}, append("one", "b")});
        const auto same = co_await this->handle("one", "a");
        EXPECT_EQ(same, a);
        const auto other = co_await this->handle("one", "b");
        EXPECT_NE(other, b);
        co_await this->refused({delete_rule{"one", b}}, 0);
    });
}

TYPED_TEST(packet_filter, tags_are_kept_as_they_are) {
    this->bench.run([this]() -> awaitable<void> {
        co_await this->done(table_with({"one"}));
        std::string every;
        for (int byte = 0; byte < 200; ++byte) {
            every += static_cast<char>(byte);
        }
        co_await this->done({add_rule{"one", counting(every)}, add_rule{"one", counting("")}});
        const auto seen = co_await this->look();
        ASSERT_CO_TRUE(seen.chains.size() == 1 && seen.chains[0].rules.size() == 2);
        EXPECT_EQ(seen.chains[0].rules[0].tag, every);
        EXPECT_EQ(seen.chains[0].rules[1].tag, "");
        co_await this->refused({append("one", "a"), append("one", std::string(201, 'x'))}, 1);
    });
}

TYPED_TEST(packet_filter, rules_and_chains_are_deleted) {
    this->bench.run([this]() -> awaitable<void> {
        co_await this->done(table_with({"one", "two"}));
        co_await this->done({append("one", "a"), append("one", "b"), append("one", "c"), append("two", "x")});
        co_await this->done({delete_rule{"one", co_await this->handle("one", "b")}});
        const auto two_left = co_await this->tags("one");
        EXPECT_EQ(two_left, "a c");
        co_await this->done({flush_chain{"one"}, append("one", "d")});
        const auto one_left = co_await this->tags("one");
        EXPECT_EQ(one_left, "d");
        co_await this->done({delete_chain{"one"}});  // with the rule in it
        const auto gone = co_await this->tags("one");
        EXPECT_EQ(gone, "no chain");
        const auto stays = co_await this->tags("two");
        EXPECT_EQ(stays, "x");
        co_await this->done({delete_table{}});
        const auto seen = co_await this->look();
        EXPECT_FALSE(seen.has_table);
        EXPECT_TRUE(seen.chains.empty());
    });
}

TYPED_TEST(packet_filter, a_table_is_built_anew_in_one_batch) {
    this->bench.run([this]() -> awaitable<void> {
        const filter_batch batch{make_table{},
                                 delete_table{},
                                 make_table{},
                                 make_chain{"forward", filter_hook::forward},
                                 make_chain{"one"},
                                 append("one", "rule"),
                                 add_rule{"forward", jumping("one", "jump")}};
        co_await this->done(batch);
        const auto first = co_await this->look();
        co_await this->done({append("one", "another")});
        co_await this->done(batch);
        const auto second = co_await this->look();
        const auto text = co_await this->tags("one");
        EXPECT_EQ(text, "rule");
        EXPECT_NE(first.generation, second.generation);
        // A new table counts its handles anew: one of the old table may be another rule of the new one.
        ASSERT_CO_TRUE(first.chains.size() == 2 && second.chains.size() == 2);
        EXPECT_EQ(first.chains[1].rules[0].handle, second.chains[1].rules[0].handle);
    });
}

TYPED_TEST(packet_filter, a_chain_that_is_jumped_to_stays) {
    this->bench.run([this]() -> awaitable<void> {
        co_await this->done(table_with({"from", "to"}));
        co_await this->done({add_rule{"from", jumping("to", "jump")}, append("to", "rule")});
        co_await this->refused({append("from", "new"), delete_chain{"to"}}, 1);
        // Both at once, in this order.
        co_await this->done({delete_rule{"from", co_await this->handle("from", "jump")}, delete_chain{"to"}});
        const auto gone = co_await this->tags("to");
        EXPECT_EQ(gone, "no chain");
        co_await this->done({make_chain{"to"}, add_rule{"from", jumping("to")}});
        co_await this->done({flush_chain{"from"}, delete_chain{"to"}, delete_chain{"from"}});
        const auto seen = co_await this->look();
        EXPECT_TRUE(seen.chains.empty());
    });
}

TYPED_TEST(packet_filter, jumps_go_to_chains_that_are_there_and_not_round) {
    this->bench.run([this]() -> awaitable<void> {
        co_await this->done(table_with({"one", "two", "three"}));
        co_await this->done({make_chain{"input", filter_hook::input}});
        co_await this->refused({append("one", "a"), add_rule{"one", jumping("nono")}}, 1, "nowhere");
        co_await this->refused({append("one", "a"), add_rule{"one", jumping("input")}}, 1, "a base chain");
        // What packets reach through a hook does not go round.
        co_await this->done(
            {add_rule{"input", jumping("one")}, add_rule{"one", jumping("two")}, add_rule{"two", jumping("three")}});
        co_await this->refused({append("one", "a"), add_rule{"one", jumping("one")}}, 1, "itself");
        co_await this->refused({append("one", "a"), add_rule{"three", jumping("one")}, append("one", "b")}, 1, "round");
        co_await this->refused({make_chain{"four"}, add_rule{"four", jumping("four")}, append("one", "a"),
                                add_rule{"three", jumping("four")}},
                               3, "round, once it is reached");
        // A chain that the same batch makes is there.
        co_await this->done({make_chain{"four"}, add_rule{"three", jumping("four")}});
    });
}

TYPED_TEST(packet_filter, chains_within_chains) {
    this->bench.run([this]() -> awaitable<void> {
        filter_batch batch{make_table{}, make_chain{"input", filter_hook::input}};
        std::string last = "input";
        for (int depth = 1; depth <= 15; ++depth) {
            const std::string next = "depth " + std::to_string(depth);
            batch.emplace_back(make_chain{next});
            batch.emplace_back(add_rule{last, jumping(next)});
            last = next;
        }
        co_await this->done(batch);
        co_await this->refused({make_chain{"depth 16"}, add_rule{last, jumping("depth 16")}}, 1);
    });
}

TYPED_TEST(packet_filter, a_refusal_names_the_first_change) {
    this->bench.run([this]() -> awaitable<void> {
        co_await this->refused({delete_table{}}, 0, "no table");
        co_await this->refused({make_chain{"one"}}, 0, "a chain without a table");
        co_await this->refused({append("one", "a")}, 0, "a rule without a table");
        co_await this->done(table_with({"one", "two"}));
        co_await this->done({append("one", "a"), append("two", "x")});
        const auto a = co_await this->handle("one", "a");
        co_await this->refused({make_chain{"new"}, append("new", "n"), delete_rule{"one", 9999}, flush_chain{"nono"}},
                               2);
        co_await this->refused({append("one", "b"), append("nono", "c")}, 1, "a rule without a chain");
        co_await this->refused({flush_chain{"one"}, flush_chain{"nono"}}, 1, "flush");
        co_await this->refused({append("one", "b"), flush_chain{"nono"}, append("one", "c")}, 1, "in the middle");
        co_await this->refused({delete_chain{"two"}, delete_chain{"nono"}}, 1, "delete");
        co_await this->refused({delete_chain{"two"}, append("two", "y")}, 1, "just deleted");
        co_await this->refused({delete_rule{"one", a}, delete_rule{"one", a}}, 1, "deleted twice");
        co_await this->refused({delete_rule{"two", a}}, 0, "of another chain");
        co_await this->refused({add_rule{"two", counting("y"), a}}, 0, "behind one of another chain");
        co_await this->refused({append("one", "b"), delete_rule{"one", 0}}, 1, "no handle");
        filter_batch many;
        for (int number = 0; number < 1000; ++number) {
            many.push_back(append(number < 700 ? "one" : "nono", "rule"));
        }
        co_await this->refused(many, 700, "one of many");
    });
}

TYPED_TEST(packet_filter, names_that_are_none) {
    this->bench.run([this]() -> awaitable<void> {
        co_await this->done(table_with({"one", std::string(127, 'x')}));
        for (const auto& name :
             {std::string(), std::string("a\0b", 3), std::string(300, 'x'), std::string(70'000, 'x')}) {
            co_await this->refused({make_chain{"new"}, make_chain{name}}, 1);
            co_await this->refused({make_chain{"new"}, append(name, "rule")}, 1);
            co_await this->refused({add_rule{"one", jumping(name)}}, 0);
            co_await this->refused({flush_chain{name}}, 0);
            co_await this->refused({delete_chain{name}}, 0);
        }
    });
}

}  // namespace
}  // namespace pvc::contract
