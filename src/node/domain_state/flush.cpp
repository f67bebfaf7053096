// Flush: every machine of this node is moved away, or shut down where nobody can take it; one after the other, so that
// each choice of a target sees the effect of the one before. Specification: node-lifecycle.md 8.1.
#include "domain_state/one_machine.hpp"
#include "pvcnoded/node/domains.hpp"

#include <fmt/format.h>

#include <algorithm>

// Scopes, locks and deadlines keep the callable they are given until its coroutine has ended.
// NOLINTBEGIN(cppcoreguidelines-avoid-capturing-lambda-coroutines)

namespace pvc::node {

using namespace std::chrono_literals;
using policy::flush_way;

namespace {

constexpr duration placement_patience = 10s;

class leaving_machine final : public one_machine {
public:
    using one_machine::one_machine;

    // True: it has left, or is off. False: it stays, or nobody knows.
    async::awaitable<bool> run() {
        const fate end = co_await settle_and_place();
        if (end == fate::placed) {
            report();
        }
        if (end != fate::placed && end != fate::leaves) {
            co_return false;
        }
        const auto now = co_await arrival(written_);
        if (now && now->state == model::vm_state::start && now->node == of_.self()) {
            warning("it could not be moved, it stays here");
            co_return false;
        }
        co_return now.has_value();
    }

private:
    [[nodiscard]] policy::machine_step step(const policy::placed_machine& machine) const override {
        return policy::flush_step(machine, of_.self());
    }

    async::awaitable<result<decision>> decide_on(const stored_machine& now) override {
        PVC_CO_TRY(auto where, co_await choose_target(of_, id_));
        const auto node = where.choice ? std::optional(where.choice->node) : std::nullopt;
        plan_ = policy::plan_flush(now.keys, of_.self(), node);
        reason_ = where.choice ? where.choice->reason : std::string();
        decision out;
        if (plan_) {
            out.write = plan_->write;
            out.checks = std::move(where.checks);
        }
        co_return out;
    }

    void report() const {
        switch (plan_->way) {
            case flush_way::move:
                info(fmt::format("moving it to {}, which has the {}", *plan_->write.node, reason_));
                return;
            case flush_way::return_home:
                info(fmt::format("moving it back to {}, where it belongs ({})", *plan_->write.node, reason_));
                return;
            case flush_way::shut_down:
                warning("no node can take it, shutting it down; it is started again when this node is made ready");
                return;
        }
    }

    std::optional<policy::flush_plan> plan_;
    std::string reason_;
};

}  // namespace

async::awaitable<void> flush(job& of) {
    if (of.machines == nullptr) {
        co_return;
    }
    const std::vector<uuid> all = of.machines->present();
    of.log().state(all.empty() ? std::string("flush: no virtual machine runs here")
                               : fmt::format("flush: {} virtual machine(s) are to leave this node", all.size()));
    std::vector<uuid> left;
    for (const auto& id : all) {
        leaving_machine one(of, id);
        const bool has_left = co_await one.run();
        if (has_left) {
            left.push_back(id);
        }
    }
    // The one that went last may be reported at its target before it is off the list here.
    async::wakeup changed;
    const async::latest<std::uint64_t>::observer watch(of.machines->list_writes(), changed);
    const time_point until = of.now() + placement_patience;
    const auto is_listed = [&](const uuid& id) {
        const auto& listed = of.machines->listed();
        return std::ranges::find(listed, id) != listed.end();
    };
    while (std::ranges::any_of(left, is_listed) && of.now() < until) {
        co_await changed.wait_until(of.s.node.clock(), until, "what was moved to be off the running list");
    }
}

}  // namespace pvc::node

// NOLINTEND(cppcoreguidelines-avoid-capturing-lambda-coroutines)
