// Answers as people read them.
#include "pvcnoded/ctl/tables.hpp"

#include <gtest/gtest.h>
#include <boost/json/parse.hpp>

namespace pvc::ctl {
namespace {

std::string shown(const std::string& command, const std::string& json, bool coloured = false) {
    return table(command, boost::json::parse(json).as_object(), coloured);
}

const std::string status = R"({"node":"hv1","implementation":"pvcnoded 0","mode":"hypervisor","uptime_s":93784.5,
    "state":"running","phase":{"number":13,"name":"keepalive","age_s":3,"attempt":1},"maintenance":false,
    "role":"client","schema_version":10,"heartbeat":{"age_s":1.25,"interval_s":5,"dead_after_s":30},
    "zookeeper":{"state":"connected","sessions":1,"outage_s":null,"session_age_s":75.0,"reason":null},
    "subjects":[{"name":"weather","lines":["it rains","still"]}]})";

TEST(ctl_tables, status) {
    EXPECT_EQ(shown("status", status),
              "node            hv1\n"
              "version         pvcnoded 0\n"
              "up for          1 d 2 h\n"
              "state           running\n"
              "mode            hypervisor\n"
              "role            client\n"
              "maintenance     off\n"
              "heartbeat       1.2 s ago (every 5 s; dead after 30 s)\n"
              "zookeeper       connected, session open for 1 min 15 s (number 1)\n"
              "schema          10\n"
              "weather         it rains\n"
              "                still\n");
    EXPECT_NE(shown("status", status, true).find("\x1b[32mrunning\x1b[0m"), std::string::npos);
}

TEST(ctl_tables, machines) {
    const std::string list = R"({"machines":[{"uuid":"u","name":"wéb","state":"start","state_age_s":5,"node":"hv1",
        "guest":"executes","operation":{"name":"starting","waits_for":"libvirt","at_most_s":61}},
        {"uuid":"v","name":null,"state":"stop","state_age_s":5,"node":"hv1","guest":null,"operation":null}],
        "is_complete":false})";
    EXPECT_EQ(shown("vm list", list),
              "NAME  STATE  FOR    GUEST     NODE  OPERATION\n"
              "wéb   start  5.0 s  executes  hv1   starting: waits for libvirt, at most 1 min 1 s more\n"
              "v     stop   5.0 s  -         hv1   -\n"
              "(there are more)\n");
}

TEST(ctl_tables, tasks) {
    const std::string tree = R"({"tasks":[{"id":1,"depth":0,"name":"main","age_s":10,"waits_for":null,"locks":[],
        "can_be_cancelled":false},{"id":123,"can_be_cancelled":true,"depth":1,"name":"a","age_s":1,"waits_for":"b","waits_since_s":0.5,"at_most_s":4.5,"is_idle":false,
        "locks":["/x"]}],"is_complete":true})";
    EXPECT_EQ(shown("tasks", tree),
              "      1  main  (10.0 s)\n"
              "    123*   a  (1.0 s)  waits for b since 0.5 s, at most 4.5 s more  holds /x\n");
    const auto tasks = boost::json::parse(tree).as_object();
    EXPECT_EQ(task_name(tasks, 123), "a");
    EXPECT_EQ(task_name(tasks, 2), "");
    EXPECT_EQ(shown("tasks cancel", R"({"id":123,"name":"a","has_ended":true})"), "task 123 (a) has ended\n");
    EXPECT_EQ(shown("tasks cancel", R"({"id":123,"name":"a","has_ended":false})"),
              "task 123 (a) was told to end, and still does\n");
}

// Whatever is explained: facts, then lists.
TEST(ctl_tables, explained) {
    EXPECT_EQ(shown("explain other", R"({"rule":null,"heartbeat_age_s":65.2,"in_transition":false,"coordinators":
        [{"name":"hv2","heartbeat_age_s":2,"is_far":true},{"name":"hv10","heartbeat_age_s":null}],"none":[]})"),
              "rule            -\n"
              "heartbeat age   1 min 5 s\n"
              "in transition   no\n"
              "\ncoordinators:\n"
              "NAME  HEARTBEAT AGE  IS FAR\n"
              "hv2   2.0 s          yes\n"
              "hv10  -              -\n"
              "\nnone:\n(none)\n");
}

TEST(ctl_tables, ready) {
    EXPECT_EQ(shown("ready", R"({"is_ready":true,"reasons":[]})"), "ready\n");
    EXPECT_EQ(shown("ready", R"({"is_ready":false,"reasons":["a","b"]})"),
              "not ready       a\n"
              "                b\n");
    EXPECT_EQ(shown("ready", "{}"), "not ready\n");
}

TEST(ctl_tables, levels_and_settings) {
    EXPECT_EQ(shown("log level", R"({"configured":"info","set":[{"subject":null,"level":"debug","left_s":3599},
                  {"subject":"web","level":"error","left_s":5}]})"),
              "configured      info\n"
              "all             debug, for 59 min 59 s more\n"
              "web             error, for 5.0 s more\n");
    EXPECT_EQ(shown("config show", R"({"file":"/f","settings":{"node":"hv1","ipmi_pass":"********"}})"),
              "node = hv1\nipmi_pass = ********\n");
    EXPECT_EQ(shown("config check", R"({"file":"/f","is_good":false,"remarks":["/f:1: wrong"],"settings":{}})"),
              "/f:1: wrong\n/f: not good\n");
}

