// The fence of one dead node, from its mark to the power-on (node-lifecycle.md 10.2 to 10.4, 10.8; README rulings 31,
// 37 to 41, 43, 45, 46, 76): a value that is resumed with what is seen and the answer to its last question. How each
// begins (`origin`), and what it must be given, is said at its members; what the shell must guarantee, in
// fence_requests.hpp.
//
// What holds at each step:
// - Nothing is marked, and no throw is waited for, before there is a record of the attempt on the disk; no order
//   is sent to a board before it has the mark, synced; no consequence of a proof is written before the proof is.
//   Whoever cannot write his record leaves the lock to others for 5 min.
// - Each `off`, `on` and write follows a guarded read that shows the own lock (but see below), and the node as it was:
//   `dead` by the transaction D0, its heartbeat by K0; after `fenced` that transaction, F0, in place of D0. Until an
//   `off` was accepted, a node that is another is back: nothing more is done to it. After that it may have died in the
//   middle of a heartbeat: off has to be seen anew, twice, with the heartbeat standing still for two intervals.
// - A lost lock or session, and the end of the daemon, end it at once, without an outcome: others adopt what is left.
// - From the first `off` to the end of the recovery it has the turn (order.hpp), but for three tries and one look at a
//   board that was silent when last asked, also in the middle; whoever answers after all is ordered off anew, with the
//   turn. It does not have it while it waits for a lease or for others.
// - Of a node that is fenced and whose recovery is over the power-on is left, which takes minutes where a board is
//   silent. Nobody else sends anything to the board of such a node, and F0 tells when that is no longer so: the
//   power-on needs neither turn nor fence lock, and both are given up before it.
//
// Time for 10.2: the sixth throw ends six intervals after the mark. A fence that was begun by ruling 76 and does not
// see its node off within 30 s has its throws then; likewise one that waited for its turn so long that what the board
// said is old, and does not hear it again. One interval before the last throw the board is asked for its power: a board
// that says `on` then, and takes the `off`, need be seen off once only (ruling 40).
#pragma once

#include "pvcnoded/policy/fencing/fence_requests.hpp"
#include "pvcnoded/policy/fencing/power_answer.hpp"

namespace pvc::policy {

// What a fence uses of the configuration.
struct fence_rules {
    duration keepalive{};                 // KI
    bool recovers = true;                 // successful_fence: migrate
    bool recovers_after_failure = false;  // failed_fence: migrate, and suicide_intervals > 0
    friend bool operator==(const fence_rules&, const fence_rules&) = default;
};

struct fence_limits {
    static constexpr duration read = std::chrono::seconds(5);
    static constexpr duration unread = std::chrono::seconds(60);  // nobody could be asked for so long
    static constexpr duration mark = std::chrono::seconds(5);
    static constexpr duration write = std::chrono::seconds(5);
    static constexpr duration record = std::chrono::seconds(5);      // ruling 46
    static constexpr duration command = std::chrono::seconds(30);    // ruling 15
    static constexpr duration sequence = std::chrono::seconds(180);  // likewise, from the first `off`
    static constexpr duration pause = std::chrono::seconds(1);
    static constexpr duration soft_off = std::chrono::seconds(60);        // `on` after an accepted `off` (40)
    static constexpr duration seen_off_again = std::chrono::seconds(30);  // ruling 76
    static constexpr duration for_others = std::chrono::seconds(180);     // ruling 38
    static constexpr duration power_up = std::chrono::seconds(2);
    // Before the power-on, while others stand in line for the fence lock: one of them may have an operator's word.
    static constexpr duration for_word = std::chrono::seconds(5);
    // From the first `on` of a node that is fenced, and until so long after the proof (46).
    static constexpr duration power_on = std::chrono::seconds(180);
    static constexpr duration after_proof = std::chrono::minutes(10);
    static constexpr duration fresh = std::chrono::seconds(10);   // so long counts what a board said
    static constexpr duration at_once = std::chrono::seconds(2);  // likewise, in place of the throws (76)
    static constexpr int looks_on = 5;                            // after an `on`, before it is given again
    static constexpr int throws = 6;
    static constexpr int offs = 3;
    static constexpr int looks = 10;  // that are answered neither `off` nor, after an accepted `off`, `on`
    static constexpr int writes = 10;
    static constexpr std::uint8_t begun_again = 2;                 // sequences, as a board that was silent has answered
    static constexpr std::uint8_t fences_in_an_hour = 2;           // before this one: it is the third (45)
    static constexpr duration history = std::chrono::seconds(60);  // for the records that tell
};

struct fence_attempt {
    enum class at : std::uint8_t {
        begin,
        locking,
        reading,        // `after` says for what
        reading_again,  // nobody could be asked
        beginning,      // the record
        marking,
        throwing,
        hearing,        // its board, before the last throw
        awaiting_turn,  // `after` says for what
        opening,        // the record, with the mark
        looking_again,  // whether it is still without power (76)
        powering_off,
        pausing_off,
        looking,
        pausing_look,
        recording_proof,
        writing_fenced,
        pausing_write,  // `after` says of what
        settling,       // after a failure
        writing_role,
        judging_lease,
        awaiting_lease,
        writing_flush,
        recovering,
        leaving,  // to others what needs Ceph
        locking_again,
        writing_flushed,
        awaiting_history,
        powering_on,
        pausing_on,
        looking_on,
        over,
    };

