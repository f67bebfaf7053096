// The sending side of a migration: locks, the receiver, live tries or a shutdown, release; or back as it was.
// Specification: vm-domains.md 8.1 to 8.3, 8.6.
#pragma once

#include "pvcnoded/model/domain_payloads.hpp"
#include "pvcnoded/policy/domains/live_move.hpp"
#include "pvcnoded/policy/domains/resolving.hpp"

namespace pvc::policy {

// Table 8.1.
struct migration_mode {
    bool live = true;
    bool offline = true;
};
[[nodiscard]] migration_mode mode_of(model::vm_state state, model::migration_method method);

// What a rollback restores as `lastnode`: that of the last placement outside a migration, as this daemon saw it or the
// one before noted it; else what fits (8.3).
[[nodiscard]] std::string previous_last_node(const domain_seen& seen, const migration_memory& memory);

struct sending {
    enum class at : std::uint8_t {
        begin,
        locking,
        looking_again,
        writing_home,
        reading_wishes,
        pausing_wishes,
        shaking_hands,
        reading_again,
        taking_turn,
        setting_downtime,
        moving,
        leaving,
        resolving,
        pausing_tries,
        asking_target,
        powering_down,
        unlisting,
        writing_hand_over,
        ending_console,
        rolling_back,
        clearing_word,
        releasing,
        awaiting_receiver,
        unlocking,
        seeing_start,
        over,
    };

    std::string target{};
    at where = at::begin;
    std::int64_t created = 0;  // the incarnation that was asked to move
    time_point deadline{};     // of the locks
    bool wants_locks = false;
    bool wants_sync = false;
    bool wants_turn = false;
    bool was_granted = false;
    model::migration_method method = model::migration_method::none;
    std::optional<std::string> max_downtime{};
    time_point wishes_by{};
    time_point nobody_waited{};
    time_point leave_by{};
    time_point release_by{};
    bool told_turn = false;
    bool has_tried = false;
    int attempt = 1;
    std::optional<time_point> busy_until{};
    bool may_fall_back = false;
    std::string why{};
    move_fault fault = move_fault::neither;  // of `why`
    live_move move{};
    policy::resolving who{};
    powering_down power{};
    // Counted when it is over.
    enum class ending : std::uint8_t { none, moved, ended, rolled_back } how = ending::none;
    bool is_stopping = false;  // when the rollback began
    bool is_handed_over = false;
    bool is_let_go = false;  // not known who has it: the table comes back to it, or the daemon after this one
    std::string back{};      // to roll back once no lock is held any more: why
    wish handed{};
    awaiting_receiver receiver{};
    policy::seeing_start seen{};

    [[nodiscard]] step resume(context& c);
    void hold(holdings& what) const;
    friend bool operator==(const sending&, const sending&) = default;

private:
    [[nodiscard]] bool is_on_its_way(const context& c) const;
    [[nodiscard]] bool is_unchanged(const context& c) const;
    [[nodiscard]] migration_mode mode(const context& c) const { return mode_of(c.seen.state, method); }
    // Before anything moves (sending.cpp).
    step begin(context& c);
    step lock(context& c);
    step looked_again(context& c);
    step read_wishes(context& c);
    step has_wishes(context& c);
    step shake_hands(context& c);
    step choose_way(context& c);
    step take_turn(context& c);
    // Live (sending_tries.cpp).
    step begin_move(context& c);
    step downtime_set(context& c);
    step attempt_move(context& c);
    step has_moved(context& c);
    step is_resolved(context& c);
    step judge_try(context& c, bool may_try_again);
    step try_again(context& c, bool may_try_again);
    step give_up_live(context& c);
    step move_offline(context& c);
    void forget_tries();
    step power_down(context& c);
    // Ends (sending_ends.cpp).
    step wait_gone(context& c);
    step finish_moved(context& c);
    step finish_ended(context& c);
    step unlisted(context& c);
    step written(context& c);
    step console_ended(context& c);
    step roll_back(context& c, std::string reason);
    step rolled_back(context& c);
    step release(context& c);
    step released(context& c);
    step unlock(context& c);
    step unlocked(context& c);
    step finish(context& c);
};

// The same from when the hand-over was written, by an operation before this one (8.6).
struct seeing_taken_over {
    enum class at : std::uint8_t { begin, unlisting, awaiting_receiver, seeing_start, over };

    at where = at::begin;
    awaiting_receiver receiver{};
    policy::seeing_start seen{};

    [[nodiscard]] step resume(context& c);
    void hold(holdings& what) const;
    friend bool operator==(const seeing_taken_over&, const seeing_taken_over&) = default;
};

}  // namespace pvc::policy
