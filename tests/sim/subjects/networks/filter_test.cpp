// The rules about the packet filter see what they are about, and nothing else.
#include "sim/subjects/networks/filter.hpp"
#include "sim/world/judged_cluster.hpp"

namespace pvc::sim {

using namespace std::chrono_literals;

class filter_rules_test : public judged_cluster {
protected:
    filter_rules_test() : judged_cluster({{.name = "hv1", .coordinators = {"hv1"}, .networking = true}}) {}

    void SetUp() override {
        perform("start hv1");
        pass(30s);
        perform("network create 1001 managed 10.1.1.1/24 fd00:1::1/64");
        perform("acl set 1001 in ten 10 tcp dport 10 accept");
        perform("acl set 1001 in two 2 accept");
        perform("acl set 1001 in bad 3 tcp dport nosuch accept");
        pass(60s);
        assert_calm();
        hv1.filter.event_delay = 24h;  // the daemon hears of nothing
    }
    void change(const std::vector<model::filter_change>& changes) {
        const auto done = hv1.filter_table.commit(changes, std::nullopt);
        ASSERT_TRUE(done && !*done);
    }
    [[nodiscard]] sim_filter_rule rule(std::string_view chain, std::size_t at) const {
        return hv1.filter_table.find(chain)->rules.at(at);
    }
    [[nodiscard]] std::string wrong() const { return wrong_with_filter(watch, *world.members[0]); }

