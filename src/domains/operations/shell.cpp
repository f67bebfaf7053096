#include "operations/shell.hpp"

#include "operations/effects.hpp"
#include "operations/holder.hpp"

namespace pvc::domains {

async::awaitable<void> run_machine(operation& op, policy::domain_machine machine) {
    effects doing(op);
    std::unique_ptr<holder> held;
    co_await async::with_task_group("machine", [&](async::task_group& scope) -> async::awaitable<void> {
        held = std::make_unique<holder>(op, doing, scope);
        policy::answer said;
        for (;;) {
            policy::domain_seen seen = seen_of(op);
            seen.held = held->state();
            const auto out = policy::resume(machine, {seen, said, op.now()}, op.here);
            doing.carry_out(out.actions);
            const bool is_had = held->hold(policy::holdings_of(machine));
            if (out.next.is_over()) {
                break;
            }
            const bool is_wait = std::holds_alternative<policy::ask::change>(out.next.what);
            said = is_wait && is_had ? policy::answer() : co_await doing.carry_out(out.next, op.here.changed);
            if (is_wait) {
                co_await doing.look_at_sender();
            }
        }
        scope.cancel();
    });
}

}  // namespace pvc::domains
