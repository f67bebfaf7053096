// The side that takes the primary role over (node-lifecycle.md 7.3, column P). It writes in all phases but B, so each
// address is here before the other side drops its own. C7 is asked before each step: what was taken up is then given up
// in reverse order, the locks are released, and this node is secondary again.
//
// A partner of the reference waits for A only 0.2 s. If this node comes later, that one has gone through A and has had
// its turn as the writer of B, which this node had to wait for: its next turn is to read C. Then what was asked for as
// the lock of A is used as that of C, so that the address is here before the partner drops its own.
//
// A partner of the reference that is quick may queue as the reader of the next phase before this node has queued as its
// writer. It then drops its address as soon as it has its turn, so this node takes its own up at once, beside the lock
// that it is still queued for (is_passed). From the first sign of that on no phase is held for it: it may have gone
// through all others, and nobody would have their addresses until it is secondary. So it is from the beginning with one
// that wrote its own name back (written_back.hpp), which is not behind this node but on its way alone.
//
// While the session is only suspended nothing new is begun and nothing undone; the isolation limit (C6) bounds that.
#pragma once

#include "pvcnoded/policy/role/hand_over.hpp"

#include <string>

namespace pvc::policy {

struct candidate {
    enum class at : std::uint8_t {
        begin,
        announcing,         // `takeover`
        queueing_for_role,  // T
        clearing,           // the key of S, once
        queueing,           // S, as the writer of a phase
        holding,            // until the partner is queued behind
        acting,
        acting_again,  // what a phase takes up failed
        clearing_phase,
        releasing,
        expecting_writer,  // B: the partner's turn
        reading,
        read,
        expecting_partner,  // before C: nobody may be there who holds the addresses and does not hear of us
        writing,            // `primary`
        pausing,
        releasing_role,
        undoing,
        undo_sync,
        undo_role,
        undo_writing,
        undo_pausing,
        over,
    };

    bool is_empty = false;  // no parts: `secondary` to `primary` at once (README ruling 11)
    at where = at::begin;
    role_phase phase = role_phase::a;
    std::uint8_t taken = 0;    // so many phases were begun to be taken up
    bool has_partner = false;  // somebody was expected to walk beside us
    bool was_partner_seen = false;
    bool is_partner_ahead = false;
    bool has_role_lock = false;
    bool has_sync_lock = false;
    time_point began{};
    time_point limit{};       // of the step that `where` names
    std::string withdrawn;    // why it is undone; empty: it is not
    bool is_primary = false;  // at the end

    [[nodiscard]] role_step resume(const role_event& e);
    // What it asked last is to be called off: it would withdraw.
    [[nodiscard]] bool must_end(const hand_over_seen& seen) const;
    // The turn that it is queued for comes after the partner's: to be answered with `passed`.
    [[nodiscard]] bool is_passed(const hand_over_seen& seen) const;
    friend bool operator==(const candidate&, const candidate&) = default;

private:
    void take_answer(const role_event& e);
    [[nodiscard]] role_step go_on(const role_event& e);
    [[nodiscard]] std::string reason_to_withdraw(const hand_over_seen& seen) const;
    [[nodiscard]] bool is_undoing() const;
    void withdraw(std::string why);
    void begin_phase(const role_event& e, role_phase which);
    void end_phase(const role_event& e);
    void hold_phase(const role_event& e);
    [[nodiscard]] bool is_partner_behind(const hand_over_seen& seen) const;
    [[nodiscard]] role_step take_up();
    [[nodiscard]] role_step undo(const role_event& e);
    [[nodiscard]] std::optional<role_step> expect_partner(const role_event& e);
};

}  // namespace pvc::policy
