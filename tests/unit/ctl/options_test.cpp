// The command line of pvcnodectl.
#include "pvcnoded/ctl/options.hpp"

#include <gtest/gtest.h>

namespace pvc::ctl {
namespace {

using namespace std::chrono_literals;

TEST(ctl_options, commands) {
    const std::vector<std::pair<std::vector<std::string>, std::string>> table{
        {{"status"}, "status"},
        {{"tasks"}, "tasks"},
        {{"vm", "list"}, "vm list"},
        {{"daemon"}, "daemon"},
        {{"--json", "vm", "list"}, "vm list"},
        {{"vm", "show", "web"}, "vm show"},
        {{"watch"}, "watch"},
        {{"ready"}, "ready"},
        {{"ready", "--wait"}, "ready"},
        {{"config", "show"}, "config show"},
        {{"config", "check"}, "config check"},
        {{"log", "level"}, "log level"},
        {{"log", "follow"}, "log follow"},
        {{"tasks", "cancel", "17"}, "tasks cancel"},
        {{"explain", "primary"}, "explain primary"},
        {{"explain", "flush"}, "explain flush"},
        {{"explain", "networks"}, "explain networks"},
        {{"fence", "list"}, "fence list"},
        {{"fence", "show", "hv3"}, "fence show"},
        {{"fence", "probe", "hv3"}, "fence probe"},
    };
    for (const auto& [words, name] : table) {
        const auto got = parse_options(words);
        EXPECT_EQ(got.problem, "");
        EXPECT_EQ(got.asked.name, name);
        EXPECT_EQ(got.socket, "/run/pvc/pvcnoded.sock");
        EXPECT_EQ(got.asked.deadline, 5s);
    }
    const auto show = parse_options({"vm", "show", "--socket", "/s", "--", "-web"});
    EXPECT_EQ(show.asked.parameters.at("vm").as_string(), "-web");
    EXPECT_EQ(show.socket, "/s");
    EXPECT_EQ(parse_options({"status", "--timeout", "1"}).asked.deadline, 1s);
    EXPECT_TRUE(parse_options({"status", "--json"}).as_json);
    const auto level = parse_options({"log", "level", "debug", "web"});
    EXPECT_EQ(level.asked.parameters.at("level").as_string(), "debug");
    EXPECT_EQ(level.asked.parameters.at("subject").as_string(), "web");
    EXPECT_FALSE(parse_options({"log", "level", "debug"}).asked.parameters.contains("subject"));
    EXPECT_EQ(parse_options({"config", "check", "/f"}).asked.parameters.at("file").as_string(), "/f");
    const auto ready = parse_options({"ready", "--wait", "--timeout", "3600"});
    EXPECT_TRUE(ready.waits);
    EXPECT_EQ(ready.wait_limit, 3600s);
    EXPECT_EQ(ready.asked.deadline, 5s);  // of each question
    const auto cancel = parse_options({"tasks", "--yes", "cancel", "17"});
    EXPECT_EQ(cancel.asked.parameters.at("id").as_int64(), 17);
    EXPECT_TRUE(cancel.is_confirmed);
    EXPECT_FALSE(parse_options({"tasks", "cancel", "17"}).is_confirmed);
    EXPECT_EQ(parse_options({"ready", "--wait"}).wait_limit, 300s);
    EXPECT_EQ(parse_options({"ready", "--timeout", "9"}).asked.deadline, 9s);
}

TEST(ctl_options, a_word_that_a_node_is_off) {
    const auto asked = parse_options({"fence", "confirm", "hv3"});
    EXPECT_EQ(asked.problem, "");
    EXPECT_EQ(asked.asked.name, "fence confirm");
    EXPECT_EQ(asked.asked.parameters, (boost::json::object{{"which", "hv3"}, {"although_on", false}}));
    EXPECT_EQ(asked.asked.deadline, 60s);
    EXPECT_FALSE(asked.is_confirmed);
    const auto by_script =
        parse_options({"fence", "confirm", "--yes-the-node-is-off", "hv3", "hv3", "--although-on", "--timeout", "9"});
    EXPECT_EQ(by_script.problem, "");
    EXPECT_EQ(by_script.asked.parameters,
              (boost::json::object{{"which", "hv3"}, {"is_off", "hv3"}, {"although_on", true}}));
    EXPECT_EQ(by_script.asked.deadline, 9s);
    EXPECT_TRUE(by_script.is_confirmed);
}

TEST(ctl_options, what_is_wrong_is_said) {
    const std::vector<std::pair<std::vector<std::string>, std::string>> table{
        {{}, "a command is missing; see pvcnodectl --help"},
        {{"vm"}, "vm what? vm list, vm show; see pvcnodectl --help"},
        {{"vm", "list", "x"}, "vm list takes no argument"},
        {{"vm", "show"}, "vm show takes one argument: NAME|UUID"},
        {{"vm", "show", "a", "b"}, "vm show takes one argument: NAME|UUID"},
        {{"fo\x1bo"}, "unknown command \"fo?o\"; see pvcnodectl --help"},
        {{"status", "--fast"}, "unknown option \"--fast\"; see pvcnodectl --help"},
        {{"status", "--socket"}, "--socket takes a value; see pvcnodectl --help"},
        {{"status", "--timeout", "0"}, "--timeout takes a number of seconds from 1 to 60"},
        {{"status", "--timeout", "soon"}, "--timeout takes a number of seconds from 1 to 60"},
        {{"ready", "--timeout", "61"}, "--timeout takes a number of seconds from 1 to 60"},
        {{"ready", "--wait", "--timeout", "86401"}, "--timeout takes a number of seconds from 1 to 86400"},
        {{"status", "--wait"}, "--wait is for ready"},
        {{"tasks", "--yes"}, "--yes is for tasks cancel"},
        {{"tasks", "web"}, "tasks takes no argument"},
        {{"tasks", "cancel"}, "tasks cancel takes one argument: ID [--yes]"},
        {{"tasks", "cancel", "web"}, "\"web\" is no number of a task; pvcnodectl tasks shows them"},
        {{"tasks", "cancel", "0"}, "\"0\" is no number of a task; pvcnodectl tasks shows them"},
        {{"tasks", "cancel", "+1"}, "\"+1\" is no number of a task; pvcnodectl tasks shows them"},
        {{"explain"},
         "explain what? explain primary, explain flush, explain networks, explain fences, explain capacity; see "
         "pvcnodectl --help"},
        {{"explain", "flush", "hv1"}, "explain flush takes no argument"},
        {{"fence"},
         "fence what? fence list, fence show, fence probe, fence retry, fence confirm; see pvcnodectl --help"},
        {{"fence", "probe"}, "fence probe takes one argument: NODE"},
        {{"fence", "list", "hv3"}, "fence list takes no argument"},
        {{"fence", "confirm"}, "fence confirm takes one argument: NODE"},
        {{"fence", "confirm", ""}, "fence confirm: an argument is empty: NODE"},
        {{"fence", "confirm", "hv3", "--yes"}, "--yes is for tasks cancel"},
        {{"fence", "confirm", "hv3", "--yes-the-node-is-off"},
         "--yes-the-node-is-off takes a value; see pvcnodectl --help"},
        {{"fence", "confirm", "hv3", "--yes-the-node-is-off", "HV3"}, "--yes-the-node-is-off names another node"},
        {{"fence", "probe", "hv3", "--yes-the-node-is-off", "hv3"}, "--yes-the-node-is-off is for fence confirm"},
        {{"fence", "probe", "hv3", "--although-on"}, "--although-on is for fence confirm"},
        {{"watch", "--json"}, "watch is for people; for programs: status --json"},
        {{"log"}, "log what? log level, log follow; see pvcnodectl --help"},
        {{"log", "follow", "web"}, "log follow takes no argument"},
        {{"log", "level", "debug", "web", "db"}, "log level takes at most 2 arguments: [LEVEL [SUBJECT]]"},
        {{"config", "check", "a", "b"}, "config check takes at most 1 argument: [FILE]"},
        {{"config", "check", ""}, "config check: an argument is empty: [FILE]"},
        {{"vm", "show", ""}, "vm show: an argument is empty: NAME|UUID"},
    };
    for (const auto& [words, problem] : table) {
        EXPECT_EQ(parse_options(words).problem, problem);
    }
}

TEST(ctl_options, each_command_has_its_help) {
    EXPECT_NE(parse_options({"--help"}).help.find("vm show NAME|UUID"), std::string::npos);
    for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{{"status", "--help"},
                                                                                       {"tasks", "-h"},
                                                                                       {"vm", "list", "--help"},
                                                                                       {"--help", "vm", "show"},
                                                                                       {"daemon", "-h"},
                                                                                       {"watch", "-h"},
                                                                                       {"ready", "--wait", "-h"},
                                                                                       {"config", "check", "-h"},
                                                                                       {"config", "show", "-h"},
                                                                                       {"log", "level", "-h"},
                                                                                       {"tasks", "cancel", "-h"},
                                                                                       {"explain", "flush", "-h"},
                                                                                       {"fence", "probe", "-h"},
                                                                                       {"fence", "confirm", "-h"},
                                                                                       {"log", "follow", "-h"}}) {
        const auto got = parse_options(words);
        EXPECT_EQ(got.problem, "");
        EXPECT_TRUE(got.help.starts_with("Usage: pvcnodectl [OPTION...] ")) << got.help;
        EXPECT_FALSE(got.help.starts_with("Usage: pvcnodectl [OPTION...] COMMAND"));
    }
}

}  // namespace
}  // namespace pvc::ctl
