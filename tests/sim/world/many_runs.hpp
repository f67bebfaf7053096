// Random runs of one seed or of many: their verdicts, what led to a failure, and how fast they were.
#pragma once

#include "sim/world/random_run.hpp"

#include <fstream>
#include <iosfwd>
#include <string>

namespace pvc::sim {

struct many_runs {
    run_settings run;
    std::string defect_name;
    std::uint64_t first = 0;
    std::uint64_t last = 0;
    bool is_many = false;
    bool verbose = false;
    bool twice = false;
    bool ask = false;
    bool reach = false;
    std::string trace_file;
    // As they were given, for the command that runs it again.
    std::string nodes_text = "3";
    std::string duration_text = "1h";
    std::string faults_text = "all";
};

// Exit status: 0 all went well, 1 something was broken, 2 it could not begin.
int run_many(const many_runs& wanted, std::ostream& out, std::ostream& error);

// A verdict or a trace that did not reach its place is no success.
bool is_written(std::ostream& out, std::ofstream& trace, const std::string& trace_file, std::ostream& error);

}  // namespace pvc::sim
