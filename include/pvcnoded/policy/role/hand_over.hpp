// A transition of the primary role in lockstep with a peer of either kind, as values: what the machines of both sides
// (candidate.hpp, holder.hpp) see, what they ask for, and what they are told. They hold no pointers, wait for nothing
// and do nothing: a shell (src/role/walk) carries out what they ask. So every order of both sides' steps can be
// explored (tests/sim/explore), and what comes next can be shown.
//
// Two locks: T, exclusive, on /config/primary_node, is the candidate's for the whole takeover; S, on
// /config/primary_node/sync_lock, goes to and fro, phase by phase: who acts first writes, the other reads.
// Specification: node-lifecycle.md 7.2 (C6, C7), 7.3, 7.4; zookeeper-schema.md 4.3.
#pragma once

#include "pvcnoded/model/lock_name.hpp"
#include "pvcnoded/policy/role/coordinator_rules.hpp"
#include "pvcnoded/policy/role/role_phases.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace pvc::policy {

enum class role_lock : std::uint8_t { primary, sync };  // T and S
[[nodiscard]] std::string_view to_text(role_lock which);

// Somebody else who is queued for a lock.
struct lock_contender {
    std::int64_t sequence = 0;
    model::lock_tag tag = model::lock_tag::lock;
    friend bool operator==(const lock_contender&, const lock_contender&) = default;
};

struct hand_over_seen {
    coordinator_view view;
    std::vector<lock_contender> on_sync;         // others, in any order
    std::optional<std::int64_t> own_on_sync;     // the sequence of the lock of S that is held
    std::optional<std::int64_t> queued_on_sync;  // of the one that is queued and not held yet
    std::int64_t known_reader = -1;              // the last reader that was there when this node let go of S
    // Between the end of the turn before and the lock of S that is held somebody else has queued for it.
    bool was_overtaken = false;
    bool is_candidate_there = false;  // somebody else is queued for T
    // The lock of S that was asked for last had to wait for somebody else's turn as a writer.
    bool has_waited_for_writer = false;
    // By the servers' clock the candidate had been queued for T for so long when `relinquish` was written, and what has
    // passed since; 0 where that is not known.
    duration candidate_ahead{};
};

// What a machine asks for.

namespace role_ask {

struct nothing {  // the machine is over
    friend bool operator==(const nothing&, const nothing&) = default;
};
struct change {  // until something that is seen is another, or it is time
    friend bool operator==(const change&, const change&) = default;
};
// Own routerstate, from what is stored; `primary` and `relinquish` only while the key that says who is named is the one
// that was seen, and `primary`, with parts, only while T is held.
struct write_role {
    model::router_state to = model::router_state::secondary;
    std::optional<std::int32_t> named{};  // that key's version
    friend bool operator==(const write_role&, const write_role&) = default;
};
struct have_lock {  // queued for at once, held from the answer on
    role_lock which = role_lock::sync;
    model::lock_kind kind = model::lock_kind::exclusive;
    friend bool operator==(const have_lock&, const have_lock&) = default;
};
struct release {  // also of one that is no longer there
    role_lock which = role_lock::sync;
    friend bool operator==(const release&, const release&) = default;
};
struct clear_sync {  // "" into the key of S, under the locks that are held
    friend bool operator==(const clear_sync&, const clear_sync&) = default;
};
struct take_up {  // all parts of a phase, with the locks that are held looked at before
    role_phase which = role_phase::a;
    friend bool operator==(const take_up&, const take_up&) = default;
};
struct give_up {
    role_phase which = role_phase::a;
    friend bool operator==(const give_up&, const give_up&) = default;
};

using any = std::variant<nothing, change, write_role, have_lock, release, clear_sync, take_up, give_up>;

}  // namespace role_ask

enum class role_answer : std::uint8_t {
    woken,   // to `change`, and at the beginning
    done,    // what was asked for is so
    failed,  // a lock not had in time, a write refused, nobody to be asked
    lost,    // a lock that was held is gone
    ended,   // called off, because the machine would withdraw (must_end)
    passed,  // a lock is still queued, and the partner's turn is before ours (candidate::is_passed)
};

struct role_event {
    const hand_over_seen& seen;
    role_answer said = role_answer::woken;
    time_point now;
};

struct role_step {
    role_ask::any what;
    time_point until = time_point::max();  // of the effect, or of the wait; max: none of its own
    std::string_view reason;               // what it waits for, in words; static text

    [[nodiscard]] bool is_over() const { return std::holds_alternative<role_ask::nothing>(what); }
};

// The steps that both sides have, with what each waits for.
[[nodiscard]] role_step turn_to_write(time_point until);
[[nodiscard]] role_step turn_to_read(time_point until, std::string_view whose);
[[nodiscard]] role_step clear_phase();
[[nodiscard]] role_step let_go(role_lock which);
[[nodiscard]] role_step say_role(model::router_state to);
[[nodiscard]] role_step say_primary(const coordinator_view& view);
[[nodiscard]] role_step say_relinquish(const coordinator_view& view);
[[nodiscard]] role_step wait_for(std::string_view what, time_point until = time_point::max());

// What it asks for, in a few words.
[[nodiscard]] std::string to_text(const role_ask::any& what);

// Of 7.4, "OURS".

struct hand_over_limits {
    static constexpr duration candidate_lock = std::chrono::seconds(60);  // T
    static constexpr duration write_lock = std::chrono::seconds(30);
    static constexpr duration partner = std::chrono::seconds(5);  // until the partner is seen to be queued
    static constexpr duration pause = std::chrono::seconds(1);    // before a write is tried again
    // A candidate that is queued for T for longer has gone through A alone, or is about to. Up to there a holder is in
    // step: one of ours keeps its turn in A for `partner`, counted from later than its child of T (it has T then, the
    // key of S is cleared, and it has its turn), so whoever looks half a second before that sees the turn; and whoever
    // has seen it may read it after its end, as the next thing that the candidate waits for, again for `partner`, is
    // the holder's turn in B.
    static constexpr duration late = partner - std::chrono::milliseconds(500);

    [[nodiscard]] static constexpr duration read_lock(role_phase which) {
        switch (which) {
            case role_phase::a: return std::chrono::seconds(5);
            case role_phase::b: return std::chrono::seconds(30);
            case role_phase::g: return std::chrono::seconds(60);
            default: return std::chrono::seconds(10);
        }
    }
};

// The place of the last contender of others with this tag; -1: there is none.
[[nodiscard]] std::int64_t last_on_sync(const hand_over_seen& seen, model::lock_tag tag);
// A reader is queued behind the lock that is held.
[[nodiscard]] bool is_reader_behind(const hand_over_seen& seen);

}  // namespace pvc::policy
