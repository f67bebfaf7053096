// The fence of a dead node: its power (node-lifecycle.md 10.3; README rulings 31, 39, 40, 76).
#include "pvcnoded/policy/fencing/attempt.hpp"

#include "pvcnoded/base/planted.hpp"

#include "attempt_context.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace pvc::policy {

fence_step fence_attempt::begin_sequence(context& c) {
    offs = 0;
    is_off_accepted = false;
    off = {};
    moved_at.reset();
    const bool has_heard_on = heard_on_at && c.now - *heard_on_at <= fence_limits::fresh;
    if (c.seen.has_board_said_on || has_heard_on) {
        off.heard(board_power::on, c.now);
    }
    limit = c.now + fence_limits::sequence;
    return read_for(c, at::powering_off);
}

// It waited for its turn: what its board said before the mark may not be so any more, and it would have no throws.
fence_step fence_attempt::looked_again(context& c, const fence_said::board& said) {
    c.note(fence_entry::command{board_command::status, said.is_begun, said.status, said.output, said.errors});
    const auto heard = read_power(said.is_begun ? said.status : std::nullopt, said.output, said.errors);
    if (heard.power == board_power::off) {
        told_off_at = c.now;
        return begin_sequence(c);
    }
    wants_turn = false;
    return have_throws(c);
}

fence_step fence_attempt::have_throws(context& c) {
    is_unseen_off = true;
    c.say(fence_news::not_seen_off);
    is_off_accepted = false;  // of a sequence that is over: a node that is back by now passes
    return begin_throws(c);
}

fence_step fence_attempt::power_off(context& c, const fence_said::read& said) {
    const bool is_first = offs == 0;
    if (is_first && is_coordinator && !said.majority_stays && !is_planted(defect::fence_majority_ignored)) {
        return finish(c, fence_end::held_back, "no majority of coordinators in run would be left without it");
    }
    return ask(fence_ask::power{board_command::off, said.sent}, at::powering_off,
               std::min(c.now + fence_limits::command, limit), "its board to switch it off");
}

fence_step fence_attempt::powered_off(context& c, const fence_said::board& said) {
    c.note(fence_entry::command{board_command::off, said.is_begun, said.status, said.output, said.errors});
    if (said.status != 0 && is_unanswered(c, said)) {
        fall_silent();
    }
    if (!said.is_begun && !said.is_no_board) {
        // Too late after the read, or no process could be started: nothing went to the board.
        return c.now < limit ? wait(at::pausing_off, c.now + fence_limits::pause, "another attempt to switch it off")
                             : fail(c);
    }
    is_off_sent = is_off_sent || said.is_begun;
    const bool is_accepted = said.status == 0;
    is_off_accepted = is_off_accepted || is_accepted;
    is_brief = is_brief && !is_accepted;
    off.told_off(is_accepted);
    if (is_accepted && is_planted(defect::fence_status_trusted)) {
        return prove(c, fence_proof::power, "exit status 0");
    }
    if (!is_accepted && ++offs < fence_limits::offs && c.now < limit) {
        return wait(at::pausing_off, c.now + fence_limits::pause, "another attempt to switch it off");
    }
    return begin_looks(c);
}

fence_step fence_attempt::begin_looks(context& c) {
    if (looks_first && !is_off_sent) {
        off = {};
        limit = c.now + fence_limits::sequence;
    }
    looks = 0;
    soft_until = c.now + fence_limits::soft_off;
    const bool is_of_76 = origin == fence_origin::seen_off && !is_unseen_off;
    look_until = is_of_76 ? c.now + fence_limits::seen_off_again : limit;
    return read_for(c, at::looking);
}

fence_step fence_attempt::looked(context& c, const fence_said::board& said) {
    c.note(fence_entry::command{board_command::status, said.is_begun, said.status, said.output, said.errors});
    const auto heard = read_power(said.is_begun ? said.status : std::nullopt, said.output, said.errors);
    // One that hangs, and so takes an order that it does not carry out, boots next.
    const bool is_told_long_ago = c.now - (soft_until - fence_limits::soft_off) > off_watch::apart;
    if (heard.power == board_power::on && is_told_long_ago) {
        off.not_obeyed();
    }
    off.heard(heard.power, c.now);
    const bool is_one_enough = heard.power == board_power::off && is_planted(defect::fence_one_look);
    const bool is_off = off.is_off() || is_one_enough;
    const bool is_still = !moved_at || c.now - *moved_at >= 2 * rules.keepalive;
    if (heard.power == board_power::unknown && is_unanswered(c, said)) {
        fall_silent();
    } else if (heard.power != board_power::unknown && !wants_turn && !moved_at) {
        return heard_again(c);
    }
    if (is_off && is_still && !wants_turn) {
        return take_turn(c, at::looking);
    }
    if (is_off && is_still) {
        c.say(fence_news::seen_off);
        return prove(c, fence_proof::power,
                     fmt::format("its board says that it is off{}", is_off_accepted ? ", after an accepted off" : ""));
    }
    if (looks_first && !is_off_sent && heard.power != board_power::off) {
        looks_first = false;
        return begin_sequence(c);
    }
    if (is_brief && heard.power == board_power::unknown && (said.is_begun || said.is_no_board)) {
        return fail(c);  // three tries and one look
    }
    const bool is_going_off = heard.power == board_power::on && is_off_accepted && c.now < soft_until;
    if (heard.power != board_power::off && !is_going_off) {
        ++looks;
    }
    if (looks >= fence_limits::looks || c.now >= look_until || c.now >= limit) {
        return fail(c);
    }
    return wait(at::pausing_look, c.now + fence_limits::pause, "another look at its power");
}

// A refusal is an answer.
bool fence_attempt::is_unanswered(const context& c, const fence_said::board& said) {
    return (said.is_begun && !said.status) || c.seen.is_board_unheard;
}

// Others have the turn meanwhile (39). A board that took the `off` is looked at to the end all the same: some are
// silent while they carry it out. A node that came back since keeps the turn: it is to be seen off, and not ordered off
// again.
void fence_attempt::fall_silent() {
    if (moved_at) {
        return;
    }
    is_brief = !is_off_accepted;
    wants_turn = false;
}

// It is no silent board: from the first `off` on, with the turn.
fence_step fence_attempt::heard_again(context& c) {
    has_board_answered = true;
    if (begun_again >= fence_limits::begun_again) {
        return fail(c);
    }
    ++begun_again;
    return take_turn(c, at::powering_off);
}

// It was not seen off.
fence_step fence_attempt::fail(context& c) {
    wants_turn = false;
    is_brief = false;
    if (moved_at) {
        return finish(c, fence_end::passed, "it is back, and was not seen off after that");
    }
    if (origin == fence_origin::seen_off && !is_unseen_off && !is_planted(defect::fence_throws_left_out)) {
        return have_throws(c);
    }
    is_failed = true;
    c.say(fence_news::failed);
    return wait(at::settling, c.now + rules.keepalive, "the end of a failed fence");
}

}  // namespace pvc::policy
