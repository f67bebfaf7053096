// Sees to what a machine wants to hold (policy::holdings) and says how far that has come (policy::held_now): locks, the
// hand-shake, a turn, the live call, the request to shut down, watched keys. A member of the operation's shell; all of
// it ends with the scope.
#pragma once

#include "operations/held_locks.hpp"
#include "pvcnoded/policy/domains/hand_shake.hpp"
#include "pvcnoded/policy/domains/operations.hpp"

#include <map>
#include <memory>
#include <optional>
#include <variant>

namespace pvc::domains {

class effects;

// The hand-shake's own machine, run in a child beside that of the operation. What it came to is read by the holder.
struct hand_shake {
    std::variant<policy::offering_sync, policy::taking_sync> machine;
    async::wakeup changed;
    std::unique_ptr<zookeeper::watched> children;
    std::unique_ptr<zookeeper::watched> value;  // of a sender
    std::unique_ptr<kept_locks> lock;
    bool is_wanted = true;
    bool has_ended = false;
    scope_to_end scope;

    // It is wanted no more: a sender's machine ends by itself, a receiver's is cancelled.
    void release();
    static async::awaitable<void> run(operation& op, effects& doing, hand_shake& self);

private:
    static async::awaitable<void> drive(operation& op, effects& doing, hand_shake& self, async::task_group& group);
};

// Asks the guest to shut down, again and again, until it got the request or is wanted no more; resumes a paused one
// first.
struct shutdown_request {
    scope_to_end scope;
    bool is_wanted = true;

    static async::awaitable<void> run(operation& op, std::shared_ptr<shutdown_request> self);
};

class holder {
public:
    holder(operation& op, effects& doing) : op_(op), effects_(doing) {}
    holder(const holder&) = delete;
    holder& operator=(const holder&) = delete;
    ~holder() { op_.turn = nullptr; }

    // Whether children hold some of these: they need a scope.
    [[nodiscard]] static bool needs_scope(const policy::holdings& wanted);
    void use(async::task_group& scope) { scope_ = &scope; }
    // From now on these are held. True: something was had at once.
    bool hold(const policy::holdings& wanted);
    [[nodiscard]] policy::held_now state();

private:
    void hold_locks(const policy::holdings& wanted);
    void hold_sync(const policy::holdings& wanted);
    void hold_turn(const policy::holdings& wanted);
    [[nodiscard]] bool has_turn();
    void hold_call(const policy::holdings& wanted);
    void hold_request(const policy::holdings& wanted);
    void hold_watches(const policy::holdings& wanted);
    void watch_key(std::unique_ptr<zookeeper::watched>& key, const std::string& node, std::string_view of_node);

    operation& op_;
    effects& effects_;
    async::task_group* scope_ = nullptr;
    policy::holdings held_;
    std::unique_ptr<kept_locks> locks_;
    std::unique_ptr<hand_shake> sync_;
    std::optional<turns::place> move_turn_;
    std::optional<creation_turns::place> creation_turn_;
    std::optional<migration_calls::call> call_;
    std::shared_ptr<std::optional<time_point>> call_begun_;
    std::string call_text_;  // why it failed, in libvirt's words
    std::shared_ptr<shutdown_request> request_;
    std::unique_ptr<zookeeper::watched> waiters_;
    std::unique_ptr<zookeeper::watched> daemon_of_;
    std::unique_ptr<zookeeper::watched> list_of_;
    std::map<std::string, std::unique_ptr<zookeeper::watched>> lists_;
};

}  // namespace pvc::domains
