// Static files, which the nft program loads with all the rest (networking.md 7.2, 7.4, case 53; ruling 35).
#include "unit/networks/nft_fixture.hpp"

namespace pvc::node {
namespace {

class static_files_test : public nft_fixture {
protected:
    // What was loaded as a whole last.
    std::string last_whole() const {
        const auto found = std::find_if(loaded.rbegin(), loaded.rend(), [](const std::string& one) {
            return one.find("add table inet filter\n") != std::string::npos;
        });
        return found == loaded.rend() ? "" : *found;
    }
};

TEST_F(static_files_test, case_53_static_files_come_first_and_their_tables_are_not_doubled) {
    auto& hv1 = add_networked();
    tables = "table ip other\n";
    hv1.host.files["/run/pvc/nft/static/mine"] =
        "add rule inet filter input counter\ntable inet extra { }\ntable ip other { }\n";
    install_nft(hv1);
    put_filtered(1001);
    start(hv1);
    // Before the networks are known; they come beside it.
    ASSERT_TRUE(within(3s, [&] { return has_all(hv1, 1001); })) << hv1.log();
    ASSERT_EQ(loaded.size(), 1U);
    EXPECT_EQ(loaded[0].find("delete table inet extra"), std::string::npos);
    EXPECT_EQ(file(hv1, "static-tables"), "inet extra\n");
    tables = "table inet filter\ntable inet extra\ntable ip other\n";
    put_acl(1001, "in/a", "0", "tcp dport 22 accept");
    ASSERT_TRUE(within(3s, [&] { return has_all(hv1, 1001, {"a"}); })) << hv1.log();
    ASSERT_EQ(loaded.size(), 1U);
    hv1.filter_table.flush_ruleset();
    ASSERT_TRUE(within(3s, [&] { return loaded.size() == 2; })) << hv1.log();
    EXPECT_TRUE(loaded[1].starts_with("delete table inet extra\nadd table inet filter\n")) << loaded[1];
    EXPECT_EQ(loaded[1].find("delete table ip other"), std::string::npos);
    EXPECT_EQ(hv1.times_logged("table ip other of a static file was there before"), 1U) << hv1.log();
    // Somebody removes what it made: it comes back, once, and so it stays.
    loop.run_for(25s);
    ASSERT_EQ(loaded.size(), 2U) << "nothing is to be done";
    tables = "table inet filter\ntable ip other\n";
    hv1.filter_table.touch_table();
    ASSERT_TRUE(within(15s, [&] { return loaded.size() == 3; })) << hv1.log();
    EXPECT_EQ(hv1.times_logged("table inet extra of a static file was gone, making it again"), 1U) << hv1.log();
    EXPECT_NE(loaded[2].find("table inet extra { }"), std::string::npos);
    loop.run_for(1s);
    hv1.filter_table.touch_table();
    loop.run_for(25s);
    ASSERT_EQ(loaded.size(), 3U) << "it was not there behind the load either";
    tables = "table inet filter\ntable inet extra\ntable ip other\n";
    // Gone: what it made goes, and nothing else. Sets of it that the table holds are not seen: it is made anew.
    const auto number = hv1.filter_table.state().table;
    hv1.host.files.erase("/run/pvc/nft/static/mine");
    EXPECT_TRUE(within(15s, [&] { return has_all(hv1, 1001, {"a"}); })) << hv1.filter_table.text();
    ASSERT_EQ(loaded.size(), 4U);
    EXPECT_EQ(loaded[3], "delete table inet extra\n");
    EXPECT_NE(hv1.filter_table.state().table, number);
}

// What a load does not make any more is nobody's: somebody may make a table of that name then.
TEST_F(static_files_test, a_table_that_no_file_makes_any_more_is_forgotten) {
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
TEST_F(static_files_test, a_file_over_which_only_the_load_fails_is_left_out_alone) {
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
                               return said(hv1, "vxlan1001-in").size() == 2 &&
                                      last_whole().find("inet good1") != std::string::npos &&
                                      last_whole().find("inet good3") != std::string::npos;
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

// One load that hangs, or that nobody explains, takes no file out for ever, also where no ACL needs nft.
TEST_F(static_files_test, files_that_were_loaded_come_back_after_a_load_that_failed) {
    auto& hv1 = add_networked();
    hv1.host.files["/run/pvc/nft/static/mine"] = "add rule inet filter input counter\n";
    int failing = 0;
    install_nft(hv1, [&](sim::sim_program& ran, const std::string&, bool is_load) {
        if (!is_load || failing == 0) {
            return false;
        }
        --failing;
        ran.how = async::exited{1};
        ran.error_output = "netlink: Error: Operation not permitted\n";
        return true;
    });
    put_filtered(1001);
    start(hv1);
    const auto has_file = [&] {
        const auto rules = said(hv1, "input");
        return rules.size() == 10 && rules.front() == "counter";
    };
    ASSERT_TRUE(within(3s, has_file)) << hv1.log();
    for (const int times : {1, 2, 3}) {
        failing = times;
        hv1.filter_table.flush_ruleset();
        EXPECT_TRUE(within(200s, has_file)) << times << hv1.filter_table.text();
        beat(30s);
        EXPECT_TRUE(has_file()) << times << hv1.filter_table.text();
    }
}

// What is in force stays while nft cannot be asked, whatever becomes of the files meanwhile.
TEST_F(static_files_test, files_that_change_while_nft_is_in_trouble_wait_for_it) {
    auto& hv1 = add_networked();
    tables = "table inet filter\n";
    hv1.host.files["/run/pvc/nft/static/1-mine"] = "add chain inet filter own\nadd rule inet filter input counter\n";
    hv1.host.files["/run/pvc/nft/static/2-wrong"] = "nosuch\n";
    install_nft(hv1, refuses("nosuch\n", "syntax error, unexpected nosuch"));
    bool is_broken = false;
    hv1.programs.add([&is_broken](const async::command& what) {
        return is_broken && what.arguments[0] == "nft" ? std::optional(sim::sim_program{.how = async::exited{127}})
                                                       : std::nullopt;
    });
    put_filtered(1001);
    put_acl(1001, "in/a", "0", "jump own");
    put_acl(1001, "in/b", "1", "ip ttl 5 drop");
    start(hv1);
    ASSERT_TRUE(within(3s, [&] { return said(hv1, "vxlan1001-in").size() == 3; })) << hv1.log();
    beat(5s);
    const auto before = hv1.filter_table.find("input")->rules;
    const auto number = hv1.filter_table.state().table;
    is_broken = true;
    beat(150s);  // the wrong one is looked at again
    hv1.host.files["/run/pvc/nft/static/1-mine"] += "add rule inet filter input counter drop\n";
    beat(30s);
    // An order that is changed: those that nft would have to make again are left out, and no others.
    put_acl(1001, "in/b", "0", "ip ttl 5 drop");
    put_acl(1001, "in/a", "1", "jump own");
    put_acl(1001, "in/c", "2", "drop");
    ASSERT_TRUE(within(3s, [&] { return said(hv1, "vxlan1001-in").back() == "1001 in c"; })) << hv1.log();
    beat(5s);
    EXPECT_EQ(said(hv1, "vxlan1001-in").size(), 3U) << hv1.filter_table.text();
    EXPECT_EQ(hv1.filter_table.find("input")->rules, before) << hv1.filter_table.text();
    EXPECT_EQ(hv1.filter_table.state().table, number);
    is_broken = false;
    ASSERT_TRUE(within(80s, [&] { return said(hv1, "input").size() == 11 && said(hv1, "vxlan1001-in").size() == 4; }))
        << hv1.filter_table.text();
    EXPECT_EQ(said(hv1, "vxlan1001-in")[1], "counter ip ttl 5 drop");
    EXPECT_FALSE(hv1.logged("somebody changed")) << hv1.log();
}

// A kernel that refuses everything is no fault of a file.
TEST_F(static_files_test, who_cannot_load_anything_blames_no_file) {
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

// The good ones are loaded with what the networks want, the bad one is named with its line.
TEST_F(static_files_test, a_static_file_that_nft_does_not_take_is_left_out_alone_and_tried_again) {
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
    EXPECT_NE(last_whole().find("add rule inet filter input counter\n\n\n"), std::string::npos);
    EXPECT_EQ(last_whole().find("nosuch"), std::string::npos);
    EXPECT_EQ(last_whole().find("flush ruleset"), std::string::npos);
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

// Files that static files include count as theirs: noted before they are made, and looked at before they flush all.
TEST_F(static_files_test, what_included_files_make_is_known_before_it_is_loaded) {
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
    // They are looked at as often: what they say now is loaded.
    const auto loads = loaded.size();
    hv1.host.files["/etc/deep.nft"] = "table ip deeper { }\n";
    ASSERT_TRUE(within(15s, [&] { return loaded.size() == loads + 1; })) << hv1.log();
    EXPECT_EQ(noted, "inet included\nip deeper\n");
    loop.run_for(30s);
    ASSERT_EQ(loaded.size(), loads + 1);
    put_acl(1001, "in/a", "0", "ip ttl 5 drop");
    ASSERT_TRUE(within(3s, [&] { return said(hv1, "vxlan1001-in").size() == 2; })) << hv1.log();
    hv1.host.files["/etc/deep.nft"] = "flush ruleset\n";
    ASSERT_TRUE(within(15s, [&] { return hv1.logged("static file mine: \"flush ruleset\" would remove"); }))
        << hv1.log();
    EXPECT_TRUE(within(3s, [&] { return last_whole().find("more.nft") == std::string::npos; })) << hv1.log();
}

// Before nft sees any of it.
TEST_F(static_files_test, files_that_cannot_be_looked_at_are_left_out_alone) {
    auto& hv1 = add_networked();
    auto& files = hv1.host.files;
    constexpr std::size_t most = 64 * 1024;
    files["/run/pvc/nft/static/1-good"] = "table inet good1 { }\n" + std::string(most - 21, '#');
    files["/run/pvc/nft/static/2-large"] = "table inet large { }\n" + std::string(most - 20, '#');
    files["/run/pvc/nft/static/3-nul"] = std::string("table inet nul { }\n\0", 20);
    // The deepest that is read, and one more.
    for (const auto* name : {"deep", "deeper"}) {
        files[std::string("/run/pvc/nft/static/4-") + name] = std::string("include \"/etc/") + name + "1\"\n";
    }
    for (const int at : {1, 2, 3, 4}) {
        const auto next = std::to_string(at + 1);
        files["/etc/deep" + std::to_string(at)] = at < 4 ? "include \"/etc/deep" + next + "\"\n" : "# the last\n";
        files["/etc/deeper" + std::to_string(at)] = "include \"/etc/deeper" + next + "\"\n";
    }
    files["/etc/deeper5"] = "table inet deeper { }\n";
    files["/run/pvc/nft/static/5-gone"] = "include \"/etc/gone\"\n";
    files["/run/pvc/nft/static/6-good"] = "table inet good6 { }\n";
    install_nft(hv1);
    put_filtered(1001);
    start(hv1);
    ASSERT_TRUE(within(5s, [&] { return has_all(hv1, 1001) && !last_whole().empty(); })) << hv1.log();
    for (const auto* taken : {"inet good1", "/etc/deep1", "inet good6"}) {
        EXPECT_NE(last_whole().find(taken), std::string::npos) << taken;
    }
    for (const auto* left_out : {"inet large", "inet nul", "/etc/deeper", "/etc/gone"}) {
        EXPECT_EQ(last_whole().find(left_out), std::string::npos) << left_out;
    }
    EXPECT_TRUE(within(3s, [&] { return hv1.times_logged("static file 2-large: ") == 1; })) << hv1.log();
    EXPECT_EQ(hv1.times_logged("static file 3-nul: expected text, it holds a NUL byte"), 1U) << hv1.log();
    EXPECT_EQ(hv1.times_logged("static file 4-deeper: its includes are more than 4 deep"), 1U) << hv1.log();
    EXPECT_EQ(hv1.times_logged("static file 5-gone: include \"/etc/gone\": "), 1U) << hv1.log();
    EXPECT_EQ(hv1.times_logged("static file "), 4U) << hv1.log();
}

TEST_F(static_files_test, files_that_cannot_be_listed_stay_in_force_and_that_is_told) {
    auto& hv1 = add_networked();
    const std::string folder = "/run/pvc/nft/static";
    hv1.host.files[folder + "/mine"] = "table inet extra { }\n";
    install_nft(hv1);
    put_filtered(1001);
    start(hv1);
    ASSERT_TRUE(within(5s, [&] { return has_all(hv1, 1001) && !last_whole().empty(); })) << hv1.log();
    tables = "table inet filter\ntable inet extra\n";
    loop.run_for(15s);
    const auto loads = loaded.size();
    hv1.host.broken[folder] = failure(errc::io, folder, "Input/output error");
    loop.run_for(60s);
    EXPECT_EQ(loaded.size(), loads) << "nothing is taken for gone";
    EXPECT_EQ(hv1.times_logged("static files cannot be listed: "), 1U) << hv1.log();
    hv1.host.broken.clear();
    loop.run_for(15s);
    EXPECT_EQ(hv1.times_logged("this is over: firewall: static files cannot be listed: "), 1U) << hv1.log();
    EXPECT_EQ(loaded.size(), loads);
}

// What is asked about another boot's tables, or about one that was never made, is not this daemon's.
TEST_F(static_files_test, a_table_that_was_not_made_is_not_taken_for_an_own_one_later) {
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

}  // namespace
}  // namespace pvc::node
