// What makes the kernel's table what it shall be, in one batch: only what differs, so that rules that stay keep their
// counters; or all of it anew, where nothing of the table is of this daemon. Pure. Specification: networking.md 7.3
// (cases 41, 42, 50, 51, 54); ruling 35.
#pragma once

#include "pvcnoded/base/result.hpp"
#include "pvcnoded/model/packet_filter.hpp"
#include "pvcnoded/policy/networks/firewall.hpp"

#include <string>
#include <vector>

namespace pvc::policy {

struct filter_plan {
    std::vector<model::filter_change> changes;  // one batch, in order; empty: it is right
    bool is_rebuild = false;                    // all counters begin anew
};

// `must_rebuild`: whatever is seen. Without it a table is made anew if there is none, if it has flags (it is dormant),
// if a chain has another hook than it shall, or if it has rules and none of them is of this daemon (another one's
// table). One that another program owns the kernel lets nobody remove: then it refuses the first change. The kernel may
// refuse to remove a chain that something unseen leads to (a map): then it is to be made anew.
[[nodiscard]] filter_plan plan_filter(const wanted_filter& wanted, const model::filter_state& seen, bool must_rebuild);

// What of the table is neither this daemon's nor of the other kind, and goes with it: "chain output, 5 rules in input".
// "": nothing. Chains with a place or a policy of their own are; where no chain is a client network's, also any other
// chain, and rules without a tag. What static files made looks the same.
[[nodiscard]] std::string rules_of_others(const model::filter_state& seen);
// What is said where the kernel's packet filter cannot be looked at, by a daemon and beforehand.
[[nodiscard]] std::string filter_unseen(const failure& why);
// It has a chain of a client network, or a rule with a tag: a daemon of either kind made it.
[[nodiscard]] bool is_of_daemons(const model::filter_state& seen);

}  // namespace pvc::policy
