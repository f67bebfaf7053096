// What tells two builds of one version apart: the linker's build id, which also names the debug symbols.
#pragma once

#include <string>

namespace pvc::app {

// The first ten digits, or "unknown".
[[nodiscard]] std::string build_id();
// "pvcnoded 0.1.0, build d0d853aa5d".
[[nodiscard]] std::string implementation_text();

}  // namespace pvc::app
