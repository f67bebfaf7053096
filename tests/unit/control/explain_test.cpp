// `explain`: which rule decides now, and where each virtual machine would go; nothing is done.
#include "pvcnoded/control/answers.hpp"

#include "unit/domains/domain_state_fixture.hpp"

#include <boost/json/serialize.hpp>

namespace pvc::node {
namespace {

namespace json = boost::json;
using protocol::problem;

class explain_answers : public domain_state_fixture {
protected:
    protocol::answer explain(sim_node& node, const std::string& topic, duration limit = 5s) {
        protocol::request what;
        what.name = "explain " + topic;
        const auto got = control::answers(node.daemon(), node.host).to(what);
        EXPECT_TRUE(got.later);
        protocol::answer said;
        loop.run([&]() -> async::awaitable<void> { said = co_await got.later(loop.clock().now() + limit); });
        return said;
    }
    static std::string row(const json::value& list, std::string_view name) {
        for (const auto& one : list.as_array()) {
            if (std::string_view(one.at("name").as_string()) == name) {
                return json::serialize(one);
            }
        }
        return {};
    }
};

TEST_F(explain_answers, where_a_flush_would_bring_each_machine) {
    three_nodes_two_machines();
    ensemble.put(key_of(u2, "/node_limit"), "hv4");
    const auto before = ensemble.zxid();
    const auto said = explain(nodes.front(), "flush");
    ASSERT_FALSE(said.error) << said.error->text;
    EXPECT_EQ(ensemble.zxid(), before) << "nothing is written";
    EXPECT_EQ(said.result.at("node"), "hv1");
    EXPECT_EQ(said.result.at("domain_state"), "ready");
    const auto& machines = said.result.at("machines");
    EXPECT_EQ(machines.as_array().size(), 2U);
    const std::string most = "it has the most free memory";
    EXPECT_EQ(row(machines, "web"),
              R"({"name":"web","state":"start","would":"moves","target":"hv2","reason":")" + most + " (8000 MiB)\"}");
    EXPECT_EQ(row(machines, "db"),
              R"({"name":"db","state":"start","would":"moves","target":"hv4","reason":")" + most + " (6000 MiB)\"}");
    // As the flush then does it.
    order("flush");
    ASSERT_TRUE(until_word("flushed"));
    EXPECT_EQ(place_of(u1), "start hv2 hv1");
    EXPECT_EQ(place_of(u2), "start hv4 hv1");
}

TEST_F(explain_answers, nobody_can_take_them) {
    three_nodes_two_machines();
    order("flushed", "hv2");
    ensemble.put(key_of(u1, "/node_limit"), "hv2");
    const auto said = explain(nodes.front(), "flush");
    ASSERT_FALSE(said.error);
    EXPECT_EQ(row(said.result.at("machines"), "web"),
              R"({"name":"web","state":"start","would":"shuts down","target":null,"reason":"no node can take it: )"
              "hv2 is not ready (flushed, or about to be); hv4 is not in its node_limit; "
              R"(it is started again when this node is made ready"})");
}

TEST_F(explain_answers, a_flush_while_zookeeper_is_away) {
    three_nodes_two_machines();
    ensemble.freeze();
    const auto began = loop.clock().now();
    const auto said = explain(nodes.front(), "flush", 2s);
    ASSERT_TRUE(said.error);
    EXPECT_EQ(said.error->what, problem::too_late);
    EXPECT_LE(loop.clock().now() - began, 2s + 100ms);
    ensemble.thaw();
    pass(10s);
    EXPECT_FALSE(explain(nodes.front(), "flush").error);
}

// Who asks is told that the session has ended under it.
TEST_F(explain_answers, a_flush_while_the_session_ends) {
    three_nodes_two_machines();
    protocol::request what;
    what.name = "explain flush";
    sim_node& hv1 = nodes.front();
    const auto got = control::answers(hv1.daemon(), hv1.host).to(what);
    protocol::answer said;
    ensemble.freeze();
    loop.run([&]() -> async::awaitable<void> { said = co_await got.later(loop.clock().now() + 60s); });
    EXPECT_TRUE(said.error);
    ensemble.thaw();
}

TEST_F(explain_answers, nothing_is_explained_that_nobody_knows) {
    sim_node& hv1 = add_running();
    EXPECT_EQ(explain(hv1, "flush").error->what, problem::not_found);  // no hypervisor
    EXPECT_EQ(explain(hv1, "weather").error->text,
              "nobody explains \"weather\" here: the node is still starting, or has no part that does");
}

TEST_F(explain_answers, the_primary_role) {
    sim_node& hv1 = add_running();
    pass(10s);
    auto said = explain(hv1, "primary");
    ASSERT_FALSE(said.error);
    EXPECT_EQ(said.result.at("role"), "primary");
    EXPECT_EQ(said.result.at("primary_node"), "hv1");
    EXPECT_TRUE(said.result.at("rule").is_null());
    EXPECT_EQ(said.result.at("action"), "nothing");
    EXPECT_EQ(said.result.at("reason"), "this node is primary, and is named");
    EXPECT_EQ(said.result.at("coordinators").as_array().size(), 0U);
    ensemble.put("/config/primary_node", "hv9");  // nobody
    pass(1s);
    said = explain(hv1, "primary");
    EXPECT_EQ(said.result.at("rule"), "C2'");
    EXPECT_EQ(said.result.at("reason"), "hv9 is named primary but is no coordinator in state run");
}

TEST_F(explain_answers, virtual_functions_that_are_not_as_their_keys_say) {
    auto& hv1 = add({.coordinators = {"hv1"}, .networking = true, .sriov = {{"ens8", 1}}});
    hv1.functions.driver.hides = {"trust"};
    hv1.start();
    ASSERT_TRUE(hv1.run_until_ready());
    hv1.functions.broken.insert_or_assign("set ens8v0 VLAN", failure(errc::refused, "ens8v0", "Invalid argument"));
    const std::string keys = "/nodes/hv1/sriov/vf/ens8v0/config/";
    ensemble.put({{keys + "vlan_id", "5"}, {keys + "trust", "True"}, {keys + "link_state", "on"}});
    loop.run_for(2s);
    const auto said = explain(hv1, "networks");
    ASSERT_FALSE(said.error) << said.error->text;
    const auto& rows = said.result.at("functions").as_array();
    ASSERT_EQ(rows.size(), 3U) << json::serialize(rows);
    EXPECT_NE(json::serialize(rows[0]).find("link_state: expected auto, enable or disable, got `on`"),
              std::string::npos);
    EXPECT_EQ(json::serialize(rows[1]),
              R"({"function":"ens8v0","setting":"VLAN","wanted":"VLAN 5, QoS 0","seen":"VLAN 0, QoS 0",)"
              R"("why":"VLAN 5, QoS 0: ens8v0: refused: Invalid argument"})");
    EXPECT_EQ(json::serialize(rows[2]), R"({"function":"ens8v0","setting":"trust","wanted":"trust on","seen":null,)"
                                        R"("why":"the driver was given it, and does not show it"})");
}

}  // namespace
}  // namespace pvc::node
