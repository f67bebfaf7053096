#include "pvcnoded/policy/domains/settling.hpp"

#include "pvcnoded/base/planted.hpp"

#include "pvcnoded/policy/domains/domain_table.hpp"

namespace pvc::policy {

using model::vm_state;

namespace {

constexpr duration vnc_again = std::chrono::seconds(1);
constexpr duration word_again = std::chrono::seconds(1);

void take_vnc(context& c) {
    c.memory.adoption.owes_vnc = !c.said_yes();
    if (c.memory.adoption.owes_vnc) {
        c.pause(vnc_again);
    }
}

void take_word(context& c) {
    c.memory.adoption.owes_word = !c.said_yes();
    if (c.memory.adoption.owes_word) {
        c.pause(word_again);
    }
}

}  // namespace

// ---- adopt ----------------------------------------------------------------------------------------------------------

step adopting::listed(context& c) {
    // Since this began somebody may have sent it elsewhere, or wanted something else: that word stands.
    const bool has_arrived = c.seen.is_present && c.seen.is_owner && is_migration(c.seen.state);
    if (with_state && !has_arrived && !is_planted(defect::arrival_overwrites)) {
        where = at::over;
        return over();
    }
    // What had arrived may have ended, and be sent once more: of that nothing is said yet.
    const bool is_gone = c.seen.is_guest(model::guest_class::absent) || c.seen.is_guest(model::guest_class::incoming);
    if (with_state && is_gone && !is_planted(defect::arrived_too_early)) {
        where = at::over;
        return over();
    }
    if (with_state) {
        where = at::writing;
        return {ask::write_state{vm_state::start}, time_point::max(), "that it runs here"};
    }
    return adopted(c);
}

step adopting::adopted(context& c) {
    adoption& memory = c.memory.adoption;
    memory.is_adopted = true;
    memory.state = c.seen.wish.state_changed;
    memory.spacing.started(c.now);
    c.memory.going_down.over();
    c.acts.emplace_back(act::arrived_home{});
    c.acts.emplace_back(act::follow_console{});
    // It came while it waited to be started: no start sees that.
    memory.owes_reason = memory.owes_reason || !c.memory.waits.text.empty();
    c.memory.waits = {};
    if (memory.owes_reason) {
        where = at::clearing_reason;
        return {ask::clear_reason{}, time_point::max(), "that nothing failed"};
    }
    return publish(c);
}

step adopting::publish(context& /*c*/) {
    where = at::publishing;
    return {ask::publish_vnc{}, time_point::max(), "its VNC address"};
}

step adopting::resume(context& c) {
    switch (where) {
        case at::begin:
            c.acts.emplace_back(act::tell_pause{});
            c.memory.adoption.owes_word = false;
            where = at::listing;
            return {ask::set_listed{true}, time_point::max(), "the running list"};
        case at::listing: return listed(c);
        case at::writing:
            if (!c.wrote()) {
                break;
            }
            c.state("it runs here now");
            return adopted(c);
        case at::clearing_reason: c.memory.adoption.owes_reason = !c.said_yes(); return publish(c);
        case at::publishing:
            take_vnc(c);
            if (with_state || is_migration(c.seen.state)) {  // the word is that of the next one
                break;
            }
            where = at::clearing_word;  // of a migration that ended with its session
            return {ask::clear_own{own_key::sync_word}, time_point::max(), "what a migration left"};
        case at::clearing_word: take_word(c); break;
        case at::over: break;
    }
    where = at::over;
    return over();
}

// ---- keep -----------------------------------------------------------------------------------------------------------

step keeping::resume(context& c) {
    switch (where) {
        case at::begin: where = at::listing; return {ask::set_listed{true}, time_point::max(), "the running list"};
        case at::listing: {
            adoption& memory = c.memory.adoption;
            memory.is_adopted = true;
            memory.state = c.seen.wish.state_changed;
            where = at::seeing;
            shows_vnc = c.seen.is_owner;
            if (shows_vnc) {
                c.acts.emplace_back(act::follow_console{});
                return {ask::publish_vnc{}, time_point::max(), "its VNC address"};
            }
            return {ask::live_xml{}, time_point::max(), "its definition"};
        }
        case at::seeing:
            if (shows_vnc) {
                take_vnc(c);
            } else {
                c.memory.adoption.owes_vnc = true;  // should it become ours again: console and VNC were not seen to
            }
            break;
        case at::over: break;
    }
    where = at::over;
    return over();
}

// ---- clean up -------------------------------------------------------------------------------------------------------

step cleaning_up::resume(context& c) {
    switch (where) {
        case at::begin:
            c.memory.adoption.ended();
            c.memory.adoption.owes_word = false;
            c.memory.going_down.over();
            where = at::listing;
            return {ask::set_listed{false}, time_point::max(), "the running list"};
        case at::listing:
            where = at::ending_console;
            return {ask::end_console{}, time_point::max(), "the end of its console's log"};
        case at::ending_console:
            if (!with_keys || !c.seen.is_present || !c.seen.is_owner || c.seen.state == vm_state::deleted) {
                break;
            }
            where = at::clearing_vnc;
            return {ask::clear_own{own_key::vnc}, time_point::max(), "its VNC address"};
        case at::clearing_vnc:
            if (!c.seen.is_present || !c.seen.is_owner || is_migration(c.seen.state)) {
                break;  // the word is that of the next migration
            }
            where = at::clearing_word;  // of a migration that ended with its session
            return {ask::clear_own{own_key::sync_word}, time_point::max(), "what a migration left"};
        case at::clearing_word:
            take_word(c);
            if (!c.seen.is_present || !c.seen.is_owner || !is_off_state(c.seen.state) ||
                c.seen.state == vm_state::fail) {
                break;
            }
            where = at::clearing_reason;  // of a wait that a stop ended while no daemon was there
            return {ask::clear_reason{.of_a_wait = true}, time_point::max(), "why it waited to be taken back"};
        case at::clearing_reason:
        case at::over: break;
    }
    where = at::over;
    return over();
}

}  // namespace pvc::policy
