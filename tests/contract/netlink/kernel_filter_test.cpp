// What only the real kernel does: what others made, its own words, looks that are torn, events that are lost
// (networking.md 7.3; runtime-design.md 4).
#include "contract/netlink/real_filter.hpp"

namespace pvc::contract {
namespace {

using namespace model;

class kernel_filter : public filter_suite<real_filter> {};

TEST_F(kernel_filter, what_others_made_is_read) {
    bench.run([this]() -> awaitable<void> {
        nft_command(
            "table inet filter {\n"
            " chain forward {\n type filter hook forward priority 0\n counter comment \"not ours\"\n }\n"
            " chain input {\n type filter hook input priority 10\n }\n"
            " chain dropping {\n type filter hook input priority 0; policy drop;\n }\n"
            " chain output {\n type route hook output priority 0\n tcp dport { 22, 80 } accept\n }\n"
            " chain plain {\n }\n"
            " set named {\n type ipv4_addr\n elements = { 10.0.0.1 }\n }\n}\n");
        const auto seen = co_await look();
        ASSERT_CO_TRUE(seen.has_table && seen.chains.size() == 5);
        const auto is = [&](std::string_view name, filter_hook hook, bool is_base, std::size_t rules) {
            const auto* const found = find(seen, name);
            return found != nullptr && found->hook == hook && found->is_base == is_base &&
                   found->rules.size() == rules && std::ranges::all_of(found->rules, [](const auto& rule) {
                       return rule.tag.empty() && rule.handle > 0;
                   });
        };
        EXPECT_TRUE(is("forward", filter_hook::forward, true, 1));
        EXPECT_TRUE(is("input", filter_hook::none, true, 0));
        EXPECT_TRUE(is("dropping", filter_hook::none, true, 0));
        EXPECT_TRUE(is("output", filter_hook::none, true, 1));
        EXPECT_TRUE(is("plain", filter_hook::none, false, 0));
        co_await refused({make_chain{"new"}, make_chain{"input", filter_hook::input}}, 1, "another priority");
        co_await refused({make_chain{"output", filter_hook::input}}, 0, "another hook");
    });
}

// A map leads to a chain unseen: it cannot be removed, but the table can be made anew. All else keeps nothing.
TEST_F(kernel_filter, what_others_keep_beside_chains_and_rules) {
    bench.run([this]() -> awaitable<void> {
        co_await done(table_with({"one", "two"}));
        co_await done({append("one", "a"), append("two", "b")});
        const auto before = co_await look();
        nft_command(
            "table inet filter {\n"
            " counter theirs {\n }\n quota most {\n over 1 mbytes\n }\n"
            " set named {\n type ipv4_addr\n elements = { 10.0.0.1 }\n }\n"
            " map counters {\n type ipv4_addr : counter\n elements = { 10.0.0.1 : \"theirs\" }\n }\n}\n");
        const auto seen = co_await look();
        EXPECT_EQ(seen.chains, before.chains);
        EXPECT_EQ(seen.flags, 0U);
        nft_command(
            "add rule inet filter one ip saddr @named counter name theirs quota name most\n"
            "add rule inet filter one counter name ip saddr map @counters\n");
        co_await done({flush_chain{"one"}, delete_chain{"one"}, append("two", "c")});
        nft_command("add map inet filter ways { type mark : verdict; elements = { 1 : jump two }; }\n");
        co_await refused({flush_chain{"two"}, delete_chain{"two"}}, 1, "a map leads to it");
        co_await done({make_table{}, delete_table{}, make_table{}, make_chain{"three"}});
        EXPECT_EQ(nft_output("list ruleset"), "table inet filter {\n\tchain three {\n\t}\n}\n");
    });
}

TEST_F(kernel_filter, sets_of_many_elements) {
    bench.run([this]() -> awaitable<void> {
        const auto element = [](int number, int last) {
            return set_element{bytes({10, number / 256, number % 256, 0}),
                               bytes({10, number / 256, number % 256, last})};
        };
        in_set values{false, set_kind::ip4_address, false, {}};
        in_set intervals{false, set_kind::ip4_address, true, {}};
        for (int number = 0; number < 5000; ++number) {
            values.elements.push_back(element(number, 0));
            intervals.elements.push_back(element(number, 1));
        }
        const auto rule = [](const in_set& sources) {
            return filter_rule{{load_meta{meta_key::protocol}, equal(bytes({2})), load_payload{header::network, 12, 4},
                                sources, count_packet{}},
                               "tag"};
        };
        co_await done(
            {make_table{}, make_chain{"one"}, add_rule{"one", rule(values)}, add_rule{"one", rule(intervals)}});
        const auto seen = co_await look();
        ASSERT_CO_TRUE(seen.chains.size() == 1 && seen.chains[0].rules.size() == 2);
        const auto listing = nft_output("list chain inet filter one");
        const auto count = [&](std::string_view what) {
            std::size_t times = 0;
            for (auto at = listing.find(what); at != std::string::npos; at = listing.find(what, at + 1)) {
                ++times;
            }
            return times;
        };
        EXPECT_EQ(count(","), 9998U);
        EXPECT_EQ(count(", 10.19.135.0 }"), 1U);
        EXPECT_EQ(count(".0/31"), 5000U);
        // They go with their rules.
        co_await done({flush_chain{"one"}});
        EXPECT_EQ(nft_output("list sets"), "table inet filter {\n}\n");
    });
}

TEST_F(kernel_filter, the_kernel_says_why) {
    bench.run([this]() -> awaitable<void> {
        co_await done(table_with({"one"}));
        const auto cause = [this](filter_change change) -> awaitable<std::string> {
            const auto outcome = co_await bench.filter().commit({std::move(change)}, {}, soon());
            EXPECT_TRUE(outcome && *outcome);
            co_return outcome && *outcome ? (*outcome)->cause : std::string();
        };
        const auto missing = co_await cause(flush_chain{"nono"});
        EXPECT_EQ(missing, "No such file or directory");
        const auto length = co_await cause(add_rule{"one", {{load_payload{header::network, 0, 100}}, ""}});
        EXPECT_FALSE(length.empty());
        const auto level = co_await cause(add_rule{"one", {{log_packet{"", 99}}, ""}});
        EXPECT_EQ(level, "Invalid argument");
        const auto rate = co_await cause(add_rule{"one", {{limit_rate{0, 1, 0, false}}, ""}});
        EXPECT_EQ(rate, "Invalid argument");
    });
}

// What no message could hold is refused before the kernel is asked.
TEST_F(kernel_filter, values_that_are_too_long) {
    bench.run([this]() -> awaitable<void> {
        co_await done(table_with({"one"}));
        const std::string seventeen(17, 'x');
        for (const filter_expression& each : std::vector<filter_expression>{
                 mask_bits{seventeen}, mask_bits{""}, equal(seventeen), equal(""),
                 in_range{false, seventeen, seventeen}, in_range{false, "ab", "c"},
                 in_set{false, set_kind::ip4_address, false, {one_value(seventeen)}},
                 in_set{false, set_kind::ip4_address, false, {one_value("abc")}},
                 in_set{false, set_kind::port, false, {}}, log_packet{std::string(128, 'x'), {}},
                 log_packet{std::string(70'000, 'x'), {}}}) {
            co_await refused({append("one", "a"), add_rule{"one", {{load_meta{meta_key::in_name}, each}, ""}}}, 1);
        }
        co_await refused({add_rule{"one", {std::vector<filter_expression>(129, count_packet{}), ""}}}, 0);
        co_await done({add_rule{"one", {std::vector<filter_expression>(128, count_packet{}), ""}}});
        co_await done({add_rule{"one", {{log_packet{std::string(127, 'x'), {}}}, ""}}});
    });
}

TEST_F(kernel_filter, a_torn_look_is_made_anew) {
    bench.run([this]() -> awaitable<void> {
        filter_batch batch{make_table{}, make_chain{"one"}};
        for (int number = 0; number < 2000; ++number) {
            batch.push_back(append("one", std::to_string(number)));
        }
        co_await done(batch);
        bool is_over = false;
        co_await async::with_task_group("changes", [&](async::task_group& group) -> awaitable<void> {
            group.spawn("other", [&]() -> awaitable<void> {
                while (!is_over) {
                    const auto made = co_await bench.other_filter().commit({make_chain{"other"}}, {}, soon());
                    EXPECT_TRUE(made && !*made);
                    const auto gone = co_await bench.other_filter().commit({delete_chain{"other"}}, {}, soon());
                    EXPECT_TRUE(gone && !*gone);
                }
            });
            const auto limit = bench.clock().now() + 30s;
            while (bench.adapter().interrupted_looks() == 0 && bench.clock().now() < limit) {
                const auto seen = co_await bench.filter().look(soon());
                EXPECT_TRUE(seen || seen.error().code() == errc::unavailable);
                EXPECT_TRUE(!seen || seen->chains[0].rules.size() == 2000);
            }
            is_over = true;
        });
        EXPECT_GT(bench.adapter().interrupted_looks(), 0U);
        const auto seen = co_await look();
        EXPECT_EQ(seen.chains.size(), 1U);
    });
}

TEST_F(kernel_filter, events_that_were_lost_are_a_change) {
    bench.run([this]() -> awaitable<void> {
        async::wakeup changed;
        const auto watch = bench.filter().watch(changed);
        co_await quiet(changed);
        // More than the socket holds.
        std::string text = "add table inet filter\nadd chain inet filter one\n";
        for (int number = 0; number < 20'000; ++number) {
            text += "add rule inet filter one counter\n";
        }
        nft_command(text);
        const bool told = co_await is_told(changed);
        EXPECT_TRUE(told);
        // It goes on to listen.
        co_await done({make_chain{"two"}});
        const bool told_again = co_await changed.wait_until(bench.clock(), bench.clock().now() + 20s, "a change");
        EXPECT_TRUE(told_again);
    });
}

TEST_F(kernel_filter, a_watch_may_outlive_the_port) {
    bench.run([this]() -> awaitable<void> {
        async::wakeup changed;
        auto watch = bench.filter().watch(changed);
        co_await quiet(changed);
        bench.drop_filter();
        nft_command("add table inet filter\n");
        const bool told = co_await changed.wait_until(bench.clock(), bench.clock().now() + 100ms, "nothing");
        EXPECT_FALSE(told);
        watch.reset();
    });
}

TEST_F(kernel_filter, no_descriptor_is_left_open) {
    bench.run([this]() -> awaitable<void> {
        co_await done(table_with({"one"}));
        const auto before = open_descriptors();
        for (int round = 0; round < 50; ++round) {
            async::wakeup changed;
            const auto watch = bench.filter().watch(changed);
            co_await done({append("one", "a")});
            co_await refused({append("nono", "a")}, 0);
            co_await fails({append("one", "a")}, 1, errc::version_conflict);
        }
        EXPECT_EQ(open_descriptors(), before);
    });
}

TEST_F(kernel_filter, a_pool_without_a_thread_for_it) {
    bench.run([this]() -> awaitable<void> {
        sim::sim_offload pool(bench.clock());
        netlink::kernel_packet_filter filter(bench.loop().context().get_executor(), bench.clock(), pool);
        pool.set_full(true);
        const auto unseen = co_await filter.look(soon());
        EXPECT_EQ(unseen.error().code(), errc::unavailable);
        const auto full = co_await filter.commit({make_table{}}, {}, soon());
        EXPECT_EQ(full.error().code(), errc::unavailable);
        pool.set_full(false);
        const auto begun = bench.clock().now();
        pool.next_hangs();
        const auto late_look = co_await filter.look(bench.clock().now() + 20ms);
        EXPECT_EQ(late_look.error().code(), errc::timed_out);
        // What was given up before its turn is not done later either.
        pool.next_hangs();
        const auto late = co_await filter.commit({make_table{}, make_chain{"late"}}, {}, bench.clock().now() + 20ms);
        EXPECT_EQ(late.error().code(), errc::outcome_unknown);
        EXPECT_LT(bench.clock().now() - begun, 10s);
        const auto next = co_await filter.commit({make_table{}, make_chain{"next"}}, {}, soon());
        EXPECT_TRUE(next && !*next);
        pool.release();
        co_await async::sleep_for(bench.clock(), 20ms, "the pool");
        const auto seen = co_await look();
        ASSERT_CO_TRUE(seen.chains.size() == 1);
        EXPECT_EQ(seen.chains[0].name, "next");
    });
}

// The loop goes on while thousands of rules are on their way.
TEST_F(kernel_filter, a_big_batch_does_not_hold_the_loop) {
    bench.run([this]() -> awaitable<void> {
        filter_batch batch = table_with({"one"});
        for (int number = 0; number < 20'000; ++number) {
            batch.push_back(append("one", std::to_string(number)));
        }
        co_await counting_ticks([&]() -> awaitable<void> { co_await done(std::move(batch)); });
        EXPECT_GT(ticks, 3);
        const auto seen = co_await look();
        ASSERT_CO_TRUE(seen.chains.size() == 1);
        EXPECT_EQ(seen.chains[0].rules.size(), 20'000U);
    });
}

}  // namespace
}  // namespace pvc::contract
