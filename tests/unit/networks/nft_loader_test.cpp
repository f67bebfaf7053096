// What only the nft program can load: static files and ACLs with other words (networking.md 7.4, case 53; ruling 35).
// The program is simulated: it says what its rules here say, and makes a table without tags.
#include "unit/networks/firewall_fixture.hpp"

namespace pvc::node {
namespace {

class nft_loader_test : public firewall_fixture {
protected:
    // What nft does otherwise than usual with a text. False: nothing.
    using otherwise = std::function<bool(sim::sim_program& ran, const std::string& text, bool is_load)>;
    // nft, which takes every trial and every load, which then makes a table without tags.
    void install_nft(sim_node& node, otherwise does = {}) {
        node.programs.add([this, &node, does = std::move(does)](const async::command& what) {
            std::optional<sim::sim_program> ran;
            const auto& words = what.arguments;
            if (words.empty() || words[0] != "nft") {
                return ran;
            }
            ran.emplace();
            const bool is_load = words[1] == "-f";
            if (words.back() == "tables") {
                ran->output = tables;
            } else if (!does || !does(*ran, given(node, what), is_load)) {
                if (is_load) {
                    loaded.push_back(given(node, what));
                    ran->effect = [&node] { rebuild(node); };
                }
            }
            return ran;
        });
    }
    // Which does not take a text that holds `bad`.
    static otherwise refuses(std::string bad, std::string why) {
        return
            [bad = std::move(bad), why = std::move(why)](sim::sim_program& ran, const std::string& text, bool is_load) {
                if (text.find(bad) == std::string::npos) {
                    return false;
                }
                refuse(ran, text, bad, why, is_load);
                return true;
            };
    }
    // What it is to read.
    static std::string given(const sim_node& node, const async::command& what) {
        const auto found = node.host.files.find(what.arguments.back());
        return found == node.host.files.end() ? what.input : found->second;
    }
    // It names the line.
    static void refuse(sim::sim_program& ran, const std::string& text, const std::string& bad, std::string_view why,
                       bool is_load) {
        const auto line =
            1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(text.find(bad)), '\n');
        ran.how = async::exited{1};
        ran.error_output =
            fmt::format("{}:{}:1-4: Error: {}\n", is_load ? "/run/pvc/nft/loaded.nft" : "/dev/stdin", line, why);
    }
    static void rebuild(sim_node& node) {
        auto changes = anothers_table();
        changes.insert(changes.begin(), {model::make_table{}, model::delete_table{}});
        const auto done = node.filter_table.commit(changes, std::nullopt);
        EXPECT_TRUE(done && !*done);
    }
    std::size_t trials(const sim_node& node) {
        return static_cast<std::size_t>(std::ranges::count(node.programs.lines(), "nft -c -f -"));
    }

