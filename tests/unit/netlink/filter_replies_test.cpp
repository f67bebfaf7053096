// What the kernel says of its packet filter, read: whole answers, and every way in which bytes are none.
#include "pvcnoded/netlink/filter_replies.hpp"

#include "pvcnoded/netlink/replies.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <utility>

namespace pvc::netlink {
namespace {

using namespace model;

// Little builders of what the kernel writes; its numbers are big endian here, lengths of this machine.
template <class T>
std::string native(T value) {
    return {reinterpret_cast<const char*>(&value), sizeof value};
}

template <class T>
std::string big(T value) {
    std::string text = native(value);
    std::ranges::reverse(text);  // this machine is little endian
    return text;
}

std::string part(std::uint16_t type, const std::string& value) {
    std::string text = native(static_cast<std::uint16_t>(4 + value.size())) + native(type) + value;
    text.resize((text.size() + 3) / 4 * 4);
    return text;
}

std::string word(std::uint16_t type, const std::string& value) {
    return part(type, value + '\0');
}

std::string head(char family = 1) {
    return std::string{family, 0, 0, 0};
}

std::string hook(std::uint32_t number, std::int32_t priority) {
    return part(4, part(1, big(number)) + part(2, big(priority)));
}

std::string chain(const std::string& name, const std::string& rest = {}) {
    return head() + word(1, "filter") + word(3, name) + rest;
}

std::string rule(std::uint64_t handle, const std::string& rest = {}) {
    return head() + word(1, "filter") + word(2, "one") + part(3, big(handle)) + rest;
}

// ---- tables
// ----------------------------------------------------------------------------------------------------------

TEST(filter_replies, tables) {
    const auto flags = [](std::uint32_t value) { return part(2, big(value)); };
    const std::string table = head() + word(1, "filter");
    const std::string rest = part(3, big<std::uint32_t>(1)) + part(4, big<std::uint64_t>(7));
    EXPECT_EQ(parse_filter_table(table).value(), told_table{});
    EXPECT_EQ(parse_filter_table(table + rest + flags(0)).value(), (told_table{0, 7}));
    EXPECT_EQ(parse_filter_table(table + flags(1) + rest).value(), (told_table{dormant_table, 7}));
    EXPECT_EQ(parse_filter_table(table + rest + flags(0x80000006)).value(), (told_table{0x80000006U, 7}));
    EXPECT_EQ(parse_filter_table(table + rest + flags(2) + part(7, big<std::uint32_t>(4711))).value(),
              (told_table{owned_table, 7, 4711}));
    EXPECT_FALSE(parse_filter_table(table + part(7, "ab")));
    EXPECT_EQ(parse_filter_table(head() + word(1, "other") + flags(1)).value(), std::nullopt);
    EXPECT_EQ(parse_filter_table(head(2) + word(1, "filter") + flags(1)).value(), std::nullopt);
}

TEST(filter_replies, what_is_no_table) {
    const std::string table = head() + word(1, "filter");
    EXPECT_FALSE(parse_filter_table(""));
    EXPECT_FALSE(parse_filter_table("abc"));
    EXPECT_FALSE(parse_filter_table(head()));
    EXPECT_FALSE(parse_filter_table(head() + word(1, "")));
    EXPECT_FALSE(parse_filter_table(head() + part(2, big<std::uint32_t>(1))));
    EXPECT_FALSE(parse_filter_table(table + part(2, "ab")));
    EXPECT_FALSE(parse_filter_table(table + "ab"));
    EXPECT_EQ(parse_filter_table("").error().code(), errc::io);
    EXPECT_NE(parse_filter_table("").error().text().find("a table"), std::string::npos);
}

// ---- chains
// ----------------------------------------------------------------------------------------------------------

TEST(filter_replies, chains) {
    const std::string accepts = part(5, big<std::uint32_t>(1));
    const auto parsed = [](const std::string& body) { return parse_filter_chain(body).value().value(); };
    EXPECT_EQ(parsed(chain("one")), (seen_chain{"one", filter_hook::none, false, {}}));
    EXPECT_EQ(parsed(chain("f", hook(2, 0) + word(7, "filter") + accepts)),
              (seen_chain{"f", filter_hook::forward, true, {}}));
    EXPECT_EQ(parsed(chain("i", hook(1, 0) + word(7, "filter") + accepts)),
              (seen_chain{"i", filter_hook::input, true, {}}));
    EXPECT_EQ(parsed(chain("i", hook(1, 0) + word(7, "filter"))), (seen_chain{"i", filter_hook::input, true, {}}));
    // Hooks of others are told apart.
    std::set<std::uint64_t> digests;
    for (const auto& body :
         {hook(1, -10) + word(7, "filter") + accepts, hook(3, 0) + word(7, "filter") + accepts,
          hook(1, 0) + word(7, "nat") + accepts, hook(1, 0) + word(7, "filter") + part(5, big<std::uint32_t>(0))}) {
        auto other = parsed(chain("i", body));
        EXPECT_NE(other.digest, 0U);
        digests.insert(std::exchange(other.digest, 0));
        EXPECT_EQ(other, (seen_chain{"i", filter_hook::none, true, {}}));
    }
    EXPECT_EQ(digests.size(), 4U);
}

TEST(filter_replies, chains_of_others) {
    EXPECT_EQ(parse_filter_chain(head() + word(1, "other") + word(3, "one")).value(), std::nullopt);
    EXPECT_EQ(parse_filter_chain(head(2) + word(1, "filter") + word(3, "one")).value(), std::nullopt);
}

TEST(filter_replies, what_is_no_chain) {
    EXPECT_FALSE(parse_filter_chain(""));
    EXPECT_FALSE(parse_filter_chain("abc"));
    EXPECT_FALSE(parse_filter_chain(head()));
    EXPECT_FALSE(parse_filter_chain(head() + word(1, "filter")));
    EXPECT_FALSE(parse_filter_chain(head() + word(1, "filter") + word(3, "")));
    EXPECT_FALSE(parse_filter_chain(chain("one") + "ab"));
    EXPECT_FALSE(parse_filter_chain(chain("one", part(5, "ab"))));
    EXPECT_FALSE(parse_filter_chain(chain("one", part(4, part(1, "a")))));
    EXPECT_EQ(parse_filter_chain("").error().code(), errc::io);
    EXPECT_NE(parse_filter_chain("").error().text().find("a chain"), std::string::npos);
}

// ---- rules
// -----------------------------------------------------------------------------------------------------------

TEST(filter_replies, rules) {
    const auto parsed = [](const std::string& body) { return parse_filter_rule(body).value().value(); };
    EXPECT_EQ(parsed(rule(5)), (told_rule{"one", {5, ""}}));
    EXPECT_EQ(parsed(rule(0x123456789ABC)), (told_rule{"one", {0x123456789ABC, ""}}));
    EXPECT_EQ(parsed(rule(5, part(4, "expressions") + part(7, tag_entries("a tag")))),
              (told_rule{"one", {5, "a tag"}}));
    EXPECT_EQ(parse_filter_rule(head() + word(1, "other") + word(2, "one") + part(3, big<std::uint64_t>(5))).value(),
              std::nullopt);
    EXPECT_EQ(parse_filter_rule(head(10) + "anything").value(), std::nullopt);
}

// Of a rule without a tag: what it says, and not what it has counted.
TEST(filter_replies, digests_of_rules) {
    const auto digest = [](const std::string& expressions, const std::string& behind = "") {
        return parse_filter_rule(rule(5, part(4, expressions) + behind)).value().value().rule.digest;
    };
    const auto one = [](const std::string& name, const std::string& data) {
        return part(1, word(1, name) + part(2, data));
    };
    const std::string counted = one("counter", part(1, "12345678")) + one("immediate", part(1, "drop"));
    EXPECT_NE(digest(counted), 0U);
    EXPECT_EQ(digest(counted), digest(one("counter", part(1, "abcdefgh")) + one("immediate", part(1, "drop"))));
    EXPECT_NE(digest(counted), digest(one("counter", part(1, "12345678")) + one("immediate", part(1, "pass"))));
    EXPECT_NE(digest(counted), digest(one("immediate", part(1, "drop")) + one("counter", part(1, "12345678"))));
    const auto quota = [&](std::uint64_t bytes, std::uint32_t flags, std::uint64_t used) {
        return digest(one("quota", part(1, big(bytes)) + part(2, big(flags)) + part(4, big(used))));
    };
    EXPECT_EQ(quota(10, 1, 0), quota(10, 1, 5));
    EXPECT_EQ(quota(10, 1, 0), quota(10, 3, 10)) << "it is used up";
    EXPECT_NE(quota(10, 1, 0), quota(11, 1, 0));
    EXPECT_NE(quota(10, 1, 0), quota(10, 0, 0));
    EXPECT_NE(digest("no attributes"), digest("nor these either"));
    EXPECT_EQ(digest(counted, part(7, tag_entries("a tag"))), 0U);
}

TEST(filter_replies, what_is_no_rule) {
    EXPECT_FALSE(parse_filter_rule(""));
    EXPECT_FALSE(parse_filter_rule(head()));
    EXPECT_FALSE(parse_filter_rule(rule(0)));
    EXPECT_FALSE(parse_filter_rule(head() + word(1, "filter") + part(3, big<std::uint64_t>(5))));
    EXPECT_FALSE(parse_filter_rule(head() + word(1, "filter") + word(2, "one") + part(3, "abcd")));
    EXPECT_EQ(parse_filter_rule(rule(5) + "x").error().code(), errc::io);
}

TEST(filter_replies, tags) {
    EXPECT_EQ(tag_entries(""), "");
    EXPECT_EQ(tag_entries("ab"),
              "\x50\x02"
              "ab");
    EXPECT_EQ(tag_in(tag_entries("ab")), "ab");
    const std::string longest(tag_max, 'x');
    EXPECT_EQ(tag_in(tag_entries(longest)), longest);
    EXPECT_EQ(tag_in(tag_entries(longest + "y")), longest);
    const std::string comment{0, 3, 'h', 'i', 0};
    EXPECT_EQ(tag_in(comment), "");
    EXPECT_EQ(tag_in(comment + tag_entries("ab") + comment), "ab");
    EXPECT_EQ(tag_in(tag_entries("ab") + tag_entries("cd")), "ab");
    EXPECT_EQ(tag_in("\x50"), "");
    EXPECT_EQ(tag_in("\x50\x05"
                     "abc"),
              "");
    EXPECT_EQ(tag_in(std::string{0, 9} + tag_entries("ab")), "");
    EXPECT_EQ(tag_in("\x50" + std::string(1, static_cast<char>(tag_max + 1)) + std::string(tag_max + 1, 'x')), "");
}

// ---- generations and acknowledgements
// --------------------------------------------------------------------------------

TEST(filter_replies, generations) {
    EXPECT_EQ(parse_generation(head(0) + part(1, big<std::uint32_t>(77)) + word(3, "nft")).value(), 77U);
    EXPECT_FALSE(parse_generation(head(0)));
    EXPECT_FALSE(parse_generation("ab"));
    EXPECT_FALSE(parse_generation(head(0) + part(1, "ab")));
}

std::string acknowledgement_of(std::uint32_t sequence, int code, std::uint32_t port = 42,
                               const std::string& sentence = {}) {
    const std::string told = native(code) + std::string(16, '\0') + (sentence.empty() ? "" : word(1, sentence));
    const std::uint16_t flags = sentence.empty() ? 0x100 : 0x300;  // capped, with attributes
    return native(static_cast<std::uint32_t>(16 + told.size())) + native<std::uint16_t>(2) + native(flags) +
           native(sequence) + native(port) + told;
}

TEST(filter_replies, acknowledgements) {
    const auto all = read_acknowledgements(acknowledgement_of(5, -2) + acknowledgement_of(6, 0) +
                                               acknowledgement_of(7, -17, 42, "Chain of another hook") +
                                               acknowledgement_of(8, -17, 43),
                                           42);
    ASSERT_TRUE(all);
    ASSERT_EQ(all->size(), 3U);
    EXPECT_EQ((*all)[0].sequence, 5U);
    EXPECT_EQ((*all)[0].error, 2);
    EXPECT_EQ((*all)[0].sentence, "");
    EXPECT_EQ((*all)[1].error, 0);
    EXPECT_EQ((*all)[2].sequence, 7U);
    EXPECT_EQ((*all)[2].sentence, "Chain of another hook");
    EXPECT_TRUE(read_acknowledgements("", 42).value().empty());
    EXPECT_FALSE(read_acknowledgements("abc", 42));
    EXPECT_FALSE(read_acknowledgements(acknowledgement_of(5, -2).substr(0, 30), 42));
    EXPECT_FALSE(read_acknowledgements(acknowledgement_of(5, -2) + std::string(16, '\0'), 42));
}

}  // namespace
}  // namespace pvc::netlink
