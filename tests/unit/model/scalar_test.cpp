#include "pvcnoded/model/scalar.hpp"

#include "pvcnoded/model/json_text.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace pvc::model {
namespace {

TEST(scalar, boolean_words_in_any_case) {
    for (const auto* word : {"y", "YES", "t", "True", "on", "1", " true "}) {
        EXPECT_EQ(parse_boolean(word), true) << word;
    }
    for (const auto* word : {"n", "No", "f", "FALSE", "off", "0"}) {
        EXPECT_EQ(parse_boolean(word), false) << word;
    }
    for (const auto* word : {"", "maybe", "None", "2", "tru"}) {
        EXPECT_EQ(parse_boolean(word), std::nullopt) << word;
    }
    for (const bool value : {true, false}) {
        EXPECT_EQ(parse_boolean(boolean_text(value)), value);
        EXPECT_EQ(parse_maintenance(maintenance_text(value)), value);
    }
    EXPECT_EQ(boolean_text(true), "True");
    EXPECT_EQ(maintenance_text(true), "true");
}

TEST(scalar, zk23_maintenance) {
    for (const auto* word : {"true", "TRUE", "1"}) {
        EXPECT_TRUE(parse_maintenance(word)) << word;
    }
    for (const auto* word : {"false", "", "maybe"}) {
        EXPECT_FALSE(parse_maintenance(word)) << word;
    }
}

TEST(scalar, zk24_unreadable_numbers_fall_back) {
    EXPECT_EQ(integer_or("abc", 0), 0);
    EXPECT_EQ(integer_or("", 7), 7);
    EXPECT_EQ(integer_or("99999999999999999999", 0), 0);
    EXPECT_EQ(integer_or(" 8000\n", 0), 8000);
    EXPECT_EQ(parse_health("None"), std::nullopt);
    EXPECT_EQ(parse_health(""), std::nullopt);
    EXPECT_EQ(parse_health("101"), std::nullopt);
    EXPECT_EQ(parse_health("100"), 100);
    EXPECT_EQ(health_text(std::nullopt), "None");
    EXPECT_EQ(parse_health(health_text(0)), 0);
}

TEST(scalar, floats) {
    EXPECT_EQ(parse_float("0.5"), 0.5);
    EXPECT_EQ(parse_float("12"), 12.0);
    for (const auto* text : {"", "inf", "nan", "1.5x", "1e999", "None"}) {
        EXPECT_EQ(parse_float(text), std::nullopt) << text;
    }
}

TEST(scalar, ac31_load_has_two_decimals_in_shortest_form) {
    const std::pair<double, const char*> rows[] = {{0, "0.0"},     {0.1, "0.1"},   {1.5, "1.5"},     {12.345, "12.35"},
                                                   {100, "100.0"}, {0.004, "0.0"}, {2.05, "2.05"},   {9.999, "10.0"},
                                                   {-1, "0.0"},    {NAN, "0.0"},   {INFINITY, "0.0"}};
    for (const auto& [load, text] : rows) {
        EXPECT_EQ(cpu_load_text(load), text);
        EXPECT_TRUE(parse_float(cpu_load_text(load)));
    }
    EXPECT_TRUE(parse_float(cpu_load_text(std::numeric_limits<double>::max())));
}

TEST(scalar, comma_lists) {
    using list = std::vector<std::string>;
    EXPECT_EQ(parse_comma_list(""), list{});
    EXPECT_EQ(parse_comma_list("None"), list{});
    EXPECT_EQ(parse_comma_list(","), list{});
    EXPECT_EQ(parse_comma_list("None,"), list{});
    EXPECT_EQ(parse_comma_list("vms/a, vms/b,"), (list{"vms/a", "vms/b"}));
    EXPECT_EQ(comma_list_text({"hv1", "hv2"}), "hv1,hv2");
    EXPECT_EQ(parse_comma_list(comma_list_text({"hv1", "hv2"})), (list{"hv1", "hv2"}));
}

TEST(json_text, separators_order_and_escapes) {
    json_object stats;
    stats.add("state", "RUNNING").add("maxmem", 2097152).add("load", 0.5).add("bad", NAN);
    stats.add_raw("list", json_array().add("a").add_raw("1").text());
    EXPECT_EQ(stats.text(), R"({"state": "RUNNING", "maxmem": 2097152, "load": 0.5, "bad": null, "list": ["a", 1]})");
    EXPECT_EQ(json_object().text(), "{}");
    EXPECT_EQ(json_string("a\"b\\c\n\t\x01\x7f"), "\"a\\\"b\\\\c\\n\\t\\u0001\x7f\"");
    EXPECT_EQ(json_string("\xc3\xa4\xe2\x82\xac"), R"("\u00e4\u20ac")");
    EXPECT_EQ(json_string("\xf0\x9f\x98\x80"), R"("\ud83d\ude00")");
    EXPECT_EQ(json_string("a\xff\xc3"), R"("a\ufffd\ufffd")");
    EXPECT_EQ(json_string("\xed\xa0\x80"), R"("\ufffd\ufffd\ufffd")") << "surrogates are not characters";
    EXPECT_EQ(json_string("\xc0\x80"), R"("\ufffd\ufffd")") << "nor overlong forms";
}

// Eight characters are looked at together.
TEST(json_text, a_character_is_told_alike_wherever_it_stands) {
    for (int code = 0; code < 256; ++code) {
        const std::string one(1, static_cast<char>(code));
        const std::string alone = json_string(one);
        for (std::size_t place = 0; place < 18; ++place) {
            const std::string left(place, 'x');
            const std::string right(17 - place, '!');
            EXPECT_EQ(json_string(left + one + right), "\"" + left + alone.substr(1, alone.size() - 2) + right + "\"")
                << code;
        }
    }
}

}  // namespace
}  // namespace pvc::model
