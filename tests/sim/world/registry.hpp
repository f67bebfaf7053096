// What the simulated world consists of: actions that can befall a cluster, rules that must hold, defects that must be
// found, and what a sweep tries. Each comes from a subject (tests/sim/subjects), which adds its own; nothing here or
// elsewhere in the world names them one by one.
#pragma once

#include "pvcnoded/base/planted.hpp"
#include "sim/world/action.hpp"
#include "sim/world/rule.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace pvc::sim {

// A mistake that can be planted in the daemon (pvcnoded/base/planted.hpp), and that must be found.
// Within which bounds exploring finds a mistake, and whether whole daemons show it with the script that comes of it.
struct explored_mistake {
    std::string_view subject{};  // empty: it is not looked for so
    std::uint8_t faults = 0;
    std::uint8_t writes = 0;
    bool replays = false;
    bool is_only = true;  // false: random runs find it too
    std::uint8_t nodes = 2;
    std::string_view reference{};  // the side that a reference node is
};
struct planted_mistake {
    defect which;
    std::string_view name;
    std::string_view scenario{};  // that shows it, where random runs hardly ever come by
    explored_mistake explored{};
    bool is_of_hosts = false;  // random hosts show it (subjects/hosts), and no run of a cluster
    std::uint64_t seed = 1;    // that found it last: tried first, then those after it, then those before
};

// A line of a script that a sweep tries at every moment; `@` is each of the first two nodes in turn. `stride`: what
// strikes a later call whenever it was ordered need not be tried after each step.
struct sweep_fault {
    std::string_view line;
    std::uint64_t stride = 1;
    std::string_view only{};  // in operations whose names begin so
};

// What a sweep disturbs: the nodes of its cluster, the lines that lead to the moment before, and what is done then.
struct sweep_operation {
    std::string_view name;
    std::string_view nodes;
    std::string_view before;
    std::string_view deed;
    std::uint64_t stride = 1;  // a long one, of which a thinned sweep looks at so many fewer moments
};

// What a subject does with a whole cluster.
struct subject_part {
    void (*begin)(cluster&) = nullptr;  // it was just made: listen to it
    void (*heal)(cluster&) = nullptr;   // every fault ends, of what belongs to no node
    void (*heal_member)(cluster&, member&) = nullptr;
};

// Of keys with several writers.
struct key_rules {
    bool (*is_shared)(const seen_change&) = nullptr;      // a daemon may set it, although it is not of its record
    bool (*needs_version)(const seen_change&) = nullptr;  // it is set against the version that was read
};

class registry {
public:
    // What is added must outlive the registry: tables of constants.
    void add(std::span<const action_kind> actions);
    void add(std::span<const rule> rules);
    void add(std::span<const progress> conditions);
    void add(std::span<const planted_mistake> mistakes);
    void add(std::span<const sweep_fault> faults);
    void add(std::span<const sweep_operation> operations);
    void add(const subject_part& part);
    void add(const key_rules& keys);
    // What the runs of many seeds must have shown (reachability.hpp).
    void expect(std::span<const std::string_view> seen);
    // What a daemon's log says when it does what must be seen, by a short name.
    void expect_logged(std::span<const std::pair<std::string_view, std::string_view>> marks);

    [[nodiscard]] const action_kind* find(std::string_view name) const;

    [[nodiscard]] const auto& actions() const { return actions_; }
    [[nodiscard]] const auto& rules() const { return rules_; }
    [[nodiscard]] const auto& conditions() const { return conditions_; }
    [[nodiscard]] const auto& mistakes() const { return mistakes_; }
    [[nodiscard]] const auto& sweep_faults() const { return faults_; }
    [[nodiscard]] const auto& sweep_operations() const { return operations_; }
    [[nodiscard]] const auto& parts() const { return parts_; }
    [[nodiscard]] const auto& keys() const { return keys_; }
    [[nodiscard]] const auto& expected() const { return expected_; }
    [[nodiscard]] const auto& log_marks() const { return marks_; }

private:
    std::vector<const action_kind*> actions_;
    std::vector<const rule*> rules_;
    std::vector<const progress*> conditions_;
    std::vector<planted_mistake> mistakes_;
    std::vector<sweep_fault> faults_;
    std::vector<sweep_operation> operations_;
    std::vector<subject_part> parts_;
    std::vector<key_rules> keys_;
    std::vector<std::string_view> expected_;
    std::vector<std::pair<std::string_view, std::string_view>> marks_;
};

// All subjects, in the order of tests/sim/subjects/list.cpp.
[[nodiscard]] const registry& all_subjects();

}  // namespace pvc::sim
