// What a daemon remembers of one domain beside its keys, in parts that each have one owner: who writes a part is said
// at its head, everybody else reads. Values: they can be compared, copied, and handed to a machine.
// Specification: vm-domains.md 5.2, 6.1, 8; architecture.md, "Machines".
#pragma once

#include "pvcnoded/base/clock.hpp"
#include "pvcnoded/policy/domains/domain_timing.hpp"
#include "pvcnoded/policy/domains/start_cause.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace pvc::policy {

// Whether the guest that runs was seen to: console, running list, VNC. Written by the machines that see to it, and by
// the manager when it looks at a guest that has ended.
struct adoption {
    bool is_adopted = false;
    bool owes_vnc = false;       // the live definition could not be read
    bool owes_reason = false;    // it was started, and the reason of an earlier failure is still there
    bool owes_word = false;      // what a migration left in `migrate_sync_lock` was not cleared
    bool is_restarting = false;  // it ended by itself and is being started again
    bool is_clean = false;       // nothing is left to tidy up for a guest that is not here
    bool is_forgotten = false;   // the same but for the keys below the domain
    std::int64_t state = 0;      // mzxid of `state` when it was adopted
    restart_spacing spacing;     // of automatic restarts
    time_point not_before{};     // of the next automatic restart

    // What is here is another domain than before, or nothing is known of it any more.
    void begin_anew();
    void ended() { is_adopted = false; }
    [[nodiscard]] bool is_tidy() const { return is_clean || is_forgotten; }
    void untidy() { is_clean = is_forgotten = false; }
    friend bool operator==(const adoption&, const adoption&) = default;
};

// Membership of the running list, and why. Written by the listing (listing.cpp) and by machines that end or begin a
// guest.
struct listing {
    bool is_listed = false;
    // A create whose answer never came (libvirtd stood still): it may happen yet, so the domain counts as running.
    std::optional<time_point> lost_creation;

    friend bool operator==(const listing&, const listing&) = default;
};

// Of migrations. Written by the machines of both sides, and by the manager when it sees the last placement outside one.
struct migration_memory {
    bool is_sent_by_us = false;  // we began to send it in this migration
    std::string sent_to;         // where to
    bool is_stale_half = false;  // class I here, and proven to be what a migration left behind
    bool was_going_off = false;  // it was being shut down to move it; whatever becomes of the write, it is handed over
    bool has_record = false;     // of a migration, on the disk of this host
    bool has_read_journal = false;               // the record of the daemon before
    std::int64_t seen_there = 0;                 // the migration (mzxid of `state`) whose target said that it runs it
    std::int64_t sync_written = 0;               // mzxid of what we wrote last into `migrate_sync_lock`
    std::string stable_last_node;                // `lastnode` of the last stable placement
    std::optional<std::string> noted_last_node;  // the same as a daemon before this one noted it

    friend bool operator==(const migration_memory&, const migration_memory&) = default;
};

// What was said once and is not said again.
struct told_once {
    std::int64_t state = -1;          // mzxid of the `state` that was reported (0: it was missing)
    std::int64_t nowhere = -1;        // mzxid of the `node` that was reported to name no node
    time_point nowhere_until{};       // the nodes are asked for it again
    std::int64_t mark_ended_for = 0;  // mzxid of the `state` that ended the mark of a flush
    bool pause = false;               // that the guest does not execute
    bool unreadable = false;          // that what libvirt says of it cannot be read
    std::string console_name;         // one that cannot be the name of a file

    friend bool operator==(const told_once&, const told_once&) = default;
};

// A shutdown that is under way, over operations that do so. Written by the machines that end a guest.
struct going_down {
    std::optional<time_point> since;
    bool was_asked = false;  // in this shutdown the guest got the request

    void over() { since.reset(); }
    friend bool operator==(const going_down&, const going_down&) = default;
};

// Why it waits to be started. Written by starts, by who adopts it, and by the manager when somebody wants it anew.
struct hindrance {
    start_cause cause = start_cause::none;
    std::string text{};                    // the failedreason
    bool is_written = false;               // which is stored
    start_cause told = start_cause::none;  // in the log
    unsigned tries = 0;                    // in a row, for this cause
    time_point since{};                    // of the last try
    time_point next_try{};                 // at the latest
    std::uint64_t ceph_answers = 0;        // when it was tried last

    // Somebody wants it anew: it is tried at once, and told again.
    void begin_anew() {
        is_written = false;
        told = start_cause::none;
        tries = 0;
        next_try = {};
    }
    friend bool operator==(const hindrance&, const hindrance&) = default;
};

struct domain_memory {
    policy::adoption adoption;
    policy::listing listing;
    migration_memory migration;
    told_once told;
    policy::going_down going_down;
    hindrance waits;

    friend bool operator==(const domain_memory&, const domain_memory&) = default;
};

}  // namespace pvc::policy
