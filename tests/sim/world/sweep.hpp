// Faults at every point of an operation: each kind of fault after each number of steps, one and two at a time, across
// each operation that a cluster has. Where random runs meet a moment by luck, a sweep comes by on purpose. Every run is
// a scenario, made as text, so what it finds is a script that shows it.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>

namespace pvc::sim {

struct sweep_settings {
    std::string operation;    // only this one; empty: all
    std::string fault;        // only faults whose line contains this
    std::uint64_t every = 1;  // of all moments of a fault only each so-many-th
    std::uint64_t pairs = 0;  // so many runs with two faults, drawn from a fixed seed
    std::uint64_t part = 1;   // this of `parts` equal shares of all runs: one process a core
    std::uint64_t parts = 1;
    std::uint64_t seed = 0;     // 0: ready work in the order in which it became ready; else drawn from it
    std::uint64_t scripts = 2;  // so many of the findings of one kind are shown as a script
};

// Ends with `N passed, N failed`. Exit status: 0 nothing was found, 1 something was, 2 no such operation or fault.
int sweep(const sweep_settings& settings, std::ostream& out, std::ostream& error);

// The names of all operations and the lines of all faults, for `pvcnoded-sim list`.
void list_sweep(std::ostream& out);

}  // namespace pvc::sim
