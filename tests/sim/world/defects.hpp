// The judge is judged: mistakes are planted in the daemon (pvcnoded/base/planted.hpp), and each must be found.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string_view>

namespace pvc::sim {

// From now on the daemon makes this mistake ("none": none). False: this build has no such defect.
bool plant(std::string_view name);

// Runs seeds with each defect (or the named one) until it is found, and prints by which seed and which invariant.
// Exit status: 0 all found; 1 one was not, or the seeds are not clean without; 2 this build has no defects.
int judge_the_judge(std::string_view only, std::uint64_t first, std::uint64_t last, std::ostream& out,
                    std::ostream& error);

}  // namespace pvc::sim
