// Each command of pvcnodectl, from the question to what is printed.
#pragma once

#include "pvcnoded/base/result.hpp"
#include "pvcnoded/ctl/options.hpp"

#include <string>

namespace pvc::ctl {

// What it has from outside.
struct place {
    std::string daemon;       // the program pvcnoded, as it is installed beside this one
    std::string config_file;  // where nothing is said
};

// Prints the answer to standard output, and what is wrong to standard error. Returns the exit status.
[[nodiscard]] int run(const options& given, const place& here);

// The live view (watch.cpp): until q, Ctrl-C or another signal that ends it. The terminal is then as it was.
[[nodiscard]] int watch(const options& given);

// Why there is no answer, in words, and the exit status for it.
struct no_answer_reason {
    std::string text;
    int status = 0;
};
[[nodiscard]] no_answer_reason reason_of(const failure& why, const std::string& socket);

}  // namespace pvc::ctl
