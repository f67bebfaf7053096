// Locks that are held over several steps of something else: a child of its scope acquires and holds them until they are
// wanted no more. What was had is given back when the scope ends, whatever its cause. Loop thread only.
// Specification: zookeeper-schema.md 4.
#pragma once

#include "pvcnoded/async/task_group.hpp"
#include "pvcnoded/base/result.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace pvc::core {

// A scope that somebody else may end, while there is one: a task that only waits to do that would be one more.
class scope_to_end {
public:
    scope_to_end() = default;
    scope_to_end(const scope_to_end&) = delete;
    scope_to_end& operator=(const scope_to_end&) = delete;

    // In the scope's body.
    class body {
    public:
        body(scope_to_end& of, async::task_group& group) : of_(of) { of_.group_ = &group; }
        body(const body&) = delete;
        body& operator=(const body&) = delete;
        ~body() { of_.group_ = nullptr; }

    private:
        scope_to_end& of_;
    };
    void end() {
        if (group_ != nullptr) {
            group_->cancel();
        }
    }

private:
    async::task_group* group_ = nullptr;
};

class kept_locks {
public:
    enum class status : std::uint8_t {
        none,
        pending,
        held,
        late,     // not had in time
        missing,  // what is locked is not there
        failed,
    };
    // Runs the body while the locks are held.
    using body = std::function<async::awaitable<result<void>>()>;
    using with_locks = std::function<async::awaitable<result<void>>(body)>;

    // `changed` is notified at every change of state(); both outlive this. Begun at once.
    kept_locks(async::task_group& scope, async::wakeup& changed, with_locks how);
    kept_locks(const kept_locks&) = delete;
    kept_locks& operator=(const kept_locks&) = delete;

    [[nodiscard]] status state() const { return record_->state; }
    // Of `late` and `failed`.
    [[nodiscard]] const std::string& text() const { return record_->text; }
    // They are wanted no more; has_ended() once that is done.
    void release();
    [[nodiscard]] bool has_ended() const { return record_->has_ended; }

private:
    struct record {
        with_locks how;
        async::wakeup* changed = nullptr;
        async::wakeup body_turn;  // for the holder of the locks, when they are wanted no more
        scope_to_end scope;
        status state = status::pending;
        std::string text;
        bool is_unwanted = false;
        bool has_ended = false;
    };
    static async::awaitable<void> run(std::shared_ptr<record> of);

    std::shared_ptr<record> record_;
};

}  // namespace pvc::core
