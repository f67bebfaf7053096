// All actions, rules, conditions of progress, what a sweep tries, and the scenarios.
#pragma once

#include <iosfwd>

namespace pvc::sim {

void list_all(std::ostream& out);

}  // namespace pvc::sim
