// hv2 as a node of 0.9.82 (node-lifecycle.md 10, columns REF82): no lock, six throws on the state alone, an exit status
// for a proof, a machine after the other by the list. What it does wrong is excused; what ours makes of it is not.
#include "sim/explore/fence/fence_world.hpp"

namespace pvc::explore::fences {

using namespace std::chrono_literals;
using at = reference_fencer::at;
using model::daemon_state;
using model::vm_state;

namespace {
constexpr duration interval_of_reference = 5s;
constexpr duration silence_of_reference = 31s;

void go_to(world& now, at where, duration after) {
    now.reference.where = where;
    now.reference.next = now.now + after;
}

void write_state(world& now, daemon_state state) {
    now.keys.state = state;
    now.keys.state_id = now.next_id();
    now.has_reference_acted = true;
}
}  // namespace

bool can_step_reference(const world& now) {
    if (!now.of.reference || !now.is_begun) {
        return false;
    }
    if (now.reference.where == at::idle) {
        return !now.dead.is_up && now.keys.state == daemon_state::run &&
               now.now - now.fell_silent >= silence_of_reference && now.keys.heartbeat_id == 2;
    }
    return now.now >= now.reference.next;
}

void step_reference(world& now) {
    auto& own = now.reference;
    switch (own.where) {
        case at::idle:
            write_state(now, daemon_state::dead);
            own.throws = 0;
            go_to(now, at::throwing, interval_of_reference);
            break;
        case at::throwing:
            if (now.keys.state != daemon_state::dead) {
                go_to(now, at::idle, 0s);
            } else {
                go_to(now, ++own.throws < 6 ? at::throwing : at::off,
                      own.throws < 6 ? interval_of_reference : duration(0s));
            }
            break;
        case at::off:
            now.has_reference_acted = true;
            own.was_off = !now.dead.board.refuses;
            if (own.was_off) {
                switch_off(now);
            }
            go_to(now, at::on, 5s);
            break;
        case at::looking: break;
        case at::on:
            if (!now.dead.board.refuses) {
                switch_on(now);
            }
            go_to(now, at::settling, 7s);
            break;
        case at::looking_again: break;
        case at::settling:
            if (!own.was_off) {
                go_to(now, at::idle, 0s);
                break;
            }
            write_state(now, daemon_state::fenced);
            go_to(now, at::flush, 0s);
            break;
        case at::fenced:
        case at::flush:
            now.keys.is_recovering = true;
            go_to(now, at::locks, 0s);
            break;
        case at::locks:
            now.dead.is_blocked = now.dead.is_blocked || now.guest.lock == victim;
            now.guest.lock = nobody;
            go_to(now, at::move, 0s);
            break;
        case at::move:
            if (now.guest.state == vm_state::start || now.guest.state == vm_state::migrate) {
                now.guest.state = vm_state::start;
                now.guest.node = taker;
                now.guest.last = victim;
                now.guest.state_id = now.next_id();
            }
            go_to(now, at::flushed, 0s);
            break;
        case at::flushed:
            now.keys.is_recovering = false;
            now.keys.is_listed = false;
            go_to(now, at::idle, 0s);
            break;
    }
}

}  // namespace pvc::explore::fences
