#include "pvcnoded/policy/domains/hand_shake.hpp"

namespace pvc::policy {

using namespace std::chrono_literals;

namespace {
constexpr duration peer_limit = 30s;
constexpr duration idle_after = 1s;     // a receiver between its phases is away for milliseconds
constexpr duration queue_limit = 600s;  // of one acquisition; then it queues again
constexpr duration trouble_pause = 1s;
}  // namespace

// ---- the receiver ---------------------------------------------------------------------------------------------------

step offering_sync::look() {
    where = at::looking;
    return {ask::contenders{}, time_point::max(), "who else is at the lock of the migration"};
}

step offering_sync::queue(context& c) {
    using locks = held_now::locks;
    where = at::queueing;
    if (!std::exchange(wants_lock, true)) {
        queued_until = c.now + queue_limit;
        return {ask::change{}, time_point::max(), "the lock of the migration"};
    }
    switch (c.seen.held.of_sync) {
        case locks::none:
        case locks::pending: return {ask::change{}, time_point::max(), "the lock of the migration"};
        case locks::held:
            queued_until = {};
            held_until = c.now + peer_limit;
            return hold_on(c);
        case locks::no_keys:
            wants_lock = false;
            where = at::making_key;
            return {ask::make_sync_key{}, time_point::max(), "the key of the migration's lock"};
        case locks::late:
        case locks::failed: break;
    }
    wants_lock = false;
    where = at::pausing;
    return {ask::time{}, c.now + trouble_pause, "another attempt to queue for a migration lock"};
}

// Until the sender is queued behind us.
step offering_sync::hold_on(context& c) {
    if (c.now >= held_until) {
        return release(c);
    }
    where = at::holding;
    return {ask::contenders{}, time_point::max(), "who else is at the lock of the migration"};
}

step offering_sync::release(context& c) {
    wants_lock = false;
    held_until = {};
    if (c.seen.held.of_sync == held_now::locks::none) {
        return look();
    }
    where = at::releasing;
    return {ask::change{}, time_point::max(), "the release of the migration lock"};
}

step offering_sync::resume(context& c) {
    switch (where) {
        case at::begin: return look();  // which clears away what an earlier migration left
        case at::looking:
        case at::queueing: return queue(c);
        case at::holding:
            if (c.answer_as<contenders_read>().is_there || c.now >= held_until) {
                return release(c);
            }
            where = at::waiting;
            return {ask::change{}, held_until, "the sender of a migration"};
        case at::waiting: return hold_on(c);
        case at::releasing: return release(c);
        case at::making_key:
            if (!c.said_yes()) {
                break;  // the domain is gone; the operation sees it too
            }
            where = at::pausing;
            return {ask::time{}, c.now + trouble_pause, "another attempt to queue for a migration lock"};
        case at::pausing: return look();
        case at::over: break;
    }
    where = at::over;
    return over();
}

// ---- the sender -----------------------------------------------------------------------------------------------------

step taking_sync::look() {
    where = at::looking;
    return {ask::contenders{}, time_point::max(), "who else is at the lock of the migration"};
}

step taking_sync::seen_first(context& c) {
    const auto& read = c.answer_as<contenders_read>();
    // A value that was written since the request is the receiver's.
    const auto written = c.seen.held.sync_written;
    const bool wrote = written && *written > c.seen.wish.state_changed && *written != c.memory.migration.sync_written;
    if (read.is_there) {
        return queue(c);
    }
    was_seen = was_seen || wrote;
    if (was_seen && wrote && c.seen.held.sync_is_empty) {
        is_alone = true;  // it came, passed its phases and went
        return queue(c);
    }
    if (read.what == contenders_read::end::no_key) {
        where = at::making_key;
        return {ask::make_sync_key{}, time_point::max(), "the key of the migration's lock"};
    }
    return hold_on(c);
}

// Nobody there so far.
step taking_sync::hold_on(context& c) {
    if (!c.seen.held.sync_is_wanted || c.now >= deadline) {
        return release(c);
    }
    where = at::waiting;
    return {ask::change{}, deadline, "the receiver of a migration"};
}

step taking_sync::queue(context& c) {
    using locks = held_now::locks;
    if (!c.seen.held.sync_is_wanted) {
        return release(c);
    }
    where = at::queueing;
    if (!std::exchange(wants_lock, true)) {
        queued_until = c.now + peer_limit;
        deadline = {};
        was_seen = false;
        return {ask::change{}, time_point::max(), "the lock of the migration"};
    }
    switch (c.seen.held.of_sync) {
        case locks::none:
        case locks::pending: return {ask::change{}, time_point::max(), "the lock of the migration"};
        case locks::held:
            queued_until = {};
            idle_at = c.now + idle_after;
            return is_alone ? seen_behind(c) : look_behind();
        default: return release(c);
    }
}

// The receiver queues again at once; one that does not has gone idle.
step taking_sync::look_behind() {
    where = at::looking_behind;
    return {ask::contenders{}, time_point::max(), "whether the receiver queues again"};
}

step taking_sync::seen_behind(context& c) {
    const bool is_there = !is_alone && c.answer_as<contenders_read>().is_there;
    if (!is_alone && !is_there && c.now < idle_at) {
        where = at::waiting_behind;
        return {ask::change{}, idle_at, "the receiver to queue again"};
    }
    is_alone = is_alone || !is_there;
    is_granted = true;
    idle_at = {};
    where = at::granted;
    return c.seen.held.sync_is_wanted ? step{ask::change{}, time_point::max(), "the end of the migration"} : release(c);
}

step taking_sync::release(context& c) {
    wants_lock = false;
    const auto held = c.seen.held.of_sync;
    if (held == held_now::locks::held || held == held_now::locks::pending) {
        where = at::releasing;
        return {ask::change{}, time_point::max(), "the release of the migration lock"};
    }
    where = at::over;
    return over();
}

step taking_sync::resume(context& c) {
    switch (where) {
        case at::begin: return look();
        case at::looking: return seen_first(c);
        case at::making_key: return c.said_yes() ? hold_on(c) : release(c);
        case at::waiting: return look();
        case at::queueing: return queue(c);
        case at::looking_behind: return seen_behind(c);
        case at::waiting_behind: return look_behind();
        case at::granted:
            return c.seen.held.sync_is_wanted ? step{ask::change{}, time_point::max(), "the end of the migration"}
                                              : release(c);
        case at::releasing: return release(c);
        case at::over: break;
    }
    return over();
}

}  // namespace pvc::policy
