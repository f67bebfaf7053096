// What a coordinator remembers of /config/primary_node, to notice a reference node that was told of a successor, has
// named itself again by a heartbeat that was under way, and gives the role up all the same. It is known by the zxids:
// its `relinquish` is younger than its name in the key, which one of ours never says (its transaction checks the key).
// Such a node looks at the key no more before it is secondary: whatever names it until then it does not see, also what
// another heartbeat of its own writes after `relinquish`.
//
// A value: looked at whenever something may have changed, never in between. Specification: README ruling 87.
#pragma once

#include "pvcnoded/policy/role/coordinator_rules.hpp"

namespace pvc::policy {

struct written_back {
    std::optional<std::int32_t> own_version;  // of the key, when it named this node last
    std::string by;                           // who wrote its name back; empty: nobody
    std::int32_t version = 0;                 // of the key, as `since` counts
    time_point since{};                       // nobody was on the way to the role

    // `view.returned` is not looked at.
    void look(const coordinator_view& view, time_point now);
    [[nodiscard]] std::optional<returned_name> returned(const coordinator_view& view, time_point now) const;
    friend bool operator==(const written_back&, const written_back&) = default;

private:
    [[nodiscard]] const coordinator_peer* who_gives_up(const coordinator_view& view) const;
};

}  // namespace pvc::policy
