// A start that waits for what lies outside of its machine: begins with the wait, ends with what is to be stored of it.
// README ruling 77.
#include "pvcnoded/base/planted.hpp"
#include "pvcnoded/policy/domains/starting.hpp"

#include <algorithm>

namespace pvc::policy {

using namespace std::chrono_literals;
using model::guest_class;
using model::vm_state;

namespace {

constexpr duration networks_patience = 5s;  // they take a moment at each boot: that is not told
constexpr duration shortest_wait = 1s;
constexpr duration libvirt_pause = 500ms;

bool is_cause_over(const hindrance& waits, const domain_seen& seen, time_point now) {
    if (now >= waits.next_try) {
        return true;
    }
    if (now < waits.since + shortest_wait) {
        return false;
    }
    switch (waits.cause) {
        case start_cause::networks: return !seen.are_networks_coming;
        case start_cause::bridge:
        case start_cause::refused_network: return seen.bridge.what == bridge_seen::kind::fine;
        case start_cause::ceph: return seen.ceph_answers != waits.ceph_answers;
        case start_cause::none:
        case start_cause::libvirt:
        case start_cause::disk_users:
        case start_cause::stopped_node:
        case start_cause::turn: break;
    }
    return waits.cause == start_cause::none;
}

bool may_cause_be_over(const hindrance& waits, const domain_seen& seen) {
    return is_cause_over(waits, seen, waits.since + shortest_wait);
}

}  // namespace

// What kept it from being started last is waited for, with nothing held, until that is seen to be over or its time has
// come; whatever else is wanted of it ends that at once.
step starting::hold_on(context& c) {
    if (!is_ours_to_start(c)) {
        return leave(c);
    }
    if (c.seen.wish != spaced_for) {
        return finish();
    }
    began_with = c.seen.wish;
    hindrance& waits = c.memory.waits;
    if (c.seen.are_networks_coming && waits.cause != start_cause::networks &&
        !is_planted(defect::bridges_not_awaited)) {
        waits = {.cause = start_cause::networks, .since = c.now, .next_try = c.now + networks_patience};
    }
    if (waits.cause == start_cause::networks && c.seen.are_networks_coming && c.now >= waits.next_try) {
        return hold_up(c, start_outcome::wait_for(waits.cause, std::string(wait_words::networks)));
    }
    const bool are_up = waits.cause == start_cause::networks && !c.seen.are_networks_coming;
    if (!are_up && waits.cause != start_cause::none && !is_cause_over(waits, c.seen, c.now)) {
        if (c.seen.is_awaited) {
            return finish();  // the wait goes on after it
        }
        held_by = waits.text.empty() ? std::string(in_words(waits.cause)) : waits.text;
        where = at::held_up;
        const time_point next =
            may_cause_be_over(waits, c.seen) ? std::min(waits.next_try, waits.since + shortest_wait) : waits.next_try;
        return {ask::change{}, next, "what keeps it from being started to be over"};
    }
    c.acts.emplace_back(act::follow_console{});
    return attempt(c);
}

// It does not wait any more: what is stored of that is taken back, unless others do so.
step starting::leave(context& c) {
    hindrance& waits = c.memory.waits;
    const bool is_another_wish =
        c.seen.is_present &&
        (!c.seen.is_owner || !(c.seen.state == vm_state::start || c.seen.state == vm_state::restart));
    const bool has_come = c.seen.guest && !c.seen.is_guest(guest_class::absent);
    if (has_come) {
        c.memory.adoption.owes_reason = c.memory.adoption.owes_reason || !waits.text.empty();
    }
    if (!is_another_wish && !has_come) {
        return finish();
    }
    // Also one of which nobody knows whether it was stored: what somebody else has written since is another text.
    std::string stored = std::exchange(waits, {}).text;
    if (stored.empty() || !c.seen.is_owner || has_come || c.seen.must_end) {
        return finish();
    }
    where = at::clearing_old_reason;
    return {ask::clear_reason{std::move(stored)}, time_point::max(), "the reason why it waited to be taken back"};
}

step starting::act_on(context& c, start_outcome what) {
    return what.what == start_outcome::kind::fails ? fail(c, std::move(what.reason)) : hold_up(c, std::move(what));
}

// Not now, and through no fault of its own. It is in no running list meanwhile.
step starting::hold_up(context& c, start_outcome what) {
    wants_turn = false;
    locks = {};
    const bool is_wanted = !c.seen.must_end && c.seen.is_present && c.seen.is_owner && c.seen.wish == began_with &&
                           (c.seen.state == vm_state::start || c.seen.state == vm_state::restart);
    const bool has_come = c.seen.guest && !c.seen.is_guest(guest_class::absent);
    if (!is_wanted || has_come) {
        return leave(c);
    }
    hindrance& waits = c.memory.waits;
    waits.tries = waits.cause == what.cause ? waits.tries : 0;
    waits.cause = what.cause;
    waits.since = c.now;
    waits.next_try = c.now + (what.cause == start_cause::libvirt ? libvirt_pause : wait_for_a_cause(waits.tries));
    waits.tries += waits.tries < 4 ? 1 : 0;
    waits.ceph_answers = c.seen.ceph_answers;
    c.memory.adoption.is_restarting = false;
    std::string text = failed_reason(what.reason);
    if (std::exchange(waits.told, what.cause) != what.cause) {
        c.warning(message::domain_waits, "it waits to be started: " + text);
    }
    if (waits.is_written && waits.text == text) {
        return noted();
    }
    waits.is_written = false;
    waits.text = std::move(text);
    where = at::noting;
    return {ask::write_reason{waits.text, began_with}, time_point::max(), "the reason why it waits to be stored"};
}

// As at its other ends: what a migration left says nothing any more.
step starting::clear_word(context& c) {
    if (!c.said_yes() || c.seen.wish != began_with) {
        return noted();
    }
    where = at::clearing_word_held;
    return {ask::clear_own{own_key::sync_word}, time_point::max(), "what a migration left"};
}

step starting::noted() {
    where = at::ending_console_held;
    return {ask::end_console{}, time_point::max(), "the end of its console's log"};
}

// What is wanted of it may have changed since: nobody else knows that there is a reason to take back.
step starting::unlist_held(context& c) {
    if (!c.memory.listing.is_listed) {
        return leave(c);
    }
    where = at::unlisting_held;
    return {ask::set_listed{false}, time_point::max(), "the running list"};
}

// That it waits for a stopped node is stored once, and then waited on.
bool starting::is_holder_noted(context& c) const {
    const std::string node = released.stopped_holder();
    const hindrance& waits = c.memory.waits;
    return node.empty() || (waits.cause == start_cause::stopped_node && waits.text == stopped_holder_text(node));
}

step starting::note_holder(context& c) {
    c.memory.waits = {.cause = start_cause::stopped_node,
                      .text = stopped_holder_text(released.stopped_holder()),
                      .told = start_cause::stopped_node,
                      .since = c.now,
                      .next_try = c.now};
    where = at::noting_holder;
    return {ask::write_reason{c.memory.waits.text, began_with}, time_point::max(),
            "the reason why it waits to be stored"};
}

}  // namespace pvc::policy
