// `tasks cancel`: an operation on a virtual machine is let go of, holds nothing any more, and is looked at anew.
#include "pvcnoded/control/answers.hpp"

#include "unit/domains/domain_send_fixture.hpp"

#include <boost/json/serialize.hpp>

namespace pvc::node {
namespace {

namespace json = boost::json;
using protocol::problem;

class cancel_answers : public send_fixture {
protected:
    static control::reply asked(sim_node& node, const json::value& id, bool is_root = true) {
        protocol::request what;
        what.name = "tasks cancel";
        what.parameters["id"] = id;
        return control::answers(node.daemon(), node.host).to(what, {is_root ? 0U : 1000U, 77, is_root});
    }
    protocol::answer waited(control::reply got, duration limit = 5s) {
        EXPECT_TRUE(got.later);
        protocol::answer said;
        loop.run([&]() -> async::awaitable<void> { said = co_await got.later(loop.clock().now() + limit); });
        return said;
    }
    // The first task whose name begins so; 0: none.
    static std::int64_t number(sim_node& node, std::string_view name) {
        protocol::request what;
        what.name = "tasks";
        const auto said = control::answers(node.daemon(), node.host).to(what).said;
        for (const auto& one : said.result.at("tasks").as_array()) {
            if (std::string_view(one.at("name").as_string()).starts_with(name)) {
                return one.at("id").to_number<std::int64_t>();
            }
        }
        return 0;
    }
    static void expect_refused(const control::reply& got, problem what, const std::string& text) {
        EXPECT_FALSE(got.later);
        ASSERT_TRUE(got.said.error);
        EXPECT_EQ(got.said.error->what, what);
        EXPECT_EQ(got.said.error->text, text);
    }
};

TEST_F(cancel_answers, a_shutdown_is_let_go_of_and_goes_on) {
    sim_node& hv1 = add_running_host();
    define_running();
    pass(6s);
    guest().set_kind(guest_kind::hang);
    set("shutdown");
    pass(2s);
    const auto id = number(hv1, "shut");
    ASSERT_NE(id, 0);
    const auto said = waited(asked(hv1, id));
    ASSERT_FALSE(said.error);
    EXPECT_EQ(said.result.at("has_ended"), true) << json::serialize(said.result);
    EXPECT_EQ(number(hv1, "shut"), 0);
    EXPECT_EQ(state(), "shutdown");  // nothing is written that nobody asked for
    pass(20ms);
    EXPECT_TRUE(hv1.logged(") is cancelled, by user 0 (process 77)"));
    pass(2s);
    EXPECT_GT(number(hv1, "shut"), id) << "the order stands: it is begun anew";
    EXPECT_TRUE(run_until([&] { return state() == "stop"; }, 300s)) << state();
    EXPECT_EQ(locks_left(), 0U);
    EXPECT_TRUE(hv1.is_ready());
}

TEST_F(cancel_answers, a_sender_gives_its_locks_back_and_the_machine_comes_right) {
    a_busy_guest_is_copied();
    sim_node& hv1 = nodes.front();
    ASSERT_FALSE(lock_children(key("/node")).empty());
    const auto id = number(hv1, "send");
    ASSERT_NE(id, 0);
    const auto inside = number(hv1, "machine");
    ASSERT_NE(inside, 0);
    expect_refused(
        asked(hv1, inside), problem::refused,
        "this task may not be cancelled; it is a part of task " + std::to_string(id) + " (send web), which may be");
    const auto said = waited(asked(hv1, id));
    EXPECT_EQ(said.result.at("has_ended"), true);
    EXPECT_EQ(said.result.at("name"), "send web");
    EXPECT_TRUE(lock_children(key("/node")).empty());
    EXPECT_TRUE(lock_children(key("/state")).empty());
    expect_refused(asked(hv1, id), problem::not_found, "there is no task " + std::to_string(id) + " (any more)");
    guest().set_kind(guest_kind::acpi);
    EXPECT_TRUE(run_until([&] { return state() == "start"; }, 300s)) << state();
    pass(2s);
    EXPECT_EQ(locks_left(), 0U);
}

TEST_F(cancel_answers, what_may_not_be_cancelled_is_refused) {
    sim_node& hv1 = add_running_host();
    define_running();
    pass(6s);
    expect_refused(asked(hv1, number(hv1, "watchdog")), problem::refused, "this task may not be cancelled");
    expect_refused(asked(hv1, 999'999), problem::not_found, "there is no task 999999 (any more)");
    for (const json::value& id : {json::value("7"), json::value(0), json::value(-3), json::value(true)}) {
        expect_refused(asked(hv1, id), problem::bad_request, "the parameter \"id\" is missing: the number of a task");
    }
    guest().set_kind(guest_kind::hang);
    set("shutdown");
    pass(2s);
    expect_refused(asked(hv1, number(hv1, "shut"), false), problem::refused,
                   "only root and the user of the daemon may cancel a task");
    EXPECT_NE(number(hv1, "shut"), 0);
    EXPECT_FALSE(hv1.logged("is cancelled"));
}

// What carries out a stored order would be begun again from the key.
TEST_F(cancel_answers, a_flush_is_ended_by_another_order) {
    sim_node& hv1 = add_running_host();
    define_running();
    pass(6s);
    guest().set_kind(guest_kind::hang);
    set("shutdown");
    pass(1s);
    ensemble.put("/nodes/hv1/domainstate", "flush");  // waits for that
    pass(1s);
    const std::string reason =
        "this task may not be cancelled: it carries out the node's stored order; another order ends it: "
        "pvc node ready, or pvc node flush";
    const auto id = number(hv1, "flush");
    ASSERT_NE(id, 0);
    expect_refused(asked(hv1, id), problem::refused, reason);
}

// The answer comes in time also where the end does not.
TEST_F(cancel_answers, what_still_ends_is_said) {
    a_busy_guest_is_copied();
    sim_node& hv1 = nodes.front();
    const auto id = number(hv1, "send");
    ensemble.freeze();  // locks cannot be given back yet
    const auto said = waited(asked(hv1, id), 500ms);
    ASSERT_FALSE(said.error);
    EXPECT_EQ(said.result.at("has_ended"), false);
    EXPECT_EQ(number(hv1, "send"), id);
    const auto again = waited(asked(hv1, id), 100ms);  // who asks once more waits as well
    EXPECT_EQ(again.result.at("has_ended"), false);
    ensemble.thaw();
    EXPECT_TRUE(run_until([&] { return number(hv1, "send") != id; }, 5s));
    EXPECT_TRUE(lock_children(key("/node")).empty());
    guest().set_kind(guest_kind::acpi);
    pass(60s);  // the reference, whose sender went, may give it up
    EXPECT_EQ(locks_left(), 0U);
    EXPECT_TRUE(state() == "start" || state() == "fail") << state();
}

}  // namespace
}  // namespace pvc::node
