// What a simulated daemon answers, at any moment of its life, also while nothing else does.
#include "pvcnoded/control/answers.hpp"

#include "pvcnoded/core/log_follower.hpp"
#include "unit/domains/domain_state_fixture.hpp"

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
        return control::answers(node.daemon(), node.host).to(what).said;
    }
    static protocol::answer level(sim_node& node, const std::string& wanted, const std::string& subject = {},
                                  bool is_root = true) {
        protocol::request what;
        what.name = "log level";
        if (!wanted.empty()) {
            what.parameters["level"] = wanted;
        }
        if (!subject.empty()) {
            what.parameters["subject"] = subject;
        }
        const control::asker who{is_root ? 0U : 1000U, 77, is_root};
        return control::answers(node.daemon(), node.host).to(what, who).said;
    }
    static logger& log_of(sim_node& node) { return node.daemon().context().log; }
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
        for (const std::string name : {"status", "tasks", "vm list", "daemon", "ready", "config show", "log level"}) {
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

TEST_F(control_answers, the_level_of_the_log_goes_back_by_itself) {
    sim_node& hv1 = add_running_host();
    EXPECT_EQ(json::serialize(level(hv1, "").result), R"({"configured":"info","set":[]})");
    log_of(hv1).debug("unseen");
    auto said = level(hv1, "debug");
    ASSERT_FALSE(said.error);
    EXPECT_EQ(json::serialize(said.result),
              R"({"configured":"info","set":[{"subject":null,"level":"debug","left_s":3.6E3}]})");
    log_of(hv1).debug("seen");
    pass(59min);
    log_of(hv1).debug("still seen");
    pass(2min);
    log_of(hv1).debug("unseen again");
    pass(1s);
    EXPECT_TRUE(hv1.logged("the log level is debug for 60 min, by user 0 (process 77)"));
    EXPECT_TRUE(hv1.logged("debug: seen"));
    EXPECT_TRUE(hv1.logged("debug: still seen"));
    EXPECT_FALSE(hv1.logged("unseen"));
    EXPECT_EQ(hv1.times_logged("the log level debug is over"), 1U);
    EXPECT_EQ(json::serialize(level(hv1, "").result), R"({"configured":"info","set":[]})");
}

TEST_F(control_answers, the_level_of_one_subject) {
    sim_node& hv1 = add_running_host();
    ASSERT_FALSE(level(hv1, "error").error);
    ASSERT_FALSE(level(hv1, "debug", "web").error);
    log_of(hv1).info("of all");
    log_of(hv1).warning(message::start_degraded, "of all");
    log_of(hv1).debug("of one", "web");
    log_of(hv1).debug("of another", "db");
    ASSERT_FALSE(level(hv1, "default").error);
    log_of(hv1).info("of all again");
    pass(1s);
    EXPECT_FALSE(hv1.logged("info: of all\n"));
    EXPECT_FALSE(hv1.logged("warning: of all"));
    EXPECT_TRUE(hv1.logged("debug: web - of one"));
    EXPECT_FALSE(hv1.logged("of another"));
    EXPECT_TRUE(hv1.logged("info: of all again"));
    EXPECT_TRUE(hv1.logged("the log level is taken back, by user 0 (process 77)"));
    // Over a new attempt and its configuration: what is set stays.
    EXPECT_EQ(level(hv1, "").result.at("set").as_array().size(), 1U);
}

TEST_F(control_answers, what_cannot_be_set_is_said) {
    sim_node& hv1 = add_running_host();
    using protocol::problem;
    EXPECT_FALSE(level(hv1, "", "", false).error);  // may look
    EXPECT_EQ(level(hv1, "debug", "", false).error->what, problem::refused);
    EXPECT_EQ(level(hv1, "default", "", false).error->what, problem::refused);
    EXPECT_EQ(level(hv1, "loud").error->text, "the level is \"loud\", not error, warning, info, debug or default");
    EXPECT_EQ(level(hv1, "", "web").error->what, problem::bad_request);
    EXPECT_EQ(level(hv1, "debug", std::string(65, 'x')).error->what, problem::bad_request);
    EXPECT_EQ(level(hv1, "default").error->what, problem::not_found);
    const control::asker root{0, 77, true};
    for (const auto& [name, value] : {std::pair<std::string, boost::json::value>("subject", 7), {"subjet", "web"}}) {
        protocol::request slip;
        slip.name = "log level";
        slip.parameters = {{"level", "error"}, {name, value}};
        const auto said = control::answers(hv1.daemon(), hv1.host).to(slip, root).said;
        EXPECT_TRUE(said.error && said.error->what == problem::bad_request) << "not for all: " << name;
    }
    for (std::size_t i = 0; i < core::log_levels::settings_max; ++i) {
        EXPECT_FALSE(level(hv1, "debug", "m" + std::to_string(i)).error);
    }
    EXPECT_EQ(level(hv1, "debug").error->what, problem::busy);
    EXPECT_FALSE(level(hv1, "info", "m3").error);  // one that is set can be changed
}

TEST_F(control_answers, who_follows_the_log_is_told_what_was_missed) {
    sim_node& hv1 = add_running_host();
    protocol::request what;
    what.name = "log follow";
    const control::answers all(hv1.daemon(), hv1.host);
    std::vector<control::reply> followers;
    for (int i = 0; i < 4; ++i) {
        followers.push_back(all.to(what));
        ASSERT_TRUE(followers.back().more);
        EXPECT_EQ(json::serialize(followers.back().said.result), R"({"records":[],"missed":0})");
    }
    const auto fifth = all.to(what);
    EXPECT_FALSE(fifth.more);
    EXPECT_EQ(fifth.said.error->what, protocol::problem::busy);
    log_of(hv1).info("first", "web");
    const auto next = [&] {
        json::object told;
        loop.run([&]() -> async::awaitable<void> { told = co_await followers.front().more->next(); });
        return told;
    };
    auto told = next();
    const auto& record = told.at("records").at(0).as_object();
    EXPECT_EQ(record.at("text"), "first");
    EXPECT_EQ(record.at("subject"), "web");
    EXPECT_EQ(record.at("level"), "info");
    EXPECT_GT(record.at("time_us").as_int64(), 0);
    for (int i = 0; i < 3000; ++i) {
        log_of(hv1).info("line " + std::to_string(i));
    }
    std::size_t got = 0;
    std::uint64_t missed = 0;
    while (missed == 0) {
        told = next();
        got += told.at("records").as_array().size();
        missed = told.at("missed").to_number<std::uint64_t>();
    }
    EXPECT_EQ(got, core::log_follower::records_max);
    EXPECT_EQ(got + missed, 3000U);
    log_of(hv1).info(std::string(100'000, 'x'));
    told = next();
    EXPECT_EQ(text(told.at("records").at(0).at("text")).size(), core::log_follower::text_bytes_max);
    followers.clear();
    EXPECT_EQ(hv1.daemon().context().log.followers(), 0U);
}

TEST_F(control_answers, settings_without_passwords) {
    sim_node& hv1 = add_running_host();
    const auto said = ask(hv1, "config show");
    const auto& all = said.result.at("settings").as_object();
    EXPECT_EQ(all.at("node"), "hv1");
    EXPECT_EQ(all.at("ipmi_pass"), "********");
    EXPECT_TRUE(said.result.at("file").is_string());
}

TEST_F(control_answers, figures_of_the_process) {
    sim_node& hv1 = add_running_host();
    pass(1s);
    const auto said = ask(hv1, "daemon");
    EXPECT_TRUE(said.result.at("loop_delay_s").is_null());  // not known here
    EXPECT_TRUE(said.result.at("pool_threads").is_null());
    EXPECT_GT(said.result.at("watches").to_number<int>(), 5);
    EXPECT_EQ(said.result.at("sessions"), 1);
    EXPECT_EQ(json::serialize(said.result.at("log_sinks").at(0)), R"({"name":"stdout","queued":0,"dropped":0})");
    protocol::request what;
    what.name = "daemon";
    const control::answers around(hv1.daemon(), hv1.host,
                                  []() -> control::surroundings { return {2ms, 1500ms, 3, 1}; });
    const auto more = around.to(what).said.result;
    EXPECT_EQ(more.at("loop_delay_s"), 0.002);
    EXPECT_EQ(more.at("highest_loop_delay_s"), 1.5);
    EXPECT_EQ(more.at("pool_threads"), 3);
    EXPECT_EQ(more.at("pool_waiting"), 1);
}

class control_ready : public domain_state_fixture {
protected:
    static std::string reasons(sim_node& node) {
        protocol::request what;
        what.name = "ready";
        const auto said = control::answers(node.daemon(), node.host).to(what).said;
        const std::string all = json::serialize(said.result.at("reasons"));
        EXPECT_EQ(said.result.at("is_ready").as_bool(), all == "[]");
        return all;
    }
};

TEST_F(control_ready, a_node_that_starts_is_silent_or_stops_is_not) {
    sim_node& hv1 = add_host();
    hv1.start();
    EXPECT_TRUE(run_until([&] { return hv1.daemon().can_be_asked().value(); }));
    EXPECT_NE(reasons(hv1).find("the daemon starts: phase S"), std::string::npos) << reasons(hv1);
    EXPECT_NE(reasons(hv1).find("no heartbeat was acknowledged yet"), std::string::npos);
    ASSERT_TRUE(hv1.run_until_ready());
    pass(6s);
    EXPECT_EQ(reasons(hv1), "[]");
    ensemble.freeze();
    pass(16s);
    EXPECT_NE(reasons(hv1).find("ZooKeeper is not connected"), std::string::npos) << reasons(hv1);
    EXPECT_NE(reasons(hv1).find("the last heartbeat was acknowledged 1"), std::string::npos);
    ensemble.thaw();
    pass(30s);
    EXPECT_EQ(reasons(hv1), "[]");
    hv1.terminate();
    EXPECT_NE(reasons(hv1).find("the daemon stops"), std::string::npos);
}

TEST_F(control_ready, while_the_node_is_emptied_and_filled_it_is_not) {
    three_nodes_two_machines();
    sim_node& hv1 = nodes.front();
    EXPECT_EQ(reasons(hv1), "[]");
    for (const std::string order_word : {"flush", "unflush"}) {
        std::set<std::string> seen;
        order(order_word);
        EXPECT_TRUE(run_until([&] {
            seen.insert(reasons(hv1));
            return word() == (order_word == "flush" ? "flushed" : "ready");
        }));
        pass(5s);
        EXPECT_EQ(reasons(hv1), "[]");
        bool moves = false;
        bool works = false;
        for (const auto& one : seen) {
            moves = moves || one.find(order_word == "flush" ? " moves away" : " moves here") != std::string::npos;
            works = works || one.find(order_word + " of this node is under way") != std::string::npos;
        }
        EXPECT_TRUE(moves && works) << order_word;
    }
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
