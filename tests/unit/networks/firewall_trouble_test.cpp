// The firewall where the kernel refuses, hangs and conflicts, where others change tables, where files cannot be
// written, and around the start of the daemon (networking.md 7.2, 7.3, case 54).
#include "unit/networks/firewall_fixture.hpp"

namespace pvc::node {
namespace {

class firewall_trouble : public firewall_fixture {
protected:
    // It runs, with a network and an ACL.
    sim_node& stage_filtered() {
        auto& hv1 = stage();
        put_filtered(1001);
        put_acl(1001, "in/a", "0", "drop");
        EXPECT_TRUE(within(2s, [&] { return has_all(hv1, 1001, {"a"}); }));
        beat(2s);
        return hv1;
    }
};

TEST_F(firewall_trouble, case_54_an_acl_that_the_kernel_refuses_is_isolated) {
    auto& hv1 = stage();
    hv1.filter.refuses_if = adds("1001 in odd");
    put_filtered(1001);
    put_acl(1001, "in/a", "0", "accept");
    put_acl(1001, "in/odd", "1", "tcp dport 1 accept");
    put_acl(1001, "in/z", "2", "drop");
    ASSERT_TRUE(within(2s, [&] { return has_all(hv1, 1001, {"a", "z"}); })) << hv1.filter_table.text();
    loop.run_for(1s);
    EXPECT_EQ(hv1.times_logged("ACL in odd is left out: the kernel refuses it: Invalid argument"), 1U) << hv1.log();
    EXPECT_NE(file(hv1, "networks/1001.nft").find("# left out: in odd: the kernel refuses it"), std::string::npos);
    // What others change does not bring it back, another text does.
    hv1.filter.refuses_if = nullptr;
    const auto calls = commits(hv1);
    put_acl(1001, "in/b", "1", "accept");
    ASSERT_TRUE(within(1s, [&] { return has_all(hv1, 1001, {"a", "b", "z"}); }));
    EXPECT_EQ(commits(hv1), calls + 1);
    change(1001, {{"/firewall_rules/in/odd/rule", "tcp dport 2 accept"}});
    EXPECT_TRUE(within(1s, [&] { return has_all(hv1, 1001, {"a", "b", "odd", "z"}); }));
}

TEST_F(firewall_trouble, case_54_whichever_change_is_refused_the_others_are_done) {
    auto& hv1 = stage();
    std::size_t isolated = 0;
    for (std::size_t n = 0; n < 20; ++n) {
        const int vni = 1001 + static_cast<int>(n);
        hv1.filter.refuses = n;
        put_filtered(vni);
        put_acl(vni, "in/a", "0", "accept");
        put_acl(vni, "in/b", "1", "drop");
        const auto is_there = [&] {
            return has_all(hv1, vni, {"a", "b"}) || has_all(hv1, vni, {"a"}) || has_all(hv1, vni, {"b"});
        };
        ASSERT_TRUE(within(2s, is_there)) << n << ": " << hv1.filter_table.text();
        beat(1s);
        isolated += has_all(hv1, vni, {"a", "b"}) ? 0 : 1;
        hv1.filter.refuses.reset();
    }
    EXPECT_EQ(isolated, 2U);
    for (int vni = 1001; vni < 1021; ++vni) {
        EXPECT_TRUE(has_all(hv1, vni, {"a", "b"}) || has_all(hv1, vni, {"a"}) || has_all(hv1, vni, {"b"})) << vni;
    }
    EXPECT_FALSE(hv1.logged("[network-firewall]")) << hv1.log();
}

TEST_F(firewall_trouble, case_54_many_acls_that_the_kernel_refuses_are_isolated_one_after_the_other) {
    auto& hv1 = stage();
    hv1.filter.refuses_if = adds("1001 in odd");
    put_filtered(1001);
    for (int n = 0; n < 30; ++n) {
        put_acl(1001, fmt::format("in/odd{}", n), "0", "accept");
    }
    put_acl(1001, "in/z", "2", "drop");
    EXPECT_TRUE(within(5s, [&] { return has_all(hv1, 1001, {"z"}); })) << hv1.filter_table.text();
    EXPECT_LE(commits(hv1), 35U);
}

TEST_F(firewall_trouble, case_54_one_of_the_daemons_own_rules_is_refused_for_ever) {
    auto& hv1 = stage_filtered();
    const auto before = hv1.filter_table.text();
    hv1.filter.refuses_if = adds("1002 = ntp");
    const auto calls = commits(hv1);
    put_filtered(1002);
    beat(1s);
    // As it is, once with a table made anew, and then with pauses.
    EXPECT_EQ(commits(hv1), calls + 2);
    EXPECT_TRUE(hv1.filter.calls.back().starts_with("commit ")) << hv1.filter.calls.back();
    EXPECT_EQ(hv1.times_logged("firewall: the kernel refuses change "), 1U) << hv1.log();
    beat(60s);
    EXPECT_LE(commits(hv1), calls + 8);
    EXPECT_GE(commits(hv1), calls + 6);
    EXPECT_EQ(hv1.times_logged("[network-firewall]"), 1U);
    EXPECT_EQ(hv1.filter_table.text(), before);
    hv1.filter.refuses_if = nullptr;
    EXPECT_TRUE(within(31s, [&] { return has_all(hv1, 1002) && has_all(hv1, 1001, {"a"}); }));
    EXPECT_TRUE(within(1s, [&] { return hv1.logged("this is over: firewall: the kernel refuses change"); }));
}

TEST_F(firewall_trouble, conflicts_are_met_with_another_look_three_times_and_then_with_a_pause) {
    auto& hv1 = stage_filtered();
    hv1.filter.conflicts = 3;
    put_acl(1001, "in/b", "1", "accept");
    EXPECT_TRUE(within(900ms, [&] { return has_all(hv1, 1001, {"a", "b"}); }));
    EXPECT_FALSE(hv1.logged("[network-firewall]"));
    beat(1s);
    hv1.filter.conflicts = 1000;
    const auto calls = commits(hv1);
    put_acl(1001, "in/c", "2", "accept");
    beat(800ms);
    EXPECT_EQ(commits(hv1), calls + 4);
    EXPECT_EQ(hv1.times_logged("firewall: it cannot be changed: "), 1U) << hv1.log();
    beat(30s);
    EXPECT_LE(commits(hv1), calls + 6 * 4);
    hv1.filter.conflicts = 0;
    EXPECT_TRUE(within(31s, [&] { return has_all(hv1, 1001, {"a", "b", "c"}); }));
}

TEST_F(firewall_trouble, a_batch_without_an_answer_is_looked_for) {
    auto& hv1 = stage_filtered();
    using unanswered = sim::sim_packet_filter::unanswered;
    int order = 1;
    for (const auto how : {unanswered::done, unanswered::not_done}) {
        const auto from = loop.clock().now();
        hv1.filter.next_unanswered = how;
        put_acl(1001, "in/b", std::to_string(order), order == 1 ? "accept" : "tcp dport 5 accept");
        beat(15s);
        EXPECT_TRUE(has_all(hv1, 1001, {"a", "b"})) << hv1.filter_table.text();
        EXPECT_EQ(hv1.times_logged("firewall: it cannot be changed: "), static_cast<std::size_t>(2 * order++));
        EXPECT_LE(beat_gaps("hv1", from).front(), 5.2);
    }
    EXPECT_FALSE(hv1.logged("network-damaged")) << hv1.log();
}

TEST_F(firewall_trouble, a_kernel_that_hangs_delays_no_heartbeat) {
    auto& hv1 = stage_filtered();
    const auto from = loop.clock().now();
    hv1.filter.hang();
    put_acl(1001, "in/b", "1", "accept");
    beat(40s);
    EXPECT_EQ(hv1.times_logged("firewall: it cannot be looked at: "), 1U) << hv1.log();
    EXPECT_TRUE(
        hv1.logged(": what is in force stays, and a kernel without nf_tables filters no guest of a client "
                   "network, trying again"));
    EXPECT_LE(beat_gaps("hv1", from).front(), 5.2);
    hv1.filter.end_hang();
    EXPECT_TRUE(within(31s, [&] { return has_all(hv1, 1001, {"a", "b"}); }));
}

TEST_F(firewall_trouble, looks_that_fail_are_tried_again) {
    auto& hv1 = stage_filtered();
    hv1.filter.torn_looks = 3;
    put_acl(1001, "in/b", "1", "accept");
    EXPECT_TRUE(within(8s, [&] { return has_all(hv1, 1001, {"a", "b"}); }));
    hv1.filter.broken.insert_or_assign("look", failure(errc::io, "look", "refused"));
    put_acl(1001, "in/c", "2", "accept");
    const auto looks = hv1.filter.looks;
    beat(60s);
    EXPECT_LE(hv1.filter.looks, looks + 8);
    hv1.filter.broken.clear();
    EXPECT_TRUE(within(31s, [&] { return has_all(hv1, 1001, {"a", "b", "c"}); }));
}

TEST_F(firewall_trouble, who_does_it_all_the_time_is_told_of_once_a_minute) {
    auto& hv1 = stage_filtered();
    for (int time = 0; time < 120; ++time) {
        hv1.filter_table.flush_ruleset();
        ASSERT_TRUE(within(1s, [&] { return has_all(hv1, 1001, {"a"}); }));
        beat(500ms);
    }
    EXPECT_LE(hv1.times_logged("[network-damaged]"), 3U);
    beat(60s);
    hv1.filter_table.flush_ruleset();
    beat(1s);
    EXPECT_EQ(hv1.times_logged("times more since this was said last) [network-damaged]"),
              hv1.times_logged("[network-damaged]") - 1)
        << hv1.log();
}

// What the disk had is looked at, not what was written once.
TEST_F(firewall_trouble, files_that_somebody_removed_come_back) {
    auto& hv1 = stage_filtered();
    const auto has_files = [&] {
        return file(hv1, "base.nft") != "missing" && file(hv1, "networks/1001.nft") != "missing";
    };
    ASSERT_TRUE(within(2s, has_files));
    for (const auto* name : {"base.nft", "networks/1001.nft"}) {
        hv1.host.files.erase(std::string("/run/pvc/nft/") + name);
    }
    EXPECT_TRUE(within(31s, has_files));
    // With other rules at once, and no file is written that is there.
    hv1.host.files.erase("/run/pvc/nft/base.nft");
    put_acl(1001, "in/b", "1", "drop");
    EXPECT_TRUE(within(2s, has_files));
}

// A symbolic link, say: the simulated machine has a file in its place.
TEST_F(firewall_trouble, files_are_not_written_where_a_link_leads) {
    auto& hv1 = stage();
    put_filtered(1001);
    ASSERT_TRUE(within(2s, [&] { return file(hv1, "networks/1001.nft") != "missing"; }));
    hv1.host.files["/run/pvc/nft/networks/7.nft"] = "theirs";
    hv1.host.files["/run/pvc/nft/networks"] = "elsewhere";
    hv1.host.directories.erase("/run/pvc/nft/networks");
    put_filtered(1002);
    EXPECT_TRUE(within(2s, [&] { return has_all(hv1, 1002); })) << "the kernel's table waits for no file";
    beat(120s);
    EXPECT_EQ(hv1.times_logged("/run/pvc/nft/networks: refused: it is no directory (a symbolic link is none)"), 1U)
        << hv1.log();
    EXPECT_EQ(file(hv1, "networks/7.nft"), "theirs");
    EXPECT_EQ(file(hv1, "networks/1002.nft"), "missing");
    hv1.host.files.erase("/run/pvc/nft/networks");
    EXPECT_TRUE(within(35s, [&] { return file(hv1, "networks/1002.nft") != "missing"; }));
    EXPECT_EQ(file(hv1, "networks/7.nft"), "missing") << "now it is the daemon's own";
}

TEST_F(firewall_trouble, the_hosts_own_firewall_is_kept_aside_before_it_is_replaced) {
    auto& hv1 = add_networked();
    const std::string path = "/var/lib/pvc/nftables-before";
    hv1.filter_table.load_host_rules();
    int rules_of_host = 1;
    hv1.programs.add([&](const async::command& what) {
        std::optional<sim::sim_program> ran;
        if (what.arguments == texts{"nft", "list", "table", "inet", "filter"}) {
            EXPECT_TRUE(hv1.filter_table.has_host_rules());
            ran.emplace().output = fmt::format("table inet filter {{ tcp dport {}\n}}\n", rules_of_host);
        }
        return ran;
    });
    hv1.filter.on_batch = [&] { EXPECT_TRUE(hv1.host.files.contains(path)); };
    start(hv1);
    ASSERT_TRUE(within(5s, [&] { return !hv1.filter_table.has_host_rules(); }));
    const auto kept = hv1.host.files[path];
    EXPECT_TRUE(kept.ends_with("\ntable inet filter { tcp dport 1\n}\n")) << kept;
    EXPECT_TRUE(kept.starts_with("# ")) << kept;
    EXPECT_EQ(hv1.times_logged("firewall: table inet filter of this host has chain input, chain output: all of it is "
                               "replaced by what client networks need, and what the host had is kept in " +
                               path + "; put rules of the host into a table of another name [network-firewall]"),
              1U)
        << hv1.log();
    // The same another time is only put right: what was first stays, and is not said over and over.
    rules_of_host = 1;
    hv1.filter_table.load_host_rules();
    ASSERT_TRUE(within(5s, [&] { return !hv1.filter_table.has_host_rules(); }));
    beat(1s);
    EXPECT_EQ(hv1.host.files[path], kept);
    EXPECT_EQ(hv1.times_logged("table inet filter of this host has"), 1U);
    // Another one is kept, too, and said at once.
    rules_of_host = 2;
    hv1.filter_table.load_host_rules();
    ASSERT_TRUE(within(5s, [&] { return !hv1.filter_table.has_host_rules(); }));
    beat(1s);
    EXPECT_EQ(hv1.host.files[path], kept);
    EXPECT_TRUE(hv1.host.files[path + ".2"].ends_with("\ntable inet filter { tcp dport 2\n}\n"));
    EXPECT_EQ(hv1.times_logged("and what the host had is kept in " + path + ".2; put rules"), 1U) << hv1.log();
    // After a while the first one again.
    beat(61s);
    rules_of_host = 1;
    hv1.filter_table.load_host_rules();
    ASSERT_TRUE(within(5s, [&] { return !hv1.filter_table.has_host_rules(); }));
    beat(1s);
    EXPECT_EQ(hv1.times_logged("and what the host had is kept in " + path + "; put rules"), 2U) << hv1.log();
    EXPECT_FALSE(hv1.host.files.contains(path + ".3"));
}

// What a version before this one kept is the daemon's own table: the host's is what counts.
TEST_F(firewall_trouble, a_copy_of_the_daemons_own_table_is_no_copy_of_the_hosts) {
    auto& hv1 = add_networked();
    const std::string path = "/var/lib/pvc/nftables-before";
    hv1.host.directories["/var/lib/pvc"] = {};
    hv1.host.files[path] = "# Table\ntable inet filter {\n\tchain vxlan1001-in {\n\t}\n}\n";
    hv1.filter_table.load_host_rules();
    hv1.programs.add([](const async::command& what) {
        return what.arguments == texts{"nft", "list", "table", "inet", "filter"}
                   ? std::optional(sim::sim_program{.output = "table inet filter {\n}\n"})
                   : std::nullopt;
    });
    start(hv1);
    ASSERT_TRUE(within(5s, [&] { return !hv1.filter_table.has_host_rules(); })) << hv1.log();
    EXPECT_TRUE(hv1.host.files[path].ends_with("\ntable inet filter {\n}\n")) << hv1.log();
    EXPECT_FALSE(hv1.host.files.contains(path + ".2"));
}

// Another policy of our own chain, another chain in our own table: nothing of the host's.
TEST_F(firewall_trouble, what_others_do_to_the_daemons_table_is_damage_and_is_not_kept) {
    auto& hv1 = stage_filtered();
    int listed = 0;
    hv1.programs.add([&](const async::command& what) {
        listed += what.arguments == texts{"nft", "list", "table", "inet", "filter"} ? 1 : 0;
        return std::optional<sim::sim_program>();
    });
    hv1.filter_table.take_place("input");
    ASSERT_TRUE(within(5s, [&] { return !hv1.filter_table.has_host_rules(); })) << hv1.log();
    beat(1s);
    EXPECT_EQ(hv1.times_logged("firewall: in table inet filter, which is that of client networks, somebody made chain "
                               "input: that goes"),
              1U)
        << hv1.log();
    // Also where nothing of a network is in it.
    remove_network(1001);
    beat(2s);
    ASSERT_EQ(hv1.filter_table.find("vxlan1001-in"), nullptr);
    hv1.filter_table.take_place("forward");
    ASSERT_TRUE(within(5s, [&] { return !hv1.filter_table.has_host_rules(); })) << hv1.log();
    beat(1s);
    EXPECT_EQ(hv1.times_logged("somebody made chain forward: that goes"), 1U) << hv1.log();
    EXPECT_EQ(hv1.times_logged("table inet filter of this host has"), 0U) << hv1.log();
    EXPECT_EQ(listed, 0);
}

TEST_F(firewall_trouble, a_firewall_that_cannot_be_kept_is_told_of) {
    auto& hv1 = add_networked();
    hv1.filter_table.load_host_rules();
    start(hv1);
    ASSERT_TRUE(within(5s, [&] { return !hv1.filter_table.has_host_rules(); })) << hv1.log();
    EXPECT_TRUE(hv1.logged("could not be kept in /var/lib/pvc/nftables-before: ")) << hv1.log();
}

// The disk was full the first time: the next time they are kept.
TEST_F(firewall_trouble, a_firewall_that_could_not_be_kept_is_kept_when_it_comes_again) {
    auto& hv1 = stage_filtered();
    hv1.programs.add([](const async::command& what) {
        return what.arguments == texts{"nft", "list", "table", "inet", "filter"}
                   ? std::optional(sim::sim_program{.output = "table inet filter {\n}\n"})
                   : std::nullopt;
    });
    const auto come = [&] {
        hv1.filter_table.load_host_rules();
        ASSERT_TRUE(within(5s, [&] { return !hv1.filter_table.has_host_rules(); })) << hv1.log();
        beat(10s);
    };
    hv1.host.is_full = true;
    come();
    come();
    beat(25s);  // it was tried again twice meanwhile
    come();
    EXPECT_EQ(hv1.times_logged("could not be kept in /var/lib/pvc/nftables-before: "), 3U) << hv1.log();
    hv1.host.is_full = false;
    beat(35s);
    EXPECT_TRUE(hv1.logged("of this host held is now kept in /var/lib/pvc/nftables-before")) << hv1.log();
    EXPECT_TRUE(hv1.host.files.contains("/var/lib/pvc/nftables-before"));
}

// The state directory is read-only: what the host had is not lost with the table.
TEST_F(firewall_trouble, a_firewall_that_cannot_be_kept_for_good_is_kept_until_the_next_boot) {
    auto& hv1 = add_networked();
    hv1.programs.add([](const async::command& what) {
        return what.arguments == texts{"nft", "list", "table", "inet", "filter"}
                   ? std::optional(sim::sim_program{.output = "table inet filter {\n}\n"})
                   : std::nullopt;
    });
    hv1.host.broken["/var/lib/pvc/nftables-before"] = failure(errc::io, "/var/lib/pvc", "Read-only file system");
    hv1.filter_table.load_host_rules();
    start(hv1);
    ASSERT_TRUE(within(5s, [&] { return !hv1.filter_table.has_host_rules(); })) << hv1.log();
    EXPECT_TRUE(hv1.host.files["/run/pvc/nftables-before"].ends_with("\ntable inet filter {\n}\n"));
    EXPECT_TRUE(hv1.logged("it is in /run/pvc/nftables-before until the next boot")) << hv1.log();
}

// Files of other rules say nothing about who made the table: only that they were loaded in this boot does.
TEST_F(firewall_trouble, the_hosts_own_firewall_is_kept_also_beside_static_files) {
    auto& hv1 = add_networked();
    hv1.host.files["/run/pvc/nft/static/mine"] = "add rule inet filter input counter\n";
    int listed = 0;
    hv1.programs.add([&](const async::command& what) {
        std::optional<sim::sim_program> ran;
        if (what.arguments == texts{"nft", "list", "table", "inet", "filter"}) {
            ran.emplace().output = fmt::format("table inet filter {{ # {}\n}}\n", ++listed);
        }
        return ran;
    });
    hv1.filter_table.load_host_rules();
    start(hv1);
    ASSERT_TRUE(within(5s, [&] { return !hv1.filter_table.has_host_rules(); })) << hv1.log();
    EXPECT_TRUE(hv1.host.files.contains("/var/lib/pvc/nftables-before")) << hv1.log();
    EXPECT_EQ(hv1.times_logged("table inet filter of this host has"), 1U) << hv1.log();
}

TEST_F(firewall_trouble, a_table_of_a_running_program_is_told_of) {
    auto& hv1 = add_networked();
    hv1.filter_table.load_host_rules();
    hv1.filter_table.own_table();
    start(hv1);
    beat(5s);
    EXPECT_EQ(hv1.times_logged("table inet filter belongs to another running program"), 1U) << hv1.log();
    EXPECT_EQ(hv1.times_logged("table inet filter of this host has"), 0U) << hv1.log();
}

TEST_F(firewall_trouble, what_another_daemon_left_is_nobodys_firewall) {
    auto& hv1 = add_networked();
    put_anothers_table(hv1);
    start(hv1);
    beat(3s);
    EXPECT_FALSE(hv1.host.files.contains("/var/lib/pvc/nftables-before"));
    EXPECT_FALSE(hv1.logged("table inet filter of this host has"));
}

TEST_F(firewall_trouble, what_somebody_does_to_the_table_is_repaired_and_said) {
    auto& hv1 = stage_filtered();
    const auto before = rules(hv1, "input");
    hv1.filter_table.flush_ruleset();
    EXPECT_TRUE(within(1s, [&] { return has_all(hv1, 1001, {"a"}) && rules(hv1, "input") == before; }));
    beat(1s);
    EXPECT_EQ(hv1.times_logged("firewall: table inet filter was gone, making it again [network-damaged]"), 1U)
        << hv1.log();
    beat(60s);
    const auto at = hv1.filter_table.find("vxlan1001-in")->rules.back().handle;
    const auto done = hv1.filter_table.commit(
        {model::delete_rule{"vxlan1001-in", at},
         model::add_rule{"input", {{model::give_verdict{model::filter_verdict::accept, ""}}, ""}, 0, true}},
        std::nullopt);
    ASSERT_TRUE(done && !*done);
    EXPECT_TRUE(within(1s, [&] { return has_all(hv1, 1001, {"a"}) && rules(hv1, "input") == before; }));
    beat(1s);
    EXPECT_EQ(hv1.times_logged("firewall: somebody changed table inet filter"), 1U);
    EXPECT_FALSE(is_rebuild(hv1.filter.batches.back()));
    // Events that were lost, or are late.
    hv1.filter.event_delay = 5s;
    hv1.filter_table.flush_ruleset();
    EXPECT_TRUE(within(6s, [&] { return has_all(hv1, 1001, {"a"}); }));
}

TEST_F(firewall_trouble, a_table_that_somebody_makes_dormant_is_made_anew_and_said) {
    auto& hv1 = stage_filtered();
    hv1.filter_table.make_dormant();
    EXPECT_TRUE(within(1s, [&] { return hv1.filter_table.flags() == 0 && has_all(hv1, 1001, {"a"}); }));
    EXPECT_TRUE(is_rebuild(hv1.filter.batches.back()));
    const auto calls = commits(hv1);
    beat(5s);
    EXPECT_EQ(commits(hv1), calls);
    EXPECT_EQ(hv1.times_logged("firewall: somebody changed table inet filter, making it right again [network-damaged]"),
              1U)
        << hv1.log();
}

TEST_F(firewall_trouble, a_table_that_another_program_owns_is_said_and_looked_at_soon) {
    auto& hv1 = stage_filtered();
    const auto calls = commits(hv1);
    hv1.host.files["/proc/4711/comm"] = "firewalld\n";
    hv1.filter_table.flush_ruleset();
    hv1.filter_table.make_owned();
    beat(60s);
    EXPECT_EQ(hv1.times_logged("firewall: table inet filter belongs to another running program (flags owner): process "
                               "4711 (firewalld): nobody else may change it, and guests"),
              1U)
        << hv1.log();
    // It tells of changes all the time, and none is ours.
    for (int second = 0; second < 30; ++second) {
        hv1.filter_table.touch_table();
        beat(1s);
    }
    EXPECT_EQ(commits(hv1), calls);
    EXPECT_FALSE(hv1.logged("the kernel refuses change")) << hv1.log();
    // That program ends, and its table with it, of which nobody is told.
    hv1.filter_table.end_owner();
    EXPECT_TRUE(within(2s, [&] { return has_all(hv1, 1001, {"a"}); }));
    EXPECT_TRUE(within(1s, [&] { return hv1.logged("this is over: firewall: table inet filter belongs to"); }));
}

TEST_F(firewall_trouble, files_that_cannot_be_written_are_told_and_the_kernel_is_right_meanwhile) {
    auto& hv1 = stage_filtered();
    const std::string path = "/run/pvc/nft/networks/1001.nft";
    hv1.host.broken.insert_or_assign(path, failure(errc::io, path, "Input/output error"));
    put_acl(1001, "in/b", "1", "accept");
    beat(20s);
    EXPECT_TRUE(has_all(hv1, 1001, {"a", "b"}));
    EXPECT_EQ(hv1.times_logged("the files of the firewall could not be written: "), 1U) << hv1.log();
    // Nothing waits for them.
    hv1.filter_table.flush_ruleset();
    EXPECT_TRUE(within(500ms, [&] { return has_all(hv1, 1001, {"a", "b"}); }));
    put_filtered(1002);
    EXPECT_TRUE(within(1s, [&] { return file(hv1, "networks/1002.nft") != "missing"; }));
    hv1.host.broken.clear();
    EXPECT_TRUE(
        within(31s, [&] { return file(hv1, "networks/1001.nft").find("counter accept") != std::string::npos; }));
    EXPECT_TRUE(within(10s, [&] { return hv1.logged("this is over: the files of the firewall"); })) << hv1.log();
    // Somebody removed the folders.
    std::erase_if(hv1.host.directories, [](const auto& one) { return one.first.starts_with("/run/pvc/nft"); });
    std::erase_if(hv1.host.files, [](const auto& one) { return one.first.starts_with("/run/pvc/nft"); });
    put_filtered(1003);
    EXPECT_TRUE(within(10s, [&] { return file(hv1, "networks/1003.nft") != "missing"; }));
}

TEST_F(firewall_trouble, a_disk_that_hangs_delays_no_rule) {
    auto& hv1 = stage_filtered();
    hv1.host.disk_time = 1h;
    for (int n = 0; n < 10; ++n) {
        put_filtered(2000 + n);
        EXPECT_TRUE(within(1s, [&] { return has_all(hv1, 2000 + n); })) << n;
    }
    beat(20s);
    EXPECT_EQ(file(hv1, "networks/2001.nft"), "missing");
    hv1.host.disk_time = 1ms;
    EXPECT_TRUE(within(40s, [&] { return file(hv1, "networks/2009.nft") != "missing"; }));
}

TEST_F(firewall_trouble, a_table_that_is_there_at_the_start_stays_until_the_networks_are_known) {
    auto& hv1 = stage_filtered();
    const auto table = hv1.filter_table.text();
    const auto batches = hv1.filter.batches.size();
    hv1.kill();
    ensemble.freeze();
    hv1.filter.broken.insert_or_assign("look", failure(errc::io, "look", "refused"));
    hv1.start();
    loop.run_for(3s);
    hv1.filter.broken.clear();
    loop.run_for(5s);
    const auto looks = hv1.filter.looks;
    loop.run_for(20s);
    EXPECT_LE(hv1.filter.looks, looks + 1);
    EXPECT_EQ(hv1.filter_table.text(), table);
    EXPECT_TRUE(hv1.logged("this is over: firewall: it cannot be looked at")) << hv1.log();
    ensemble.thaw();
    ASSERT_TRUE(hv1.run_until_ready());
    EXPECT_EQ(hv1.filter_table.text(), table);
    EXPECT_EQ(hv1.filter.batches.size(), batches);  // all counters go on
}

TEST_F(firewall_trouble, without_zookeeper_and_without_a_table_the_base_chains_are_made) {
    auto& hv1 = add_networked();
    ensemble.freeze();
    hv1.start();
    loop.run_for(5s);
    EXPECT_EQ(hv1.filter_table.text(), "forward (forward); input (input)");
    ensemble.thaw();
    ASSERT_TRUE(hv1.run_until_ready());
}

TEST_F(firewall_trouble, a_table_of_another_daemon_is_replaced_in_one_batch) {
    auto& hv1 = add_networked();
    put_anothers_table(hv1);
    const auto theirs = hv1.filter_table.text();
    put_filtered(1001);
    put_acl(1001, "in/a", "0", "drop");
    ensemble.freeze();
    hv1.start();
    loop.run_for(10s);
    EXPECT_EQ(hv1.filter_table.text(), theirs);
    ensemble.thaw();
    ASSERT_TRUE(hv1.run_until_ready());
    ASSERT_EQ(hv1.filter.batches.size(), 1U);
    EXPECT_TRUE(is_rebuild(hv1.filter.batches.front()));
    EXPECT_TRUE(has_all(hv1, 1001, {"a"}));
    EXPECT_EQ(hv1.filter_table.text().find("vxlan9"), std::string::npos);
}

TEST_F(firewall_trouble, the_start_waits_for_the_firewall_but_not_for_ever) {
    auto& hv1 = add_networked();
    put_filtered(1001);
    hv1.filter.call_time = 4900ms;
    hv1.filter.conflicts = 2;
    start(hv1);
    loop.run_for(100ms);
    EXPECT_TRUE(hv1.logged("or their firewall, are not all there, going on")) << hv1.log();
    hv1.kill();
    hv1.filter_table.flush_ruleset();
    hv1.filter.conflicts = 0;
    hv1.filter.call_time = 900ms;
    start(hv1);
    EXPECT_TRUE(has_all(hv1, 1001)) << hv1.filter_table.text();
    hv1.kill();
    hv1.filter.end_slowness();
    hv1.filter.hang();
    start(hv1);
    hv1.filter.end_hang();
    EXPECT_TRUE(within(31s, [&] { return has_all(hv1, 1001); }));
}

}  // namespace
}  // namespace pvc::node
