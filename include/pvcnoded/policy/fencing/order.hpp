// Several dead nodes, and dead nodes that nobody looks after (node-lifecycle.md 10.1 "orphans", "repetition"; README
// rulings 37, 39, 46): who has the turn to be switched off and recovered, whose left-over fence is taken up and when,
// and when a failed one is tried again. Values and pure functions; each is told the observer's own monotonic time.
//
// The shell keeps a `fence_memory` a node as long as its session lives, and begins an attempt (attempt.hpp) with what
// `next_attempt` says. Marks and throws of several nodes run side by side under one fence lock; the lock is held while
// any attempt wants it.
#pragma once

#include "pvcnoded/model/fence_record.hpp"
#include "pvcnoded/policy/fencing/detection.hpp"
#include "pvcnoded/policy/fencing/fence_requests.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace pvc::policy {

// One attempt, as far as its turn goes.
struct fence_in_line {
    std::string node;
    bool wants_turn = false;  // fence_attempt::wants_turn
    bool has_turn = false;
    bool has_board_answered = false;  // when it was last asked
    friend bool operator==(const fence_in_line&, const fence_in_line&) = default;
};
// Who has the turn now: who has it keeps it as long as he wants it; then first those whose boards answered, then by
// name. Empty: nobody wants it.
[[nodiscard]] std::optional<std::string> turn_of(const std::vector<fence_in_line>& all);

// How often in a row this fencer did not see it off, as it is now, by its own records; the back-off outlives the
// session and the daemon.
struct failed_before {
    std::uint8_t times = 0;
    duration ago{};  // since the end of the last one
    friend bool operator==(const failed_before&, const failed_before&) = default;
};

// /config/fence_lock, while another one has it. Who needs it does not stand in line behind a recovery that may take
// long: it looks who has the lock, says so once, and stands in line when that one has given it up. (A reference node
// has it for a moment in each of its ticks: who only looked for a free moment might find none.)
struct lock_wait {
    static constexpr duration awaited = std::chrono::seconds(300);  // of a holder that is not seen to live
    static constexpr duration at_work = std::chrono::minutes(30);   // of one that is
    static constexpr duration told_again = std::chrono::minutes(60);
    enum class telling : std::uint8_t { nothing, who, awaited };

    std::optional<std::string> behind{};  // its child
    std::optional<time_point> since{};    // all the time somebody else had it, one after the other
    bool is_told = false;
    std::optional<time_point> told_awaited{};

    // At each look. `first`: the child that has it or is next to have it. True: this node stands in line now.
    [[nodiscard]] bool may_queue(const std::optional<std::string>& first, bool is_ours, time_point now);
    // While it waits and knows who has it.
    [[nodiscard]] telling tell(bool holder_lives, time_point now);
    friend bool operator==(const lock_wait&, const lock_wait&) = default;
};

// A dead node as this coordinator has seen it, over its session.
struct fence_memory {
    static constexpr duration orphan_age = std::chrono::seconds(180);
    static constexpr duration without_disk = std::chrono::minutes(5);  // 46
    static constexpr duration told_again = std::chrono::minutes(60);

    // What has to be the same for `orphan_age`: a fencer of 0.9.82 holds no lock, and shows his progress in it.
    struct looks {
        std::int64_t mark_id = 0;
        std::int64_t heartbeat_id = 0;
        bool is_recovering = false;
        std::uint64_t machines = 0;  // a hash of the set of machines whose key names it
        friend bool operator==(const looks&, const looks&) = default;
    };
    std::optional<looks> seen{};
    time_point since{};
    std::uint8_t failures = 0;  // in a row, of the mark in `failed_mark`
    std::int64_t failed_mark = 0;
    std::int64_t failed_heartbeat = 0;
    time_point failed_at{};
    std::int64_t ended_mark = 0;             // of the last attempt without an outcome: it is not resumed at once
    std::int64_t settled_mark = 0;           // of the last attempt that came to its end: what its record says is known
    std::int64_t held_back_mark = 0;         // of an attempt that ended as no majority would have been left
    std::optional<time_point> not_before{};  // this fencer could not write its record
    std::optional<std::int64_t> back_since_heartbeat{};  // an attempt on this heartbeat found that it had moved
    time_point found_back{};

    // At each look at the node while it is `dead` or `fenced`; `forget` when it is neither.
    void look(const looks& now_seen, time_point now);
    void forget();
    // What records say of failures that this daemon, or this session, does not know of.
    void recall(const failed_before& what, std::int64_t mark_id, std::int64_t heartbeat_id, time_point now);
    // Whether its fence failed as it is now; and that the pause after that is over, by an operator's order.
    [[nodiscard]] bool has_failed_at(std::int64_t mark_id, std::int64_t heartbeat_id) const;
    void end_pause(time_point now);
    void ended(fence_end how, std::int64_t mark_id, std::int64_t heartbeat_id, time_point now);
    // An attempt has just found that the node is back, and its heartbeat is still seen as it was: that is read once a
    // tick, its state is known at once. No other attempt for two ticks.
    [[nodiscard]] bool is_known_back(std::int64_t heartbeat_id, time_point now, duration keepalive) const;
    friend bool operator==(const fence_memory&, const fence_memory&) = default;
};