    // Given.
    std::string node{};
    std::string record{};  // its name, new for each attempt
    fence_rules rules{};
    fence_origin origin = fence_origin::silence;
    bool is_coordinator = false;  // the dead node, by the configured list
    // K0 and D0 as they were judged. `silence`, `seen_off`: D0 of the state that is to be marked. `proven`, `resumed`:
    // of the record. `recovering`, `interrupted`: of `fenced`, or of `dead`
    // where the proof is a lease.
    std::int64_t heartbeat_id = 0;
    std::int64_t mark_id = 0;
    time_point silent_since{};  // the observer last saw its heartbeat move
    time_point told_off_at{};   // `seen_off`: its board said so last
    // `recovering`: 10 min after its proof (46); `min()` with an operator's word.
    time_point power_on_until = time_point::max();
    // `recovering`: the recovery was ended by this fencer, who came no further: the power-on is left.
    bool owes_power_on = false;
    std::string proof_words{};                // `proven`, `recovering`, `operators_word`: what the proof is
    fence_proof stored = fence_proof::power;  // `proven`: that of the record; `recovering`: found in the store

    // What it remembers.
    at where = at::begin;
    at after = at::begin;
    fence_proof proof = fence_proof::none;
    bool wants_lock = false;
    bool wants_turn = false;
    bool is_begun = false;   // the record
    bool is_marked = false;  // by this attempt
    bool is_opened = false;  // likewise, with the mark
    bool is_proof_recorded = false;
    bool is_fenced = false;      // written: mark_id is F0
    bool is_failed = false;      // not seen off
    bool is_mark_open = false;   // whether the mark was written is not known
    bool is_unseen_off = false;  // ruling 76 did not see it off: the throws followed
    bool is_brief = false;       // a silent board, which takes no order: three tries and one look
    bool has_board_answered = false;
    std::uint8_t begun_again = 0;  // its sequence, for that
    bool looks_first = false;      // before the first `off`
    bool has_word = false;         // an operator's
    bool is_let_go = false;        // the fence lock: nothing is left but the power-on
    bool is_off_accepted = false;
    bool is_off_sent = false;
    bool is_on_sent = false;
    bool keeps_off = false;  // 45, 46, or an operator's word
    std::uint8_t throws = 0;
    std::uint8_t offs = 0;
    std::uint8_t looks = 0;
    std::uint8_t tries = 0;  // of a write, or of the power-on
    off_watch off{};
    std::optional<time_point> heard_on_at{};  // before the first `off`
    time_point proven_at{};
    std::optional<time_point> moved_at{};  // a heartbeat came after the `off`
    time_point limit{};                    // of the throws, of the sequence, or of the power-on
    time_point soft_until{};
    time_point look_until{};
    std::optional<time_point> unread_until{};
    std::optional<fence_said::maintenance_key> maintenance{};  // as the first read showed it
    std::vector<uuid> left{};
    fence_end end = fence_end::abandoned;
    std::uint32_t asked = 0;
    fence_step pending{};

