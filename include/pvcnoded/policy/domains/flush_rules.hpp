// What a node that is being emptied (flush), or comes back (unflush), does with one virtual machine: pure functions of
// the domain's keys. Specification: node-lifecycle.md 8.1, 8.2; vm-domains.md 6.6.
#pragma once

#include "pvcnoded/model/states.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace pvc::policy {

// The keys of one domain that the decision rests on, and what the node that is emptied sees.
struct placed_domain {
    model::vm_state state = model::vm_state::unknown;
    std::string node;
    std::string last_node;
    bool autostart = false;
    bool has_no_guest = false;  // here, as libvirt of this node says
    // The recovery of a fenced node stopped it as no node could take it, and nobody has written its state since.
    bool is_parked = false;

    friend bool operator==(const placed_domain&, const placed_domain&) = default;
};

// What is to be written; an empty part stays as it is.
struct placement {
    std::optional<model::vm_state> state;
    std::optional<std::string> node;
    std::optional<std::string> last_node;
    std::optional<bool> autostart;

    friend bool operator==(const placement&, const placement&) = default;
};

enum class domain_step : std::uint8_t {
    skip,          // it does not run and is not to run: it needs nothing
    wait_settled,  // it restarts or goes off: what it is to be shows when that is over
    wait_arrived,  // it is on its way: what is to be done shows when it has arrived
    wait_moved,    // flush: it leaves already, nothing is to be written
    place,         // it is to be moved, shut down, started or assigned
};

[[nodiscard]] domain_step flush_step(const placed_domain& domain, const std::string& self);

// The write for a domain of this node. Empty: it can neither be moved nor need it be shut down.
enum class flush_way : std::uint8_t { move, return_home, shut_down };
struct flush_plan {
    flush_way way = flush_way::move;
    placement write;
};
[[nodiscard]] std::optional<flush_plan> plan_flush(const placed_domain& domain, const std::string& self,
                                                   const std::optional<std::string>& target);

[[nodiscard]] domain_step unflush_step(const placed_domain& domain, const std::string& self);

enum class unflush_way : std::uint8_t {
    start,        // it was shut down, or parked by a recovery, for want of a target
    bring_back,   // it runs elsewhere: moved back
    assign_only,  // it belongs here and is off
};
struct unflush_plan {
    unflush_way way = unflush_way::bring_back;
    placement write;
};
// Empty: it needs nothing.
[[nodiscard]] std::optional<unflush_plan> plan_unflush(const placed_domain& domain, const std::string& self);

// Written by the job, not left yet: the states in which the next domain waits for this one.
[[nodiscard]] bool is_under_way(model::vm_state state);

}  // namespace pvc::policy
