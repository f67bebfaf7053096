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
// As long as libvirt has not answered nothing else is done about it: QEMU gives Ceph up after 300 s.
constexpr duration create_limit = 600s;
constexpr duration lost_call_patience = 120s;
constexpr duration monitors_limit = 5s;
constexpr duration monitors_are_fresh = 2s;
constexpr duration images_limit = 8s;
constexpr duration links_limit = 10s;
constexpr duration turn_patience = 60s;
constexpr duration removal_patience = 15s;
constexpr duration create_pause = 500ms;
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
        what.pools = pools_of(volumes);
    }
}

std::string starting::awaited() const {
    if (where == at::held_up) {
        return held_by;
    }
    if (const std::string node = released.stopped_holder(); where == at::releasing && !node.empty()) {
        return stopped_holder_text(node);
    }
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
    return hold_on(c);
}

step starting::attempt(context& c) {
    wants_turn = false;
    if (!is_ours_to_start(c)) {
        return leave(c);
    }
    began_with = c.seen.wish;
    released = {};
    const bool is_hasty = is_planted(defect::holders_not_outwaited);
    released.rules = {.ask_after = ask_holders_after, .give_up_after = is_hasty ? 60s : holders_patience};
    where = at::releasing;
    return release(c);
}

step starting::release(context& c) {
    step next = released.resume(c, goes_on(c));
    if (!next.is_over()) {
        if (!released.stopped_holder().empty() && c.seen.is_awaited) {
            return finish();
        }
        return is_holder_noted(c) ? next : note_holder(c);
    }
    switch (released.end) {
        case release_wait::outcome::changed: return attempt(c);
        case release_wait::outcome::still_there: return fail(c, "the domain is still running on " + released.node);
        case release_wait::outcome::clear: break;
    }
    return read_definition(at::reading_definition);
}

step starting::read_definition(at which) {
    where = which;
    return {ask::definition{}, time_point::max(), "its definition"};
}

