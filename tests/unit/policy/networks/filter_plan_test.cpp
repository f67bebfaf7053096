// networking.md 7.3 and ruling 35: one batch makes the table right, and changes only what differs (cases 41, 42, 50,
// 51, 54). Each batch is carried out by a toy table with the kernel's rules.
#include "pvcnoded/policy/networks/filter_plan.hpp"

#include "pvcnoded/base/random.hpp"
#include "toy_filter.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

namespace pvc::policy {
namespace {

using namespace model;
using texts = std::vector<std::string>;

void expect_is(const toy_filter& filter, const wanted_filter& wanted) {
    std::map<std::string, std::vector<filter_rule>> expected;
    std::map<std::string, std::vector<filter_rule>> seen;
    for (const auto& chain : wanted.chains) {
        auto& rules = expected[chain.name];
        for (const auto& one : chain.rules) {
            rules.push_back(one.rule);
        }
    }
    for (const auto& chain : filter.now.chains) {
        auto& rules = seen[chain.name];
        for (const auto& one : chain.rules) {
            rules.push_back(one.what);
        }
    }
    EXPECT_EQ(seen, expected);
    EXPECT_TRUE(plan_filter(wanted, filter.state(), false).changes.empty());
}

filter_plan carry_out(toy_filter& filter, const wanted_filter& wanted, bool must_rebuild = false) {
    auto plan = plan_filter(wanted, filter.state(), must_rebuild);
    EXPECT_EQ(filter.commit(plan.changes), "");
    expect_is(filter, wanted);
    return plan;
}

std::map<std::string, std::uint64_t> handles_of(const toy_filter& filter) {
    std::map<std::string, std::uint64_t> handles;
    for (const auto& chain : filter.now.chains) {
        for (const auto& one : chain.rules) {
            handles[one.what.tag] = one.handle;
        }
    }
    return handles;
}

// How many rules of before are gone, whatever they say.
std::size_t lost(const std::map<std::string, std::uint64_t>& before, const toy_filter& filter) {
    const auto now = handles_of(filter);
    return static_cast<std::size_t>(std::ranges::count_if(before, [&](const auto& one) {
        const auto found = now.find(one.first);
        return found == now.end() || found->second != one.second;
    }));
}

TEST(filter_plan, without_a_table_it_is_made) {
    toy_filter filter;
    const auto plan = carry_out(filter, firewall_of({}, {}));
    EXPECT_TRUE(plan.is_rebuild);
    EXPECT_EQ(plan.changes, (std::vector<filter_change>{make_table{}, delete_table{}, make_table{},
                                                        make_chain{"forward", filter_hook::forward},
                                                        make_chain{"input", filter_hook::input}}));
}

TEST(filter_plan, another_ones_table_is_made_anew) {
    const auto network = filtered_network(1001);
    const auto wanted = firewall_of({&network, 1}, {});
    toy_filter filter;
    ASSERT_EQ(filter.commit(plan_filter(wanted, {}, false).changes), "");
    for (auto& chain : filter.now.chains) {  // as the nft program makes it of the files
        for (auto& one : chain.rules) {
            one.what.tag.clear();
        }
    }
    EXPECT_TRUE(carry_out(filter, wanted).is_rebuild);
}

TEST(filter_plan, a_table_with_flags_is_made_anew) {
    const auto network = filtered_network(1001);
    const auto wanted = firewall_of({&network, 1}, {});
    for (const std::uint32_t flags :
         {dormant_table, owned_table, lasting_table, dormant_table | lasting_table, 0x100U}) {
        SCOPED_TRACE(flags);
        toy_filter filter;
        carry_out(filter, wanted);
        filter.now.flags = flags;
        EXPECT_TRUE(carry_out(filter, wanted).is_rebuild);
        EXPECT_EQ(filter.now.flags, 0U);
    }
}

TEST(filter_plan, a_chain_with_another_hook_is_made_anew) {
    const auto network = filtered_network(1001);
    const auto wanted = firewall_of({&network, 1}, {});
    for (const auto* name : {"input", "vxlan1001-in"}) {
        toy_filter filter;
        carry_out(filter, wanted);
        filter.now.find(name)->hook = filter_hook::forward;
        EXPECT_TRUE(carry_out(filter, wanted).is_rebuild) << name;
    }
    // One of a hook that is none of ours.
    toy_filter filter;
    carry_out(filter, wanted);
    auto seen = filter.state();
    seen.chains[1].hook = filter_hook::none;
    EXPECT_TRUE(plan_filter(wanted, seen, false).is_rebuild);
    seen.chains[1].is_base = false;
    EXPECT_TRUE(plan_filter(wanted, seen, false).is_rebuild);
}

TEST(filter_plan, what_is_right_is_left_alone_unless_it_must_be_anew) {
    const auto network = filtered_network(1001);
    const auto wanted = firewall_of({&network, 1}, {});
    toy_filter filter;
    carry_out(filter, wanted);
    const auto before = handles_of(filter);
    EXPECT_TRUE(carry_out(filter, wanted).changes.empty());
    EXPECT_EQ(lost(before, filter), 0U);
    EXPECT_TRUE(carry_out(filter, wanted, true).is_rebuild);
    EXPECT_EQ(lost(before, filter), before.size());
}

TEST(filter_plan, a_change_of_one_acl_touches_one_rule) {
    std::vector<client_network> networks{filtered_network(1), filtered_network(2), filtered_network(3)};
    networks[1].acls_in = {{"a", "tcp dport 1 accept"}, {"b", "tcp dport 2 accept"}, {"c", "drop"}};
    toy_filter filter;
    carry_out(filter, firewall_of(networks, {}));
    const auto handles = handles_of(filter);
    const auto rules = filter.now.find("vxlan2-in")->rules;
    networks[1].acls_in[1].rule = "tcp dport 3 accept";
    const auto wanted = firewall_of(networks, {});
    const auto plan = carry_out(filter, wanted);
    EXPECT_EQ(plan.changes, (std::vector<filter_change>{
                                delete_rule{"vxlan2-in", rules[2].handle},
                                add_rule{"vxlan2-in", wanted.chains[4].rules[2].rule, rules[1].handle, false}}));
    EXPECT_EQ(lost(handles, filter), 1U);
}

TEST(filter_plan, a_network_in_the_middle_comes_and_goes) {
    std::vector<client_network> networks{filtered_network(1), filtered_network(2), filtered_network(3)};
    const auto all = firewall_of(networks, {});
    networks.erase(networks.begin() + 1);
    const auto without = firewall_of(networks, {});
    toy_filter filter;
    carry_out(filter, without);
    const auto before = handles_of(filter);
    EXPECT_FALSE(carry_out(filter, all).is_rebuild);
    EXPECT_EQ(lost(before, filter), 0U);
    const auto plan = carry_out(filter, without);
    EXPECT_EQ(lost(before, filter), 0U);
    // What leads to its chains goes first.
    const texts expected{"forward", "forward", "input", "input", "input", "input",
                         "input",   "input",   "input", "input", "input"};
    texts chains;
    for (std::size_t at = 0; at + 4 < plan.changes.size(); ++at) {
        const auto* const one = std::get_if<delete_rule>(&plan.changes[at]);
        chains.push_back(one == nullptr ? "?" : one->chain);
    }
    EXPECT_EQ(chains, expected);
    EXPECT_EQ(std::vector<filter_change>(plan.changes.end() - 4, plan.changes.end()),
              (std::vector<filter_change>{flush_chain{"vxlan2-in"}, flush_chain{"vxlan2-out"},
                                          delete_chain{"vxlan2-in"}, delete_chain{"vxlan2-out"}}));
}

TEST(filter_plan, rules_of_others_go_and_ours_stay) {
    const auto network = filtered_network(1001);
    const auto wanted = firewall_of({&network, 1}, {});
    toy_filter filter;
    carry_out(filter, wanted);
    const auto before = handles_of(filter);
    filter_rule foreign{{give_verdict{filter_verdict::jump, "theirs"}}, ""};
    ASSERT_EQ(filter.commit({make_chain{"theirs", filter_hook::none}, make_chain{"base", filter_hook::input},
                             add_rule{"theirs", {{give_verdict{}}, "mine"}, 0, false},
                             add_rule{"input", foreign, 0, true}, add_rule{"base", foreign, 0, false}}),
              "");
    EXPECT_FALSE(carry_out(filter, wanted).is_rebuild);
    EXPECT_EQ(lost(before, filter), 0U);
}

TEST(filter_plan, what_somebody_removed_comes_back) {
    const auto network = filtered_network(1001);
    const auto wanted = firewall_of({&network, 1}, {});
    toy_filter filter;
    carry_out(filter, wanted);
    filter.now.find("input")->rules.erase(filter.now.find("input")->rules.begin());
    filter.now.find("forward")->rules.clear();
    std::erase_if(filter.now.chains, [](const auto& one) { return one.name == "vxlan1001-in"; });
    EXPECT_FALSE(carry_out(filter, wanted).is_rebuild);
    std::erase_if(filter.now.chains, [](const auto& one) { return one.name == "input"; });
    EXPECT_FALSE(carry_out(filter, wanted).is_rebuild);
}

// Rules that say the same and stand in the same order here and there keep their handles: at least as many as in the
// longest such sequence, found another way.
std::size_t longest_common(const texts& a, const texts& b) {
    std::vector<std::vector<std::size_t>> best(a.size() + 1, std::vector<std::size_t>(b.size() + 1, 0));
    for (std::size_t i = 0; i < a.size(); ++i) {
        for (std::size_t k = 0; k < b.size(); ++k) {
            best[i + 1][k + 1] = a[i] == b[k] ? best[i][k] + 1 : std::max(best[i][k + 1], best[i + 1][k]);
        }
    }
    return best[a.size()][b.size()];
}

std::vector<client_network> any_networks(random_source& random) {
    std::vector<client_network> networks;
    for (std::uint32_t vni = 1; vni <= 5; ++vni) {
        if (random.below(3) == 0) {
            continue;
        }
        auto network = filtered_network(vni);
        if (random.below(3) == 0) {
            network.ip4 = {};
        }
        for (auto* acls : {&network.acls_in, &network.acls_out}) {
            for (auto count = random.below(6); count > 0; --count) {
                const auto number = std::to_string(random.below(6));
                if (std::ranges::none_of(*acls, [&](const network_acl& one) { return one.name == number; })) {
                    acls->push_back({number, "tcp dport " + std::to_string(random.below(2)) + " accept"});
                }
            }
        }
        networks.push_back(network);
    }
    return networks;
}

// What people do to a table with their hands.
void disturb(toy_filter& filter, random_source& random) {
    for (auto& chain : filter.now.chains) {
        if (random.below(4) == 0 && !chain.rules.empty()) {
            auto& rules = chain.rules;
            switch (random.below(4)) {
                case 0: rules.erase(rules.begin() + static_cast<long>(random.below(rules.size()))); break;
                case 1: std::swap(rules.front(), rules.back()); break;
                case 2: rules.push_back({filter.now.next_handle++, {{give_verdict{}}, ""}}); break;
                default: rules.push_back({filter.now.next_handle++, rules.front().what}); break;
            }
        }
    }
}

TEST(filter_plan, from_anything_to_anything) {
    for (std::uint64_t seed = 1; seed <= 600; ++seed) {
        SCOPED_TRACE(seed);
        random_source random(seed);
        toy_filter filter;
        carry_out(filter, firewall_of(any_networks(random), {}));
        if (random.below(2) == 0) {
            disturb(filter, random);
        }
        const auto before = filter.now;
        const auto wanted = firewall_of(any_networks(random), {});
        const auto plan = carry_out(filter, wanted);
        for (const auto& chain : wanted.chains) {
            texts old_tags;
            std::set<std::uint64_t> old_handles;
            for (const auto& old : before.chains) {
                for (const auto& one : old.rules) {
                    if (old.name == chain.name) {
                        old_tags.push_back(one.what.tag);
                        old_handles.insert(one.handle);
                    }
                }
            }
            texts new_tags;
            std::size_t kept = 0;
            for (const auto& one : filter.now.find(chain.name)->rules) {
                new_tags.push_back(one.what.tag);
                kept += old_handles.contains(one.handle) ? 1 : 0;
            }
            EXPECT_EQ(kept, plan.is_rebuild ? 0 : longest_common(old_tags, new_tags)) << chain.name;
        }
        if (testing::Test::HasFailure()) {
            return;
        }
    }
}

TEST(filter_plan, thousands_of_rules_are_compared_at_once) {
    std::vector<client_network> networks;
    for (std::uint32_t vni = 1; vni <= 1000; ++vni) {
        networks.push_back(filtered_network(vni));
    }
    const auto wanted = firewall_of(networks, {});
    filter_state seen;
    seen.has_table = true;
    std::uint64_t handle = 0;
    for (const auto& chain : wanted.chains) {
        seen_chain one{chain.name, chain.hook, chain.hook != filter_hook::none, {}};
        for (const auto& rule : chain.rules) {
            one.rules.push_back({++handle, rule.rule.tag});
        }
        seen.chains.push_back(std::move(one));
    }
    EXPECT_TRUE(plan_filter(wanted, seen, false).changes.empty());
    std::ranges::reverse(seen.chains[1].rules);
    EXPECT_EQ(plan_filter(wanted, seen, false).changes.size(), 2U * (9000 - 1));
}

// Debian's table, the other kind's, ours.
TEST(filter_plan, what_is_somebody_elses_is_named) {
    using model::filter_hook;
    const model::seen_rule theirs{7, "", 1};
    const model::seen_chain own_place{"input", filter_hook::none, true, {theirs, theirs}, 9};
    const model::seen_chain output{"output", filter_hook::none, true, {}, 9};
    const model::seen_chain input{"input", filter_hook::input, true, {theirs}, 0};
    const model::seen_chain forward{"forward", filter_hook::forward, true, {}, 0};
    const model::seen_chain extra{"mine", filter_hook::none, false, {}, 0};
    const model::seen_chain of_network{"vxlan1001-in", filter_hook::none, false, {theirs}, 0};
    const model::seen_chain no_network{"vxlanx-in", filter_hook::none, false, {theirs}, 0};
    const model::seen_chain of_ours{"input", filter_hook::input, true, {{8, "pvc1 1001 = icmp 5", 0}}, 0};
    const auto told = [](std::vector<model::seen_chain> chains) {
        return rules_of_others({true, 0, 5, std::move(chains), 1});
    };
    EXPECT_EQ(rules_of_others({}), "");
    EXPECT_EQ(told({}), "");
    EXPECT_EQ(told({own_place, forward, output}), "chain input, chain output");
    EXPECT_EQ(told({input, forward}), "1 rule in input");
    EXPECT_EQ(told({extra}), "chain mine");
    EXPECT_EQ(told({input, no_network}), "1 rule in input, chain vxlanx-in");
    EXPECT_EQ(told({input, forward, of_network}), "");
    EXPECT_EQ(told({of_ours, forward, extra}), "");
    EXPECT_EQ(told({of_ours, output}), "chain output");
    EXPECT_EQ(told({forward, {"input", filter_hook::input, true, {}, 0}}), "");
}

}  // namespace
}  // namespace pvc::policy
