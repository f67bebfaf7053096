// The firewall of client networks on a simulated daemon: keys in, table and files out (networking.md 7, cases 41 to 46,
// 48 to 50, 93).
#include "unit/networks/firewall_fixture.hpp"

#include "pvcnoded/core/explainer.hpp"
#include "pvcnoded/core/metrics.hpp"

namespace pvc::node {
namespace {

class firewall_test : public firewall_fixture {};

constexpr std::string_view base_chains = "forward (forward); input (input)";

TEST_F(firewall_test, cases_41_and_93_a_start_without_networks_makes_base_chains_folders_and_files) {
    auto& hv1 = stage();
    EXPECT_EQ(hv1.filter_table.text(), base_chains);
    EXPECT_EQ(hv1.filter.batches.size(), 1U);
    loop.run_for(1s);
    for (const auto* folder : {"/run/pvc/nft", "/run/pvc/nft/networks", "/run/pvc/nft/static"}) {
        ASSERT_TRUE(hv1.host.directories.contains(folder)) << folder;
        EXPECT_EQ(hv1.host.directories.at(folder).mode, 0755U);
    }
    EXPECT_NE(file(hv1, "base.nft").find("include \"/run/pvc/nft/networks/*\""), std::string::npos);
    EXPECT_FALSE(hv1.logged("network-firewall")) << hv1.log();
}

TEST_F(firewall_test, case_42_a_network_has_its_rules_in_order) {
    auto& hv1 = stage();
    put_filtered(1001);
    ASSERT_TRUE(within(1s, [&] { return has_all(hv1, 1001); })) << hv1.filter_table.text();
    EXPECT_EQ(rules(hv1, "input"),
              (texts{"1001 = icmp", "1001 = icmp6", "1001 = dns-tcp", "1001 = dns-udp", "1001 = dhcp", "1001 = ntp",
                     "1001 = dhcp6", "1001 = metadata", "1001 = others"}));
    EXPECT_EQ(rules(hv1, "forward"), (texts{"1001 = ip-in", "1001 = ip-out"}));
    EXPECT_EQ(rules(hv1, "vxlan1001-out"), texts{"1001 = count-out"});
    EXPECT_TRUE(within(1s, [&] { return file(hv1, "networks/1001.nft") != "missing"; }));
    EXPECT_NE(file(hv1, "networks/1001.nft").find("ip daddr 10.1.233.0/24 counter jump vxlan1001-in"),
              std::string::npos);
}

TEST_F(firewall_test, case_43_a_network_of_ipv6_alone) {
    auto& hv1 = stage();
    put_network(1001, {{"/ip6_network", "fd00:1::/64"}, {"/ip6_gateway", "fd00:1::1"}});
    EXPECT_TRUE(within(1s, [&] {
        return rules(hv1, "forward") == texts{"1001 = ip6-in", "1001 = ip6-out"} && rules(hv1, "input").size() == 9;
    })) << hv1.filter_table.text();
    // A gateway that comes and goes is followed.
    change(1001, {{"/ip4_network", "10.1.1.0/24"}, {"/ip4_gateway", "10.1.1.1"}});
    EXPECT_TRUE(within(1s, [&] { return rules(hv1, "forward").size() == 4; }));
    change(1001, {{"/ip6_gateway", "None"}});
    EXPECT_TRUE(within(1s, [&] { return rules(hv1, "forward") == texts{"1001 = ip-in", "1001 = ip-out"}; }));
}

TEST_F(firewall_test, case_44_networks_go_by_the_names_of_their_files_and_bridged_ones_have_no_rules) {
    auto& hv1 = stage();
    put_filtered(1001);
    put_filtered(10000);
    put_network(200, {{"/nettype", "bridged"}});
    ASSERT_TRUE(within(2s, [&] { return has_all(hv1, 1001) && has_all(hv1, 10000); }));
    EXPECT_EQ(rules(hv1, "forward"), (texts{"10000 = ip-in", "10000 = ip-out", "1001 = ip-in", "1001 = ip-out"}));
    EXPECT_EQ(hv1.filter_table.text().find("200"), std::string::npos);
}

TEST_F(firewall_test, cases_45_and_46_acls_go_by_their_order_as_a_number_and_are_followed) {
    auto& hv1 = stage();
    put_filtered(1001);
    put_acl(1001, "in/ten", "10", "tcp dport 10 accept");
    put_acl(1001, "in/two", "2", "tcp dport 2 accept");
    put_acl(1001, "in/one", "1", "tcp dport 1 accept");
    ASSERT_TRUE(within(1s, [&] { return has_all(hv1, 1001, {"one", "two", "ten"}); })) << hv1.filter_table.text();
    // Each behind a counter of its own.
    for (const auto& one : hv1.filter_table.find("vxlan1001-in")->rules) {
        EXPECT_TRUE(std::holds_alternative<model::count_packet>(one.is.expressions.front())) << one.is.tag;
    }
    put_acl(1001, "in/same", "2", "drop");
    EXPECT_TRUE(within(1s, [&] { return has_all(hv1, 1001, {"one", "same", "two", "ten"}); }));
    change(1001, {{"/firewall_rules/in/ten/order", "0"}});
    EXPECT_TRUE(within(1s, [&] { return has_all(hv1, 1001, {"ten", "one", "same", "two"}); }));
    change(1001, {{"/firewall_rules/in/one/order", "soon"}});
    EXPECT_TRUE(within(1s, [&] { return has_all(hv1, 1001, {"ten", "same", "two", "one"}); }));
    remove_acl(1001, "in/same");
    EXPECT_TRUE(within(1s, [&] { return has_all(hv1, 1001, {"ten", "two", "one"}); }));
    put_acl(1001, "out/two", "0", "reject");
    EXPECT_TRUE(within(1s, [&] { return rules(hv1, "vxlan1001-out") == texts{"1001 = count-out", "1001 out two"}; }));
}

TEST_F(firewall_test, cases_48_and_49_a_bad_acl_is_left_out_alone_and_tried_again_when_its_text_changes) {
    auto& hv1 = stage();
    put_filtered(1001);
    put_acl(1001, "in/a", "0", "tcp dport 1 accept");
    put_acl(1001, "in/bad", "1", "tcp dport nosuch accept");
    put_acl(1001, "in/evil", "2", "accept; add table ip evil");
    put_acl(1001, "in/include", "3", "include \"x\"");
    put_acl(1001, "in/lines", "4", "accept\nadd table ip evil");
    put_acl(1001, "in/z", "5", "drop");
    ASSERT_TRUE(within(2s, [&] { return has_all(hv1, 1001, {"a", "z"}); })) << hv1.filter_table.text();
    beat(20s);
    EXPECT_EQ(hv1.times_logged("network 1001: ACL in bad is left out: at 11: expected a port or the name of a "
                               "service, got \"nosuch\""),
              1U)
        << hv1.log();
    EXPECT_EQ(hv1.times_logged("is left out: "), 4U);
    EXPECT_EQ(hv1.filter_table.foreign_text(), "");
    const auto text = file(hv1, "networks/1001.nft");
    EXPECT_NE(text.find("# left out: in bad: at 11: "), std::string::npos) << text;
    EXPECT_EQ(text.find("\nadd table"), std::string::npos) << text;
    change(1001, {{"/firewall_rules/in/bad/rule", "tcp dport 22 accept"}});
    EXPECT_TRUE(within(1s, [&] { return has_all(hv1, 1001, {"a", "bad", "z"}); }));
    loop.run_for(100ms);
    EXPECT_TRUE(hv1.logged("this is over: network 1001: ACL in bad"));
    EXPECT_TRUE(within(1s, [&] { return file(hv1, "networks/1001.nft").find("in bad") == std::string::npos; }));
}

// What a guest in it reaches of the host over the link-local address of its bridge stays little.
TEST_F(firewall_test, a_network_that_is_removed_under_a_guest_stays_filtered_until_its_bridge_goes) {
    auto& hv1 = stage();
    for (const bool with_restart : {false, true}) {
        put_filtered(1001);
        put_acl(1001, "in/ssh", "0", "tcp dport 22 accept");
        ASSERT_TRUE(within(2s, [&] { return has_all(hv1, 1001, {"ssh"}); })) << hv1.filter_table.text();
        hv1.kernel.add_tap("vnet0", "vmbr1001");
        beat(1s);
        remove_network(1001);
        EXPECT_TRUE(within(2s, [&] { return has_remains(hv1, 1001); })) << hv1.filter_table.text();
        beat(10s);
        EXPECT_TRUE(has_remains(hv1, 1001)) << hv1.filter_table.text();
        if (with_restart) {
            hv1.kill();
            start(hv1);
            beat(2s);
            EXPECT_TRUE(has_remains(hv1, 1001)) << hv1.filter_table.text();
        }
        hv1.kernel.remove_device("vnet0");
        EXPECT_TRUE(within(1s, [&] { return link(hv1, "vmbr1001") == "gone"; }));
        EXPECT_TRUE(within(1s, [&] { return hv1.filter_table.text() == base_chains; })) << hv1.filter_table.text();
    }
}

TEST_F(firewall_test, one_that_is_refused_as_a_bridged_network_stays_filtered) {
    auto& hv1 = stage_primary({.bridge_device = ""});
    put_filtered(1001);
    ASSERT_TRUE(within(2s, [&] { return has_all(hv1, 1001) && addresses(hv1, "vmbr1001") == "10.1.233.1/24"; }));
    hv1.kernel.add_tap("vnet0", "vmbr1001");
    beat(1s);
    change(1001, {{"/nettype", "bridged"}});
    beat(5s);
    EXPECT_EQ(addresses(hv1, "vmbr1001"), "10.1.233.1/24") << "a change that cannot be completed is not begun";
    EXPECT_TRUE(has_remains(hv1, 1001)) << hv1.filter_table.text();
    hv1.kill();
    start(hv1);
    beat(2s);
    EXPECT_TRUE(has_remains(hv1, 1001)) << hv1.filter_table.text();
    change(1001, {{"/nettype", "managed"}});
    EXPECT_TRUE(within(2s, [&] { return has_all(hv1, 1001); })) << hv1.filter_table.text();
}

TEST_F(firewall_test, one_whose_keys_cannot_be_used_at_a_start_stays_filtered) {
    auto& hv1 = stage();
    put_filtered(1001);
    ASSERT_TRUE(within(2s, [&] { return has_all(hv1, 1001); })) << hv1.filter_table.text();
    hv1.kernel.add_tap("vnet0", "vmbr1001");
    beat(1s);
    change(1001, {{"/nettype", "rubbish"}});
    beat(2s);
    EXPECT_TRUE(has_all(hv1, 1001)) << hv1.filter_table.text();
    hv1.kill();
    start(hv1);
    beat(2s);
    EXPECT_TRUE(has_remains(hv1, 1001)) << hv1.filter_table.text();
    change(1001, {{"/nettype", "managed"}});
    EXPECT_TRUE(within(2s, [&] { return has_all(hv1, 1001); })) << hv1.filter_table.text();
}

// A bridge of such a name that no daemon noted is somebody else's, and its network is refused; but machines of the
// cluster that are in it reach no more of the host than others do.
TEST_F(firewall_test, a_bridge_that_is_not_its_own_is_filtered_as_long_as_machines_are_in_it) {
    auto& hv1 = add_networked();
    ASSERT_TRUE(hv1.kernel.apply(model::make_bridge{"vmbr8"}));
    ASSERT_TRUE(hv1.kernel.apply(model::add_address{"vmbr8", parse_host_address("192.0.2.5/24").value()}));
    start(hv1);
    put_filtered(8);
    put_acl(8, "in/ssh", "0", "tcp dport 22 accept");
    beat(2s);
    EXPECT_EQ(hv1.filter_table.text(), base_chains);
    hv1.kernel.add_tap("vnet0", "vmbr8");
    EXPECT_TRUE(within(1s, [&] { return has_all(hv1, 8, {"ssh"}); })) << hv1.filter_table.text();
    hv1.kill();
    start(hv1);
    EXPECT_TRUE(within(1s, [&] { return has_all(hv1, 8, {"ssh"}); })) << hv1.filter_table.text();
    EXPECT_EQ(addresses(hv1, "vmbr8"), "192.0.2.5/24");
    hv1.kernel.remove_device("vnet0");
    EXPECT_TRUE(within(1s, [&] { return hv1.filter_table.text() == base_chains; })) << hv1.filter_table.text();
    remove_network(8);
    beat(2s);
    EXPECT_EQ(hv1.filter_table.text(), base_chains);
}

// As another node daemon left it, with another port: refused; with settings that can be changed: put right.
TEST_F(firewall_test, what_is_taken_over_stays_filtered) {
    for (const bool is_refused : {true, false}) {
        auto& hv1 = add_networked({.name = is_refused ? "hv1" : "hv4"});
        const auto port = static_cast<std::uint16_t>(is_refused ? 8472 : 4789);
        const model::network_change found[]{
            model::make_bridge{"vmbr1001"}, model::make_vxlan{"vxlan1001", "ens5", 1001, port},
            model::set_master{"vxlan1001", "vmbr1001"}, model::set_up{"vmbr1001"}, model::set_up{"vxlan1001"}};
        for (const auto& one : found) {
            ASSERT_TRUE(hv1.kernel.apply(one));
        }
        hv1.kernel.set_vxlan("vxlan1001", false, !is_refused);
        hv1.kernel.add_tap("vnet0", "vmbr1001");
        put_filtered(1001);
        start(hv1);
        EXPECT_TRUE(within(1s, [&] { return has_all(hv1, 1001); })) << hv1.filter_table.text();
        EXPECT_EQ(hv1.logged("network 1001: vxlan1001 is VXLAN 1001, and not as FRR needs it"), is_refused);
        const auto* base = hv1.kernel.link("vxlan1001");
        EXPECT_EQ(base->vxlan == model::vxlan_settings{.vni = 1001}, !is_refused);
    }
}

TEST_F(firewall_test, one_that_cannot_become_bridged_keeps_its_links_and_stays_filtered) {
    auto& hv1 = stage_primary();
    put_filtered(1001);
    ASSERT_TRUE(within(2s, [&] { return has_all(hv1, 1001) && addresses(hv1, "vmbr1001") == "10.1.233.1/24"; }));
    hv1.kernel.add_tap("vnet0", "vmbr1001");
    beat(1s);
    hv1.kernel.remove_device("ens7");
    beat(1s);
    const auto before = link(hv1, "vxlan1001");
    change(1001, {{"/nettype", "bridged"}});
    beat(5s);
    EXPECT_EQ(link(hv1, "vxlan1001"), before);
    EXPECT_EQ(addresses(hv1, "vmbr1001"), "10.1.233.1/24") << "its machines have their gateway";
    EXPECT_TRUE(has_remains(hv1, 1001)) << hv1.filter_table.text();
    EXPECT_EQ(hv1.times_logged("it cannot become a bridged one: device ens7 is missing"), 1U) << hv1.log();
    hv1.kill();
    start(hv1);
    EXPECT_TRUE(within(60s, [&] { return addresses(hv1, "vmbr1001") == "10.1.233.1/24"; })) << "also after a start";
    hv1.kernel.add_device("ens7");
    EXPECT_TRUE(within(5s, [&] { return link(hv1, "vlan1001").find("master vmbr1001") != std::string::npos; }));
    EXPECT_EQ(link(hv1, "vxlan1001"), "gone");
    EXPECT_TRUE(within(1s, [&] { return addresses(hv1, "vmbr1001").empty(); })) << addresses(hv1, "vmbr1001");
    EXPECT_TRUE(within(1s, [&] { return hv1.filter_table.text() == base_chains; })) << hv1.filter_table.text();
}

TEST_F(firewall_test, case_50_tables_of_others_stay) {
    auto& hv1 = add_networked();
    hv1.filter_table.touch_table("ip other");
    put_anothers_table(hv1);
    put_filtered(1001);
    start(hv1);
    EXPECT_TRUE(has_all(hv1, 1001)) << hv1.filter_table.text();
    put_acl(1001, "in/a", "0", "drop");
    ASSERT_TRUE(within(1s, [&] { return has_all(hv1, 1001, {"a"}); }));
    EXPECT_EQ(hv1.filter_table.foreign_text(), "ip other 1");
    // What others do to theirs is nobody's damage.
    const auto batches = hv1.filter.batches.size();
    hv1.filter_table.touch_table("ip other");
    beat(2s);
    EXPECT_EQ(hv1.filter.batches.size(), batches);
    EXPECT_FALSE(hv1.logged("network-damaged"));
}

TEST_F(firewall_test, a_local_change_leaves_all_other_rules_where_they_are) {
    auto& hv1 = stage();
    put_filtered(1001);
    put_filtered(1002);
    put_acl(1001, "in/a", "1", "tcp dport 1 accept");
    put_acl(1001, "in/b", "3", "drop");
    ASSERT_TRUE(within(2s, [&] { return has_all(hv1, 1001, {"a", "b"}) && has_all(hv1, 1002); }));
    const texts chains{"forward", "input", "vxlan1001-in", "vxlan1001-out", "vxlan1002-in", "vxlan1002-out"};
    auto before = handles(hv1, chains);
    const auto batches = hv1.filter.batches.size();
    put_acl(1001, "in/c", "2", "tcp dport 2 accept");
    ASSERT_TRUE(within(1s, [&] { return has_all(hv1, 1001, {"a", "c", "b"}); }));
    EXPECT_EQ(hv1.filter.batches.size(), batches + 1);
    EXPECT_EQ(hv1.filter.batches.back().size(), 1U);
    auto after = handles(hv1, chains);
    EXPECT_EQ(after.erase("vxlan1001-in 1001 in c"), 1U);
    EXPECT_EQ(after, before);
    // Another text is another rule in the place of the first.
    change(1001, {{"/firewall_rules/in/a/rule", "tcp dport 5 accept"}});
    ASSERT_TRUE(within(1s, [&] { return hv1.filter.batches.size() == batches + 2; }));
    EXPECT_TRUE(has_all(hv1, 1001, {"a", "c", "b"}));
    after = handles(hv1, chains);
    EXPECT_NE(after.at("vxlan1001-in 1001 in a"), before.at("vxlan1001-in 1001 in a"));
    EXPECT_EQ(after.at("vxlan1001-in 1001 in b"), before.at("vxlan1001-in 1001 in b"));
}

TEST_F(firewall_test, a_removed_network_leaves_nothing_and_one_that_cannot_be_used_any_more_stays) {
    auto& hv1 = stage();
    put_filtered(1001);
    put_filtered(1002);
    put_acl(1002, "in/a", "0", "drop");
    put_acl(1001, "in/bad", "0", "jump nowhere");
    ASSERT_TRUE(within(2s, [&] { return has_all(hv1, 1001) && has_all(hv1, 1002, {"a"}); }));
    beat(1s);
    const auto batches = hv1.filter.batches.size();
    change(1002, {{"/nettype", "garbage"}});
    beat(5s);
    EXPECT_TRUE(has_all(hv1, 1002, {"a"})) << hv1.filter_table.text();
    EXPECT_EQ(hv1.filter.batches.size(), batches);
    remove_network(1001);
    EXPECT_TRUE(within(1s, [&] { return hv1.filter_table.text().find("1001") == std::string::npos; }));
    EXPECT_TRUE(within(1s, [&] { return file(hv1, "networks/1001.nft") == "missing"; }));
    EXPECT_TRUE(has_all(hv1, 1002, {"a"}));
    EXPECT_EQ(hv1.filter.batches.size(), batches + 1);
    EXPECT_FALSE(is_rebuild(hv1.filter.batches.back()));
}

class figures final : public core::metrics_sheet {
public:
    void times(std::string_view /*name*/, std::string_view /*help*/, const histogram& /*of*/) override {}
    std::map<std::string, double> all;

private:
    void add(kind /*what*/, std::string_view name, std::string_view /*help*/, double value,
             std::span<const core::metric_label> /*by*/) override {
        all[std::string(name)] = value;
    }
};

std::map<std::string, double> figures_of(const sim_node& node) {
    figures sheet;
    for (const auto* one : core::all_that_are<core::metrics_source>(node.daemon().subjects())) {
        one->put_metrics(sheet);
    }
    return sheet.all;
}

core::explanation networks_of(const sim_node& node) {
    for (auto* one : core::all_that_are<core::explainer>(node.daemon().subjects())) {
        if (one->topic() == "networks") {
            return **one->explain({})->answer;
        }
    }
    return {};
}

TEST_F(firewall_test, what_is_said_of_it) {
    auto& hv1 = stage();
    put_filtered(1001);
    put_acl(1001, "in/bad", "0", "tcp dport nosuch accept");
    put_acl(1001, "in/good", "0", "accept");
    ASSERT_TRUE(within(1s, [&] { return has_all(hv1, 1001, {"good"}); }));
    loop.run_for(500ms);
    auto said = figures_of(hv1);
    EXPECT_EQ(said["firewall_right"], 1);
    EXPECT_EQ(said["firewall_acls_left_out"], 1);
    EXPECT_EQ(said["firewall_changes_total"], static_cast<double>(hv1.filter.batches.size()));
    auto told = networks_of(hv1);
    const auto fact = [&](std::string_view name) {
        const auto found = std::ranges::find(told.facts, name, &core::explained_fields::value_type::first);
        return found == told.facts.end() ? core::explained_value() : found->second;
    };
    EXPECT_EQ(fact("firewall"), core::explained_value(std::string("right")));
    EXPECT_EQ(fact("firewall_rules"), core::explained_value(14.0));
    const auto list =
        std::ranges::find(told.lists, std::string_view("acls_left_out"), &decltype(told.lists)::value_type::first);
    ASSERT_NE(list, told.lists.end());
    ASSERT_EQ(list->second.size(), 1U);
    EXPECT_EQ(list->second[0][2].second, core::explained_value(std::string("bad")));
    hv1.filter.broken.insert_or_assign("look", failure(errc::io, "look", "refused"));
    hv1.filter_table.flush_ruleset();
    loop.run_for(1s);
    said = figures_of(hv1);
    EXPECT_EQ(said["firewall_right"], 0);
    told = networks_of(hv1);
    EXPECT_EQ(fact("firewall"), core::explained_value(std::string("failing")));
}

}  // namespace
}  // namespace pvc::node
