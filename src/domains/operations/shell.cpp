#include "operations/shell.hpp"

#include "operations/effects.hpp"
#include "operations/holder.hpp"
#include "pvcnoded/policy/domains/explain.hpp"

#include <fmt/format.h>

#include <variant>

namespace pvc::domains {

static domain_counts::departure departure_of(const policy::sending& one, bool is_over) {
    using enum domain_counts::departure;
    using ending = policy::sending::ending;
    if (!is_over) {
        return interrupted;
    }
    switch (one.how) {
        case ending::moved: return moved;
        case ending::ended: return one.is_handed_over ? handed_over : unclear;
        case ending::rolled_back: return stayed;
        case ending::none: break;
    }
    return given_up;
}

struct running_machine {
    running_machine(operation& of, policy::domain_action action)
        : here(of.here), counts(of.counts), machine(policy::machine_for(action)) {
        here.running = this;
    }
    running_machine(const running_machine&) = delete;
    running_machine& operator=(const running_machine&) = delete;
    ~running_machine() {
        here.running = nullptr;
        if (const auto* sent = machine ? std::get_if<policy::sending>(&*machine) : nullptr) {
            counts.note(departure_of(*sent, next.is_over()));
        }
    }

    local_domain& here;
    domain_counts& counts;
    std::optional<policy::domain_machine> machine;  // empty: nothing to do
    policy::step next{};
    policy::held_now held{};  // when it was resumed last; its texts are not kept
};

namespace {

// What one run of a machine needs, and its two steps: a resumption, and what follows from it.
struct machine_run {
    machine_run(operation& of, running_machine& which) : op(of), now(which), doing(of), held(of, doing) {}

    void resume();
    // Until it is over, or, without a scope, until it wants to hold something that children hold.
    async::awaitable<void> go_on(bool has_scope);

    operation& op;
    running_machine& now;
    effects doing;
    holder held;
    policy::holdings wanted{};
    policy::answer said{};
    std::vector<policy::act::any> acts{};  // its room is used again
};

void machine_run::resume() {
    policy::domain_seen seen = seen_of(op);
    seen.held = held.state();
    policy::context c({seen, said, op.now()}, op.here, acts);
    now.next = std::visit([&](auto& one) { return one.resume(c); }, *now.machine);
    now.held = seen.held;
    now.held.locks_text = now.held.call_text = {};
    doing.carry_out(acts);
    acts.clear();
    wanted = policy::holdings_of(*now.machine);
}

async::awaitable<void> machine_run::go_on(bool has_scope) {
    while (!now.next.is_over() && (has_scope || !holder::needs_scope(wanted))) {
        const bool is_had = held.hold(wanted);
        const bool is_wait = std::holds_alternative<policy::ask::change>(now.next.what);
        said = is_wait && is_had ? policy::answer() : co_await doing.carry_out(now.next, op.here.changed);
        if (is_wait && doing.follows_sender()) {
            co_await doing.look_at_sender();
        }
        resume();
    }
}

}  // namespace

async::awaitable<void> run_machine(operation& op, policy::domain_action action) {
    // Made in its place: whoever hands a machine on by value keeps another in his frame as long as this one runs.
    running_machine now(op, action);
    if (!now.machine) {
        co_return;
    }
    machine_run run(op, now);
    run.resume();
    co_await run.go_on(false);
    if (now.next.is_over()) {
        co_return;  // most have no use for a scope, which costs two tasks
    }
    co_await async::with_task_group("machine", [&run](async::task_group& scope) -> async::awaitable<void> {
        run.held.use(scope);
        co_await run.go_on(true);
        run.held.hold(run.wanted);
        scope.cancel();
    });
}

std::optional<core::machine_view::operation> view_operation(const domain_parts& parts, const domain_row& row) {
    if (!row.here || row.here->running == nullptr) {
        return std::nullopt;
    }
    const running_machine& of = *row.here->running;
    const time_point now = parts.node.clock().now();
    core::machine_view::operation seen_now;
    seen_now.name = row.here->operation;
    seen_now.waits_for = policy::awaited(*of.machine, of.next);
    if (of.next.until != time_point::max()) {
        seen_now.at_most = std::max(duration::zero(), of.next.until - now);
    }
    policy::domain_seen seen = seen_of(parts, row);
    seen.held = of.held;
    for (const auto& one : policy::next_steps(*of.machine, of.next, seen, *row.here, now)) {
        seen_now.answers.emplace_back(one.answer, one.next);
    }
    return seen_now;
}

std::vector<std::string> explain_operation(const domain_parts& parts, const domain_row& row) {
    std::vector<std::string> lines;
    const auto doing = view_operation(parts, row);
    if (!doing) {
        return lines;
    }
    const std::string limit =
        doing->at_most ? fmt::format(", at most {} s more",
                                     std::chrono::duration_cast<std::chrono::seconds>(*doing->at_most).count())
                       : std::string();
    const std::string name = row.here->name.empty() ? to_text(row.id) : shown(row.here->name);
    lines.push_back(fmt::format("{}: {}: waits for {}{}", name, doing->name, doing->waits_for, limit));
    for (const auto& [said, next] : doing->answers) {
        lines.push_back(fmt::format("{}:   {}: {}", name, said, next));
    }
    return lines;
}

}  // namespace pvc::domains
