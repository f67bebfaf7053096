// Unflush: what was shut down for want of a target is started, what lives elsewhere for a while comes back.
// Specification: node-lifecycle.md 8.2.
#include "drain/one_domain.hpp"
#include "pvcnoded/async/for_each.hpp"
#include "pvcnoded/base/text.hpp"

#include <fmt/format.h>

#include <set>

namespace pvc::domains {

using policy::domain_step;
using policy::unflush_way;

namespace {

constexpr std::size_t readers_max = 32;

class returning_domain final : public one_domain {
public:
    using one_domain::one_domain;

    async::awaitable<void> run() {
        const fate end = co_await settle_and_place();
        if (end != fate::placed) {
            co_return;
        }
        report();
        if (plan_->way != unflush_way::bring_back) {
            co_return;
        }
        const auto now = co_await arrival(written_);
        if (now && now->state == model::vm_state::start && now->node != of_.self()) {
            warning(message::unflush_stays, "it could not be moved, it stays on " + ascii_only(now->node));
        }
    }

private:
    [[nodiscard]] domain_step step(const policy::placed_domain& domain) const override {
        return policy::unflush_step(domain, of_.self());
    }

    async::awaitable<result<placement::decision>> decide_on(const placement::stored_domain& now) override {
        plan_ = policy::plan_unflush(now.keys, of_.self());
        placement::decision out;
        if (plan_) {
            out.write = plan_->write;
        }
        co_return out;
    }

    void report() const {
        switch (plan_->way) {
            case unflush_way::start: info("starting it, it was shut down as no other node could take it"); return;
            case unflush_way::bring_back: info("bringing it back"); return;
            case unflush_way::assign_only: info("it belongs to this node again; it is not running"); return;
        }
    }

    std::optional<policy::unflush_plan> plan_;
};

// All domains, ascending, that have something to do with this node.
async::awaitable<result<std::vector<uuid>>> read_candidates(job& of) {
    PVC_CO_TRY(const auto names, co_await of.s.zk.children(of.s.limit(), std::string(model::key_path::domains)));
    std::vector<uuid> all;
    for (const auto& name : names.names) {
        if (const auto id = parse_uuid(name)) {
            all.push_back(*id);
        }
    }
    std::set<uuid> wanted;
    std::optional<failure> trouble;
    co_await async::for_each_bounded("reads of domains", readers_max, all,
                                     [&](const uuid& id) -> async::awaitable<void> {
                                         if (trouble) {
                                             co_return;
                                         }
                                         const auto seen = co_await placement::read_domain(of.s, id);
                                         if (seen && policy::unflush_step(seen->keys, of.self()) != domain_step::skip) {
                                             wanted.insert(id);
                                         } else if (!seen && seen.error().code() != errc::not_found) {
                                             trouble = seen.error();
                                         }
                                     });
    if (trouble) {
        co_return *trouble;
    }
    co_return std::vector<uuid>(wanted.begin(), wanted.end());
}

}  // namespace

async::awaitable<void> unflush(job& of) {
    if (of.here == nullptr) {
        co_return;
    }
    for (;;) {
        const auto found = co_await read_candidates(of);
        if (!found) {
            co_await placement::wait_better(of.s);
            continue;
        }
        of.log().state(found->empty() ? std::string("unflush: no virtual machine has to come back")
                                      : fmt::format("unflush: {} virtual machine(s) come back", found->size()));
        for (const auto& id : *found) {
            returning_domain one(of, id);
            co_await one.run();
        }
        co_return;
    }
}

}  // namespace pvc::domains
