// Where the program is that asks Ceph.
#pragma once

#include <string>

namespace pvc::app {

// Beside this program, as in a build; else where the package installs it. It need not be there.
[[nodiscard]] std::string ceph_helper_program();

}  // namespace pvc::app
