// PVC_ASSERT: an invariant of our own code. Kept in release builds; a broken one ends the process, the supervisor
// restarts it. Never used for input, replies or anything that somebody else controls (style-examples.md 4.3).
#pragma once

#include <source_location>

namespace pvc {

[[noreturn]] void assertion_failed(const char* expression,
                                   std::source_location where = std::source_location::current());

}  // namespace pvc

#define PVC_ASSERT(expression)                    \
    do {                                          \
        if (!(expression)) [[unlikely]] {         \
            ::pvc::assertion_failed(#expression); \
        }                                         \
    } while (false)
