// Carries one transition of the role out: resumes the machine of its side with what is seen, and does what it asks for,
// with its locks held by children. No decision of its own. What is under way is called off when the machine would
// withdraw. When the scope ends (session lost, stop), the locks are released and the mark of the transition sees to the
// parts. Specification: node-lifecycle.md 7.3, 7.4.
#pragma once

#include "owner.hpp"
#include "pvcnoded/core/kept_locks.hpp"
#include "pvcnoded/policy/role/candidate.hpp"
#include "pvcnoded/policy/role/holder.hpp"

#include <array>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

namespace pvc::role {

// What a walk needs of the actor, which outlives it.
class walk_ground {
public:
    [[nodiscard]] virtual policy::coordinator_view view() const = 0;
    // Compare-and-set of own routerstate; `guard` adds what else must hold. True if the key says so now.
    virtual async::awaitable<bool> change_role(model::router_state to, std::string why,
                                               std::function<void(zookeeper::transaction&)> guard) = 0;
    // Changes with everything that view() shows.
    [[nodiscard]] virtual async::latest<std::uint64_t>& looks() = 0;

protected:
    ~walk_ground() = default;
};

class walk {
public:
    using machine = std::variant<policy::candidate, policy::holder>;

    walk(core::session& s, owner& role, walk_ground& ground, machine which, std::string why);
    walk(const walk&) = delete;
    walk& operator=(const walk&) = delete;

    // To the machine's end. Cancelled: the locks are released when this returns.
    async::awaitable<void> run();
    [[nodiscard]] const machine& now() const { return machine_; }

    // For whoever asks: which phase, what is waited for, since when and until when, who else is queued.
    struct report {
        std::string side;
        std::string phase;
        std::string asks;
        std::string waits_for;
        time_point since{};
        time_point until = time_point::max();
        std::vector<std::string> held;  // locks
        std::size_t others_queued = 0;
        bool is_candidate_there = false;
        std::string withdrawn;
    };
    [[nodiscard]] report describe() const;

private:
    // Of this node, or of no session.
    [[nodiscard]] bool is_nobodys_turn(const std::string& child) const;
    [[nodiscard]] policy::hand_over_seen look() const;
    [[nodiscard]] bool must_end() const;
    // Contenders that are there before it begins and belong to no session: nobody's turn.
    async::awaitable<void> find_orphans();
    // Somebody else's turn as a writer is before that of the child that is queued for S.
    [[nodiscard]] bool is_behind_writer() const;
    // The place of that child; nothing: it is not seen yet.
    [[nodiscard]] std::optional<std::int64_t> queued_on_sync() const;
    [[nodiscard]] bool is_passed(policy::role_lock which);
    // For how long the candidate is queued for T already, as far as that can be found out.
    async::awaitable<duration> find_candidate_ahead() const;
    policy::role_step resume(policy::role_answer said);
    async::awaitable<void> go_on(async::task_group& scope);
    async::awaitable<policy::role_answer> carry_out(const policy::role_step& step, async::task_group& scope);
    async::awaitable<policy::role_answer> have_lock(policy::role_ask::have_lock what, time_point until,
                                                    async::task_group& scope);
    async::awaitable<void> release(policy::role_lock which);
    async::awaitable<policy::role_answer> clear_sync();
    async::awaitable<policy::role_answer> write_role(policy::role_ask::write_role what);
    // The locks that are held are looked at again where the last look is too old for a step outside ZooKeeper.
    async::awaitable<policy::role_answer> verify_locks();
    async::awaitable<policy::role_answer> do_part(std::function<async::awaitable<void>()> what);

    struct lock_here {
        std::unique_ptr<core::kept_locks> kept;
        zookeeper::held_lock* held = nullptr;  // while it is
    };
    [[nodiscard]] lock_here& lock_of(policy::role_lock which) { return locks_.at(static_cast<std::size_t>(which)); }
    [[nodiscard]] const lock_here& lock_of(policy::role_lock which) const {
        return locks_.at(static_cast<std::size_t>(which));
    }

    core::session& session_;
    owner& role_;
    walk_ground& ground_;
    machine machine_;
    std::string why_;
    async::wakeup changed_;
    std::unique_ptr<zookeeper::watched> on_primary_;  // who is queued for T; null: there are no parts
    std::unique_ptr<zookeeper::watched> on_sync_;     // and for S
    std::array<lock_here, 2> locks_;
    // Of every child that was queued: a list may show one longer than it is there, and one whose deletion failed is
    // there until the reaper has it. None of them is the partner.
    std::deque<std::string> own_guids_;
    std::set<std::string> orphans_;       // names of children of S
    bool has_waited_for_writer_ = false;  // the lock of S that was asked for last
    duration candidate_ahead_{};          // of a holder, once it has said `relinquish`
    zookeeper::reader_drain drain_;
    std::int64_t known_reader_ = -1;  // the last one in it when the lock of S was asked for last
    std::int64_t turn_ended_ = -1;  // the place of the lock of S that was let go before it; -1: this node did not write
    bool is_writing_ = false;       // the lock of S that was asked for last
    policy::role_step step_;
    time_point step_since_{};
};

}  // namespace pvc::role