    std::string tables = "table inet filter\n";
    texts loaded;
};

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

TEST_F(nft_loader_test, words_that_only_nft_knows_are_tried_alone_and_then_all_is_loaded_at_once) {
    auto& hv1 = stage();
    install_nft(hv1, refuses("trial counter ip ttl nosuch", "syntax error, unexpected nosuch\nadd rule"));
    put_filtered(1001);
    put_acl(1001, "in/a", "0", "tcp dport 22 accept");
    ASSERT_TRUE(within(3s, [&] { return has_all(hv1, 1001, {"a"}); }));
    EXPECT_TRUE(hv1.programs.calls().empty());
    put_acl(1001, "in/b", "1", "ip ttl 5 drop");
    put_acl(1001, "in/c", "2", "ip ttl nosuch drop");
    ASSERT_TRUE(within(3s, [&] { return loaded.size() == 1; })) << hv1.log();
    EXPECT_NE(loaded[0].find("add rule inet filter vxlan1001-in counter ip ttl 5 drop\n"), std::string::npos);
    EXPECT_NE(loaded[0].find("add rule inet filter vxlan1001-in counter tcp dport 22 accept\n"), std::string::npos);
    EXPECT_EQ(loaded[0].find("ttl nosuch"), std::string::npos);
    EXPECT_EQ(hv1.times_logged("nft says: syntax error, unexpected nosuch"), 1U) << hv1.log();
    EXPECT_EQ(trials(hv1), 3U);  // both, and each
    beat(30s);
    EXPECT_EQ(loaded.size(), 1U);
    EXPECT_FALSE(hv1.logged("network-damaged")) << hv1.log();
    // Somebody changes it: loaded again, and said.
    hv1.filter_table.flush_ruleset();
    ASSERT_TRUE(within(3s, [&] { return loaded.size() == 2; }));
    EXPECT_TRUE(hv1.logged("table inet filter was gone, making it again"));
    // Without them it is this daemon's own table again.
    remove_acl(1001, "in/b");
    remove_acl(1001, "in/c");
    EXPECT_TRUE(within(3s, [&] { return has_all(hv1, 1001, {"a"}); })) << hv1.filter_table.text();
    EXPECT_EQ(loaded.size(), 2U);
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
    ASSERT_TRUE(within(5s, [&] {
        return !loaded.empty() && loaded.back().find("counter ip ttl 6 drop") != std::string::npos;
    })) << hv1.log();
    EXPECT_NE(loaded.back().find("counter ip ttl 5 drop"), std::string::npos);
    EXPECT_NE(loaded.back().find("add rule inet filter input counter\n\n\n"), std::string::npos) << "the static file";
    EXPECT_EQ(hv1.times_logged("network 1002: ACL in bad is left out"), 1U) << hv1.log();
    EXPECT_FALSE(hv1.logged("ACL in good") || hv1.logged("does not load all of it")) << hv1.log();
    beat(70s);
    EXPECT_EQ(hv1.times_logged("ACL in bad is left out"), 1U) << hv1.log();
}

TEST_F(nft_loader_test, case_53_static_files_come_first_and_their_tables_are_not_doubled) {
    auto& hv1 = add_networked();
    tables = "table ip other\n";
    hv1.host.files["/run/pvc/nft/static/mine"] =
        "add rule inet filter input counter\ntable inet extra { }\ntable ip other { }\n";
    install_nft(hv1);
    put_filtered(1001);
    start(hv1);
    // Before the networks are known, and with them.
    ASSERT_TRUE(within(3s, [&] { return loaded.size() == 2; })) << hv1.log();
    EXPECT_EQ(loaded[0].find("delete table inet extra"), std::string::npos);
    EXPECT_EQ(file(hv1, "static-tables"), "inet extra\n");
    tables = "table inet filter\ntable inet extra\ntable ip other\n";
    put_acl(1001, "in/a", "0", "tcp dport 22 accept");
    ASSERT_TRUE(within(3s, [&] { return loaded.size() == 3; })) << hv1.log();
    EXPECT_TRUE(loaded[2].starts_with("delete table inet extra\nadd table inet filter\n")) << loaded[2];
    EXPECT_EQ(loaded[2].find("delete table ip other"), std::string::npos);
    EXPECT_EQ(hv1.times_logged("table ip other of a static file was there before"), 1U) << hv1.log();
    // Somebody removes what it made: it comes back, once, and so it stays.
    loop.run_for(25s);
    ASSERT_EQ(loaded.size(), 3U) << "nothing is to be done";
    tables = "table inet filter\ntable ip other\n";
    hv1.filter_table.touch_table();
    ASSERT_TRUE(within(15s, [&] { return loaded.size() == 4; })) << hv1.log();
    EXPECT_EQ(hv1.times_logged("table inet extra of a static file was gone, making it again"), 1U) << hv1.log();
    EXPECT_NE(loaded[3].find("table inet extra { }"), std::string::npos);
    loop.run_for(1s);
    hv1.filter_table.touch_table();
    loop.run_for(25s);
    ASSERT_EQ(loaded.size(), 4U) << "it was not there behind the load either";
    tables = "table inet filter\ntable inet extra\ntable ip other\n";
    // Gone: what it made goes, and nothing else.
    hv1.host.files.erase("/run/pvc/nft/static/mine");
    EXPECT_TRUE(within(15s, [&] { return has_all(hv1, 1001, {"a"}); })) << hv1.filter_table.text();
    ASSERT_EQ(loaded.size(), 5U);
    EXPECT_EQ(loaded[4], "delete table inet extra\n");
}

// What a load does not make any more is nobody's: somebody may make a table of that name then.
TEST_F(nft_loader_test, a_table_that_no_file_makes_any_more_is_forgotten) {
    auto& hv1 = add_networked();
    hv1.host.files["/run/pvc/nft/static/mine"] = "table inet extra { }\ntable inet other { }\n";
    install_nft(hv1);
    put_filtered(1001);
    put_acl(1001, "in/a", "0", "ip ttl 5 drop");
    start(hv1);
    ASSERT_TRUE(within(3s, [&] { return loaded.size() >= 2; })) << hv1.log();
    tables = "table inet filter\ntable inet extra\ntable inet other\n";
    loop.run_for(1s);
    EXPECT_EQ(file(hv1, "static-tables"), "inet extra\ninet other\n");
    auto before = loaded.size();
    hv1.host.files["/run/pvc/nft/static/mine"] = "table inet other { }\n";
    ASSERT_TRUE(within(15s, [&] { return loaded.size() == before + 1; })) << hv1.log();
    EXPECT_TRUE(loaded.back().starts_with("delete table inet extra\ndelete table inet other\n")) << loaded.back();
    loop.run_for(1s);
    EXPECT_EQ(file(hv1, "static-tables"), "inet other\n");
    hv1.host.files.erase("/run/pvc/nft/static/mine");
    ASSERT_TRUE(within(15s, [&] { return loaded.size() == before + 2; })) << hv1.log();
    loop.run_for(1s);
    EXPECT_EQ(file(hv1, "static-tables"), "\n");
    put_acl(1001, "in/b", "0", "ip ttl 6 drop");
    ASSERT_TRUE(within(3s, [&] { return loaded.back().find("ip ttl 6") != std::string::npos; })) << hv1.log();
    EXPECT_EQ(loaded.back().find("delete table inet extra"), std::string::npos) << loaded.back();
    EXPECT_EQ(loaded.back().find("delete table inet other"), std::string::npos) << loaded.back();
}

// nft takes it in dry runs, and cannot load all of it: whatever it says, the others and the ACLs are in force.
TEST_F(nft_loader_test, a_file_over_which_only_the_load_fails_is_left_out_alone) {
    enum class way : std::uint8_t { no_line, line, hangs };
    for (const auto how : {way::no_line, way::line, way::hangs}) {
        auto& hv1 = add_networked();
        hv1.host.files["/run/pvc/nft/static/1-good"] = "table inet good1 { }\n";
        hv1.host.files["/run/pvc/nft/static/2-bad"] = "table inet bad { }\n";
        hv1.host.files["/run/pvc/nft/static/3-good"] = "table inet good3 { }\n";
        loaded.clear();
        int failed = 0;
        install_nft(hv1, [&](sim::sim_program& ran, const std::string& text, bool is_load) {
            if (!is_load || text.find("inet bad") == std::string::npos) {
                return false;
            }
            ++failed;
            if (how == way::line) {
                refuse(ran, text, "table inet bad", "Too many links", true);
            } else if (how == way::hangs) {
                ran.takes = 60s;
            } else {
                ran.how = async::exited{1};
                ran.error_output = "netlink: Error: Operation not supported\n";
            }
            return true;
        });
        put_filtered(1001);
        put_acl(1001, "in/a", "0", "ip ttl 5 drop");
        start(hv1);
        ASSERT_TRUE(within(75s,
                           [&] {
                               return !loaded.empty() && loaded.back().find("ip ttl 5") != std::string::npos &&
                                      loaded.back().find("inet good1") != std::string::npos &&
                                      loaded.back().find("inet good3") != std::string::npos;
                           }))
            << static_cast<int>(how) << hv1.log();
        EXPECT_TRUE(within(3s, [&] { return hv1.times_logged("static file 2-bad: ") == 1; })) << hv1.log();
        EXPECT_FALSE(hv1.logged("static file 1-good") || hv1.logged("static file 3-good")) << hv1.log();
        EXPECT_FALSE(hv1.logged("nft does not load all of it")) << hv1.log();
        // Asked again each minute, which changes nothing of what is in force; one that hangs not as often.
        const auto before = loaded.size();
        failed = 0;
        loop.run_for(200s);
        EXPECT_EQ(loaded.size(), before) << static_cast<int>(how) << hv1.log();
        EXPECT_EQ(failed == 0, how == way::hangs) << failed;
        EXPECT_LE(failed, 4);
        nodes.pop_back();
    }
}

// A kernel that refuses everything is no fault of a file.
TEST_F(nft_loader_test, who_cannot_load_anything_blames_no_file) {
    auto& hv1 = add_networked();
    hv1.host.files["/run/pvc/nft/static/1"] = "table inet one { }\n";
    hv1.host.files["/run/pvc/nft/static/2"] = "table inet two { }\n";
    bool is_refused = true;
    install_nft(hv1, [&](sim::sim_program& ran, const std::string&, bool is_load) {
        if (!is_load || !is_refused) {
            return false;
        }
        ran.how = async::exited{1};
        ran.error_output = "netlink: Error: Operation not permitted\n";
        return true;
    });
    put_filtered(1001);
    put_acl(1001, "in/a", "0", "ip ttl 5 drop");
    start(hv1);
    ASSERT_TRUE(within(15s, [&] { return hv1.logged("nft does not load all of it: Operation not permitted"); }))
        << hv1.log();
    loop.run_for(5s);
    is_refused = false;
    ASSERT_TRUE(within(75s, [&] {
        return !loaded.empty() && loaded.back().find("inet one") != std::string::npos &&
               loaded.back().find("inet two") != std::string::npos;
    })) << hv1.log();
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
        for (int i = 0; i < 40 && !loaded.empty(); ++i) {
            all += loaded.back().find(fmt::format("counter ip ttl {} ", i)) != std::string::npos ? 1U : 0U;
        }
        return all;
    };
    ASSERT_TRUE(within(120s, [&] { return in_force() == 36; })) << in_force() << hv1.log();
    loop.run_for(100s);
    EXPECT_EQ(in_force(), 36U);
    EXPECT_EQ(hv1.times_logged("is left out"), 4U) << hv1.log();
    EXPECT_FALSE(hv1.logged("somebody changed")) << hv1.log();
}

