// The form of messages (config.md 2): whole lines, secrets, long and strange values.
#include "config_test_support.hpp"

#include "pvcnoded/config/secret.hpp"

#include <fmt/format.h>

#include <concepts>
#include <ostream>

namespace pvc::config::test {
namespace {

template <class T>
concept streamable = requires(std::ostream& out, const T& value) { out << value; };
static_assert(!streamable<secret>);
static_assert(!fmt::is_formattable<secret>::value);

// The three examples of section 2, on lines of their own.
TEST(messages, examples_of_the_specification) {
    const auto from = [](std::string_view text) {
        return messages(load_text(text, "/etc/pvc/pvcnoded.yaml", "pvchv1"));
    };
    auto text = base_with(
        "    fencing:\n      intervals:\n        keepalive_interval: 5\n        fence_intervals: 6\n"
        "        suicide_intervals: 0\n",
        "    intervals:\n      keepalive_interval: abc\n      fence_intervals: 6\n"
        "      suicide_intervals: 0\n    fencing:\n");
    text = edited(text, "\"1.1.1.0/24\"", "\"1.1.1.1/24\"");
    text = edited(text, "    enable_networking: True\n", "");
    EXPECT_EQ(
        from(text),
        (lines{"/etc/pvc/pvcnoded.yaml:4: pvc.functions.enable_networking: missing; expected a boolean",
               "/etc/pvc/pvcnoded.yaml:16: pvc.cluster.networks.upstream.network: host bits set; expected an IPv4 "
               "network such as 1.1.1.0/24, got 1.1.1.1/24 (string)",
               "/etc/pvc/pvcnoded.yaml:44: pvc.system.intervals.keepalive_interval: not an integer; expected an "
               "integer from 1 to 3600, got \"abc\" (string)"}));
}

TEST(messages, list_items_by_number) {
    EXPECT_EQ(
        messages(load(base_with("vfcount: 7", "vfcount: 1025"))),
        lines{"f:80: pvc.system.configuration.networking.sriov_device[0].vfcount: out of range; expected an integer "
              "from 0 to 1024, got 1025 (integer)"});
    EXPECT_EQ(messages(load(base_with("      - pvchv2\n", "      - [a]\n"))),
              lines{"f:12: pvc.cluster.coordinators[1]: not a string; expected a host name, an IPv4 address or [IPv6], "
                    "each optionally with :port, got [...] (sequence)"});
}

TEST(messages, passwords_are_never_echoed) {
    for (const auto* pass : {"[hunter2]", "{a: hunter2}", "\"hunter2\\0\""}) {
        const std::string type = pass[0] == '[' ? "sequence" : pass[0] == '{' ? "mapping" : "string";
        for (const auto* old_pass : {"pass: Passw0rd\n", "pass: pvcdnsPassw0rd\n"}) {
            const auto got = messages(
                load(base_with("        " + std::string(old_pass), "        pass: " + std::string(pass) + "\n")));
            ASSERT_EQ(got.size(), 1U);
            EXPECT_EQ(got[0].find("hunter2"), std::string::npos);
            EXPECT_TRUE(got[0].ends_with("got a value of type " + type)) << got[0];
        }
    }
    EXPECT_EQ(messages(load(base_with("        pass: pvcdnsPassw0rd\n", "        pass: ''\n"))),
              lines{"f:35: pvc.coordinator.dns.database.pass: empty; expected a non-empty string, got a value of type "
                    "string"});
    // Nor the value of a mistyped or repeated key.
    const auto got = load(
        base_with("        pass: Passw0rd\n", "        pass: hunter2\n        pass: hunter2\n        pas: hunter2\n"));
    for (const auto& message : messages(got)) {
        EXPECT_EQ(message.find("hunter2"), std::string::npos) << message;
    }
    EXPECT_EQ(got.diagnostics.size(), 2U);
    for (const auto& [name, value] : settings(got)) {
        EXPECT_EQ(value.find("hunter2"), std::string::npos) << name;
        EXPECT_EQ(value.find("assw0rd"), std::string::npos) << name;
    }
}

TEST(messages, values_are_one_printable_line) {
    EXPECT_EQ(printable("plain \xc3\xa4"), "plain \xc3\xa4");
    EXPECT_EQ(printable("a\nb\x1b[0m\x7f"), "a\\x0ab\\x1b[0m\\x7f");
    EXPECT_EQ(printable(std::string(80, 'x')), std::string(80, 'x'));
    EXPECT_EQ(printable(std::string(81, 'x')), std::string(80, 'x') + "...");
    EXPECT_EQ(printable(std::string(79, 'x') + "\xc3\xa4y"), std::string(79, 'x') + "\xc3\xa4...");
    const auto got = load(base_with("user: admin", "user: \"two\\nlines\""));
    EXPECT_EQ(settings(got)["ipmi_user"], "two\\x0alines");
}

TEST(messages, levels) {
    const diagnostic fatal{severity::fatal, "f", 3, "x; expected y"};
    const diagnostic error{severity::error, "f", 3, "x; expected y"};
    const diagnostic warning{severity::warning, "f", 0, "x; expected y"};
    EXPECT_EQ(fatal.message(), "f:3: x; expected y");
    EXPECT_EQ(error.message(), "warning: f:3: x; expected y");
    EXPECT_EQ(warning.message(), "warning: f: x; expected y");
    EXPECT_EQ(error.located(), "f:3: x; expected y");
}

TEST(messages, order_is_that_of_lines) {
    diagnostics problems("f");
    EXPECT_FALSE(problems.has_fatal());
    problems.add(severity::warning, 5, "c");
    problems.add(severity::fatal, 2, "a");
    problems.add(severity::warning, 5, "d");
    problems.add(severity::warning, 2, "b");
    EXPECT_TRUE(problems.has_fatal());
    std::string order;
    for (const auto& each : problems.take()) {
        order += each.text;
    }
    EXPECT_EQ(order, "abcd");
}

// Section 2's form, for every message that any single broken line of B produces.
TEST(messages, every_message_has_the_form) {
    std::size_t seen = 0;
    for (std::size_t at = base().find(": "); at != std::string::npos; at = base().find(": ", at + 1)) {
        for (const auto* value : {"[]", "{a: b}", "''", "-", "!!null x", "99999999"}) {
            auto text = base();
            const auto end = text.find('\n', at);
            text.replace(at + 2, end - at - 2, value);
            for (const auto& each : load(text).diagnostics) {
                EXPECT_TRUE(each.message().starts_with(each.level == severity::fatal ? "f:" : "warning: f:"));
                EXPECT_NE(each.text.find("; expected "), std::string::npos) << each.text;
                EXPECT_TRUE(each.text.starts_with("pvc.") || each.text.starts_with("not valid YAML")) << each.text;
                ++seen;
            }
        }
    }
    EXPECT_GT(seen, 200U);
}

TEST(messages, printable_is_short_and_obeyed_by_no_terminal) {
    EXPECT_EQ(printable("a\x1b\r\x7f"), "a\\x1b\\x0d\\x7f");
    EXPECT_EQ(printable("\xc2\x9b"
                        "2J\xc2\xa0"),
              "\\x9b2J\xc2\xa0");
    const std::string front(80, 'x');
    EXPECT_EQ(printable(front), front);
    EXPECT_EQ(printable(front + "y"), front + "...");
    // A host name from the environment need not be UTF-8.
    EXPECT_LT(printable(std::string(1000, '\x80')).size(), 100U);
}

TEST(messages, a_host_name_stays_on_its_line) {
    auto text = base();
    text.erase(text.find("  node: "), text.find('\n', text.find("  node: ")) + 1 - text.find("  node: "));
    const auto got = load_text(text, "f", "hv\r\n1" + std::string(5000, '\x91'));
    ASSERT_FALSE(got.diagnostics.empty());
    for (const auto& each : got.diagnostics) {
        EXPECT_EQ(each.text.find_first_of("\r\n"), std::string::npos);
        EXPECT_LT(each.text.size(), 300U);
    }
}

}  // namespace
}  // namespace pvc::config::test
