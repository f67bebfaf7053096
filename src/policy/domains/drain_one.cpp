#include "pvcnoded/policy/domains/drain_one.hpp"

#include "pvcnoded/base/planted.hpp"
#include "pvcnoded/policy/domains/domain_table.hpp"

#include <fmt/format.h>

namespace pvc::policy::drain {

using model::vm_state;

std::string_view to_text(job_kind kind) {
    return kind == job_kind::flush ? "flush" : "unflush";
}

bool lasts(lasting what, vm_state state) {
    switch (what) {
        case lasting::settling: return state == vm_state::restart || state == vm_state::shutdown;
        case lasting::arriving: return is_migration(state);
        case lasting::leaving: return is_under_way(state);
    }
    return false;
}

one_domain one_domain::of_job(job_kind of, const uuid& id, const std::string& self, duration shutdown_timeout) {
    one_domain out;
    out.of = of;
    out.id = id;
    out.self = self;
    out.shutdown_timeout = shutdown_timeout;
    return out;
}

std::optional<std::string> one_domain::target() const {
    return plan ? plan->write.node : std::nullopt;
}

void one_domain::info(context& c, std::string_view text) const {
    c.info(name, fmt::format("{}: {}", to_text(of), text));
}

void one_domain::warn(context& c, message what, std::string_view text) const {
    c.warning(what, name, fmt::format("{}: {}", to_text(of), text));
}

domain_step one_domain::present_step(const placed_domain& keys) const {
    const domain_step wanted = of == job_kind::flush ? flush_step(keys, self) : unflush_step(keys, self);
    return wanted == domain_step::wait_arrived && has_awaited ? domain_step::place : wanted;
}

bool one_domain::has_returned() const {
    return found && found->state == vm_state::start && found->node == self;
}

step one_domain::finish() {
    where = at::over;
    return {};
}

// ---- until it is clear what it is to be -----------------------------------------------------------------------------

step one_domain::read() {
    where = at::reading;
    return {ask::keys{id}, time_point::max(), "its keys"};
}

step one_domain::pause() {
    where = at::pausing;
    return {ask::better_session{}, time_point::max(), "another attempt to read or write keys"};
}

step one_domain::has_read(context& c) {
    const auto& said = c.answer_as<keys_read>();
    using enum keys_read::how;
    if (said.what == failed) {
        return pause();
    }
    if (said.what == removed) {
        return finish();  // meanwhile
    }
    if (said.what == key_missing) {
        warn(c, message::flush_keys_missing, "its key " + said.missing + " is missing, it is left as it is");
        return finish();
    }
    name = said.found.name;
    const domain_step now = present_step(said.found.keys);
    switch (now) {
        case domain_step::skip: return finish();
        case domain_step::wait_moved: written = said.found.state_changed; return follow_move(c);
        case domain_step::wait_settled:
        case domain_step::wait_arrived: return settle(c, now, said.found.state_changed);
        case domain_step::place: break;
    }
    where = at::locking;
    return {ask::place{id}, time_point::max(), "its lock"};
}

// Waits from what transaction `since` wrote on.
step one_domain::settle(context& c, domain_step why, std::int64_t since) {
    const bool is_arriving = why == domain_step::wait_arrived;
    if (is_arriving) {
        has_awaited = true;
        info(c, "it is still on its way, waiting for that");
    } else if (!settled_by) {
        settled_by = c.now + shutdown_timeout + settle_slack;  // the longest that a guest takes to go off and come back
        info(c, "it is being restarted or shut down, waiting for that");
    } else if (c.now >= *settled_by) {
        const auto limit = std::chrono::duration_cast<std::chrono::seconds>(shutdown_timeout + settle_slack);
        warn(c, message::flush_settling,
             fmt::format("it is still being restarted or shut down after {} s, going on without it", limit.count()));
        return finish();
    }
    where = at::settling;
    return {ask::other_state{is_arriving ? lasting::arriving : lasting::settling, since},
            is_arriving ? c.now + move_limit : *settled_by, "a virtual machine to settle"};
}

// ---- under its lock, where nothing may be as it was -----------------------------------------------------------------

step one_domain::decide(context& c, const known_targets& known) {
    const auto& now = c.answer_as<under_lock>().found;
    if (present_step(now.keys) != domain_step::place) {
        where = at::writing;
        return {ask::decide_again{name}, time_point::max(), "its lock to be given back"};
    }
    if (of == job_kind::unflush) {
        const auto made = plan_unflush(now.keys, self);
        return write(made ? std::optional(planned{made->way, made->write, {}}) : std::nullopt);
    }
    locked = now.keys;
    remains = leftover::none;
    auto but = known.failing.tried_by(id);
    but.merge(known.failing.left_out(c.now));
    where = at::choosing;
    return {ask::target{id, std::move(but)}, time_point::max(), "what the nodes offer"};
}

step one_domain::has_chosen(context& c, const known_targets& known) {
    const auto& found_now = c.answer_as<target_found>();
    if (found_now.choice) {
        return write_leaving(found_now.choice);
    }
    if (!known.is_last) {
        remains = leftover::put_off;
        return write(std::nullopt);
    }
    if (where == at::choosing) {
        where = at::choosing_last;
        auto but = known.failing.refused(id);
        but.insert(known.tried_now.begin(), known.tried_now.end());
        return {ask::target{id, std::move(but)}, time_point::max(), "what the nodes offer"};
    }
    return without_target(found_now.nodes, known);
}

// That it cannot be had is no reason to shut anything down, as long as there is a node for it.
step one_domain::without_target(const std::vector<possible_node>& nodes, const known_targets& known) {
    const auto refused = known.failing.refused(id);
    bool is_somewhere = false;
    bool is_worth_a_try = false;
    for (const auto& one : nodes) {
        if (one.is_allowed && (one.takes_domains || known.were_ready.contains(one.name))) {
            is_somewhere = true;
            is_worth_a_try = is_worth_a_try || !refused.contains(one.name);
        }
    }
    if (!is_somewhere || is_planted(defect::flush_gives_up)) {
        return write_leaving(std::nullopt);
    }
    remains = is_worth_a_try ? leftover::put_off : leftover::stays;
    return write(std::nullopt);
}

step one_domain::write_leaving(const std::optional<target_choice>& choice) {
    const auto made = plan_flush(locked, self, choice ? std::optional(choice->node) : std::nullopt);
    if (!made) {
        return write(std::nullopt);
    }
    return write(planned{made->way, made->write, choice ? choice->reason : std::string()});
}

step one_domain::write(std::optional<planned> what) {
    where = at::writing;
    plan = std::move(what);
    if (!plan) {
        return {ask::write_nothing{}, time_point::max(), "its lock to be given back"};
    }
    return {ask::write{plan->write}, time_point::max(), "its keys to be written"};
}

step one_domain::was_placed(context& c) {
    const auto& done = c.answer_as<placed>();
    switch (done.what) {
        case placed::how::written: break;
        case placed::how::needless:
            switch (remains) {
                case leftover::none:
                    warn(c, message::flush_needless, "there is nothing that could be done with it");
                    break;
                case leftover::put_off: break;  // whoever tries it again says what becomes of it
                case leftover::stays: warn(c, message::flush_stays, "it could not be moved, it stays here"); break;
            }
            return finish();
        case placed::how::conflict:
        case placed::how::locked: return conflict(c, done.why);
        case placed::how::gone: return finish();
        case placed::how::broken: return pause();
    }
    written = done.zxid;
    report(c);
    const auto* back = std::get_if<unflush_way>(&plan->way);
    const bool is_to_move = back == nullptr || *back == unflush_way::bring_back;
    return is_to_move ? follow_move(c) : finish();
}

step one_domain::conflict(context& c, const std::string& why) {
    if (++conflicts <= conflicts_max) {
        return read();
    }
    warn(c, message::flush_unwritten, "its keys could not be written, it is left as it is: " + why);
    return finish();
}

void one_domain::report(context& c) const {
    if (const auto* back = std::get_if<unflush_way>(&plan->way)) {
        switch (*back) {
            case unflush_way::start: return info(c, "starting it, it was shut down as no other node could take it");
            case unflush_way::bring_back: return info(c, "bringing it back");
            case unflush_way::assign_only: return info(c, "it belongs to this node again; it is not running");
        }
    }
    switch (std::get<flush_way>(plan->way)) {
        case flush_way::move:
            return info(c, fmt::format("moving it to {}, which has the {}", *plan->write.node, plan->reason));
        case flush_way::return_home:
            return info(c, fmt::format("moving it back to {}, where it belongs ({})", *plan->write.node, plan->reason));
        case flush_way::shut_down:
            return warn(c, message::flush_nowhere,
                        "no node can take it, shutting it down; it is started again when this node is made ready");
    }
}

// ---- until it has come where it was placed --------------------------------------------------------------------------

step one_domain::follow_move(context& c) {
    where = at::moving;
    return {ask::other_state{lasting::leaving, written}, c.now + move_limit, "a virtual machine to move"};
}

step one_domain::has_moved(context& c) {
    const auto end = c.answer_as<state_end>();
    if (end == state_end::late) {
        warn(c, message::flush_late, "it is still on its way after 120 s, going on with the next one");
    }
    if (end != state_end::left) {
        return finish();
    }
    where = at::looking;
    return {ask::keys{id}, time_point::max(), "its keys"};
}

step one_domain::has_looked(context& c) {
    const auto& said = c.answer_as<keys_read>();
    if (said.what == keys_read::how::read) {
        found = said.found.keys;
    }
    if (of != job_kind::flush || !has_returned() || !target()) {
        return finish();
    }
    where = at::asking_why;
    return {ask::fault{*target()}, time_point::max(), "why it was not moved"};
}

step one_domain::resume(context& c, const known_targets& known) {
    switch (where) {
        case at::begin:
            name = pvc::to_text(id);
            c.acts.emplace_back(act::follow{id});
            return read();
        case at::reading: return has_read(c);
        case at::pausing:
        // What has not arrived in time is placed all the same, and a restart may have become a start that waits; if it
        // is gone, the next reading says so.
        case at::settling: return read();
        case at::locking: return std::holds_alternative<placed>(c.said) ? was_placed(c) : decide(c, known);
        case at::choosing:
        case at::choosing_last: return std::holds_alternative<placed>(c.said) ? was_placed(c) : has_chosen(c, known);
        case at::writing: return was_placed(c);
        case at::moving: return has_moved(c);
        case at::looking: return has_looked(c);
        case at::asking_why: fault = c.answer_as<move_fault>(); return finish();
        case at::over: break;
    }
    return {};
}

}  // namespace pvc::policy::drain
