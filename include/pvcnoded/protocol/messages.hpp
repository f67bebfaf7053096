// What is said over the daemon's local socket: one JSON object a line, a request and its answer, or its answers: all
// but the last one of a request say that there are more (docs/control.md). The same for every program of ours that asks
// or is asked. Parsing is total: any bytes give a message or a failure.
#pragma once

#include "pvcnoded/base/result.hpp"

#include <boost/json/object.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace pvc::protocol {

inline constexpr std::int64_t version = 1;
// Of a line, without its newline.
inline constexpr std::size_t request_bytes_max = 64UL * 1024;
inline constexpr std::size_t answer_bytes_max = 16UL * 1024 * 1024;
inline constexpr std::chrono::milliseconds deadline_max{60'000};

struct request {
    std::int64_t id = 0;  // chosen by who asks, 0 or more; the answer has the same
    std::string name;     // "vm show"
    std::chrono::milliseconds deadline{5000};
    boost::json::object parameters{};  // texts, whole numbers, true and false; nothing nested

    friend bool operator==(const request&, const request&) = default;
};

enum class problem : std::uint8_t {
    bad_request,      // no request, or a parameter that does not fit
    other_version,    // of the protocol
    unknown_request,  // nobody here answers to that name
    not_found,        // what it asks about is not here
    refused,          // who asks may not
    busy,             // too many are connected
    too_large,        // the line, or the answer
    too_late,         // the deadline passed, or nothing was asked for too long
    defect,           // of the daemon: it could not make the answer
};
[[nodiscard]] std::string_view to_text(problem what);
[[nodiscard]] std::optional<problem> parse_problem(std::string_view text);

struct refusal {
    problem what = problem::bad_request;
    std::string text;  // for a person

    friend bool operator==(const refusal&, const refusal&) = default;
};

struct answer {
    std::optional<std::int64_t> id;  // empty: what was asked could not be read
    std::optional<refusal> error;
    boost::json::object result{};  // without an error
    bool more = false;             // another answer to the same request follows

    friend bool operator==(const answer&, const answer&) = default;
};

// With the newline. What is no UTF-8 in them is replaced.
[[nodiscard]] std::string encode(const request& what);
[[nodiscard]] std::string encode(const answer& what);

// Of a line without its newline. Members that nobody knows are passed over: a later version may have more.
// Errors: invalid (the cause says why), unavailable (another version).
[[nodiscard]] result<request> parse_request(std::string_view line);
[[nodiscard]] result<answer> parse_answer(std::string_view line);

}  // namespace pvc::protocol
