#include "pvcnoded/policy/fencing/leftovers.hpp"

#include <algorithm>
#include <array>

namespace pvc::policy {

using namespace std::chrono_literals;
using model::vm_state;

namespace {

constexpr duration alone_for = 180s;
constexpr duration hourly = 60min;
constexpr duration unseen_looks_apart = 60s;

bool may_be_recovered(vm_state state) {
    switch (state) {
        case vm_state::start:
        case vm_state::restart:
        case vm_state::migrate:
        case vm_state::migrate_live:
        case vm_state::unmigrate: return true;
        default: return false;
    }
}

}  // namespace

std::vector<uuid> leftovers_of(const std::string& dead_node, const std::vector<leftover_guest>& all,
                               std::int64_t proof_id) {
    std::vector<uuid> out;
    for (const auto& one : all) {
        const bool is_migrating =
            may_be_recovered(one.state) && one.state != vm_state::start && one.state != vm_state::restart;
        // A machine that was migrating away is the dead node's as long as its list has it.
        const bool is_its_own = one.node == dead_node || (is_migrating && one.is_listed);
        const bool is_parked = one.state == vm_state::stop && one.autostart && one.state_id == one.autostart_id &&
                               one.state_id > proof_id && one.node == dead_node;
        const bool is_going_off = one.state == vm_state::shutdown && one.node == dead_node;
        if ((is_its_own && may_be_recovered(one.state)) || is_going_off || is_parked) {
            out.push_back(one.id);
        }
    }
    std::ranges::sort(out);
    return out;
}

void leftover_memory::tried(time_point now) {
    if (!first) {
        first = now;
    }
    last = now;
    tries = static_cast<std::uint8_t>(std::min<int>(tries + 1, 100));
}

duration leftover_pause(std::uint8_t tries) {
    constexpr std::array<duration, 5> pauses{5s, 10s, 20s, 40s, 60s};
    return pauses.at(std::min<std::size_t>(tries, pauses.size() - 1));
}

leftover_next next_leftover_try(const leftover_seen& seen, const leftover_memory& memory, time_point now) {
    if (!seen.may_act || !seen.stands || !seen.has_any || seen.is_recovering || !seen.proof.is_valid) {
        return {};
    }
    leftover_next next;
    const bool is_owner = seen.proof.by == seen.self;
    // Why they are left is known then.
    const bool is_tried_soon = seen.can_any && memory.tries == 0 && (is_owner || !seen.is_proof_owner_run);
    next.tells = !is_tried_soon && (!memory.told || now - *memory.told >= hourly);
    const time_point tell_at = memory.told && !next.tells ? *memory.told + hourly : now + hourly;
    const time_point begin = is_owner || !seen.is_proof_owner_run ? seen.since : seen.since + alone_for;
    const time_point due = std::max(begin, (memory.first ? memory.last : begin) + leftover_pause(memory.tries));
    next.tries = seen.can_any && now >= due;
    next.after = seen.can_any && !next.tries ? std::min(due, tell_at) : tell_at;
    return next;
}

unseen_next next_unseen_look(const unseen_guest& seen, std::optional<time_point> told, time_point now) {
    using kind = unseen_next::kind;
    const time_point after = now + unseen_looks_apart;
    if (!seen.is_known) {
        return {kind::wait, after};
    }
    if (seen.is_listed) {
        return {kind::runs, now};
    }
    if (!seen.is_as_written) {
        return {kind::over, now};
    }
    return {!told || now - *told >= hourly ? kind::tells : kind::wait, after};
}

}  // namespace pvc::policy
