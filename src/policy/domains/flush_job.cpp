#include "pvcnoded/policy/domains/flush_job.hpp"

#include "pvcnoded/base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace pvc::policy::drain {

using namespace std::chrono_literals;

failing_targets flush_job::failing() const {
    failing_targets out;
    for (const auto& one_move : failures) {
        out.failed(one_move.domain, one_move.target, one_move.fault, one_move.at);
    }
    return out;
}

known_targets flush_job::known() const {
    return {failing(), were_ready, is_last, tried_now};
}

// Nobody writes a word after the short job.
step flush_job::finish(context& c) {
    if (is_short && !stayed.empty()) {
        c.error(message::flush_leftovers, fmt::format("flush: still running here: {}", join(stayed, ", ")));
    }
    where = at::over;
    return {};
}

step flush_job::begin(context& c) {
    if (!order.has_hypervisor) {
        return is_short ? finish(c) : conclude(c);
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

// One after the other.
step flush_job::next_domain(context& c) {
    if (taken == domains.size() && is_last) {
        return end_last_round(c);
    }
    if (taken == domains.size()) {
        domains = std::exchange(again, {});
        taken = 0;
        ++round;
    }
    if (domains.empty()) {
        last_until = c.now + last_patience;
        return put_off.empty() ? after_rounds(c) : begin_last_round(c);
    }
    const uuid id = domains[taken++];
    handled.insert(id);
    one = one_domain::of_job(job_kind::flush, id, self, shutdown_timeout);
    where = at::moving;
    return go_on(c);
}

step flush_job::go_on(context& c) {
    if (const auto* offered = std::get_if<target_found>(&c.said)) {
        for (const auto& node : offered->nodes) {
            if (node.takes_domains) {
                were_ready.insert(node.name);
            }
        }
    }
    step next = one.resume(c, known());
    return next.is_over() ? after_one(c) : next;
}

step flush_job::after_one(context& c) {
    if (one.has_returned()) {
        came_back(c);
    } else if (one.remains == one_domain::leftover::put_off) {
        if (!is_last) {
            one.info(c, "no node takes it now, it is tried once more after the others");
        }
        put_off.push_back({one.id, one.name});
    } else if (one.remains == one_domain::leftover::stays) {
        stayed.push_back(one.name);
    } else if (one.found) {
        has_gone();
    }
    c.acts.emplace_back(act::unfollow{});
    return next_domain(c);
}

// Where one has gone the others may go.
void flush_job::has_gone() {
    left.push_back(one.id);
    const auto target = one.target();
    if (!target || one.found->node != *target || one.found->state != model::vm_state::start) {
        return;
    }
    has_moved = true;
    tried_now.erase(*target);
    std::erase_if(failures,
                  [&](const failed_move& of) { return of.target == *target && of.fault == move_fault::target; });
}

// Of the last rounds no other says more than the migration did.
void flush_job::came_back(context& c) {
    const auto target = one.target();
    if (is_last) {
        returned.push_back({one.id, one.name});
    } else if (round + 1 == rounds_max) {
        put_off.push_back({one.id, one.name});
    } else {
        one.warn(c, message::flush_again,
                 target ? "it could not be moved to " + *target + ", looking for another node after the others"
                        : "it came back, it is moved after the others");
        again.push_back(one.id);
    }
    if (target) {
        note_failure(c, *target);
    }
}

void flush_job::note_failure(context& c, const std::string& target) {
    if (is_last) {
        tried_now.insert(target);
    }
    if (one.fault == move_fault::neither) {
        return;
    }
    auto before = failing();
    failures.push_back({one.id, target, one.fault, c.now});
    if (before.failed(one.id, target, one.fault, c.now)) {
        c.warning(message::flush_target_left_out, {},
                  fmt::format("{}: two virtual machines could not be moved to node {}, it is left out for {} min, and "
                              "tried again at the end",
                              to_text(job_kind::flush), target, failing_targets::left_out_for / 1min));
    }
}

// ---- what no node took ----------------------------------------------------------------------------------------------

// What was not tried in the last round comes before what was.
step flush_job::begin_last_round(context& c) {
    is_last = true;
    has_moved = false;
    tried_now.clear();
    domains.clear();
    for (const auto* list : {&put_off, &returned}) {
        std::ranges::transform(*list, std::back_inserter(domains), &waiting::domain);
    }
    put_off.clear();
    returned.clear();
    taken = 0;
    return next_domain(c);
}

// Once one has gone the others are tried at once.
step flush_job::end_last_round(context& c) {
    const bool is_one_left = !put_off.empty() || !returned.empty();
    if (is_one_left && has_moved) {
        return begin_last_round(c);
    }
    if (is_one_left && c.now < last_until) {
        where = at::pausing_tries;
        return {ask::time{}, std::min(last_until, c.now + pause_between_tries),
                "another try of what could not be moved"};
    }
    for (auto* list : {&put_off, &returned}) {
        for (auto& of : std::exchange(*list, {})) {
            c.warning(message::flush_stays, of.name, "flush: it could not be moved, it stays here");
            stayed.push_back(std::move(of.name));
        }
    }
    is_last = false;
    domains.clear();
    taken = 0;
    return after_rounds(c);
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
        return is_short ? finish(c) : look_at_list();
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
        case at::pausing_tries: return begin_last_round(c);
        case at::next_arrival: return has_arrival(c);
        case at::reading_arrival: return has_read_arrival(c);
        case at::pausing: return read_arrival();
        case at::looking_at_list: return has_list(c);
        case at::awaiting_list: return look_at_list();
        case at::concluding: {
            step next = last.resume(c);
            return next.is_over() ? finish(c) : next;
        }
        case at::over: break;
    }
    return {};
}

}  // namespace pvc::policy::drain
