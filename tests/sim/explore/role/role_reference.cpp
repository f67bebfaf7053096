// A node that walks as the reference does: it reacts once to each change of the name, its holds end at any time, it
// waits for nobody that a lock does not show it, and its reader waits for the last writer of all (zookeeper-schema.md
// 4.3). What it does at the wrong moment is its own; what ours make of it is judged.
#include "sim/explore/role/role_world.hpp"

#include <algorithm>

namespace pvc::explore::roles {

using model::router_state;
using walk_at = reference_walk::at;

namespace {

bool is_reader(const reference_walk& walk) {
    return walk.is_candidate == (walk.phase == role_phase::b);
}

std::int64_t last_writer(const contenders& queue) {
    std::int64_t last = 0;
    for (const auto& one : queue) {
        last = one.is_reader ? last : std::max(last, one.sequence);
    }
    return last;
}

bool is_there(const contenders& queue, std::int64_t sequence) {
    return std::ranges::find(queue, sequence, &contender::sequence) != queue.end();
}

void add(world& now, std::int8_t who, role_lock which, bool is_reader) {
    now.queue(which).push_back({who, is_reader, false, ++now.last_sequence});
    for (member& other : now.nodes) {
        if (which == role_lock::sync && other.does && other.does->is_between && !other.does->is_queued) {
            other.does->is_overtaken = true;
        }
    }
}

void act(member& own, const reference_walk& walk) {
    const std::uint8_t part = part_of(walk.phase);
    if (walk.is_candidate) {
        own.held |= walk.phase == role_phase::b ? 0 : part;
    } else if (walk.phase != role_phase::g) {
        own.held &= static_cast<std::uint8_t>(~part);
    }
}

void next_phase(reference_walk& walk) {
    switch (walk.phase) {
        case role_phase::a: walk.phase = role_phase::b; break;
        case role_phase::b: walk.phase = role_phase::c; break;
        case role_phase::g: walk.where = walk.is_candidate ? walk_at::release_role : walk_at::say; return;
        default: walk.phase = policy::role_phases.at(static_cast<std::size_t>(walk.phase) + 1); break;
    }
    walk.where = walk_at::ask;
}

}  // namespace

bool can_step(const world& now, std::int8_t who) {
    const member& own = now.at(who);
    if (!own.walks || own.to_zookeeper == link::crashed) {
        return false;
    }
    const reference_walk& walk = *own.walks;
    if (walk.where == walk_at::act) {
        return true;
    }
    if (own.to_zookeeper == link::cut) {
        return false;
    }
    if (walk.where == walk_at::wait_role) {
        const auto& queue = now.queue(role_lock::primary);
        const auto* const child = own_in(queue, who);
        return child == nullptr || child == queue.data();
    }
    if (walk.where == walk_at::wait) {
        const auto& queue = now.queue(role_lock::sync);
        const auto* const child = own_in(queue, who);
        return child == nullptr || (is_reader(walk) ? !is_there(queue, walk.watched) : child == queue.data());
    }
    return true;
}

void step_reference(world& now, std::int8_t who) {
    member& own = now.at(who);
    reference_walk& walk = *own.walks;
    auto& queue = now.queue(role_lock::sync);
    switch (walk.where) {
        case walk_at::wait_role:
            if (own_in(now.queue(role_lock::primary), who) == nullptr) {
                add(now, who, role_lock::primary, false);
            } else {
                walk.where = walk_at::clear;
            }
            break;
        case walk_at::clear: walk.where = walk_at::ask; break;
        case walk_at::ask:
            walk.watched = is_reader(walk) ? last_writer(queue) : 0;
            add(now, who, role_lock::sync, is_reader(walk));
            walk.where = walk_at::wait;
            break;
        case walk_at::wait:
            if (own_in(queue, who) == nullptr) {
                walk.where = walk_at::ask;
            } else if (is_reader(walk) && last_writer(queue) != 0) {
                walk.watched = last_writer(queue);
            } else {
                walk.watched = 0;
                walk.where = is_reader(walk) ? walk_at::let_go : walk_at::act;
            }
            break;
        case walk_at::act:
            act(own, walk);
            if (is_reader(walk)) {
                next_phase(walk);
            } else {
                walk.where = walk_at::let_go;
            }
            break;
        case walk_at::let_go:
            remove_own(queue, who);
            if (is_reader(walk)) {
                walk.where = walk_at::act;
            } else {
                next_phase(walk);
            }
            break;
        case walk_at::release_role:
            remove_own(now.queue(role_lock::primary), who);
            walk.where = walk_at::say;
            break;
        case walk_at::say:
            own.role = walk.is_candidate ? router_state::primary : router_state::secondary;
            store_role(now, own, own.role);
            own.walks.reset();
            break;
    }
}

// 1.0.3: each read lock after 5 s; 0.9.82: the last one after 60 s.
bool can_time_out_reference(const world& now, std::int8_t who) {
    const auto& walk = now.at(who).walks;
    return walk && walk->where == walk_at::wait && is_reader(*walk) &&
           (now.release == 2 || walk->phase == role_phase::g);
}

void time_out_reference(world& now, std::int8_t who) {
    remove_own(now.queue(role_lock::sync), who);
    now.at(who).walks->watched = 0;
    now.at(who).walks->where = walk_at::act;
}

void react_reference(world& now, std::int8_t who) {
    member& own = now.at(who);
    own.has_edge = false;
    if (own.walks) {
        return;
    }
    if (now.named == nobody && own.role == router_state::secondary) {
        if (now.queue(role_lock::primary).empty()) {
            set_named(now, who);
        }
    } else if (now.named == who && own.role == router_state::secondary) {
        own.role = router_state::takeover;
        store_role(now, own, own.role);
        own.walks = reference_walk{.is_candidate = true, .where = walk_at::wait_role};
    } else if (now.named != nobody && now.named != who && own.role == router_state::primary) {
        own.is_leaving = true;
    }
}

void leave_reference(world& now, std::int8_t who) {
    member& own = now.at(who);
    own.is_leaving = false;
    own.role = router_state::relinquish;
    store_role(now, own, own.role);
    own.walks = reference_walk{};
}

// Each tick of a primary compares the name with its own and writes it, whatever is there by then.
bool can_tick(const world& now, std::int8_t who) {
    const member& own = now.at(who);
    return own.to_zookeeper == link::up && (own.has_tick || (own.role == router_state::primary && now.named != who));
}

void tick_reference(world& now, std::int8_t who) {
    member& own = now.at(who);
    if (own.has_tick && now.named != who) {
        set_named(now, who);
    }
    own.has_tick = !own.has_tick;
}

}  // namespace pvc::explore::roles
