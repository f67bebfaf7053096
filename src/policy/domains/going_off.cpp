#include "pvcnoded/policy/domains/going_off.hpp"

#include "pvcnoded/base/planted.hpp"
#include "pvcnoded/base/text.hpp"
#include "pvcnoded/policy/domains/domain_table.hpp"
#include "pvcnoded/policy/domains/resolving.hpp"

namespace pvc::policy {

using namespace std::chrono_literals;
using model::guest_class;
using model::vm_state;

namespace {

constexpr duration look_for_its_node_every = 30s;
constexpr duration ask_holders_of_ending_after = 10s;
constexpr duration half_patience = 10s;

void guest_is_gone(context& c) {
    c.memory.adoption.ended();
    c.acts.emplace_back(act::forget_live{});
}

}  // namespace

void going_off::hold(holdings& what) const {
    if (where == at::powering_down) {
        power.hold(what);
    }
}

step going_off::finish() {
    where = at::over;
    return over();
}

bool going_off::goes_on(const context& c) const {
    switch (why) {
        case reason::shutdown: return c.seen.is_present && c.seen.state == vm_state::shutdown;
        case reason::quiet_shutdown:
            return c.seen.is_present && (c.seen.state == vm_state::disable || c.seen.state == vm_state::mirror);
        case reason::restart: return c.seen.is_present && c.seen.state == vm_state::restart && c.seen.is_owner;
        case reason::stop:
        case reason::terminate: break;
    }
    return true;
}

step going_off::begin(context& c) {
    destroy.only_for = c.seen.wish;
    switch (why) {
        case reason::shutdown: c.state("shutting down"); return power_down(c);
        case reason::quiet_shutdown:
            c.state(std::string("shutting down: its state is ") + std::string(to_text(c.seen.state)));
            return power_down(c);
        case reason::stop:
            asked = c.seen.wish;
            // What arrives is sent because of a newer word, unless it is read that there is none.
            return c.seen.is_guest(guest_class::incoming) ? look_again(c) : stop(c);
        case reason::restart:
            c.state("restarting");
            where = c.seen.is_guest(guest_class::paused) ? at::destroying : at::powering_down;
            return resume(c);
        case reason::terminate: break;
    }
    asked = c.seen.wish;
    // What is to run must have somewhere to run: a slip of the pen in `node` ends no guest.
    if (!is_to_run(c.seen.state)) {
        return look_again(c);
    }
    where = at::looking_for_node;
    return {ask::node_exists{std::string(c.seen.node)}, time_point::max(), "whether the cluster has its node"};
}

step going_off::has_looked(context& c) {
    const auto found = c.answer_as<yes>().is;
    if (c.seen.wish != asked) {
        return finish();  // the tables look again
    }
    if (!found) {
        c.pause(1s);
        return finish();
    }
    if (*found) {
        return look_again(c);
    }
    told_once& told = c.memory.told;
    if (std::exchange(told.nowhere, c.seen.wish.node_changed) != c.seen.wish.node_changed) {
        c.error(message::domain_node_unknown, "it belongs to node `" + shown(c.seen.node) +
                                                  "`, which the cluster does not have: it is left running here");
    }
    told.nowhere_until = c.now + look_for_its_node_every;
    return finish();
}

// What is here may have come by a migration that was begun since its keys were read: a reference node sends without
// waiting for its receiver, which may be us.
step going_off::look_again(context& c) {
    if (!c.seen.is_present || c.seen.state == vm_state::deleted) {
        return end(c);
    }
    where = at::reading;
    return {ask::row{}, time_point::max(), "its keys, before it is ended"};
}

step going_off::has_read(context& c) {
    const auto& read = c.answer_as<row_read>();
    if (read.is_fresh() && (c.seen.wish == asked || is_planted(defect::ended_unread))) {
        return end(c);
    }
    if (read.what == row_read::end::failed) {
        c.pause(1s);
    }
    return finish();  // the tables look again
}

step going_off::end(context& c) {
    return why == reason::stop ? stop(c) : terminate(c);
}

step going_off::stop(context& c) {
    c.state("stopping");
    where = at::destroying;
    return resume(c);
}

step going_off::terminate(context& c) {
    c.state(c.seen.state == vm_state::deleted ? "destroying: it is being deleted"
            : !c.seen.node.empty()            ? "terminating: it belongs to node " + shown(c.seen.node)
                                              : std::string("terminating"));
    where = at::destroying;
    return resume(c);
}

step going_off::power_down(context& c) {
    where = at::powering_down;
    step next = power.resume(c, goes_on(c));
    if (!next.is_over()) {
        return next;
    }
    return power.end == power_end::off ? gone(c) : finish();
}

step going_off::gone(context& c) {
    guest_is_gone(c);
    if (why == reason::shutdown || why == reason::restart) {
        where = at::unlisting;
        return {ask::set_listed{false}, time_point::max(), "the running list"};
    }
    clean = {.with_keys = why != reason::terminate};
    where = at::cleaning_up;
    return resume(c);
}

step going_off::unlisted(context& c) {
    if (why == reason::restart) {
        return finish();  // the table goes on with the start
    }
    if (c.seen.is_present && c.seen.state == vm_state::shutdown) {
        where = at::writing;
        return {ask::write_state{vm_state::stop}, time_point::max(), "that it is off"};
    }
    return end_console();
}

step going_off::end_console() {
    where = at::ending_console;
    return {ask::end_console{}, time_point::max(), "the end of its console's log"};
}

step going_off::clear_vnc(context& c) {
    if (!c.seen.is_present || c.seen.state == vm_state::deleted || !c.seen.is_owner) {
        return finish();
    }
    where = at::clearing_vnc;
    return {ask::clear_own{own_key::vnc}, time_point::max(), "its VNC address"};
}

step going_off::cleaned(context& c) {
    if (why == reason::stop) {
        c.state("stopped");
    }
    return finish();
}

step going_off::resume(context& c) {
    switch (where) {
        case at::begin: return begin(c);
        case at::looking_for_node: return has_looked(c);
        case at::reading: return has_read(c);
        case at::powering_down: return power_down(c);
        case at::destroying:
            return hand_on(destroy, c, [&] { return destroy.end == power_end::off ? gone(c) : finish(); });
        case at::unlisting: return unlisted(c);
        case at::writing:
            if (c.wrote()) {
                c.state("stopped");
            }
            return end_console();
        case at::ending_console: return clear_vnc(c);
        case at::cleaning_up: return hand_on(clean, c, [&] { return cleaned(c); });
        case at::clearing_vnc:
        case at::over: break;
    }
    return finish();
}

// ---- a shutdown to be completed -------------------------------------------------------------------------------------

bool settling_shutdown::is_still_to_settle(const context& c) {
    return !c.seen.must_end && c.seen.is_present && c.seen.is_owner && c.seen.state == vm_state::shutdown &&
           c.seen.is_guest(guest_class::absent);
}

void settling_shutdown::hold(holdings& what) const {
    if (where == at::releasing) {
        released.hold(what);
    }
}

step settling_shutdown::resume(context& c) {
    switch (where) {
        case at::begin: where = at::unlisting; return {ask::set_listed{false}, time_point::max(), "the running list"};
        case at::unlisting:
            where = at::ending_console;
            return {ask::end_console{}, time_point::max(), "the end of its console's log"};
        case at::ending_console:
            released.rules = {.includes_stopped = true, .ask_after = ask_holders_of_ending_after};
            where = at::releasing;
            [[fallthrough]];
        case at::releasing: {
            step next = released.resume(c, is_still_to_settle(c));
            if (!next.is_over()) {
                return next;
            }
            if (released.end != release_wait::outcome::clear) {
                break;
            }
            // It may have arrived just now, and nobody has told yet: libvirt's own word.
            where = at::looking;
            return {ask::own_guest{}, c.now + guest_query_limit, "libvirt, whether it is off"};
        }
        case at::looking:
            if (!c.said_yes()) {
                c.pause(1s);
                break;
            }
            if (!is_still_to_settle(c)) {
                break;
            }
            where = at::writing;
            return {ask::write_state{vm_state::stop}, time_point::max(), "that it is off"};
        case at::writing:
            if (c.wrote()) {
                c.state("stopped");
                where = at::clearing_vnc;
                return {ask::clear_own{own_key::vnc}, time_point::max(), "its VNC address"};
            }
            break;
        case at::clearing_vnc:
        case at::over: break;
    }
    where = at::over;
    return over();
}

// ---- half of a migration that nobody needs --------------------------------------------------------------------------

step dropping_half::wait(context& c) {
    const bool is_asked_for =
        decide({.state = c.seen.state, .is_owner = c.seen.is_owner, .guest = guest_class::incoming}) ==
        domain_action::drop_incoming;
    const bool goes_on = !c.seen.must_end && c.seen.is_present && !is_nobodys(c.seen) && is_asked_for &&
                         c.seen.is_guest(guest_class::incoming);
    if (!goes_on) {
        where = at::over;
        return over();
    }
    if (c.now < until) {
        where = at::waiting;
        return {ask::change{}, until, "the end of a migration that nobody needs"};
    }
    c.warning(message::domain_half_left, "half of a broken migration is left here and nobody needs it, destroying it");
    c.memory.migration.is_stale_half = true;
    where = at::destroying;
    return resume(c);
}

step dropping_half::resume(context& c) {
    switch (where) {
        case at::begin: until = c.seen.class_since + half_patience; return wait(c);
        case at::waiting: return wait(c);
        case at::destroying:
            return hand_on(destroy, c, [&] {
                if (destroy.end != power_end::off) {
                    where = at::over;
                    return over();
                }
                guest_is_gone(c);
                where = at::cleaning_up;
                return resume(c);
            });
        case at::cleaning_up:
            return hand_on(clean, c, [&] {
                where = at::over;
                return over();
            });
        case at::over: break;
    }
    return over();
}

}  // namespace pvc::policy
