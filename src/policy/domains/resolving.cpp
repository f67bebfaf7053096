#include "pvcnoded/policy/domains/resolving.hpp"

#include "pvcnoded/base/planted.hpp"
#include "pvcnoded/base/text.hpp"
#include "pvcnoded/policy/domains/domain_table.hpp"

#include <algorithm>

namespace pvc::policy {

using namespace std::chrono_literals;
using model::guest_class;
using model::vm_state;

namespace {

constexpr duration look_at_sides_again = 2s;
constexpr duration halted_patience = 10s;
constexpr duration ask_sides_again = 5s;
constexpr duration unknown_patience = 10s;
constexpr duration locks_held_limit = 15s;
constexpr duration locks_patience = 60s;  // to list the locks of all its disks
constexpr duration resume_limit = 30s;

bool is_to(const domain_seen& seen, std::string_view target) {
    return seen.node == target && !seen.node.empty();
}

// A migration still, or what came of it: done there, or ours again. Where to does not matter: whoever sent it on
// meanwhile, to a third node or back here, wants it to live, and what stands here may be all there is of it.
bool is_still_wanted(const domain_seen& seen, std::string_view target) {
    const bool is_done = seen.state == vm_state::start && (is_to(seen, target) || seen.is_owner);
    return seen.is_present && (is_migration(seen.state) || is_done);
}

}  // namespace

bool is_nobodys(const domain_seen& seen) {
    switch (seen.state) {
        case vm_state::stop:
        case vm_state::disable:
        case vm_state::mirror:
        case vm_state::deleted: return false;
        default: return seen.node.empty();
    }
}

std::string_view to_text(resolution end) {
    switch (end) {
        case resolution::moved: return "the target has it";
        case resolution::clean_failure: return "it is here, and only here";
        case resolution::unanswered: return "it runs here, the target does not answer";
        case resolution::kept_without_proof: return "it runs here, the target has a halted copy";
        case resolution::ended: return "it is nowhere";
        case resolution::let_go: return "not known";
        case resolution::overtaken: return "no longer wanted";
    }
    return "not known";
}

bool is_given_back(const domain_seen& seen, const migration_memory& memory) {
    return memory.is_sent_by_us && seen.is_owner && seen.state == vm_state::start &&
           seen.wish.state_changed == seen.wish.node_changed;
}

bool is_left_behind(const progress_read& job) {
    return job.is_known && !job.is_running;
}

// ---- the half here --------------------------------------------------------------------------------------------------

step resuming_half::finish(outcome how) {
    where = at::over;
    end = how;
    return over();
}

step resuming_half::judged(context& c) {
    const auto& locks = c.answer_as<rbd_judged>();
    using enum rbd_judged::verdict;
    if (locks.what == not_read) {
        return finish(outcome::unclear);
    }
    if (locks.what == unreadable) {
        looks.forget();
        c.warning(message::migration_locks_unread,
                  "what is left of a broken migration can be neither resumed nor ended yet: " + locks.reason);
        return finish(outcome::unclear);
    }
    if (locks.what == foreign) {
        return found_stale(c, message::migration_lock_foreign, "a disk of it is locked by another host");
    }
    if (is_given_back(c.seen, c.memory.migration) && !is_planted(defect::half_given_back)) {
        return found_stale(c, message::migration_recovered,
                           "it was recovered after its new node died, and given back to this one");
    }
    if (locks.what == own && locks.is_unlocked && locks.has_target_fallen && !is_planted(defect::half_given_back)) {
        return found_stale(c, message::migration_recovered,
                           "node " + shown(target) +
                               ", to which it was sent, has been down since, and nobody has a lock on its disks, "
                               "so that it may have run there");
    }
    looks.forget();
    where = at::proving;
    return {ask::row{}, time_point::max(), "its keys, before it is resumed"};
}

step resuming_half::found_stale(context& c, message what, std::string words) {
    if (!looks.confirms(found, asked, c.now)) {
        return finish(outcome::unclear);
    }
    c.error(what, words + ": what is left of it here is stale, destroying it");
    c.memory.migration.is_stale_half = true;
    where = at::destroying;
    destroy = {.last = last};
    return resume(c);
}

// The guarded read before a copy is resumed: still a migration of the domain that both sides were asked about, or ours
// again.
step resuming_half::proven(context& c) {
    const auto& read = c.answer_as<row_read>();
    const bool is_ours = c.seen.is_owner && c.seen.state == vm_state::start;
    const bool may_live = is_migration(c.seen.state) || is_ours;
    const bool is_stale = is_given_back(c.seen, c.memory.migration) && !is_planted(defect::half_given_back);
    if (!read.is_fresh() || !c.seen.is_connected || c.seen.wish.created != created || !may_live || is_stale) {
        return finish(outcome::unclear);  // looked at again, with the view as it is now
    }
    where = at::resuming;
    return {ask::resume_guest{read.proof}, std::min(c.now + resume_limit, last), "libvirt to resume it"};
}

step resuming_half::resume(context& c) {
    switch (where) {
        case at::begin:
            where = at::judging;
            return {ask::rbd_verdict{target}, std::min(c.now + locks_patience, last), "the locks of its disks"};
        case at::judging: return judged(c);
        case at::destroying: {
            step next = destroy.resume(c);
            if (!next.is_over()) {
                return next;
            }
            return finish(destroy.end == power_end::off ? outcome::stale : outcome::unclear);
        }
        case at::proving: return proven(c);
        case at::resuming: {
            const auto& done = c.answer_as<call_answer>();
            has_resumed = done.end == call_end::done;
            if (!has_resumed) {
                c.warning(message::migration_resume, "resuming it after a broken migration: " + done.text);
            }
            where = at::looking;
            return {ask::own_guest{}, c.now + guest_query_limit, "libvirt, whether it runs"};
        }
        case at::looking: {
            const bool runs = c.said_yes() && c.seen.is_guest(guest_class::alive);
            return finish(has_resumed && runs ? outcome::resumed : outcome::unclear);
        }
        case at::over: break;
    }
    return over();
}

// ---- both sides -----------------------------------------------------------------------------------------------------

// Of what is over nothing is remembered but its end: two that go on alike are alike.
step resolving::finish(resolution how) {
    *this = {.target = std::move(target), .where = at::over, .end = how};
    return over();
}

// A round of questions; of the one before remains what a second look must confirm.
step resolving::look(context& /*c*/) {
    where = at::reading;
    here.reset();
    there = remote_answer::silent;
    asked = {};
    pause = {};
    awaited = {};
    destroy = {};
    return {ask::row{}, time_point::max(), "its keys"};
}

step resolving::wait(context& c, duration time, std::string_view what) {
    waits_for = what;
    awaited = news::none_since(c, seen, std::max(std::min(time, last - c.now), duration::zero()));
    where = at::pausing;
    return awaited.is_there(c) ? look(c) : step{ask::change{}, awaited.until, what};
}

step resolving::has_read(context& c) {
    read = c.answer_as<row_read>().what;
    seen = c.seen.wish;
    where = at::asking_here;
    return {ask::own_guest{}, c.now + guest_query_limit, "libvirt, what is here"};
}

step resolving::begin_destroying(context& c, bool is_half, at how) {
    if (is_half) {
        c.memory.migration.is_stale_half = true;  // proven: that outlives this machine, whatever becomes of its keys
    }
    destroy = {.last = last};
    where = how;
    return resume(c);
}

step resolving::heard_here(context& c) {
    here = c.said_yes() ? c.seen.guest : std::nullopt;
    if (c.now >= last) {
        c.warning(message::migration_unclear, "who has it is not clear yet: its locks are given back meanwhile");
        return finish(resolution::let_go);
    }
    if (c.seen.must_end && c.now - began > unknown_patience) {
        return finish(resolution::let_go);
    }
    if (read == row_read::end::failed) {
        return wait(c, look_at_sides_again, "ZooKeeper, to resolve a migration");
    }
    if (!here) {
        return wait(c, look_at_sides_again, "libvirt, to resolve a migration");
    }
    // Without its keys only the other side can say that a half is stale.
    const bool is_keyless = !c.seen.is_present;
    const bool is_another = !is_keyless && c.seen.wish.created != created;  // defined again meanwhile
    const bool is_over_now = is_another || !is_still_wanted(c.seen, target);
    if (is_keyless ? *here != guest_class::incoming : is_over_now) {
        if (*here == guest_class::incoming && !is_nobodys(c.seen)) {
            c.warning(message::migration_recovered,
                      "it was recovered elsewhere meanwhile: destroying what is left of it here");
            return begin_destroying(c, true, at::destroying_stale);
        }
        return finish(resolution::overtaken);
    }
    asked = c.now;
    if (is_planted(defect::target_not_asked)) {
        return heard_there(c, remote_answer::absent);
    }
    where = at::asking_there;
    return {ask::target{target}, last, "the target, what is there"};
}

step resolving::heard_there(context& c, remote_answer answer) {
    // A hypervisor that is not there says nothing about guests that outlive it.
    there = answer == remote_answer::refused ? remote_answer::silent : answer;
    if (is_planted(defect::half_is_a_copy) && answer == remote_answer::incoming) {
        there = remote_answer::alive;
    }
    where = at::asking_here_again;
    return {ask::own_guest{}, c.now + guest_query_limit, "libvirt, what is here"};
}

step resolving::heard_both(context& c) {
    const auto again = c.said_yes() ? c.seen.guest : std::nullopt;
    if (again != here) {
        before.forget();
        return look(c);  // it moved while the target was asked
    }
    if (there == remote_answer::alive) {
        c.memory.migration.seen_there = c.seen.wish.state_changed;
    } else if (!is_no_answer(there)) {
        c.memory.migration.seen_there = 0;
    }
    const bool is_done_there = c.seen.state == vm_state::start && !c.seen.is_owner;
    const resolve_step what = decide_resolve(*here, there, is_done_there);
    const bool may_destroy = what == resolve_step::destroy_copy || what == resolve_step::destroy_half;
    if (!may_destroy && what != resolve_step::resume_half) {
        before.forget();
    }
    pause = may_destroy ? second_look::apart : look_at_sides_again;
    return act_on(c, what);
}

step resolving::act_on(context& c, resolve_step what) {
    switch (what) {
        case resolve_step::moved: return finish(resolution::moved);
        case resolve_step::failed: return finish(resolution::clean_failure);
        case resolve_step::ended: return finish(resolution::ended);
        case resolve_step::unanswered:
            if (c.memory.migration.seen_there != c.seen.wish.state_changed) {
                return finish(resolution::unanswered);
            }
            break;  // it was heard to run there: a silence takes nothing back, the limit of the locks ends this
        case resolve_step::destroy_copy:
        case resolve_step::destroy_half:
            if (before.confirms({*here, there}, asked, c.now)) {
                return c.seen.is_guest(guest_class::incoming) ? judge_half(c) : destroy_here(c);
            }
            break;
        case resolve_step::resume_half: return c.seen.is_present ? begin_half(c) : finish(resolution::overtaken);
        default: return wait_or_let_go(c, what);
    }
    return wait(c, pause, "another look at both sides of a migration");
}

// It may have been sent back meanwhile, and be what arrives: the answer of who sends it is old when it comes.
step resolving::judge_half(context& c) {
    where = at::judging_job;
    return {ask::progress{}, std::min(c.now + guest_query_limit, last), "libvirt, whether it is on its way here"};
}

step resolving::judged_job(context& c) {
    const bool is_half = c.seen.is_guest(guest_class::incoming);
    if (!is_half || !is_left_behind(c.answer_as<progress_read>())) {
        return wait(c, pause, "another look at both sides of a migration");
    }
    return destroy_here(c);
}

step resolving::destroy_here(context& c) {
    const bool is_gone_there = there == remote_answer::absent || there == remote_answer::shut_off;
    c.info(is_gone_there
               ? "it had arrived on node " + shown(target) + " and ended there: what is left of it here is stale"
               : "it runs on node " + shown(target) + ": destroying the copy here");
    return begin_destroying(c, c.seen.is_guest(guest_class::incoming), at::destroying);
}

step resolving::wait_or_let_go(context& c, resolve_step what) {
    switch (what) {
        case resolve_step::halted_there:
            if (c.now - began >= halted_patience) {
                c.error(message::migration_remains,
                        "a copy that does not run is left on node " + shown(target) + "; this one goes on");
                return finish(resolution::kept_without_proof);
            }
            break;
        case resolve_step::unknown_end:
            if (c.now - began >= unknown_patience) {
                return finish(resolution::let_go);
            }
            break;
        case resolve_step::look_again: {
            const auto limit = ending_limit({.state = c.seen.state, .is_owner = c.seen.is_owner, .guest = *here});
            if (limit && c.now >= c.seen.class_since + *limit) {
                c.warning(message::migration_process_stays,
                          "its guest is off, and its process does not go: destroying it");
                return begin_destroying(c, false, at::ending_hung);
            }
            break;
        }
        case resolve_step::ask_again:
            pause = ask_sides_again;
            if (!std::exchange(told, true)) {
                c.error(message::migration_between, "it stands between here and node " + shown(target) +
                                                        ", which does not answer: nothing is done until it does");
            }
            if (c.seen.must_end) {
                return finish(resolution::let_go);
            }
            break;
        default: break;
    }
    return wait(c, pause, "another look at both sides of a migration");
}

step resolving::begin_half(context& c) {
    half = {
        .created = created, .target = target, .last = last, .looks = before, .found = {*here, there}, .asked = asked};
    where = at::resuming;
    return resume(c);
}

step resolving::after_half(context& c) {
    switch (half.end) {
        case resuming_half::outcome::resumed: return finish(resolution::clean_failure);
        case resuming_half::outcome::stale: return finish(resolution::ended);
        case resuming_half::outcome::unclear: break;
    }
    before = half.looks;
    half = {};
    return wait(c, pause, "another look at both sides of a migration");
}

step resolving::resume(context& c) {
    switch (where) {
        case at::begin:
            began = c.now;
            created = c.seen.wish.created;
            last = holds_locks ? began + locks_held_limit : time_point::max();
            return look(c);
        case at::reading: return has_read(c);
        case at::asking_here: return heard_here(c);
        case at::asking_there: return heard_there(c, c.answer_as<remote_answer>());
        case at::asking_here_again: return heard_both(c);
        case at::judging_job: return judged_job(c);
        case at::destroying_stale:
        case at::destroying:
        case at::ending_hung: {
            step next = destroy.resume(c);
            if (!next.is_over()) {
                return next;
            }
            if (where == at::destroying_stale) {
                return finish(resolution::overtaken);
            }
            if (where == at::ending_hung) {
                return wait(c, pause, "another look at both sides of a migration");
            }
            return finish(destroy.end == power_end::off ? resolution::moved : resolution::let_go);
        }
        case at::resuming: {
            step next = half.resume(c);
            return next.is_over() ? after_half(c) : next;
        }
        case at::pausing: return awaited.is_there(c) ? look(c) : step{ask::change{}, awaited.until, waits_for};
        case at::over: break;
    }
    return over();
}

}  // namespace pvc::policy
