// ACLs with words that only the nft program knows (networking.md 7.4, case 53; ruling 35), and trouble with it.
#include "unit/networks/nft_fixture.hpp"

namespace pvc::node {
namespace {

class nft_loader_test : public nft_fixture {};

TEST_F(nft_loader_test, without_the_program_such_an_acl_is_left_out_and_the_rest_is_there) {
    auto& hv1 = stage();
    put_filtered(1001);
    put_acl(1001, "in/a", "0", "tcp dport 22 accept");
    put_acl(1001, "in/b", "1", "ip ttl 5 drop");
    ASSERT_TRUE(within(3s, [&] { return has_all(hv1, 1001, {"a"}); })) << hv1.log();
    beat(150s);
    EXPECT_EQ(hv1.times_logged("ACL in b is left out"), 1U) << hv1.log();
    EXPECT_TRUE(hv1.logged("the nft program cannot be asked")) << hv1.log();
    EXPECT_NE(file(hv1, "networks/1001.nft").find("# left out: in b"), std::string::npos);
    EXPECT_LE(trials(hv1), 5U);  // asked again once a minute
}

TEST_F(nft_loader_test, words_that_only_nft_knows_are_tried_alone_and_come_beside_the_rest) {
    auto& hv1 = stage();
    install_nft(hv1, refuses("trial counter ip ttl nosuch", "syntax error, unexpected nosuch\nadd rule"));
    put_filtered(1001);
    put_acl(1001, "in/a", "0", "tcp dport 22 accept");
    put_acl(1001, "in/d", "3", "drop");
    ASSERT_TRUE(within(3s, [&] { return has_all(hv1, 1001, {"a", "d"}); }));
    EXPECT_TRUE(hv1.programs.calls().empty());
    const auto before = handles(hv1, {"input", "forward", "vxlan1001-in", "vxlan1001-out"});
    put_acl(1001, "in/b", "1", "ip ttl 5 drop");
    put_acl(1001, "in/c", "2", "ip ttl nosuch drop");
    ASSERT_TRUE(within(3s, [&] { return loaded.size() == 1; })) << hv1.log();
    EXPECT_EQ(loaded[0], fmt::format("add rule inet filter vxlan1001-in handle {} counter ip ttl 5 drop\n",
                                     before.at("vxlan1001-in 1001 in a")));
    beat(1s);
    EXPECT_EQ(said(hv1, "vxlan1001-in"), (texts{"1001 = count-in", "1001 in a", "counter ip ttl 5 drop", "1001 in d"}));
    EXPECT_EQ(hv1.times_logged("nft says: syntax error, unexpected nosuch"), 1U) << hv1.log();
    EXPECT_EQ(trials(hv1), 3U);  // both, and each
    beat(30s);
    EXPECT_EQ(loaded.size(), 1U);
    EXPECT_FALSE(hv1.logged("network-damaged")) << hv1.log();
    // Somebody changes it: loaded again, and said.
    hv1.filter_table.flush_ruleset();
    ASSERT_TRUE(within(3s, [&] { return loaded.size() == 2; }));
    EXPECT_TRUE(hv1.logged("table inet filter was gone, making it again"));
    EXPECT_NE(loaded[1].find("add rule inet filter vxlan1001-in counter tcp dport 22 accept\n"), std::string::npos);
    EXPECT_EQ(loaded[1].find("ttl nosuch"), std::string::npos);
    // Without them the rest stays as nft made it.
    beat(1s);
    const auto after = hv1.filter_table.find("input")->rules;
    remove_acl(1001, "in/b");
    remove_acl(1001, "in/c");
    ASSERT_TRUE(within(3s, [&] {
        return said(hv1, "vxlan1001-in") == texts{"counter", "counter tcp dport 22 accept", "counter drop"};
    })) << hv1.filter_table.text();
    EXPECT_EQ(hv1.filter_table.find("input")->rules, after);
    EXPECT_EQ(loaded.size(), 2U);
}

// Ruling 35: a change of one network is one of its rules alone, also where nft made them.
TEST_F(nft_loader_test, a_change_of_one_network_leaves_the_rules_of_all_others) {
    auto& hv1 = add_networked();
    hv1.host.files["/run/pvc/nft/static/mine"] =
        "add rule inet filter input counter\n"
        "add chain inet filter mine\nadd rule inet filter mine counter\n";
    install_nft(hv1);
    put_filtered(1001);
    put_filtered(1003);
    put_acl(1001, "in/a", "0", "ip ttl 5 drop");
    put_acl(1001, "in/z", "9", "drop");
    start(hv1);
    ASSERT_TRUE(within(3s, [&] { return said(hv1, "vxlan1003-in").size() == 1; })) << hv1.log();
    beat(1s);
    const auto loads = loaded.size();
    const auto all = [&hv1] {
        std::map<std::uint64_t, std::string> rules;
        for (const auto& chain : hv1.filter_table.chains()) {
            for (const auto& one : chain.rules) {
                rules.emplace(one.handle, chain.name);
            }
        }
        return rules;
    };
    const auto gone = [&](const std::map<std::uint64_t, std::string>& before) {
        const auto now = all();
        return std::ranges::count_if(before, [&](const auto& one) { return !now.contains(one.first); });
    };
    const auto is_first = [&hv1] { return said(hv1, "input").front() == "counter" && hv1.filter_table.find("mine"); };
    // In words of its own: without nft.
    auto before = all();
    put_acl(1001, "in/m", "5", "tcp dport 22 accept");
    ASSERT_TRUE(within(3s, [&] {
        return said(hv1, "vxlan1001-in") == texts{"counter", "counter ip ttl 5 drop", "1001 in m", "counter drop"};
    })) << hv1.filter_table.text();
    EXPECT_EQ(gone(before), 0);
    EXPECT_EQ(loaded.size(), loads);
    // In others: by nft, and nothing else.
    before = all();
    put_acl(1001, "in/b", "1", "ip ttl 6 drop");
    ASSERT_TRUE(within(3s, [&] { return said(hv1, "vxlan1001-in").size() == 5; })) << hv1.filter_table.text();
    EXPECT_EQ(said(hv1, "vxlan1001-in")[2], "counter ip ttl 6 drop");
    EXPECT_EQ(gone(before), 0);
    ASSERT_EQ(loaded.size(), loads + 1);
    before = all();
    remove_acl(1001, "in/a");
    ASSERT_TRUE(within(3s, [&] { return said(hv1, "vxlan1001-in").size() == 4; })) << hv1.filter_table.text();
    EXPECT_EQ(gone(before), 1);
    // A network between two, and before all: behind the rules of the static file.
    for (const int vni : {1002, 1000}) {
        before = all();
        put_filtered(vni);
        const auto number = std::to_string(vni);
        ASSERT_TRUE(within(3s, [&] { return said(hv1, "vxlan" + number + "-out").size() == 1; })) << hv1.log();
        EXPECT_EQ(gone(before), 0);
        EXPECT_TRUE(is_first()) << hv1.filter_table.text();
        EXPECT_EQ(said(hv1, "input")[vni == 1000 ? 1 : 10], number + " = icmp") << hv1.filter_table.text();
    }
    before = all();
    ensemble.remove_tree("/networks/1003");
    ASSERT_TRUE(within(5s, [&] { return hv1.filter_table.find("vxlan1003-in") == nullptr; })) << hv1.log();
    EXPECT_EQ(gone(before), 9 + 2 + 2);
    EXPECT_TRUE(is_first());
    // Somebody's rule, in the place of a static one and of one of nft's.
    const auto counted = loaded.size();
    hv1.filter_table.replace_rule("vxlan1001-out", {{model::give_verdict{}}, ""});
    ASSERT_TRUE(within(3s, [&] { return said(hv1, "vxlan1001-out") == texts{"1001 = count-out"}; })) << hv1.log();
    EXPECT_EQ(loaded.size(), counted);
    hv1.filter_table.replace_rule("mine", {{model::give_verdict{}}, ""});
    ASSERT_TRUE(within(3s, [&] { return said(hv1, "mine") == texts{"counter"}; })) << hv1.log();
    EXPECT_EQ(loaded.size(), counted + 1);
    EXPECT_TRUE(hv1.logged("somebody changed table inet filter")) << hv1.log();
}

// Of a rule that somebody took away meanwhile nft says the same as of a bad one.
TEST_F(nft_loader_test, a_refusal_that_somebody_elses_change_explains_blames_no_acl) {
    auto& hv1 = stage();
    int attacks = 0;
    install_nft(hv1, [&](sim::sim_program& ran, const std::string& text, bool is_load) {
        if (!is_load || attacks == 0) {
            return false;
        }
        --attacks;
        hv1.filter_table.replace_rule("vxlan1001-in", {{model::give_verdict{}}, ""});
        ran.how = async::exited{1};
        ran.error_output = fmt::format("/run/pvc/nft/changed.nft:{}:1-4: Error: No such file or directory\n",
                                       std::count(text.begin(), text.end(), '\n'));
        return true;
    });
    put_filtered(1001);
    put_acl(1001, "in/z", "9", "drop");
    ASSERT_TRUE(within(3s, [&] { return has_all(hv1, 1001, {"z"}); }));
    attacks = 1;
    put_acl(1001, "in/b", "1", "ip ttl 5 drop");
    ASSERT_TRUE(within(3s, [&] { return said(hv1, "vxlan1001-in").size() == 3; })) << hv1.filter_table.text();
    EXPECT_EQ(said(hv1, "vxlan1001-in")[1], "counter ip ttl 5 drop");
    loop.run_for(1s);
    EXPECT_FALSE(hv1.logged("is left out")) << hv1.log();
}

// What nft has made needs it no more: whatever becomes of the program, it stays, and other rules come and go beside it.
TEST_F(nft_loader_test, what_is_in_force_stays_while_the_program_is_in_trouble) {
    auto& hv1 = add_networked();
    hv1.host.files["/run/pvc/nft/static/mine"] = "add rule inet filter input counter\n";
    install_nft(hv1);
    bool is_broken = false;
    hv1.programs.add([&is_broken](const async::command& what) {
        return is_broken && what.arguments[0] == "nft" ? std::optional(sim::sim_program{.how = async::exited{127}})
                                                       : std::nullopt;
    });
    put_filtered(1001);
    put_acl(1001, "in/a", "0", "ip ttl 5 drop");
    start(hv1);
    ASSERT_TRUE(within(3s, [&] { return said(hv1, "vxlan1001-in").size() == 2; })) << hv1.log();
    beat(1s);
    is_broken = true;
    const auto loads = loaded.size();
    put_acl(1001, "in/b", "1", "ip ttl 6 drop");
    put_acl(1001, "in/c", "2", "drop");
    const texts expected{said(hv1, "vxlan1001-in")[0], "counter ip ttl 5 drop", "1001 in c"};
    ASSERT_TRUE(within(3s, [&] { return said(hv1, "vxlan1001-in") == expected; })) << hv1.filter_table.text();
    EXPECT_EQ(said(hv1, "input")[0], "counter");
    EXPECT_TRUE(within(3s, [&] { return hv1.times_logged("ACL in b is left out") == 1; })) << hv1.log();
    put_filtered(1002);
    ASSERT_TRUE(within(3s, [&] { return hv1.filter_table.find("vxlan1002-out") != nullptr; })) << hv1.log();
    beat(100s);
    EXPECT_EQ(said(hv1, "vxlan1001-in"), expected);
    EXPECT_EQ(said(hv1, "input")[0], "counter");
    EXPECT_FALSE(hv1.logged("ACL in a") || hv1.logged("somebody changed")) << hv1.log();
    is_broken = false;
    ASSERT_TRUE(within(75s, [&] { return said(hv1, "vxlan1001-in").size() == 4; })) << hv1.log();
    EXPECT_EQ(loaded.size(), loads + 1);
    EXPECT_TRUE(within(3s, [&] { return hv1.times_logged("this is over: network 1001: ACL in b") == 1; })) << hv1.log();
    // One that was judged before, and whatever it is that the program does then.
    remove_acl(1001, "in/b");
    ASSERT_TRUE(within(3s, [&] { return said(hv1, "vxlan1001-in").size() == 3; })) << hv1.log();
    is_broken = true;
    put_acl(1001, "in/b", "1", "ip ttl 6 drop");
    EXPECT_TRUE(within(3s, [&] { return hv1.times_logged("network 1001: ACL in b is left out") == 2; })) << hv1.log();
    beat(5s);
    EXPECT_EQ(said(hv1, "vxlan1001-in"), expected);
    EXPECT_EQ(said(hv1, "input")[0], "counter");
    is_broken = false;
    ASSERT_TRUE(within(75s, [&] { return said(hv1, "vxlan1001-in").size() == 4; })) << hv1.log();
    // What is damaged meanwhile cannot be made again: the rest is.
    is_broken = true;
    put_acl(1001, "in/e", "4", "ip ttl 7 drop");
    ASSERT_TRUE(within(5s, [&] { return hv1.logged("ACL in e is left out"); })) << hv1.log();
    hv1.filter_table.replace_rule("input", {{model::give_verdict{}}, ""});
    ASSERT_TRUE(within(5s, [&] { return has_all(hv1, 1001, {"c"}); })) << hv1.filter_table.text();
    EXPECT_TRUE(within(3s, [&] { return hv1.logged("ACL in a is left out"); })) << hv1.log();
    is_broken = false;
    ASSERT_TRUE(within(75s, [&] {
        return said(hv1, "vxlan1001-in").size() == 5 && said(hv1, "input")[0] == "counter";
    })) << hv1.log();
}

// What only the kernel refuses, of a change beside what is there: it is left out, and the rest is not loaded anew.
TEST_F(nft_loader_test, an_acl_that_the_kernel_refuses_in_a_change_costs_nobody_his_counters) {
    auto& hv1 = stage();
    install_nft(hv1, [](sim::sim_program& ran, const std::string& text, bool is_load) {
        const bool is_refused = is_load && text.find("counter masquerade\n") != std::string::npos;
        if (is_refused) {
            refuse(ran, text, "counter masquerade\n", "not supported", is_load);
        }
        return is_refused;
    });
    put_filtered(1001);
    put_acl(1001, "in/z", "9", "drop");
    ASSERT_TRUE(within(3s, [&] { return has_all(hv1, 1001, {"z"}); }));
    const auto before = handles(hv1, {"input", "forward", "vxlan1001-in", "vxlan1001-out"});
    put_acl(1001, "in/b", "1", "masquerade");
    put_acl(1001, "in/c", "2", "ip ttl 6 drop");
    ASSERT_TRUE(within(3s, [&] { return said(hv1, "vxlan1001-in").size() == 3; })) << hv1.log();
    EXPECT_EQ(said(hv1, "vxlan1001-in")[1], "counter ip ttl 6 drop");
    EXPECT_EQ(hv1.times_logged("ACL in b is left out"), 1U) << hv1.log();
    remove_acl(1001, "in/c");
    ASSERT_TRUE(within(3s, [&] { return has_all(hv1, 1001, {"z"}); })) << hv1.filter_table.text();
    EXPECT_EQ(handles(hv1, {"input", "forward", "vxlan1001-in", "vxlan1001-out"}), before);
}

// The kernel may refuse what a trial alone does not show: that ACL is left out, and nothing else.
TEST_F(nft_loader_test, an_acl_that_the_kernel_refuses_within_the_whole_is_left_out_alone) {
    auto& hv1 = add_networked();
    hv1.host.files["/run/pvc/nft/static/mine"] = "add rule inet filter input counter\n";
    install_nft(hv1, [](sim::sim_program& ran, const std::string& text, bool is_load) {
        const bool is_refused = is_load && text.find("counter masquerade\n") != std::string::npos;
        if (is_refused) {
            // And of what stands behind it.
            refuse(ran, text, "counter masquerade\n", "Could not process rule: not supported", is_load);
            ran.error_output += "/run/pvc/nft/loaded.nft:1000:1-50: Error: Could not process rule: not supported\n";
        }
        return is_refused;
    });
    put_filtered(1001);
    put_acl(1001, "in/a", "0", "ip ttl 5 drop");
    start(hv1);
    put_filtered(1002);
    put_acl(1002, "in/bad", "0", "masquerade");
    put_acl(1002, "in/good", "1", "ip ttl 6 drop");
    ASSERT_TRUE(within(5s, [&] { return said(hv1, "vxlan1002-in").size() == 2; })) << hv1.log();
    beat(1s);
    EXPECT_EQ(said(hv1, "vxlan1002-in")[1], "counter ip ttl 6 drop");
    EXPECT_EQ(said(hv1, "vxlan1001-in")[1], "counter ip ttl 5 drop");
    EXPECT_EQ(said(hv1, "input")[0], "counter") << "the static file";
    EXPECT_EQ(hv1.times_logged("network 1002: ACL in bad is left out"), 1U) << hv1.log();
    EXPECT_FALSE(hv1.logged("ACL in good") || hv1.logged("does not load all of it")) << hv1.log();
    beat(70s);
    EXPECT_EQ(hv1.times_logged("ACL in bad is left out"), 1U) << hv1.log();
}

// Texts over which it hangs keep no other out of force for long, and are not asked about each minute.
TEST_F(nft_loader_test, a_few_texts_over_which_it_hangs_hold_no_other_up) {
    auto& hv1 = add_networked();
    install_nft(hv1, [](sim::sim_program& ran, const std::string& text, bool) {
        if (text.find("hangs") == std::string::npos) {
            return false;
        }
        ran.takes = 60s;
        return true;
    });
    put_filtered(1001);
    for (int i = 0; i < 40; ++i) {
        const bool is_bad = i % 10 == 3;
        put_acl(1001, "in/" + std::to_string(i), std::to_string(i),
                fmt::format("ip ttl {} {} drop", i, is_bad ? "ip saddr hangs" : ""));
    }
    start(hv1);
    const auto in_force = [&] {
        std::size_t all = 0;
        for (const auto& one : said(hv1, "vxlan1001-in")) {
            all += one.starts_with("counter ip ttl ") ? 1U : 0U;
        }
        return all;
    };
    ASSERT_TRUE(within(120s, [&] { return in_force() == 36; })) << in_force() << hv1.log();
    loop.run_for(100s);
    EXPECT_EQ(in_force(), 36U);
    EXPECT_EQ(hv1.times_logged("is left out"), 4U) << hv1.log();
    EXPECT_FALSE(hv1.logged("somebody changed")) << hv1.log();
}

// Nobody can tell from rules without tags whether they are what nft made.
TEST_F(nft_loader_test, who_changes_the_table_right_behind_a_load_is_noticed) {
    auto& hv1 = stage();
    int attacks = 0;
    install_nft(hv1, [this, &hv1, &attacks](sim::sim_program& ran, const std::string& text, bool is_load) {
        if (is_load) {
            loaded.push_back(text);
            ran.effect = [&hv1, &attacks] {
                rebuild(hv1);
                if (attacks > 0) {
                    --attacks;
                    hv1.filter_table.flush_ruleset();
                }
            };
        }
        return is_load;
    });
    put_filtered(1001);
    attacks = 1;
    put_acl(1001, "in/b", "1", "ip ttl 5 drop");
    ASSERT_TRUE(within(3s, [&] { return loaded.size() == 2; })) << hv1.log();
    beat(20s);
    EXPECT_EQ(loaded.size(), 2U);
    EXPECT_NE(hv1.filter_table.find("vxlan9-in"), nullptr);
    // All the time: said, and tried again with pauses.
    attacks = 1000;
    put_acl(1001, "in/b", "1", "ip ttl 6 drop");
    beat(60s);
    EXPECT_TRUE(hv1.logged("others change it all the time")) << hv1.log();
    EXPECT_LT(loaded.size(), 150U);
    attacks = 0;
    EXPECT_TRUE(within(65s, [&] { return hv1.logged("this is over: firewall: others change it all the time"); }));
    EXPECT_NE(hv1.filter_table.find("vxlan9-in"), nullptr);
}

// The same of a change of one network: what nft made of it is not told from what somebody did meanwhile.
TEST_F(nft_loader_test, who_changes_the_table_while_nft_changes_it_is_noticed) {
    auto& hv1 = stage();
    bool is_attack = false;
    install_nft(hv1, [&](sim::sim_program& ran, const std::string& text, bool is_load) {
        if (!is_load || !std::exchange(is_attack, false)) {
            return false;
        }
        ran.effect = [&hv1, text] {
            carry_out(hv1, text);
            hv1.filter_table.replace_rule("vxlan1001-in", {{model::give_verdict{}}, ""});
        };
        return true;
    });
    put_filtered(1001);
    put_acl(1001, "in/a", "0", "ip ttl 5 drop");
    ASSERT_TRUE(within(3s, [&] { return said(hv1, "vxlan1001-in").size() == 2; })) << hv1.filter_table.text();
    beat(1s);
    const auto right = said(hv1, "vxlan1001-in");
    is_attack = true;
    put_acl(1001, "in/b", "1", "ip ttl 6 drop");
    ASSERT_TRUE(within(3s, [&] { return !is_attack; }));
    beat(5s);
    EXPECT_EQ(said(hv1, "vxlan1001-in").size(), right.size() + 1) << hv1.filter_table.text();
    EXPECT_EQ(said(hv1, "vxlan1001-in").front(), right.front()) << hv1.filter_table.text();
}

// Who changes other tables without end holds nothing up: what nft made is all there.
TEST_F(nft_loader_test, changes_of_other_tables_hold_nothing_up) {
    auto& hv1 = stage();
    put_filtered(1001);
    install_nft(hv1, [this, &hv1](sim::sim_program& ran, const std::string& text, bool is_load) {
        if (!is_load) {
            return false;
        }
        loaded.push_back(text);
        ran.effect = [&hv1] {
            auto changes = anothers_table();
            changes.insert(changes.begin(), {model::make_table{}, model::delete_table{}});
            for (const auto* chain : {"input", "vxlan1001-in", "vxlan1001-out"}) {
                changes.push_back(model::make_chain{chain, model::filter_hook::none});
                for (int i = 0; i < 9; ++i) {
                    changes.push_back(model::add_rule{chain, {{model::count_packet{}}, ""}, 0, false});
                }
            }
            changes.push_back(model::add_rule{"forward", {{model::count_packet{}}, ""}, 0, false});
            EXPECT_TRUE(hv1.filter_table.commit(changes, std::nullopt));
            hv1.filter_table.replace_rule("vxlan9-in", {{model::count_packet{}}, ""});  // one more generation
        };
        return true;
    });
    put_acl(1001, "in/b", "1", "ip ttl 5 drop");
    ASSERT_TRUE(within(5s, [&] { return loaded.size() == 5; })) << hv1.log();
    beat(60s);
    EXPECT_EQ(loaded.size(), 5U) << "a change, all of it, and three more, as a small table is soon right";
    EXPECT_FALSE(hv1.logged("others change it")) << hv1.log();
}

// However slow it is, it is asked about one text after the other.
TEST_F(nft_loader_test, a_slow_program_judges_all_the_same) {
    auto& hv1 = stage();
    install_nft(hv1, [refusal = refuses("counter ip ttl nosuch", "syntax error")](
                         sim::sim_program& ran, const std::string& text, bool is_load) {
        ran.takes = 2500ms;
        return refusal(ran, text, is_load);
    });
    put_filtered(1001);
    beat(5s);
    put_acl(1001, "in/a", "0", "ip ttl 5 drop");
    put_acl(1001, "in/b", "1", "ip ttl nosuch drop");
    ASSERT_TRUE(within(45s, [&] {
        return hv1.times_logged("ACL in b is left out") == 1 && !loaded.empty() &&
               loaded.back().find("counter ip ttl 5 drop") != std::string::npos;
    })) << hv1.log();
}

// A table made anew has the same handles; what is in its sets may be something else.
TEST_F(nft_loader_test, a_table_that_somebody_made_anew_is_noticed) {
    auto& hv1 = stage();
    install_nft(hv1);
    put_filtered(1001);
    put_acl(1001, "in/b", "1", "ip ttl 5 drop");
    ASSERT_TRUE(within(3s, [&] { return loaded.size() == 1; })) << hv1.log();
    beat(1s);
    hv1.filter_table.flush_ruleset();
    ASSERT_TRUE(within(3s, [&] { return loaded.size() == 2; })) << hv1.log();
    beat(1s);
    const auto before = hv1.filter_table.state().chains;
    carry_out(hv1, loaded[1]);
    ASSERT_EQ(hv1.filter_table.state().chains, before);
    EXPECT_TRUE(within(3s, [&] { return loaded.size() == 3; })) << hv1.filter_table.text();
}

// A rule in the place of another keeps its handle.
TEST_F(nft_loader_test, a_rule_that_somebody_replaced_is_noticed) {
    auto& hv1 = stage();
    install_nft(hv1);
    put_filtered(1001);
    put_acl(1001, "in/b", "1", "ip ttl 5 drop");
    ASSERT_TRUE(within(3s, [&] { return loaded.size() == 1; })) << hv1.log();
    beat(1s);
    remove_acl(1001, "in/b");
    put_acl(1001, "out/b", "1", "ip ttl 5 drop");
    hv1.filter_table.flush_ruleset();
    ASSERT_TRUE(within(3s, [&] { return loaded.size() == 2; })) << hv1.log();
    beat(65s);
    hv1.filter_table.replace_rule("vxlan1001-out", {{model::count_packet{}, model::give_verdict{}}, ""});
    EXPECT_TRUE(within(3s, [&] {
        return said(hv1, "vxlan1001-out") == texts{"1001 = count-out", "counter ip ttl 5 drop"};
    })) << hv1.filter_table.text();
    EXPECT_TRUE(within(1s, [&] { return hv1.logged("somebody changed table inet filter"); })) << hv1.log();
}

TEST_F(nft_loader_test, a_program_that_ends_well_and_does_nothing_is_told_of) {
    auto& hv1 = stage();
    install_nft(hv1);
    bool is_broken = true;
    hv1.programs.add([&is_broken](const async::command& what) {
        return is_broken && what.arguments[0] == "nft" ? std::optional(sim::sim_program{}) : std::nullopt;
    });
    put_filtered(1001);
    put_acl(1001, "in/b", "1", "ip ttl 5 drop");
    ASSERT_TRUE(within(3s, [&] { return hv1.logged("it says that it did, and the table is as it was"); })) << hv1.log();
    EXPECT_TRUE(has_all(hv1, 1001)) << hv1.filter_table.text();
    is_broken = false;
    ASSERT_TRUE(within(75s, [&] { return loaded.size() == 1; })) << hv1.log();
    EXPECT_TRUE(within(3s, [&] { return hv1.times_logged("this is over: network 1001: ACL in b") == 1; })) << hv1.log();
}

// Trouble of the program says nothing about an ACL: it is asked again.
TEST_F(nft_loader_test, trouble_of_the_program_is_no_verdict) {
    auto& hv1 = stage();
    install_nft(hv1);
    std::optional<sim::sim_program> trouble;
    hv1.programs.add([&trouble](const async::command& what) {
        return what.arguments[0] == "nft" && what.arguments[1] == "-c" ? trouble : std::nullopt;
    });
    put_filtered(1001);
    int ttl = 0;
    for (const auto& how :
         {sim::sim_program{.how = async::exited{127}, .error_output = "nft: error while loading shared libraries"},
          sim::sim_program{.how = async::exited{1}, .error_output = "netlink: Error: cache initialization failed"},
          sim::sim_program{.how = async::signalled{9}}}) {
        SCOPED_TRACE(++ttl);
        trouble = how;
        put_acl(1001, "in/b", "1", fmt::format("ip ttl {} drop", ttl));
        beat(5s);
        const auto before = loaded.size();
        trouble.reset();
        EXPECT_TRUE(within(75s, [&] {
            return loaded.size() > before &&
                   loaded.back().find(fmt::format("counter ip ttl {} drop", ttl)) != std::string::npos;
        })) << hv1.log();
    }
}

// The links of a network come later than its rules.
TEST_F(nft_loader_test, a_text_that_names_a_link_is_tried_again_after_networks_changed) {
    auto& hv1 = stage();
    bool is_there = false;
    install_nft(hv1, [&is_there, refusal = refuses("counter iif vmbr1002", "Interface does not exist")](
                         sim::sim_program& ran, const std::string& text, bool is_load) {
        return !is_there && refusal(ran, text, is_load);
    });
    put_filtered(1001);
    put_acl(1001, "in/a", "0", "iif vmbr1002 drop");
    ASSERT_TRUE(within(3s, [&] { return hv1.logged("nft says: Interface does not exist"); })) << hv1.log();
    beat(150s);
    put_filtered(1002);
    beat(5s);
    is_there = true;
    EXPECT_TRUE(within(75s, [&] { return !loaded.empty(); })) << hv1.log();
    EXPECT_NE(loaded.back().find("counter iif vmbr1002 drop"), std::string::npos);
}

// Many bad ones are found by halves, and hold up nothing else for long.
TEST_F(nft_loader_test, many_acls_that_nft_refuses_hold_up_nothing) {
    auto& hv1 = stage();
    install_nft(hv1, [refusal = refuses("counter udp length", "Could not process rule: Operation not supported")](
                         sim::sim_program& ran, const std::string& text, bool is_load) {
        ran.takes = 50ms;
        return refusal(ran, text, is_load);
    });
    put_filtered(1001);
    put_acl(1001, "in/good", "0", "ip ttl 5 drop");
    ASSERT_TRUE(within(3s, [&] { return loaded.size() == 1; }));
    for (int i = 0; i < 100; ++i) {
        put_acl(1001, fmt::format("in/bad{}", i), "1", fmt::format("udp length {} drop", i));
    }
    put_acl(1001, "in/new", "2", "ip ttl 6 drop");
    ASSERT_TRUE(within(15s, [&] { return hv1.times_logged("is left out") == 100; })) << hv1.times_logged("is left out");
    ASSERT_NE(loaded.back().find("counter ip ttl 6 drop"), std::string::npos);
    put_filtered(1002);
    ASSERT_TRUE(within(6s, [&] { return hv1.filter_table.find("vxlan1002-in") != nullptr; })) << hv1.log();
    EXPECT_LE(trials(hv1), 700U);
}

// A name that is looked up for too long is the trouble of that ACL alone.
TEST_F(nft_loader_test, a_text_over_which_the_program_hangs_is_left_out_alone) {
    auto& hv1 = stage();
    install_nft(hv1);
    hv1.programs.add([](const async::command& what) {
        const bool hangs = what.arguments[0] == "nft" && what.input.find("slow.example") != std::string::npos;
        return hangs ? std::optional(sim::sim_program{.takes = 1h}) : std::nullopt;
    });
    put_filtered(1001);
    put_acl(1001, "in/a", "0", "ip ttl 5 drop");
    put_acl(1001, "in/b", "1", "ip ttl 6 ip saddr slow.example drop");
    ASSERT_TRUE(within(45s, [&] { return hv1.times_logged("ACL in b is left out") == 1; })) << hv1.log();
    ASSERT_TRUE(within(3s, [&] {
        return !loaded.empty() && loaded.back().find("counter ip ttl 5 drop") != std::string::npos;
    })) << hv1.log();
    EXPECT_FALSE(hv1.logged("cannot be asked") || hv1.logged("ACL in a")) << hv1.log();
}

// One after the other, changes are not held up by it: it is asked once a minute.
TEST_F(nft_loader_test, a_program_that_hangs_holds_up_one_change_a_minute) {
    auto& hv1 = stage();
    hv1.programs.add({"nft"}, {.takes = 1h, .ignores_term = true});
    put_filtered(1001);
    put_acl(1001, "in/b", "1", "ip ttl 5 drop");
    beat(20s);
    for (int i = 0; i < 8; ++i) {
        put_acl(1001, fmt::format("in/c{}", i), "2", fmt::format("tcp dport {} drop", i + 1));
        EXPECT_TRUE(within(2s, [&] { return rules(hv1, "vxlan1001-in").size() == static_cast<std::size_t>(i) + 2; }))
            << i;
        beat(3s);
    }
    EXPECT_EQ(hv1.times_logged("this is over"), 0U) << hv1.log();
}

TEST_F(nft_loader_test, a_program_that_hangs_is_ended_and_holds_nobody_up) {
    auto& hv1 = stage();
    hv1.programs.add({"nft"}, {.takes = 1h, .ignores_term = true});
    put_filtered(1001);
    put_acl(1001, "in/b", "1", "ip ttl 5 drop");
    const auto beats = hv1.times_logged("keepalive");
    beat(40s);
    EXPECT_TRUE(has_all(hv1, 1001)) << hv1.log();
    EXPECT_TRUE(hv1.logged("it did not end in time")) << hv1.log();
    EXPECT_GE(hv1.times_logged("keepalive"), beats + 7);
    EXPECT_EQ(hv1.programs.running(), 0U);
}

}  // namespace
}  // namespace pvc::node
