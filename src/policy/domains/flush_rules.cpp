#include "pvcnoded/policy/domains/flush_rules.hpp"

#include "pvcnoded/policy/domains/domain_table.hpp"

namespace pvc::policy {

using model::vm_state;

namespace {

bool is_settling(vm_state state) {
    return state == vm_state::restart || state == vm_state::shutdown;
}

// Off because somebody wants it so, or not a domain of this cluster to be started: only a client leaves these states.
bool is_off_by_intent(vm_state state) {
    switch (state) {
        case vm_state::disable:
        case vm_state::provision:
        case vm_state::import:
        case vm_state::restore:
        case vm_state::mirror: return true;
        default: return false;
    }
}

// Nobody knows what it is to be, or its keys are about to go: nothing is written.
bool is_untouchable(vm_state state) {
    return state == vm_state::unknown || state == vm_state::deleted;
}

bool runs_or_moves(vm_state state) {
    return state == vm_state::start || is_migration(state);
}

// A restart that has nothing to end is a start, which may wait for long.
vm_state wanted_of(const placed_domain& domain, const std::string& self) {
    const bool is_to_start = domain.state == vm_state::restart && domain.node == self && domain.has_no_guest;
    return is_to_start ? vm_state::start : domain.state;
}

// A client who asked for a live move gets one, or none: where it goes is another matter.
vm_state move_of(vm_state state) {
    return state == vm_state::migrate_live ? state : vm_state::migrate;
}

}  // namespace

bool is_under_way(vm_state state) {
    return is_migration(state) || state == vm_state::shutdown;
}

domain_step flush_step(const placed_domain& domain, const std::string& self) {
    const vm_state wanted = wanted_of(domain, self);
    if (is_settling(wanted)) {
        return domain_step::wait_settled;
    }
    if (!runs_or_moves(wanted)) {
        return domain_step::skip;
    }
    if (domain.node != self) {
        return domain_step::wait_moved;
    }
    return is_migration(wanted) ? domain_step::wait_arrived : domain_step::place;
}

std::optional<flush_plan> plan_flush(const placed_domain& domain, const std::string& self,
                                     const std::optional<std::string>& target) {
    const vm_state wanted = wanted_of(domain, self);
    if (!runs_or_moves(wanted) || domain.node != self) {
        return std::nullopt;
    }
    if (!target) {
        if (wanted != vm_state::start) {
            return std::nullopt;
        }
        return flush_plan{flush_way::shut_down, {vm_state::shutdown, std::nullopt, std::nullopt, true}};
    }
    const std::string& home = domain.last_node.empty() ? domain.node : domain.last_node;
    const bool is_return = *target == home;
    return flush_plan{is_return ? flush_way::return_home : flush_way::move,
                      {move_of(wanted), target, is_return ? std::string() : home, std::nullopt}};
}

domain_step unflush_step(const placed_domain& domain, const std::string& self) {
    if (is_untouchable(domain.state)) {
        return domain_step::skip;
    }
    if (domain.autostart && domain.node == self) {
        if (is_migration(domain.state)) {
            return domain_step::wait_arrived;  // `start` now would end it where it still runs
        }
        return is_off_by_intent(domain.state) ? domain_step::skip : domain_step::place;
    }
    if (domain.last_node != self) {
        return domain_step::skip;
    }
    // Given another node in the middle of it, a guest that restarts would be cut off where it runs.
    if (is_settling(domain.state)) {
        return domain_step::wait_settled;
    }
    return is_migration(domain.state) ? domain_step::wait_arrived : domain_step::place;
}

std::optional<unflush_plan> plan_unflush(const placed_domain& domain, const std::string& self) {
    const domain_step step = unflush_step(domain, self);
    if (step == domain_step::skip || step == domain_step::wait_settled) {
        return std::nullopt;
    }
    if (domain.autostart && domain.node == self) {
        if (is_migration(domain.state)) {
            return std::nullopt;
        }
        return unflush_plan{unflush_way::start, {vm_state::start, self, "", false}};
    }
    if (runs_or_moves(domain.state) && domain.node != self) {
        return unflush_plan{unflush_way::bring_back, {move_of(domain.state), self, "", std::nullopt}};
    }
    // Taken without a start it would be lost: whoever looks for parked machines looks at those of the dead node.
    if (domain.is_parked) {
        return unflush_plan{unflush_way::start, {vm_state::start, self, "", false}};
    }
    return unflush_plan{unflush_way::assign_only, {std::nullopt, self, "", std::nullopt}};
}

}  // namespace pvc::policy
