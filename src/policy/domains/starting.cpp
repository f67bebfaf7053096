#include "pvcnoded/policy/domains/starting.hpp"

#include "pvcnoded/base/planted.hpp"
#include "pvcnoded/base/utf8.hpp"
#include "pvcnoded/policy/domains/ending.hpp"

#include <algorithm>

namespace pvc::policy {

using namespace std::chrono_literals;
using model::guest_class;
using model::vm_state;

namespace {

constexpr duration ask_holders_after = 15s;
// Who has it may have to destroy it twice.
constexpr duration holders_patience = 150s;
static_assert(holders_patience > destroying::two_tries);
constexpr duration create_limit = 120s;
constexpr duration removal_patience = 15s;
constexpr duration create_pause = 500ms;
constexpr duration unavailable_pause = 500ms;
constexpr duration unlisted_pause = 500ms;
constexpr int announce_tries = 5;

}  // namespace

std::string failed_reason(std::string_view said) {
    constexpr std::size_t reason_max = 2000;  // what libvirt quotes of a definition may be longer than that
    std::string reason = valid_utf8(start_to_character(said, reason_max));
    std::ranges::replace_if(reason, [](char c) { return c == '\n' || c == '\r'; }, ' ');
    return reason;
}

void starting::hold(holdings& what) const {
    if (where == at::releasing) {
        released.hold(what);
    }
    if (wants_turn) {
        what.of_turn = holdings::turn::to_be_created;
    }
}

std::string starting::awaited() const {
    const bool waits_for_lock = where == at::clearing_locks && locks.where == clearing_rbd_locks::at::waiting;
    return waits_for_lock ? locks.in_the_way : std::string();
}

bool starting::is_ours_to_start(const context& c) {
    return !c.seen.must_end && !c.seen.holds_starts && c.seen.is_present && c.seen.is_owner &&
           (c.seen.state == vm_state::start || c.seen.state == vm_state::restart) &&
           c.seen.is_guest(guest_class::absent);
}

bool starting::goes_on(const context& c) const {
    return is_ours_to_start(c) && c.seen.wish == began_with;
}

bool starting::is_still_wanted(const context& c) const {
    return c.seen.is_present && c.seen.is_owner &&
           (c.seen.state == vm_state::start || (c.seen.state == vm_state::restart && c.seen.wish == began_with));
}

step starting::finish() {
    wants_turn = false;
    where = at::over;
    return over();
}

// Until when an automatic restart waits; a write of a client ends that: the manager looks again.
step starting::space(context& c) {
    const time_point until = c.memory.adoption.not_before;
    if (c.now < until) {
        if (!is_ours_to_start(c) || c.seen.wish != spaced_for) {
            return finish();
        }
        where = at::spacing;
        return {ask::change{}, until, "the next automatic restart"};
    }
    if (!is_ours_to_start(c)) {
        return finish();
    }
    c.acts.emplace_back(act::follow_console{});
    return attempt(c);
}

step starting::attempt(context& c) {
    wants_turn = false;
    if (!is_ours_to_start(c)) {
        return finish();
    }
    began_with = c.seen.wish;
    released = {};
    released.rules = {.ask_after = ask_holders_after, .give_up_after = holders_patience};
    where = at::releasing;
    return release(c);
}

step starting::release(context& c) {
    step next = released.resume(c, goes_on(c));
    if (!next.is_over()) {
        return next;
    }
    switch (released.end) {
        case release_wait::outcome::changed: return attempt(c);
        case release_wait::outcome::still_there: return fail(c, "the domain is still running on " + released.node);
        case release_wait::outcome::clear: break;
    }
    where = at::reading_definition;
    return {ask::definition{}, time_point::max(), "its definition"};
}

step starting::has_definition(context& c) {
    const auto& read = c.answer_as<definition_read>();
    switch (read.what) {
        case definition_read::end::read:
            locks = {.rules = lock_rules::before_a_start(), .read = {.volumes = read.volumes}};
            where = at::clearing_locks;
            return clear_locks(c);
        case definition_read::end::unusable: return fail(c, read.reason);
        case definition_read::end::missing:
            if (c.seen.is_present) {
                return fail(c, "the domain has no XML");
            }
            [[fallthrough]];
        case definition_read::end::failed: c.pause(1s); break;
    }
    return finish();
}

step starting::clear_locks(context& c) {
    step next = locks.resume(c, goes_on(c));
    if (!next.is_over()) {
        return next;
    }
    const clearing_rbd_locks cleared = std::exchange(locks, {});
    switch (cleared.end) {
        case clearing_rbd_locks::outcome::refused: return fail(c, cleared.reason);
        case clearing_rbd_locks::outcome::changed: return attempt(c);
        case clearing_rbd_locks::outcome::no_libvirt: c.pause(unavailable_pause); return finish();
        case clearing_rbd_locks::outcome::clear: break;
    }
    wants_turn = true;
    where = at::taking_turn;
    return {ask::change{}, c.now, "its turn to be created"};
}

step starting::take_turn(context& c) {
    if (!goes_on(c)) {
        return attempt(c);  // others need the place
    }
    if (!c.seen.held.has_turn) {
        return {ask::change{}, time_point::max(), "its turn to be created"};
    }
    if (is_planted(defect::created_unlisted)) {
        return prove();
    }
    where = at::announcing;
    return {ask::set_listed{true}, time_point::max(), "the running list, before it is created"};
}

// Listed first, and acknowledged, then read: should it have been given to another node before this read, then it is not
// created here; and should it be given to another node after it, then that node finds it in the list when it looks who
// may have it. What is listed and not created after all is taken off the list by what is done instead.
step starting::announced(context& c) {
    if (c.said_yes() || is_planted(defect::created_unannounced)) {
        return prove();
    }
    c.pause(unlisted_pause);
    return finish();
}

step starting::prove() {
    where = at::proving;
    return {ask::row{}, time_point::max(), "its keys, before it is created"};
}

// The guarded read: the same view, still, on a connected session.
step starting::proven(context& c) {
    const auto& read = c.answer_as<row_read>();
    const bool is_same = (read.is_fresh() && c.seen.is_connected && goes_on(c)) || is_planted(defect::create_unguarded);
    if (!is_same && !c.seen.is_connected) {
        c.pause(500ms);
        return finish();
    }
    if (!is_same) {
        where = at::yielding;
        return {ask::time{}, c.now, "another look"};
    }
    where = at::creating;
    return {ask::create{read.proof}, c.now + create_limit, "libvirt to create it"};
}

step starting::created(context& c) {
    const auto& answer = c.answer_as<call_answer>();
    refused = answer.end;
    reason = answer.text;
    return refused == call_end::done ? announce(c) : refused_creation(c);
}

// What a creation that failed may still come to.
step starting::refused_creation(context& c) {
    switch (refused) {
        case call_end::too_late: return attempt(c);
        case call_end::unavailable:
            c.pause(unavailable_pause);  // no failure of the domain: once libvirt, or a part of it, is back
            return finish();
        case call_end::timed_out:
            c.error(message::domain_creation_late,
                    "libvirt has not answered for 120 s since it was told to create it: whether it did is not known");
            [[fallthrough]];
        case call_end::wrong_state:
            where = at::asking_own_guest;
            return {ask::own_guest{}, c.now + guest_query_limit, "libvirt, whether it is there"};
        case call_end::being_removed: again_until = again_until.value_or(c.now + removal_patience); break;
        default: again_until.reset(); break;
    }
    return again_or_fail(c);
}

step starting::looked_at_refused(context& c) {
    if (refused == call_end::timed_out) {
        c.pause(5s);
        return finish();
    }
    if (!c.said_yes() || !c.seen.is_guest(guest_class::absent)) {
        return finish();  // it is there: the tables adopt it
    }
    // "Already being started": a call that was lost with its connection goes on without us.
    if (std::exchange(again_until, again_until.value_or(c.now + create_limit))) {
        where = at::ending_crashed;
        return {ask::end_crashed{}, time_point::max(), "what is left of a crashed guest to go"};
    }
    return again_or_fail(c);
}

step starting::again_or_fail(context& c) {
    if (again_until && c.now < *again_until) {
        where = at::pausing;
        return {ask::time{}, c.now + create_pause, "another instance to come or go"};
    }
    return fail(c, reason);
}

// The running guest is told to the world: running list, unless it is there, then {state, failedreason}, then VNC.
step starting::announce(context& c) {
    c.state("started");
    adoption& memory = c.memory.adoption;
    memory.is_restarting = false;
    memory.spacing.started(c.now);
    c.memory.going_down.over();
    c.acts.emplace_back(act::created{});
    // Whoever finds it ended from here on finds a guest that ended by itself.
    memory.is_adopted = true;
    memory.state = c.seen.wish.state_changed;
    where = at::listing;
    return {ask::set_listed{true}, time_point::max(), "the running list"};
}

step starting::tell(context& c) {
    if (tries < announce_tries && is_still_wanted(c)) {
        ++tries;
        where = at::telling;
        return {ask::write_started{began_with}, time_point::max(), "that it was started"};
    }
    return told(c, false);
}

step starting::told(context& c, bool is_written) {
    if (is_written) {
        where = at::clearing_word;  // of a receiver that lost its power
        return {ask::clear_own{own_key::sync_word}, time_point::max(), "what a migration left"};
    }
    // Somebody wants something else; should he want it to run after all, adopting it writes what is missing.
    adoption& memory = c.memory.adoption;
    memory.owes_vnc = true;
    memory.owes_reason = true;
    memory.state = c.seen.wish.state_changed;
    if (is_still_wanted(c) && c.seen.is_guest(guest_class::alive)) {
        memory.is_adopted = false;  // adopting it once more writes what is missing
    }
    return finish();
}

// {state = fail, failedreason}, unless somebody changed it since the attempt began: the tables say what is wanted. Nor
// if its guest has come meanwhile, from wherever: libvirt is asked, as its news may be on their way.
step starting::fail(context& c, std::string why) {
    wants_turn = false;
    if (!goes_on(c)) {
        return finish();
    }
    reason = failed_reason(why);
    where = at::looking_before_failing;
    return {ask::own_guest{}, c.now + guest_query_limit, "libvirt, whether it has come meanwhile"};
}

step starting::write_failure(context& c) {
    if (!goes_on(c)) {
        return finish();
    }
    c.error(message::domain_start_failed, "it was not started: " + reason);
    where = at::failing;
    return {ask::write_failed{reason, began_with}, time_point::max(), "that it failed"};
}

step starting::failed(context& c) {
    if (!c.wrote()) {
        return finish();
    }
    // It came while that was written: what is written is what is so, and adopting it clears the reason.
    if (c.seen.is_present && c.seen.is_owner && c.seen.state == vm_state::fail && c.seen.is_guest(guest_class::alive)) {
        c.memory.adoption.owes_reason = true;
        c.state("it runs after all");
        where = at::taking_back;
        return {ask::write_state{vm_state::start}, time_point::max(), "that it runs after all"};
    }
    where = at::clearing_vnc;
    return {ask::clear_own{own_key::vnc}, time_point::max(), "its VNC address"};
}

step starting::resume(context& c) {
    switch (where) {
        case at::begin: spaced_for = c.seen.wish; return space(c);
        case at::spacing: return space(c);
        case at::releasing: return release(c);
        case at::reading_definition: return has_definition(c);
        case at::clearing_locks: return clear_locks(c);
        case at::taking_turn: return take_turn(c);
        case at::announcing: return announced(c);
        case at::proving: return proven(c);
        case at::yielding:
        case at::pausing: return attempt(c);
        case at::creating: return created(c);
        case at::asking_own_guest: return looked_at_refused(c);
        case at::ending_crashed: return again_or_fail(c);
        case at::listing:
            where = at::reading_live;
            return {ask::live_xml{}, time_point::max(), "its definition as it runs"};
        case at::reading_live:
            c.memory.adoption.owes_vnc = !c.said_yes();
            c.acts.emplace_back(act::tell_vnc_problem{});
            return tell(c);
        case at::telling: return c.said_yes() ? told(c, true) : tell(c);
        case at::clearing_word:
            c.memory.adoption.owes_word = !c.said_yes();  // who adopts it clears it then
            c.memory.adoption.owes_reason = false;
            c.memory.adoption.state = c.seen.wish.state_changed;
            return finish();
        case at::looking_before_failing: return write_failure(c);
        case at::failing: return failed(c);
        case at::clearing_vnc:
            where = at::ending_console;
            return {ask::end_console{}, time_point::max(), "the end of its console's log"};
        case at::ending_console:
            where = at::unlisting;
            return {ask::set_listed{false}, time_point::max(), "the running list"};
        case at::unlisting:
            c.memory.adoption.ended();
            c.memory.adoption.is_restarting = false;
            c.acts.emplace_back(act::arrived_home{});
            break;
        case at::taking_back:
        case at::over: break;
    }
    return finish();
}

}  // namespace pvc::policy
