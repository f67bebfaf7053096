// networking.md 7.3, 7.4 and ruling 35: a change beside rules that the nft program made, which have no tags. A toy
// table carries each out; what a rule is, it knows, and shows only of those that are not nft's.
#include "pvcnoded/policy/networks/nft_changes.hpp"

#include "pvcnoded/base/random.hpp"
#include "toy_filter.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>

namespace pvc::policy {
namespace {

using namespace model;
using texts = std::vector<std::string>;

const nft_knowledge& knowing_ttls() {
    static const nft_knowledge all = [] {
        nft_knowledge some;
        some.verdicts = {{"ip ttl 1 drop", ""}, {"ip ttl 2 drop", ""}};
        return some;
    }();
    return all;
}

class nft_table {
public:
    toy_filter filter;
    std::set<std::uint64_t> by_nft;
    texts statics{"static a", "static b"};
    texts static_chains{"mine", "vxlan2-in", "vxlan3-in"};

    [[nodiscard]] filter_state state() const {
        auto seen = filter.state();
        seen.generation = 1;
        for (auto& chain : seen.chains) {
            for (auto& rule : chain.rules) {
                if (by_nft.contains(rule.handle)) {
                    rule.digest = std::hash<std::string>{}(rule.tag);
                    rule.tag.clear();
                }
            }
        }
        return seen;
    }
    // All of it by nft, behind what a static file makes.
    void load(const wanted_filter& wanted) {
        auto changes = plan_filter(wanted, {}, true).changes;
        std::vector<filter_change> theirs{make_chain{"mine", filter_hook::none}};
        for (const auto* chain : {"mine", "input", "vxlan2-in"}) {
            theirs.emplace_back(
                make_chain{chain, std::string(chain) == "input" ? filter_hook::input : filter_hook::none});
            for (const auto& one : statics) {
                theirs.emplace_back(add_rule{chain, {{count_packet{}}, one}, 0, false});
            }
        }
        theirs.emplace_back(make_chain{"vxlan3-in", filter_hook::none});
        changes.insert(changes.begin() + 3, theirs.begin(), theirs.end());
        commit(changes, true);
    }
    void commit(const std::vector<filter_change>& changes, bool is_by_nft) {
        const auto first = filter.now.next_handle;
        ASSERT_EQ(filter.commit(changes), "");
        for (auto handle = first; is_by_nft && handle < filter.now.next_handle; ++handle) {
            by_nft.insert(handle);
        }
    }
    [[nodiscard]] texts tags(const std::string& chain) {
        texts all;
        if (const auto* const found = filter.now.find(chain)) {
            for (const auto& one : found->rules) {
                all.push_back(one.what.tag);
            }
        }
        return all;
    }
};

void expect_is(nft_table& table, const wanted_filter& wanted) {
    for (const auto& chain : wanted.chains) {
        texts expected;
        if (chain.name == "input" || chain.name == "vxlan2-in") {
            expected = table.statics;
        }
        for (const auto& one : chain.rules) {
            expected.push_back(one.rule.tag);
        }
        EXPECT_EQ(table.tags(chain.name), expected) << chain.name;
    }
    EXPECT_EQ(table.tags("mine"), table.statics);
    const auto is_wanted = [&](const char* name) {
        return std::ranges::find(wanted.chains, name, &wanted_chain::name) != wanted.chains.end();
    };
    if (!is_wanted("vxlan2-in")) {
        EXPECT_EQ(table.tags("vxlan2-in"), table.statics);
    }
    EXPECT_NE(table.filter.now.find("vxlan3-in"), nullptr);
    EXPECT_EQ(table.filter.now.find("vxlan3-out") != nullptr, is_wanted("vxlan3-in"));
}

std::vector<client_network> networks_by_chance(random_source& random) {
    std::vector<client_network> networks;
    for (std::uint32_t vni = 1; vni <= 4; ++vni) {
        if (random.below(3) == 0) {
            continue;
        }
        auto network = filtered_network(vni);
        for (auto* acls : {&network.acls_in, &network.acls_out}) {
            for (std::uint64_t at = 0; at < random.below(5); ++at) {
                const auto number = std::to_string(1 + random.below(3));
                acls->push_back(
                    {std::to_string(at), random.below(2) == 0 ? "tcp dport " + number : "ip ttl " + number + " drop"});
            }
        }
        networks.push_back(network);
    }
    return networks;
}

TEST(nft_changes, from_anything_to_anything_with_what_differs_alone) {
    std::size_t local = 0;
    for (std::uint64_t seed = 1; seed <= 500; ++seed) {
        SCOPED_TRACE(seed);
        random_source random(seed);
        nft_table table;
        auto wanted = firewall_of(networks_by_chance(random), {}, knowing_ttls());
        table.load(wanted);
        auto marks = marks_of(wanted, table.state(), table.static_chains);
        ASSERT_TRUE(marks.has_value());
        ASSERT_TRUE(plan_beside(wanted, table.state(), *marks)->changes.empty());
        for (int step = 0; step < 4; ++step) {
            const auto before = table.filter.now;
            wanted = firewall_of(networks_by_chance(random), {}, knowing_ttls());
            const auto plan = plan_beside(wanted, table.state(), *marks);
            ASSERT_TRUE(plan.has_value());
            if (plan->is_rebuild) {
                break;  // nothing of it was left
            }
            ++local;
            table.commit(plan->changes, !for_nft(*plan).empty());
            expect_is(table, wanted);
            // Whatever is wanted still is the rule that it was.
            for (const auto& chain : before.chains) {
                const auto* const now = table.filter.now.find(chain.name);
                for (const auto& one : chain.rules) {
                    const bool is_wanted = now != nullptr && std::ranges::any_of(now->rules, [&](const auto& it) {
                                               return it.what.tag == one.what.tag;
                                           });
                    const bool is_there = now != nullptr && std::ranges::any_of(now->rules, [&](const auto& it) {
                                              return it.handle == one.handle;
                                          });
                    EXPECT_EQ(is_there, is_wanted) << chain.name << one.what.tag;
                }
            }
            marks = !for_nft(*plan).empty() ? marks_of(wanted, table.state(), table.static_chains) : marks;
            ASSERT_TRUE(marks.has_value());
            EXPECT_TRUE(plan_beside(wanted, table.state(), *marks)->changes.empty());
        }
        if (testing::Test::HasFailure()) {
            return;
        }
    }
    EXPECT_GT(local, 500U);
}

struct made {
    wanted_filter wanted;
    nft_table table;
    nft_marks marks;
};
made one_network(const texts& acls) {
    auto network = filtered_network(2);
    for (const auto& one : acls) {
        network.acls_in.push_back({one, one});
    }
    made all{firewall_of({&network, 1}, {}, knowing_ttls()), {}, {}};
    all.table.load(all.wanted);
    all.marks = marks_of(all.wanted, all.table.state(), all.table.static_chains).value();
    return all;
}

TEST(nft_changes, what_static_files_made_and_somebody_changed_is_for_a_load_of_all) {
    const auto is_local = [](const std::function<void(nft_table&)>& change) {
        auto it = one_network({"drop"});
        change(it.table);
        return plan_beside(it.wanted, it.table.state(), it.marks).has_value();
    };
    EXPECT_TRUE(is_local([](nft_table&) {}));
    EXPECT_TRUE(is_local([](nft_table& table) { table.filter.now.find("vxlan2-in")->rules.pop_back(); }));
    for (const auto* chain : {"mine", "input", "vxlan2-in"}) {
        EXPECT_FALSE(is_local([&](nft_table& table) {
            table.filter.now.find(chain)->rules.erase(table.filter.now.find(chain)->rules.begin());
        })) << chain;
        EXPECT_FALSE(is_local([&](nft_table& table) {
            table.filter.now.find(chain)->rules.front().what.tag = "another";
        })) << chain;
        EXPECT_FALSE(is_local([&](nft_table& table) {
            std::ranges::swap(table.filter.now.find(chain)->rules[0], table.filter.now.find(chain)->rules[1]);
        })) << chain;
    }
    EXPECT_FALSE(is_local([](nft_table& table) {
        std::erase_if(table.filter.now.chains, [](const auto& one) { return one.name == "mine"; });
    }));
}

// A policy, say: whoever changes it afterwards is noticed.
TEST(nft_changes, a_hook_of_a_static_file_stays) {
    auto it = one_network({"ip ttl 1 drop"});
    const auto with_policy = [&it](std::uint64_t digest) {
        auto made = it.table.state();
        auto& chain = *std::ranges::find(made.chains, "input", &seen_chain::name);
        chain.hook = filter_hook::none;
        chain.digest = digest;
        return made;
    };
    const auto marks = marks_of(it.wanted, with_policy(1), it.table.static_chains);
    ASSERT_TRUE(marks.has_value());
    EXPECT_TRUE(plan_beside(it.wanted, with_policy(1), *marks).value().changes.empty());
    EXPECT_FALSE(plan_beside(it.wanted, with_policy(2), *marks).has_value());
    EXPECT_FALSE(plan_beside(it.wanted, it.table.state(), *marks).has_value());
}

TEST(nft_changes, a_rule_of_nft_that_says_something_else_is_made_anew_and_no_other) {
    auto it = one_network({"tcp dport 1 drop", "ip ttl 1 drop", "tcp dport 2 drop"});
    auto& rules = it.table.filter.now.find("vxlan2-in")->rules;
    const auto handle = rules[4].handle;
    rules[4].what.tag = "something else";
    const auto plan = plan_beside(it.wanted, it.table.state(), it.marks).value();
    EXPECT_EQ(for_nft(plan).size(), 1U);
    EXPECT_EQ(nft_text(plan, it.wanted), "delete rule inet filter vxlan2-in handle " + std::to_string(handle) +
                                             "\nadd rule inet filter vxlan2-in handle " +
                                             std::to_string(rules[3].handle) + " counter ip ttl 1 drop\n");
}

TEST(nft_changes, the_text_has_every_kind_of_change) {
    auto it = one_network({"ip ttl 1 drop"});
    const std::vector<client_network> networks{filtered_network(1), filtered_network(3)};
    auto first = networks[0];
    first.acls_out = {{"a", "ip ttl 2 drop"}, {"b", "accept comment \"c; d\""}};
    std::vector<client_network> more{first, networks[1], filtered_network(2)};
    const auto plan = plan_beside(firewall_of(more, {}, knowing_ttls()), it.table.state(), it.marks).value();
    const auto text = nft_text(plan, firewall_of(more, {}, knowing_ttls()));
    EXPECT_TRUE(text.starts_with("add chain inet filter vxlan1-in\nadd chain inet filter vxlan1-out\n")) << text;
    const auto behind = std::to_string(it.table.filter.now.find("input")->rules[1].handle);
    for (const auto& line : texts{"add rule inet filter input handle " + behind + " iifname \"vmbr1\" counter drop\n",
                                  "insert rule inet filter forward ip saddr 10.1.1.0/24 counter jump vxlan1-out\n",
                                  "add rule inet filter forward ip daddr 10.1.1.0/24 counter jump vxlan3-in\n",
                                  "add rule inet filter vxlan1-out counter ip ttl 2 drop\n",
                                  "add rule inet filter vxlan1-out counter accept comment \"c; d\"\n",
                                  "delete rule inet filter vxlan2-in handle "}) {
        EXPECT_NE(text.find(line), std::string::npos) << line << text;
    }
    EXPECT_EQ(acl_in_line("insert rule inet filter vxlan2-in counter ip ttl 1 drop", 1, knowing_ttls()),
              "vxlan2-in counter ip ttl 1 drop");
    EXPECT_EQ(acl_in_line("\nadd rule inet filter vxlan2-in handle 12 counter ip ttl 1 drop", 2, knowing_ttls()),
              "vxlan2-in counter ip ttl 1 drop");
    for (const auto* line :
         {"add rule inet filter vxlan2-in handle", "add rule inet filter vxlan2-in",
          "insert rule inet filter input counter ip ttl 1 drop", "delete rule inet filter vxlan2-in handle 12",
          "add rule inet filter vxlan2-in handle 1 counter tcp dport 9 drop"}) {
        EXPECT_EQ(acl_in_line(line, 1, knowing_ttls()), std::nullopt) << line;
    }
}

// What nft has made stays while it cannot be asked; nothing else that needs it comes.
TEST(nft_changes, what_is_in_force_needs_nft_no_more) {
    auto network = filtered_network(2);
    network.acls_in = {{"a", "ip ttl 1 drop"}, {"b", "ip ttl 2 drop"}};
    auto nft = knowing_ttls();
    const auto before = firewall_of({&network, 1}, {}, nft);
    nft.in_force = made_by_nft(before);
    EXPECT_EQ(nft.in_force.size(), 2U);
    nft.unusable = "it hangs";
    EXPECT_EQ(firewall_of({&network, 1}, {}, nft), before);
    nft.verdicts.clear();
    EXPECT_EQ(firewall_of({&network, 1}, {}, nft), before);
    network.acls_in[1].rule = "ip ttl 1 drop";
    const auto after = firewall_of({&network, 1}, {}, nft);
    ASSERT_EQ(after.refused.size(), 1U);
    EXPECT_EQ(after.refused[0].acl.name, "b");
    EXPECT_EQ(made_by_nft(after).size(), 1U);
    EXPECT_TRUE(after.unjudged.empty());
    nft.refused_rules = {{"vxlan2-in counter ip ttl 1 drop", "a loop"}};
    EXPECT_FALSE(firewall_of({&network, 1}, {}, nft).needs_nft);
}

TEST(nft_changes, what_is_less_or_something_else_than_wanted_has_no_marks) {
    const auto it = one_network({"ip ttl 1 drop"});
    auto made = it.table.state();
    EXPECT_TRUE(marks_of(it.wanted, made, it.table.static_chains));
    made.flags = dormant_table;
    EXPECT_FALSE(marks_of(it.wanted, made, it.table.static_chains));
    made = it.table.state();
    made.chains.pop_back();
    EXPECT_FALSE(marks_of(it.wanted, made, it.table.static_chains));
    made = it.table.state();
    std::ranges::find(made.chains, "vxlan2-out", &seen_chain::name)->rules.clear();
    EXPECT_FALSE(marks_of(it.wanted, made, it.table.static_chains));
    made = it.table.state();
    made.chains.back().rules.back().tag = "pvc1 another";
    EXPECT_FALSE(marks_of(it.wanted, made, it.table.static_chains));
}

}  // namespace
}  // namespace pvc::policy
