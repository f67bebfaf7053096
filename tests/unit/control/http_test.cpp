#include "pvcnoded/control/http.hpp"

#include <gtest/gtest.h>

namespace pvc::control {
namespace {

using method = http_request::method;

TEST(control_http, heads_that_are_understood) {
    const std::vector<std::pair<std::string, http_request>> table{
        {"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n", {method::get, "/metrics", true, false}},
        {"GET /metrics?a=b HTTP/1.1\r\n\r\n", {method::get, "/metrics", true, false}},
        {"HEAD /healthz HTTP/1.1\r\nConnection: close\r\n\r\n", {method::head, "/healthz", false, false}},
        {"GET / HTTP/1.0\r\n\r\n", {method::get, "/", false, false}},
        {"POST /metrics HTTP/1.1\r\nContent-Length: 3\r\n\r\n", {method::other, "/metrics", true, true}},
        {"GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", {method::get, "/", true, true}},
        {"GET / HTTP/1.1\r\nContent-Length: 0\r\n\r\n", {method::get, "/", true, false}},
        {"GET / HTTP/1.1\r\nContent-Length: 5000000\r\n\r\n", {method::get, "/", true, true}},
        {"BREW /pot HTTP/1.1\r\n\r\n", {method::other, "/pot", true, false}},
    };
    for (const auto& [head, expected] : table) {
        EXPECT_EQ(http_head_size(head), head.size());
        const auto got = parse_http_head(head);
        ASSERT_TRUE(got.has_value()) << head;
        EXPECT_EQ(*got, expected) << head;
    }
}

TEST(control_http, what_is_no_request) {
    for (const std::string head :
         {"\r\n\r\n", "GET\r\n\r\n", "GET / HTTP/2.0\r\n\r\n", "GET / HTTP/1.1\r\nno colon\r\n\r\n",
          "HTTP/1.1 200 OK\r\n\r\n", "GET / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
          "GET / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", "\x16\x03\x01\r\n\r\n",
          "GET / HTTP/1.1\r\n", ""}) {
        EXPECT_FALSE(parse_http_head(head).has_value()) << head;
    }
    EXPECT_EQ(http_head_size("GET / HTTP/1.1\r\n"), std::string::npos);
    EXPECT_EQ(http_head_size("GET / HTTP/1.1\r\n\r\nGET"), 18U);
}

TEST(control_http, answers) {
    const http_answer page{200, "text/plain", "abc\n"};
    const std::string head =
        "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 4\r\n"
        "Cache-Control: no-store\r\nConnection: keep-alive\r\n\r\n";
    EXPECT_EQ(http_text(page, method::get, true), head + "abc\n");
    EXPECT_EQ(http_text(page, method::head, true), head);
    EXPECT_NE(http_text({405, "text/plain", ""}, method::other, false).find("Allow: GET, HEAD\r\n"), std::string::npos);
}

}  // namespace
}  // namespace pvc::control
