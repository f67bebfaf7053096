// What a simulated daemon answers, at any moment of its life, also while nothing else does.
#include "pvcnoded/control/answers.hpp"

#include "unit/domains/domain_fixture.hpp"

#include <boost/json/serialize.hpp>

#include <map>
#include <set>

namespace pvc::node {
namespace {

namespace json = boost::json;

class control_answers : public domain_test {
protected:
    static protocol::answer ask(sim_node& node, const std::string& name, const std::string& machine = {}) {
        protocol::request what;
        what.name = name;
        if (!machine.empty()) {
            what.parameters["vm"] = machine;
        }
        return control::answers(node.daemon(), node.host).to(what);
    }
    static std::string text(const json::value& of) { return {of.as_string().data(), of.as_string().size()}; }
};

TEST_F(control_answers, status_of_a_node_that_runs) {
    sim_node& hv1 = add_running_host();
    pass(12s);
    auto said = ask(hv1, "status");
    ASSERT_FALSE(said.error);
    json::object& out = said.result;
    EXPECT_EQ(out.at("node"), "hv1");
    EXPECT_EQ(out.at("state"), "running");
    EXPECT_EQ(out.at("implementation"), "pvcnoded 0, build simulated");
    EXPECT_EQ(out.at("phase").at("number"), 13);
    EXPECT_EQ(out.at("schema_version"), schema);
    EXPECT_LT(out.at("heartbeat").at("age_s").as_double(), 6.0);
    EXPECT_EQ(out.at("zookeeper").at("state"), "connected");
    EXPECT_TRUE(out.at("zookeeper").at("outage_s").is_null());
    EXPECT_GE(out.at("uptime_s").as_double(), 12.0);
}

TEST_F(control_answers, status_while_zookeeper_is_away) {
    sim_node& hv1 = add_running_host();
    ensemble.freeze();
    pass(20s);
    auto said = ask(hv1, "status");
    ASSERT_FALSE(said.error);
    EXPECT_NE(said.result.at("zookeeper").at("state"), "connected");
    EXPECT_GT(said.result.at("heartbeat").at("age_s").as_double(), 14.0);
    ensemble.thaw();
}

// As soon as it can be asked, and at every moment up to its end: asking changes nothing, and fails never.
TEST_F(control_answers, at_any_moment_from_start_to_stop) {
    define_running();
    sim_node& hv1 = add_host();
    hv1.start();
    std::set<std::string> states;
    const auto ask_all = [&] {
        if (!hv1.daemon().can_be_asked().value()) {
            return;
        }
        for (const std::string name : {"status", "tasks", "vm list", "daemon"}) {
            auto said = ask(hv1, name);
            if (name == "status") {
                states.insert(text(said.result.at("state")));
            }
            EXPECT_TRUE(!said.error || said.error->what == protocol::problem::not_found);
            EXPECT_TRUE(protocol::parse_answer([&] {
                said.id = 1;
                auto line = protocol::encode(said);
                line.pop_back();
                return line;
            }()));
        }
    };
    loop.run_until([&] {
        ask_all();
        return hv1.is_ready();
    });
    pass(6s);
    ask_all();
    hv1.terminate();
    loop.run_until([&] {
        ask_all();
        return hv1.exit_status.has_value();
    });
    ask_all();
    EXPECT_EQ(states, (std::set<std::string>{"starting", "running", "stopping"}));
    EXPECT_EQ(hv1.exit_status, 0);
}

// A subject that is added later shows without a change of what answers.
class talkative final : public core::subject, public core::reporter {
public:
    [[nodiscard]] std::string_view name() const override { return "weather"; }
    void report(std::vector<std::string>& lines) const override { lines.emplace_back("weather: it rains"); }
};

TEST_F(control_answers, a_subject_that_is_added_is_told_of) {
    sim_node& hv1 = add_host();
    hv1.plug_in = [](assembly& all) {
        all.make = [before = std::move(all.make)](core::node_context& context) {
            auto made = before(context);
            made.push_back(std::make_unique<talkative>());
            return made;
        };
    };
    hv1.start();
    ASSERT_TRUE(hv1.run_until_ready());
    auto said = ask(hv1, "status");
    const std::string subjects = json::serialize(said.result.at("subjects"));
    EXPECT_NE(subjects.find(R"({"name":"weather","lines":["it rains"]})"), std::string::npos) << subjects;
    EXPECT_NE(subjects.find(R"("name":"domains")"), std::string::npos) << subjects;
    EXPECT_NE(subjects.find(R"("name":"role")"), std::string::npos) << subjects;
}

TEST_F(control_answers, tasks_as_the_tree_has_them) {
    sim_node& hv1 = add_running_host();
    pass(2s);
    auto said = ask(hv1, "tasks");
    EXPECT_EQ(said.result.at("is_complete"), true);
    std::map<std::string, json::object> by_name;
    for (const auto& one : said.result.at("tasks").as_array()) {
        by_name.emplace(text(one.at("name")), one.as_object());
    }
    ASSERT_TRUE(by_name.contains("watchdog"));
    const auto& watchdog = by_name.at("watchdog");
    EXPECT_EQ(watchdog.at("waits_for"), "the next watchdog ping");
    EXPECT_LE(watchdog.at("at_most_s").as_double(), 10.0);
    EXPECT_EQ(watchdog.at("is_idle"), false);
    ASSERT_TRUE(by_name.contains("stop request"));
    EXPECT_EQ(by_name.at("stop request").at("is_idle"), true);
}

TEST_F(control_answers, a_virtual_machine_and_what_it_waits_for) {
    sim_node& hv1 = add_running_host();
    define_running();
    pass(6s);
    auto listed = ask(hv1, "vm list");
    ASSERT_FALSE(listed.error);
    ASSERT_EQ(listed.result.at("machines").as_array().size(), 1U);
    const auto& web = listed.result.at("machines").at(0).as_object();
    EXPECT_EQ(web.at("name"), "web");
    EXPECT_EQ(text(web.at("uuid")), to_text(u1));
    EXPECT_EQ(web.at("state"), "start");
    EXPECT_EQ(web.at("node"), "hv1");
    EXPECT_EQ(web.at("is_listed"), true);
    EXPECT_TRUE(web.at("operation").is_null());
    set("shutdown");
    pass(1s);
    for (const auto& name : {std::string("web"), to_text(u1)}) {
        auto shown = ask(hv1, "vm show", name);
        ASSERT_FALSE(shown.error);
        const auto& one = shown.result.at("machine").as_object();
        EXPECT_EQ(one.at("state"), "shutdown");
        ASSERT_TRUE(one.at("operation").is_object()) << json::serialize(one);
        EXPECT_NE(text(one.at("operation").at("waits_for")), "");
        EXPECT_GT(one.at("operation").at("answers").as_array().size(), 0U);
    }
    EXPECT_EQ(ask(hv1, "vm show", "other").error->what, protocol::problem::not_found);
    EXPECT_EQ(ask(hv1, "vm show").error->what, protocol::problem::bad_request);
    EXPECT_EQ(ask(hv1, "reboot").error->what, protocol::problem::unknown_request);
}

TEST_F(control_answers, a_node_without_hypervisor_has_no_virtual_machines) {
    sim_node& hv1 = add_running();
    EXPECT_EQ(ask(hv1, "vm list").error->what, protocol::problem::not_found);
    EXPECT_EQ(ask(hv1, "vm show", "web").error->what, protocol::problem::not_found);
}

TEST(control_process, memory_is_read_of_the_status_file) {
    using control::parse_process_status;
    const control::process_memory expected{.resident_kib = 14000, .highest_resident_kib = 15000, .private_kib = 3000};
    EXPECT_EQ(parse_process_status("Name:\tx\nVmHWM:\t   15000 kB\nVmRSS:\t   14000 kB\nRssAnon:\t 3000 kB\n"),
              expected);
    EXPECT_EQ(parse_process_status(""), control::process_memory());
    EXPECT_EQ(parse_process_status("VmRSS: -1 kB\nVmRSS: many kB\nVmRSS:\nVmHWM: 3\n"), control::process_memory());
}

}  // namespace
}  // namespace pvc::node
