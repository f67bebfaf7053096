// Chooses where a domain should go: reads what the nodes publish and asks policy/placement/target_selection.hpp. For
// any domain and any node that it leaves. Loop thread only. Specification: vm-domains.md 9;
// node-lifecycle.md 8.1, 10.6.
#pragma once

#include "pvcnoded/base/uuid.hpp"
#include "pvcnoded/core/session.hpp"
#include "pvcnoded/policy/placement/target_selection.hpp"

#include <optional>
#include <set>
#include <string>
#include <vector>

namespace pvc::placement {

struct target {
    std::optional<policy::target_choice> choice;  // empty: no node can take it
    std::vector<policy::possible_node> nodes;     // all but `current`, also those of `but`
    // What the choice rests on: the domain's rules, and that the node takes domains; without a choice what every node
    // that the domain may go to says of itself.
    zookeeper::transaction checks;
};

// By the domain's own rules and the nodes' present figures. `current` is never chosen, nor any of `but`. Errors: those
// of a session that broke.
async::awaitable<result<target>> choose_target(core::session& s, const uuid& id, const std::string& current,
                                               const std::set<std::string>& but);

// What such a choice rests on, for whoever explains it. Nothing is chosen. Errors: likewise.
//
// What every node but `current` offers: of one that takes no domains only that.
async::awaitable<result<std::vector<policy::node_offer>>> read_offers(core::session& s, const std::string& current);
// The domain's own rules.
async::awaitable<result<policy::target_request>> read_request(core::session& s, const uuid& id,
                                                              const std::string& current);

}  // namespace pvc::placement
