// Where metrics are served.
#include "config_test_support.hpp"

namespace pvc::config::test {
namespace {

loaded with_metrics(const std::string& text) {
    return load(base_with("      logging:\n", "      metrics:\n" + text + "      logging:\n"));
}

TEST(metrics_keys, off_unless_there_is_a_port) {
    EXPECT_EQ(settings(load(base()))["metrics_port"], "none");
    EXPECT_EQ(load(base()).config->metrics.port, std::nullopt);
    const auto none = with_metrics("        port: None\n");
    EXPECT_EQ(messages(none), lines{});
    EXPECT_EQ(none.config->metrics.port, std::nullopt);
    const auto some = with_metrics("        port: 9711\n");
    EXPECT_EQ(messages(some), lines{});
    EXPECT_EQ(some.config->metrics.port, 9711);
    EXPECT_EQ(settings(some)["metrics_address"], "127.0.0.1");
}

TEST(metrics_keys, an_address_of_either_family) {
    for (const auto* text : {"0.0.0.0", "10.0.0.1", "\"::1\"", "\"::\""}) {
        const auto got = with_metrics("        port: 9711\n        address: " + std::string(text) + "\n");
        EXPECT_EQ(messages(got), lines{}) << text;
    }
}

TEST(metrics_keys, what_is_wrong_is_one_line) {
    const std::string port = "pvc.system.configuration.metrics.port: ";
    const std::string address = "pvc.system.configuration.metrics.address: ";
    const std::string keys = "        port: 9711\n        address: ";
    const std::vector<std::pair<std::string, std::string>> bad{
        {"        port: 0\n", port + "out of range; expected an integer from 1 to 65535 or None, got 0 (integer)"},
        {"        port: 65536\n",
         port + "out of range; expected an integer from 1 to 65535 or None, got 65536 (integer)"},
        {keys + "localhost\n", address + "not an address; expected an IPv4 or IPv6 address, got localhost (string)"},
        {keys + "10.0.0\n", address + "not an address; expected an IPv4 or IPv6 address, got 10.0.0 (string)"},
        {keys + "10.0.0.1/8\n", address + "not an address; expected an IPv4 or IPv6 address, got 10.0.0.1/8 (string)"},
        {keys + "'[::1]'\n", address + "not an address; expected an IPv4 or IPv6 address, got [::1] (string)"},
        {"        address: 10.0.0.1\n", address + "nothing listens there; expected port beside it, got none"},
        {"        prot: 9711\n", "pvc.system.configuration.metrics.prot: unknown key"},
    };
    for (const auto& [text, message] : bad) {
        const auto said = messages(with_metrics(text));
        ASSERT_EQ(said.size(), 1U) << text;
        EXPECT_NE(said.front().find(message), std::string::npos) << said.front();
    }
}

}  // namespace
}  // namespace pvc::config::test
