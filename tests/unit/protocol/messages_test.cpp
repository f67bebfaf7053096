// The messages of the local socket: what is taken, what is refused and why, and that what we write, we read.
#include "pvcnoded/protocol/messages.hpp"

#include <gtest/gtest.h>

namespace pvc::protocol {
namespace {

using namespace std::chrono_literals;

TEST(control_messages, a_request_is_read_as_it_was_written) {
    request what;
    what.id = 7;
    what.name = "vm show";
    what.deadline = 250ms;
    what.parameters = {{"vm", "web \"1\"\n"}, {"all", true}, {"most", 3}};
    const std::string line = encode(what);
    EXPECT_EQ(line.find('\n'), line.size() - 1);
    const auto back = parse_request(std::string_view(line).substr(0, line.size() - 1));
    ASSERT_TRUE(back);
    EXPECT_EQ(*back, what);
}

TEST(control_messages, what_may_be_left_out) {
    const auto got = parse_request(R"({"version":1,"id":0,"name":"status","of a later version":{"a":[1]}})");
    ASSERT_TRUE(got);
    EXPECT_EQ(got->deadline, 5s);
    EXPECT_TRUE(got->parameters.empty());
}

struct bad_line {
    std::string line;
    errc code;
    std::string cause;
};

TEST(control_messages, bad_requests) {
    const std::string id = "\"id\" is missing or no whole number from 0 up";
    const std::string name = "\"name\" is missing or no text of 1 to 64 bytes";
    const std::string deadline = "\"deadline_ms\" is no whole number from 1 to 60000";
    const std::string number = "\"version\" is missing or no whole number";
    const std::string kind = "a parameter is neither a text nor a whole number nor true or false";
    const std::string start = R"({"version":1,"id":1,"name":"status",)";
    const std::vector<bad_line> table{
        {"", errc::invalid, "no JSON"},
        {"garbage", errc::invalid, "no JSON"},
        {"{\"version\":1", errc::invalid, "no JSON"},
        {"\xff\xfe", errc::invalid, "no JSON"},
        {R"({"version":1,"id":1,"name":"status"} {})", errc::invalid, "no JSON"},
        {"{\"version\":1,\"id\":1,\"name\":\"\xff\"}", errc::invalid, "no JSON"},
        {R"({"version":1,"id":1,"name":"a","parameters":{"a":{"b":[[1]]}}})", errc::invalid, "no JSON"},
        {"[]", errc::invalid, "no object"},
        {"1", errc::invalid, "no object"},
        {"{}", errc::invalid, number},
        {R"({"version":"1"})", errc::invalid, number},
        {R"({"version":1.0})", errc::invalid, number},
        {R"({"version":2,"id":1,"name":"status"})", errc::unavailable, "version 2 is not spoken here, version 1 is"},
        {R"({"version":1})", errc::invalid, id},
        {R"({"version":1,"id":-1})", errc::invalid, id},
        {R"({"version":1,"id":9223372036854775808})", errc::invalid, id},
        {R"({"version":1,"id":"1"})", errc::invalid, id},
        {R"({"version":1,"id":1})", errc::invalid, name},
        {R"({"version":1,"id":1,"name":""})", errc::invalid, name},
        {R"({"version":1,"id":1,"name":")" + std::string(65, 'a') + "\"}", errc::invalid, name},
        {start + R"("deadline_ms":0})", errc::invalid, deadline},
        {start + R"("deadline_ms":60001})", errc::invalid, deadline},
        {start + R"("deadline_ms":1.5})", errc::invalid, deadline},
        {start + R"("parameters":[]})", errc::invalid, "\"parameters\" is no object"},
        {start + R"("parameters":{"a":null}})", errc::invalid, kind},
        {start + R"("parameters":{"a":1.5}})", errc::invalid, kind},
        {start + R"("parameters":{"a":[]}})", errc::invalid, kind},
        {std::string(request_bytes_max + 1, ' '), errc::too_large, "the line is too long"},
        {std::string(request_bytes_max, '['), errc::invalid, "no JSON"},
    };
    for (const auto& one : table) {
        const auto got = parse_request(one.line);
        ASSERT_FALSE(got) << one.line;
        EXPECT_EQ(got.error().code(), one.code) << one.line;
        EXPECT_TRUE(got.error().cause().starts_with(one.cause)) << one.line << ": " << got.error().cause();
    }
}

TEST(control_messages, answers_are_read_as_they_were_written) {
    answer good;
    good.id = 3;
    good.result = {{"node", "hv1"}, {"tasks", boost::json::array{1, "two", nullptr, 2.5}}};
    answer first = good;
    first.more = true;
    answer bad;
    bad.error.emplace(refusal{problem::busy, "too many"});
    for (const auto& one : {good, first, bad}) {
        const std::string line = encode(one);
        const auto back = parse_answer(std::string_view(line).substr(0, line.size() - 1));
        ASSERT_TRUE(back);
        EXPECT_EQ(*back, one);
    }
}

TEST(control_messages, what_is_no_utf8_is_replaced) {
    answer what;
    what.id = 1;
    what.result = {{"name",
                    "a\xff"
                    "b"}};
    const std::string line = encode(what);
    const auto back = parse_answer(std::string_view(line).substr(0, line.size() - 1));
    ASSERT_TRUE(back);
    EXPECT_EQ(back->result.at("name").as_string(),
              "a\xef\xbf\xbd"
              "b");
}

TEST(control_messages, bad_answers) {
    for (const std::string line :
         {"", "{}", R"({"version":1,"id":1})", R"({"version":1,"id":1,"ok":1})", R"({"version":1,"id":1,"ok":true})",
          R"({"version":1,"id":1,"ok":true,"result":[]})", R"({"version":1,"id":1,"ok":false})",
          R"({"version":1,"id":1,"ok":false,"error":{"code":"busy"}})", R"({"version":1,"ok":true,"result":{}})",
          R"({"version":2,"id":1,"ok":true,"result":{}})",
          R"({"version":1,"id":1,"ok":true,"result":{"a":[{"b":9e308}]}})"}) {
        EXPECT_FALSE(parse_answer(line)) << line;
    }
    const auto later = parse_answer(R"({"version":1,"id":1,"ok":false,"error":{"code":"of later","text":"x"}})");
    ASSERT_TRUE(later);
    EXPECT_EQ(later->error->what, problem::bad_request);
}

TEST(control_messages, problems_have_one_spelling) {
    for (int number = 0; number <= static_cast<int>(problem::defect); ++number) {
        const auto what = static_cast<problem>(number);
        EXPECT_EQ(parse_problem(to_text(what)), what);
    }
    EXPECT_EQ(parse_problem("Busy"), std::nullopt);
}

}  // namespace
}  // namespace pvc::protocol
