#include "sim/explore/role/role_world.hpp"

#include "sim/explore/canonical.hpp"

#include <algorithm>

namespace pvc::explore::roles {

using model::router_state;

namespace {
constexpr std::array<std::string_view, nodes_max> names{"hv1", "hv2", "hv3"};

std::int8_t number_of(std::string_view name) {
    const auto found = std::ranges::find(names, name);
    return found == names.end() ? nobody : static_cast<std::int8_t>(found - names.begin());
}
}  // namespace

std::string_view name_of(std::int8_t who) {
    return who == nobody ? "none" : names.at(static_cast<std::size_t>(who));
}

std::uint8_t part_of(role_phase which) {
    switch (which) {
        case role_phase::c: return 1;
        case role_phase::d: return 2;
        case role_phase::e: return 4;
        case role_phase::f: return 8;
        case role_phase::b:
        case role_phase::g: return services;
        default: return 0;
    }
}

contender* own_in(contenders& queue, std::int8_t who) {
    const auto found =
        std::ranges::find_if(queue, [who](const contender& one) { return one.owner == who && !one.is_orphan; });
    return found == queue.end() ? nullptr : &*found;
}

const contender* own_in(const contenders& queue, std::int8_t who) {
    const auto found =
        std::ranges::find_if(queue, [who](const contender& one) { return one.owner == who && !one.is_orphan; });
    return found == queue.end() ? nullptr : &*found;
}

void remove_own(contenders& queue, std::int8_t who) {
    if (auto* const own = own_in(queue, who)) {
        queue.erase(queue.begin() + (own - queue.data()));
    }
}

void set_named(world& now, std::int8_t whom) {
    now.named = whom;
    for (member& one : now.nodes) {
        one.is_after_name = false;
        // The key has the version 0 throughout: what was remembered of it is one older from now on.
        auto& version = one.memory.own_version;
        version = version == 0 ? std::optional<std::int32_t>(-1) : std::nullopt;
    }
    if (now.of.reference != nobody) {
        now.at(now.of.reference).has_edge = true;
    }
}

void store_role(world& now, member& of, model::router_state to) {
    of.stored = to;
    of.is_after_name = now.of.reference != nobody;  // ours check who is named
}

policy::written_back looked_at(const world& now, std::int8_t who) {
    auto memory = now.at(who).memory;
    constexpr bool is_late = false;
    memory.look(view_of(now, who, is_late), start_of_time);
    return memory;
}

world beginning(const bounds& of) {
    world out;
    out.of = of;
    out.faults = of.faults;
    out.writes = of.writes;
    out.release = of.reference == nobody ? 1 : 0;
    member& holder = out.at(0);
    holder.role = holder.stored = router_state::primary;
    holder.held = everything;
    set_named(out, 1);
    return out;
}

policy::coordinator_view view_of(const world& now, std::int8_t who, bool is_late) {
    const member& own = now.at(who);
    const duration age = is_late ? duration(std::chrono::hours(1)) : duration::zero();
    policy::coordinator_view view;
    view.self = name_of(who);
    view.role = own.role;
    view.stored_role = own.stored;
    view.role_unchanged_for = age;
    view.started = true;
    view.session_live = own.to_zookeeper == link::up;
    view.primary.unchanged_for = age;
    view.primary.written = 1;
    if (now.named != nobody) {
        view.primary.node = name_of(now.named);
    }
    for (std::int8_t other = 0; other < now.of.nodes; ++other) {
        if (other == who) {
            continue;
        }
        const member& seen = now.at(other);
        policy::coordinator_peer peer;
        peer.name = name_of(other);
        peer.daemon = seen.is_fenced ? model::daemon_state::fenced : model::daemon_state::run;
        peer.router = seen.stored;
        peer.router_written = seen.is_after_name ? 2 : 0;
        peer.stopped_for = seen.is_fenced ? age : duration::zero();
        peer.daemon_unchanged_for = peer.router_unchanged_for = age;
        switch (seen.heard) {
            case silence::fresh: peer.keepalive_unchanged_for = std::chrono::seconds(1); break;
            case silence::silent: peer.keepalive_unchanged_for = view.times.grace(); break;
            case silence::past: peer.keepalive_unchanged_for = *policy::silence_limit(view.times); break;
        }
        view.peers.push_back(std::move(peer));
    }
    view.returned = own.memory.returned(view, start_of_time + age);
    return view;
}

namespace {

bool is_in_touch_with(const member& taking, std::int8_t other) {
    const bool has_taken = taking.role == router_state::takeover || taking.role == router_state::primary;
    return has_taken && (taking.up_since & (1 << other)) != 0;
}

std::optional<broken_rule> wrong_between(const world& now, std::int8_t one, std::int8_t other) {
    const member& a = now.at(one);
    const member& b = now.at(other);
    if (a.to_zookeeper == link::crashed || b.to_zookeeper == link::crashed) {
        return std::nullopt;
    }
    const std::string both = std::string(name_of(one)) + " and " + std::string(name_of(other));
    if (a.role == router_state::relinquish || b.role == router_state::relinquish || is_in_touch_with(a, other) ||
        is_in_touch_with(b, one)) {
        return std::nullopt;
    }
    if ((a.held & b.held & addresses) != 0) {
        return broken_rule{"one_holder", both + " hold the same address"};
    }
    const bool are_up = a.to_zookeeper == link::up && b.to_zookeeper == link::up;
    if (are_up && a.role == router_state::primary && b.role == router_state::primary) {
        return broken_rule{"one_primary", both + " are primary"};
    }
    return std::nullopt;
}

}  // namespace

std::optional<broken_rule> wrong_now(const world& now) {
    if (!now.is_timely || now.of.reference != nobody) {
        return std::nullopt;  // then it is judged when an address is taken up
    }
    for (std::int8_t one = 0; one < now.of.nodes; ++one) {
        for (auto other = static_cast<std::int8_t>(one + 1); other < now.of.nodes; ++other) {
            if (auto broken = wrong_between(now, one, other)) {
                return broken;
            }
        }
    }
    return std::nullopt;
}

bool is_at_rest(const world& now) {
    for (const auto& queue : now.queues) {
        if (!queue.empty()) {
            return false;
        }
    }
    for (std::int8_t who = 0; who < now.of.nodes; ++who) {
        const member& one = now.at(who);
        const bool is_named = now.named == who;
        const auto wanted = is_named ? router_state::primary : router_state::secondary;
        if (one.to_zookeeper != link::up || one.does || one.walks || one.role != wanted || one.stored != wanted ||
            one.held != (is_named ? everything : 0) || one.left != 0) {
            return false;
        }
    }
    return now.named != nobody;
}

identity identity_of(const world& now) {
    canonical of(start_of_time, boot_time{}, number_of);
    of.put(now);
    const part_identity part = of.finish();
    auto ranks = part.stamps;
    std::ranges::sort(ranks);
    const auto end = std::unique(ranks.begin(), ranks.end());
    identity_builder out;
    out.word(part.bytes.a);
    out.word(part.bytes.b);
    for (const auto stamp : part.stamps) {
        out.byte(static_cast<std::uint8_t>(std::lower_bound(ranks.begin(), end, stamp) - ranks.begin()));
    }
    return out.finish();
}

}  // namespace pvc::explore::roles
