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
    const std::string tree = R"({"tasks":[{"depth":0,"name":"main","age_s":10,"waits_for":null,"locks":[]},
        {"depth":1,"name":"a","age_s":1,"waits_for":"b","waits_since_s":0.5,"at_most_s":4.5,"is_idle":false,
        "locks":["/x"]}],"is_complete":true})";
    EXPECT_EQ(shown("tasks", tree),
              "main  (10.0 s)\n  a  (1.0 s)  waits for b since 0.5 s, at most 4.5 s more  holds /x\n");
}

// A daemon of another version, or one that lies: something is shown, and nothing drives the terminal.
TEST(ctl_tables, anything_is_shown) {
    for (const std::string command : {"status", "tasks", "vm list", "vm show", "daemon", "other"}) {
        for (const std::string json :
             {"{}",
              R"({"tasks":[1,{"depth":-1},{"depth":1e300}],"machines":[null,{}],"machine":[],"node":"a\u001b[2J\nb"})",
              R"({"uptime_s":-1,"phase":3,"heartbeat":{"age_s":1e300},"zookeeper":[],"subjects":[{"lines":[1]},2]})"}) {
            const auto text = shown(command, json);
            EXPECT_EQ(text.find('\x1b'), std::string::npos) << text;
        }
    }
}

}  // namespace
}  // namespace pvc::ctl
