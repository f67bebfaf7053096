// The fence of a dead node: its proof, and what follows from it (node-lifecycle.md 10.4, 10.8; README rulings 37, 38,
// 43, 45, 46).
#include "pvcnoded/policy/fencing/attempt.hpp"

#include "pvcnoded/base/planted.hpp"

#include "attempt_context.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace pvc::policy {

// ---- the proof ------------------------------------------------------------------------------------------------------

fence_step fence_attempt::prove(context& c, fence_proof which, std::string words) {
    proof = which;
    proven_at = c.now;
    fence_entry::proof entry{which, std::move(words), heartbeat_id, mark_id};
    if (is_planted(defect::fence_record_late)) {
        c.note(std::move(entry));
        return proof_recorded(c, true);
    }
    return ask(fence_ask::record{std::move(entry)}, at::recording_proof, c.now + fence_limits::record,
               "the proof to be on the disk");
}

fence_step fence_attempt::proof_recorded(context& c, bool is_synced) {
    if (!is_synced) {
        proof = fence_proof::none;
        return finish(c, fence_end::unrecordable,
                      "the proof that it is off could not be recorded: nothing is done on it");
    }
    is_proof_recorded = true;
    tries = 0;
    if (is_fenced || (origin == fence_origin::recovering && !has_word)) {
        return recover(c);  // somebody's, whose record is elsewhere (ruling 37)
    }
    return read_for(c, proof == fence_proof::lease ? at::writing_flush : at::writing_fenced);
}

fence_step fence_attempt::fenced_read(context& c, const victim_seen& /*seen*/) {
    if (moved_at && c.now - *moved_at < 2 * rules.keepalive) {
        return wait(at::pausing_look, c.now + fence_limits::pause, "its heartbeat to stand still");
    }
    return ask(fence_ask::write{.what = fence_write::fenced, .proof = proof, .recovers = rules.recovers, .left = {}},
               at::writing_fenced, c.now + fence_limits::write, "that it is fenced to be written");
}

fence_step fence_attempt::write_again(context& c, at what) {
    after = what;
    return wait(at::pausing_write, c.now + fence_limits::pause / 2, "another attempt to write");
}

fence_step fence_attempt::fenced_written(context& c, const fence_said::written& said) {
    if (said.how != fence_said::written::end::written) {
        return ++tries < fence_limits::writes
                   ? write_again(c, at::writing_fenced)
                   : finish(c, fence_end::abandoned, "that it is fenced could not be written");
    }
    tries = 0;
    is_fenced = true;
    mark_id = said.zxid;
    c.note(fence_entry::wrote{"fenced", said.zxid});
    c.say(fence_news::fenced);
    return is_coordinator ? read_for(c, at::writing_role) : after_role(c);
}

// ---- the role, also of one that was not seen off --------------------------------------------------------------------

fence_step fence_attempt::write_role(context& c) {
    if (!is_coordinator) {
        return after_role(c);
    }
    return ask(fence_ask::write{.what = fence_write::role, .left = {}}, at::writing_role, c.now + fence_limits::write,
               "its role to be given up for it");
}

fence_step fence_attempt::role_written(context& c, const fence_said::written& said) {
    if (said.how != fence_said::written::end::written && ++tries < fence_limits::writes) {
        return write_again(c, at::writing_role);
    }
    tries = 0;
    return after_role(c);
}

fence_step fence_attempt::after_role(context& c) {
    if (is_failed) {
        return rules.recovers_after_failure ? read_for(c, at::judging_lease) : end_recovery(c);
    }
    if (is_planted(defect::fence_on_first)) {
        return read_for(c, at::powering_on);
    }
    return rules.recovers ? recover(c) : read_for(c, at::writing_flushed);
}

// ---- after a failed fence -------------------------------------------------------------------------------------------

fence_step fence_attempt::judge_lease(context& c, const victim_seen& seen) {
    if (!seen.lease || !seen.lease->is_of_beat) {
        return take_turn(c, at::writing_flush);  // each machine for itself, by storage
    }
    const auto over = silent_since + seen.lease->time + rules.keepalive;
    return wait(at::awaiting_lease, over, "the end of its self-reset");
}

fence_step fence_attempt::flush_written(context& c, const fence_said::written& said) {
    if (said.how != fence_said::written::end::written) {
        return ++tries < fence_limits::writes ? write_again(c, at::writing_flush)
                                              : finish(c, fence_end::abandoned, "its recovery could not be written");
    }
    tries = 0;
    if (!is_proven()) {
        proof = fence_proof::storage;
    }
    c.note(fence_entry::wrote{"fence-flush", said.zxid});
    return recover(c);
}

// ---- the recovery ---------------------------------------------------------------------------------------------------

fence_step fence_attempt::recover(context& /*c*/) {
    return ask(fence_ask::recover{proof, mark_id, heartbeat_id}, at::recovering, time_point::max(),
               "the recovery of its machines");
}

