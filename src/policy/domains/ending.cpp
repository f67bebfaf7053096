#include "pvcnoded/policy/domains/ending.hpp"

#include "pvcnoded/base/planted.hpp"
#include "pvcnoded/policy/domains/domain_table.hpp"

#include <algorithm>

namespace pvc::policy {

using namespace std::chrono_literals;
using model::guest_class;

namespace {
constexpr duration complain_every = 30s;

std::string seconds_text(duration time) {
    return std::to_string(std::chrono::duration_cast<std::chrono::seconds>(time).count());
}
}  // namespace

step destroying::finish(power_end how) {
    where = at::over;
    end = how;
    return over();
}

bool destroying::is_another(const context& c) const {
    return was_half && (c.seen.is_guest(guest_class::alive) || c.seen.is_guest(guest_class::paused));
}

step destroying::attempt(context& c) {
    if (!c.seen.guest) {
        return finish(power_end::unknown);
    }
    if (c.seen.is_guest(guest_class::absent)) {
        c.memory.going_down.over();
        return finish(power_end::off);
    }
    if (c.now >= last) {
        return finish(power_end::unknown);
    }
    if (is_another(c)) {
        return finish(power_end::changed);
    }
    if (where != at::begin && only_for && c.seen.wish != *only_for && !is_planted(defect::destroys_for_ever)) {
        return finish(power_end::changed);
    }
    where = at::destroyed;
    return {ask::destroy{}, std::min(c.now + call_limit, last), "libvirt to destroy it"};
}

step destroying::wait_gone(context& c) {
    if (!c.seen.guest || (c.now >= wait_until && !c.seen.is_guest(guest_class::absent))) {
        where = at::looked;
        return {ask::own_guest{}, c.now + guest_query_limit, "libvirt, whether it is gone"};
    }
    if (c.seen.is_guest(guest_class::absent) || is_another(c)) {
        return attempt(c);
    }
    where = at::leaving;
    return {ask::change{}, wait_until, "the guest to be gone"};
}

step destroying::resume(context& c) {
    switch (where) {
        case at::begin:
            complain_at = c.now;
            was_half = c.seen.is_guest(guest_class::incoming);
            return attempt(c);
        case at::destroyed: {
            const auto& answer = c.answer_as<call_answer>();
            wait_until = c.now + gone_within;
            if (answer.end == call_end::done || answer.end == call_end::no_domain) {
                return wait_gone(c);
            }
            if (c.now >= complain_at) {
                c.error(message::domain_destroy_refused, "destroying it: " + answer.text + "; trying again");
                complain_at = c.now + complain_every;
            }
            where = at::pausing;
            return {ask::time{}, std::min(c.now + again_after, last), "another attempt to destroy it"};
        }
        case at::leaving: return wait_gone(c);
        case at::pausing:
            where = at::looked_after_pause;
            return {ask::own_guest{}, c.now + guest_query_limit, "libvirt, whether it is gone"};
        case at::looked:
        case at::looked_after_pause: return attempt(c);
        case at::over: break;
    }
    return over();
}

step powering_down::finish(power_end how) {
    where = at::over;
    end = how;
    return over();
}

step powering_down::look(context& c, bool goes_on) {
    const time_point deadline = began + c.seen.shutdown_timeout;
    // The guest is off already, and its process does not go: that is waited for by itself.
    const auto limit = ending_limit({.state = c.seen.state, .is_owner = c.seen.is_owner, .guest = guest_class::ending});
    const bool is_ending = c.seen.is_guest(guest_class::ending);
    const time_point ends_by = is_ending && limit ? std::min(deadline, c.seen.class_since + *limit) : deadline;
    if (!c.seen.guest) {
        return finish(power_end::unknown);
    }
    if (c.seen.is_guest(guest_class::absent)) {
        c.memory.going_down.over();
        return finish(power_end::off);
    }
    if (c.seen.must_end || !goes_on) {
        return finish(power_end::changed);
    }
    where = at::waiting;
    if (c.now < ends_by) {
        return {ask::change{}, ends_by, "the guest to shut down"};
    }
    is_hung = is_ending && c.now < deadline;
    if (is_hung) {
        c.warning(message::domain_process_stays, "its guest is off, and its process has not gone for " +
                                                     seconds_text(c.now - c.seen.class_since) + " s: destroying it");
    } else {
        c.warning(message::domain_shutdown_late,
                  "it did not shut down within " + seconds_text(c.seen.shutdown_timeout) + " s, destroying it");
    }
    where = at::destroying;
    destroy.only_for = c.seen.wish;
    return resume(c, goes_on);
}

step powering_down::resume(context& c, bool goes_on) {
    switch (where) {
        case at::begin: {
            // By a machine before this one; a request that the hypervisor may not have got is made again.
            going_down& memory = c.memory.going_down;
            memory.was_asked = memory.since.has_value() && memory.was_asked;
            asks = !memory.was_asked;
            began = memory.since.value_or(c.now);
            memory.since = began;
            return look(c, goes_on);
        }
        case at::waiting: return look(c, goes_on);
        case at::destroying: {
            step next = destroy.resume(c);
            if (!next.is_over()) {
                return next;
            }
            return finish(is_hung && !c.seen.is_guest(guest_class::absent) ? power_end::unknown : destroy.end);
        }
        case at::over: break;
    }
    return over();
}

step ending_hung::resume(context& c) {
    if (!std::exchange(has_begun, true)) {
        c.warning(message::domain_process_stays, "its guest is off, and its process has not gone for " +
                                                     seconds_text(c.now - c.seen.class_since) + " s: destroying it");
    }
    return destroy.resume(c);  // the tables go on with a guest that is not there
}

}  // namespace pvc::policy