// What this fencer's own records say of the node as it is now.
enum class own_record : std::uint8_t {
    none,
    marked,  // by this fencer, which came no further than its throws
    opened,
    proven,
    worded,  // likewise, by an operator: of a node in any state, and in maintenance, too (43)
    fenced,
};

// Of one record, the youngest first. Empty: it has an outcome of the node as it is, so that older ones say nothing
// more. A node that beat since its proof, although it is `fenced`, lives or boots: no old proof is true of it.
[[nodiscard]] std::optional<own_record> what_record_says(const model::fence_record& one, std::int64_t state_id,
                                                         std::int64_t heartbeat_id);

// The same, as old as it is by now. What is gone on with without throws is what was under way a moment ago: of an older
// one the throws come first. Where this machine has booted since, the site may have been without power, and the node
// may be booting, too: then the record says no more than the mark does, which rests for `orphan_age`. A proof stays
// one.
[[nodiscard]] own_record as_old_as_it_is(own_record what, const model::fence_record& one, const std::string& boot_id,
                                         const model::fence_moment& now);

// How long ago that was of which a record of this machine tells: by the clock that nobody sets, if the machine has not
// booted since (`boot_id`: as it is `now`); else by the wall.
[[nodiscard]] duration age_in_record(const model::fence_record& of, const model::fence_moment& when,
                                     const std::string& boot_id, const model::fence_moment& now);

// A fence by this coordinator that came to `fenced`, and neither to its end nor to the power-on: how old its proof is.
// Once the recovery is ended the power-on is this fencer's to give (38, 46). Empty: nothing is owed. `own`: as below.
[[nodiscard]] std::optional<duration> proof_of_owed_power_on(const std::vector<model::fence_record>& own,
                                                             std::int64_t state_id, std::int64_t heartbeat_id,
                                                             const std::string& boot_id,
                                                             const model::fence_moment& now);

// Why it was not switched on again after the fence that wrote its state, by these records; empty: it was, or is to be.
[[nodiscard]] std::string why_left_off(const std::vector<model::fence_record>& own, std::int64_t state_id);

// `own`: records of this coordinator about the node, the youngest first. `boot_id`: of this machine, as it is `now`.
[[nodiscard]] failed_before failures_in(const std::vector<model::fence_record>& own, std::int64_t state_id,
                                        std::int64_t heartbeat_id, const std::string& boot_id,
                                        const model::fence_moment& now);

// How often a node was fenced within the hour before `now`, by the records of this node about it (ruling 45). An
// operator's word, also one about a node that was fenced before, says nothing of a node that falls again and again, but
// for one that came in the midst of a fence, after an order to switch it off; one that is of
// more than a minute later than `now` is of a clock that was wrong. `going_on`: the F0 of the fence that is gone on
// with, which is not counted; 0: none.
[[nodiscard]] std::uint8_t fences_within_hour(const std::vector<model::fence_record>& all, wall_time now,
                                              std::int64_t going_on);

struct left_over {
    victim_seen victim;
    bool may_detect = false;  // this coordinator may begin fences (detection.hpp, why_not_judging is empty)
    bool may_act = false;     // coordinator in `run`, heartbeat fresh: it may go on with an operator's word
    own_record record = own_record::none;  // K0 and D0 of the record stand, or for `fenced` its F0
    bool is_recoverable_here = true;       // false: it needs Ceph, and this node cannot ask it
    bool majority_stays = false;           // it may be switched off now (31); true of a hypervisor
    bool is_ours = false;                  // an attempt of this daemon is under way for it
    bool is_power_owed = false;            // proof_of_owed_power_on(), not longer than 10 min ago
};
struct next_fence {
    std::optional<fence_origin> why;  // now
    std::optional<time_point> after;  // to be asked again, unless something else changes
    friend bool operator==(const next_fence&, const next_fence&) = default;
};
// Whether a node that is `dead` or `fenced` is to be taken up by this coordinator.
[[nodiscard]] next_fence next_attempt(const left_over& one, const fence_memory& memory, time_point now);

// What is to come of a node that is `dead` or `fenced` (as `victim` says) while no attempt of this coordinator is about
// it, for who asks how it is. Empty: it has not been looked at yet.
[[nodiscard]] std::string outlook_of(const std::string& node, const victim_seen& victim, const fence_memory& memory,
                                     time_point now);

// The line of each hour about a node that is down and that nobody fences. `victim`: empty: its keys are not read yet.
// `lock_holder`: the node that has the fence lock, if it is another and known.
[[nodiscard]] std::string words_of_forgotten(const node_seen& one, const std::optional<victim_seen>& victim,
                                             const std::string& lock_holder);

// After so many failures in a row: 10, 20, 40, then every 60 min.
[[nodiscard]] duration pause_after_failures(std::uint8_t failures);

}  // namespace pvc::policy
