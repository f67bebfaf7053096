// The side that gives the primary role away (node-lifecycle.md 7.4, column Q): it writes in phase B and reads in all
// others, so what it drops is there already on the other side. It comes to its end whatever the candidate does: each
// wait has a limit, and once the candidate has gone (nobody is queued for T) it waits for nothing.
//
// A holder that stood still before it heard of the candidate (a stopped process, a suspended host) may come after the
// candidate has gone through A alone. It would walk one phase behind, each side waiting for a turn that never comes,
// with the addresses on both. So it takes part in no phase then: what it has is given up at once, in the usual order.
#pragma once

#include "pvcnoded/policy/role/hand_over.hpp"

namespace pvc::policy {

struct holder {
    enum class at : std::uint8_t {
        begin,
        announcing,        // `relinquish`
        expecting_writer,  // the candidate is queued for a phase that we have not read yet
        reading,
        read,
        queueing,  // B
        holding,   // until the candidate is queued behind
        acting,
        clearing_phase,
        releasing,
        writing,  // `secondary`
        pausing,
        over,
    };

    bool is_empty = false;  // no parts
    at where = at::begin;
    role_phase phase = role_phase::a;
    bool was_candidate_there = false;
    bool has_sync_lock = false;
    std::int64_t last_writer = -1;  // the candidate's place in the queue in the phase that was read last
    time_point limit{};
    bool is_late = false;       // the candidate has begun without it
    bool is_secondary = false;  // at the end

    [[nodiscard]] role_step resume(const role_event& e);
    // It was given up by itself meanwhile (C6).
    [[nodiscard]] bool must_end(const hand_over_seen& seen) const;
    friend bool operator==(const holder&, const holder&) = default;

private:
    void take_answer(const role_event& e);
    void lose_lock(const role_event& e);
    [[nodiscard]] role_step go_on(const role_event& e);
    [[nodiscard]] bool is_alone(const hand_over_seen& seen) const;
    void begin_phase(const role_event& e, role_phase which);
    void end_phase(const role_event& e);
};

}  // namespace pvc::policy
