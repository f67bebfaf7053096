// Fencing in the simulated world: the power of each machine and the board that switches it, and what must be true of a
// fence. Only clusters with boards have any of it (`boards` in scripts, `--fences` for random runs); in others every
// board says that its machine is on (sim_node).
#pragma once

#include "pvcnoded/core/explainer.hpp"
#include "sim/sim_bmc.hpp"
#include "sim/world/cluster.hpp"
#include "sim/world/registry.hpp"

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pvc::sim {

struct power_world {
    std::map<std::string, std::unique_ptr<sim_bmc>> boards;  // by node
    std::map<std::string, std::string> leads_to;             // by node: whose board answers where its own should
    std::set<std::string> behind;                            // a switch that failed: nodes, with boards and Ceph
    std::map<std::string, time_point> trait_since;           // by node: its board became as it is
    std::map<std::string, time_point> led_since;             // by node, likewise
    std::map<std::string, std::string> led_to;               // and whose answered then, also when its own is back
    std::map<std::string, std::pair<time_point, time_point>> lied;  // by node: its board said off, from when to when
    // Told of each command to switch a machine off or on: who, whose board, "off".
    std::vector<std::function<void(const std::string& by, const std::string& node, const std::string& verb)>>
        on_command;
    // Of each answer about the power: whether it is `off` and true, and when it will be there.
    std::vector<std::function<void(const std::string& by, const std::string& node, bool is_off, time_point at)>>
        on_answer;
    // Of each word that an operator says to a coordinator: to whom, about whom, and what is answered.
    std::vector<std::function<void(const std::string& to, const std::string& node,
                                   const std::shared_ptr<core::awaited_explanation>& answer)>>
        on_word;
    duration boot_time = std::chrono::seconds(30);  // from the power until the daemon starts
};

[[nodiscard]] inline power_world& powers_of(cluster& world) {
    return world.state<power_world>();
}
// The board of that node; null: it has none.
[[nodiscard]] sim_bmc* board_of(cluster& world, const std::string& node);
[[nodiscard]] bool is_machine_on(cluster& world, const std::string& node);

void begin_boards(cluster& world);
void heal_boards(cluster& world);
// The switch works again: those behind it reach the others and Ceph.
void join_behind(cluster& world);
// The power of a machine of ours or of the reference goes away, or comes back: then its daemon starts a while later.
void switch_machine(cluster& world, const std::string& node, bool on);
void add_power_actions(registry& to);
void add_fence_sweeps(registry& to);

}  // namespace pvc::sim
