// The live calls to libvirt, of all sessions. An abort may take ten seconds when libvirt hangs: an operation that ends
// with its session leaves its call behind here, so that the next session, and its heartbeat, do not wait for it. Until
// the call has ended nothing else is decided about its domain. Specification: vm-domains.md 8.3 (S6).
#pragma once

#include "pvcnoded/async/task_group.hpp"
#include "pvcnoded/hypervisor/hypervisor.hpp"

#include <functional>
#include <map>
#include <memory>
#include <optional>

namespace pvc::domains {

class migration_calls {
public:
    explicit migration_calls(hypervisor::hypervisor& hv) : hv_(hv) {}
    migration_calls(const migration_calls&) = delete;
    migration_calls& operator=(const migration_calls&) = delete;

    // One call, for as long as its operation wants it: whoever goes gives it up, and it is aborted.
    class call {
    public:
        call(migration_calls& owner, uuid id, hypervisor::migration how, async::wakeup& waiter);
        call(const call&) = delete;
        call& operator=(const call&) = delete;
        ~call() {
            give_up();
            record_->waiter = nullptr;
        }
        void give_up();
        // Nothing of it is under way any more. It may have no outcome: it was given up.
        [[nodiscard]] bool has_ended() const { return record_->has_ended; }
        [[nodiscard]] const std::optional<hypervisor::call_result<void>>& outcome() const { return record_->outcome; }

    private:
        friend class migration_calls;
        struct record {
            std::optional<hypervisor::call_result<void>> outcome;
            bool has_ended = false;
            bool is_unwanted = false;
            async::wakeup changed;
            async::wakeup* waiter = nullptr;
        };
        std::shared_ptr<record> record_;
    };

    // Owns them: a child of the scope of the hypervisor's connection.
    async::awaitable<void> run();
    [[nodiscard]] bool has(const uuid& id) const { return calls_.contains(id); }
    std::function<void(const uuid&)> on_end;

private:
    async::awaitable<void> make(uuid id, hypervisor::migration how, std::shared_ptr<call::record> of);
    void ended(const uuid& id, call::record& of);

    hypervisor::hypervisor& hv_;
    async::task_group* scope_ = nullptr;
    std::map<uuid, std::shared_ptr<call::record>> calls_;
};

}  // namespace pvc::domains
