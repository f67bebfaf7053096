// Scenario files: a readable script of what befalls a cluster, and the exact outcome: every node's writes in order and
// what became of the tree. docs/simulation.md tells how to write one; tests/sim/scenarios/ has those that CI runs.
#pragma once

#include "sim/world/action.hpp"
#include "sim/world/cluster.hpp"

#include <iosfwd>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace pvc::sim {

// What is asked of the cluster at some moment.
struct condition {
    enum class kind : std::uint8_t {
        runs,
        has_role,
        has_state,
        ended,
        logged,
        wrote,   // an operation that begins with `text`, named as in the outcome
        called,  // a call to its libvirtd, likewise
        beats,
        value,
        exists,
        missing,
        guest_runs,     // on `node`, and nowhere else
        guest_off,      // nowhere, not even half
        guest_there,    // on `node`, executing or not
        guest_key,      // `path` of its keys has this text
        has_addresses,  // of the primary: on all four devices, on none, or on the one that `text` names
        link_is_up,     // `text` names it
        link_is_gone,
        address_is_there,  // `text`, on the device that `path` names; without: on none
        chain_is,          // `text` names it, of the packet filter; `path`: its rules, "count-in, ssh"
        chain_is_gone,
        power_is,  // of the machine: `text` is "on" or "off"
        all_well,  // nothing is missing of what is demanded once all faults have ended
    };
    kind what = kind::runs;
    bool is_negated = false;
    std::string node;
    std::string path;
    std::int64_t guest = 0;
    std::string text;                  // a role, a state, a value, a part of a log line, an exit status
    std::optional<std::size_t> times;  // logged, wrote, called: so often until now, not more and not less
};

struct scenario_step {
    enum class kind : std::uint8_t { act, wait, until, expect, hold };
    kind what = kind::act;
    int line = 0;
    action deed;
    condition asked;
    duration time{};
};

struct scenario {
    std::string title;
    cluster_settings world;
    std::vector<scenario_step> steps;
    bool has_whole_outcome = false;    // also of nodes that have not joined yet
    std::size_t outcome_at = 0;        // where in the text the outcome begins
    std::vector<std::string> outcome;  // its lines
};

// Errors: invalid, with the line's number, what was expected and what stands there.
[[nodiscard]] result<scenario> parse_scenario(std::string_view text);

struct scenario_result {
    std::string failed;                // empty: it went as expected
    std::vector<std::string> outcome;  // what really came of it
    std::uint64_t hash = 0;
    duration simulated{};
    std::vector<std::uint64_t> steps;  // of the simulation, that each step of the script took
};
[[nodiscard]] scenario_result run_scenario(const scenario& what, std::ostream* trace = nullptr);

// Runs the file, says how it went. `record`: writes the outcome into the file instead of comparing. False: not as
// expected, or not readable.
bool run_scenario_file(const std::string& file, bool record, std::ostream* trace, std::ostream& out);

}  // namespace pvc::sim