step starting::has_definition(context& c) {
    const auto& read = c.answer_as<definition_read>();
    switch (read.what) {
        case definition_read::end::read: return judge_definition(c);
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

// Read at first, when its turn came, and before it is created: what is another then is started as that.
step starting::judge_definition(context& c) {
    const at step_of = where;
    const bool is_another = volumes != c.answer_as<definition_read>().volumes;
    if (step_of != at::reading_definition && is_another) {
        return attempt(c);
    }
    volumes = c.answer_as<definition_read>().volumes;
    read_at = c.now;
    losses = c.seen.bridge_losses;
    if (auto seen = judge_bridges(c.seen.bridge);
        seen.what != start_outcome::kind::goes_on && !is_planted(defect::bridges_not_awaited)) {
        return act_on_bridges(c, std::move(seen));
    }
    if (auto seen = judge_disks(volumes, c.seen.has_storage); seen.what != start_outcome::kind::goes_on) {
        return act_on(c, std::move(seen));
    }
    switch (step_of) {
        case at::reading_again: return ask_monitors(c, at::asking_monitors);
        case at::reading_last: return prove();
        default: return want_turn(c);
    }
}

// What this node knows of networks may be older than the wish: the tree itself is asked before that fails a machine.
step starting::act_on_bridges(context& c, start_outcome what) {
    if (what.what != start_outcome::kind::fails) {
        return hold_up(c, std::move(what));
    }
    where = at::asking_network;
    return {ask::network_is_gone{std::string(c.seen.bridge.name)}, time_point::max(), "whether it has such a network"};
}

step starting::network_asked(context& c) {
    bridge_seen seen = c.seen.bridge;
    if (seen.what == bridge_seen::kind::unknown && !c.said_yes()) {
        seen.what = bridge_seen::kind::coming;
    }
    auto now = judge_bridges(seen);
    return now.what == start_outcome::kind::goes_on ? attempt(c) : act_on(c, std::move(now));
}

// Before the first question to Ceph: those that wait for one ask nothing.
step starting::want_turn(context& c) {
    wants_turn = true;
    turn_wanted = c.now;
    where = at::taking_turn;
    return {ask::change{}, c.now, "its turn to be created"};
}

// A monitor has answered before libvirt connects to them, which may take it minutes.
step starting::ask_monitors(context& c, at which) {
    if (std::ranges::none_of(volumes, names_an_image)) {
        return which == at::asking_monitors ? locks_cleared(c) : announce_creation();
    }
    where = which;
    return {ask::monitors{}, c.now + monitors_limit, "a monitor of Ceph"};
}

step starting::monitors_said(context& c) {
    if (!goes_on(c)) {
        return attempt(c);
    }
    if (auto said = judge_monitors(c.answer_as<call_answer>()); said.what != start_outcome::kind::goes_on) {
        return act_on(c, std::move(said));
    }
    monitors_at = c.now;
    if (where == at::asking_again) {
        return announce_creation();
    }
    locks = {.rules = lock_rules::before_a_start(), .read = {.volumes = volumes}};
    where = at::clearing_locks;
    return clear_locks(c);
}

step starting::locks_cleared(context& c) {
    const bool is_old = c.now - monitors_at >= monitors_are_fresh && std::ranges::any_of(volumes, names_an_image);
    return is_old ? ask_monitors(c, at::asking_again) : announce_creation();
}

step starting::announce_creation() {
    monitors_at = turn_wanted = {};
    if (is_planted(defect::created_unlisted)) {
        return prove();
    }
    where = at::announcing;
    return {ask::set_listed{true}, time_point::max(), "the running list, before it is created"};
}

step starting::clear_locks(context& c) {
    step next = locks.resume(c, goes_on(c));
    if (!next.is_over()) {
        return next;
    }
    const clearing_rbd_locks cleared = std::exchange(locks, {});
    switch (cleared.end) {
        case clearing_rbd_locks::outcome::refused: return act_on(c, judge_locks(cleared));
        case clearing_rbd_locks::outcome::changed: return attempt(c);
        case clearing_rbd_locks::outcome::no_libvirt:
            return hold_up(c, start_outcome::wait_for(start_cause::libvirt, cleared.reason));
        case clearing_rbd_locks::outcome::unseen:
            return hold_up(c, start_outcome::wait_for(start_cause::disk_users, cleared.reason));
        case clearing_rbd_locks::outcome::clear: break;
    }
    return locks_cleared(c);
}

step starting::take_turn(context& c) {
    if (!goes_on(c)) {
        return attempt(c);  // others need the place
    }
    if (!c.seen.held.has_turn && !is_planted(defect::full_queue_refused)) {
        return await_turn(c);
    }
    if (c.memory.waits.cause == start_cause::turn) {
        c.memory.waits.cause = start_cause::none;
    }
    const bool has_waited = c.now > turn_wanted && !is_planted(defect::definition_read_once);
    return has_waited ? read_definition(at::reading_again) : ask_monitors(c, at::asking_monitors);
}

// One that takes long is told as other causes are, unless it has another one.
step starting::await_turn(context& c) {
    if (c.seen.is_awaited) {
        return finish();  // the wait begins anew after it
    }
    hindrance& waits = c.memory.waits;
    where = at::taking_turn;
    if (waits.cause != start_cause::none && waits.cause != start_cause::networks) {
        return {ask::change{}, time_point::max(), "its turn to be created"};
    }
    if (c.now < turn_wanted + turn_patience) {
        return {ask::change{}, turn_wanted + turn_patience, "its turn to be created"};
    }
    std::string text(wait_words::turn);
    if (waits.told != start_cause::turn) {
        c.warning(message::domain_waits, "it waits to be started: " + text);
    }
    waits = {.cause = start_cause::turn,
             .text = std::move(text),
             .told = start_cause::turn,
             .since = c.now,
             .next_try = c.now};
    where = at::noting_turn;
    return {ask::write_reason{waits.text, began_with}, time_point::max(), "the reason why it waits to be stored"};
}

// Listed first, and acknowledged, then read: should it have been given to another node before this read, then it is not
// created here; and should it be given to another node after it, then that node finds it in the list when it looks who
// may have it. What is listed and not created after all is taken off the list by what is done instead.
step starting::announced(context& c) {
    if (c.said_yes() || is_planted(defect::created_unannounced)) {
        const bool is_old = c.now > read_at && !is_planted(defect::definition_read_once);
        return is_old ? read_definition(at::reading_last) : prove();
    }
    c.pause(unlisted_pause);
    return finish();
}

step starting::prove() {
    read_at = {};
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
            return hold_up(c, start_outcome::wait_for(start_cause::libvirt, std::string(wait_words::libvirt_away)));
        case call_end::timed_out:
        case call_end::wrong_state:
            where = at::asking_own_guest;
            return {ask::own_guest{}, c.now + guest_query_limit, "libvirt, whether it is there"};
        case call_end::being_removed: again_until = again_until.value_or(c.now + removal_patience); break;
        default:
            again_until.reset();
            if (c.seen.names_bridges && goes_on(c)) {
                where = at::looking_at_bridges;
                return {ask::bridges_look{}, c.now + links_limit, "a look at its bridges"};
            }
            return ask_images(c);
    }
    return again_or_fail(c);
}

// The last look before it was created is no word about a bridge that went since.
step starting::bridges_looked(context& c) {
    if (!c.said_yes()) {
        return hold_up(c,
                       start_outcome::wait_for(start_cause::bridge, std::string(wait_words::unseen_bridges) + reason));
    }
    if (auto seen = judge_bridges(c.seen.bridge); seen.what != start_outcome::kind::goes_on) {
        return act_on_bridges(c, std::move(seen));
    }
    if (c.seen.bridge_losses != losses) {  // one was gone, and was made anew
        where = at::pausing;
        return {ask::time{}, c.now + create_pause, "another try, as a bridge was gone"};
    }
    return ask_images(c);
}

step starting::ask_images(context& c) {
    if (std::ranges::none_of(volumes, names_an_image) || !goes_on(c)) {
        return again_or_fail(c);
    }
    std::vector<std::string> images;
    std::ranges::copy_if(volumes, std::back_inserter(images), names_an_image);
    where = at::asking_images;
    return {ask::list_rbd_locks{std::move(images)}, c.now + images_limit, "Ceph, whether it answers for its disks"};
}

// QEMU that ends as Ceph is silent is no fault of the machine.
step starting::images_asked(context& c) {
    auto seen = judge_images(c.answer_as<rbd_listed>());
    return seen.what == start_outcome::kind::waits ? hold_up(c, std::move(seen)) : again_or_fail(c);
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
    if (std::exchange(again_until, again_until.value_or(c.now + lost_call_patience))) {
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
    c.memory.waits = {};
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
        return leave(c);
    }
    if (c.memory.listing.lost_creation) {
        c.pause(1s);  // it may come true yet
        return finish();
    }
    reason = failed_reason(why);
    where = at::looking_before_failing;
    return {ask::own_guest{}, c.now + guest_query_limit, "libvirt, whether it has come meanwhile"};
}

step starting::write_failure(context& c) {
    if (!goes_on(c)) {
        return leave(c);
    }
    c.error(message::domain_start_failed, "it was not started: " + reason);
    where = at::failing;
    return {ask::write_failed{reason, began_with}, time_point::max(), "that it failed"};
}

step starting::failed(context& c) {
    if (!c.wrote()) {
        return finish();
    }
    c.memory.waits = {};
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
        case at::spacing:
        case at::held_up: return space(c);
        case at::releasing: return release(c);
        case at::noting_holder:
            c.memory.waits.is_written = c.said_yes();
            where = at::releasing;
            return release(c);
        case at::reading_definition:
        case at::reading_again:
        case at::reading_last: return has_definition(c);
        case at::taking_turn: return take_turn(c);
        case at::asking_monitors:
        case at::asking_again: return monitors_said(c);
        case at::clearing_locks: return clear_locks(c);
        case at::asking_network: return network_asked(c);
        case at::looking_at_bridges: return bridges_looked(c);
        case at::asking_images: return images_asked(c);
        case at::noting_turn:
            c.memory.waits.is_written = c.said_yes();
            where = at::taking_turn;
            return take_turn(c);
        case at::noting: c.memory.waits.is_written = c.said_yes(); return clear_word(c);
        case at::clearing_word_held: c.memory.adoption.owes_word = !c.said_yes(); return noted();
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
        case at::ending_console_held: return unlist_held(c);
        case at::unlisting_held: return leave(c);
        case at::clearing_old_reason:
        case at::taking_back:
        case at::over: break;
    }
    return finish();
}

}  // namespace pvc::policy
