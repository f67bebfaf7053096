#include "pvcnoded/async/process.hpp"

namespace pvc::async {

std::string process_outcome::text() const {
    if (const auto* end = std::get_if<exited>(&how)) {
        return "exit status " + std::to_string(end->code);
    }
    if (const auto* end = std::get_if<signalled>(&how)) {
        return "signal " + std::to_string(end->signal);
    }
    return "timed out";
}

}  // namespace pvc::async
