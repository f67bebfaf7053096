// The fence lock of one session: had while anybody wants it, and its loss noticed at once (node-lifecycle.md 10.1).
#pragma once

#include "pvcnoded/core/session.hpp"

#include <cstddef>
#include <string>

namespace pvc::fencing {

class lock_keeper {
public:
    // `changes` is set anew whenever held() is another; both outlive it.
    lock_keeper(core::session& s, async::latest<std::uint64_t>& changes) : session_(s), changes_(changes) {}
    lock_keeper(const lock_keeper&) = delete;
    lock_keeper& operator=(const lock_keeper&) = delete;

    // While one lives the lock is wanted.
    class wish {
    public:
        explicit wish(lock_keeper& of) : of_(of) {
            ++of_.wishes_;
            of_.work_.notify();
        }
        wish(const wish&) = delete;
        wish& operator=(const wish&) = delete;
        ~wish() {
            --of_.wishes_;
            of_.work_.notify();
        }

    private:
        lock_keeper& of_;
    };

    // Null: it is not had.
    [[nodiscard]] const zookeeper::held_lock* held() const { return held_; }
    // Why it was not had when it was wanted last.
    [[nodiscard]] const std::string& trouble() const { return trouble_; }
    // A child of the session's part, until cancelled.
    async::awaitable<void> run();

private:
    async::awaitable<result<void>> keep(zookeeper::held_lock& lock);
    void set(const zookeeper::held_lock* now);

    core::session& session_;
    async::latest<std::uint64_t>& changes_;
    async::wakeup work_;
    std::size_t wishes_ = 0;
    const zookeeper::held_lock* held_ = nullptr;
    std::string trouble_;
};

}  // namespace pvc::fencing
