// Another program of this host, without a shell, waited for at most so long.
#pragma once

#include "pvcnoded/base/result.hpp"

#include <chrono>
#include <string>
#include <vector>

namespace pvc::ctl {

struct program_output {
    int status = 0;  // its exit status; 128 and the number of the signal that ended it
    std::string out;
    std::string err;
};

// The first argument is the program: a path, or a name that is looked for in PATH. `variables` ("NAME=value") are added
// to the environment, in place of those of the same name. Errors: not_found (no such program), timed_out (it was
// killed), too_large (more than a MiB was written; it was killed), io.
[[nodiscard]] result<program_output> run_program(const std::vector<std::string>& arguments,
                                                 std::chrono::milliseconds limit,
                                                 const std::vector<std::string>& variables = {});

}  // namespace pvc::ctl
