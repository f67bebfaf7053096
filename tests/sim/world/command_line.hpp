// The command line of pvcnoded-sim. Exit status: 0 all went well, 1 an invariant was broken or an outcome was not the
// expected one, 2 the command was not understood.
#pragma once

#include <iosfwd>
#include <string_view>
#include <vector>

namespace pvc::sim {

int run_command(const std::vector<std::string_view>& arguments, std::ostream& out, std::ostream& error);

}  // namespace pvc::sim
