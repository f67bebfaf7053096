// What only the nft program can load: static files and ACLs with other words (networking.md 7.4, case 53; ruling 35).
// The program is simulated: it says what its rules here say, and makes a table without tags.
#include "unit/networks/firewall_fixture.hpp"

namespace pvc::node {
namespace {

class nft_loader_test : public firewall_fixture {
protected:
    // nft, which takes every trial whose text holds none of `bad`, and every load.
    void install_nft(sim_node& node, std::string bad = "trial counter ip ttl nosuch") {
        node.programs.add([this, &node, bad = std::move(bad)](const async::command& what) {
            std::optional<sim::sim_program> ran;
            const auto& words = what.arguments;
            if (words.empty() || words[0] != "nft") {
                return ran;
            }
            ran.emplace();
            if (words.back() == "tables") {
                ran->output = tables;
            } else if (what.input.find(bad) != std::string::npos) {
                ran->how = async::exited{1};
                ran->error_output = "/dev/stdin:3:1-4: Error: syntax error, unexpected nosuch\nadd rule\n";
            } else if (words.size() > 1 && words[1] == "-f") {
                loaded.push_back(what.input);
                ran->effect = [&node] { rebuild(node); };
            }
            return ran;
        });
    }
    static void rebuild(sim_node& node) {
        const auto done = node.filter_table.commit({model::make_table{}, model::delete_table{}}, std::nullopt);
        EXPECT_TRUE(done && !*done);
        put_anothers_table(node);
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
    install_nft(hv1);
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
    EXPECT_EQ(trials(hv1), 2U);
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
    hv1.programs.add([this, &hv1](const async::command& what) {
        std::optional<sim::sim_program> ran;
        if (what.arguments.empty() || what.arguments[0] != "nft") {
            return ran;
        }
        ran.emplace();
        const auto guilty = what.input.find("counter masquerade\n");
        const bool is_load = what.arguments[1] == "-f";
        if (is_load && guilty != std::string::npos) {
            const auto begin = what.input.begin();
            const auto line = 1 + std::count(begin, begin + static_cast<std::ptrdiff_t>(guilty), '\n');
            ran->how = async::exited{1};
            ran->error_output = fmt::format(
                "/dev/stdin:{}:1-50: Error: Could not process rule: not supported\n"
                "/dev/stdin:{}:1-50: Error: Could not process rule: not supported\n",
                line, line + 1);
        } else if (is_load) {
            loaded.push_back(what.input);
            ran->effect = [&hv1] { rebuild(hv1); };
        }
        return ran;
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
    EXPECT_NE(loaded.back().find("nft/static/*"), std::string::npos);
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
    // Gone: what it made goes, and nothing else.
    hv1.host.files.erase("/run/pvc/nft/static/mine");
    EXPECT_TRUE(within(15s, [&] { return has_all(hv1, 1001, {"a"}); })) << hv1.filter_table.text();
    ASSERT_EQ(loaded.size(), 4U);
    EXPECT_EQ(loaded[3], "delete table inet extra\n");
}

TEST_F(nft_loader_test, static_files_that_nft_does_not_take_are_left_out_and_tried_again) {
    auto& hv1 = add_networked();
    hv1.host.files["/run/pvc/nft/static/mine"] = "add rule inet filter input counter\n";
    install_nft(hv1, "add table inet filter");
    put_filtered(1001);
    start(hv1);
    EXPECT_TRUE(within(3s, [&] { return has_all(hv1, 1001); })) << hv1.log();
    EXPECT_TRUE(hv1.logged("nft does not load all of it")) << hv1.log();
    beat(125s);
    EXPECT_TRUE(has_all(hv1, 1001));
    const auto tries = std::ranges::count(hv1.programs.lines(), "nft -f -");
    EXPECT_GE(tries, 2);
    EXPECT_LE(tries, 5);
    EXPECT_FALSE(hv1.logged("network-damaged")) << hv1.log();
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