TEST(ctl_tables, daemon) {
    EXPECT_EQ(shown("daemon", R"({"implementation":"pvcnoded 0","pid":7,"uptime_s":5,"tasks":9,"tasks_waiting":8,
                  "resident_kib":30,"highest_resident_kib":40,"private_kib":20,"loop_delay_s":0.002,
                  "highest_loop_delay_s":1.5,"pool_threads":2,"pool_waiting":0,"sessions":3,"watches":12,
                  "watch_bytes":400,"log_followers":1,"log_sinks":[{"name":"stdout","queued":1,"dropped":2},
                  {"name":"file","queued":0,"dropped":0}]})"),
              "version         pvcnoded 0\n"
              "process         7\n"
              "up for          5.0 s\n"
              "tasks           9, 8 of them wait\n"
              "memory          30 KiB resident (at most 40), 20 KiB of it private\n"
              "loop            2 ms late in the last second, at most 1500 ms\n"
              "log             stdout: 1 lines wait, 2 lost\n"
              "                file: 0 lines wait, 0 lost\n"
              "log followers   1\n"
              "threads         2, 0 calls wait for one\n"
              "sessions        3\n"
              "watches         12 (400 bytes)\n");
}

TEST(ctl_tables, log_records) {
    const auto result = boost::json::parse(R"({"records":[{"time_us":1700000000123456,"level":"info","subject":"web",
        "text":"a\u001b\nb"},{"level":"error","subject":null,"text":"c"}],"missed":5})")
                            .as_object();
    const std::string text = log_lines(result, false);
    EXPECT_NE(text.find(".123 info    web - a? b\n- error   c\n(5 records were missed: read too slowly)\n"),
              std::string::npos)
        << text;
    EXPECT_EQ(text.substr(0, 8), "2023/11/");
    const std::string lines = log_json_lines(result);
    EXPECT_EQ(std::ranges::count(lines, '\n'), 3);
    EXPECT_TRUE(lines.ends_with("{\"missed\":5}\n"));
}

// Controls of the second set (U+0080 to U+009F), and what turns the direction of a line around.
TEST(ctl_tables, no_name_drives_the_terminal) {
    const std::string name =
        "a\xc2\x9b"
        "2J\xe2\x80\xae"
        "b\xe2\x81\xa6"
        "c\x7f";
    boost::json::object result;
    result["file"] = name;
    result["settings"] = boost::json::object{{name, name}};
    EXPECT_NE(table("config show", result, false).find("a?2J?b?c? = a?2J?b?c?"), std::string::npos)
        << table("config show", result, false);
    const std::string text = json_text(result);
    EXPECT_NE(text.find(R"("file":"a\u009b2J\u202eb\u2066c\u007f")"), std::string::npos) << text;
    EXPECT_EQ(boost::json::parse(text).as_object(), result);
    EXPECT_EQ(log_json_lines({{"records", boost::json::array{boost::json::object{{"text", name}}}}}),
              R"({"text":"a\u009b2J\u202eb\u2066c\u007f"})"
              "\n");
}

TEST(ctl_tables, a_live_page_and_its_screen) {
    const auto head = boost::json::parse(status).as_object();
    const auto none = live_page(head, {}, false);
    EXPECT_EQ(none.find("NAME"), std::string::npos);
    EXPECT_LT(none.find("schema          10\n\n"), none.find("weather         it rains\n"));
    const auto list = boost::json::parse(R"({"machines":[],"is_complete":true})").as_object();
    EXPECT_NE(live_page(head, list, false).find("\nNAME  STATE"), std::string::npos);

    EXPECT_EQ(screen_of("a\nb\n", 24), "\x1b[Ha\x1b[K\nb\x1b[K\n\x1b[J");
    EXPECT_EQ(screen_of("a\nb\nc\nd\n", 4), "\x1b[Ha\x1b[K\nb\x1b[K\n(2 more lines)\x1b[K\n\x1b[J");
    EXPECT_EQ(screen_of("a\nb\n", 0), "\x1b[H(2 more lines)\x1b[K\n\x1b[J");
}

// A daemon of another version, or one that lies: something is shown, and nothing drives the terminal.
TEST(ctl_tables, anything_is_shown) {
    for (const std::string command :
         {"status", "tasks", "vm list", "vm show", "daemon", "ready", "log level", "config show", "config check",
          "absent", "explain flush", "tasks cancel", "other"}) {
        for (
            const std::string json :
            {"{}",
             R"({"tasks":[1,{"depth":-1},{"depth":1e300}],"machines":[null,{}],"machine":[],"node":"a\u001b[2J\nb"})",
             R"({"reasons":[1,"\u001b[2J"],"set":[{"subject":"\u001b[2J"}],"settings":{"\u001b":"\u001b"},"remarks":[{}],
                  "file":"\u001b[2J","log_sinks":[3,{}],"unit":{"sub_state":"\u001b"},"heartbeat":{"age_s":"x"}})",
             R"({"uptime_s":-1,"phase":3,"heartbeat":{"age_s":1e300},"zookeeper":[],"subjects":[{"lines":[1]},2]})"}) {
            const auto text = shown(command, json);
            EXPECT_EQ(text.find('\x1b'), std::string::npos) << text;
            const auto object = boost::json::parse(json).as_object();
            EXPECT_EQ(live_page(object, object, false).find('\x1b'), std::string::npos);
        }
    }
}

}  // namespace
}  // namespace pvc::ctl
