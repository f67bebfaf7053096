// `fence confirm`, `fence retry`: whose word is taken at all, and who names those to ask.
#include "pvcnoded/control/answers.hpp"

#include "unit/domains/domain_state_fixture.hpp"

namespace pvc::node {
namespace {

namespace json = boost::json;
using protocol::problem;

class confirm_answers : public domain_state_fixture {
protected:
    static control::reply asked(sim_node& node, json::object parameters, std::uint32_t user = 0,
                                const std::string& name = "fence confirm") {
        protocol::request what;
        what.name = name;
        what.parameters = std::move(parameters);
        return control::answers(node.daemon(), node.host).to(what, {user, 77, true});
    }
    protocol::answer later(const control::reply& got, duration limit = 5s) {
        protocol::answer said;
        EXPECT_TRUE(got.later);
        loop.run([&]() -> async::awaitable<void> { said = co_await got.later(loop.clock().now() + limit); });
        return said;
    }
    static void expect_refused(const control::reply& got, problem what, const std::string& text) {
        EXPECT_FALSE(got.later);
        ASSERT_TRUE(got.said.error);
        EXPECT_EQ(got.said.error->what, what);
        EXPECT_EQ(got.said.error->text, text);
    }
};

TEST_F(confirm_answers, only_root_and_the_name_twice) {
    sim_node& hv1 = add_running_host();
    expect_refused(asked(hv1, {{"which", "hv3"}, {"is_off", "hv3"}}, 1000), problem::refused,
                   "only root may say that a node is off");
    expect_refused(asked(hv1, {{"is_off", "hv3"}}), problem::bad_request,
                   "the parameter \"which\" is missing: the name of a node");
    for (const json::value& again : {json::value("hv2"), json::value(), json::value(true)}) {
        expect_refused(asked(hv1, {{"which", "hv3"}, {"is_off", again}}), problem::bad_request,
                       "the parameter \"is_off\" does not name the node again");
    }
    expect_refused(asked(hv1, {{"which", "hv3"}}), problem::bad_request,
                   "the parameter \"is_off\" does not name the node again");
    expect_refused(asked(hv1, {{"which", "hv3"}, {"is_off", "hv3"}, {"although_on", "yes"}}), problem::bad_request,
                   "the parameter \"although_on\" is neither true nor false");
}

TEST_F(confirm_answers, only_root_has_a_fence_tried_again_and_a_hypervisor_names_those_to_ask) {
    sim_node& hv1 = add_running_host();
    expect_refused(asked(hv1, {{"which", "hv3"}}, 1000, "fence retry"), problem::refused,
                   "only root may have a fence tried again");
    expect_refused(asked(hv1, {}, 0, "fence retry"), problem::bad_request,
                   "the parameter \"which\" is missing: the name of a node");
    const auto told = [&](sim_node& node) {
        const auto got = asked(node, {{"which", "hv7"}}, 0, "fence retry");
        protocol::answer said;
        loop.run([&]() -> async::awaitable<void> { said = co_await got.later(loop.clock().now() + 5s); });
        return said.error ? said.error->text : std::string();
    };
    EXPECT_EQ(told(hv1), "hv7: there is no node hv7");
    sim::node_settings settings;
    settings.name = "hv4";
    settings.hypervisor = true;
    sim_node& hv4 = nodes.emplace_back(loop, ensemble, std::move(settings), &hardware);
    hv4.start();
    ASSERT_TRUE(hv4.run_until_ready()) << hv4.log();
    EXPECT_EQ(told(hv4), "this node is no coordinator; ask one: hv1, hv2, hv3");
}

TEST_F(confirm_answers, a_hypervisor_names_the_coordinators) {
    sim::node_settings settings;
    settings.name = "hv4";
    settings.hypervisor = true;
    sim_node& hv4 = nodes.emplace_back(loop, ensemble, std::move(settings), &hardware);
    hv4.start();
    ASSERT_TRUE(hv4.run_until_ready()) << hv4.log();
    const auto got = asked(hv4, {{"which", "hv3"}, {"is_off", "hv3"}});
    ASSERT_TRUE(got.later);
    protocol::answer said;
    loop.run([&]() -> async::awaitable<void> { said = co_await got.later(loop.clock().now() + 5s); });
    ASSERT_TRUE(said.error);
    EXPECT_EQ(said.error->what, problem::not_found);
    EXPECT_EQ(said.error->text, "this node is no coordinator; ask one: hv1, hv2, hv3");
}

TEST_F(confirm_answers, a_hypervisor_says_that_it_judges_nobody) {
    sim::node_settings settings;
    settings.name = "hv4";
    settings.hypervisor = true;
    sim_node& hv4 = nodes.emplace_back(loop, ensemble, std::move(settings), &hardware);
    hv4.start();
    ASSERT_TRUE(hv4.run_until_ready()) << hv4.log();
    const std::string words = "this node is no coordinator; ask one: hv1, hv2, hv3";
    const auto fences = later(asked(hv4, {}, 0, "explain fences"));
    ASSERT_FALSE(fences.error) << fences.error->text;
    EXPECT_EQ(fences.result.at("judges"), false);
    EXPECT_EQ(fences.result.at("judges_not_because"), words.c_str());
    EXPECT_TRUE(fences.result.at("nodes").as_array().empty());
    const auto capacity = later(asked(hv4, {}, 0, "explain capacity"));
    ASSERT_TRUE(capacity.error);
    EXPECT_EQ(capacity.error->text, words);
}

TEST_F(confirm_answers, while_zookeeper_is_away_nothing_is_said_of_nodes) {
    sim_node& hv1 = add_running_host();
    ensemble.put("/nodes/hv3/daemonstate", "dead");
    loop.run_for(10s);
    ensemble.freeze();
    loop.run_for(15s);
    const auto began = loop.clock().now();
    const std::string away =
        "ZooKeeper is away (see status): nothing can be said of nodes here, nor asked for, until it is back; "
        "ask again then, or ask another coordinator";
    for (const char* name : {"fence retry", "fence confirm", "fence probe"}) {
        const auto said = later(asked(hv1, {{"which", "hv3"}, {"is_off", "hv3"}}, 0, name));
        ASSERT_TRUE(said.error) << name;
        EXPECT_EQ(said.error->what, problem::not_found) << name;
        EXPECT_EQ(said.error->text, "hv3: " + away) << name;
    }
    const auto capacity = later(asked(hv1, {}, 0, "explain capacity"));
    ASSERT_TRUE(capacity.error);
    EXPECT_EQ(capacity.error->text, "it cannot be explained now: " + away);
    EXPECT_EQ(loop.clock().now(), began) << "none of them is waited for";
    const auto fences = later(asked(hv1, {}, 0, "explain fences"));
    ASSERT_FALSE(fences.error) << fences.error->text;
    EXPECT_EQ(fences.result.at("judges"), false);
    EXPECT_EQ(fences.result.at("judges_not_because"), "ZooKeeper is away (see status)");
}

// It is found to be gone after some seconds of silence.
TEST_F(confirm_answers, a_question_under_way_ends_with_the_same_words_when_the_session_does) {
    sim_node& hv1 = add_running_host();
    ensemble.put("/nodes/hv3/daemonstate", "run");
    loop.run_for(10s);
    constexpr duration before_it_goes = 500ms;
    const std::string away =
        "ZooKeeper is away (see status): nothing can be said of nodes here, nor asked for, until it is back; "
        "ask again then, or ask another coordinator";
    const std::string late =
        "ZooKeeper did not answer in time: it may be away (see status); ask again (--timeout), or ask another "
        "coordinator";
    for (const char* name : {"explain capacity", "fence probe"}) {
        const std::string before = std::string(name) == "fence probe" ? "hv3: " : "it cannot be explained now: ";
        ensemble.freeze();
        const auto first = later(asked(hv1, {{"which", "hv3"}}, 0, name), 20s);
        ASSERT_TRUE(first.error) << name;
        EXPECT_EQ(first.error->what, problem::too_late) << name;
        EXPECT_EQ(first.error->text, before + late) << name;
        loop.run_for(before_it_goes);
        const auto second = later(asked(hv1, {{"which", "hv3"}}, 0, name), 20s);
        ASSERT_TRUE(second.error) << name;
        EXPECT_EQ(second.error->what, problem::not_found) << name;
        EXPECT_EQ(second.error->text, before + away) << name;
        ensemble.thaw();
        loop.run_for(60s);
    }
}

TEST_F(confirm_answers, a_word_is_logged_with_what_became_of_it) {
    sim_node& hv1 = add_running_host();
    const auto got = asked(hv1, {{"which", "hv7"}, {"is_off", "hv7"}});
    ASSERT_TRUE(got.later);
    protocol::answer said;
    loop.run([&]() -> async::awaitable<void> { said = co_await got.later(loop.clock().now() + 5s); });
    ASSERT_TRUE(said.error);
    loop.run_for(1s);
    EXPECT_EQ(hv1.log().find("hv7 is off, says"), std::string::npos);
    EXPECT_NE(hv1.log().find(" that node hv7 is off: not taken: hv7: there is no node hv7"), std::string::npos)
        << hv1.log();
}

}  // namespace
}  // namespace pvc::node
