// What can be done to a simulated cluster: to its nodes, its ZooKeeper ensemble, its disks and clocks, and by a client.
// One vocabulary for scenario files and for random runs: an action has a line of text that means it, and a random run
// that broke something can be written down as a scenario. The kinds come from the subjects (registry.hpp).
#pragma once

#include "pvcnoded/base/clock.hpp"
#include "pvcnoded/base/result.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace pvc::sim {

class cluster;
class drawing;
class foreign_node;
class member;
class registry;
struct action;

// How random runs do it by themselves (chaos.hpp).
struct drawn {
    std::uint64_t eighths = 4;                       // in so many of eight seeds
    std::uint64_t (*favour)(cluster&) = nullptr;     // so many times as often as others; 0: not in this cluster
    void (*arguments)(drawing&, action&) = nullptr;  // beyond a node, how long it lasts, and after how many steps
};

// What there is to know of one kind of action.
struct action_kind {
    std::string_view name;     // its word in scripts
    std::string_view takes{};  // in this order: n node, d duration, i number, p path, v the rest of the line
    std::string_view meaning{};
    bool can_last = false;
    // What does it: to one of our nodes, to one of the reference, or to none; of a node that is only a place, the last.
    void (*on_member)(cluster&, const action&, member&) = nullptr;
    void (*on_reference)(cluster&, const action&, foreign_node&) = nullptr;
    void (*on_cluster)(cluster&, const action&) = nullptr;
    // Of its arguments.
    std::optional<std::pair<std::int64_t, std::int64_t>> numbers{};
    std::optional<std::pair<std::string_view, std::string_view>> words{};  // the value is one of the two
    bool may_go_back = false;                                              // the duration may be negative
    bool may_name_nobody = false;                                          // its node need not exist
    // Empty: random runs do not draw it.
    std::optional<drawn> chance{};
    bool is_end = false;          // of another that lasts; that it is seen is not demanded
    bool is_for_scripts = false;  // nor of this one
};

struct action {
    action() = default;
    // The name of one that is registered.
    explicit action(std::string_view name, std::string whom = {});
    explicit action(const action_kind& of, std::string whom = {}) : kind(&of), node(std::move(whom)) {}

    [[nodiscard]] bool is(std::string_view name) const { return kind != nullptr && kind->name == name; }

    const action_kind* kind = nullptr;
    std::string node;         // whom it befalls; empty for kinds without
    duration amount{};        // a delay, or by how much
    std::int64_t number = 0;  // parts per million, a schema version, bytes, how many
    std::string path;
    std::string value;
    std::optional<duration> lasts;  // undone after that; empty: until somebody undoes it
    std::uint64_t after_steps = 0;  // so many steps of the simulation later: any suspension point
};

// "cut hv1 for 10s", "kill hv2 after 17 steps", "put /config/maintenance true".
[[nodiscard]] std::string to_text(const action& what);
// Errors: invalid (what was expected and what stands there).
[[nodiscard]] result<action> parse_action(std::string_view line);

// "1.5s", "20ms", "-3h": the form of durations in scenarios.
[[nodiscard]] std::string duration_text(duration time);
[[nodiscard]] std::optional<duration> parse_duration(std::string_view text);

}  // namespace pvc::sim
