// Expected failures as values: result<T>, failure, and the macro that propagates one.
//
// A failure says what went wrong (errc), with what (a path, a unit, a file), why (a short cause in words), where it
// was first reported, and the chain of what was being attempted. Exceptions are for cancellation only.
// Specification: architecture.md rule 8, style-examples.md 4.3.
#pragma once

#include <boost/system/result.hpp>

#include <cstdint>
#include <source_location>
#include <string>
#include <string_view>
#include <utility>

namespace pvc {

// What kind of failure it was. A caller decides by this and by nothing else.
enum class errc : std::uint8_t {
    unspecified,
    not_found,         // the key, file or object is not there
    already_exists,    // creating something that is there
    not_empty,         // removing something that has children
    version_conflict,  // somebody changed it since it was read: decide again
    outcome_unknown,   // a write was sent and its fate is not known: read before acting
    timed_out,         // a deadline passed; nothing was changed (a write reports outcome_unknown)
    suspended,         // no connection just now; nothing was sent
    session_lost,      // the ZooKeeper session is over; everything held through it is gone
    invalid,           // malformed input or a request that can never succeed
    too_large,         // beyond a limit
    refused,           // somebody else has it, or a rule forbids it
    unavailable,       // a service is not there
    io,                // the operating system said no
    stopped,           // the daemon or the scope is ending
};

[[nodiscard]] std::string_view to_text(errc code);

class [[nodiscard]] failure {
public:
    // boost::system::result needs a default constructor (runtime-design.md 1.3).
    failure() = default;
    explicit failure(errc code, std::string subject = {}, std::string cause = {},
                     std::source_location where = std::source_location::current())
        : code_(code), subject_(std::move(subject)), cause_(std::move(cause)), where_(where) {}

    [[nodiscard]] errc code() const { return code_; }
    [[nodiscard]] const std::string& subject() const { return subject_; }
    [[nodiscard]] const std::string& cause() const { return cause_; }
    [[nodiscard]] const std::source_location& where() const { return where_; }

    // Adds an outer step to the chain: "registering the node: /nodes/hv1: version conflict".
    [[nodiscard]] failure during(std::string_view step) &&;

    // One line for a human: "<steps>: <subject>: <code>: <cause>".
    [[nodiscard]] std::string text() const;

private:
    errc code_ = errc::unspecified;
    std::string subject_;
    std::string cause_;
    std::string steps_;
    std::source_location where_;
};

// Makes boost::system::result work with our error type: value() on a failure is a broken invariant, never control flow.
[[noreturn]] void throw_exception_from_error(const failure& error, const boost::source_location& where);

template <class T>
using result = boost::system::result<T, failure>;

// Says in the code that a result is deliberately not looked at, and why.
template <class T>
void ignore(const T& /*outcome*/, std::string_view /*reason*/) {}

}  // namespace pvc

#define PVC_CONCAT_INNER(a, b) a##b
#define PVC_CONCAT(a, b) PVC_CONCAT_INNER(a, b)
#define PVC_TRY_INNER(hidden, declaration, expression, leave) \
    auto hidden = expression;                                 \
    if (!hidden) {                                            \
        leave std::move(hidden).error();                      \
    }                                                         \
    declaration = *std::move(hidden)

// PVC_TRY(auto x, f()): in a function that returns result<U>, declares x or returns the failure.
// PVC_CO_TRY: the same in a coroutine; the expression may contain co_await.
#define PVC_TRY(declaration, expression) \
    PVC_TRY_INNER(PVC_CONCAT(pvc_hidden_, __COUNTER__), declaration, (expression), return)
#define PVC_CO_TRY(declaration, expression) \
    PVC_TRY_INNER(PVC_CONCAT(pvc_hidden_, __COUNTER__), declaration, (expression), co_return)
