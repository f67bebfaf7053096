// OSDs in the simulated world: the disks of machines, the programs that a daemon runs for commands of clients about
// them (storage.md 8), and who sends such commands. Only clusters that begin below schema 10 with storage have any of
// it, and none of the reference.
#pragma once

#include "sim/subjects/osds/disks.hpp"
#include "sim/world/cluster.hpp"
#include "sim/world/registry.hpp"

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace pvc::sim {

// What Ceph's monitors have of an OSD beyond the figures of sim_ceph.
struct osd_entry {
    std::string fsid{};  // empty: it has a number and no data yet, or not any more
    bool is_out = false;
    time_point busy_until{};  // its data is still on the move
};

// A program that a daemon has started, as the rules are told.
struct tool_run {
    const std::string& machine;
    const std::vector<std::string>& arguments;
    std::string path{};    // the device that it is about, as it was named; empty: about none
    block_pointer device;  // which that is now; null: there is none
    bool writes = false;   // to the device

    // Whether the command line begins so.
    [[nodiscard]] bool is(std::string_view beginning) const;
};

enum class safety : std::uint8_t { by_state, busy, undecided };

struct osd_world {
    bool is_on = false;
    std::map<std::string, disk_shelf> shelves;  // by machine
    std::map<int, osd_entry> entries;
    std::uint64_t fsids = 0;
    safety says = safety::by_state;                        // what the manager answers whether one is safe to destroy
    std::map<std::string, std::set<std::string>> failing;  // by machine: tools that fail
    std::map<std::string, std::set<std::string>> hanging;  // that do not end until they are killed
    std::map<std::string, duration> slow;                  // that whatever reads a disk takes
    std::vector<std::function<void(const tool_run&)>> on_run;
    // The manager has told this machine of that OSD (the status of safe-to-destroy).
    std::vector<std::function<void(const std::string& machine, int id, int status)>> on_safety;

    [[nodiscard]] std::string new_fsid();
    [[nodiscard]] disk_shelf& shelf(const std::string& machine) { return shelves[machine]; }
};

inline const std::string osd_cluster_fsid = "d532ea08-9179-4094-991a-d9f0db8449af";
inline const std::string osd_pipe = "/cmd/ceph";

[[nodiscard]] inline osd_world& osds_of(cluster& world) {
    return world.state<osd_world>();
}
// A command about OSDs does such a write, whoever is primary.
[[nodiscard]] bool is_of_osd_command(cluster& world, const seen_change& seen);

void install_osd_tools(cluster& world);
void add_osd_actions(registry& to);
void add_osd_rules(registry& to);

}  // namespace pvc::sim
