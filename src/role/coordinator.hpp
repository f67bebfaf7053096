// The coordinator actor: keeps the primary role where the rules want it. Level-triggered: rules C1-C5 are asked again
// at every change, at the end of every transition and in every tick; while a transition is under way C6 and C7 are.
// With no parts of the role the transitions are empty (README ruling 11): secondary -> primary -> secondary, each a
// compare-and-set.
// Specification: node-lifecycle.md 5 (step 4), 7.1 to 7.4.
#pragma once

#include "pvcnoded/policy/role/coordinator_rules.hpp"
#include "pvcnoded/policy/role/written_back.hpp"
#include "walk.hpp"

#include <memory>
#include <optional>
#include <string>

namespace pvc::role {

// Longer than the contention limit, so that losers have let go.
inline constexpr duration transition_delay = std::chrono::milliseconds(500);

class coordinator final : public core::session_part, public walk_ground {
public:
    coordinator(core::session& s, owner& role);
    ~coordinator() override;

    // Acts until cancelled. A hypervisor only keeps its routerstate key in line.
    async::awaitable<void> run() override;
    [[nodiscard]] bool is_of_one_schema() const override { return true; }
    void open() override {
        open_ = true;
        changed_.notify();
    }
    void close() override { open_ = false; }
    // Gives the role to a successor if there is one, else just up. Without the role it only withdraws a claim.
    async::awaitable<void> stop(time_point deadline) override;
    // What the rules are asked about now.
    [[nodiscard]] policy::coordinator_view view() const override;
    // The transition under way, if there is one.
    [[nodiscard]] const walk* walking() const { return walking_; }
    // Walks through a transition, as far as it comes; true if the role is what it was to become. Never a failure.
    async::awaitable<result<bool>> go(walk::machine which, std::string why);

private:
    void note_changes();
    async::awaitable<void> follow(async::task_group& transitions);
    async::awaitable<void> wait_for_change(std::optional<duration> at_most);
    async::awaitable<void> act(const policy::coordinator_decision& decision, async::task_group& transitions);
    async::awaitable<void> contend(policy::primary_view decided_on);
    async::awaitable<void> write_primary(const policy::coordinator_decision& decision);

    // The transitions (transition.cpp): a task of their own.
    void begin_transition(const policy::coordinator_decision& decision, async::task_group& transitions);
    [[nodiscard]] policy::coordinator_decision rules_now() const;
    async::awaitable<void> transit(policy::coordinator_decision decision);
    async::awaitable<void> give_parts_up();
    [[nodiscard]] core::session* reachable_session() const;
    // Compare-and-set of own routerstate from what was read last. True if it holds now.
    async::awaitable<bool> change_role(model::router_state to, std::string why,
                                       std::function<void(zookeeper::transaction&)> guard = {}) override;
    [[nodiscard]] async::latest<std::uint64_t>& looks() override { return looks_; }
    async::awaitable<void> demote(const policy::coordinator_decision& decision);
    void tell_unwritten(model::router_state to, const failure& why);
    async::awaitable<void> align_stored_role();
    // False as long as the watch still shows what stood there before our own last write.
    [[nodiscard]] bool is_stored_role_current() const;

    // The stop (hand_over.cpp).
    async::awaitable<bool> holds_role();
    async::awaitable<void> vacate_primary();
    async::awaitable<void> wait_for_successor(time_point deadline);
    // Whether the role is handed over to whoever is named, phase by phase, by then.
    async::awaitable<bool> hand_over(time_point deadline, std::string why);

    core::session& session_;
    owner& role_;
    async::wakeup changed_;
    const walk* walking_ = nullptr;
    async::latest<std::uint64_t> looks_;  // changes that a transition under way looks at
    std::unique_ptr<zookeeper::watched> primary_;
    std::unique_ptr<zookeeper::watched> own_role_;
    std::uint64_t primary_changes_ = 0;
    time_point primary_since_{};
    policy::written_back written_back_;
    std::uint64_t role_changes_ = 0;
    time_point role_since_{};
    std::int64_t role_written_ = 0;  // transaction of our last write of routerstate
    std::string told_unwritten_;     // the last warning about it
    bool open_ = false;
    std::string last_wait_;
};

}  // namespace pvc::role