    [[nodiscard]] fence_step resume(const fence_event& e, std::vector<fence_act::any>& acts);
    // In a few words, for `status` and the task tree.
    [[nodiscard]] std::string_view stage() const;

private:
    struct context;
    fence_step ask(fence_ask::any what, at which, time_point until, std::string_view reason);
    fence_step wait(at which, time_point until, std::string_view reason);
    fence_step read_for(context& c, at what);
    fence_step finish(context& c, fence_end how, std::string words);
    fence_step end_unseen();
    fence_step begin(context& c);
    fence_step heed_word(context& c);
    fence_step answered(context& c);
    fence_step waited(context& c);
    fence_step out_of_time(context& c);

    fence_step judge(context& c, const fence_said::read& said);
    fence_step judge_moved(context& c, const victim_seen& seen);
    fence_step end_of_others(context& c);
    fence_step go_on(context& c, const fence_said::read& said);
    [[nodiscard]] bool stands(const victim_seen& seen) const;
    [[nodiscard]] bool was_under_way() const;
    [[nodiscard]] bool is_proven() const { return proof != fence_proof::none; }
    fence_step begin_record(context& c);
    fence_step record_begun(context& c, bool is_synced);
    fence_step mark_read(context& c, const victim_seen& seen);
    fence_step marked(context& c, const fence_said::written& said);
    fence_step begin_throws(context& c);
    fence_step heard_in_throws(context& c, const fence_said::board& said);
    fence_step take_turn(context& c, at then);
    fence_step with_turn(context& c);
    fence_step open(context& c);
    fence_step opened(context& c, bool is_synced);
    fence_step begin_sequence(context& c);
    fence_step looked_again(context& c, const fence_said::board& said);
    fence_step have_throws(context& c);
    fence_step power_off(context& c, const fence_said::read& said);
    fence_step powered_off(context& c, const fence_said::board& said);
    fence_step begin_looks(context& c);
    [[nodiscard]] static bool is_unanswered(const context& c, const fence_said::board& said);
    void fall_silent();
    fence_step heard_again(context& c);
    fence_step looked(context& c, const fence_said::board& said);
    fence_step fail(context& c);
    fence_step prove(context& c, fence_proof which, std::string words);
    fence_step proof_recorded(context& c, bool is_synced);
    fence_step fenced_read(context& c, const victim_seen& seen);
    fence_step fenced_written(context& c, const fence_said::written& said);
    fence_step write_again(context& c, at what);
    fence_step write_role(context& c);
    fence_step role_written(context& c, const fence_said::written& said);
    fence_step after_role(context& c);
    fence_step judge_lease(context& c, const victim_seen& seen);
    fence_step flush_written(context& c, const fence_said::written& said);
    fence_step recover(context& c);
    fence_step recovered(context& c, const fence_said::recovered& said);
    fence_step write_flushed(context& c);
    fence_step flushed_written(context& c, const fence_said::written& said);
    fence_step end_recovery(context& c);
    fence_step keep_off(context& c, std::string why);
    fence_step leave_off(context& c, std::string why);
    fence_step heed_late_word(context& c);
    fence_step power_on(context& c, const fence_said::read& said);
    fence_step powered_on(context& c, const fence_said::board& said);
    fence_step looked_on(context& c, const fence_said::board& said);
    fence_step conclude_off(context& c);
    fence_step conclude(context& c);
};

}  // namespace pvc::policy
