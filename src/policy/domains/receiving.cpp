#include "pvcnoded/policy/domains/receiving.hpp"

#include "pvcnoded/base/planted.hpp"
#include "pvcnoded/base/text.hpp"
#include "pvcnoded/policy/domains/domain_table.hpp"

#include <algorithm>

namespace pvc::policy {

using namespace std::chrono_literals;
using model::guest_class;
using model::vm_state;

namespace {

constexpr duration earliest_cold_start = 60s;
constexpr duration complain_of_waiting_every = 60s;
constexpr duration usual_room = 30s;
constexpr duration release_patience = 10s;
constexpr duration leftover_patience = 60s;
constexpr duration connection_patience = 30s;
constexpr int clearings_max = 3;
constexpr int offers_max = 3;

// A state that ends the wait through the tables.
bool is_waiting_state(const domain_seen& seen) {
    return seen.is_present && seen.is_owner &&
           (is_migration(seen.state) || seen.state == vm_state::stop || seen.state == vm_state::start);
}

// What was seen last is what it was moved from only if nothing was written between: changes may come as one.
bool was_off(const domain_seen& seen) {
    const bool is_latest = seen.stable.is_known && seen.state_version == seen.stable.state_version + 1;
    return is_latest && is_off_state(seen.stable.state);
}

}  // namespace

void receiving::hold(holdings& what) const {
    what.of_sync = offers ? holdings::sync::offered : holdings::sync::none;
    what.follows_sender = offers;
}

// A copy that libvirt did not finish to set up (its daemon died meanwhile) leaves no room for another: the sender is
// told to begin once it is gone, or has become more.
step receiving::wait_for_room(context& c) {
    const bool is_to_come = !c.seen.must_end && c.seen.is_present && c.seen.is_owner && is_migration(c.seen.state);
    if (!is_to_come) {
        c.drop_record();
        where = at::over;
        return over();
    }
    if (!c.seen.is_half_made) {
        complain_at = {};
        where = at::offering;
        return {ask::offer_to_receive{}, time_point::max(), "that it may come"};
    }
    complain_at = complain_at == time_point() ? c.seen.class_since + usual_room : complain_at;
    if (c.now >= complain_at) {
        complain_at = c.now + complain_of_waiting_every;
        c.error(message::migration_no_room,
                "it cannot come here: libvirt has a copy of it that it did not finish to set up (paused, starting "
                "up); end that one with `virsh destroy`, and restart libvirtd if that does not help");
    }
    where = at::waiting_for_room;
    return {ask::change{}, std::max(complain_at, c.now + 1s), "an unfinished copy to go"};
}

step receiving::offer(context& c) {
    offers = true;
    search.begin(c.now);
    where = at::waiting;
    return {ask::change{}, c.now, "the virtual machine to arrive"};
}

step receiving::wait(context& c) {
    const bool cold_start_is_next =
        c.seen.is_guest(guest_class::absent) && c.seen.state_since + earliest_cold_start > c.now;
    const time_point next =
        cold_start_is_next ? std::min(search.next, c.seen.state_since + earliest_cold_start) : search.next;
    where = at::waiting;
    return {ask::change{}, std::max(next, c.now + 1s), "the virtual machine to arrive"};
}

// Until the domain is here, or is no longer to come.
step receiving::look(context& c) {
    if (c.seen.must_end || !is_waiting_state(c.seen)) {
        return withdraw(c);
    }
    if (c.seen.state == vm_state::stop && judged != c.seen.wish.state_changed) {
        asked = c.seen.wish.state_changed;
        if (!c.seen.is_handed_over) {
            where = at::judging_stop;
            return {ask::whose_stop{}, time_point::max(), "whose word a `stop` is"};
        }
        judged = asked;
        is_offline = true;
    }
    if (c.seen.state == vm_state::stop && !is_offline) {
        return withdraw(c);  // a client's: the tables see to it
    }
    return look_at_guest(c);
}

step receiving::look_at_guest(context& c) {
    const auto guest = c.seen.guest;
    const bool is_early = guest == guest_class::incoming && is_planted(defect::arrived_too_early);
    if (guest == guest_class::alive || (guest == guest_class::paused && !c.seen.is_half_made) || is_early) {
        if (c.seen.state == vm_state::stop) {
            return withdraw(c);  // a client's: the tables destroy it
        }
        adopt = {.with_state = is_migration(c.seen.state)};
        where = at::arriving;
        return resume(c);
    }
    // Once the move is over nobody sends it any more. What stands here all the same, and comes to nothing, is not what
    // was to come: the tables see to it.
    const bool is_leftover = guest && guest != guest_class::absent && !is_migration(c.seen.state);
    leftover_until = is_leftover ? std::optional(leftover_until.value_or(c.now + leftover_patience)) : std::nullopt;
    if (guest == guest_class::absent) {
        return look_for_it(c);
    }
    return leftover_until && c.now >= *leftover_until ? withdraw(c) : wait(c);
}

step receiving::look_for_it(context& c) {
    if (c.seen.state == vm_state::start) {
        return withdraw(c);  // the tables start it
    }
    if (c.seen.state == vm_state::stop) {
        return take_over(c);
    }
    if (c.now < search.next) {
        return wait(c);
    }
    where = at::searching;
    return search.ask(c);
}

// The sender is done when it has given the lock back: a reference node that still has it would drop our `start`, and
// with it the copy that it has not ended yet.
step receiving::take_over(context& c) {
    handed_over = handed_over.value_or(c.now);
    if (!c.seen.held.sync_is_held && c.now < *handed_over + release_patience) {
        where = at::waiting;
        return {ask::change{}, *handed_over + release_patience, "the sender to give the migration lock back"};
    }
    where = at::taking_over;
    return {ask::write_state{vm_state::start, sync_word::taken_back}, time_point::max(), "that it starts here"};
}

step receiving::taken_over(context& c) {
    switch (c.answer_as<write_end>()) {
        case write_end::written:
            c.state("it was shut down to be moved here");
            c.acts.emplace_back(act::note_arrival{});
            return withdraw(c);
        case write_end::overtaken:
            where = at::reading_overtaken;  // `node` rewritten as it was changes nothing
            return {ask::row{}, time_point::max(), "its keys"};
        case write_end::failed: break;
    }
    // Whose word it was is known here only, if the sender is a reference node.
    where = at::reconnecting;
    return {ask::connection{}, c.now + connection_patience, "ZooKeeper"};
}

step receiving::searched(context& c) {
    const bool is_nowhere = search.found == searching::finding::nowhere && is_migration(c.seen.state) &&
                            c.seen.is_owner && c.seen.is_guest(guest_class::absent);
    if (search.found == searching::finding::taken_back) {
        return withdraw(c);
    }
    if (search.found != searching::finding::nowhere) {
        search.complain(c);
    }
    if (!is_nowhere) {
        return look(c);
    }
    if (!was_off(c.seen) && c.now - c.seen.state_since < earliest_cold_start) {
        return look(c);
    }
    // It may have left the others for here while they were asked, and nobody has told yet: libvirt's own word.
    where = at::looking_here;
    return {ask::own_guest{}, c.now + guest_query_limit, "libvirt, whether it has come"};
}

step receiving::looked_here(context& c) {
    const bool is_awaited = is_migration(c.seen.state) && c.seen.is_owner && c.seen.is_guest(guest_class::absent);
    if (!c.said_yes() || !is_awaited) {
        return look(c);
    }
    if (was_off(c.seen)) {
        c.info("it was off before it was moved: it stays off");
        where = at::writing;
        return {ask::write_state{c.seen.stable.state}, time_point::max(), "that it stays off"};
    }
    c.warning(message::migration_started_here, "it runs nowhere and nobody sends it: starting it here");
    where = at::writing;
    return {ask::write_state{vm_state::start}, time_point::max(), "that it starts here"};
}

// The lock of the hand-shake is given back first.
step receiving::withdraw(context& c) {
    if (std::exchange(offers, false) || (where == at::withdrawing && !c.seen.held.sync_released)) {
        where = at::withdrawing;
        return {ask::change{}, time_point::max(), "the release of the migration lock"};
    }
    return clear(c);
}

// A connection that breaks just now comes back, and with it the last write is made after all. Whatever it is that the
// domain should do meanwhile needs the connection too.
step receiving::clear(context& c) {
    const bool is_of_another = !c.seen.is_owner && is_migration(c.seen.state);  // on its way to a third node
    // What the sender handed over is still to be taken.
    const bool is_handed_over = c.seen.state == vm_state::stop && c.seen.is_handed_over;
    const bool is_ours_to_clear = c.seen.is_present && c.seen.state != vm_state::deleted && !is_of_another &&
                                  !is_handed_over && !is_planted(defect::sync_word_left);
    if (!is_ours_to_clear) {
        return finish(c);
    }
    where = at::clearing;
    return {ask::clear_own{own_key::sync_word}, time_point::max(), "that nothing is to come any more"};
}

step receiving::cleared(context& c) {
    c.memory.adoption.owes_word = !c.said_yes();  // should it come to no other attempt here
    if (c.said_yes()) {
        return finish(c);
    }
    where = at::reconnecting_to_clear;
    return {ask::connection{}, c.now + connection_patience, "ZooKeeper"};
}

step receiving::finish(context& c) {
    c.drop_record();
    where = at::over;
    return over();
}

step receiving::resume(context& c) {
    switch (where) {
        case at::begin:
            c.state(c.seen.stable.node.empty() ? std::string("receiving it")
                                               : "receiving it from node " + shown(c.seen.stable.node));
            c.acts.emplace_back(act::write_record{"receiver", std::string(c.seen.last_node), "waiting"});
            return wait_for_room(c);
        case at::waiting_for_room: return wait_for_room(c);
        case at::offering:
            if (c.said_yes()) {
                return offer(c);
            }
            where = at::reading_again;  // somebody has written since: is it still to come?
            return {ask::row{}, time_point::max(), "its keys"};
        case at::reading_again:
            // What still refuses it then is nothing that another look would change.
            return c.answer_as<row_read>().what == row_read::end::failed || ++offers_refused == offers_max
                       ? offer(c)
                       : wait_for_room(c);
        case at::judging_stop: {
            const auto is_the_senders =
                is_planted(defect::stop_is_a_hand_over) ? std::optional(true) : c.answer_as<yes>().is;
            if (!is_the_senders) {
                where = at::pausing_stop;
                return {ask::change{}, c.now + 1s, "whose word a `stop` is"};
            }
            judged = asked;
            is_offline = *is_the_senders;
            return look(c);
        }
        case at::pausing_stop:
        case at::waiting: return look(c);
        case at::searching: return hand_on(search, c, [&] { return searched(c); });
        case at::looking_here: return looked_here(c);
        case at::writing: return c.wrote() ? withdraw(c) : look(c);
        case at::arriving:
            return hand_on(adopt, c, [&] {
                if (c.memory.adoption.is_adopted) {
                    c.acts.emplace_back(act::note_arrival{});
                }
                return withdraw(c);
            });
        case at::taking_over: return taken_over(c);
        case at::reading_overtaken: return c.answer_as<row_read>().is_fresh() ? look(c) : withdraw(c);
        case at::reconnecting:
            is_back = c.said_yes();
            where = at::reading_failed;
            return {ask::row{}, time_point::max(), "its keys"};
        case at::reading_failed: return is_back && c.answer_as<row_read>().is_fresh() ? look(c) : withdraw(c);
        case at::withdrawing: return withdraw(c);
        case at::clearing: return cleared(c);
        case at::reconnecting_to_clear:
            is_back = c.said_yes();
            where = at::reading_to_clear;
            return {ask::row{}, time_point::max(), "its keys"};
        case at::reading_to_clear:
            // Not to be had: the record stays, the next session sees to it.
            if (!c.seen.must_end && is_back && c.answer_as<row_read>().what != row_read::end::failed &&
                ++clearings < clearings_max) {
                return clear(c);
            }
            break;
        case at::over: break;
    }
    where = at::over;
    return over();
}

namespace {

// Seen to while it ran here, or this was the node where it was to run; and nothing of it was sent anywhere since.
bool was_never_away(const context& c) {
    const auto& last = c.seen.stable;
    const bool ran_here = last.is_known && last.was_owner && is_to_run(last.state);
    return (c.memory.adoption.is_adopted || ran_here) && !c.memory.migration.is_sent_by_us;
}

}  // namespace

step having_arrived::resume(context& c) {
    switch (where) {
        case at::begin:
            was_here = was_never_away(c) && !is_planted(defect::moved_to_itself);
            adopt.with_state = true;
            where = at::adopting;
            [[fallthrough]];
        case at::adopting:
            return hand_on(adopt, c, [&] {
                if (c.memory.adoption.is_adopted && !was_here) {
                    c.acts.emplace_back(act::note_arrival{});
                }
                where = at::clearing;
                return trace.begin_clearing(c);
            });
        case at::clearing: return trace.resume(c);
        case at::over: break;
    }
    return over();
}

step taking_over::resume(context& c) {
    switch (where) {
        case at::begin: {
            const bool is_to_start = c.seen.is_owner && c.seen.state == vm_state::stop && c.seen.is_handed_over &&
                                     c.seen.is_guest(guest_class::absent) && !c.seen.must_end;
            if (!is_to_start) {
                break;
            }
            c.state("it was shut down to be moved here");
            where = at::writing;
            return {ask::write_state{vm_state::start, sync_word::taken_back}, time_point::max(), "that it starts here"};
        }
        case at::writing:
            if (c.wrote()) {
                c.acts.emplace_back(act::note_arrival{});
            }
            break;
        case at::over: return over();
    }
    c.drop_record();
    where = at::over;
    return over();
}

}  // namespace pvc::policy
