// What the files about the firewall have in common.
#pragma once

#include "sim/subjects/networks/networks.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace pvc::sim {

// What the judge remembers of packet filters, by member.
struct filter_looks {
    std::map<std::uint32_t, std::vector<std::pair<std::string, std::vector<model::filter_expression>>>> refused;
    // Right when it was looked at: nothing has changed since.
    std::map<std::uint32_t, std::pair<std::uint32_t, std::uint64_t>> right;
    // When bridges that networks may have left behind stood last, by member and VNI.
    std::map<std::pair<std::uint32_t, std::uint32_t>, time_point> left;
};

// Of the host itself.
struct host_rules {
    std::set<std::uint32_t> have_program;             // members
    std::map<std::uint32_t, std::uint64_t> replaced;  // so often, as was seen, by member
    struct losses {
        std::uint64_t lines = 0;  // of its log
        std::optional<time_point> last;
    };
    std::map<std::uint32_t, losses> lost;  // as was seen, by member
    struct replacement {
        std::uint64_t life;
        time_point when;
    };
    std::map<std::uint32_t, replacement> to_judge;  // once its log has been written
};

// "1001 in ssh": the ACL that a rule is of; empty: of none.
[[nodiscard]] std::string acl_of_rule(const model::filter_rule& rule);

// Something was done to its packet filter, or is over.
void note_filter_trouble(cluster& world, const member& target);

// What table `inet filter` of a node does not have as /networks says, made out from the keys and the expressions of the
// rules alone; empty: nothing. What it lacks because its kernel refused it is left out. A bridge that its daemon noted
// as its own and that still stands, without a network that is to have rules, may have those of a network without
// addresses.
[[nodiscard]] std::string wrong_with_filter(const judge& of, const member& one);

// A batch that was carried out left only a part of what belongs together, in these words; empty: it did not.
[[nodiscard]] std::string torn_filter(const sim_filter& table);

void add_filter_actions(registry& to);
void add_filter_rules(registry& to);

}  // namespace pvc::sim
