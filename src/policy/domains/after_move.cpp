#include "pvcnoded/policy/domains/after_move.hpp"

#include "pvcnoded/base/planted.hpp"
#include "pvcnoded/base/text.hpp"
#include "pvcnoded/policy/domains/domain_table.hpp"

namespace pvc::policy {

using namespace std::chrono_literals;
using model::guest_class;
using model::vm_state;

namespace {
constexpr duration receiver_patience = 10s;
constexpr duration last_patience = 3s;  // of a daemon that stops: the receiver may be reading just now
constexpr duration start_patience = 10s;
constexpr duration ask_holders_of_moved_after = 15s;
constexpr duration locks_limit = 30s;
}  // namespace

step awaiting_receiver::resume(context& c) {
    if (where == at::begin) {
        began = c.now;
    }
    if (where == at::writing || where == at::over) {
        where = at::over;
        return over();
    }
    const duration patience = c.seen.must_end ? last_patience : receiver_patience;
    const bool stands = c.seen.is_present && c.seen.node == target && c.seen.wish == handed &&
                        (is_migration(c.seen.state) || c.seen.state == vm_state::stop);
    if (!stands && !(is_planted(defect::taken_for_too_soon) && c.seen.is_present)) {
        where = at::over;
        return over();
    }
    if (c.now < began + patience) {
        where = at::waiting;
        return {ask::change{}, began + patience, "the receiver to take over"};
    }
    c.warning(message::migration_taken_for,
              "its new node did not take over within " +
                  std::to_string(std::chrono::duration_cast<std::chrono::seconds>(patience).count()) +
                  " s, doing it in its place");
    where = at::writing;
    return {ask::write_state{vm_state::start, sync_word::taken_back}, time_point::max(), "`start` in its place"};
}

bool seeing_start::is_pending(const context& c) const {
    return !c.seen.must_end && c.seen.is_present && c.seen.state == vm_state::start && !c.seen.is_owner &&
           c.seen.node == target && !c.seen.held.target_lists_it;
}

step seeing_start::wait(context& c) {
    if (!is_pending(c)) {
        where = at::over;
        return over();
    }
    if (c.now < until) {
        where = at::waiting;
        return {ask::change{}, until, "its new node to start it"};
    }
    where = at::asking;
    return {ask::daemon_runs{target}, time_point::max(), "whether its new node is there"};
}

step seeing_start::resume(context& c) {
    switch (where) {
        case at::begin:
            until = c.now + start_patience;
            where = at::reading;
            return {ask::row{}, time_point::max(), "its keys"};
        case at::reading:
            if (c.answer_as<row_read>().is_fresh()) {
                return wait(c);
            }
            break;
        case at::waiting: return wait(c);
        case at::asking:
            if (c.said_yes() && (is_pending(c) || is_planted(defect::start_seen_blindly))) {
                c.info("node " + shown(target) + " has not started it yet, asking once more");
                where = at::writing;
                return {ask::write_state{vm_state::start}, time_point::max(), "the same state once more"};
            }
            break;
        case at::writing:
        case at::over: break;
    }
    where = at::over;
    return over();
}

void handing_over::hold(holdings& what) const {
    if (where == at::releasing_elsewhere) {
        released.hold(what);
    }
    if (wants_locks) {
        what.locks = locks_by;
    }
    if (where == at::seeing_start) {
        seen.hold(what);
    }
}

step handing_over::lock(context& c) {
    using locks = held_now::locks;
    const auto status = c.seen.held.of_migration;
    where = at::locking;
    if (!std::exchange(wants_locks, true)) {
        locks_by = c.now + locks_limit;
    }
    if (status == locks::pending || status == locks::none) {
        // Nobody waits for locks that he no longer needs.
        return is_on_its_way(c) && !c.seen.must_end
                   ? step{ask::change{}, time_point::max(), "the locks of the virtual machine"}
                   : unlock(c);
    }
    if (status == locks::held) {
        where = at::reading;
        return {ask::row{}, time_point::max(), "its keys"};
    }
    if (status != locks::no_keys) {
        c.warning(message::migration_hand_over, "handing it over: " + std::string(c.seen.held.locks_text));
        c.pause(1s);
    }
    return unlock(c);
}

step handing_over::unlock(context& c) {
    wants_locks = false;
    where = at::unlocking;
    return unlocked(c);
}

step handing_over::unlocked(context& c) {
    const auto status = c.seen.held.of_migration;
    if (status == held_now::locks::held || status == held_now::locks::pending) {
        return {ask::change{}, time_point::max(), "the release of its locks"};
    }
    return after_unlock(c);
}

step handing_over::after_unlock(context& c) {
    if (!target.empty() || !is_migration(c.seen.state)) {
        c.drop_record();
    }
    where = target.empty() ? at::over : at::seeing_start;
    seen.target = target;
    return target.empty() ? over() : seen.resume(c);
}

// A receiver of the reference starts what it is handed without a look at who else has it.
step handing_over::release(context& c) {
    const bool goes_on = !c.seen.must_end && c.seen.is_present && c.seen.wish == began_with;
    step next = released.resume(c, goes_on);
    if (!next.is_over()) {
        return next;
    }
    if (released.end == release_wait::outcome::clear) {
        return lock(c);
    }
    where = at::over;  // changed: the tables look again
    return over();
}

bool handing_over::is_on_its_way(const context& c) {
    return c.seen.is_present && !c.seen.is_owner && is_migration(c.seen.state) && !c.seen.node.empty();
}

step handing_over::read(context& c) {
    if (!c.answer_as<row_read>().is_fresh() || !is_on_its_way(c)) {
        return unlock(c);
    }
    began_with = c.seen.wish;
    // A libvirt that has fallen silent has not told of what came since: its own word, now.
    where = at::looking;
    return {ask::own_guest{}, c.now + guest_query_limit, "libvirt, whether it is off"};
}

step handing_over::looked(context& c) {
    if (!c.said_yes() || !c.seen.is_guest(guest_class::absent)) {
        c.pause(1s);
        return unlock(c);
    }
    if (c.seen.wish != began_with) {
        return unlock(c);  // somebody who does not wait for locks has written meanwhile
    }
    c.acts.emplace_back(act::write_record{"sender", std::string(c.seen.node), "offline"});
    target = c.seen.node;
    where = at::writing;
    return {ask::write_state{vm_state::stop, sync_word::handed_over}, time_point::max(), "its hand-over"};
}

step handing_over::written(context& c) {
    if (!c.wrote()) {
        target.clear();
        return unlock(c);
    }
    c.state("it ended on its way: handed over to be started there");
    receiver = {.target = target, .handed = c.seen.wish};
    where = at::awaiting_receiver;
    return resume(c);
}

step handing_over::resume(context& c) {
    switch (where) {
        case at::begin:
            began_with = c.seen.wish;
            released.rules = {.ask_after = ask_holders_of_moved_after, .receiver = std::string(c.seen.node)};
            where = at::releasing_elsewhere;
            return release(c);
        case at::releasing_elsewhere: return release(c);
        case at::locking: return lock(c);
        case at::reading: return read(c);
        case at::looking: return looked(c);
        case at::writing: return written(c);
        case at::awaiting_receiver: return hand_on(receiver, c, [&] { return unlock(c); });
        case at::unlocking: return unlocked(c);
        case at::seeing_start:
            return hand_on(seen, c, [&] {
                where = at::over;
                return over();
            });
        case at::over: break;
    }
    return over();
}

void handing_over_ended::hold(holdings& what) const {
    if (where == at::handing_over) {
        handed.hold(what);
    }
}

step handing_over_ended::resume(context& c) {
    switch (where) {
        case at::begin:
            c.memory.adoption.ended();
            where = at::unlisting;
            return {ask::set_listed{false}, time_point::max(), "the running list"};
        case at::unlisting:
            where = at::ending_console;
            return {ask::end_console{}, time_point::max(), "the end of its console's log"};
        case at::ending_console: where = at::handing_over; [[fallthrough]];
        case at::handing_over:
            return hand_on(handed, c, [&] {
                where = at::over;
                return over();
            });
        case at::over: break;
    }
    return over();
}

}  // namespace pvc::policy
