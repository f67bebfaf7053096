#include "pvcnoded/control/http.hpp"

#include <fmt/format.h>
#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/verb.hpp>

#include <iterator>

namespace pvc::control {

namespace {

namespace http = boost::beast::http;
using boost::beast::error_code;
using boost::beast::string_view;

// Of all fields only those count that Beast itself looks at: Connection, Content-Length, Transfer-Encoding.
class head_parser final : public http::basic_parser<true> {
public:
    http_request::method what = http_request::method::other;
    std::string target;

private:
    void on_request_impl(http::verb method, string_view /*text*/, string_view where, int /*version*/,
                         error_code& code) override {
        what = method == http::verb::get    ? http_request::method::get
               : method == http::verb::head ? http_request::method::head
                                            : http_request::method::other;
        target.assign(where.data(), where.size());
        code = {};
    }
    void on_response_impl(int /*status*/, string_view /*reason*/, int /*version*/, error_code& code) override {
        code = {};
    }
    void on_field_impl(http::field /*which*/, string_view /*name*/, string_view /*value*/, error_code& code) override {
        code = {};
    }
    void on_header_impl(error_code& code) override { code = {}; }
    void on_body_init_impl(const boost::optional<std::uint64_t>& /*size*/, error_code& code) override { code = {}; }
    std::size_t on_body_impl(string_view body, error_code& code) override {
        code = {};
        return body.size();
    }
    void on_chunk_header_impl(std::uint64_t /*size*/, string_view /*extensions*/, error_code& code) override {
        code = {};
    }
    std::size_t on_chunk_body_impl(std::uint64_t /*remain*/, string_view body, error_code& code) override {
        code = {};
        return body.size();
    }
    void on_finish_impl(error_code& code) override { code = {}; }
};

std::string_view reason_of(int status) {
    switch (status) {
        case 200: return "OK";
        case 400: return "Bad Request";
        case 404: return "Not Found";
        case 405: return "Method Not Allowed";
        case 408: return "Request Timeout";
        case 413: return "Payload Too Large";
        case 431: return "Request Header Fields Too Large";
        case 500: return "Internal Server Error";
        case 503: return "Service Unavailable";
        default: return "Unknown";
    }
}

}  // namespace

std::size_t http_head_size(std::string_view bytes) {
    constexpr std::string_view empty_line = "\r\n\r\n";
    const auto at = bytes.find(empty_line);
    return at == std::string_view::npos ? at : at + empty_line.size();
}

result<http_request> parse_http_head(std::string_view head) {
    head_parser parser;
    parser.header_limit(http_head_bytes_max);
    parser.body_limit(boost::none);  // none is read, and what to say to one is not for the parser
    error_code code;
    parser.put(boost::asio::const_buffer(head.data(), head.size()), code);
    if (code || !parser.is_header_done()) {
        return failure(errc::invalid, "request", code ? code.message() : "not a whole head");
    }
    http_request found;
    found.what = parser.what;
    found.path = parser.target.substr(0, parser.target.find('?'));
    found.keeps_alive = parser.keep_alive();
    found.has_body = parser.chunked() || parser.content_length().value_or(0) != 0;
    return found;
}

std::string http_text(const http_answer& said, http_request::method to, bool keeps_alive) {
    const bool is_refused_method = said.status == 405;
    std::string text;
    text.reserve(said.body.size() + 256);
    fmt::format_to(std::back_inserter(text),
                   "HTTP/1.1 {} {}\r\nContent-Type: {}\r\nContent-Length: {}\r\nCache-Control: no-store\r\n"
                   "Connection: {}\r\n{}\r\n",
                   said.status, reason_of(said.status), said.type, said.body.size(),
                   keeps_alive ? "keep-alive" : "close", is_refused_method ? "Allow: GET, HEAD\r\n" : "");
    if (to != http_request::method::head) {
        text += said.body;
    }
    return text;
}

}  // namespace pvc::control
