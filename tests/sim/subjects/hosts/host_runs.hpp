// Drawn hosts, one after the other, each with a daemon that starts, has client networks come and go, takes over and
// gives up the role, is stopped, killed and begun anew. Two rules: what was there before, and no key names, is there
// after, unchanged; and what `--against-host` says is what happens. What may change all the same is a table of the
// manual (docs/operating.md, "What of a host changes").
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

namespace pvc::sim {

struct host_run {
    std::uint64_t seed = 0;
    std::string wrong;  // the first thing that is; "": nothing
    std::vector<std::string> kinds;
};

// The patterns of that table. Empty: it was not found.
[[nodiscard]] const std::vector<std::string>& host_exceptions();

// all: with what is known not to hold yet.
[[nodiscard]] host_run run_host(std::uint64_t seed, bool all);

struct host_runs {
    std::uint64_t first = 0;
    std::uint64_t last = 0;
    bool all = false;
    bool is_text = false;    // only prints the hosts, a line of JSON each
    bool has_vlans = false;  // of those that are printed: also what not every kernel can have
    bool verbose = false;
};
// Exit status: 0 all went well, 1 something was wrong.
int run_hosts(const host_runs& wanted, std::ostream& out);

}  // namespace pvc::sim