    sim_node& hv1 = world.members[0]->node;
};

TEST_F(filter_rules_test, acls_in_another_order) {
    EXPECT_EQ(wrong(), "");
    const auto two = rule("vxlan1001-in", 1);
    change({model::delete_rule{"vxlan1001-in", two.handle}, model::add_rule{"vxlan1001-in", two.is, 0, false}});
    EXPECT_EQ(wrong(), "vxlan1001-in does not have 1001 in two as its rule 2");
    ASSERT_FALSE(watch.missing().empty());
    pass(3s);
    EXPECT_EQ(broken(), "firewall_stands");
}

TEST_F(filter_rules_test, rules_that_are_missing_or_say_something_else) {
    const auto drop = rule("input", 8);
    auto open = drop.is;
    open.expressions.back() = model::give_verdict{model::filter_verdict::accept, ""};
    change({model::delete_rule{"input", drop.handle}, model::add_rule{"input", open, 0, false}});
    EXPECT_EQ(wrong(), "input does not have 1001 others as its rule 10");
    change({model::delete_rule{"input", rule("input", 8).handle}, model::add_rule{"input", drop.is, 0, false}});
    EXPECT_EQ(wrong(), "");
    auto ten = rule("vxlan1001-in", 2);
    change({model::delete_rule{"vxlan1001-in", ten.handle}});
    EXPECT_EQ(wrong(), "vxlan1001-in does not have 1001 in ten as its rule 3");
    ten.is.expressions.pop_back();
    change({model::add_rule{"vxlan1001-in", ten.is, 0, false}});
    EXPECT_EQ(wrong(), "vxlan1001-in does not have 1001 in ten as its text says as its rule 4");
}

TEST_F(filter_rules_test, what_is_nobodys) {
    change({model::make_chain{"vxlan7-in", model::filter_hook::none}});
    EXPECT_EQ(wrong(), "vxlan7-in is a chain of no network");
    change({model::delete_chain{"vxlan7-in"},
            model::add_rule{"forward", {{model::give_verdict{model::filter_verdict::accept, ""}}, ""}, 0, false}});
    EXPECT_EQ(wrong(), "forward has a rule of nobody");
    hv1.filter_table.flush_ruleset();
    EXPECT_EQ(wrong(), "vxlan1001-in is not there");
}

TEST_F(filter_rules_test, a_table_that_is_dormant) {
    hv1.filter_table.make_dormant();
    EXPECT_EQ(wrong(), "the table is dormant, or somebody else's");
    ASSERT_FALSE(watch.missing().empty());
}

TEST_F(filter_rules_test, what_the_kernel_refused_may_be_missing) {
    hv1.filter.refuses = 0;
    perform("acl set 1001 in odd 5 drop");
    pass(40s);
    EXPECT_EQ(hv1.filter_table.find("vxlan1001-in")->rules.size(), 3U);
    EXPECT_EQ(broken(), "");
    EXPECT_EQ(wrong(), "");
    perform("acl set 1001 in odd 5 reject");
    pass(40s);
    EXPECT_EQ(hv1.filter_table.find("vxlan1001-in")->rules.size(), 4U);
    change({model::delete_rule{"vxlan1001-in", rule("vxlan1001-in", 2).handle}});
    EXPECT_EQ(wrong(), "vxlan1001-in does not have 1001 in odd as its rule 3");
}

TEST_F(filter_rules_test, what_is_left_of_a_network_under_a_machine) {
    hv1.filter.event_delay = 0s;
    hv1.kernel.add_tap("vnet0", "vmbr1001");
    perform("network remove 1001");
    pass(60s);
    EXPECT_EQ(broken(), "");
    EXPECT_EQ(wrong(), "");
    ASSERT_EQ(hv1.filter_table.find("input")->rules.size(), 9U);
    EXPECT_TRUE(hv1.filter_table.find("forward")->rules.empty());
    hv1.filter.event_delay = 24h;
    // All of them, and no more; or none.
    const auto last = rule("input", 8);
    change({model::delete_rule{"input", last.handle}});
    EXPECT_EQ(wrong(), "input does not have 1001 others as its rule 9");
    change({model::add_rule{"input", last.is, 0, false}, model::add_rule{"forward", last.is, 0, false}});
    EXPECT_EQ(wrong(), "forward has 1001 = others beyond what it shall");
    change({model::flush_chain{"forward"}});
    EXPECT_EQ(wrong(), "");
    // Of a bridge that nobody noted: none.
    const auto record = hv1.host.files.extract("/run/pvc/client-bridges");
    ASSERT_FALSE(record.empty());
    pass(31s);
    EXPECT_EQ(broken(), "firewall_stands");
}

TEST_F(filter_rules_test, what_is_left_of_one_goes_with_its_bridge) {
    hv1.filter.event_delay = 0s;
    hv1.kernel.add_tap("vnet0", "vmbr1001");
    perform("network remove 1001");
    pass(60s);
    hv1.kernel.remove_device("vnet0");
    pass(60s);
    EXPECT_EQ(broken(), "");
    EXPECT_EQ(wrong(), "");
    EXPECT_TRUE(hv1.filter_table.find("input")->rules.empty());
}

TEST_F(filter_rules_test, a_part_of_a_network) {
    const auto& table = hv1.filter_table;
    EXPECT_EQ(torn_filter(table), "");
    const auto last = rule("input", 8);
    change({model::delete_rule{"input", last.handle}});
    EXPECT_EQ(torn_filter(table), "input has but a part of the rules of 1001");
    change({model::add_rule{"input", last.is, 0, false}, model::delete_rule{"forward", rule("forward", 0).handle}});
    EXPECT_EQ(torn_filter(table), "forward has but a part of the rules of 1001");
    change({model::flush_chain{"forward"}, model::delete_chain{"vxlan1001-out"}});
    EXPECT_EQ(torn_filter(table), "vxlan1001-in stands alone");
    change({model::delete_chain{"vxlan1001-in"}});
    EXPECT_EQ(torn_filter(table), "there are rules of 1001, which has no chains");
}

TEST_F(filter_rules_test, a_batch_of_the_daemon_that_is_a_part) {
    hv1.filter.event_delay = 0s;
    hv1.filter_table.flush_ruleset();
    change({model::make_table{}, model::make_chain{"input", model::filter_hook::input}});
    hv1.filter.on_batch();
    EXPECT_EQ(broken(), "firewall_is_whole");
}

TEST_F(filter_rules_test, what_clients_write) {
    const auto value = [&](const std::string& key) {
        return world.ensemble.get("/networks/1001/firewall_rules/" + key).value_or("-");
    };
    EXPECT_EQ(value("in/ten/order") + " " + value("in/ten/rule") + " " + value("in/ten"), "10 tcp dport 10 accept ");
    perform("acl order 1001 in ten 7");
    perform("acl order 1001 in none 7");
    EXPECT_EQ(value("in/ten/order") + value("in/none/order"), "7-");
    perform("acl remove 1001 in ten");
    EXPECT_EQ(value("in/ten") + value("in/ten/rule"), "--");
    perform("acl set 7 in a 0 drop");
    EXPECT_FALSE(world.ensemble.exists("/networks/7"));
}

}  // namespace pvc::sim
