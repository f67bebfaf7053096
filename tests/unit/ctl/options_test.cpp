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
}

TEST(ctl_options, what_is_wrong_is_said) {
    const std::vector<std::pair<std::vector<std::string>, std::string>> table{
        {{}, "a command is missing; see pvcnodectl --help"},
        {{"vm"}, "unknown command \"vm\"; see pvcnodectl --help"},
        {{"vm", "list", "x"}, "vm list takes no argument"},
        {{"vm", "show"}, "vm show takes one argument: NAME|UUID"},
        {{"vm", "show", "a", "b"}, "vm show takes one argument: NAME|UUID"},
        {{"fo\x1bo"}, "unknown command \"fo?o\"; see pvcnodectl --help"},
        {{"status", "--fast"}, "unknown option \"--fast\"; see pvcnodectl --help"},
        {{"status", "--socket"}, "--socket takes a value; see pvcnodectl --help"},
        {{"status", "--timeout", "0"}, "--timeout takes a number of seconds from 1 to 60"},
        {{"status", "--timeout", "soon"}, "--timeout takes a number of seconds from 1 to 60"},
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
                                                                                       {"daemon", "-h"}}) {
        const auto got = parse_options(words);
        EXPECT_EQ(got.problem, "");
        EXPECT_TRUE(got.help.starts_with("Usage: pvcnodectl [OPTION...] ")) << got.help;
        EXPECT_FALSE(got.help.starts_with("Usage: pvcnodectl [OPTION...] COMMAND"));
    }
}

}  // namespace
}  // namespace pvc::ctl
