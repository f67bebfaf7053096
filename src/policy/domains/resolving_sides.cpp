// Who looks for the guest of a broken migration, and what they do with the finding: the sender that came back, and the
// owner of what stands between two nodes.
#include "pvcnoded/policy/domains/resolving.hpp"

#include "pvcnoded/base/text.hpp"
#include "pvcnoded/policy/domains/domain_table.hpp"

#include <utility>

namespace pvc::policy {

using namespace std::chrono_literals;
using model::guest_class;
using model::vm_state;

namespace {
constexpr duration own_patience = 60s;
constexpr duration ask_again_after = 5s;
}  // namespace

// ---- the sender -----------------------------------------------------------------------------------------------------

void resolving_sent::hold(holdings& what) const {
    if (where == at::handing_over) {
        handed.hold(what);
    }
}

step resolving_sent::finish(context& c) {
    if (who.end != resolution::let_go && who.end != resolution::ended) {
        c.drop_record();
    }
    // Without its keys it is asked for once.
    c.memory.migration.is_sent_by_us = c.memory.migration.is_sent_by_us && c.seen.is_present;
    where = at::over;
    return over();
}

step resolving_sent::resolved(context& c) {
    if (who.end == resolution::moved) {
        c.memory.adoption.ended();
    } else if (who.end == resolution::ended) {
        c.memory.migration.is_sent_by_us = false;  // proven to be nowhere
        c.memory.migration.was_going_off = true;   // whatever becomes of the write, the tables hand it over
    } else {
        return finish(c);  // the tables see what is there now
    }
    where = at::unlisting;
    return {ask::set_listed{false}, time_point::max(), "the running list"};
}

step resolving_sent::go_on(context& c) {
    if (who.end == resolution::ended) {
        where = at::handing_over;
        return resume(c);
    }
    if (!is_migration(c.seen.state)) {
        return finish(c);
    }
    where = at::awaiting_receiver;
    receiver = {.target = who.target, .handed = c.seen.wish};
    return resume(c);
}

step resolving_sent::resume(context& c) {
    switch (where) {
        case at::begin:
            if (c.seen.node.empty()) {
                break;
            }
            // Where it was sent, which need not be where somebody wants it by now.
            who.target = c.memory.migration.sent_to.empty() ? std::string(c.seen.node) : c.memory.migration.sent_to;
            c.warning(message::migration_broke,
                      "a migration to node " + shown(who.target) + " broke, looking who has it");
            where = at::resolving;
            [[fallthrough]];
        case at::resolving: return hand_on(who, c, [&] { return resolved(c); });
        case at::unlisting:
            where = at::ending_console;
            return {ask::end_console{}, time_point::max(), "the end of its console's log"};
        case at::ending_console: return go_on(c);
        case at::awaiting_receiver: return hand_on(receiver, c, [&] { return finish(c); });
        case at::handing_over: return hand_on(handed, c, [&] { return finish(c); });
        case at::over: break;
    }
    where = at::over;
    return over();
}

// ---- the owner ------------------------------------------------------------------------------------------------------

bool resolving_own::stands(const context& c) const {
    const domain_seen& seen = c.seen;
    if (seen.must_end || !seen.is_present || !seen.is_guest(guest_class::incoming)) {
        return false;
    }
    const bool is_sent = c.memory.migration.is_sent_by_us;
    if (is_found) {
        return !seen.is_owner && !seen.node.empty() && is_migration(seen.state) && !is_sent && !seen.is_half_made;
    }
    // What we sent and somebody sent back before it had arrived is ours again, half as it is.
    return seen.is_owner && (seen.state == vm_state::start || (is_migration(seen.state) && is_sent));
}

step resolving_own::finish() {
    where = at::over;
    return over();
}

step resolving_own::wait_first(context& c) {
    if (!stands(c)) {
        return finish();
    }
    if (c.now >= until) {
        return look(c);
    }
    where = at::waiting;
    return {ask::change{}, until, "the end of a migration that began before"};
}

step resolving_own::look(context& c) {
    if (!stands(c)) {
        return finish();
    }
    asked = c.now;
    created = c.seen.wish.created;
    until = {};
    awaited = {};
    where = at::reading;
    return {ask::others{}, time_point::max(), "the other nodes"};
}

step resolving_own::wait(context& c, duration time) {
    awaited = news::none_since(c, c.seen.wish, time);
    where = at::pausing;
    return {ask::change{}, awaited.until, "another question to all other nodes"};
}

step resolving_own::ask_all(context& c) {
    const auto& read = c.answer_as<others_read>();
    if (!read.is_known) {
        return wait(c, ask_again_after);
    }
    others = read.nodes;
    ask::nodes who;
    for (const auto& one : others) {
        if (one.daemon != model::daemon_state::fenced) {
            who.names.push_back(one.name);
        }
    }
    where = at::asking;
    return {std::move(who), time_point::max(), "the hypervisors of all other nodes"};
}

// What all other nodes say. One that has nothing to say about it is not waited for (README ruling 29).
step resolving_own::heard_all(context& c) {
    if (!stands(c)) {
        return finish();
    }
    bool is_nowhere = true;  // all who must answer did, and nobody has it
    std::string there;
    for (const auto& one : std::exchange(others, {})) {
        const auto answer = c.answer_as<nodes_asked>().of(one.name);
        if (!answer) {
            continue;
        }
        there = *answer == remote_answer::alive ? one.name : there;
        const bool had_it = one.name == c.seen.last_node || one.name == c.seen.stable.node ||
                            one.name == c.seen.came_from || one.name == c.seen.node;
        const bool is_absent = *answer == remote_answer::absent || *answer == remote_answer::shut_off;
        const bool is_excused = is_no_answer(*answer) && may_be_silent({one.daemon, one.lists_it, had_it}, *answer);
        is_nowhere = is_nowhere && (is_absent || is_excused);
    }
    if (there.empty() || std::exchange(runs_on, there) != there) {
        before.forget();
    }
    if (!there.empty()) {
        return runs_elsewhere(c);
    }
    if (is_nowhere) {
        half = {.created = created,
                .target = is_found ? std::string(c.seen.node) : c.memory.migration.sent_to,
                .looks = locks_before,
                .found = {guest_class::incoming, remote_answer::absent},
                .asked = asked};
        where = at::resuming;
        return resume(c);
    }
    if (!std::exchange(told, true)) {
        c.error(message::migration_half_waits,
                "it stands here between two nodes, and not every other node says that it does not have it");
    }
    return wait(c, ask_again_after);
}

step resolving_own::runs_elsewhere(context& c) {
    if (!before.confirms({guest_class::incoming, remote_answer::alive}, asked, c.now)) {
        return wait(c, second_look::apart);
    }
    where = at::judging_job;
    return {ask::progress{}, c.now + guest_query_limit, "libvirt, whether it is on its way here"};
}

// It may be on its way from there: the answer is old when it comes.
step resolving_own::judged_job(context& c) {
    if (!stands(c)) {
        return finish();
    }
    if (!is_left_behind(c.answer_as<progress_read>())) {
        return wait(c, ask_again_after);
    }
    if (is_found) {  // it was sent there: the tables see to it like to any other
        c.memory.migration.is_sent_by_us = true;
        c.memory.migration.sent_to = runs_on;
        return finish();
    }
    c.error(message::migration_half_here,
            "it stands here between two nodes and runs on node " + shown(runs_on) + ": destroying what is left here");
    c.memory.migration.is_stale_half = true;
    where = at::destroying;
    return resume(c);
}

step resolving_own::resume(context& c) {
    switch (where) {
        case at::begin: until = c.seen.class_since + own_patience; return wait_first(c);
        case at::waiting: return wait_first(c);
        case at::reading: return ask_all(c);
        case at::asking: return heard_all(c);
        case at::judging_job: return judged_job(c);
        case at::destroying: return destroy.resume(c);
        case at::resuming: {
            step next = half.resume(c);
            if (!next.is_over()) {
                return next;
            }
            locks_before = half.looks;
            const auto end = std::exchange(half, {}).end;
            // It ran where it was sent, and is nowhere by now.
            c.memory.migration.was_going_off =
                c.memory.migration.was_going_off || (is_found && end == resuming_half::outcome::stale);
            return end == resuming_half::outcome::unclear ? wait(c, ask_again_after) : finish();
        }
        case at::pausing:
            return awaited.is_there(c) ? look(c)
                                       : step{ask::change{}, awaited.until, "another question to all other nodes"};
        case at::over: break;
    }
    return over();
}

}  // namespace pvc::policy
