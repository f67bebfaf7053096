// The little of HTTP/1.1 that answering needs: the head of a request, and an answer as text. Total: any bytes give a
// request or a failure (invalid). The head is parsed by Boost.Beast, which only http.cpp knows.
#pragma once

#include "pvcnoded/base/result.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace pvc::control {

inline constexpr std::size_t http_head_bytes_max = 8UL * 1024;

struct http_request {
    enum class method : std::uint8_t { get, head, other };
    method what = method::other;
    std::string path;  // without what follows a `?`
    bool keeps_alive = false;
    bool has_body = false;

    friend bool operator==(const http_request&, const http_request&) = default;
};

// Where the head of the request ends that these bytes begin with, its empty line included; npos: it is not all there.
[[nodiscard]] std::size_t http_head_size(std::string_view bytes);
// Of a whole head.
[[nodiscard]] result<http_request> parse_http_head(std::string_view head);

struct http_answer {
    int status = 200;
    std::string_view type = "text/plain; charset=utf-8";  // with static lifetime
    std::string body;
};
// As it is sent; to HEAD without the body, whose length it tells all the same.
[[nodiscard]] std::string http_text(const http_answer& said, http_request::method to, bool keeps_alive);

}  // namespace pvc::control
