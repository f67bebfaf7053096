#include "operations/shell.hpp"

#include "operations/effects.hpp"
#include "operations/holder.hpp"
#include "pvcnoded/policy/domains/explain.hpp"

#include <fmt/format.h>

namespace pvc::domains {

struct running_machine {
    running_machine(local_domain& of, policy::domain_machine which) : here(of), machine(std::move(which)) {
        here.running = this;
    }
    running_machine(const running_machine&) = delete;
    running_machine& operator=(const running_machine&) = delete;
    ~running_machine() { here.running = nullptr; }

    local_domain& here;
    policy::domain_machine machine;
    policy::step next{};
    policy::held_now held{};  // when it was resumed last; its texts are not kept
};

async::awaitable<void> run_machine(operation& op, policy::domain_machine machine) {
    running_machine now(op.here, std::move(machine));
    effects doing(op);
    std::unique_ptr<holder> held;
    co_await async::with_task_group("machine", [&](async::task_group& scope) -> async::awaitable<void> {
        held = std::make_unique<holder>(op, doing, scope);
        policy::answer said;
        for (;;) {
            policy::domain_seen seen = seen_of(op);
            seen.held = held->state();
            auto out = policy::resume(now.machine, {seen, said, op.now()}, op.here);
            now.held = seen.held;
            now.held.locks_text = now.held.call_text = {};
            now.next = std::move(out.next);
            doing.carry_out(out.actions);
            const bool is_had = held->hold(policy::holdings_of(now.machine));
            if (now.next.is_over()) {
                break;
            }
            const bool is_wait = std::holds_alternative<policy::ask::change>(now.next.what);
            said = is_wait && is_had ? policy::answer() : co_await doing.carry_out(now.next, op.here.changed);
            if (is_wait) {
                co_await doing.look_at_sender();
            }
        }
        scope.cancel();
    });
}

std::vector<std::string> explain_operation(const domain_parts& parts, const domain_row& row) {
    std::vector<std::string> lines;
    if (!row.here || row.here->running == nullptr) {
        return lines;
    }
    const running_machine& of = *row.here->running;
    const time_point now = parts.node.clock().now();
    const auto seconds = [now](time_point then) {
        return std::chrono::duration_cast<std::chrono::seconds>(then - now).count();
    };
    const std::string limit =
        of.next.until == time_point::max()
            ? std::string()
            : fmt::format(", at most {} s more", std::max<std::int64_t>(0, seconds(of.next.until)));
    const std::string name = row.here->name.empty() ? to_text(row.id) : shown(row.here->name);
    lines.push_back(fmt::format("{}: {}: waits for {}{}", name, row.here->operation, of.next.reason, limit));
    policy::domain_seen seen = seen_of(parts, row);
    seen.held = of.held;
    for (const auto& one : policy::next_steps(of.machine, of.next, seen, *row.here, now)) {
        lines.push_back(fmt::format("{}:   {}: {}", name, one.answer, one.next));
    }
    return lines;
}

}  // namespace pvc::domains