// The good ones are loaded with what the networks want, the bad one is named with its line.
TEST_F(nft_loader_test, a_static_file_that_nft_does_not_take_is_left_out_alone_and_tried_again) {
    auto& hv1 = add_networked();
    hv1.host.files["/run/pvc/nft/static/1-good"] = "add rule inet filter input counter\n";
    hv1.host.files["/run/pvc/nft/static/2-bad"] = "# a comment\nnosuch\n";
    hv1.host.files["/run/pvc/nft/static/3-flush"] = "flush ruleset\n";
    bool is_taken = false;
    install_nft(hv1, [&is_taken, refusal = refuses("nosuch\n", "syntax error, unexpected nosuch")](
                         sim::sim_program& ran, const std::string& text, bool is_load) {
        return !is_taken && refusal(ran, text, is_load);
    });
    put_filtered(1001);
    put_acl(1001, "in/a", "0", "ip ttl 5 drop");
    start(hv1);
    ASSERT_TRUE(within(3s, [&] {
        return !loaded.empty() && loaded.back().find("counter ip ttl 5 drop") != std::string::npos;
    })) << hv1.log();
    EXPECT_NE(loaded.back().find("add rule inet filter input counter\n\n\n"), std::string::npos);
    EXPECT_EQ(loaded.back().find("nosuch"), std::string::npos);
    EXPECT_EQ(loaded.back().find("flush ruleset"), std::string::npos);
    EXPECT_EQ(hv1.times_logged("static file 2-bad: line 2: syntax error, unexpected nosuch, it is left out"), 1U)
        << hv1.log();
    EXPECT_EQ(hv1.times_logged("static file 3-flush: \"flush ruleset\" would remove the tables of others"), 1U);
    EXPECT_FALSE(hv1.logged("ACL in a")) << hv1.log();
    const auto before = loaded.size();
    is_taken = true;
    ASSERT_TRUE(within(75s, [&] { return loaded.size() > before; }));
    EXPECT_NE(loaded.back().find("# a comment\nnosuch\n"), std::string::npos);
    EXPECT_TRUE(within(3s, [&] { return hv1.times_logged("this is over: firewall: static file 2-bad") == 1; }))
        << hv1.log();
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
    ASSERT_TRUE(within(5s, [&] { return loaded.size() == 4; })) << hv1.log();
    beat(60s);
    EXPECT_EQ(loaded.size(), 4U) << "three more, as a small table is soon right";
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
    const auto before = hv1.filter_table.state().chains;
    rebuild(hv1);
    ASSERT_EQ(hv1.filter_table.state().chains, before);
    EXPECT_TRUE(within(3s, [&] { return loaded.size() == 2; })) << hv1.filter_table.text();
}

