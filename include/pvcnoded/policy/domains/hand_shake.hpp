// The hand-shake of sender and receiver on the lock of `migrate_sync_lock`, driven by who is seen to contend for it, so
// that it works against a reference node, which goes by fixed pauses. Machines beside those of the sender and of the
// receiver: the shell runs them in a child, and what they came to is in domain_seen::held.
// Specification: vm-domains.md 8.3 (S4), 8.4, 8.5.
#pragma once

#include "pvcnoded/policy/domains/machine.hpp"

namespace pvc::policy {

// The receiver's side: holds the lock until the sender is queued behind, again and again, until it is cancelled.
struct offering_sync {
    enum class at : std::uint8_t { begin, looking, queueing, holding, waiting, releasing, making_key, pausing, over };

    at where = at::begin;
    bool wants_lock = false;
    time_point queued_until{};
    time_point held_until{};

    [[nodiscard]] step resume(context& c);
    friend bool operator==(const offering_sync&, const offering_sync&) = default;

private:
    step look();
    step queue(context& c);
    step hold_on(context& c);
    step release(context& c);
};

// The sender's side: queues when the receiver was seen, holds the lock until it is wanted no more.
struct taking_sync {
    enum class at : std::uint8_t {
        begin,
        looking,
        waiting,
        making_key,
        queueing,
        looking_behind,
        waiting_behind,
        granted,
        releasing,
        over,
    };

    time_point deadline{};
    at where = at::begin;
    bool was_seen = false;
    bool is_alone = false;    // the receiver was there, and has gone idle
    bool is_granted = false;  // the receiver stands by
    bool wants_lock = false;
    time_point queued_until{};
    time_point idle_at{};

    [[nodiscard]] step resume(context& c);
    friend bool operator==(const taking_sync&, const taking_sync&) = default;

private:
    step look();
    step seen_first(context& c);
    step queue(context& c);
    step look_behind();
    step seen_behind(context& c);
    step hold_on(context& c);
    step release(context& c);
};

}  // namespace pvc::policy
