// The port of the packet filter: generations, looks, watches, sizes (networking.md 7.3).
#include "contract/netlink/filter_benches.hpp"

namespace pvc::contract {
namespace {

using namespace model;

template <class Bench>
class packet_filter_looks : public filter_suite<Bench> {};
TYPED_TEST_SUITE(packet_filter_looks, filter_benches, filter_bench_names);

TYPED_TEST(packet_filter_looks, a_generation_that_has_passed) {
    this->bench.run([this]() -> awaitable<void> {
        const auto nothing = co_await this->look();
        co_await this->done(table_with({"one"}), nothing.generation);
        co_await this->fails({append("one", "a")}, nothing.generation, errc::version_conflict);
        const auto first = co_await this->look();
        EXPECT_NE(first.generation, nothing.generation);
        const auto other = co_await this->bench.other_filter().commit({append("one", "other")}, {}, this->soon());
        EXPECT_TRUE(other && !*other);
        co_await this->fails({append("one", "a")}, first.generation, errc::version_conflict);
        const auto second = co_await this->look();
        co_await this->done({append("one", "a")}, second.generation);
        const auto text = co_await this->tags("one");
        EXPECT_EQ(text, "other a");
        // Also one of another table.
        const auto third = co_await this->look();
        this->bench.make_foreign_tables();
        co_await this->fails({append("one", "b")}, third.generation, errc::version_conflict);
        // A batch that is refused is no change.
        const auto fourth = co_await this->look();
        co_await this->refused({append("nono", "b")}, 0);
        co_await this->done({append("one", "b")}, fourth.generation);
    });
}

TYPED_TEST(packet_filter_looks, other_tables_are_left_alone) {
    this->bench.run([this]() -> awaitable<void> {
        this->bench.make_foreign_tables();
        const auto foreign = this->bench.foreign_tables();
        EXPECT_FALSE(foreign.empty());
        const auto nothing = co_await this->look();
        EXPECT_FALSE(nothing.has_table);
        EXPECT_TRUE(nothing.chains.empty());
        co_await this->refused({delete_table{}}, 0);
        co_await this->done({make_table{}, make_chain{"input", filter_hook::input}, append("input", "a")});
        const auto seen = co_await this->look();
        EXPECT_EQ(seen.chains.size(), 1U);
        co_await this->done({delete_table{}});
        EXPECT_EQ(this->bench.foreign_tables(), foreign);
    });
}

TYPED_TEST(packet_filter_looks, who_watches_is_told) {
    this->bench.run([this]() -> awaitable<void> {
        async::wakeup one;
        async::wakeup two;
        auto first = this->bench.filter().watch(one);
        const auto second = this->bench.filter().watch(two);
        co_await this->quiet(one);
        ignore(two.try_consume(), "that it listens");
        const auto tells = [&](std::string_view what) -> awaitable<void> {
            const bool told = co_await this->is_told(one);
            EXPECT_TRUE(told) << what;
            EXPECT_TRUE(two.try_consume()) << what;
        };
        co_await this->done(table_with({"one"}));
        co_await tells("a chain");
        co_await this->done({append("one", "a")});
        co_await tells("a rule");
        const auto other = co_await this->bench.other_filter().commit({append("one", "b")}, {}, this->soon());
        EXPECT_TRUE(other && !*other);
        co_await tells("a rule of somebody else");
        co_await this->done({flush_chain{"one"}});
        co_await tells("rules that go");
        this->bench.make_foreign_tables();
        co_await tells("another table");
        this->bench.change_foreign_table();
        co_await tells("a rule of another table");
        co_await this->refused({delete_chain{"nono"}}, 0);
        co_await this->look();
        co_await this->quiet(two);
        EXPECT_FALSE(one.try_consume());
        first.reset();
        co_await this->done({delete_table{}});
        const bool told = co_await this->is_told(two);
        EXPECT_TRUE(told);
        EXPECT_FALSE(one.try_consume());
    });
}

TYPED_TEST(packet_filter_looks, a_table_that_somebody_makes_dormant) {
    this->bench.run([this]() -> awaitable<void> {
        co_await this->done({make_table{}, make_chain{"input", filter_hook::input}, append("input", "a")});
        async::wakeup changed;
        const auto watch = this->bench.filter().watch(changed);
        co_await this->quiet(changed);
        const auto before = co_await this->look();
        EXPECT_EQ(before.flags, 0U);
        this->bench.make_dormant();
        const bool told = co_await this->is_told(changed);
        EXPECT_TRUE(told);
        const auto seen = co_await this->look();
        EXPECT_EQ(seen.flags, dormant_table);
        EXPECT_EQ(seen.chains, before.chains);
        EXPECT_NE(seen.generation, before.generation);
        // What is made again does not wake it, what is made anew is awake.
        co_await this->done({make_table{}, append("input", "b")});
        const auto still = co_await this->look();
        EXPECT_EQ(still.flags, dormant_table);
        co_await this->done({make_table{}, delete_table{}, make_table{}, make_chain{"input", filter_hook::input},
                             append("input", "a")});
        const auto after = co_await this->look();
        EXPECT_EQ(after.flags, 0U);
        EXPECT_EQ(after.chains, before.chains);
    });
}

TYPED_TEST(packet_filter_looks, a_table_that_another_program_owns) {
    this->bench.run([this]() -> awaitable<void> {
        async::wakeup changed;
        const auto watch = this->bench.filter().watch(changed);
        this->bench.make_owned();
        co_await this->quiet(changed);
        const auto seen = co_await this->look();
        EXPECT_TRUE(seen.has_table);
        EXPECT_EQ(seen.flags, owned_table);
        EXPECT_NE(seen.owner, 0U);
        co_await this->refused({make_table{}, delete_table{}, make_table{}}, 0, "made anew");
        co_await this->refused({make_chain{"one"}}, 0, "a chain");
        co_await this->quiet(changed);  // a refusal is no change: who tries again whenever he is told comes to rest
        EXPECT_FALSE(changed.try_consume());
        // It goes without a word, and without a generation.
        this->bench.end_owner();
        co_await this->quiet(changed);
        EXPECT_FALSE(changed.try_consume());
        const auto after = co_await this->look();
        EXPECT_EQ(after, (filter_state{false, 0, seen.generation, {}}));
        co_await this->done(table_with({"one"}));
    });
}

TYPED_TEST(packet_filter_looks, a_deadline_that_has_passed) {
    this->bench.run([this]() -> awaitable<void> {
        const auto past = this->bench.clock().now();
        const auto seen = co_await this->bench.filter().look(past);
        EXPECT_EQ(seen.error().code(), errc::timed_out);
        const auto outcome = co_await this->bench.filter().commit({make_table{}}, {}, past);
        EXPECT_EQ(outcome.error().code(), errc::outcome_unknown);
        const auto after = co_await this->look();
        EXPECT_FALSE(after.has_table);
    });
}

TYPED_TEST(packet_filter_looks, five_thousand_rules_in_one_batch) {
    this->bench.run([this]() -> awaitable<void> {
        constexpr std::size_t chains = 200;
        constexpr std::size_t rules = 25;
        filter_batch batch{make_table{}, make_chain{"forward", filter_hook::forward}};
        for (std::size_t chain = 0; chain < chains; ++chain) {
            const std::string name = "vxlan" + std::to_string(chain) + "-in";
            batch.emplace_back(make_chain{name});
            batch.emplace_back(add_rule{"forward", jumping(name, "jump to " + name)});
            for (std::size_t number = 0; number < rules; ++number) {
                filter_rule rule{
                    {load_meta{meta_key::l4_protocol}, equal("\x06"), load_payload{header::transport, 2, 2},
                     equal(bytes({0, 22})), count_packet{}, give_verdict{}},
                    name + ' ' + std::to_string(number)};
                // Not of each: the kernel compares every set of a batch with all others.
                if (number % 10 == 0) {
                    rule.expressions[3] =
                        in_set{false, set_kind::port, false, {one_value(bytes({0, 22})), one_value(bytes({0, 80}))}};
                }
                batch.emplace_back(add_rule{name, std::move(rule)});
            }
        }
        co_await this->done(batch);
        const auto seen = co_await this->look();
        ASSERT_CO_TRUE(seen.chains.size() == chains + 1);
        EXPECT_EQ(seen.chains[0].rules.size(), chains);
        EXPECT_EQ(seen.chains[chains].name, "vxlan199-in");
        ASSERT_CO_TRUE(seen.chains[chains].rules.size() == rules);
        for (std::size_t number = 0; number < rules; ++number) {
            EXPECT_EQ(seen.chains[chains].rules[number].tag, "vxlan199-in " + std::to_string(number));
        }
        // Every one of them refused: what is said of the first is not lost among the rest.
        for (auto& one : batch) {
            one = delete_chain{"nono"};
        }
        co_await this->refused(batch, 0);
        co_await this->done({delete_table{}});
    });
}

// A look shows the rules of one batch or of the next one, never some of both.
TYPED_TEST(packet_filter_looks, looks_while_it_changes) {
    this->bench.run([this]() -> awaitable<void> {
        co_await this->done(table_with({"one", "two", "three"}));
        bool is_over = false;
        co_await async::with_task_group("changes", [&](async::task_group& group) -> awaitable<void> {
            group.spawn("other", [&]() -> awaitable<void> {
                for (int round = 0; round < 60; ++round) {
                    const std::string tag = std::to_string(round);
                    filter_batch batch;
                    for (const char* chain : {"one", "two", "three"}) {
                        batch.emplace_back(flush_chain{chain});
                        for (int number = 0; number < 40; ++number) {
                            batch.push_back(append(chain, tag));
                        }
                    }
                    const auto outcome = co_await this->bench.other_filter().commit(batch, {}, this->soon());
                    EXPECT_TRUE(outcome && !*outcome);
                }
                is_over = true;
            });
            while (!is_over) {
                const auto seen = co_await this->bench.filter().look(this->soon());
                EXPECT_TRUE(seen || seen.error().code() == errc::unavailable);
                if (seen && !seen->chains[0].rules.empty()) {
                    const std::string tag = seen->chains[0].rules[0].tag;
                    for (const auto& chain : seen->chains) {
                        EXPECT_EQ(chain.rules.size(), 40U);
                        EXPECT_TRUE(std::ranges::all_of(chain.rules, [&](const auto& one) { return one.tag == tag; }));
                    }
                }
                co_await async::sleep_for(this->bench.clock(), 1ms, "the other");
            }
        });
        const auto text = co_await this->tags("three");
        EXPECT_TRUE(text.starts_with("59 59")) << text;
    });
}

}  // namespace
}  // namespace pvc::contract
