// The fence of a dead node: how it is resumed, its waits, and what each guarded read is judged to be.
#include "pvcnoded/policy/fencing/attempt.hpp"

#include "pvcnoded/base/planted.hpp"

#include "attempt_context.hpp"

#include <algorithm>

namespace pvc::policy {

using model::daemon_state;

fence_step fence_attempt::ask(fence_ask::any what, at which, time_point until, std::string_view reason) {
    where = which;
    pending = {std::move(what), ++asked, until, reason};
    return pending;
}

fence_step fence_attempt::wait(at which, time_point until, std::string_view reason) {
    return ask(fence_ask::change{}, which, until, reason);
}

fence_step fence_attempt::read_for(context& c, at what) {
    after = what;
    const bool may_switch_off = what == at::powering_off && is_coordinator;
    return ask(fence_ask::guarded_read{.counts_coordinators = may_switch_off}, at::reading, c.now + fence_limits::read,
               "the keys of the dead node");
}

fence_step fence_attempt::finish(context& c, fence_end how, std::string words) {
    end = how;
    where = at::over;
    wants_lock = wants_turn = false;
    switch (how) {
        case fence_end::passed:
            if (was_under_way()) {
                c.say(fence_news::passed, words);
            }
            break;
        case fence_end::abandoned:
        case fence_end::gone:
        case fence_end::handed_on: c.say(fence_news::abandoned, words); break;
        case fence_end::held_back: c.say(fence_news::held_back, words); break;
        case fence_end::unrecordable: c.say(fence_news::unrecordable, words); break;
        case fence_end::node_back: c.say(fence_news::node_back, words); break;
        case fence_end::failed:
        case fence_end::done: break;  // said when it was known
    }
    if (is_begun || is_opened) {
        c.note(fence_entry::outcome{how, std::move(words), keeps_off});
    }
    pending = {};
    return pending;
}

// Who has marked nobody has nothing to take back: another coordinator may have fenced it meanwhile.
bool fence_attempt::was_under_way() const {
    switch (origin) {
        case fence_origin::silence:
        case fence_origin::seen_off: return is_marked;
        case fence_origin::orphan: return is_begun;
        default: return true;
    }
}

// ---- resumption -----------------------------------------------------------------------------------------------------

fence_step fence_attempt::resume(const fence_event& e, std::vector<fence_act::any>& acts) {
    context c{e.seen, e.said, e.now, acts};
    if (where == at::over) {
        return {};
    }
    if (where == at::begin) {
        return begin(c);
    }
    if (!e.seen.session_lives || e.seen.must_end) {
        return finish(c, fence_end::abandoned,
                      e.seen.must_end ? "this daemon ends" : "the session with ZooKeeper is lost");
    }
    if (e.seen.is_word_withdrawn) {
        if (where == at::locking) {
            return end_unseen();
        }
        return finish(c, fence_end::abandoned, "the word that it is off does not count any more");
    }
    const bool needs_no_lock = where == at::locking || where == at::locking_again || where == at::leaving || is_let_go;
    if (!needs_no_lock && !e.seen.has_lock && !is_planted(defect::fence_without_lock)) {
        return finish(c, fence_end::abandoned, "the fence lock is lost");
    }
    const bool is_waiting = std::holds_alternative<fence_ask::change>(pending.what);
    if (is_waiting) {
        return waited(c);
    }
    if (std::holds_alternative<fence_said::woken>(e.said)) {
        return e.now < pending.until ? pending : out_of_time(c);
    }
    return e.number == pending.number ? answered(c) : pending;
}

fence_step fence_attempt::begin(context& c) {
    wants_lock = true;
    has_word = origin == fence_origin::operators_word;
    is_fenced = origin == fence_origin::recovering;
    looks_first = origin == fence_origin::interrupted;
    if (origin == fence_origin::proven) {
        proof = stored;
        has_word = stored == fence_proof::operators_word;
        is_proof_recorded = true;
    }
    if (origin == fence_origin::recovering && owes_power_on) {
        wants_lock = false;
        is_let_go = true;
        return read_for(c, at::begin);
    }
    if (c.seen.has_lock) {
        return read_for(c, at::begin);
    }
    return wait(at::locking, c.now + fence_lock_limit(rules.keepalive), "/config/fence_lock");
}

fence_step fence_attempt::answered(context& c) {
    switch (where) {
        case at::reading: return judge(c, std::get<fence_said::read>(c.said));
        case at::beginning: return record_begun(c, std::get<fence_said::synced>(c.said).is);
        case at::marking: return marked(c, std::get<fence_said::written>(c.said));
        case at::hearing: return heard_in_throws(c, std::get<fence_said::board>(c.said));
        case at::looking_again: return looked_again(c, std::get<fence_said::board>(c.said));
        case at::opening: return opened(c, std::get<fence_said::synced>(c.said).is);
        case at::powering_off: return powered_off(c, std::get<fence_said::board>(c.said));
        case at::looking: return looked(c, std::get<fence_said::board>(c.said));
        case at::recording_proof: return proof_recorded(c, std::get<fence_said::synced>(c.said).is);
        case at::writing_fenced: return fenced_written(c, std::get<fence_said::written>(c.said));
        case at::writing_role: return role_written(c, std::get<fence_said::written>(c.said));
        case at::writing_flush: return flush_written(c, std::get<fence_said::written>(c.said));
        case at::recovering: return recovered(c, std::get<fence_said::recovered>(c.said));
        case at::writing_flushed: return flushed_written(c, std::get<fence_said::written>(c.said));
        case at::powering_on: return powered_on(c, std::get<fence_said::board>(c.said));
        case at::looking_on: return looked_on(c, std::get<fence_said::board>(c.said));
        default: return pending;
    }
}

// The shell gave no answer by the end of the question: nothing is known of it.
fence_step fence_attempt::out_of_time(context& c) {
    fence_said::any said = fence_said::synced{};
    if (std::holds_alternative<fence_ask::guarded_read>(pending.what)) {
        said = fence_said::read{};
    } else if (std::holds_alternative<fence_ask::write>(pending.what)) {
        said = fence_said::written{};
    } else if (std::holds_alternative<fence_ask::power>(pending.what)) {
        said = fence_said::board{.is_begun = true, .status = {}, .output = {}, .errors = {}};
    } else if (std::holds_alternative<fence_ask::recover>(pending.what)) {
        said = fence_said::recovered{};
    }
    context late{c.seen, said, c.now, c.acts};
    return answered(late);
}

// An operator's word is a proof for a node that is not proven to be off; it waits for what was asked last, and no more.
fence_step fence_attempt::heed_word(context& c) {
    has_word = true;
    is_failed = is_brief = false;
    moved_at.reset();
    proof_words = "an operator's word";
    return take_turn(c, at::recording_proof);
}

fence_step fence_attempt::waited(context& c) {
    const bool may_need_word = !has_word && !is_proven() && !is_fenced && where != at::locking;
    if (c.seen.is_confirmed && may_need_word) {
        return heed_word(c);
    }
    if (is_let_go && c.seen.is_confirmed) {
        return heed_late_word(c);
    }
    if (where == at::awaiting_turn) {
        return c.seen.has_turn ? with_turn(c) : pending;
    }
    if ((where == at::locking || where == at::locking_again) && c.seen.has_lock) {
        return read_for(c, where == at::locking ? at::begin : at::leaving);
    }
    if (where == at::awaiting_history && c.seen.fences_in_an_hour) {
        return end_recovery(c);
    }
    if (c.now < pending.until) {
        return pending;
    }
    switch (where) {
        case at::locking:
            if (has_word) {  // whoever has it sees in the line that somebody waits, before he switches it on
                return wait(at::locking, c.now + fence_lock_limit(rules.keepalive), "/config/fence_lock");
            }
            return end_unseen();  // another one has it
        case at::locking_again: return finish(c, fence_end::handed_on, "another coordinator has the fence lock");
        case at::leaving:
            wants_lock = true;
            if (c.seen.has_lock) {
                return read_for(c, at::leaving);
            }
            return wait(at::locking_again, c.now + fence_lock_limit(rules.keepalive), "/config/fence_lock");
        case at::throwing: return read_for(c, at::throwing);
        case at::pausing_off: return read_for(c, at::powering_off);
        case at::pausing_look: return read_for(c, at::looking);
        case at::settling: return read_for(c, at::writing_role);
        case at::awaiting_lease: return read_for(c, at::awaiting_lease);
        case at::pausing_on: return read_for(c, at::looking_on);
        case at::awaiting_history:
            return keep_off(c, "how often it was fenced is not known, as the records cannot be read");
        case at::reading_again:
        case at::pausing_write: return read_for(c, after);
        default: return pending;
    }
}

// Nothing worth a line was done.
fence_step fence_attempt::end_unseen() {
    where = at::over;
    wants_lock = false;
    pending = {};
    return pending;
}

// ---- what a read shows ----------------------------------------------------------------------------------------------

bool fence_said::may_have_been_on(const maintenance_key& then, const maintenance_key& now) {
    if (now.created == then.created) {
        return now.version > then.version + 1;
    }
    return then.created != 0 || now.version > 0;  // a new key says `False` with its first write
}

bool fence_attempt::stands(const victim_seen& seen) const {
    return seen.state_id == mark_id && seen.heartbeat_id == heartbeat_id;
}

fence_step fence_attempt::judge(context& c, const fence_said::read& said) {
    if (!said.victim) {
        if (!unread_until) {
            unread_until = c.now + fence_limits::unread;
        }
        if (c.now >= *unread_until) {
            return finish(c, fence_end::abandoned, "ZooKeeper does not answer");
        }
        return wait(at::reading_again, c.now + fence_limits::pause, "another attempt to read its keys");
    }
    unread_until.reset();
    if (said.victim->is_gone) {
        return finish(c, fence_end::gone, "its keys are gone");
    }
    if (!said.has_lock && !is_let_go && !is_planted(defect::fence_without_lock)) {
        return finish(c, fence_end::abandoned, "the fence lock is lost");
    }
    // Maintenance ends a fence until its first `off`; what was proven before is carried to its end.
    const bool is_under_way = is_off_sent || is_proven() || is_fenced || has_word || origin == fence_origin::recovering;
    if (said.in_maintenance && !is_under_way) {
        return finish(c, fence_end::abandoned, "maintenance mode is on");
    }
    // Who set it between two throws wanted to save a node that hangs, also if he has taken it back since.
    if (!maintenance) {
        maintenance = said.maintenance;
    }
    if (!is_under_way && fence_said::may_have_been_on(*maintenance, said.maintenance)) {
        return finish(c, fence_end::abandoned, "maintenance mode was on for a while, or was written to be off again");
    }
    return stands(*said.victim) ? go_on(c, said) : judge_moved(c, *said.victim);
}

fence_step fence_attempt::judge_moved(context& c, const victim_seen& seen) {
    const bool is_beating = seen.heartbeat_id != heartbeat_id;
    const bool is_of_others = seen.state == daemon_state::dead || seen.state == daemon_state::fenced;
    if (after == at::begin && origin == fence_origin::operators_word && !is_beating && is_of_others) {
        mark_id = seen.state_id;  // written while it stood in line: the word is about the node as it was
        return take_turn(c, at::recording_proof);
    }
    if (after == at::marking && is_mark_open && seen.state == daemon_state::dead && !is_beating) {
        mark_id = seen.state_id;  // it was written, though nobody said so
        return begin_throws(c);
    }
    if (after == at::writing_fenced && seen.state == daemon_state::fenced && seen.proof && seen.proof->is_valid &&
        seen.proof->record == record) {
        return fenced_written(c, {fence_said::written::end::written, seen.state_id});  // likewise
    }
    if (is_on_sent && (after == at::looking_on || after == at::powering_on)) {
        c.say(fence_news::powered_on);
        return conclude(c);  // it has booted since
    }
    if (is_let_go && seen.state == daemon_state::fenced && !is_beating) {
        const bool is_word = seen.proof && seen.proof->is_valid && seen.proof->which == fence_proof::operators_word;
        return is_word ? heed_late_word(c)
                       : finish(c, fence_end::abandoned, "another coordinator has written its state since");
    }
    if (is_fenced || (is_failed && is_proven())) {
        return finish(c, fence_end::node_back, "it has written its own state or heartbeat");
    }
    if (seen.state == daemon_state::fenced && !is_beating) {
        return finish(c, fence_end::abandoned,
                      "its state is fenced by now: another coordinator, or somebody by hand, has written that");
    }
    const bool may_have_died = is_off_accepted && !is_failed && !has_word;
    if (!may_have_died) {
        return finish(c, fence_end::passed, "it is back");
    }
    // It came back while the `off` was under way, which may have hit it after that.
    heartbeat_id = seen.heartbeat_id;
    mark_id = seen.state_id;
    moved_at = c.now;
    off.beaten();
    proof = fence_proof::none;
    is_proof_recorded = false;
    return wait(at::pausing_look, c.now + fence_limits::pause, "another look at its power");
}

// It was queued for the lock while another fencer, who had it, came to the end of the recovery.
fence_step fence_attempt::end_of_others(context& c) {
    return finish(c, fence_end::abandoned, "another coordinator has recovered its machines");
}

fence_step fence_attempt::go_on(context& c, const fence_said::read& said) {
    const auto& seen = *said.victim;
    switch (after) {
        case at::begin:
            switch (origin) {
                case fence_origin::silence:
                case fence_origin::seen_off:
                case fence_origin::orphan: return begin_record(c);
                case fence_origin::resumed: return take_turn(c, at::powering_off);
                case fence_origin::interrupted:
                    return seen.is_recovering ? take_turn(c, at::looking) : end_of_others(c);
                case fence_origin::proven: return take_turn(c, at::writing_fenced);
                case fence_origin::recovering:
                    if (!seen.is_recovering && owes_power_on && seen.state == daemon_state::fenced) {
                        is_fenced = true;
                        after = at::powering_on;
                        return with_turn(c);
                    }
                    if (!seen.is_recovering) {
                        return end_of_others(c);
                    }
                    if (is_let_go) {
                        return finish(c, fence_end::abandoned, "its machines are to be recovered first");
                    }
                    // Of a node that was not seen off: on its lease (ruling 37), and it stays `dead`.
                    is_fenced = seen.state == daemon_state::fenced;
                    is_failed = !is_fenced;
                    stored = seen.proof ? seen.proof->which : fence_proof::power;
                    return take_turn(c, at::recovering);
                case fence_origin::operators_word: return take_turn(c, at::recording_proof);
            }
            break;
        case at::marking: return mark_read(c, seen);
        case at::throwing:
            if (++throws < fence_limits::throws) {
                limit += rules.keepalive;
                if (throws == fence_limits::throws - 1 && !c.seen.is_board_silent) {
                    return ask(fence_ask::power{board_command::status, said.sent}, at::hearing, limit,
                               "what its board says before the last throw");
                }
                return wait(at::throwing, limit, "a sign of life");
            }
            return take_turn(c, at::powering_off);
        case at::powering_off: return power_off(c, said);
        case at::looking:
            return ask(fence_ask::power{board_command::status, said.sent}, at::looking,
                       std::min(c.now + fence_limits::command, limit), "what its board says of its power");
        case at::looking_again:
            return ask(fence_ask::power{board_command::status, said.sent}, at::looking_again,
                       c.now + fence_limits::command, "whether its board still says that it has no power");
        case at::writing_fenced: return fenced_read(c, seen);
        case at::writing_role: return write_role(c);
        case at::judging_lease: return judge_lease(c, seen);
        case at::awaiting_lease:
            if (seen.lease && seen.lease->is_of_beat) {
                return take_turn(c, at::recording_proof);
            }
            return take_turn(c, at::writing_flush);
        case at::writing_flush:
            return ask(fence_ask::write{.what = fence_write::flush, .proof = proof, .left = {}}, at::writing_flush,
                       c.now + fence_limits::write, "that its machines are recovered to be written");
        case at::leaving:
            if (!seen.is_recovering) {
                return finish(c, fence_end::handed_on, "others have recovered its machines");
            }
            return write_flushed(c);
        case at::writing_flushed: return write_flushed(c);
        case at::powering_on:
            if (is_let_go && seen.is_recovering) {
                // That it is over could not be written: others may be at it, and it is switched on last (ruling 38).
                return finish(c, fence_end::abandoned, "its machines are to be recovered first");
            }
            return seen.is_worded ? heed_late_word(c) : power_on(c, said);
        case at::looking_on:
            return ask(fence_ask::power{board_command::status, said.sent}, at::looking_on,
                       c.now + fence_limits::command, "what its board says after the power-on");
        default: break;
    }
    return pending;
}

// ---- mark and throws ------------------------------------------------------------------------------------------------

// Who cannot write it does nothing that another one would have to wait for.
fence_step fence_attempt::begin_record(context& c) {
    return ask(fence_ask::record{fence_entry::begun{node, origin, heartbeat_id}}, at::beginning,
               c.now + fence_limits::record, "the record of this fence to be on the disk");
}

fence_step fence_attempt::record_begun(context& c, bool is_synced) {
    if (!is_synced) {
        return finish(c, fence_end::unrecordable, "the record of the fence could not be written");
    }
    is_begun = true;
    return origin == fence_origin::orphan ? begin_throws(c) : read_for(c, at::marking);
}

fence_step fence_attempt::mark_read(context& c, const victim_seen& seen) {
    const bool is_to_be_marked = seen.state == daemon_state::run || seen.state == daemon_state::init;
    if (!is_to_be_marked) {
        return finish(c, fence_end::passed, "it is not in a state in which nodes are fenced");
    }
    return ask(fence_ask::write{.what = fence_write::mark, .left = {}}, at::marking, c.now + fence_limits::mark,
               "that it is dead to be written");
}

fence_step fence_attempt::marked(context& c, const fence_said::written& said) {
    using enum fence_said::written::end;
    if (said.how == written) {
        mark_id = said.zxid;
        return begin_throws(c);
    }
    is_mark_open = said.how == unknown;
    return said.how == overtaken && ++tries >= fence_limits::writes
               ? finish(c, fence_end::abandoned, "its keys change again and again")
               : read_for(c, at::marking);
}

fence_step fence_attempt::begin_throws(context& c) {
    if (origin != fence_origin::orphan && !is_unseen_off) {
        is_marked = true;
        c.note(fence_entry::wrote{"dead", mark_id});
        c.say(fence_news::marked);
    }
    is_mark_open = false;
    tries = 0;
    if (origin == fence_origin::seen_off && !is_unseen_off) {
        return take_turn(c, at::powering_off);
    }
    throws = 0;
    limit = c.now + rules.keepalive;
    return wait(at::throwing, limit, "a sign of life");
}

fence_step fence_attempt::heard_in_throws(context& c, const fence_said::board& said) {
    c.note(fence_entry::command{board_command::status, said.is_begun, said.status, said.output, said.errors});
    if (read_power(said.is_begun ? said.status : std::nullopt, said.output, said.errors).power == board_power::on) {
        heard_on_at = c.now;
    }
    return wait(at::throwing, limit, "a sign of life");
}

// ---- turn and record ------------------------------------------------------------------------------------------------

fence_step fence_attempt::take_turn(context& c, at then) {
    after = then;
    const bool is_silent = c.seen.is_board_silent || c.seen.is_board_unheard;
    is_brief = then == at::powering_off && is_silent && !has_board_answered;
    if (is_brief) {
        return with_turn(c);
    }
    wants_turn = true;
    if (c.seen.has_turn) {
        return with_turn(c);
    }
    return wait(at::awaiting_turn, time_point::max(), "the recovery of another dead node");
}

fence_step fence_attempt::with_turn(context& c) {
    return is_opened || is_planted(defect::fence_record_late) ? opened(c, true) : open(c);
}

fence_step fence_attempt::open(context& c) {
    return ask(fence_ask::record{fence_entry::opened{node, origin, heartbeat_id, mark_id}}, at::opening,
               c.now + fence_limits::record, "the record of this fence to be on the disk");
}

fence_step fence_attempt::opened(context& c, bool is_synced) {
    if (!is_synced) {
        return finish(c, fence_end::unrecordable, "the record of the fence could not be written");
    }
    is_opened = true;
    switch (after) {
        case at::powering_off: {
            const bool is_old =
                c.now - told_off_at > fence_limits::at_once && !is_planted(defect::fence_throws_left_out);
            const bool is_of_76 = origin == fence_origin::seen_off && !is_unseen_off;
            return is_of_76 && is_old ? read_for(c, at::looking_again) : begin_sequence(c);
        }
        case at::looking: return begin_looks(c);
        case at::writing_fenced:
        case at::writing_flush: return read_for(c, after);
        case at::recovering: return prove(c, stored, proof_words);
        case at::powering_on: return end_recovery(c);
        case at::recording_proof:
            return has_word ? prove(c, fence_proof::operators_word, proof_words)
                            : prove(c, fence_proof::lease, "its self-reset is over, by its lease");
        default: return pending;
    }
}

}  // namespace pvc::policy
