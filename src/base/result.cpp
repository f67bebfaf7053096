#include "pvcnoded/base/result.hpp"

#include "pvcnoded/base/assert.hpp"

#include <cstdio>
#include <cstdlib>

namespace pvc {

std::string_view to_text(errc code) {
    switch (code) {
        case errc::unspecified: return "failed";
        case errc::not_found: return "not found";
        case errc::already_exists: return "already exists";
        case errc::not_empty: return "not empty";
        case errc::version_conflict: return "version conflict";
        case errc::outcome_unknown: return "outcome unknown";
        case errc::timed_out: return "timed out";
        case errc::suspended: return "no connection";
        case errc::session_lost: return "session lost";
        case errc::invalid: return "invalid";
        case errc::too_large: return "too large";
        case errc::refused: return "refused";
        case errc::unavailable: return "unavailable";
        case errc::io: return "input/output error";
        case errc::stopped: return "stopped";
    }
    return "failed";
}

failure failure::during(std::string_view step) && {
    if (step == subject_ && steps_.empty()) {
        return std::move(*this);  // what it is about says it already
    }
    steps_ = steps_.empty() ? std::string(step) : std::string(step) + ": " + steps_;
    return std::move(*this);
}

std::string failure::text() const {
    std::string line = steps_;
    auto append = [&line](std::string_view part) {
        if (part.empty()) {
            return;
        }
        if (!line.empty()) {
            line += ": ";
        }
        line += part;
    };
    append(subject_);
    append(to_text(code_));
    append(cause_);
    return line;
}

void throw_exception_from_error(const failure& error, const boost::source_location& where) {
    std::fprintf(stderr, "value() of a failed result at %s:%u: %s\n", where.file_name(),
                 static_cast<unsigned>(where.line()), error.text().c_str());
    std::abort();
}

void assertion_failed(const char* expression, std::source_location where) {
    std::fprintf(stderr, "broken invariant at %s:%u: %s\n", where.file_name(), static_cast<unsigned>(where.line()),
                 expression);
    std::abort();
}

}  // namespace pvc
