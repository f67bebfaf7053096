// vm-domains.md 8.2, 10, 11; cases D87, D89 to D93, D98, AC41.
#include "pvcnoded/model/domain_payloads.hpp"

#include "pvcnoded/base/utf8.hpp"
#include "sample_domain.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

namespace pvc::model {
namespace {

using namespace std::string_literals;

domain_xml parsed_xml(std::string_view text) {
    auto view = parse_domain_xml(text);
    EXPECT_TRUE(view);
    return view ? *std::move(view) : domain_xml{};
}

guest_figures sample_figures() {
    guest_figures figures;
    figures.maximum_memory_kib = 2097152;
    figures.memory_kib = 2097152;
    figures.vcpus = 2;
    figures.cpu_time_ns = 48772617035;
    figures.memory = {
        {"actual", 2097152}, {"swap_in", 0}, {"unused", 1048576}, {"last_update", 1700000000}, {"rss", 1048576}};
    figures.cpu_user_ns = 5540000000;
    figures.cpu_system_ns = 6460000000;
    figures.blocks = {{"hdc", 9, 9, 9, 9, 9}, {"sda", 10, 40960, 3, 12288, -1}};
    figures.interfaces = {{"vnet0", 1, 2, 3, 4, 5, 6, 7, 8}, {"macvtap0", 9, 9, 9, 9, 9, 9, 9, 9}};
    return figures;
}

TEST(domain_stats, D98_AC41_one_disk_two_interfaces_and_the_order_of_keys) {
    EXPECT_EQ(
        domain_stats_text(sample_figures(), parsed_xml(live_domain)),
        R"({"state": "RUNNING", "maxmem": 2097152, "livemem": 2097152, "cpus": 2, "cputime": 48772617035, )"
        R"("mem_stats": {"actual": 2097152, "swap_in": 0, "unused": 1048576, "last_update": 1700000000, "rss": 1048576}, )"
        R"("cpu_stats": {"cpu_time": 48772617035, "user_time": 5540000000, "system_time": 6460000000}, )"
        R"("disk_stats": [{"name": "vms/web_sda", "rd_req": 10, "rd_bytes": 40960, "wr_req": 3, "wr_bytes": 12288, "err": -1}], )"
        R"("net_stats": [{"name": "vnet0", "bridge": "vmbr100", "rd_bytes": 1, "rd_packets": 2, "rd_errors": 3, "rd_drops": 4, )"
        R"("wr_bytes": 5, "wr_packets": 6, "wr_errors": 7, "wr_drops": 8}, )"
        R"({"name": "vnet1", "bridge": "brcluster", "rd_bytes": 0, "rd_packets": 0, "rd_errors": 0, "rd_drops": 0, )"
        R"("wr_bytes": 0, "wr_packets": 0, "wr_errors": 0, "wr_drops": 0}]})");
}

TEST(domain_stats, what_is_not_known_is_zero) {
    EXPECT_EQ(domain_stats_text({}, parsed_xml(domain_with("<disk><source file='/a'/><target dev='fda'/></disk>"))),
              R"({"state": "RUNNING", "maxmem": 0, "livemem": 0, "cpus": 0, "cputime": 0, "mem_stats": {}, )"
              R"("cpu_stats": {"cpu_time": 0, "user_time": 0, "system_time": 0}, )"
              R"("disk_stats": [{"name": "/a", "rd_req": 0, "rd_bytes": 0, "wr_req": 0, "wr_bytes": 0, "err": -1}], )"
              R"("net_stats": []})");
}

TEST(domain_stats, the_time_of_processors_only_if_it_is_given) {
    auto figures = sample_figures();
    figures.vcpu_time_ns = 0;
    EXPECT_NE(domain_stats_text(figures, {}).find(R"("system_time": 6460000000, "vcpu_time": 0})"), std::string::npos);
}

TEST(domain_stats, counters_use_all_their_bits_and_names_are_escaped) {
    guest_figures figures;
    figures.cpu_time_ns = std::numeric_limits<std::uint64_t>::max();
    figures.blocks = {{"sda", figures.cpu_time_ns, 0, 0, 0, std::numeric_limits<std::int64_t>::min()}};
    figures.memory = {{"odd \"name\"", 1}};
    const auto text = domain_stats_text(
        figures,
        parsed_xml(domain_with("<disk><source name='p/&quot;\\&#9;\xc3\xa9\xff'/><target dev='sda'/></disk>")));
    EXPECT_NE(text.find(R"("cputime": 18446744073709551615, )"), std::string::npos) << text;
    EXPECT_NE(text.find(R"({"odd \"name\"": 1})"), std::string::npos) << text;
    EXPECT_NE(
        text.find(
            R"({"name": "p/\"\\\t\u00e9\ufffd", "rd_req": 18446744073709551615, "rd_bytes": 0, "wr_req": 0, "wr_bytes": 0, "err": -9223372036854775808})"),
        std::string::npos)
        << text;
}

TEST(console_text, a_name_that_is_no_file_name_has_no_console) {
    using namespace std::string_view_literals;
    for (const auto name : {""sv, "a/b"sv, "."sv, ".."sv, "key\0zz"sv, "two\nlines"sv, "\x1b[31m"sv, "\x7f"sv}) {
        EXPECT_NE(console_name_problem(name), "") << name;
    }
    EXPECT_NE(console_name_problem(std::string(201, 'a')), "");
    // What a terminal may obey although it is no control character of ASCII, and what turns a line around.
    for (const auto* name : {"a\xc2\x9b"
                             "31m",
                             "\xc2\x85",
                             "a\xe2\x80\xae"
                             "b",
                             "\xe2\x81\xa6"
                             "a"}) {
        EXPECT_NE(console_name_problem(name), "") << name;
    }
    for (const auto name : {"web"sv, "..."sv, "a b"sv, "caf\xc3\xa9"sv}) {
        EXPECT_EQ(console_name_problem(name), "") << name;
    }
    EXPECT_EQ(console_name_problem(std::string(200, 'a')), "");
    EXPECT_EQ(console_name_problem("r\xc3\xa9seau \xe2\x80\x93 \xc2\xb5"), "");
}

TEST(console_text, D87_the_last_lines_with_their_newlines) {
    std::string raw;
    for (int line = 1; line <= 1200; ++line) {
        raw += "line " + std::to_string(line) + '\n';
    }
    const auto value = console_text(raw, 1000);
    EXPECT_TRUE(value.starts_with("line 201\n"));
    EXPECT_TRUE(value.ends_with("line 1200\n"));
    EXPECT_EQ(std::ranges::count(value, '\n'), 1000);
    EXPECT_EQ(console_text(raw, 5000), raw);
    EXPECT_EQ(console_text(raw, 0), "");
    EXPECT_EQ(console_text("", 1000), "");
}

TEST(console_text, D93_an_unfinished_line_counts_and_is_included) {
    EXPECT_EQ(console_text("a\nb\nlogin: ", 2), "b\nlogin: ");
    EXPECT_EQ(console_text("login: ", 1), "login: ");
    EXPECT_EQ(console_text("a\n\n\n", 2), "\n\n");
    EXPECT_EQ(console_text("\n", 1), "\n");
}

TEST(console_text, D89_bytes_that_are_no_text_are_replaced) {
    EXPECT_EQ(console_text("\xff\xfe\x41\x0a", 1000), "\xef\xbf\xbd\xef\xbf\xbd"s + "A\n");
    EXPECT_EQ(console_text("caf\xc3\xa9 \xe2\x82\xac \xc3", 9), "caf\xc3\xa9 \xe2\x82\xac \xef\xbf\xbd");
    EXPECT_EQ(console_text("\x1b[31mred\x1b[0m\0\a\n"s, 9), "\x1b[31mred\x1b[0m\0\a\n"s) << "terminals know what to do";
}

// As Python's decode("utf-8", "replace") does it.
TEST(console_text, D89_a_character_that_is_cut_off_is_replaced_once) {
    const std::string bad = "\xef\xbf\xbd";
    EXPECT_EQ(console_text("\xe2\x82\n", 9), bad + "\n");
    EXPECT_EQ(console_text("\xe2\x82", 9), bad);
    EXPECT_EQ(console_text("\xf0\x9f\x98z", 9), bad + "z");
    EXPECT_EQ(console_text("\xf0\x80\x80", 9), bad + bad + bad);
    EXPECT_EQ(console_text("\xed\xa0\x80", 9), bad + bad + bad);
    EXPECT_EQ(console_text("\xe2\xe2\x82\xac", 9), bad + "\xe2\x82\xac");
    EXPECT_EQ(console_text("\xf4\x8f\xbf\xbf \xf4\x90\x80\x80", 9), "\xf4\x8f\xbf\xbf " + bad + bad + bad + bad);
}

TEST(console_text, every_kind_of_newline_becomes_one) {
    EXPECT_EQ(console_text("a\r\nb\rc\n\r\n\rd\r", 99), "a\nb\nc\n\n\nd\n");
    EXPECT_EQ(console_text("a\r\nb\rc\r\n", 2), "b\nc\n");
    EXPECT_EQ(console_text("\r\r\n\n", 99), "\n\n\n");
}

TEST(console_text, D92_whole_lines_within_the_limit) {
    std::string raw;
    for (int line = 0; line < 1000; ++line) {
        raw += std::string(4095, static_cast<char>('a' + line % 26)) + '\n';
    }
    const auto value = console_text(raw, 1000);
    EXPECT_EQ(value.size(), console_value_bytes);
    EXPECT_EQ(value, raw.substr(raw.size() - value.size()));
    const auto one_less = console_text(raw + "x", 1000);
    EXPECT_EQ(one_less.size(), console_value_bytes - 4096 + 1);
    const auto bad = console_text(std::string(console_value_bytes, '\xff') + "\nend\n", 1000);
    EXPECT_EQ(bad, "end\n") << "the limit holds for what is written, not for what was read";
}

// What is read from a long file begins within a line; that line must not be taken for a whole one.
TEST(console_text, the_end_of_a_file_read_with_the_usual_size_gives_whole_lines) {
    std::string raw;
    while (raw.size() < 2 * console_read_bytes) {
        raw += std::string(700, 'a') + "b\r\n";
    }
    const auto value = console_text(std::string_view(raw).substr(raw.size() - console_read_bytes), 1'000'000);
    EXPECT_EQ(value.substr(0, 702), std::string(700, 'a') + "b\n");
    raw.clear();
    while (raw.size() < 2 * console_read_bytes) {
        raw += "\r\n";
    }
    EXPECT_EQ(console_text(std::string_view(raw).substr(raw.size() - console_read_bytes), 10'000'000).size(),
              console_value_bytes);
}

TEST(console_text, a_line_that_is_too_long_is_cut_at_its_front) {
    const std::string old = "old\n";
    EXPECT_EQ(console_text(old + std::string(console_value_bytes + 5, 'x'), 1000),
              std::string(console_value_bytes, 'x'));
    std::string accents;
    for (std::size_t i = 0; i <= console_value_bytes / 2; ++i) {
        accents += "\xc3\xa9";
    }
    for (const std::string& end : {""s, "\n"s, "x"s, "xy\n"s}) {
        const auto value = console_text(old + accents + end, 1000);
        EXPECT_LE(value.size(), console_value_bytes);
        EXPECT_GE(value.size(), console_value_bytes - 1);
        EXPECT_EQ(valid_utf8(value), value);
        EXPECT_TRUE(value.starts_with("\xc3\xa9") && value.ends_with(end));
    }
    EXPECT_EQ(console_text(std::string(10'000'000, 'y'), 1).size(), console_value_bytes);
}

TEST(running_domains, words_that_are_no_uuids_do_no_harm) {
    const auto a = *parse_uuid("8b5c6f2e-0d1a-4c3b-9e7f-00a1b2c3d4e5");
    const auto b = *parse_uuid("00000000-0000-0000-0000-000000000001");
    const auto list = "0 " + to_text(b) + "  x\t" + to_text(a) + '\n';
    EXPECT_TRUE(lists_domain(list, a));
    EXPECT_TRUE(lists_domain(list, b));
    EXPECT_FALSE(lists_domain("0", b));
    EXPECT_TRUE(lists_domain("8B5C6F2E-0D1A-4C3B-9E7F-00A1B2C3D4E5", a)) << "a machine that runs is not overlooked";
    EXPECT_FALSE(lists_domain(to_text(a) + to_text(b), a));
    EXPECT_FALSE(lists_domain("", a));
}

TEST(maximum_downtime, anything_but_a_positive_number_is_300) {
    EXPECT_EQ(maximum_downtime_ms("500"), 500U);
    EXPECT_EQ(maximum_downtime_ms(" 1\n"), 1U);
    EXPECT_EQ(maximum_downtime_ms("9223372036854775807"), 9223372036854775807U);
    for (const char* text : {"", "0", "-1", "None", "300ms", "1.5", "9223372036854775808", "0x10"}) {
        EXPECT_EQ(maximum_downtime_ms(text), 300U) << text;
    }
}

TEST(migration_method, any_other_word_is_none) {
    EXPECT_EQ(parse_migration_method("live"), migration_method::live);
    EXPECT_EQ(parse_migration_method("shutdown"), migration_method::shutdown);
    for (const char* text : {"none", "", "None", "LIVE", "live2", "shut down"}) {
        EXPECT_EQ(parse_migration_method(text), migration_method::none) << text;
    }
}

}  // namespace
}  // namespace pvc::model