fence_step fence_attempt::recovered(context& c, const fence_said::recovered& said) {
    using end_of = fence_said::recovered::end;
    switch (said.how) {
        case end_of::node_back:
            return finish(c, fence_end::node_back, "it came back while its machines were recovered");
        case end_of::abandoned: return finish(c, fence_end::abandoned, "its recovery was not finished here");
        case end_of::finished: break;
    }
    left = said.left;
    if (proof == fence_proof::storage && !left.empty()) {
        c.say(fence_news::no_proof, fmt::format("{} of its machines", left.size()));
    }
    if (said.needs_ceph && !left.empty() && is_fenced) {
        c.say(fence_news::needs_ceph, fmt::format("{} of its machines", left.size()));
        wants_lock = wants_turn = false;
        return wait(at::leaving, c.now + fence_limits::for_others, "a coordinator that can recover its machines");
    }
    return read_for(c, at::writing_flushed);
}

fence_step fence_attempt::write_flushed(context& c) {
    auto those = is_planted(defect::fence_forgets_left) ? std::vector<uuid>() : left;
    return ask(fence_ask::write{.what = fence_write::flushed, .resets_figures = is_fenced, .left = std::move(those)},
               at::writing_flushed, c.now + fence_limits::write, "the end of its recovery to be written");
}

fence_step fence_attempt::flushed_written(context& c, const fence_said::written& said) {
    if (said.how != fence_said::written::end::written && ++tries < fence_limits::writes) {
        return write_again(c, at::writing_flushed);
    }
    tries = 0;
    return end_recovery(c);
}

// ---- the power-on ---------------------------------------------------------------------------------------------------

fence_step fence_attempt::end_recovery(context& c) {
    wants_turn = false;
    if (is_fenced) {
        wants_lock = false;
        is_let_go = true;
    }
    if (is_fenced && c.seen.fences_in_an_hour.value_or(0) >= fence_limits::fences_in_an_hour) {
        return keep_off(c, "it was fenced for the third time within an hour");
    }
    if (has_word || (is_fenced && c.seen.is_confirmed) || power_on_until == time_point::min()) {
        return leave_off(c, std::string(word_came));
    }
    if (c.now >= power_on_until) {
        return keep_off(c, "it was seen off more than 10 min ago, and somebody may be at work on it by now");
    }
    if (is_fenced && !c.seen.fences_in_an_hour) {
        return wait(at::awaiting_history, c.now + fence_limits::history, "the records of its fences");
    }
    limit = std::min(std::max(c.now + fence_limits::power_on, proven_at + fence_limits::after_proof), power_on_until);
    if (is_fenced && c.seen.is_lock_wanted) {
        // Who has an operator's word writes it as soon as it has the lock, and the read before the `on` shows it.
        after = at::powering_on;
        return wait(at::pausing_write, c.now + fence_limits::for_word, "who stands in line for the fence lock");
    }
    return read_for(c, at::powering_on);
}

// That is worth a line each hour.
fence_step fence_attempt::keep_off(context& c, std::string why) {
    c.say(fence_news::kept_off, why);
    return leave_off(c, std::move(why));
}

fence_step fence_attempt::leave_off(context& c, std::string why) {
    keeps_off = true;
    return finish(c, is_failed ? fence_end::failed : fence_end::done, std::move(why));
}

// One that stands before the power-on, or in the midst of it: what went to the board is not called back.
fence_step fence_attempt::heed_late_word(context& c) {
    return leave_off(c, std::string(is_on_sent ? word_came_late : word_came));
}

fence_step fence_attempt::power_on(context& c, const fence_said::read& said) {
    return ask(fence_ask::power{board_command::on, said.sent}, at::powering_on, c.now + fence_limits::command,
               "its board to switch it on");
}

fence_step fence_attempt::powered_on(context& c, const fence_said::board& said) {
    c.note(fence_entry::command{board_command::on, said.is_begun, said.status, said.output, said.errors});
    if (said.is_no_board) {
        return conclude_off(c);
    }
    if (!said.is_begun && ++tries < fence_limits::offs) {
        after = at::powering_on;
        return wait(at::pausing_write, c.now + fence_limits::pause, "another attempt to switch it on");
    }
    is_on_sent = is_on_sent || said.is_begun;
    looks = 0;
    if (is_failed) {
        limit = c.now;  // it is told once (AC58)
    }
    if (is_planted(defect::fence_on_first) && rules.recovers && wants_turn) {
        return recover(c);
    }
    return wait(at::pausing_on, c.now + fence_limits::power_up, "what the power-on comes to");
}

// Boards lose orders, and carry them out late: it is given again until it is seen on.
fence_step fence_attempt::looked_on(context& c, const fence_said::board& said) {
    c.note(fence_entry::command{board_command::status, said.is_begun, said.status, said.output, said.errors});
    const auto heard = read_power(said.is_begun ? said.status : std::nullopt, said.output, said.errors);
    if (heard.power == board_power::on) {
        c.say(fence_news::powered_on);
        return conclude(c);
    }
    if (++looks < fence_limits::looks_on && c.now < limit) {
        return wait(at::pausing_on, c.now + fence_limits::power_up, "what the power-on comes to");
    }
    tries = 0;
    return c.now < limit ? read_for(c, at::powering_on) : conclude_off(c);
}

fence_step fence_attempt::conclude_off(context& c) {
    c.say(fence_news::not_powered_on);
    return conclude(c);
}

fence_step fence_attempt::conclude(context& c) {
    return finish(c, is_failed ? fence_end::failed : fence_end::done, {});
}

}  // namespace pvc::policy
