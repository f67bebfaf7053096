// How the board of this node is reached, and the cipher suite for all boards (config.md 5.4, 5.8a).
#include "config_test_support.hpp"

namespace pvc::config::test {
namespace {

const std::string ipmi = "pvc.system.fencing.ipmi.";

lines said_of(const std::string& old_line, const std::string& new_line) {
    return messages(load(base_with(old_line, new_line)));
}

TEST(ipmi, cipher_suite) {
    const auto with = [](const std::string& value) {
        return load(
            base_with("        pass: Passw0rd\n", "        pass: Passw0rd\n        cipher_suite: " + value + "\n"));
    };
    for (const auto& [value, wanted] : std::vector<std::pair<std::string, std::optional<int>>>{
             {"3", 3}, {"0", 0}, {"17", 17}, {"None", std::nullopt}}) {
        const auto got = with(value);
        EXPECT_EQ(messages(got), lines{}) << value;
        EXPECT_EQ(got.config->ipmi.cipher_suite, wanted) << value;
    }
    EXPECT_EQ(settings(with("3"))["ipmi_cipher_suite"], "3");
    EXPECT_EQ(settings(load(base()))["ipmi_cipher_suite"], "none");
    for (const char* value : {"18", "-1", "three", "3.5", "[3]"}) {
        const auto got = with(value);
        ASSERT_EQ(messages(got).size(), 1U) << value;
        EXPECT_NE(messages(got)[0].find(ipmi + "cipher_suite: "), std::string::npos) << messages(got)[0];
        EXPECT_NE(messages(got)[0].find("expected an integer from 0 to 17 or None"), std::string::npos);
    }
}

TEST(recovery, overcommit) {
    const auto with = [](const std::string& value) {
        return load(base_with("      directories:\n",
                              "      fencing:\n        overcommit: " + value + "\n      directories:\n"));
    };
    EXPECT_EQ(load(base()).config->fencing.overcommit, 100);
    for (const int value : {10, 80, 150, 1000}) {
        const auto got = with(std::to_string(value));
        EXPECT_EQ(messages(got), lines{}) << value;
        EXPECT_EQ(got.config->fencing.overcommit, value);
        EXPECT_EQ(settings(got)["fencing_overcommit"], std::to_string(value));
    }
    for (const char* value : {"9", "1001", "-1", "much", "1.5"}) {
        const auto got = with(value);
        ASSERT_EQ(messages(got).size(), 1U) << value;
        EXPECT_NE(messages(got)[0].find("pvc.system.configuration.fencing.overcommit: "), std::string::npos)
            << messages(got)[0];
    }
}

// A warning each: the daemon starts, and others cannot fence this node.
TEST(ipmi, what_no_board_can_have) {
    EXPECT_EQ(said_of("host: pvchv1-lom", "host: \"pvchv1 lom\""),
              lines{"warning: f:53: " + ipmi +
                    "host: is neither a host name nor an address: pvchv1 lom, no node could "
                    "fence this one with it; expected a host name or an address"});
    EXPECT_EQ(said_of("user: admin", "user: a23456789-1234567"),
              lines{"warning: f:54: " + ipmi +
                    "user: has 17 bytes, more than the 16 that are possible, no node could "
                    "fence this one with it; expected at most 16 bytes"});
    EXPECT_EQ(said_of("pass: Passw0rd", "pass: \"hunter2\\nhunter2\""),
              lines{"warning: f:55: " + ipmi +
                    "pass: holds a control character, no node could fence this one with it; "
                    "expected at most 20 bytes"});
    const auto got = load(base_with("pass: Passw0rd", "pass: " + std::string(10240, 'x')));
    ASSERT_TRUE(got.config);
    EXPECT_EQ(messages(got), lines{"warning: f:55: " + ipmi +
                                   "pass: has 10240 bytes, more than the 20 that are possible, no node "
                                   "could fence this one with it; expected at most 20 bytes"});
}

}  // namespace
}  // namespace pvc::config::test
