#include "pvcnoded/hypervisor/types.hpp"

#include <cstdio>
#include <cstdlib>

namespace pvc::hypervisor {

std::string_view to_text(call_error code) {
    switch (code) {
        case call_error::unavailable: return "the hypervisor cannot be reached";
        case call_error::timed_out: return "no answer in time";
        case call_error::too_late: return "too late to begin";
        case call_error::no_domain: return "no such domain";
        case call_error::wrong_state: return "not possible in its state";
        case call_error::being_removed: return "an old instance is being removed";
        case call_error::unsupported: return "not supported";
        case call_error::unsafe: return "unsafe";
        case call_error::aborted: return "aborted";
        case call_error::refused: return "connection refused";
        case call_error::hanging: return "connected, and no answer in time";
        case call_error::no_target: return "the target cannot be reached";
        case call_error::other: return "failed";
    }
    return "failed";
}

void throw_exception_from_error(const call_failure& error, const boost::source_location& where) {
    std::fprintf(stderr, "value() of a failed call at %s:%u: %s\n", where.file_name(),
                 static_cast<unsigned>(where.line()), error.text.c_str());
    std::abort();
}

}  // namespace pvc::hypervisor
