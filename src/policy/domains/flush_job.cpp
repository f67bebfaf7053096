#include "pvcnoded/policy/domains/flush_job.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace pvc::policy::drain {

using namespace std::chrono_literals;

failing_targets flush_job::failing() const {
    failing_targets out;
    for (const auto& one_move : failures) {
        out.failed(one_move.domain, one_move.target, one_move.at);
    }
    return out;
}

step flush_job::finish() {
    where = at::over;
    return {};
}

step flush_job::begin(context& c) {
    if (!order.has_hypervisor) {
        return is_short ? finish() : conclude(c);
    }
    if (is_short) {
        return ask_arrival();
    }
    c.acts.emplace_back(act::drop_arrivals{});  // they are among those present
    where = at::listing;
    return {ask::present{}, time_point::max(), "what is here"};
}

// ---- the domains, in rounds -----------------------------------------------------------------------------------------

step flush_job::begin_rounds(context& c, std::vector<uuid> all) {
    domains = std::move(all);
    taken = 0;
    round = 0;
    return next_domain(c);
}

// One after the other; in the last round nothing is kept for another.
step flush_job::next_domain(context& c) {
    if (taken == domains.size()) {
        domains = std::exchange(again, {});
        taken = 0;
        ++round;
    }
    if (domains.empty()) {
        return after_rounds(c);
    }
    const uuid id = domains[taken++];
    handled.insert(id);
    one = one_domain::of_job(job_kind::flush, id, self, shutdown_timeout);
    where = at::moving;
    return go_on(c);
}

step flush_job::go_on(context& c) {
    step next = one.resume(c, failing());
    return next.is_over() ? after_one(c) : next;
}

step flush_job::after_one(context& c) {
    const bool has_returned = one.found && one.found->state == model::vm_state::start && one.found->node == self;
    if (has_returned) {
        came_back(c);
    } else if (one.found) {
        left.push_back(one.id);
    }
    c.acts.emplace_back(act::unfollow{});
    return next_domain(c);
}

void flush_job::came_back(context& c) {
    const auto target = one.target();
    if (round + 1 == rounds_max) {
        one.warn(c, message::flush_stays, "it could not be moved, it stays here");
    } else {
        one.warn(c, message::flush_again,
                 target ? "it could not be moved to " + *target + ", looking for another node after the others"
                        : "it came back, it is moved after the others");
        again.push_back(one.id);
    }
    if (!target) {
        return;
    }
    auto known = failing();
    failures.push_back({one.id, *target, c.now});
    if (known.failed(one.id, *target, c.now)) {
        c.warning(message::flush_target_left_out, {},
                  fmt::format("{}: moves to node {} failed twice, it is left out for {} min", to_text(job_kind::flush),
                              *target, failing_targets::left_out_for / 1min));
    }
}

// ---- what came late -------------------------------------------------------------------------------------------------

step flush_job::after_rounds(context& c) {
    if (late) {
        return drop_arrival(c);
    }
    list_until = c.now + list_patience;
    return ask_arrival();
}

step flush_job::ask_arrival() {
    where = at::next_arrival;
    return {ask::arrival{}, time_point::max(), "what came late"};
}

step flush_job::has_arrival(context& c) {
    late = c.answer_as<arrived>().id;
    if (!late) {
        return is_short ? finish() : look_at_list();
    }
    return handled.contains(*late) ? drop_arrival(c) : read_arrival();
}

step flush_job::read_arrival() {
    where = at::reading_arrival;
    return {ask::keys{*late}, time_point::max(), "the keys of what came late"};
}

// Each is noted until it was dealt with: a job that ends with its session is begun again in the next.
step flush_job::drop_arrival(context& c) {
    c.acts.emplace_back(act::drop_arrival{*late});
    late.reset();
    return ask_arrival();
}

// It goes on if the move that brought it is older than the order; what somebody sent here afterwards may stay.
step flush_job::has_read_arrival(context& c) {
    const auto& said = c.answer_as<keys_read>();
    if (said.what == keys_read::how::failed) {
        where = at::pausing;
        return {ask::better_session{}, time_point::max(), "another attempt to read or write keys"};
    }
    const bool is_read = said.what == keys_read::how::read;
    if (!is_read || said.found.keys.node != self || said.found.node_changed >= c.ordered) {
        return drop_arrival(c);
    }
    c.info(said.found.name,
           fmt::format("{}: it came by a move that began before, it goes on", to_text(job_kind::flush)));
    return begin_rounds(c, {*late});
}

// ---- the running list -----------------------------------------------------------------------------------------------

// The one that went last may be reported at its target before it is off the list here.
step flush_job::look_at_list() {
    where = at::looking_at_list;
    return {ask::listed{}, time_point::max(), "the running list"};
}

step flush_job::has_list(context& c) {
    const auto& listed = c.answer_as<domains_here>().ids;
    const bool is_one_listed =
        std::ranges::any_of(left, [&](const uuid& id) { return std::ranges::find(listed, id) != listed.end(); });
    if (!is_one_listed || c.now >= list_until) {
        return conclude(c);
    }
    where = at::awaiting_list;
    return {ask::list_write{}, list_until, "what was moved to be off the running list"};
}

step flush_job::conclude(context& c) {
    last = {.of = job_kind::flush, .order = order};
    where = at::concluding;
    return resume(c);
}

step flush_job::resume(context& c) {
    switch (where) {
        case at::begin: return begin(c);
        case at::listing: {
            const auto& all = c.answer_as<domains_here>().ids;
            c.state(all.empty() ? std::string("flush: no virtual machine runs here")
                                : fmt::format("flush: {} virtual machine(s) are to leave this node", all.size()));
            return begin_rounds(c, all);
        }
        case at::moving: return go_on(c);
        case at::next_arrival: return has_arrival(c);
        case at::reading_arrival: return has_read_arrival(c);
        case at::pausing: return read_arrival();
        case at::looking_at_list: return has_list(c);
        case at::awaiting_list: return look_at_list();
        case at::concluding: {
            step next = last.resume(c);
            return next.is_over() ? finish() : next;
        }
        case at::over: break;
    }
    return {};
}

}  // namespace pvc::policy::drain