// A rule in the place of another keeps its handle.
TEST_F(nft_loader_test, a_rule_that_somebody_replaced_is_noticed) {
    auto& hv1 = stage();
    install_nft(hv1);
    put_filtered(1001);
    put_acl(1001, "in/b", "1", "ip ttl 5 drop");
    ASSERT_TRUE(within(3s, [&] { return loaded.size() == 1; })) << hv1.log();
    beat(1s);
    hv1.filter_table.replace_rule("vxlan9-in", {{model::count_packet{}, model::give_verdict{}}, ""});
    EXPECT_TRUE(within(3s, [&] { return loaded.size() == 2; })) << hv1.filter_table.text();
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

// Files that static files include count as theirs: noted before they are made, and looked at before they flush all.
TEST_F(nft_loader_test, what_included_files_make_is_known_before_it_is_loaded) {
    auto& hv1 = add_networked();
    hv1.host.files["/run/pvc/nft/static/mine"] = "include \"/etc/more.nft\"\n";
    hv1.host.files["/run/pvc/nft/static/others"] = "include \"/etc/nftables.conf\"\n";
    hv1.host.files["/etc/more.nft"] = "table inet included { }\ninclude \"deep.nft\"\n";
    hv1.host.files["/etc/deep.nft"] = "table ip deep { }\n";
    hv1.host.files["/etc/nftables.conf"] = "flush ruleset\n";
    std::string noted;
    install_nft(hv1, [&hv1, &noted](sim::sim_program& /*ran*/, const std::string& /*text*/, bool is_load) {
        noted = is_load ? file(hv1, "static-tables") : noted;
        return false;
    });
    put_filtered(1001);
    start(hv1);
    ASSERT_TRUE(within(3s, [&] { return !loaded.empty(); })) << hv1.log();
    EXPECT_EQ(noted, "inet included\nip deep\n");
    EXPECT_EQ(loaded.back().find("nftables.conf"), std::string::npos);
    EXPECT_TRUE(hv1.logged("static file others: \"flush ruleset\" would remove")) << hv1.log();
    // It is read again before each load.
    hv1.host.files["/etc/deep.nft"] = "flush ruleset\n";
    put_acl(1001, "in/a", "0", "ip ttl 5 drop");
    ASSERT_TRUE(within(3s, [&] { return hv1.logged("static file mine: \"flush ruleset\" would remove"); }))
        << hv1.log();
    EXPECT_EQ(loaded.back().find("more.nft"), std::string::npos);
}

// What is asked about another boot's tables, or about one that was never made, is not this daemon's.
TEST_F(nft_loader_test, a_table_that_was_not_made_is_not_taken_for_an_own_one_later) {
    auto& hv1 = add_networked();
    hv1.host.files["/run/pvc/nft/static/mine"] = "table inet extra { }\n";
    bool is_refused = true;
    install_nft(hv1, [&is_refused](sim::sim_program& ran, const std::string& text, bool is_load) {
        if (is_load && is_refused) {
            refuse(ran, text, "table inet extra", "Could not process rule: Device or resource busy", is_load);
        }
        return is_load && is_refused;
    });
    put_filtered(1001);
    start(hv1);
    ASSERT_TRUE(within(3s, [&] { return hv1.logged("static file mine: line 1: Could not process rule"); }))
        << hv1.log();
    EXPECT_EQ(file(hv1, "static-tables"), "\n");
    tables = "table inet filter\ntable inet extra\n";  // somebody's
    is_refused = false;
    hv1.host.files.erase("/run/pvc/nft/static/mine");
    beat(30s);
    EXPECT_TRUE(has_all(hv1, 1001)) << hv1.log();
    EXPECT_TRUE(loaded.empty());
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
    ASSERT_TRUE(within(6s, [&] { return loaded.back().find("vxlan1002-in") != std::string::npos; })) << hv1.log();
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
