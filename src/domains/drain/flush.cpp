// Flush: every domain of this node is moved away, or shut down where nobody can take it; one after the other, so that
// each choice of a target sees the effect of the one before. Specification: node-lifecycle.md 8.1; README ruling 21.
#include "arrivals.hpp"
#include "drain/one_domain.hpp"
#include "pvcnoded/domains/domain_subject.hpp"
#include "pvcnoded/policy/domains/failing_targets.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace pvc::domains {

using namespace std::chrono_literals;
using policy::flush_way;

namespace {

constexpr duration placement_patience = 10s;

enum class leaving : std::uint8_t {
    gone,      // it has left, or is off
    returned,  // it was to move, and is back
    unclear,   // it stays, or nobody knows; said in the log
};

class leaving_domain final : public one_domain {
public:
    leaving_domain(job& of, const uuid& id, const policy::failing_targets& failing)
        : one_domain(of, id), failing_(failing) {}

    async::awaitable<leaving> run() {
        const fate end = co_await settle_and_place();
        if (end == fate::placed) {
            report();
        }
        if (end != fate::placed && end != fate::leaves) {
            co_return leaving::unclear;
        }
        const auto now = co_await arrival(written_);
        if (now && now->state == model::vm_state::start && now->node == of_.self()) {
            co_return leaving::returned;
        }
        co_return now ? leaving::gone : leaving::unclear;
    }
    // Where it was moved to; empty: nowhere, or by somebody else.
    [[nodiscard]] std::optional<std::string> target() const { return plan_ ? plan_->write.node : std::nullopt; }
    void warn(message what, std::string_view text) const { warning(what, text); }

private:
    [[nodiscard]] policy::domain_step step(const policy::placed_domain& domain) const override {
        return policy::flush_step(domain, of_.self());
    }

    async::awaitable<result<placement::decision>> decide_on(const placement::stored_domain& now) override {
        const auto left_out = failing_.left_out(of_.now());
        auto but = failing_.tried_by(id_);
        but.insert(left_out.begin(), left_out.end());
        PVC_CO_TRY(auto where, co_await placement::choose_target(of_.s, id_, of_.self(), but));
        if (!where.choice && but.size() > left_out.size()) {
            // Others may go where this one failed: that is no reason to shut it down.
            PVC_CO_TRY(const auto without_it, co_await placement::choose_target(of_.s, id_, of_.self(), left_out));
            if (without_it.choice) {
                plan_.reset();
                needless_id_ = message::flush_stays;
                needless_ = "it could not be moved, it stays here";
                co_return placement::decision();
            }
        }
        const auto node = where.choice ? std::optional(where.choice->node) : std::nullopt;
        plan_ = policy::plan_flush(now.keys, of_.self(), node);
        reason_ = where.choice ? where.choice->reason : std::string();
        placement::decision out;
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
                warning(message::flush_nowhere,
                        "no node can take it, shutting it down; it is started again when this node is made ready");
                return;
        }
    }

    const policy::failing_targets& failing_;
    std::optional<policy::flush_plan> plan_;
    std::string reason_;
};

// Empties the node, and remembers where its domains could not go.
class emptying {
public:
    explicit emptying(job& of) : of_(of) {}

    // One after the other; what came back is tried with another node after the rest.
    async::awaitable<void> run(std::vector<uuid> domains) {
        for (int round = 0; round < rounds_max && !domains.empty(); ++round) {
            std::vector<uuid> again;
            for (const auto& id : domains) {
                handled_.insert(id);
                co_await move(id, round + 1 == rounds_max, again);
            }
            domains = std::move(again);
        }
    }
    [[nodiscard]] bool has_handled(const uuid& id) const { return handled_.contains(id); }
    // What has gone, or is off.
    [[nodiscard]] const std::vector<uuid>& left() const { return left_; }

private:
    static constexpr int rounds_max = 4;

    async::awaitable<void> move(uuid id, bool is_last, std::vector<uuid>& again) {
        leaving_domain one(of_, id, failing_);
        const leaving end = co_await one.run();
        if (end == leaving::gone) {
            left_.push_back(id);
        }
        if (end != leaving::returned) {
            co_return;
        }
        const auto target = one.target();
        if (is_last) {
            one.warn(message::flush_stays, "it could not be moved, it stays here");
        } else {
            one.warn(message::flush_again,
                     target ? "it could not be moved to " + *target + ", looking for another node after the others"
                            : "it came back, it is moved after the others");
            again.push_back(id);
        }
        const bool is_left_out = target && failing_.failed(id, *target, of_.now());
        if (is_left_out) {
            of_.log().warning(message::flush_target_left_out,
                              fmt::format("{}: moves to node {} failed twice, it is left out for {} min", of_.what,
                                          *target, failing_.left_out_for / 1min));
        }
    }

    job& of_;
    policy::failing_targets failing_;
    std::set<uuid> handled_;
    std::vector<uuid> left_;
};

// Whether it came here by a move that is older than the order.
async::awaitable<bool> is_late(job& of, uuid id) {
    auto seen = co_await placement::read_domain(of.s, id);
    while (!seen && seen.error().code() != errc::not_found) {
        co_await placement::wait_better(of.s);
        seen = co_await placement::read_domain(of.s, id);
    }
    const bool is_it = seen && seen->keys.node == of.self() && seen->node_changed < of.order.stat().mzxid;
    if (is_it) {
        of.log().info(fmt::format("{}: it came by a move that began before, it goes on", of.what), seen->name);
    }
    co_return is_it;
}

// Each is noted until it was dealt with: a job that ends with its session is begun again in the next.
async::awaitable<void> move_arrivals(job& of, emptying& all) {
    arrivals& late = of.here->arrived_here();
    while (late.any()) {
        const uuid id = late.first();
        const bool is_to_go = !all.has_handled(id) && co_await is_late(of, id);
        if (is_to_go) {
            co_await all.run({id});
        }
        late.drop(id);
    }
}

}  // namespace

async::awaitable<void> flush(job& of) {
    if (of.here == nullptr) {
        co_return;
    }
    of.here->arrived_here().drop_all();  // they are among those present
    const std::vector<uuid> all = of.here->present();
    of.log().state(all.empty() ? std::string("flush: no virtual machine runs here")
                               : fmt::format("flush: {} virtual machine(s) are to leave this node", all.size()));
    emptying now(of);
    co_await now.run(all);
    // The one that went last may be reported at its target before it is off the list here.
    async::wakeup changed;
    const async::latest<std::uint64_t>::observer watch(of.here->list_writes(), changed);
    const time_point until = of.now() + placement_patience;
    const auto is_listed = [&](const uuid& id) {
        const auto& listed = of.here->listed();
        return std::ranges::find(listed, id) != listed.end();
    };
    co_await move_arrivals(of, now);
    while (std::ranges::any_of(now.left(), is_listed) && of.now() < until) {
        co_await changed.wait_until(of.s.node.clock(), until, "what was moved to be off the running list");
    }
}

async::awaitable<void> move_on(job& of) {
    emptying now(of);
    co_await move_arrivals(of, now);
}

}  // namespace pvc::domains
